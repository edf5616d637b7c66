//! V4A patches: parse, plan, diagnose.
//!
//! This crate has nothing in it yet; this is what it will be.
//!
//! A patch is parsed into its operations (add, delete, update, with a move or without), and planned over a snapshot
//! of the files that it names:
//!
//! - `parse(&str) -> Result<Patch, Rejected>` reads the text.
//! - `Patch::paths()` names the files, so that the caller reads them all in one request.
//! - `plan(&Patch, &dyn Snapshot, &Options) -> Result<Plan, Rejected>` gives the net effect: the final bytes of each
//!   path, at most one change a path, and how well every match fitted.
//!
//! Planning is over an overlay, so that operations on one file compose.
//! A plan carries no digests: `guard-core` pairs each path with the digest of its own read, and the whole becomes one
//! `commit` batch.
//!
//! The crate is pure: it does no I/O, reads no clock, depends on no async runtime, and does not know `guard-policy`.
