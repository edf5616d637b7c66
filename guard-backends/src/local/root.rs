//! Roots: directories that are opened once, and the proof that a held directory is where it should be.

use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::sync::{Arc, PoisonError, RwLock};

use guard_core::policy::{RootId, TargetPath};
use guard_core::port::{OpError, Root, Scope};
use rustix::fs::Mode;
use rustix::io::Errno;

use super::errno;
use super::sys::{self, Id};
use crate::names;

/// A root directory, held from when it was opened on.
#[derive(Debug)]
pub(super) struct RootDir {
    pub(super) id: RootId,
    pub(super) fd: Arc<OwnedFd>,
    /// Its path, free of links.
    pub(super) physical: TargetPath,
    /// The path that it was opened by.
    pub(super) spelling: TargetPath,
    identity: Id,
}

/// A root, and the names below it that are left of a path.
pub(super) type Holding = (Arc<RootDir>, Vec<Vec<u8>>);

/// How a held directory's place is found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// The kernel tells the path of a descriptor, in one atomic look.
    Kernel,
    /// The path's names are walked from `/`, and have to lead to the same inode.
    Names,
}

/// The roots that were opened.
#[derive(Debug, Default)]
pub(super) struct Roots {
    entries: RwLock<Vec<Arc<RootDir>>>,
}

impl Roots {
    /// Opens a directory as a root; the same directory by the same spelling is the same root.
    pub(super) fn open(&self, spelling: &TargetPath, position: Position) -> Result<Root, OpError> {
        let fd = rustix::fs::open(spelling.as_str(), sys::HOLD, Mode::empty())
            .map_err(|errno| errno::at(errno, "opening", spelling))?;
        let meta = sys::meta(&fd).map_err(|errno| errno::at(errno, "looking at", spelling))?;
        let physical = match position {
            Position::Kernel => path_of(&fd).map_err(|errno| errno::at(errno, "finding", spelling))?,
            Position::Names => std::fs::canonicalize(spelling.as_str())
                .map_err(|error| errno::io(&error, "finding", spelling))?
                .into_os_string()
                .into_encoded_bytes(),
        };
        let physical = names::target_path(physical)?;
        if !is_at(&fd, &physical, position)? {
            return Err(OpError::UnstablePath);
        }
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let known = entries
            .iter()
            .find(|root| root.identity == meta.id && root.physical == physical && root.spelling == *spelling);
        let root = if let Some(root) = known {
            Arc::clone(root)
        } else {
            let root = Arc::new(RootDir {
                id: RootId(entries.len() as u32),
                fd: Arc::new(fd),
                physical,
                spelling: spelling.clone(),
                identity: meta.id,
            });
            entries.push(Arc::clone(&root));
            root
        };
        let identity = format!("{}:{}", root.identity.dev, root.identity.ino);
        Ok(Root { id: root.id, path: root.physical.clone(), identity })
    }

    /// Returns a root by its handle, if it is still at its path.
    pub(super) fn get(&self, id: RootId, position: Position) -> Result<Arc<RootDir>, OpError> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let root = entries
            .get(id.0 as usize)
            .map(Arc::clone)
            .ok_or_else(|| OpError::NotFound { path: format!("root {}", id.0) })?;
        drop(entries);
        root.check(position)?;
        Ok(root)
    }

    /// Returns the root of the scope whose spelling holds the absolute path of `names`, the most specific first, and the names
    /// below it.
    pub(super) fn holding(
        &self,
        names: &[Vec<u8>],
        scope: &Scope,
        position: Position,
    ) -> Result<Option<Holding>, OpError> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        let best = entries
            .iter()
            .filter(|root| scope.enters(root.id))
            .flat_map(|root| [(root, &root.physical), (root, &root.spelling)])
            .filter_map(|(root, spelling)| {
                let base: Vec<&str> = spelling.components().collect();
                let inside = base.len() <= names.len()
                    && base.iter().zip(names).all(|(base, name)| base.as_bytes() == name.as_slice());
                inside.then_some((root, base.len()))
            })
            .max_by_key(|(_, depth)| *depth)
            .map(|(root, depth)| (Arc::clone(root), names[depth..].to_vec()));
        drop(entries);
        if let Some((root, _)) = &best {
            root.check(position)?;
        }
        Ok(best)
    }
}

impl RootDir {
    /// Fails if the directory was moved, removed or replaced since it was opened.
    fn check(&self, position: Position) -> Result<(), OpError> {
        let replaced = || OpError::RootReplaced { path: self.physical.clone() };
        if !is_at(&self.fd, &self.physical, position)? {
            return Err(replaced());
        }
        // What is mounted over it does not change the path of what was opened before.
        match rustix::fs::stat(self.physical.as_str()) {
            Ok(stat) if Id::from(&stat) == self.identity => Ok(()),
            // ENOENT, ENOTDIR, ELOOP: something on the way is another thing since the look above.
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Err(replaced()),
            // What is mounted over it could hide behind any other error, a permission's too.
            Err(errno) => Err(errno::at(errno, "looking at", &self.physical)),
        }
    }
}

/// Tells whether the directory is at this path now.
pub(super) fn is_at(dir: impl AsFd, path: &TargetPath, position: Position) -> Result<bool, OpError> {
    match position {
        Position::Kernel => match path_of(&dir) {
            Ok(found) => Ok(found == path.as_str().as_bytes()),
            // macOS: the directory has no path any more (fcntl(2), F_GETPATH).
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(errno::at(errno, "finding", path)),
        },
        Position::Names => {
            let held = sys::meta(&dir).map_err(|errno| errno::at(errno, "looking at", path))?;
            let mut at = rustix::fs::open("/", sys::HOLD, Mode::empty())
                .map_err(|errno| errno::at(errno, "opening", "/"))?;
            for name in path.components() {
                at = match sys::hold(&at, name.as_bytes()) {
                    Ok(next) => next,
                    // Gone, or no directory any more: then it is not this one.
                    Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(false),
                    Err(errno) => return Err(errno::at(errno, "opening", path)),
                };
            }
            let found = sys::meta(&at).map_err(|errno| errno::at(errno, "looking at", path))?;
            Ok(found.id == held.id)
        }
    }
}

/// Asks the kernel for a descriptor's path: proc(5), `/proc/self/fd`; a removed directory's ends in ` (deleted)`.
#[cfg(target_os = "linux")]
pub(super) fn path_of(fd: impl AsFd) -> rustix::io::Result<Vec<u8>> {
    let link = format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd());
    rustix::fs::readlink(link, Vec::new()).map(std::ffi::CString::into_bytes)
}

/// Asks the kernel for a descriptor's path: fcntl(2), `F_GETPATH`.
#[cfg(target_vendor = "apple")]
pub(super) fn path_of(fd: impl AsFd) -> rustix::io::Result<Vec<u8>> {
    let _ = fd.as_fd().as_raw_fd();
    rustix::fs::getpath(fd).map(std::ffi::CString::into_bytes)
}

/// Asks the kernel for a descriptor's path, which this system does not tell.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(super) fn path_of(fd: impl AsFd) -> rustix::io::Result<Vec<u8>> {
    let _ = fd.as_fd().as_raw_fd();
    Err(Errno::NOSYS)
}
