//! Commits whose reply was lost: they are looked into on the next session, never sent again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use guard_core::port::{CommitId, Fate, Settled};

use super::commit;
use super::connection::{Connection, Item, Lost, Sink};
use super::query::Items;
use super::roots::Roots;
use super::wire::{Change, Noise, Options, Record, Verb, Verdict};

/// How often a settlement may fail.
const FAILURES: u32 = 6;
/// How many outcomes are remembered.
const REMEMBERED: usize = 1024;

/// What is known of the commits of this controller.
#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    known: HashMap<CommitId, Outcome>,
    order: VecDeque<CommitId>,
}

#[derive(Debug, Clone)]
enum Outcome {
    Settled(Settled, Vec<Fate>),
    Pending(Pending),
}

/// A commit that nobody knows the outcome of.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    pub(super) id: CommitId,
    /// The old shell: process id and start time.
    pub(super) shell: (u32, String),
    /// The run of the machine in which it was sent, and how many roots there were.
    pub(super) run: u64,
    pub(super) roots: usize,
    pub(super) options: Options,
    pub(super) changes: Vec<Change>,
    /// The directories that it said it was making, each with its change.
    pub(super) made: Vec<(usize, Vec<u8>)>,
    /// How often a settlement failed on the target.
    pub(super) failures: u32,
}

/// A commit that is being sent. Whatever ends it without a word leaves it on record as one whose outcome is not known.
pub(super) struct UnderWay<'a> {
    ledger: &'a Ledger,
    pending: Option<Pending>,
}

impl UnderWay<'_> {
    /// Takes it off, for the outcome is known or told by the caller.
    pub(super) fn over(mut self) -> Option<Pending> {
        self.pending.take()
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if let Some(pending) = self.pending.take() {
            self.ledger.pending(pending);
        }
    }
}

impl Ledger {
    /// Says what is being sent.
    pub(super) const fn under_way(&self, pending: Pending) -> UnderWay<'_> {
        UnderWay { ledger: self, pending: Some(pending) }
    }

    fn with<T>(&self, look: impl FnOnce(&mut Entries) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Remembers an outcome, and what became of each change.
    pub(super) fn settled(&self, id: &CommitId, outcome: Settled, fates: Vec<Fate>) {
        self.with(|entries| entries.put(id, Outcome::Settled(outcome, fates)));
    }

    /// Counts a settlement that failed on the target; after a few, the outcome is taken to be beyond finding out, so
    /// that one commit does not keep the target from everything else.
    pub(super) fn failed(&self, id: &CommitId) {
        self.with(|entries| {
            let Some(Outcome::Pending(pending)) = entries.known.get_mut(id) else { return };
            pending.failures += 1;
            if pending.failures >= FAILURES {
                let fates = vec![Fate::Unknown; pending.changes.len()];
                entries.put(id, Outcome::Settled(Settled::Conflict { fates: fates.clone() }, fates));
            }
        });
    }

    /// Remembers that an outcome is not known.
    pub(super) fn pending(&self, pending: Pending) {
        let id = pending.id.clone();
        self.with(|entries| entries.put(&id, Outcome::Pending(pending)));
    }

    /// Tells whether a commit is on record.
    pub(super) fn has(&self, id: &CommitId) -> bool {
        self.with(|entries| entries.known.contains_key(id))
    }

    /// Returns an outcome that is known, and what became of each change.
    pub(super) fn get(&self, id: &CommitId) -> Option<(Settled, Vec<Fate>)> {
        self.with(|entries| match entries.known.get(id) {
            Some(Outcome::Settled(settled, fates)) => Some((settled.clone(), fates.clone())),
            _ => None,
        })
    }

    /// Returns the commits that nobody knows the outcome of, oldest first.
    pub(super) fn open(&self) -> Vec<Pending> {
        self.with(|entries| {
            let outcome = |id| match entries.known.get(id) {
                Some(Outcome::Pending(pending)) => Some(pending.clone()),
                _ => None,
            };
            entries.order.iter().filter_map(outcome).collect()
        })
    }
}

impl Entries {
    fn put(&mut self, id: &CommitId, outcome: Outcome) {
        if self.known.insert(id.clone(), outcome).is_none() {
            self.order.push_back(id.clone());
        }
        let mut spare = self.order.len().saturating_sub(REMEMBERED);
        // What is not known yet is never forgotten.
        let known = &mut self.known;
        self.order.retain(|id| {
            let forget = spare > 0 && matches!(known.get(id), Some(Outcome::Settled(..)));
            if forget {
                spare -= 1;
                known.remove(id);
            }
            !forget
        });
    }
}

fn left(fates: &[Fate]) -> Vec<String> {
    let left = |fate: &Fate| match fate {
        Fate::Left { what } => Some(what.clone()),
        _ => None,
    };
    fates.iter().filter_map(left).collect()
}

/// Finds out on a new session what became of a commit, and brings what is half done to an end.
pub(super) async fn settle(
    connection: &mut Connection,
    pending: &Pending,
    roots: &Roots,
) -> Result<(Settled, Vec<Fate>), Lost> {
    let ((run, mut roots), mut shell) = (roots.now(), pending.shell.clone());
    roots.truncate(pending.roots);
    if run != pending.run && !shell.1.is_empty() {
        // It ended with its run. No process has such a start, so that none is taken for it.
        shell.1.push_str("-earlier");
    }
    let verb = Verb::Settle {
        shell,
        options: pending.options.clone(),
        changes: pending.changes.clone(),
        made: pending.made.clone(),
    };
    let items = connection.request(roots, verb, None, Sink::Items(0)).await?;
    read(items, pending.changes.len()).map_err(|noise| Lost::Sent(noise.to_string()))
}

fn read(items: Vec<Item>, count: usize) -> Result<(Settled, Vec<Fate>), Noise> {
    let mut items = Items::new(items);
    let verdict = match items.record()? {
        Record::Settled(verdict) => verdict,
        other => return Err(Noise::new(format!("{other:?} instead of a settlement"))),
    };
    let fates = commit::fates(&mut items, count)?;
    let settled = match verdict {
        Verdict::Applied => Settled::Applied { left: left(&fates) },
        Verdict::NotApplied => Settled::NotApplied { left: left(&fates) },
        Verdict::Conflict => Settled::Conflict { fates: fates.clone() },
    };
    Ok((settled, fates))
}
