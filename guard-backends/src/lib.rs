//! Targets: where files live, and how a guard reaches them.
//!
//! This crate holds all I/O of the guard's libraries. [`local`] is this machine's filesystem; [`audit`] keeps the
//! record of calls in a file on the controller.

pub mod audit;
#[cfg(unix)]
pub mod local;
mod names;
pub mod shell;
mod temp;

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
