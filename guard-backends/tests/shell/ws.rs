//! A workspace on this machine that is reached through a shell.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use guard_backends::shell::{Builder, Process, Shell};
use guard_core::policy::{Digest, FileState, Precondition, TargetPath};
use guard_core::port::{
    Applied, Ask, Body, Change, CommitError, Contents, Depth, Effect, FileOps as _, Found, Last, OpError,
    Parents, Part, Place, Root, RootSpec, TargetId, Transport, Want,
};
use tempfile::TempDir;

use crate::common::{self, Tree, batch};

/// Files of the tests are smaller.
pub(crate) const MAX: u64 = 1 << 30;

/// A directory that is opened as a root of a shell target.
pub(crate) struct Ws {
    pub(crate) shell: Shell,
    pub(crate) root: Root,
    pub(crate) dir: TempDir,
}

/// This machine's `sh`.
pub(crate) fn sh() -> Process {
    Process::shell(TargetId::new("sh"))
}

impl Ws {
    pub(crate) async fn new() -> Self {
        Self::over(sh()).await
    }

    pub(crate) async fn over(transport: impl Transport) -> Self {
        Self::with(transport, |builder| builder).await
    }

    pub(crate) async fn with(transport: impl Transport, build: impl FnOnce(Builder) -> Builder) -> Self {
        Self::at(tempfile::tempdir().unwrap(), transport, build).await
    }

    pub(crate) async fn at(
        dir: TempDir,
        transport: impl Transport,
        build: impl FnOnce(Builder) -> Builder,
    ) -> Self {
        let shell = build(Shell::builder(Arc::new(transport))).connect().await.unwrap();
        let root = shell.open_root(&RootSpec { path: common::target(dir.path()) }).await.unwrap();
        Self { shell, root, dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn target(&self, name: &str) -> TargetPath {
        common::target(&self.path(name))
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn mkdir(&self, name: &str) {
        std::fs::create_dir_all(self.path(name)).unwrap();
    }

    pub(crate) fn link(&self, text: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(text, self.path(name)).unwrap();
    }

    pub(crate) fn tree(&self) -> Tree {
        common::tree(self.dir.path())
    }

    pub(crate) fn ask(&self, path: &str) -> Ask {
        Ask {
            root: self.root.id,
            path: path.to_owned(),
            last: Last::Follow,
            depth: Depth::Digest { max: MAX },
            scope: Arc::default(),
        }
    }

    pub(crate) async fn stat(&self, path: &str) -> Result<Found, OpError> {
        self.shell.stat(&[self.ask(path)]).await?.remove(0)
    }

    pub(crate) async fn contents(&self, path: &str) -> Result<Contents, OpError> {
        let want = Want { ask: self.ask(path), part: Part::Whole { max: MAX } };
        self.shell.read(&[want]).await?.remove(0)
    }

    pub(crate) async fn bytes(&self, path: &str) -> Vec<u8> {
        match self.contents(path).await.unwrap().body {
            Body::Bytes { bytes, .. } => bytes,
            other => panic!("{path}: {other:?}"),
        }
    }

    pub(crate) fn place(&self, name: &str) -> Place {
        common::place(&self.root, self.dir.path(), name)
    }

    pub(crate) fn put(&self, name: &str, is: Precondition, bytes: impl Into<Vec<u8>>) -> Change {
        let content = guard_core::port::Content::from(bytes.into());
        let effect = Effect::Put { content, mode: guard_core::port::Mode::Keep, parents: Parents::Make };
        Change { place: self.place(name), precondition: is, effect }
    }

    pub(crate) fn remove(&self, name: &str, is: Precondition) -> Change {
        Change { place: self.place(name), precondition: is, effect: Effect::Remove }
    }

    pub(crate) fn move_to(&self, from: &str, is: Precondition, to: &str) -> Change {
        let to = self.place(to);
        let effect = Effect::MoveTo { to, destination: Precondition::Absent, parents: Parents::Make };
        Change { place: self.place(from), precondition: is, effect }
    }

    pub(crate) async fn commit(&self, change: Change) -> Result<Applied, CommitError> {
        self.shell.commit(batch(vec![change])).await.map(|mut done| done.changes.remove(0))
    }

    /// Temporary names that are in the workspace.
    pub(crate) fn temps(&self) -> Vec<String> {
        self.tree().into_keys().filter(|name| name.contains(".guard-")).collect()
    }
}

pub(crate) fn is(bytes: impl AsRef<[u8]>) -> Precondition {
    Precondition::Content { digest: Digest::of(bytes.as_ref()) }
}

/// Describes a regular file of one name.
pub(crate) fn regular(bytes: &[u8], mode: u32) -> FileState {
    FileState::Regular { len: bytes.len() as u64, mode, nlink: 1, digest: Some(Digest::of(bytes)) }
}
