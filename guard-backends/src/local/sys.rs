//! The system calls that the local target makes, each relative to a held directory.
//!
//! Everything that differs between Linux and macOS is here, in [`super::root`] and in [`super::lease`].

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use guard_core::policy::OtherKind;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::{Errno, Result};

/// Opens a directory to hold it: no permission on the directory itself is needed.
#[cfg(target_os = "linux")]
pub(super) const HOLD: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// Opens a directory to hold it. There is no `O_PATH`, so that the directory has to be readable.
#[cfg(not(target_os = "linux"))]
pub(super) const HOLD: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Opens a file without waiting (a FIFO), without following a link, and without a terminal becoming ours.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Which inode: never a promise about its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) dev: u64,
    pub(super) ino: u64,
}

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Regular,
    Directory,
    Link,
    Other(OtherKind),
}

/// What `stat` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meta {
    pub(super) id: Id,
    pub(super) kind: Kind,
    /// Permission bits, `07777`.
    pub(super) mode: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) nlink: u64,
    pub(super) len: u64,
    /// Times of change, only to notice that a file changed while it was read.
    pub(super) changed: [(i64, i64); 2],
}

#[allow(
    clippy::unnecessary_cast,
    clippy::cast_lossless,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    trivial_numeric_casts,
    reason = "the fields of `struct stat` have other widths and signs on other systems"
)]
fn meta_of(stat: &Stat) -> Meta {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Kind::Regular,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Link,
        FileType::Fifo => Kind::Other(OtherKind::Fifo),
        FileType::Socket => Kind::Other(OtherKind::Socket),
        FileType::CharacterDevice => Kind::Other(OtherKind::CharDevice),
        FileType::BlockDevice => Kind::Other(OtherKind::BlockDevice),
        FileType::Unknown => Kind::Other(OtherKind::Unknown),
    };
    Meta {
        id: Id { dev: stat.st_dev as u64, ino: stat.st_ino as u64 },
        kind,
        mode: stat.st_mode as u32 & 0o7777,
        uid: stat.st_uid as u32,
        gid: stat.st_gid as u32,
        nlink: stat.st_nlink as u64,
        len: stat.st_size as u64,
        changed: [
            (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        ],
    }
}

impl From<&Stat> for Id {
    fn from(stat: &Stat) -> Self {
        meta_of(stat).id
    }
}

/// Tells what has a name; `None` for nothing (ENOENT).
pub(super) fn lstat(dir: impl AsFd, name: &[u8]) -> Result<Option<Meta>> {
    match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(meta_of(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Tells what a descriptor is of.
pub(super) fn meta(file: impl AsFd) -> Result<Meta> {
    rustix::fs::fstat(file).map(|stat| meta_of(&stat))
}

/// Opens a directory below a held one, to hold it; a link is no directory (ENOTDIR).
pub(super) fn hold(dir: impl AsFd, name: &[u8]) -> Result<OwnedFd> {
    rustix::fs::openat(dir, name, HOLD | OFlags::NOFOLLOW, Mode::empty())
}

/// Holds whatever has a name, a link itself too; no permission on it is needed.
#[cfg(target_os = "linux")]
pub(super) fn pin(dir: impl AsFd, name: &[u8]) -> Option<OwnedFd> {
    rustix::fs::openat(dir, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// Holds whatever has a name, which only Linux can do without a permission on it.
#[cfg(not(target_os = "linux"))]
pub(super) fn pin(_dir: impl AsFd, _name: &[u8]) -> Option<OwnedFd> {
    None
}

/// Opens a file to read it.
pub(super) fn open_read(dir: impl AsFd, name: &[u8]) -> Result<File> {
    rustix::fs::openat(dir, name, READ, Mode::empty()).map(File::from)
}

/// Opens a directory to list or to sync it.
pub(super) fn open_directory(dir: impl AsFd, name: &[u8]) -> Result<OwnedFd> {
    rustix::fs::openat(dir, name, READ | OFlags::DIRECTORY, Mode::empty())
}

/// Creates a file under a name that nothing has; open for reading and writing.
pub(super) fn create_exclusively(dir: impl AsFd, name: &[u8], mode: u32) -> Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name, flags, mode_bits(mode)).map(File::from)
}

/// Opens an existing file to write in place; a link is not followed.
pub(super) fn open_in_place(dir: impl AsFd, name: &[u8]) -> Result<File> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name, flags, Mode::empty()).map(File::from)
}

/// Turns permission bits into the form of the system.
#[allow(clippy::useless_conversion, reason = "a mode has 16 bits on macOS")]
pub(super) fn mode_bits(mode: u32) -> Mode {
    Mode::from_raw_mode((mode & 0o7777) as rustix::fs::RawMode)
}

/// Reads a link's text; EINVAL for what is no link.
pub(super) fn readlink(dir: impl AsFd, name: &[u8]) -> Result<Vec<u8>> {
    rustix::fs::readlinkat(dir, name, Vec::new()).map(std::ffi::CString::into_bytes)
}

/// Exchanges two names of one directory.
pub(super) fn exchange(dir: impl AsFd, one: &[u8], other: &[u8]) -> Result<()> {
    let dir = dir.as_fd();
    rustix::fs::renameat_with(dir, one, dir, other, RenameFlags::EXCHANGE)
}

/// Renames to a name that nothing has.
pub(super) fn rename_noreplace(from: impl AsFd, old: &[u8], to: impl AsFd, new: &[u8]) -> Result<()> {
    rustix::fs::renameat_with(from, old, to, new, RenameFlags::NOREPLACE)
}

/// Renames over whatever has the new name; for names of our own, and for the tier that says that it does.
pub(super) fn rename_over(from: impl AsFd, old: &[u8], to: impl AsFd, new: &[u8]) -> Result<()> {
    rustix::fs::renameat(from, old, to, new)
}

/// Gives an inode another name, which nothing has; a link is linked itself.
pub(super) fn link(from: impl AsFd, old: &[u8], to: impl AsFd, new: &[u8]) -> Result<()> {
    rustix::fs::linkat(from, old, to, new, AtFlags::empty())
}

/// Removes a name that is no directory's.
pub(super) fn unlink(dir: impl AsFd, name: &[u8]) -> Result<()> {
    rustix::fs::unlinkat(dir, name, AtFlags::empty())
}

/// Removes an empty directory.
pub(super) fn rmdir(dir: impl AsFd, name: &[u8]) -> Result<()> {
    rustix::fs::unlinkat(dir, name, AtFlags::REMOVEDIR)
}

/// Writes a file's bytes and attributes to the disk.
pub(super) fn sync(file: impl AsFd) -> Result<()> {
    // `fsync` on macOS leaves the bytes in the drive's cache (fsync(2) there); some filesystems have no full sync.
    #[cfg(target_vendor = "apple")]
    if rustix::fs::fcntl_fullfsync(&file).is_ok() {
        return Ok(());
    }
    rustix::fs::fsync(file)
}

/// Tells whether an error says that the filesystem (or the kernel) has no such primitive, and that nothing was done.
///
/// renameat2(2): EINVAL for a flag that the filesystem does not support; ENOSYS before Linux 3.15; ENOTSUP on macOS.
pub(super) fn is_unsupported(errno: Errno) -> bool {
    errno == Errno::INVAL || errno == Errno::NOSYS || errno == Errno::OPNOTSUPP || errno == Errno::NOTSUP
}

/// Tells whether an error of `link` says that this inode or filesystem cannot have another name.
///
/// link(2): EPERM where the filesystem has no hard links or `protected_hardlinks` forbids it, EMLINK at the most
/// names that it can have.
pub(super) fn cannot_link(errno: Errno) -> bool {
    is_unsupported(errno) || errno == Errno::PERM || errno == Errno::MLINK
}

/// Makes a directory with the mode that the umask and the parent's default ACL give.
pub(super) fn mkdir(dir: impl AsFd, name: &[u8]) -> Result<()> {
    rustix::fs::mkdirat(dir, name, mode_bits(0o777))
}
