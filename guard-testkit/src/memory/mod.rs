//! An in-memory target.
//!
//! [`Memory`] is a [`FileOps`] over a tree of inodes under one lock. Requests are carried out as one step, so that
//! whatever a test does by another route ([`Memory::world`]) comes wholly before or wholly after one.
//! It judges permissions as a process that owns every file and is not root.
//!
//! ```
//! use std::sync::Arc;
//!
//! use guard_core::port::{Ask, Depth, FileOps, Last, RootSpec};
//! use guard_core::policy::{FileState, TargetPath};
//! use guard_testkit::memory::Memory;
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let memory = Memory::new();
//! memory.world().write("/ws/notes.txt", b"hello")?;
//! let root = memory.open_root(&RootSpec { path: TargetPath::new("/ws")? }).await?;
//! let (path, scope) = ("notes.txt".to_owned(), Arc::default());
//! let ask = Ask { root: root.id, path, last: Last::Follow, depth: Depth::State, scope };
//! let found = memory.stat(&[ask]).await?.remove(0)?;
//! assert!(matches!(found.state, FileState::Regular { len: 5, .. }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod commit;
mod query;
mod resolve;
mod tree;
mod world;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use guard_core::policy::{Fact, RootId, TargetPath};
use guard_core::port::{
    Ask, Batch, Capabilities, CommitError, CommitId, Committed, Contents, FileOps, Found, LeaseSupport,
    Listing, Observer, OpError, Page, Root, RootSpec, Settled, Sink, TargetId, Task, Tier, Want,
};
use tokio::runtime::Handle;

use self::resolve::RootDir;
use self::tree::Tree;
pub use self::world::{Kind, World, Writer};

/// An in-memory target; clones are handles to the same tree.
#[derive(Clone)]
pub struct Memory {
    target: TargetId,
    capabilities: Capabilities,
    observer: Option<Arc<dyn Observer>>,
    runtime: Option<Handle>,
    state: Arc<Mutex<State>>,
}

/// What the lock holds.
struct State {
    tree: Tree,
    roots: Vec<RootDir>,
    umask: u32,
    capacity: Option<u64>,
    read_only: bool,
    log: HashMap<CommitId, Logged>,
}

/// What is known of a commit's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Logged {
    Applied,
    NotApplied,
    /// Settled before it arrived: it will not be carried out any more.
    Fenced,
}

/// Builds a [`Memory`].
pub struct Builder {
    target: TargetId,
    capabilities: Capabilities,
    observer: Option<Arc<dyn Observer>>,
    umask: u32,
    capacity: Option<u64>,
    directories: Vec<TargetPath>,
}

impl Memory {
    /// Starts with the directories `/ws` (for a root), `/home/agent` (the home) and `/tmp`, all empty.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Starts a target with other properties.
    #[must_use]
    pub fn builder() -> Builder {
        Builder {
            target: TargetId::new("memory"),
            capabilities: Capabilities {
                home: Fact::Known(TargetPath::new("/home/agent").ok()),
                uid: 1000,
                tier: Tier::Exchange,
                lease: LeaseSupport::Tried,
            },
            observer: None,
            umask: 0o022,
            capacity: None,
            directories: ["/ws", "/home/agent", "/tmp"]
                .iter()
                .filter_map(|at| TargetPath::new(*at).ok())
                .collect(),
        }
    }

    /// Returns a handle that acts on the tree by another route, like another process (root's).
    #[must_use]
    pub fn world(&self) -> World {
        World::new(Arc::clone(&self.state))
    }

    /// Limits the bytes of all files; what does not fit is [`OpError::NoSpace`]. `None` lifts the limit.
    pub fn set_capacity(&self, bytes: Option<u64>) {
        self.lock().capacity = bytes;
    }

    /// Mounts the filesystem read-only, or not: then every change is [`OpError::ReadOnlyFilesystem`].
    pub fn set_read_only(&self, read_only: bool) {
        self.lock().read_only = read_only;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// A poisoned lock is one whose holder panicked between two requests' steps; a commit swaps the whole tree at its
/// end, so what is there is whole.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Builder {
    /// Names the target; `memory` otherwise.
    #[must_use]
    pub fn target(mut self, name: &str) -> Self {
        self.target = TargetId::new(name);
        self
    }

    /// Sets the home directory (made if it is not there), or that there is none.
    #[must_use]
    pub fn home(mut self, home: Option<TargetPath>) -> Self {
        self.directories.extend(home.clone());
        self.capabilities.home = Fact::Known(home);
        self
    }

    /// Leaves it unknown whether there is a home directory, as a target that was not told does.
    #[must_use]
    pub fn home_unknown(mut self) -> Self {
        self.capabilities.home = Fact::Unknown;
        self
    }

    /// Makes a directory, with its parents.
    #[must_use]
    pub fn directory(mut self, path: TargetPath) -> Self {
        self.directories.push(path);
        self
    }

    /// Sets the strongest tier that replacements have; [`Tier::Exchange`] otherwise.
    ///
    /// The tree's own behaviour stays the same: what differs is what receipts say and which batches are refused
    /// for what they require.
    #[must_use]
    pub fn tier(mut self, tier: Tier) -> Self {
        self.capabilities.tier = tier;
        self
    }

    /// Sets whether replacements are made under a lease; without one a late writer is not noticed.
    #[must_use]
    pub fn lease(mut self, lease: LeaseSupport) -> Self {
        self.capabilities.lease = lease;
        self
    }

    /// Sets the umask that new files and directories get; 022 otherwise.
    #[must_use]
    pub fn umask(mut self, umask: u32) -> Self {
        self.umask = umask & 0o777;
        self
    }

    /// Limits the bytes of all files.
    #[must_use]
    pub fn capacity(mut self, bytes: u64) -> Self {
        self.capacity = Some(bytes);
        self
    }

    /// Sets who sees the steps of commits.
    ///
    /// The lock is not held while it is called, so that it can act through a [`World`]: what it does at a step up
    /// to `Checked` comes before the commit's one atomic step, what it does from `Published` on comes after.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Makes the target.
    #[must_use]
    pub fn build(self) -> Memory {
        let mut tree = Tree::new();
        for directory in &self.directories {
            tree.make_all(directory);
        }
        let state = State {
            tree,
            roots: Vec::new(),
            umask: self.umask,
            capacity: self.capacity,
            read_only: false,
            log: HashMap::new(),
        };
        Memory {
            target: self.target,
            capabilities: self.capabilities,
            observer: self.observer,
            runtime: Handle::try_current().ok(),
            state: Arc::new(Mutex::new(state)),
        }
    }
}

#[async_trait]
impl FileOps for Memory {
    fn target(&self) -> &TargetId {
        &self.target
    }

    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    async fn open_root(&self, spec: &RootSpec) -> Result<Root, OpError> {
        let mut state = self.lock();
        let (path, ino) = resolve::physical_directory(&state.tree, &spec.path)?;
        let identity = ino.to_string();
        let index = state.roots.len();
        state.roots.push(RootDir { ino, path: path.clone(), spellings: [path.clone(), spec.path.clone()] });
        Ok(Root { id: RootId(index as u32), path, identity })
    }

    async fn stat(&self, asks: &[Ask]) -> Result<Vec<Result<Found, OpError>>, OpError> {
        let state = self.lock();
        Ok(asks.iter().map(|ask| query::stat(&state, ask)).collect())
    }

    async fn read(&self, wants: &[Want]) -> Result<Vec<Result<Contents, OpError>>, OpError> {
        let state = self.lock();
        Ok(wants.iter().map(|want| query::read(&state, want)).collect())
    }

    async fn stream(&self, ask: &Ask, sink: &mut dyn Sink) -> Result<Found, OpError> {
        let (found, bytes) = query::open(&self.lock(), ask)?;
        for piece in bytes.chunks(query::PIECE) {
            sink.take(piece).await?;
        }
        Ok(found)
    }

    async fn list(&self, ask: &Ask, page: &Page) -> Result<Listing, OpError> {
        query::list(&self.lock(), ask, page)
    }

    async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        commit::commit(self, &batch)
    }

    async fn settle(&self, commit: &CommitId) -> Result<Settled, OpError> {
        let mut state = self.lock();
        Ok(match *state.log.entry(commit.clone()).or_insert(Logged::Fenced) {
            Logged::Applied => Settled::APPLIED,
            Logged::NotApplied | Logged::Fenced => Settled::NOT_APPLIED,
        })
    }

    /// Runs the task on the runtime of the caller, else on the one that the target was built on.
    ///
    /// # Panics
    ///
    /// Without any runtime.
    fn spawn(&self, task: Task) {
        let runtime = Handle::try_current().ok().or_else(|| self.runtime.clone());
        runtime.expect("a Memory is used on a tokio runtime, or built on one").spawn(task);
    }
}
