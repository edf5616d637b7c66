//! The in-memory target's own ground.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use guard_core::policy::{Digest, OtherKind, TargetPath};
use guard_core::port::FileOps;

use super::{Fixture, Ground, World};
use crate::memory::{self, Memory};

/// Gives a fresh [`Memory`] for each case, as it is or with something around it.
pub struct MemoryFixture {
    wrap: Box<dyn Fn(Memory) -> Arc<dyn FileOps> + Send + Sync>,
}

impl MemoryFixture {
    /// Takes the target as it is.
    #[must_use]
    pub fn new() -> Self {
        Self::wrapped(|memory| Arc::new(memory))
    }

    /// Puts something around the target.
    pub fn wrapped(wrap: impl Fn(Memory) -> Arc<dyn FileOps> + Send + Sync + 'static) -> Self {
        Self { wrap: Box::new(wrap) }
    }
}

impl Default for MemoryFixture {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Fixture for MemoryFixture {
    async fn fresh(&self) -> io::Result<Ground> {
        let path = |text: &str| TargetPath::new(text).map_err(io::Error::other);
        let (root, outside) = (path("/base/ws")?, path("/base/ws-outside")?);
        let memory = Memory::builder().directory(root.clone()).directory(outside.clone()).build();
        let world = Arc::new(memory.world());
        Ok(Ground { ops: (self.wrap)(memory), world, root, outside, keep: Box::new(()) })
    }
}

impl World for memory::World {
    fn create(&self, path: &[u8], bytes: &[u8]) -> io::Result<()> {
        self.create(path, bytes)
    }

    fn read(&self, path: &[u8]) -> io::Result<Vec<u8>> {
        self.read(path)
    }

    fn unlink(&self, path: &[u8]) -> io::Result<()> {
        self.unlink(path)
    }

    fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        self.rename(from, to)
    }

    fn mkdir(&self, path: &[u8]) -> io::Result<()> {
        self.mkdir(path)
    }

    fn symlink(&self, text: &[u8], path: &[u8]) -> io::Result<()> {
        self.symlink(text, path)
    }

    fn readlink(&self, path: &[u8]) -> io::Result<Vec<u8>> {
        self.readlink(path)
    }

    fn link(&self, old: &[u8], new: &[u8]) -> io::Result<()> {
        self.link(old, new)
    }

    fn mknod(&self, path: &[u8], kind: OtherKind) -> io::Result<()> {
        self.mknod(path, kind)
    }

    fn chmod(&self, path: &[u8], mode: u32) -> io::Result<()> {
        self.chmod(path, mode)
    }

    fn mode(&self, path: &[u8]) -> io::Result<u32> {
        self.mode(path)
    }

    fn names(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.names(path)
    }

    fn snapshot(&self, path: &[u8]) -> io::Result<Digest> {
        self.snapshot_of(path)
    }

    fn enforces_permissions(&self) -> bool {
        true
    }
}
