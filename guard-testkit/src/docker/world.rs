//! A container's files as this machine's root reaches them.

use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};

use guard_core::policy::{Digest, OtherKind};
use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, ResolveFlags, Uid, chownat, open, openat2};
use rustix::io::Errno;

use crate::conformance::{LocalWorld, World};

/// Acts on a container's files, in its own world of mounts, as one more of its processes would.
///
/// Nothing is started in the container: the kernel resolves every path below the container's root
/// (`RESOLVE_IN_ROOT`). What is made belongs to the container's user. This process has to be root, and the engine on
/// this machine.
#[derive(Debug)]
pub struct DockerWorld {
    root: OwnedFd,
    user: u32,
}

/// Something of the container that is held, and the name by which this process's plain calls reach it.
struct Held {
    _fd: OwnedFd,
    path: Vec<u8>,
}

impl DockerWorld {
    pub(super) fn of(pid: i64, user: u32) -> io::Result<Self> {
        let root = open(format!("/proc/{pid}/root"), OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
        Ok(Self { root, user })
    }

    /// Opens what a path leads to in the container.
    fn at(&self, path: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
        loop {
            let flags = flags | OFlags::CLOEXEC;
            match openat2(&self.root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
                // openat2(2): something was renamed while `..` was resolved.
                Err(Errno::AGAIN) => {}
                opened => return Ok(opened?),
            }
        }
    }

    /// Holds what a path leads to, through links.
    fn target(&self, path: &[u8]) -> io::Result<Held> {
        let fd = self.at(path, OFlags::PATH)?;
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd()).into_bytes();
        Ok(Held { _fd: fd, path })
    }

    /// Holds a name's directory, so that the name itself can be acted on.
    fn name(&self, path: &[u8]) -> io::Result<Held> {
        let slash = path.iter().rposition(|byte| *byte == b'/').ok_or(io::ErrorKind::InvalidInput)?;
        let fd = self.at(&path[..=slash], OFlags::PATH | OFlags::DIRECTORY)?;
        let mut name = format!("/proc/self/fd/{}/", fd.as_raw_fd()).into_bytes();
        name.extend_from_slice(&path[slash + 1..]);
        Ok(Held { _fd: fd, path: name })
    }

    /// Gives what was made to the container's user.
    fn give(&self, made: &Held) -> io::Result<()> {
        let (user, group) = (Uid::from_raw(self.user), Gid::from_raw(self.user));
        Ok(chownat(CWD, &made.path[..], Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)?)
    }
}

impl World for DockerWorld {
    fn create(&self, path: &[u8], bytes: &[u8]) -> io::Result<()> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let at = self.name(path)?;
        let mut file = std::fs::File::from(open(&at.path[..], flags, Mode::from_raw_mode(0o644))?);
        self.give(&at)?;
        file.write_all(bytes)
    }

    fn read(&self, path: &[u8]) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut file = std::fs::File::from(self.at(path, OFlags::RDONLY)?);
        io::Read::read_to_end(&mut file, &mut bytes)?;
        Ok(bytes)
    }

    fn unlink(&self, path: &[u8]) -> io::Result<()> {
        LocalWorld.unlink(&self.name(path)?.path)
    }

    fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        LocalWorld.rename(&self.name(from)?.path, &self.name(to)?.path)
    }

    fn mkdir(&self, path: &[u8]) -> io::Result<()> {
        let at = self.name(path)?;
        LocalWorld.mkdir(&at.path)?;
        self.give(&at)
    }

    fn symlink(&self, text: &[u8], path: &[u8]) -> io::Result<()> {
        let at = self.name(path)?;
        LocalWorld.symlink(text, &at.path)?;
        self.give(&at)
    }

    fn readlink(&self, path: &[u8]) -> io::Result<Vec<u8>> {
        LocalWorld.readlink(&self.name(path)?.path)
    }

    fn link(&self, old: &[u8], new: &[u8]) -> io::Result<()> {
        LocalWorld.link(&self.name(old)?.path, &self.name(new)?.path)
    }

    fn mknod(&self, path: &[u8], kind: OtherKind) -> io::Result<()> {
        let at = self.name(path)?;
        LocalWorld.mknod(&at.path, kind)?;
        self.give(&at)
    }

    fn chmod(&self, path: &[u8], mode: u32) -> io::Result<()> {
        LocalWorld.chmod(&self.target(path)?.path, mode)
    }

    fn mode(&self, path: &[u8]) -> io::Result<u32> {
        LocalWorld.mode(&self.target(path)?.path)
    }

    fn chown(&self, path: &[u8], user: u32, group: u32) -> io::Result<()> {
        LocalWorld.chown(&self.name(path)?.path, user, group)
    }

    fn owner(&self, path: &[u8]) -> io::Result<(u32, u32)> {
        LocalWorld.owner(&self.target(path)?.path)
    }

    fn names(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        LocalWorld.names(&self.target(path)?.path)
    }

    fn snapshot(&self, path: &[u8]) -> io::Result<Digest> {
        let mut held = self.target(path)?;
        // The directory, and not the link to it that the descriptor's name is.
        held.path.extend_from_slice(b"/.");
        LocalWorld.snapshot(&held.path)
    }

    fn enforces_permissions(&self) -> bool {
        self.user != 0
    }
}
