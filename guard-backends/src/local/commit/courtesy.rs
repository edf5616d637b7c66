//! Guards of several processes wait for each other.
//!
//! A courtesy, as the locks of one process are: the guarantee is the compare-and-swap. Without it two commits on one
//! file can exchange against each other's exchanges, and the one that went through ends under a reported name instead
//! of at its own.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::Work;
use crate::local::sys;

/// How long a commit waits. Whoever holds a directory's lock for longer is no guard, and stops nobody.
const PATIENCE: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(1);

/// Takes the advisory locks (flock(2)) of the directories that are about to change, in the order of their inodes, so
/// that no two commits wait for each other. They are held until the descriptors are closed.
pub(super) fn hold(works: &[Work<'_>]) -> Vec<OwnedFd> {
    let deadline = Instant::now() + PATIENCE;
    let mut directories = BTreeMap::new();
    for site in works.iter().flat_map(|work| [Some(&work.plan.site), work.plan.to.as_ref()]).flatten() {
        if let Ok(meta) = sys::meta(&site.dir) {
            directories.insert(meta.id, &site.dir);
        }
    }
    // A directory that may not be read cannot be opened to be locked, and some filesystems have no locks.
    directories
        .values()
        .filter_map(|dir| sys::open_directory(dir, b".").ok())
        .filter(|dir| take(dir, deadline))
        .collect()
}

fn take(dir: &OwnedFd, deadline: Instant) -> bool {
    loop {
        match flock(dir, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return true,
            Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < deadline => std::thread::sleep(PAUSE),
            Err(_) => return false,
        }
    }
}
