//! V4A patches: parse, plan, diagnose.
//!
//! V4A is the patch format that begins with `*** Begin Patch`.
//! This crate reads such a patch ([`parse`], or [`Parser`] while it is still being typed), and works out what it does
//! to the files that it names ([`plan`]): right, or refused with reasons ([`Rejected`]), never wrong.
//!
//! The crate is pure: it does no I/O, reads no clock, depends on no async runtime, and does not know `guard-policy`.
//! Whoever uses it reads the files that [`Patch::paths`] names, lends them as a [`Snapshot`], and commits the
//! [`Plan`], which holds at most one change for each path.
//! A plan carries no digests: the caller pairs each path with the digest of its own read.
//!
//! # Security
//!
//! Paths are checked as text only ([`parse`] says how).
//! Whether a path may be touched, where links lead, and whether two names are one file is for the caller to find out,
//! as is whether a patch that names an [environment](Patch::environment) is meant for this one.
//!
//! # Examples
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use guard_patch::{After, Options, Tier, parse, plan};
//!
//! let patch = parse("*** Begin Patch\n*** Update File: greeting.txt\n@@\n-hello\n+goodbye\n*** End Patch\n")?;
//! assert_eq!(patch.paths(), ["greeting.txt"]);
//!
//! let files = BTreeMap::from([("greeting.txt".to_owned(), b"well\r\nhello\r\n".to_vec())]);
//! let plan = plan(&patch, &files, &Options::default())?;
//! assert_eq!(plan.files[0].after, After::Bytes(b"well\r\ngoodbye\r\n".to_vec()));
//! assert_eq!(plan.files[0].chunks[0].tier, Tier::Exact);
//! # Ok::<(), guard_patch::Rejected>(())
//! ```

mod anchor;
mod assign;
mod diagnose;
mod diagnostic;
mod grammar;
mod hash;
mod indent;
mod index;
mod lines;
mod note;
mod options;
mod overlay;
mod patch;
mod path;
mod plan;
mod search;
mod snapshot;
mod splice;
mod stream;
mod tier;
mod update;

pub use diagnostic::{Closest, Code, Diagnostic, Rejected};
pub use note::{Note, NoteKind};
pub use options::Options;
pub use patch::{Action, Anchor, Chunk, ChunkLine, Destination, LineKind, Operation, Patch, parse};
pub use plan::{After, Applied, Before, FilePlan, Outcome, Plan, plan};
pub use snapshot::{Entry, Snapshot};
pub use stream::{Event, Parser};
pub use tier::Tier;
