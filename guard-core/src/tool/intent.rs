//! What a tool would do, before anything is done: the plan of a call, and the parts of its receipt that follow from it.

use guard_policy::{Digest, FileState, Precondition, Splice, TextShape};

use super::mutate::Item;
use crate::port::{Applied, Change, Content, Effect, Kept, Mode, Parents};
use crate::receipt::Undo;
use crate::{ChangeReceipt, Conversion, PlacedChunk, Plan, PlannedChange, Receipt};

/// What a tool would do at one of its paths.
pub(crate) struct Intent {
    /// Which path, as an index into the items.
    pub(crate) item: usize,
    pub(crate) effect: Intended,
    pub(crate) mark: Mark,
    /// The digest of the content that the caller gave, where it was converted.
    pub(crate) given: Option<Digest>,
    pub(crate) conversions: Vec<Conversion>,
    pub(crate) notes: Vec<String>,
    pub(crate) diff: Option<String>,
    /// How the chunks of a patch are placed; a patch's diff is in its receipt too.
    pub(crate) chunks: Option<Vec<PlacedChunk>>,
    pub(crate) summary: String,
    /// What has to be there, where it is more than the policy named.
    pub(crate) precondition: Option<Precondition>,
}

impl Intent {
    pub(crate) fn new(item: usize, effect: Intended, mark: Mark, summary: impl Into<String>) -> Self {
        Self {
            item,
            effect,
            mark,
            given: None,
            conversions: Vec::new(),
            notes: Vec::new(),
            diff: None,
            chunks: None,
            summary: summary.into(),
            precondition: None,
        }
    }
}

/// An effect, before it has a place.
pub(crate) enum Intended {
    Put {
        content: Content,
        mode: Mode,
    },
    Remove,
    MoveTo {
        item: usize,
    },
    MakeDir,
    /// Of a directory, if it is empty.
    RemoveDir,
}

/// What a commit means for the actor's views.
#[derive(Debug, Clone)]
pub(crate) enum Mark {
    Wrote(TextShape),
    Edited {
        base: Digest,
        splices: Vec<Splice>,
        shape: TextShape,
    },
    Removed,
    Moved,
    /// What is there now was not seen there.
    Forget,
    Nothing,
}

impl Mark {
    /// Returns what the content looks like that was put.
    pub(super) const fn shape(&self) -> Option<TextShape> {
        match self {
            Self::Wrote(shape) | Self::Edited { shape, .. } => Some(*shape),
            Self::Removed | Self::Moved | Self::Forget | Self::Nothing => None,
        }
    }
}

/// What a call would do: at its paths, and what there is to say of it as a whole.
#[derive(Default)]
pub(crate) struct Intents {
    pub(crate) intents: Vec<Intent>,
    pub(crate) remarks: Remarks,
}

/// What there is to say of a patch as a whole.
#[derive(Default, Clone)]
pub(crate) struct Remarks {
    pub(crate) notes: Vec<String>,
    /// Why only a part of it is here.
    pub(crate) stopped: Option<String>,
}

impl From<Intent> for Intents {
    fn from(intent: Intent) -> Self {
        Self { intents: vec![intent], remarks: Remarks::default() }
    }
}

impl Remarks {
    pub(super) fn on(self, receipt: Receipt) -> Receipt {
        Receipt { notes: self.notes, stopped: self.stopped, ..receipt }
    }

    pub(super) fn on_plan(self, plan: Plan) -> Plan {
        Plan { notes: self.notes, stopped: self.stopped, ..plan }
    }
}

pub(super) fn is_intended(effect: &Intended, state: &FileState) -> bool {
    match effect {
        Intended::Put { content, .. } => state.digest() == Some(content.digest()),
        Intended::MakeDir => *state == FileState::Directory,
        Intended::Remove | Intended::RemoveDir | Intended::MoveTo { .. } => false,
    }
}

pub(super) fn planned(intent: &Intent, items: &[Item]) -> PlannedChange {
    let item = &items[intent.item];
    PlannedChange {
        path: item.site.requested.clone(),
        resolved: item.site.expect.clone(),
        moved_to: match intent.effect {
            Intended::MoveTo { item } => Some(items[item].site.expect.clone()),
            _ => None,
        },
        precondition: precondition(intent, item),
        before: item.look.as_ref().and_then(|look| look.state.digest()),
        after: match &intent.effect {
            Intended::Put { content, .. } => Some(content.digest()),
            _ => None,
        },
        diff: intent.diff.clone(),
        chunks: intent.chunks.clone().unwrap_or_default(),
        summary: intent.summary.clone(),
    }
}

pub(super) fn precondition(intent: &Intent, item: &Item) -> Precondition {
    intent.precondition.clone().unwrap_or_else(|| item.precondition())
}

pub(super) fn change(intent: &Intent, items: &[Item]) -> Change {
    let item = &items[intent.item];
    Change {
        place: item.site.place(),
        precondition: precondition(intent, item),
        effect: match &intent.effect {
            Intended::Put { content, mode } => {
                Effect::Put { content: content.clone(), mode: *mode, parents: Parents::Make }
            }
            Intended::Remove => Effect::Remove,
            Intended::MoveTo { item } => Effect::MoveTo {
                to: items[*item].site.place(),
                destination: items[*item].precondition(),
                parents: Parents::Make,
            },
            Intended::MakeDir => Effect::MakeDir { parents: Parents::Make },
            Intended::RemoveDir => Effect::RemoveDir,
        },
    }
}

/// Makes the part of a receipt that is known before anything happens.
pub(super) fn draft(intent: &Intent, items: &[Item]) -> ChangeReceipt {
    let planned = planned(intent, items);
    ChangeReceipt {
        path: planned.path,
        resolved: planned.resolved,
        moved_to: planned.moved_to,
        precondition: planned.precondition,
        before: None,
        after: None,
        bytes: None,
        given: intent.given,
        conversions: intent.conversions.clone(),
        publish: None,
        made: Vec::new(),
        metadata: Kept::default(),
        left: Vec::new(),
        notes: intent.notes.clone(),
        diff: intent.chunks.as_ref().and(planned.diff),
        chunks: planned.chunks,
        undo: None,
    }
}

pub(super) fn filled(draft: ChangeReceipt, applied: Applied, undo: Option<Undo>) -> ChangeReceipt {
    ChangeReceipt {
        resolved: applied.resolved,
        before: applied.before.digest(),
        after: applied.after.digest(),
        bytes: match applied.after {
            // After a lost reply the length of what was moved is not known.
            FileState::Regular { len: 0, digest: Some(digest), .. } if digest != Digest::EMPTY => None,
            FileState::Regular { len, .. } => Some(len),
            _ => None,
        },
        publish: Some(applied.publish),
        made: applied.made,
        metadata: applied.kept,
        left: applied.left,
        undo,
        ..draft
    }
}
