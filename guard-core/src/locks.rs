//! In-process locks: a courtesy between actors of one process.
//!
//! They make two edits of one file wait for each other instead of losing a compare-and-swap; the guarantee is the
//! compare-and-swap.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use guard_policy::TargetPath;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::port::TargetId;

const STRIPES: usize = 256;

static TABLE: LazyLock<Vec<Arc<Mutex<()>>>> =
    LazyLock::new(|| (0..STRIPES).map(|_| Arc::default()).collect());

/// Locks that are held, until it is dropped.
#[derive(Debug)]
pub(crate) struct Locked {
    _stripes: Vec<OwnedMutexGuard<()>>,
}

/// Takes the locks of `paths`: once per stripe and in the order of the stripes, so that no two callers wait for
/// each other.
pub(crate) async fn lock(target: &TargetId, paths: &[&TargetPath]) -> Locked {
    let mut wanted: Vec<usize> = paths.iter().map(|path| stripe(target, path)).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let mut stripes = Vec::with_capacity(wanted.len());
    for index in wanted {
        stripes.push(Arc::clone(&TABLE[index]).lock_owned().await);
    }
    Locked { _stripes: stripes }
}

fn stripe(target: &TargetId, path: &TargetPath) -> usize {
    let mut hasher = DefaultHasher::new();
    (target, path).hash(&mut hasher);
    (hasher.finish() % STRIPES as u64) as usize
}
