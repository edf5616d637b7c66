//! A folder of this machine by the paths of a target.

use std::io;

use guard_core::policy::{Digest, OtherKind};

use super::{LocalWorld, World};
use crate::transport::Namespace;

/// Acts on folders of this machine by the paths that a [`Namespace`] gives them: the world beside a
/// [`PathSubstituting`](crate::transport::PathSubstituting) transport of the same namespace.
#[derive(Debug, Clone)]
pub struct FolderWorld(pub Namespace);

impl FolderWorld {
    fn at(&self, path: &[u8]) -> Vec<u8> {
        self.0.to_folder(path)
    }
}

impl World for FolderWorld {
    fn create(&self, path: &[u8], bytes: &[u8]) -> io::Result<()> {
        LocalWorld.create(&self.at(path), bytes)
    }

    fn read(&self, path: &[u8]) -> io::Result<Vec<u8>> {
        LocalWorld.read(&self.at(path))
    }

    fn unlink(&self, path: &[u8]) -> io::Result<()> {
        LocalWorld.unlink(&self.at(path))
    }

    fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        LocalWorld.rename(&self.at(from), &self.at(to))
    }

    fn mkdir(&self, path: &[u8]) -> io::Result<()> {
        LocalWorld.mkdir(&self.at(path))
    }

    fn symlink(&self, text: &[u8], path: &[u8]) -> io::Result<()> {
        LocalWorld.symlink(&self.0.text_to_folder(text), &self.at(path))
    }

    fn readlink(&self, path: &[u8]) -> io::Result<Vec<u8>> {
        LocalWorld.readlink(&self.at(path)).map(|text| self.0.to_name(&text))
    }

    fn link(&self, old: &[u8], new: &[u8]) -> io::Result<()> {
        LocalWorld.link(&self.at(old), &self.at(new))
    }

    fn mknod(&self, path: &[u8], kind: OtherKind) -> io::Result<()> {
        LocalWorld.mknod(&self.at(path), kind)
    }

    fn chmod(&self, path: &[u8], mode: u32) -> io::Result<()> {
        LocalWorld.chmod(&self.at(path), mode)
    }

    fn mode(&self, path: &[u8]) -> io::Result<u32> {
        LocalWorld.mode(&self.at(path))
    }

    fn chown(&self, path: &[u8], user: u32, group: u32) -> io::Result<()> {
        LocalWorld.chown(&self.at(path), user, group)
    }

    fn owner(&self, path: &[u8]) -> io::Result<(u32, u32)> {
        LocalWorld.owner(&self.at(path))
    }

    fn names(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        LocalWorld.names(&self.at(path))
    }

    fn snapshot(&self, path: &[u8]) -> io::Result<Digest> {
        LocalWorld.snapshot(&self.at(path))
    }

    fn enforces_permissions(&self) -> bool {
        LocalWorld.enforces_permissions()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_acts_on_the_folder_and_speaks_of_the_target() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let world = FolderWorld(Namespace::new().map("/srv/app", &path));
        world.mkdir(b"/srv/app/d").unwrap();
        world.create(b"/srv/app/d/file", b"bytes").unwrap();
        world.symlink(b"/srv/app/d/file", b"/srv/app/link").unwrap();
        world.symlink(b"/etc/passwd", b"/srv/app/out").unwrap();
        assert_eq!(LocalWorld.read(path.join("d/file").as_os_str().as_encoded_bytes()).unwrap(), b"bytes");
        // Through the link: its text leads into the folder here, and to the target's path by its own words.
        assert_eq!(world.read(b"/srv/app/link").unwrap(), b"bytes");
        assert_eq!(world.readlink(b"/srv/app/link").unwrap(), b"/srv/app/d/file");
        assert_eq!(world.readlink(b"/srv/app/out").unwrap(), b"/etc/passwd");
        for outside in [&b"/etc/passwd"[..], path.as_os_str().as_encoded_bytes()] {
            assert_eq!(world.mode(outside).unwrap_err().kind(), io::ErrorKind::NotFound);
        }
    }
}
