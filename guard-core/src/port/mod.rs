//! The ports: what a target has to offer for a guard to stand on it.
//!
//! An integrator with a native file API implements [`FileOps`] and proves it with the conformance suite of
//! `guard-testkit`; one with a byte stream to a shell implements [`Transport`], and the shell backend does the rest.

mod audit;
mod commit;
mod content;
mod error;
mod file_ops;
mod found;
mod observe;
mod query;
mod scope;
mod target;
mod transport;
mod undo;

pub use audit::{AuditRecord, AuditSink};
pub use commit::{
    Applied, Batch, Change, CommitError, CommitFailure, CommitId, Committed, Displaced, Effect, Fate,
    InPlace, Keep, Kept, Mode, Parents, Place, Publish, Settled, Tier,
};
pub use content::{Content, Source};
pub use error::OpError;
pub use file_ops::{FileOps, Task};
pub use observe::{Observer, Step};
pub use query::{Ask, Body, Contents, Depth, Entry, Found, Last, Listing, Page, Part, Sink, Want};
pub use scope::Scope;
pub use target::{Capabilities, LeaseSupport, Root, RootSpec, TargetId};
pub use transport::{End, Machine, Session, Transport, TransportError};
pub use undo::{UndoError, UndoStore};
