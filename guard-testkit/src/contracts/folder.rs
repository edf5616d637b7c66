//! A target that is a folder of this machine with the paths of another place.
#![allow(clippy::disallowed_methods, reason = "the folders of a test are made by hand")]

use std::io;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use guard_backends::shell::Process;
use guard_core::policy::{Digest, OtherKind, TargetPath};

use super::{Fixture, Ground};
use crate::conformance::{LocalWorld, World};
use crate::transport::{Namespace, PathSubstituting};

/// Makes targets of folders of this machine: a real shell acts on a folder, and the controller knows it by a path
/// that is another directory here.
pub struct FolderFixture {
    process: Process,
}

impl FolderFixture {
    /// Takes the shell that acts on the folder.
    #[must_use]
    pub const fn new(process: Process) -> Self {
        Self { process }
    }
}

#[async_trait]
impl Fixture for FolderFixture {
    async fn fresh(&self) -> io::Result<Ground> {
        // The controller's place, and the folder that is the target under the same paths.
        let (here, there) = (temp()?, temp()?);
        let base = here.path().canonicalize()?;
        let folder = there.path().canonicalize()?;
        for directory in ["ws", "home"] {
            std::fs::create_dir(base.join(directory))?;
            std::fs::create_dir(folder.join(directory))?;
        }
        let path = |name: &str| target(&base.join(name));
        let (root, home) = (path("ws")?, path("home")?);
        let name = target(&base)?;
        let namespace = Namespace::new().map(name.as_str(), &folder);
        let process = self.process.clone().env("HOME", folder.join("home"));
        let transport = PathSubstituting::new(process, namespace.clone());
        Ok(Ground {
            transport: Arc::new(transport),
            world: Arc::new(FolderWorld(namespace)),
            root,
            home,
            controller: base.join("ws"),
            keep: Box::new((here, there)),
        })
    }
}

fn temp() -> io::Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("guard-").tempdir()
}

fn target(path: &Path) -> io::Result<TargetPath> {
    let text = path.to_str().ok_or_else(|| io::Error::other("the temporary directory's path is not UTF-8"))?;
    TargetPath::new(text).map_err(io::Error::other)
}

/// Acts on a folder of this machine by the paths of the target.
pub struct FolderWorld(pub Namespace);

impl World for FolderWorld {
    fn create(&self, path: &[u8], bytes: &[u8]) -> io::Result<()> {
        LocalWorld.create(&self.0.to_folder(path), bytes)
    }

    fn read(&self, path: &[u8]) -> io::Result<Vec<u8>> {
        LocalWorld.read(&self.0.to_folder(path))
    }

    fn unlink(&self, path: &[u8]) -> io::Result<()> {
        LocalWorld.unlink(&self.0.to_folder(path))
    }

    fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        LocalWorld.rename(&self.0.to_folder(from), &self.0.to_folder(to))
    }

    fn mkdir(&self, path: &[u8]) -> io::Result<()> {
        LocalWorld.mkdir(&self.0.to_folder(path))
    }

    fn symlink(&self, text: &[u8], path: &[u8]) -> io::Result<()> {
        LocalWorld.symlink(&self.0.text_to_folder(text), &self.0.to_folder(path))
    }

    fn readlink(&self, path: &[u8]) -> io::Result<Vec<u8>> {
        LocalWorld.readlink(&self.0.to_folder(path)).map(|text| self.0.to_name(&text))
    }

    fn link(&self, old: &[u8], new: &[u8]) -> io::Result<()> {
        LocalWorld.link(&self.0.to_folder(old), &self.0.to_folder(new))
    }

    fn mknod(&self, path: &[u8], kind: OtherKind) -> io::Result<()> {
        LocalWorld.mknod(&self.0.to_folder(path), kind)
    }

    fn chmod(&self, path: &[u8], mode: u32) -> io::Result<()> {
        LocalWorld.chmod(&self.0.to_folder(path), mode)
    }

    fn mode(&self, path: &[u8]) -> io::Result<u32> {
        LocalWorld.mode(&self.0.to_folder(path))
    }

    fn names(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        LocalWorld.names(&self.0.to_folder(path))
    }

    fn snapshot(&self, path: &[u8]) -> io::Result<Digest> {
        LocalWorld.snapshot(&self.0.to_folder(path))
    }

    fn enforces_permissions(&self) -> bool {
        LocalWorld.enforces_permissions()
    }
}
