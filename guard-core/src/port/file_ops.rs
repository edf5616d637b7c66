//! The one port through which a guard sees and changes a target.

use std::future::Future;
use std::pin::Pin;

use async_trait::async_trait;

use super::{
    Ask, Batch, Capabilities, CommitError, CommitId, Committed, Contents, Found, Listing, OpError, Page,
    Root, RootSpec, Settled, Sink, TargetId, Want,
};

/// Work that runs to its end, whoever waits for it.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send + 'static>>;

/// A target's files.
///
/// Every method is one request. `commit` is the only one that changes anything.
///
/// # Security
///
/// An implementation resolves a path inside the request, from the root's directory, and never below or beside it;
/// what it cannot establish is an error and never a state.
#[async_trait]
pub trait FileOps: Send + Sync + 'static {
    /// Returns which filesystem this is.
    fn target(&self) -> &TargetId;

    /// Returns what the target's tools can do.
    fn capabilities(&self) -> &Capabilities;

    /// Tells whether its files are those that this process itself would open by their paths.
    ///
    /// Nothing is asked of this process's filesystem because of it: what the guard itself keeps there is kept from its
    /// tools.
    fn is_of_this_machine(&self) -> bool {
        false
    }

    /// Opens a root: resolves the directory on the target and remembers its identity.
    ///
    /// # Errors
    ///
    /// [`OpError::NotFound`] and [`OpError::NotDirectory`] for what is no directory.
    async fn open_root(&self, spec: &RootSpec) -> Result<Root, OpError>;

    /// Tells what is at each path; one answer an ask, in order.
    ///
    /// # Errors
    ///
    /// The outer error is of the request as a whole.
    async fn stat(&self, asks: &[Ask]) -> Result<Vec<Result<Found, OpError>>, OpError>;

    /// Reads from each path; one answer a want, in order.
    ///
    /// # Errors
    ///
    /// The outer error is of the request as a whole.
    async fn read(&self, wants: &[Want]) -> Result<Vec<Result<Contents, OpError>>, OpError>;

    /// Reads a regular file of any size in bounded memory; the digest of what was delivered is in the answer.
    ///
    /// A sink must not call the target that it is fed by: where that has one session, the call waits for the stream,
    /// and the stream for the sink.
    ///
    /// # Errors
    ///
    /// [`OpError::NotRegular`] for anything but a regular file; the sink's own error ends the stream.
    async fn stream(&self, ask: &Ask, sink: &mut dyn Sink) -> Result<Found, OpError>;

    /// Lists a directory, sorted by the bytes of the names.
    ///
    /// # Errors
    ///
    /// [`OpError::NotDirectory`] for anything but a directory.
    async fn list(&self, ask: &Ask, page: &Page) -> Result<Listing, OpError>;

    /// Makes every change of the batch under its precondition, or none.
    ///
    /// # Errors
    ///
    /// [`CommitError`] says what failed and what became of every change.
    async fn commit(&self, batch: Batch) -> Result<Committed, CommitError>;

    /// Tells what became of a commit whose reply was lost.
    ///
    /// # Errors
    ///
    /// [`OpError::Unsupported`] where a reply cannot be lost.
    async fn settle(&self, commit: &CommitId) -> Result<Settled, OpError>;

    /// Runs `task` to its end on the runtime that this target's requests run on, whether or not anybody waits.
    ///
    /// The guard runs a commit, with the lock, the view and the audit line that belong to it, as such a task, so
    /// that a caller that goes away cancels the reply and nothing else.
    fn spawn(&self, task: Task);
}
