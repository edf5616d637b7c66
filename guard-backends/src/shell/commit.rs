//! The mutation: one request that carries every precondition to the target, and what its reply says.

use std::collections::HashSet;
use std::io::Read as _;

use guard_core::policy::{Precondition, TargetPath};
use guard_core::port::{
    Applied, Batch, CommitError, CommitFailure, Committed, Content, Displaced, Effect, Fate, InPlace, Keep,
    Kept, Mode, OpError, Parents, Publish,
};
use tokio::sync::mpsc;

use super::Inner;
use super::answer;
use super::connection::{Bodies, Item, PIECE, SourceError};
use super::query::{self, Items};
use super::wire::{self, Noise, Pre, Record, Verb};
use crate::temp::{self, Role};

/// Builds the request of a batch.
pub(super) fn verb(inner: &Inner, batch: &Batch) -> Result<Verb, CommitError> {
    let mut seen: HashSet<&TargetPath> = HashSet::new();
    let mut changes = Vec::with_capacity(batch.changes.len());
    for (index, change) in batch.changes.iter().enumerate() {
        let fail = |cause: CommitFailure| untouched(cause, Some(index), batch.changes.len());
        let to = match &change.effect {
            Effect::MoveTo { to, .. } => Some(to),
            _ => None,
        };
        // What is carried out is at the expected path, or nothing is carried out.
        for place in [Some(&change.place), to].into_iter().flatten() {
            if !seen.insert(&place.expect) {
                return Err(fail(CommitFailure::SamePath { resolved: place.expect.clone() }));
            }
        }
        changes.push(record(inner, batch, index, change).map_err(|error| fail(error.into()))?);
    }
    Ok(Verb::Commit { options: options(batch), changes })
}

fn options(batch: &Batch) -> wire::Options {
    wire::Options {
        require: batch.require,
        displaced: match batch.displaced {
            Displaced::Discard => None,
            Displaced::Return { max } => Some(max),
        },
        lose_metadata: batch.metadata == Keep::DangerLose,
        in_place: batch.in_place == InPlace::DangerNotAtomic,
    }
}

fn record(
    inner: &Inner,
    batch: &Batch,
    index: usize,
    change: &guard_core::port::Change,
) -> Result<wire::Change, OpError> {
    let temp = |role| temp::name(&batch.id, index, role);
    let place = |place: &guard_core::port::Place, pre: &Precondition| -> Result<wire::Place, OpError> {
        let (root, path) = inner.roots.place(place.root, &place.path)?;
        let expect = place.expect.as_str().into();
        Ok(wire::Place { root, path, last: place.last, expect, pre: precondition(pre) })
    };
    let (effect, parents) = match &change.effect {
        Effect::Put { content, mode, parents } => {
            let mode = match mode {
                Mode::Set(mode) => Mode::Set(mode & 0o7777),
                mode => *mode,
            };
            (wire::Effect::Put { len: content.len(), digest: content.digest(), mode }, *parents)
        }
        Effect::Remove => (wire::Effect::Remove, Parents::Require),
        Effect::MoveTo { to, destination, parents } => {
            (wire::Effect::Move(place(to, destination)?), *parents)
        }
        Effect::MakeDir { parents } => (wire::Effect::MakeDir, *parents),
        Effect::RemoveDir => (wire::Effect::RemoveDir, Parents::Require),
    };
    let pre = match change.effect {
        // Its precondition is not looked at.
        Effect::RemoveDir => &Precondition::Absent,
        _ => &change.precondition,
    };
    Ok(wire::Change {
        effect,
        place: place(&change.place, pre)?,
        parents,
        temps: [temp(Role::Stage), temp(Role::Aside), temp(Role::Undo)],
        scope: query::scope(&batch.scope),
    })
}

fn precondition(precondition: &Precondition) -> Pre {
    match precondition {
        Precondition::Absent => Pre::Absent,
        Precondition::Content { digest } => Pre::Content(*digest),
        Precondition::Link { text } => Pre::Link(answer::link_bytes(text)),
        Precondition::Exists => Pre::Exists,
        Precondition::DangerAny => Pre::Any,
    }
}

/// Reads the contents of a batch on a blocking thread, a few pieces ahead of the connection.
pub(super) fn bodies(inner: &Inner, batch: &Batch) -> Option<Bodies> {
    let contents: Vec<Content> = batch
        .changes
        .iter()
        .filter_map(|change| match &change.effect {
            Effect::Put { content, .. } => Some(content.clone()),
            _ => None,
        })
        .collect();
    if contents.is_empty() {
        return None;
    }
    let (send, receive) = mpsc::channel(2);
    inner.runtime.spawn_blocking(move || {
        for content in contents {
            if let Err(error) = read(&content, &send) {
                // Nobody is there to hear it when the connection is gone.
                let _ = send.blocking_send(Err(error));
                return;
            }
        }
    });
    Some(receive)
}

/// Sends exactly the announced number of bytes; a source that has fewer or more is another content.
fn read(content: &Content, send: &mpsc::Sender<Result<Vec<u8>, SourceError>>) -> Result<(), SourceError> {
    let io = |error: std::io::Error| SourceError::Io(error.to_string());
    let mut source = content.open().map_err(io)?;
    let mut left = content.len();
    while left > 0 {
        let want = left.min(PIECE as u64);
        let mut piece = Vec::with_capacity(want as usize);
        source.by_ref().take(want).read_to_end(&mut piece).map_err(io)?;
        if (piece.len() as u64) < want {
            return Err(SourceError::Mismatch);
        }
        left -= want;
        if send.blocking_send(Ok(piece)).is_err() {
            return Ok(());
        }
    }
    let mut more = [0];
    match source.read(&mut more).map_err(io)? {
        0 => Ok(()),
        _ => Err(SourceError::Mismatch),
    }
}

/// Says that nothing was done.
pub(super) fn untouched(cause: CommitFailure, at: Option<usize>, count: usize) -> CommitError {
    CommitError { cause, at, fates: vec![Fate::Untouched; count] }
}

/// Reads the reply to a commit.
pub(super) fn outcome(items: Vec<Item>, batch: &Batch) -> Result<Result<Committed, CommitError>, Noise> {
    let mut items = Items::new(items);
    let count = batch.changes.len();
    if let Some(Record::Failed(failed)) = items.record_if(|record| matches!(record, Record::Failed(_))) {
        if failed.at.is_some_and(|at| at >= count) {
            return Err(Noise::new("a change that is not in the batch failed"));
        }
        let at = failed.at;
        let fates = fates(&mut items, count)?;
        items.end()?;
        return Ok(Err(CommitError { cause: answer::failure(*failed)?, at, fates }));
    }
    let mut changes = Vec::with_capacity(count);
    for (index, change) in batch.changes.iter().enumerate() {
        let done = applied(&mut items, index)?;
        let put = match &change.effect {
            Effect::Put { content, .. } => Some(content.digest()),
            _ => None,
        };
        // Nothing else could have been carried out.
        if done.resolved != change.place.expect || put.is_some_and(|put| done.after.digest() != Some(put)) {
            return Err(Noise::new("a report of something that was not asked for"));
        }
        changes.push(done);
    }
    items.end()?;
    Ok(Ok(Committed { changes, settled: false }))
}

fn applied(items: &mut Items, index: usize) -> Result<Applied, Noise> {
    let Record::Applied(applied) = items.record()? else {
        return Err(Noise::new("a change is missing in the report"));
    };
    let mine = |change: usize| -> Result<(), Noise> {
        if change == index { Ok(()) } else { Err(Noise::new("a report of another change")) }
    };
    mine(applied.change)?;
    let path = |bytes| answer::path(bytes).map_err(|error| Noise::new(error.to_string()));
    let mut done = Applied {
        resolved: path(applied.resolved)?,
        before: answer::state(applied.before),
        after: answer::state(applied.after),
        publish: Publish {
            tier: applied.tier,
            lease: applied.displaced.then_some(false),
            changed: applied.changed,
            copied: applied.copied,
        },
        made: Vec::new(),
        kept: Kept { lost: Vec::new(), other_names: applied.other_names },
        displaced: None,
        left: Vec::new(),
    };
    while let Some(record) = items.record_if(|record| {
        matches!(
            record,
            Record::Made { .. } | Record::Lost { .. } | Record::Left { .. } | Record::Displaced { .. }
        )
    }) {
        match record {
            Record::Made { change, path: made } => {
                mine(change)?;
                done.made.push(path(made)?);
            }
            Record::Lost { change, what } => {
                mine(change)?;
                done.kept.lost.push(what);
            }
            Record::Left { change, path: left, why } => {
                mine(change)?;
                done.left.push(left_at(&left, &why));
            }
            Record::Displaced { change } => {
                mine(change)?;
                done.displaced = items.body();
            }
            _ => {}
        }
    }
    Ok(done)
}

fn left_at(path: &[u8], why: &str) -> String {
    format!("{}: {why}", crate::names::escaped(path))
}

/// Reads what became of each change.
pub(super) fn fates(items: &mut Items, count: usize) -> Result<Vec<Fate>, Noise> {
    let mut fates = vec![Fate::Unknown; count];
    while !items.is_over() {
        match items.record()? {
            Record::Fate { change, fate } => {
                let slot = slot(&mut fates, change)?;
                *slot = match fate.as_str() {
                    "untouched" => Fate::Untouched,
                    "restored" => Fate::Restored,
                    "unknown" => Fate::Unknown,
                    other => return Err(Noise::new(format!("fate {other:?}"))),
                };
            }
            Record::Left { change, path, why } => {
                let slot = slot(&mut fates, change)?;
                let text = left_at(&path, &why);
                *slot = match std::mem::replace(slot, Fate::Unknown) {
                    Fate::Left { what } => Fate::Left { what: format!("{what}; {text}") },
                    _ => Fate::Left { what: text },
                };
            }
            other => return Err(Noise::new(format!("{other:?} among the fates"))),
        }
    }
    Ok(fates)
}

fn slot(fates: &mut [Fate], change: usize) -> Result<&mut Fate, Noise> {
    fates.get_mut(change).ok_or_else(|| Noise::new("the fate of a change that is not in the batch"))
}
