//! The race: every operation against the swapper, and the accounts afterwards.

use std::collections::BTreeMap;
use std::process::Command;

use guard_core::port::Tier;

use crate::calls::{call, is_allowed, operations};
use crate::scene::{Ledger, OUTSIDE, Scene};
use crate::swapper::{Swap, Swapper};

/// How often each operation ended in which way.
#[derive(Debug, Default)]
struct Tally(BTreeMap<&'static str, BTreeMap<&'static str, usize>>);

impl Tally {
    fn count(&mut self, operation: &'static str, word: &'static str) {
        *self.0.entry(operation).or_default().entry(word).or_default() += 1;
    }

    /// Tells whether both of what is swapped was met by the operation.
    fn has_met_both(&self, operation: &str) -> bool {
        let Some(words) = self.0.get(operation) else { return false };
        words.contains_key("ok") && words.keys().any(|word| *word != "ok")
    }
}

/// Races every operation as many rounds, and those on that did not meet both of what is swapped.
pub(crate) async fn race(name: &str, scene: &Scene, swap: Swap, swapper: Command, tier: Tier, rounds: usize) {
    let base = scene.for_the_swapper.as_deref().unwrap_or(scene.base());
    let swapper = Swapper::start(swapper, swap, base);
    let (mut tally, mut ledger) = (Tally::default(), Ledger::new());
    let all = operations(swap, tier);
    let mut round = 0;
    for turn in 0..rounds * 4 {
        let open: Vec<&str> =
            all.iter().copied().filter(|name| turn < rounds || !tally.has_met_both(name)).collect();
        if open.is_empty() {
            break;
        }
        for operation in open {
            round += 1;
            let what = format!("{name}, {swap:?}, {operation}, round {round}");
            let word = match call(scene, &mut ledger, operation, round).await {
                Ok(came) => {
                    assert!(came.tiers.iter().all(|met| *met == tier), "{what}: {:?}", came.tiers);
                    came.otherwise.unwrap_or("ok")
                }
                Err(failure) => {
                    let refusal = failure.refusal;
                    assert!(is_allowed(swap, refusal.code), "{what}: {refusal:?}");
                    let said = format!("{refusal:?}");
                    assert!(!said.contains(OUTSIDE), "{what}: outside was told: {said}");
                    ledger.left.extend(refusal.left);
                    refusal.code.as_str()
                }
            };
            tally.count(operation, word);
            scene.assert_canary(&what);
        }
    }
    let swaps = swapper.stop();
    println!("{name}, {swap:?}: {swaps} swaps, {:?}, {} left", tally.0, ledger.left.len());
    assert_eq!(ledger.differences(scene.base(), swap), [""; 0], "{name}, {swap:?}");
    // It swapped for every round of an operation, and the operations met both of what is swapped: a slow one not always.
    assert!(swaps >= rounds as u64, "{name}, {swap:?}: {swaps} swaps");
    let unmet: Vec<&&str> = all.iter().filter(|operation| !tally.has_met_both(operation)).collect();
    assert!(unmet.len() * 3 <= all.len(), "{name}, {swap:?}: {unmet:?} did not meet both: {:?}", tally.0);
}
