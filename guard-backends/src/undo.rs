//! A store of old bytes in a directory: content-addressed, private, bounded.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use guard_core::policy::Digest;
use guard_core::port::{UndoError, UndoStore};
use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Timespec, Timestamps};
use rustix::io::Errno;
use tokio::runtime::Handle;

/// How much a store keeps, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// All files together; the least recently kept make room.
    pub total: u64,
    /// One file. It is in memory while it is kept.
    pub file: u64,
}

impl Default for Limits {
    /// 1 GiB, and 64 MiB a file.
    fn default() -> Self {
        Self { total: 1 << 30, file: 64 << 20 }
    }
}

/// Keeps old bytes as files that are named by their digest, below a directory of the owner's own.
///
/// Several processes can share a directory: whoever changes it holds its `flock`. Names that it did not give are left
/// alone.
///
/// # Security
///
/// The directory is opened once and held; it has to be the user's own, with mode 0700. A file is handed out only if its
/// bytes have the digest that it is named by.
#[derive(Debug)]
pub struct FileUndo {
    inner: Arc<Inner>,
    runtime: Handle,
}

#[derive(Debug)]
struct Inner {
    dir: OwnedFd,
    place: String,
    limits: Limits,
}

/// The beginning of the names of files that are not whole yet.
const UNFINISHED: &str = ".keep-";

impl FileUndo {
    /// Opens the directory, or makes it with mode 0700; its parent has to be there.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being opened; `PermissionDenied` for one that others own or can enter; `InvalidInput` for
    /// a path that is not UTF-8; `Other` outside a runtime.
    pub fn open(path: impl AsRef<Path>, limits: Limits) -> io::Result<Self> {
        let path = path.as_ref();
        match rustix::fs::mkdir(path, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        // A link is none of ours (ELOOP or ENOTDIR, open(2)).
        let dir = rustix::fs::open(path, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
        let found = rustix::fs::fstat(&dir)?;
        if found.st_uid != rustix::process::geteuid().as_raw() || found.st_mode & 0o077 != 0 {
            let why = "the store of old bytes has to be a directory of your own with mode 0700";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        let place = std::fs::canonicalize(path)?.into_os_string().into_string();
        let place =
            place.map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the path is not UTF-8"))?;
        let runtime = Handle::try_current().map_err(io::Error::other)?;
        Ok(Self { inner: Arc::new(Inner { dir, place, limits }), runtime })
    }

    async fn blocking<T: Send + 'static>(
        &self,
        act: impl FnOnce(&Inner) -> Result<T, UndoError> + Send + 'static,
    ) -> Result<T, UndoError> {
        let inner = Arc::clone(&self.inner);
        let done = self.runtime.spawn_blocking(move || act(&inner)).await;
        done.map_err(|error| UndoError::Failed { why: error.to_string() })?
    }
}

#[async_trait]
impl UndoStore for FileUndo {
    fn largest(&self) -> u64 {
        self.inner.limits.file.min(self.inner.limits.total)
    }

    fn place(&self) -> Option<&str> {
        Some(&self.inner.place)
    }

    async fn keep(&self, digest: Digest, bytes: Vec<u8>) -> Result<(), UndoError> {
        let (len, limit) = (bytes.len() as u64, self.largest());
        if len > limit {
            return Err(UndoError::TooLarge { len, limit });
        }
        self.blocking(move |inner| inner.keep(digest, &bytes).map_err(|error| failed(&error))).await
    }

    async fn fetch(&self, digest: Digest) -> Result<Vec<u8>, UndoError> {
        self.blocking(move |inner| inner.fetch(digest)).await
    }
}

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

impl Inner {
    fn keep(&self, digest: Digest, bytes: &[u8]) -> io::Result<()> {
        let name = name(digest);
        // The lock is of this descriptor, so that it holds off other threads as well; it goes with it.
        let held = rustix::fs::openat(&self.dir, ".", DIRECTORY, Mode::empty())?;
        rustix::fs::flock(&held, FlockOperation::LockExclusive)?;
        if self.fetch(digest).is_ok() {
            return touch(&held, &name);
        }
        make_room(&held, self.limits.total.saturating_sub(bytes.len() as u64), &name)?;
        let temp = format!("{UNFINISHED}{name}");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&held, &temp, flags, Mode::RUSR | Mode::WUSR)?);
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        // What is there under the name is damaged, and makes way.
        let kept = written.and_then(|()| Ok(rustix::fs::renameat(&held, &temp, &held, &name)?));
        if let Err(error) = kept {
            let _ = rustix::fs::unlinkat(&held, &temp, AtFlags::empty());
            return Err(error);
        }
        Ok(rustix::fs::fsync(&held)?)
    }

    fn fetch(&self, digest: Digest) -> Result<Vec<u8>, UndoError> {
        // A FIFO under the name must not hold this up.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.dir, name(digest), flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Err(UndoError::Gone),
            Err(Errno::LOOP) => return Err(UndoError::Damaged),
            Err(errno) => return Err(failed(&errno.into())),
        };
        let found = file.metadata().map_err(|error| failed(&error))?;
        if !found.is_file() || found.len() > self.limits.file.max(self.limits.total) {
            return Err(UndoError::Damaged);
        }
        let mut bytes = Vec::new();
        file.take(found.len() + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
        if Digest::of(&bytes) == digest { Ok(bytes) } else { Err(UndoError::Damaged) }
    }
}

/// Removes the least recently kept files until no more than `total` bytes are left, and what dead processes left.
fn make_room(dir: &OwnedFd, total: u64, but: &str) -> io::Result<()> {
    let mut kept = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        if name.starts_with(UNFINISHED) {
            // Whoever makes one holds the lock.
            rustix::fs::unlinkat(dir, name, AtFlags::empty())?;
        } else if is_name(name) && name != but {
            let found = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile {
                let len = u64::try_from(found.st_size).unwrap_or_default();
                kept.push(((found.st_mtime, found.st_mtime_nsec), len, name.to_owned()));
            }
        }
    }
    let mut sum: u64 = kept.iter().map(|(_, len, _)| len).sum();
    kept.sort();
    for (_, len, name) in kept {
        if sum <= total {
            break;
        }
        rustix::fs::unlinkat(dir, &name, AtFlags::empty())?;
        sum -= len;
    }
    Ok(())
}

/// Makes a file one that was kept just now.
fn touch(dir: &impl AsFd, name: &str) -> io::Result<()> {
    let now = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    Ok(rustix::fs::utimensat(dir, name, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

fn name(digest: Digest) -> String {
    digest.to_string().trim_start_matches("sha256:").to_owned()
}

fn is_name(name: &str) -> bool {
    format!("sha256:{name}").parse::<Digest>().is_ok()
}

fn failed(error: &io::Error) -> UndoError {
    UndoError::Failed { why: error.to_string() }
}
