//! Facts in, decision out: the rules that guard an AI agent's file tools.
//!
//! This crate is pure: it does no I/O, reads no clock and depends on no async runtime.
//! A caller gathers [`Facts`], asks [`decide`], and gets a [`Verdict`]: what may be done and under which
//! [`Precondition`] the target has to do it, or a [`Refusal`] that says how to go on.
//!
//! # Security
//!
//! A fact that is not established is [`Fact::Unknown`], never a default.
//! A call that is allowed with a fact unknown is right for every value of that fact, or carries a precondition
//! that makes the target check it before it acts.

mod call;
mod code;
mod content;
mod decide;
mod digest;
mod fact;
mod fold;
mod lines;
mod location;
pub mod names;
mod path;
mod policy;
mod precondition;
mod ranges;
mod refusal;
mod rights;
mod rules;
mod state;
mod view;
mod wording;

pub use call::{Act, ApproverSet, Call, Expect, Facts, NewText, Tool};
pub use code::Code;
pub use content::{Bom, ContentClass, Eol, TextShape, classify, classify_sample, is_tool_echo};
pub use decide::{Approval, Verdict, decide};
pub use digest::{Digest, Hasher, ParseDigestError};
pub use fact::Fact;
pub use lines::{LineHashes, Lines};
pub use location::{Access, Expected, Located, RootEntry, RootId, Roots};
pub use path::{Base, NAME_MAX, PATH_MAX, PathError, RequestedPath, TargetPath, Trailing};
pub use policy::{
    AllowedRoot, DeleteUnseen, EolPolicy, Limits, OpenWriters, Policy, Require, Rules, Switch, Unseen,
};
pub use precondition::Precondition;
pub use ranges::Ranges;
pub use refusal::{Argument, Changed, LineSpan, Refusal, Remedy, RemedyCall};
pub use rights::{Held, Rights, Within};
pub use state::{FileState, OtherKind};
pub use view::{Delivered, Seen, Splice, Ticket, View, Views};
