//! What is known of a batch whose reply was lost and which was found in effect.

use guard_policy::{Digest, FileState, Precondition};

use super::{Applied, Batch, Change, Committed, Effect, Fate, InPlace, Kept, Mode, Publish, Tier};

impl Committed {
    /// Reports a batch whose reply was lost and which was found in effect: what was named before, what is there now.
    ///
    /// Names under which bytes stay are among the fates. Of what is not known the least is claimed.
    #[must_use]
    pub fn found(batch: &Batch, fates: Vec<Fate>) -> Self {
        let change = |change: &Change| {
            let before = match (&change.precondition, &change.effect) {
                (_, Effect::RemoveDir) => FileState::Directory,
                (Precondition::Absent, _) => FileState::Absent,
                (Precondition::Link { text }, _) => FileState::Link { text: text.clone() },
                (Precondition::Content { digest }, _) => known(Some(*digest), 0),
                (Precondition::Exists | Precondition::DangerAny, _) => known(None, 0),
            };
            let after = match &change.effect {
                Effect::Put { content, .. } => known(Some(content.digest()), content.len()),
                Effect::MoveTo { .. } => before.clone(),
                Effect::MakeDir { .. } => FileState::Directory,
                Effect::Remove | Effect::RemoveDir => FileState::Absent,
            };
            let lease = before.is_regular().then_some(false);
            Applied {
                resolved: change.place.expect.clone(),
                before,
                after,
                publish: Publish {
                    tier: at_least(batch, change),
                    lease,
                    changed: !is_same(change),
                    copied: false,
                },
                made: Vec::new(),
                kept: Kept::default(),
                displaced: None,
                left: Vec::new(),
            }
        };
        let mut changes: Vec<Applied> = batch.changes.iter().map(change).collect();
        for (applied, fate) in changes.iter_mut().zip(fates) {
            if let Fate::Left { what } = fate {
                applied.left.push(what);
            }
        }
        Self { changes, settled: true }
    }
}

/// Returns the weakest tier that can have enforced the precondition of a change.
fn at_least(batch: &Batch, change: &Change) -> Tier {
    let weakest = match (&change.effect, &change.precondition) {
        (Effect::Put { .. }, Precondition::Content { .. } | Precondition::DangerAny)
            if batch.in_place == InPlace::DangerNotAtomic =>
        {
            Tier::InPlace
        }
        (Effect::Put { .. }, Precondition::Content { .. }) => Tier::Window,
        // What was there may have been nothing; a move across filesystems is a creation.
        (Effect::Put { .. } | Effect::MoveTo { .. }, _) => Tier::CreatedNonatomic,
        (Effect::Remove | Effect::MakeDir { .. } | Effect::RemoveDir, _) => Tier::Exchange,
    };
    batch.require.map_or(weakest, |required| required.max(weakest))
}

/// Tells whether a change surely had nothing to do: the bytes that are demanded are those that are put.
fn is_same(change: &Change) -> bool {
    match (&change.effect, &change.precondition) {
        (
            Effect::Put { content, mode: Mode::Keep | Mode::Executable, .. },
            Precondition::Content { digest },
        ) => content.digest() == *digest,
        _ => false,
    }
}

/// Describes a file of which no more than the digest is known.
fn known(digest: Option<Digest>, len: u64) -> FileState {
    FileState::Regular { len, mode: 0, nlink: 1, digest }
}
