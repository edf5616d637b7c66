//! The guard: ports, actors, tools and receipts over any target.

pub mod port;

pub use guard_policy as policy;
