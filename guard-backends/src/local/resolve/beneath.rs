//! The kernel's resolver: `openat2(2)`, Linux 5.6.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use guard_core::policy::TargetPath;
use rustix::fs::{CWD, Mode, ResolveFlags};
use rustix::io::Errno;

use crate::local::root::{self, RootDir};
use crate::local::sys;
use crate::names;

/// EAGAIN: a rename anywhere on the system made a `..` in the path undecidable; after so many the walk is better.
const ATTEMPTS: usize = 64;

const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

/// Tells whether the kernel has `openat2` and lets us call it.
///
/// Asked once, on a path that is always there: ENOSYS is an old kernel and EPERM a seccomp filter (older Docker),
/// while an EPERM later on would be about the file.
pub(in crate::local) fn is_supported() -> bool {
    rustix::fs::openat2(CWD, ".", sys::HOLD, Mode::empty(), BENEATH).is_ok()
        || rustix::fs::open("/", sys::HOLD, Mode::empty())
            .is_ok_and(|top| rustix::fs::openat2(&top, ".", sys::HOLD, Mode::empty(), BENEATH).is_ok())
}

/// Holds a directory beneath the root, with its path as the kernel tells it.
///
/// `None` where the kernel declines, whatever for: the walk knows at which name and why. EXDEV is a link that
/// leaves the root (it may lead into another root), ELOOP may be a magic link, ENOENT a directory to be made.
pub(super) fn directory(root: &Arc<RootDir>, names: &[&str]) -> Option<(Arc<OwnedFd>, TargetPath)> {
    if names.is_empty() {
        return Some((Arc::clone(&root.fd), root.physical.clone()));
    }
    let path = names.join("/");
    let fd = (0..ATTEMPTS)
        .map(|_| rustix::fs::openat2(&root.fd, path.as_str(), sys::HOLD, Mode::empty(), BENEATH))
        .find(|result| !matches!(result, Err(Errno::AGAIN)))?
        .ok()?;
    let at = names::target_path(root::path_of(&fd).ok()?).ok()?;
    // It may have been moved out since.
    at.starts_with(&root.physical).then(|| (Arc::new(fd), at))
}
