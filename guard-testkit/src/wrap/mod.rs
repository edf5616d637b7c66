//! Wrappers: a target around a target, with something done before or after each request.
//!
//! [`Barrier`] stops a request or lets a test act right before it; [`Counting`] counts round trips; [`Failing`] makes
//! a chosen request fail, before or after it was carried out. Each is an [`Around`] with a [`Layer`] of its own; an
//! integrator can write more. They nest, and [`Shared`] makes an `Arc<dyn FileOps>` one that can be wrapped.
//!
//! [`StepBarrier`] is the same for what happens *inside* a commit: an observer that acts at a chosen step.

mod barrier;
mod counting;
mod failing;
mod step;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use guard_core::port::{
    Ask, Batch, Capabilities, CommitError, CommitId, Committed, Contents, Fate, FileOps, Found, Listing,
    OpError, Page, Root, RootSpec, Settled, Sink, TargetId, Task, Want,
};

pub(crate) use self::barrier::Latch;
pub use self::barrier::{Barrier, Gate, Hooks};
pub use self::counting::{Counters, Counting, Counts};
pub use self::failing::{Failing, Fault, Faults};
pub use self::step::{Seen, StepBarrier};

/// A method of [`FileOps`] that is one round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Method {
    /// [`FileOps::open_root`].
    OpenRoot,
    /// [`FileOps::stat`].
    Stat,
    /// [`FileOps::read`].
    Read,
    /// [`FileOps::stream`].
    Stream,
    /// [`FileOps::list`].
    List,
    /// [`FileOps::commit`].
    Commit,
    /// [`FileOps::settle`].
    Settle,
}

/// Before a request is forwarded, or after it was carried out and before its reply is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum When {
    /// Before.
    Before,
    /// After.
    After,
}

/// A moment of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment<'a> {
    /// Which method.
    pub method: Method,
    /// Before or after it.
    pub when: When,
    /// Which request of that method, counted by this wrapper from 1; both moments of a request have its number.
    pub nth: u64,
    /// Which commit, where it is one (or its settling).
    pub commit: Option<&'a CommitId>,
}

/// What is done before and after each request.
#[async_trait]
pub trait Layer: Send + Sync + 'static {
    /// Is called at each moment.
    ///
    /// # Errors
    ///
    /// An error becomes the request's outcome: before it, the request is not forwarded; after it, its reply is
    /// thrown away.
    async fn at(&self, moment: Moment<'_>) -> Result<(), OpError>;
}

/// A target with a layer around it.
pub struct Around<F, L> {
    inner: F,
    layer: L,
    requests: [AtomicU64; 7],
}

impl<F, L> Around<F, L> {
    /// Puts `layer` around `inner`.
    pub fn with(inner: F, layer: L) -> Self {
        Self { inner, layer, requests: Default::default() }
    }

    /// Returns the target inside.
    pub const fn inner(&self) -> &F {
        &self.inner
    }

    /// Returns the layer.
    pub const fn layer(&self) -> &L {
        &self.layer
    }
}

impl<F: FileOps, L: Layer> Around<F, L> {
    /// Begins a request: the layer's first moment of it.
    async fn before<'a>(&self, method: Method, commit: Option<&'a CommitId>) -> Result<Moment<'a>, OpError> {
        let nth = self.requests[method as usize].fetch_add(1, Ordering::Relaxed) + 1;
        let moment = Moment { method, when: When::Before, nth, commit };
        self.layer.at(moment).await?;
        Ok(Moment { when: When::After, ..moment })
    }
}

#[async_trait]
impl<F: FileOps, L: Layer> FileOps for Around<F, L> {
    fn target(&self) -> &TargetId {
        self.inner.target()
    }

    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    fn is_of_this_machine(&self) -> bool {
        self.inner.is_of_this_machine()
    }

    async fn open_root(&self, spec: &RootSpec) -> Result<Root, OpError> {
        let after = self.before(Method::OpenRoot, None).await?;
        let reply = self.inner.open_root(spec).await;
        self.layer.at(after).await?;
        reply
    }

    async fn stat(&self, asks: &[Ask]) -> Result<Vec<Result<Found, OpError>>, OpError> {
        let after = self.before(Method::Stat, None).await?;
        let reply = self.inner.stat(asks).await;
        self.layer.at(after).await?;
        reply
    }

    async fn read(&self, wants: &[Want]) -> Result<Vec<Result<Contents, OpError>>, OpError> {
        let after = self.before(Method::Read, None).await?;
        let reply = self.inner.read(wants).await;
        self.layer.at(after).await?;
        reply
    }

    async fn stream(&self, ask: &Ask, sink: &mut dyn Sink) -> Result<Found, OpError> {
        let after = self.before(Method::Stream, None).await?;
        let reply = self.inner.stream(ask, sink).await;
        self.layer.at(after).await?;
        reply
    }

    async fn list(&self, ask: &Ask, page: &Page) -> Result<Listing, OpError> {
        let after = self.before(Method::List, None).await?;
        let reply = self.inner.list(ask, page).await;
        self.layer.at(after).await?;
        reply
    }

    async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        let id = batch.id.clone();
        let count = batch.changes.len();
        let failed = |error: OpError, fate: Fate| CommitError {
            cause: error.into(),
            at: None,
            fates: vec![fate; count],
        };
        let before = self.before(Method::Commit, Some(&id)).await;
        let after = before.map_err(|error| failed(error, Fate::Untouched))?;
        let reply = self.inner.commit(batch).await;
        self.layer.at(after).await.map_err(|error| failed(error, Fate::Unknown))?;
        reply
    }

    async fn settle(&self, commit: &CommitId) -> Result<Settled, OpError> {
        let after = self.before(Method::Settle, Some(commit)).await?;
        let reply = self.inner.settle(commit).await;
        self.layer.at(after).await?;
        reply
    }

    fn spawn(&self, task: Task) {
        self.inner.spawn(task);
    }
}

/// A shared target, as one that can be wrapped.
#[derive(Clone)]
pub struct Shared(pub Arc<dyn FileOps>);

#[async_trait]
impl FileOps for Shared {
    fn target(&self) -> &TargetId {
        self.0.target()
    }

    fn capabilities(&self) -> &Capabilities {
        self.0.capabilities()
    }

    fn is_of_this_machine(&self) -> bool {
        self.0.is_of_this_machine()
    }

    async fn open_root(&self, spec: &RootSpec) -> Result<Root, OpError> {
        self.0.open_root(spec).await
    }

    async fn stat(&self, asks: &[Ask]) -> Result<Vec<Result<Found, OpError>>, OpError> {
        self.0.stat(asks).await
    }

    async fn read(&self, wants: &[Want]) -> Result<Vec<Result<Contents, OpError>>, OpError> {
        self.0.read(wants).await
    }

    async fn stream(&self, ask: &Ask, sink: &mut dyn Sink) -> Result<Found, OpError> {
        self.0.stream(ask, sink).await
    }

    async fn list(&self, ask: &Ask, page: &Page) -> Result<Listing, OpError> {
        self.0.list(ask, page).await
    }

    async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        self.0.commit(batch).await
    }

    async fn settle(&self, commit: &CommitId) -> Result<Settled, OpError> {
        self.0.settle(commit).await
    }

    fn spawn(&self, task: Task) {
        self.0.spawn(task);
    }
}
