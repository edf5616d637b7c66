//! This machine's filesystem.
//!
//! [`Local`] resolves every path from a root directory that was opened once, holds what it resolved for the request,
//! and changes files only with primitives that carry the precondition: see [`FileOps::commit`].
//! Blocking calls run on the runtime's blocking threads.
//!
//! ```
//! use std::sync::Arc;
//!
//! use guard_backends::local::Local;
//! use guard_core::policy::TargetPath;
//! use guard_core::port::{Ask, Depth, FileOps, Last, RootSpec};
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().to_str().ok_or("a path that is not UTF-8")?;
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let local = Local::builder().build()?;
//! let root = local.open_root(&RootSpec { path: TargetPath::new(path)? }).await?;
//! let (path, scope) = ("notes.txt".to_owned(), Arc::default());
//! let ask = Ask { root: root.id, path, last: Last::Follow, depth: Depth::State, scope };
//! let found = local.stat(&[ask]).await?.remove(0)?;
//! assert_eq!(found.resolved, root.path.child("notes.txt")?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod commit;
mod errno;
mod lease;
mod leftover;
mod list;
mod read;
mod resolve;
mod root;
mod state;
mod stream;
mod sys;

use std::sync::Arc;

use async_trait::async_trait;
use guard_core::policy::{Fact, RootId, TargetPath};
use guard_core::port::{
    Ask, Batch, Capabilities, CommitError, CommitId, Committed, Contents, Fate, FileOps, Found, LeaseSupport,
    Listing, Observer, OpError, Page, Root, RootSpec, Settled, Sink, Step, TargetId, Task, Tier, Want,
};
use tokio::runtime::Handle;

pub use self::leftover::{Leftover, Leftovers};
use self::root::{Position, Roots};
use crate::names;

/// This machine's filesystem; clones are handles to the same target.
#[derive(Clone)]
pub struct Local {
    inner: Arc<Inner>,
}

/// What requests share.
struct Inner {
    target: TargetId,
    capabilities: Capabilities,
    roots: Roots,
    position: Position,
    /// Whether the kernel resolves paths (`openat2`).
    openat2: bool,
    /// Whether unnamed temporary files are used (`O_TMPFILE`, and `/proc` to give them a name).
    unnamed: bool,
    observer: Option<Arc<dyn Observer>>,
    forced: Option<Tier>,
    lease: Lease,
    runtime: Handle,
}

/// How paths are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resolver {
    /// By the kernel (`openat2`), where it can and lets us; else by the walk.
    #[default]
    Kernel,
    /// One name at a time, without `openat2` and without `/proc`.
    Walk,
}

/// Whether a lease is taken on a file before it is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lease {
    /// It is tried; whether it was had is in the receipt.
    #[default]
    Try,
    /// It is not tried: a writer that has the file open can be missed, and the receipt says so.
    DangerNever,
}

/// A [`Local`] that could not be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// It was neither built on a tokio runtime nor given one.
    #[error("a local target is built on a tokio runtime, or is given one")]
    NoRuntime,
}

/// Builds a [`Local`].
pub struct Builder {
    home: Fact<Option<TargetPath>>,
    resolver: Resolver,
    observer: Option<Arc<dyn Observer>>,
    forced: Option<Tier>,
    lease: Lease,
    runtime: Option<Handle>,
}

impl Local {
    /// Starts with the strongest primitives that this machine has, and without knowing the user's home directory.
    ///
    /// # Security
    ///
    /// While [`Builder::home`] is not called, what is private below a home is refused wherever a home could be.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Lists the temporary files that commits of dead processes left below a root, looking at no more than `max`
    /// names.
    ///
    /// # Errors
    ///
    /// As [`FileOps::list`].
    pub async fn leftovers(&self, root: RootId, max: u64) -> Result<Leftovers, OpError> {
        self.blocking(move |inner| leftover::find(inner, root, max)).await?
    }

    /// Runs blocking work to its end, whether or not the caller waits for it.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> T + Send + 'static,
    ) -> Result<T, OpError> {
        let inner = Arc::clone(&self.inner);
        let task = self.inner.runtime.spawn_blocking(move || work(&inner));
        // Either the runtime was shut down before the work began, or an observer panicked in it.
        task.await.map_err(|error| OpError::Unavailable { why: error.to_string() })
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            home: Fact::Unknown,
            resolver: Resolver::default(),
            observer: None,
            forced: None,
            lease: Lease::default(),
            runtime: None,
        }
    }
}

impl Builder {
    /// Sets the user's home directory, what `~` is. The library reads no environment.
    ///
    /// # Security
    ///
    /// `None` says that the user has no home, so that nothing is private for being below it. Whoever does not know
    /// must not call this.
    #[must_use]
    pub fn home(mut self, home: Option<TargetPath>) -> Self {
        self.home = Fact::Known(home);
        self
    }

    /// Chooses how paths are resolved.
    #[must_use]
    pub const fn resolver(mut self, resolver: Resolver) -> Self {
        self.resolver = resolver;
        self
    }

    /// Sets who sees the steps of commits and reads; it is called on the thread that does the work.
    ///
    /// One that panics ends what it sees: the outcome of a commit is then unknown, and what it staged is left.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Pretends that filesystems offer no more than this tier, to test and to measure weaker ones.
    ///
    /// # Security
    ///
    /// It only weakens: with [`Tier::Window`] names are not exchanged and not renamed without replacing, with
    /// [`Tier::CreatedNonatomic`] there are no hard links either.
    #[must_use]
    pub const fn danger_force_tier(mut self, tier: Tier) -> Self {
        self.forced = Some(tier);
        self
    }

    /// Chooses whether leases are taken.
    #[must_use]
    pub const fn lease(mut self, lease: Lease) -> Self {
        self.lease = lease;
        self
    }

    /// Sets the runtime; that of the caller of [`Builder::build`] otherwise.
    #[must_use]
    pub fn runtime(mut self, runtime: Handle) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Makes the target.
    ///
    /// # Errors
    ///
    /// [`BuildError::NoRuntime`] outside a runtime.
    pub fn build(self) -> Result<Local, BuildError> {
        let runtime = self.runtime.or_else(|| Handle::try_current().ok()).ok_or(BuildError::NoRuntime)?;
        let by_kernel = self.resolver == Resolver::Kernel && knows_paths();
        let lease = match self.lease {
            Lease::Try if cfg!(target_os = "linux") => LeaseSupport::Tried,
            _ => LeaseSupport::No,
        };
        let capabilities = Capabilities {
            home: match self.home {
                Fact::Known(Some(home)) => physical(home),
                home => home,
            },
            uid: rustix::process::geteuid().as_raw(),
            tier: self.forced.unwrap_or(Tier::Exchange),
            lease,
        };
        let inner = Inner {
            target: TargetId::new("local"),
            capabilities,
            roots: Roots::default(),
            position: if by_kernel { Position::Kernel } else { Position::Names },
            openat2: by_kernel && has_openat2(),
            unnamed: by_kernel
                && cfg!(target_os = "linux")
                && self.forced.is_none_or(|tier| tier == Tier::Exchange),
            observer: self.observer,
            forced: self.forced,
            lease: self.lease,
            runtime,
        };
        Ok(Local { inner: Arc::new(inner) })
    }
}

/// Resolves the links in a home directory's path: what is judged by it are paths that are free of links. One that
/// is not there stays as it was typed; where it is that cannot be reached is not known.
fn physical(home: TargetPath) -> Fact<Option<TargetPath>> {
    match std::fs::canonicalize(home.as_str()) {
        Ok(path) => match names::target_path(path.into_os_string().into_encoded_bytes()) {
            Ok(path) => Fact::Known(Some(path)),
            Err(_) => Fact::Unknown,
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Fact::Known(Some(home)),
        Err(_) => Fact::Unknown,
    }
}

impl Inner {
    fn step(&self, step: Step<'_>) {
        if let Some(observer) = &self.observer {
            observer.step(step);
        }
    }
}

/// Tells whether the kernel tells a descriptor's path (`/proc` can be missing in a container).
fn knows_paths() -> bool {
    rustix::fs::open("/", sys::HOLD, rustix::fs::Mode::empty())
        .is_ok_and(|top| root::path_of(&top).is_ok_and(|path| path == b"/"))
}

#[cfg(target_os = "linux")]
fn has_openat2() -> bool {
    resolve::is_supported()
}

#[cfg(not(target_os = "linux"))]
const fn has_openat2() -> bool {
    false
}

#[async_trait]
impl FileOps for Local {
    fn target(&self) -> &TargetId {
        &self.inner.target
    }

    fn capabilities(&self) -> &Capabilities {
        &self.inner.capabilities
    }

    fn is_of_this_machine(&self) -> bool {
        true
    }

    async fn open_root(&self, spec: &RootSpec) -> Result<Root, OpError> {
        let path = spec.path.clone();
        self.blocking(move |inner| inner.roots.open(&path, inner.position)).await?
    }

    async fn stat(&self, asks: &[Ask]) -> Result<Vec<Result<Found, OpError>>, OpError> {
        let asks = asks.to_vec();
        self.blocking(move |inner| {
            let stat = |ask: &Ask| read::stat(inner, ask);
            asks.iter().map(stat).collect()
        })
        .await
    }

    async fn read(&self, wants: &[Want]) -> Result<Vec<Result<Contents, OpError>>, OpError> {
        let wants = wants.to_vec();
        self.blocking(move |inner| wants.iter().map(|want| read::read(inner, want)).collect()).await
    }

    async fn stream(&self, ask: &Ask, sink: &mut dyn Sink) -> Result<Found, OpError> {
        let (send, mut receive) = tokio::sync::mpsc::channel(2);
        let (inner, ask) = (Arc::clone(&self.inner), ask.clone());
        let task = self.inner.runtime.spawn_blocking(move || stream::send(&inner, &ask, &send));
        while let Some(piece) = receive.recv().await {
            sink.take(&piece).await?;
        }
        task.await.map_err(|error| OpError::Unavailable { why: error.to_string() })?
    }

    async fn list(&self, ask: &Ask, page: &Page) -> Result<Listing, OpError> {
        let (ask, page) = (ask.clone(), page.clone());
        self.blocking(move |inner| list::list(inner, &ask, &page)).await?
    }

    async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        let (id, changes) = (batch.id.clone(), batch.changes.len());
        let inner = Arc::clone(&self.inner);
        let task = self.inner.runtime.spawn_blocking(move || commit::commit(&inner, &batch));
        task.await.unwrap_or_else(|error| {
            // Either the runtime was shut down before the work began, or an observer panicked in the middle of it.
            let (cause, fate) = if error.is_cancelled() {
                (OpError::Unavailable { why: error.to_string() }, Fate::Untouched)
            } else {
                (OpError::OutcomeUnknown { commit: id }, Fate::Unknown)
            };
            Err(CommitError { cause: cause.into(), at: None, fates: vec![fate; changes] })
        })
    }

    async fn settle(&self, _commit: &CommitId) -> Result<Settled, OpError> {
        Err(OpError::Unsupported { what: "settling a local commit, whose reply cannot be lost".to_owned() })
    }

    fn spawn(&self, task: Task) {
        self.inner.runtime.spawn(task);
    }
}
