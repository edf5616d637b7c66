//! What an implementer of a target tests it with.
//!
//! - [`memory::Memory`] is an in-memory target that obeys every rule of [`guard_core::port::FileOps`]: the reference
//!   for what the port means, and light enough for the tests of whatever stands on the port.

pub mod memory;
