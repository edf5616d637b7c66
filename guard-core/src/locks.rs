//! In-process locks: a courtesy between actors of one process.
//!
//! They make two edits of one file wait for each other instead of losing a compare-and-swap; the guarantee is the
//! compare-and-swap.

use std::collections::BTreeSet;
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
    let mut stripes = Vec::new();
    for index in in_order(paths.iter().map(|path| stripe(target, path))) {
        stripes.push(Arc::clone(&TABLE[index]).lock_owned().await);
    }
    Locked { _stripes: stripes }
}

/// Returns the stripes in the order in which they are taken: it is all that keeps callers from waiting for each other.
fn in_order(stripes: impl Iterator<Item = usize>) -> BTreeSet<usize> {
    stripes.collect()
}

fn stripe(target: &TargetId, path: &TargetPath) -> usize {
    let mut hasher = DefaultHasher::new();
    (target, path).hash(&mut hasher);
    (hasher.finish() % STRIPES as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A caller: the stripes that it takes one after the other, and how many it has. With all of them it is done with
    /// its work, and lets go of them in its next step.
    #[derive(Clone)]
    struct Caller {
        takes: Vec<usize>,
        has: usize,
        gone: bool,
    }

    /// Plays every interleaving of the callers' steps; tells whether some of them can end up waiting for each other.
    fn can_deadlock(callers: &[Caller]) -> bool {
        let holder = |stripe: usize| {
            callers
                .iter()
                .filter(|caller| !caller.gone && caller.takes[..caller.has].contains(&stripe))
                .count()
        };
        for caller in callers {
            for stripe in &caller.takes {
                assert!(holder(*stripe) <= 1, "two hold one stripe");
            }
        }
        let mut moves = 0;
        for (index, caller) in callers.iter().enumerate() {
            if caller.gone {
                continue;
            }
            let mut next = callers.to_vec();
            match caller.takes.get(caller.has) {
                None => next[index].gone = true,
                Some(stripe) if holder(*stripe) == 0 => next[index].has += 1,
                Some(_) => continue,
            }
            moves += 1;
            if can_deadlock(&next) {
                return true;
            }
        }
        moves == 0 && callers.iter().any(|caller| !caller.gone)
    }

    /// Every choice of up to three of four stripes, in every order, named twice or not.
    fn requests() -> Vec<Vec<usize>> {
        let mut all = Vec::new();
        for a in 0..4 {
            all.push(vec![a]);
            for b in 0..4 {
                all.push(vec![a, b]);
                for c in 0..4 {
                    all.push(vec![a, b, c]);
                }
            }
        }
        all
    }

    fn callers(requests: &[&Vec<usize>], order: impl Fn(&[usize]) -> Vec<usize>) -> Vec<Caller> {
        requests.iter().map(|request| Caller { takes: order(request), has: 0, gone: false }).collect()
    }

    #[test]
    fn no_callers_ever_wait_for_each_other_and_no_stripe_has_two_holders() {
        let in_order = |request: &[usize]| in_order(request.iter().copied()).into_iter().collect();
        let all = requests();
        for one in &all {
            for other in &all {
                assert!(!can_deadlock(&callers(&[one, other], in_order)), "{one:?} {other:?}");
            }
        }
        // Three that go round.
        for three in [[vec![0, 1], vec![1, 2], vec![2, 0]], [vec![0, 1, 2], vec![2, 1, 0], vec![1, 0, 2]]] {
            let three: Vec<&Vec<usize>> = three.iter().collect();
            assert!(!can_deadlock(&callers(&three, in_order)), "{three:?}");
        }
    }

    #[test]
    fn control_taken_as_they_are_named_some_wait_for_each_other() {
        let as_named = |request: &[usize]| request.to_vec();
        assert!(can_deadlock(&callers(&[&vec![0, 1], &vec![1, 0]], as_named)));
        assert!(can_deadlock(&callers(&[&vec![0, 0]], as_named)), "for itself");
    }
}
