//! Who races: a target under test, or an unguarded program.

#![allow(clippy::disallowed_methods, reason = "the negative controls are what the bans are about")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use guard_core::policy::{Digest, FileState, OpenWriters, Precondition, TargetPath};
use guard_core::port::{
    Ask, Batch, Change, CommitFailure, CommitId, Content, Depth, Displaced, Effect, Fate, FileOps, InPlace,
    Keep, Last, Mode, OpError, Parents, Place, Root, RootSpec, Tier,
};

use super::judge::Outcome;

/// A writer that reads a digest and swaps a new content in for it.
#[async_trait]
pub trait Contender: Send + Sync {
    /// Returns the digest of what is there; `None` where there is no regular file, or where it changes.
    async fn read(&self) -> Option<Digest>;

    /// Puts `bytes` in place of the content with the digest `before`; where that is `None`, in place of nothing.
    async fn swap(&self, before: Option<Digest>, bytes: Vec<u8>) -> Swap;
}

/// What a swap says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swap {
    /// Whether it was done.
    pub outcome: Outcome,
    /// Reports of names under which bytes were left.
    pub left: Vec<String>,
    /// Whether a lease held off late writers.
    pub lease: bool,
    /// What enforced the precondition.
    pub tier: Tier,
}

/// A target under test.
pub struct Guarded {
    ops: Arc<dyn FileOps>,
    root: Root,
    path: String,
    expect: TargetPath,
    open_writers: OpenWriters,
    commits: AtomicU64,
}

impl Guarded {
    /// Takes `file`, in a directory that becomes the root.
    ///
    /// # Errors
    ///
    /// Where the directory cannot be opened as a root, or the path is none of a target.
    pub async fn open(ops: Arc<dyn FileOps>, file: &Path) -> Result<Self, OpError> {
        let wrong = || OpError::Unsupported { what: format!("racing on {}", file.display()) };
        let directory = file.parent().and_then(Path::to_str).ok_or_else(wrong)?;
        let name = file.file_name().and_then(|name| name.to_str()).ok_or_else(wrong)?;
        Self::at(ops, TargetPath::new(directory).map_err(|_| wrong())?, name).await
    }

    /// Takes the file with this name in a directory of the target, which becomes the root.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    pub async fn at(ops: Arc<dyn FileOps>, directory: TargetPath, name: &str) -> Result<Self, OpError> {
        let root = ops.open_root(&RootSpec { path: directory }).await?;
        let path = name.to_owned();
        let wrong = |error| OpError::Unsupported { what: format!("racing on {name}: {error}") };
        let expect = root.path.child(&path).map_err(wrong)?;
        let commits = AtomicU64::new(0);
        Ok(Self { ops, root, path, expect, open_writers: OpenWriters::Refuse, commits })
    }

    /// Sets what a file that is open for writing elsewhere is; refused otherwise.
    #[must_use]
    pub fn open_writers(mut self, open_writers: OpenWriters) -> Self {
        self.open_writers = open_writers;
        self
    }

    fn batch(&self, before: Option<Digest>, bytes: Vec<u8>) -> Batch {
        let nth = self.commits.fetch_add(1, Ordering::Relaxed);
        let (root, path, expect) = (self.root.id, self.path.clone(), self.expect.clone());
        let place = Place { root, path, expect, last: Last::Itself };
        let effect =
            Effect::Put { content: Content::from(bytes), mode: Mode::Keep, parents: Parents::Require };
        let precondition = before.map_or(Precondition::Absent, |digest| Precondition::Content { digest });
        let change = Change { place, precondition, effect };
        Batch {
            id: CommitId(format!("race-{}-{nth}", std::process::id())),
            changes: vec![change],
            require: None,
            displaced: Displaced::Discard,
            open_writers: self.open_writers,
            metadata: Keep::DangerLose,
            in_place: InPlace::Refuse,
            scope: Arc::default(),
        }
    }
}

#[async_trait]
impl Contender for Guarded {
    async fn read(&self) -> Option<Digest> {
        let depth = Depth::Digest { max: 1 << 20 };
        let ask = Ask {
            root: self.root.id,
            path: self.path.clone(),
            last: Last::Itself,
            depth,
            scope: Arc::default(),
        };
        match self.ops.stat(&[ask]).await.ok()?.pop()?.ok()?.state {
            FileState::Regular { digest, .. } => digest,
            _ => None,
        }
    }

    async fn swap(&self, before: Option<Digest>, bytes: Vec<u8>) -> Swap {
        match self.ops.commit(self.batch(before, bytes)).await {
            Ok(done) => {
                let publish = done.changes[0].publish;
                Swap {
                    outcome: Outcome::Done,
                    left: done.changes.into_iter().flat_map(|applied| applied.left).collect(),
                    // A creation displaces nothing, and needs none.
                    lease: publish.lease != Some(false),
                    tier: publish.tier,
                }
            }
            Err(error) => {
                let unknown = matches!(error.cause, CommitFailure::Op(OpError::OutcomeUnknown { .. }))
                    || error.fates.contains(&Fate::Unknown);
                let left = error.fates.into_iter().filter_map(|fate| match fate {
                    Fate::Left { what } => Some(what),
                    _ => None,
                });
                Swap {
                    outcome: if unknown { Outcome::Unknown } else { Outcome::Refused },
                    left: left.collect(),
                    lease: false,
                    tier: Tier::InPlace,
                }
            }
        }
    }
}

/// How long an unguarded program needs between its look and its write, in nanoseconds: less than it takes to start
/// `mv`, and far less than a model thinks.
const BETWEEN: u64 = 100_000;

/// A program that looks and then writes: the negative control.
pub struct Unguarded {
    file: PathBuf,
    way: Way,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    HashThenRename,
    HashThenWrite,
}

impl Unguarded {
    /// Compares the digest, and then renames a temporary file over the name.
    #[must_use]
    pub fn hash_then_rename(file: &Path) -> Self {
        Self { file: file.to_owned(), way: Way::HashThenRename }
    }

    /// Compares the digest, and then calls `std::fs::write`.
    #[must_use]
    pub fn hash_then_write(file: &Path) -> Self {
        Self { file: file.to_owned(), way: Way::HashThenWrite }
    }
}

#[async_trait]
impl Contender for Unguarded {
    async fn read(&self) -> Option<Digest> {
        std::fs::read(&self.file).ok().map(|bytes| Digest::of(&bytes))
    }

    async fn swap(&self, before: Option<Digest>, bytes: Vec<u8>) -> Swap {
        let looked = self.read().await == before;
        crate::rival::spin(BETWEEN);
        let temp = self.file.with_extension("unguarded");
        let written = match self.way {
            _ if !looked => Err(std::io::ErrorKind::Other.into()),
            Way::HashThenRename => {
                std::fs::write(&temp, &bytes).and_then(|()| std::fs::rename(&temp, &self.file))
            }
            Way::HashThenWrite => std::fs::write(&self.file, &bytes),
        };
        let outcome = if written.is_ok() { Outcome::Done } else { Outcome::Refused };
        Swap { outcome, left: Vec::new(), lease: true, tier: Tier::InPlace }
    }
}
