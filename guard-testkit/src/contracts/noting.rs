//! Notes what a target was asked, in the words in which it was asked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use guard_core::policy::{RootId, TargetPath};
use guard_core::port::{
    Ask, Batch, Capabilities, CommitError, CommitId, Committed, Contents, Effect, FileOps, Found, Listing,
    OpError, Page, Place, Root, RootSpec, Settled, Sink, TargetId, Task, Want,
};

use crate::wrap::Method;

/// A target that notes every place that it is asked about, or that is to be changed.
pub(super) struct Noting {
    inner: Arc<dyn FileOps>,
    notes: Mutex<Vec<Note>>,
}

/// One place of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) method: Method,
    /// The string that the target resolves, and the root that it is below.
    pub(super) asked: (RootId, String),
    /// Where that has to lead, of a change.
    pub(super) expect: Option<TargetPath>,
}

impl Noting {
    pub(super) fn new(inner: Arc<dyn FileOps>) -> Self {
        Self { inner, notes: Mutex::default() }
    }

    /// Returns what was noted, and starts again.
    pub(super) fn take(&self) -> Vec<Note> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Note>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, method: Method, ask: &Ask) {
        self.lock().push(Note { method, asked: (ask.root, ask.path.clone()), expect: None });
    }

    fn change(&self, place: &Place) {
        let Place { root, path, expect, .. } = place.clone();
        self.lock().push(Note { method: Method::Commit, asked: (root, path), expect: Some(expect) });
    }
}

#[async_trait]
impl FileOps for Noting {
    fn target(&self) -> &TargetId {
        self.inner.target()
    }

    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    async fn open_root(&self, spec: &RootSpec) -> Result<Root, OpError> {
        self.inner.open_root(spec).await
    }

    async fn stat(&self, asks: &[Ask]) -> Result<Vec<Result<Found, OpError>>, OpError> {
        for ask in asks {
            self.ask(Method::Stat, ask);
        }
        self.inner.stat(asks).await
    }

    async fn read(&self, wants: &[Want]) -> Result<Vec<Result<Contents, OpError>>, OpError> {
        for want in wants {
            self.ask(Method::Read, &want.ask);
        }
        self.inner.read(wants).await
    }

    async fn stream(&self, ask: &Ask, sink: &mut dyn Sink) -> Result<Found, OpError> {
        self.ask(Method::Stream, ask);
        self.inner.stream(ask, sink).await
    }

    async fn list(&self, ask: &Ask, page: &Page) -> Result<Listing, OpError> {
        self.ask(Method::List, ask);
        self.inner.list(ask, page).await
    }

    async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        for change in &batch.changes {
            self.change(&change.place);
            if let Effect::MoveTo { to, .. } = &change.effect {
                self.change(to);
            }
        }
        self.inner.commit(batch).await
    }

    async fn settle(&self, commit: &CommitId) -> Result<Settled, OpError> {
        self.inner.settle(commit).await
    }

    fn spawn(&self, task: Task) {
        self.inner.spawn(task);
    }
}
