//! What an implementer of a target tests it with.
//!
//! - [`memory::Memory`] is an in-memory target that obeys every rule of [`guard_core::port::FileOps`]: the reference
//!   for what the port means, and light enough for the tests of whatever stands on the port.
//! - [`conformance`] is the suite of the port's guarantees that an implementer runs on a target of their own;
//!   `contracts` (a feature) are those between a guard and a target that is somewhere else, by the public tools.
//!   `containment` (with `contracts`) is the table of every way out of a workspace and what each tool answers to it.
//! - [`wrap`] puts something around a target: a barrier between decision and effect, a counter of round trips, faults.
//! - [`skip`] says which tests a machine cannot run; [`rerun`] runs one again as another user, or with mounts of its own.
//! - [`tree`] compares whole real directories; `sqlite` (a feature) makes real databases to be saved from overwriting.
//! - `docker` (a feature) makes containers from what this machine has installed.
//! - [`transport`] does the same to the byte stream to a shell: paths of another namespace, faults at a chosen byte,
//!   counts, delays; and it has the shells and the stoppable tools that a stream leads to.
//! - [`sshd::Sshd`] is an SSH server of a test's own, and [`delay::DelayProxy`] makes it far away; `ssh` (a feature)
//!   makes it a target for the suite and the contracts.
//! - [`rival`] is a competing writer in a process of its own, and [`race`] counts what is lost against it.

#![allow(clippy::result_large_err, reason = "the port's own error is a report of every change of a batch")]

pub mod conformance;
#[cfg(feature = "contracts")]
pub mod containment;
#[cfg(feature = "contracts")]
pub mod contracts;
pub mod delay;
#[cfg(all(target_os = "linux", feature = "docker"))]
pub mod docker;
pub mod memory;
pub mod race;
mod relay;
pub mod rerun;
pub mod rival;
pub mod skip;
#[cfg(feature = "sqlite")]
pub mod sqlite;
pub mod sshd;
pub mod transport;
pub mod tree;
pub mod wrap;
