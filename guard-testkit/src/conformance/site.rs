//! What a case works with: short forms, and the claims that cases make.

use std::fmt::Debug;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use guard_core::policy::{Digest, FileState, OpenWriters, OtherKind, Precondition, RootId, TargetPath};
use guard_core::port::{
    Ask, Batch, Body, Change, CommitError, CommitFailure, CommitId, Committed, Content, Contents, Depth,
    Displaced, Effect, Fate, FileOps, Found, InPlace, Keep, Last, Listing, Mode, OpError, Page, Parents,
    Part, Place, Root, RootSpec, Scope, Want,
};

use super::{Ground, World};

/// Files of the suite are smaller.
pub(super) const MAX: u64 = 16 << 20;

/// Why a case stops.
#[derive(Debug)]
pub(crate) enum Broken {
    /// This fixture cannot make what the case needs.
    Skipped(String),
    /// The guarantee does not hold.
    Failed(String),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::Unsupported {
            Self::Skipped(format!("the fixture cannot do this: {error}"))
        } else {
            Self::Failed(format!("the world: {error}"))
        }
    }
}

impl From<OpError> for Broken {
    fn from(error: OpError) -> Self {
        Self::Failed(format!("an error where there should be none: {error:?}"))
    }
}

impl From<CommitError> for Broken {
    fn from(error: CommitError) -> Self {
        Self::Failed(format!("a commit that should be carried out was not: {error:?}"))
    }
}

/// Fails a case with a sentence.
pub(crate) fn broken<T>(what: impl Into<String>) -> Result<T, Broken> {
    Err(Broken::Failed(what.into()))
}

/// Claims that something holds.
pub(crate) fn ensure(holds: bool, claim: impl Into<String>) -> Result<(), Broken> {
    if holds { Ok(()) } else { broken(claim) }
}

/// Claims that two things are equal.
pub(crate) fn same<A: Debug + PartialEq<B>, B: Debug>(
    claim: &str,
    got: &A,
    expected: &B,
) -> Result<(), Broken> {
    ensure(got == expected, format!("{claim}: got {got:?}, expected {expected:?}"))
}

/// Claims that two byte strings are equal, without printing them whole.
pub(crate) fn same_bytes(claim: &str, got: &[u8], expected: &[u8]) -> Result<(), Broken> {
    let at = got.iter().zip(expected).position(|(a, b)| a != b);
    let (lens, at) = ((got.len(), expected.len()), at.unwrap_or(got.len().min(expected.len())));
    let claim = || format!("{claim}: got {} bytes, expected {}; they differ at byte {at}", lens.0, lens.1);
    if got == expected { Ok(()) } else { broken(claim()) }
}

/// The ground of one case, with its root opened.
#[derive(Clone)]
pub(super) struct Site {
    pub(super) ops: Arc<dyn FileOps>,
    pub(super) world: Arc<dyn World>,
    pub(super) root: Root,
    pub(super) outside: TargetPath,
    /// What its requests reach.
    pub(super) scope: Arc<Scope>,
    _keep: Arc<dyn std::any::Any + Send + Sync>,
}

impl Site {
    pub(super) async fn open(ground: Ground) -> Result<Self, OpError> {
        let Ground { ops, world, root, outside, keep } = ground;
        let root = ops.open_root(&RootSpec { path: root }).await?;
        Ok(Self { ops, world, root, outside, scope: Arc::default(), _keep: Arc::from(keep) })
    }

    /// Returns the same ground for requests that reach no more than this.
    pub(super) fn reaching(&self, scope: Scope) -> Self {
        Self { scope: Arc::new(scope), ..self.clone() }
    }

    // Paths.

    /// Returns the absolute path of what is below the root; of the root itself for the empty text.
    pub(super) fn at(&self, path: &str) -> Vec<u8> {
        let slash = if path.is_empty() { "" } else { "/" };
        format!("{}{slash}{path}", self.root.path).into_bytes()
    }

    /// Returns the absolute path of what is below the outside directory.
    pub(super) fn out(&self, path: &str) -> Vec<u8> {
        format!("{}/{path}", self.outside).into_bytes()
    }

    pub(super) fn target(&self, path: &str) -> Result<TargetPath, Broken> {
        path.split('/').filter(|name| !name.is_empty()).try_fold(self.root.path.clone(), |at, name| {
            at.child(name).map_err(|error| Broken::Failed(format!("{path}: {error}")))
        })
    }

    // The world.

    pub(super) fn file(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.world.create(&self.at(path), bytes)
    }

    pub(super) fn dir(&self, path: &str) -> io::Result<()> {
        self.world.mkdir(&self.at(path))
    }

    /// Makes a link below the root.
    pub(super) fn link(&self, text: &str, path: &str) -> io::Result<()> {
        self.world.symlink(text.as_bytes(), &self.at(path))
    }

    pub(super) fn bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        self.world.read(&self.at(path))
    }

    pub(super) fn is_absent(&self, path: &str) -> Result<(), Broken> {
        match (self.world.read(&self.at(path)), self.world.readlink(&self.at(path))) {
            (Err(file), Err(link))
                if file.kind() == io::ErrorKind::NotFound && link.kind() == io::ErrorKind::NotFound =>
            {
                Ok(())
            }
            other => broken(format!("{path} should be absent: {other:?}")),
        }
    }

    /// Claims a file's bytes.
    pub(super) fn holds(&self, path: &str, bytes: &[u8]) -> Result<(), Broken> {
        same_bytes(path, &self.bytes(path)?, bytes)
    }

    /// Makes one of each kind of thing that a name can have, and returns the names. What the fixture cannot make is
    /// left out.
    pub(super) fn one_of_each(&self, directory: &str) -> Result<Vec<String>, Broken> {
        self.dir(directory)?;
        let name = |name: &str| format!("{directory}/{name}");
        self.file(&name("file"), b"bytes")?;
        self.file(&name("empty"), b"")?;
        self.dir(&name("directory"))?;
        self.dir(&name("full"))?;
        self.file(&name("full/inside"), b"inside")?;
        self.link("file", &name("link"))?;
        self.link("nowhere", &name("dangling"))?;
        self.link("directory", &name("link-to-directory"))?;
        let mut names: Vec<String> =
            ["file", "empty", "directory", "full", "link", "dangling", "link-to-directory"].map(name).into();
        for (kind, text) in [(OtherKind::Fifo, "fifo"), (OtherKind::Socket, "socket")] {
            match self.world.mknod(&self.at(&name(text)), kind) {
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
                made => {
                    made?;
                    names.push(name(text));
                }
            }
        }
        Ok(names)
    }

    /// Digests the root and the outside directory.
    pub(super) fn snapshot(&self) -> Result<(Digest, Digest), Broken> {
        let outside = self.world.snapshot(self.outside.as_str().as_bytes())?;
        Ok((self.world.snapshot(&self.at(""))?, outside))
    }

    /// Claims that nothing has changed.
    pub(super) fn unchanged(&self, before: &(Digest, Digest), after: &str) -> Result<(), Broken> {
        ensure(self.snapshot()? == *before, format!("something changed on the target after {after}"))
    }

    /// Leaves a case that root cannot show.
    pub(super) fn needs_permissions(&self) -> Result<(), Broken> {
        if self.world.enforces_permissions() {
            return Ok(());
        }
        Err(Broken::Skipped(
            "permission bits do not hold back the implementation under test (root?)".to_owned(),
        ))
    }

    // Requests.

    pub(super) fn ask(&self, path: &str, last: Last) -> Ask {
        Ask {
            root: self.root.id,
            path: path.to_owned(),
            last,
            depth: Depth::Digest { max: MAX },
            scope: Arc::clone(&self.scope),
        }
    }

    pub(super) async fn stat(&self, path: &str, last: Last) -> Result<Found, OpError> {
        one(self.ops.stat(&[self.ask(path, last)]).await?)
    }

    pub(super) async fn read(&self, path: &str, part: Part) -> Result<Contents, OpError> {
        one(self.ops.read(&[Want { ask: self.ask(path, Last::Follow), part }]).await?)
    }

    /// Claims what a whole read delivers.
    pub(super) async fn reads(&self, path: &str, bytes: &[u8]) -> Result<Found, Broken> {
        let contents = self.read(path, Part::Whole { max: MAX }).await?;
        let Body::Bytes { offset: 0, bytes: got } = &contents.body else {
            return broken(format!("a read of {path} delivers {:?}", contents.body));
        };
        same_bytes(path, got, bytes)?;
        let digest = contents.found.state.digest();
        same("the digest that comes with a read", &digest, &Some(Digest::of(bytes)))?;
        Ok(contents.found)
    }

    pub(super) async fn list(&self, path: &str, page: Page) -> Result<Listing, OpError> {
        self.ops.list(&self.ask(path, Last::Follow), &page).await
    }

    // Changes.

    pub(super) fn place(&self, path: &str) -> Result<Place, Broken> {
        self.place_at(path, path)
    }

    /// Names a place whose path leads to `expect`.
    pub(super) fn place_at(&self, path: &str, expect: &str) -> Result<Place, Broken> {
        let expect = self.target(expect)?;
        Ok(Place { root: self.root.id, path: path.to_owned(), expect, last: Last::Follow })
    }

    pub(super) fn put(&self, path: &str, is: Precondition, bytes: &[u8]) -> Result<Change, Broken> {
        Ok(put_at(self.place(path)?, is, Content::from(bytes.to_vec()), Mode::Keep))
    }

    pub(super) fn remove(&self, path: &str, is: Precondition) -> Result<Change, Broken> {
        Ok(Change { place: itself(self.place(path)?), precondition: is, effect: Effect::Remove })
    }

    pub(super) fn move_to(&self, from: &str, is: Precondition, to: &str) -> Result<Change, Broken> {
        let to = itself(self.place(to)?);
        let effect = Effect::MoveTo { to, destination: Precondition::Absent, parents: Parents::Make };
        Ok(Change { place: itself(self.place(from)?), precondition: is, effect })
    }

    pub(super) fn make_dir(&self, path: &str, parents: Parents) -> Result<Change, Broken> {
        let effect = Effect::MakeDir { parents };
        Ok(Change { place: itself(self.place(path)?), precondition: Precondition::Absent, effect })
    }

    pub(super) fn remove_dir(&self, path: &str) -> Result<Change, Broken> {
        let place = itself(self.place(path)?);
        Ok(Change { place, precondition: Precondition::Absent, effect: Effect::RemoveDir })
    }

    fn batch(&self, changes: Vec<Change>) -> Batch {
        Batch { scope: Arc::clone(&self.scope), ..batch(changes) }
    }

    pub(super) async fn commit(&self, changes: Vec<Change>) -> Result<Committed, CommitError> {
        self.ops.commit(self.batch(changes)).await
    }

    /// Commits and claims one report a change.
    pub(super) async fn done(&self, changes: Vec<Change>) -> Result<Committed, Broken> {
        let count = changes.len();
        let committed = self.commit(changes).await?;
        same("reports of a batch", &committed.changes.len(), &count)?;
        Ok(committed)
    }

    /// Commits, and claims that it is refused, that nothing has changed and that the error says so of each change.
    pub(super) async fn refused(&self, what: &str, changes: Vec<Change>) -> Result<CommitFailure, Broken> {
        self.refused_batch(what, self.batch(changes)).await
    }

    pub(super) async fn refused_batch(&self, what: &str, batch: Batch) -> Result<CommitFailure, Broken> {
        let before = self.snapshot()?;
        let count = batch.changes.len();
        let outcome = self.ops.commit(batch).await;
        self.unchanged(&before, what)?;
        let error = match outcome {
            Err(error) => error,
            Ok(done) => return broken(format!("{what} should be refused: {done:?}")),
        };
        let undone = error.fates.iter().all(|fate| matches!(fate, Fate::Untouched | Fate::Restored));
        ensure(
            undone && error.fates.len() == count,
            format!("{what}: nothing changed, and the fates say {:?}", error.fates),
        )?;
        ensure(error.at.is_none_or(|at| at < count), format!("{what}: the failed change is {:?}", error.at))?;
        Ok(error.cause)
    }

    /// As [`Self::refused`], where the cause has to be a precondition that did not hold; returns what was found.
    pub(super) async fn mismatched(&self, what: &str, changes: Vec<Change>) -> Result<FileState, Broken> {
        match self.refused(what, changes).await? {
            CommitFailure::Precondition { found, .. } => Ok(found),
            other => broken(format!("{what}: the cause should be the precondition: {other:?}")),
        }
    }
}

fn one<T>(mut replies: Vec<Result<T, OpError>>) -> Result<T, OpError> {
    match (replies.pop(), replies.is_empty()) {
        (Some(reply), true) => reply,
        _ => Err(OpError::Io { what: "one question".to_owned(), errno: "not one answer".to_owned() }),
    }
}

/// Makes a place speak of a final link itself.
pub(super) fn itself(place: Place) -> Place {
    Place { last: Last::Itself, ..place }
}

pub(super) fn put_at(place: Place, is: Precondition, content: Content, mode: Mode) -> Change {
    Change { place, precondition: is, effect: Effect::Put { content, mode, parents: Parents::Make } }
}

pub(super) fn content(bytes: &[u8]) -> Precondition {
    Precondition::Content { digest: Digest::of(bytes) }
}

pub(super) fn batch(changes: Vec<Change>) -> Batch {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nth = COUNT.fetch_add(1, Ordering::Relaxed);
    Batch {
        id: CommitId(format!("conformance-{}-{nth}", std::process::id())),
        changes,
        require: None,
        displaced: Displaced::Discard,
        open_writers: OpenWriters::Refuse,
        metadata: Keep::Require,
        in_place: InPlace::Refuse,
        scope: Arc::default(),
    }
}

/// Returns bytes of every value, NUL and CR among them, that repeat nowhere nearby.
pub(super) fn noise(len: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(len + 8);
    let mut state: u64 = 1;
    while bytes.len() < len {
        // A linear congruential generator (Knuth, MMIX), whose low bits are mixed with its high ones.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        bytes.extend_from_slice(&(state ^ (state >> 33)).to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// Names a root that no target has given.
pub(super) const NO_ROOT: RootId = RootId(u32::MAX);
