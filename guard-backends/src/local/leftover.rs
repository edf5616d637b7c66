//! Temporary files of processes that died in the middle of a commit.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use guard_core::policy::{FileState, RootId, TargetPath};
use guard_core::port::{Depth, Last, OpError, Scope};
use rustix::fs::Dir;

use super::sys::{self, Kind};
use super::{Inner, errno, read, resolve};
use crate::names;
use crate::temp;

/// The largest file whose digest is taken.
const DIGEST_MAX: u64 = 256 * 1024 * 1024;

/// A file under a temporary name.
///
/// It may be a content that was never published, or one that was displaced: only its digest tells, so that nothing
/// removes it unseen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Where it is.
    pub path: TargetPath,
    /// What it is, with the digest of a regular file within reach.
    pub state: FileState,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Leftovers {
    /// The files, in the order in which directories were visited.
    pub found: Vec<Leftover>,
    /// Directories that could not be looked into, each with the reason.
    pub skipped: Vec<String>,
    /// Whether there were more names than were to be looked at.
    pub incomplete: bool,
}

/// Looks below a root, following no link.
pub(super) fn find(local: &Inner, root: RootId, max: u64) -> Result<Leftovers, OpError> {
    let top = resolve::resolve(local, (root, ""), Last::Itself, &Scope::default())?;
    read::found(&top, Depth::State)?;
    let mut result = Leftovers::default();
    let mut left = max;
    let mut pending: Vec<(Arc<OwnedFd>, TargetPath)> = vec![(top.dir, top.path)];
    while let Some((dir, path)) = pending.pop() {
        let names = match names(&dir, &path) {
            Ok(names) => names,
            Err(error) => {
                result.skipped.push(error.to_string());
                continue;
            }
        };
        for name in names {
            let Some(rest) = left.checked_sub(1) else {
                result.incomplete = true;
                return Ok(result);
            };
            left = rest;
            // A name that is not UTF-8 is none of ours, and what is below it cannot be addressed.
            let Ok(name) = String::from_utf8(name) else { continue };
            let Ok(path) = names::child(&path, &name) else { continue };
            if temp::is_temp(name.as_bytes()) {
                match read::state_at(&dir, name.as_bytes(), Some(DIGEST_MAX), &path) {
                    Ok(state) => result.found.push(Leftover { path, state }),
                    Err(error) => result.skipped.push(error.to_string()),
                }
            } else if matches!(sys::lstat(&dir, name.as_bytes()), Ok(Some(meta)) if meta.kind == Kind::Directory)
            {
                match sys::hold(&dir, name.as_bytes()) {
                    Ok(fd) => pending.push((Arc::new(fd), path)),
                    Err(errno) => result.skipped.push(errno::at(errno, "opening", &path).to_string()),
                }
            }
        }
    }
    Ok(result)
}

fn names(dir: &OwnedFd, path: &TargetPath) -> Result<Vec<Vec<u8>>, OpError> {
    let fail = |errno| errno::at(errno, "listing", path);
    let fd = sys::open_directory(dir, b".").map_err(fail)?;
    let mut names = Vec::new();
    for entry in Dir::read_from(&fd).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            names.push(entry.file_name().to_bytes().to_vec());
        }
    }
    names.sort_unstable();
    Ok(names)
}
