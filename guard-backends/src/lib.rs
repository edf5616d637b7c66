//! Targets: where files live, and how a guard reaches them.
//!
//! This crate holds all I/O of the guard's libraries. [`local`] is this machine's filesystem; [`shell`] is whatever a
//! byte stream to a shell leads to; `docker` (a feature) opens one into a container; [`audit`] keeps the record of
//! calls in a file on the controller, and [`undo`] what they displaced.

pub mod audit;
#[cfg(all(unix, feature = "docker"))]
pub mod docker;
#[cfg(unix)]
pub mod local;
mod names;
pub mod shell;
#[cfg(feature = "ssh")]
pub mod ssh;
mod temp;
#[cfg(unix)]
pub mod undo;

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
