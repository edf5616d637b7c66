//! The guard: ports, actors, tools and receipts over any target.
//!
//! A [`Guard`] is one target and one policy; an [`Actor`] of it owns the record of what it has seen and calls the
//! tools.
//! This crate does no I/O of its own: a target is an implementation of [`port::FileOps`].
//!
//! Every mutation carries a precondition that the target enforces in the mutation itself, so nothing that was
//! decided here on an observation can destroy what appeared a moment later.

mod actor;
mod approve;
mod args;
mod audit;
mod edit;
mod failure;
mod grant;
mod guard;
mod locks;
pub mod port;
mod receipt;
mod recheck;
mod refuse;
mod request;
mod text;
mod tool;
mod toolbox;
mod unsettled;

pub use guard_policy as policy;

pub use actor::Actor;
pub use approve::{Answer, Approver, Proposal};
pub use args::{
    ApplyPatch, ByteWindow, DeleteFile, Display, Edit, EditFile, ExpectArg, ListDir, MakeDir, MoveFile,
    ReadFile, StatPaths, WriteFile,
};
pub use failure::{Failure, Outcome};
pub use guard::{Guard, GuardBuilder, OpenError};
pub use receipt::{ChangeReceipt, Conversion, Done, PlacedChunk, Plan, PlannedChange, Receipt, Undo};
pub use recheck::{Drift, Drifted, Resumed, SavedViews, SeenVersion};
pub use tool::explain::{Explanation, RuleAnswer};
pub use tool::list::DirListing;
pub use tool::read::{CutLine, FileKind, NextRead, ReadResult};
pub use tool::reply::Reply;
pub use tool::stat::{PathFacts, StatResult};
pub use toolbox::{BoundTool, ToolDefinition, Toolbox};
pub use unsettled::Notice;
