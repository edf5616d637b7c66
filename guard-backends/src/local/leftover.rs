//! Temporary files of processes that died in the middle of a commit.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use guard_core::policy::{FileState, RootId, TargetPath};
use guard_core::port::{Last, OpError, Scope, Step};
use rustix::fs::Dir;

use super::sys::{self, Kind};
use super::{Inner, errno, read, resolve, root};
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

/// A directory that is held, and its path.
type Held = (Arc<OwnedFd>, TargetPath);

/// What a walk found so far.
#[derive(Default)]
struct Walk {
    result: Leftovers,
    pending: Vec<Held>,
}

/// Looks below a root, following no link.
pub(super) fn find(local: &Inner, root: RootId, max: u64) -> Result<Leftovers, OpError> {
    let top = resolve::resolve(local, (root, ""), Last::Itself, &Scope::default())?;
    let mut walk = Walk { pending: vec![(top.dir, top.path)], ..Walk::default() };
    let mut left = max;
    while let Some((dir, path)) = walk.pending.pop() {
        local.step(Step::ToList(&path));
        let seen = visit(&dir, &path, &mut left);
        // It was held where its own directory was: it can be outside the root by now, with what was seen in it.
        let there = root::is_at(&dir, &path, local.position);
        let seen = match there {
            Ok(true) => seen,
            Ok(false) => Err(OpError::NotFound { path: path.to_string() }),
            Err(error) => Err(error),
        };
        match seen {
            Ok(Walk { result, pending }) => {
                walk.result.found.extend(result.found);
                walk.result.skipped.extend(result.skipped);
                walk.pending.extend(pending);
                if result.incomplete {
                    walk.result.incomplete = true;
                    break;
                }
            }
            Err(error) => walk.result.skipped.push(error.to_string()),
        }
    }
    Ok(walk.result)
}

/// Looks at the names of one directory.
fn visit(dir: &OwnedFd, path: &TargetPath, left: &mut u64) -> Result<Walk, OpError> {
    let mut walk = Walk::default();
    for name in names(dir, path)? {
        let Some(rest) = left.checked_sub(1) else {
            walk.result.incomplete = true;
            break;
        };
        *left = rest;
        // A name that is not UTF-8 is none of ours, and what is below it cannot be addressed.
        let Ok(name) = String::from_utf8(name) else { continue };
        let Ok(path) = names::child(path, &name) else { continue };
        let name = name.as_bytes();
        if temp::is_temp(name) {
            match read::state_at(dir, name, Some(DIGEST_MAX), &path) {
                Ok(state) => walk.result.found.push(Leftover { path, state }),
                Err(error) => walk.result.skipped.push(error.to_string()),
            }
        } else if matches!(sys::lstat(dir, name), Ok(Some(meta)) if meta.kind == Kind::Directory) {
            match sys::hold(dir, name) {
                Ok(fd) => walk.pending.push((Arc::new(fd), path)),
                Err(errno) => walk.result.skipped.push(errno::at(errno, "opening", &path).to_string()),
            }
        }
    }
    Ok(walk)
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
