//! What a mutating call means for the views of its actor, and what they have to say of a file that changed.

use std::io::Read as _;

use guard_policy::{Argument, ContentClass, Fact, FileState, TargetPath, TextShape, Ticket, View, classify};

use super::intent::Mark;
use super::mutate::{Item, Look};
use crate::actor::Record;
use crate::port::{Applied, Body, Committed, Content, Contents};
use crate::request::Request;
use crate::text::hashes;
use crate::{ChangeReceipt, Failure};

/// Adds the lines that differ, if the file can be read and still is what the refusal says it is.
pub(super) async fn with_lines(request: &mut Request, items: &[Item], failure: Failure) -> Failure {
    let Some(changed) = failure.refusal.changed.as_deref() else { return failure };
    // Of two files with one content each has its own lines that were seen.
    let call = failure.refusal.remedy.as_ref().and_then(|remedy| remedy.call.as_ref());
    let named = call.and_then(|call| call.arguments.get("path"));
    let is_named = |item: &Item| match named {
        Some(Argument::Text(path)) => *path == item.site.requested,
        _ => true,
    };
    let lines_of = |item: &Item| match request.actor.views().get(&item.site.expect) {
        Some(View::File { digest, lines, .. }) if *digest == changed.seen && !lines.is_empty() => {
            Some(lines.clone())
        }
        _ => None,
    };
    let seen = items.iter().filter(|item| is_named(item)).find_map(|item| Some((item, lines_of(item)?)));
    let Some((item, seen)) = seen else { return failure };
    let Ok(Contents { found, body: Body::Bytes { bytes, .. } }) = request.read_whole(&item.site).await else {
        return failure;
    };
    if found.resolved != item.site.expect || found.state.digest() != Some(changed.now) {
        return failure;
    }
    let Some(now) = hashes::lines(&bytes, classify(&bytes)) else { return failure };
    let changed = hashes::compare(&seen, &now, changed);
    Failure { refusal: failure.refusal.with_changed(&item.site.requested, changed), ..failure }
}

/// A dry run has shown which version is there: that counts as having seen it for a deletion.
pub(super) fn note_shown(request: &Request, items: &[Item], began: Ticket) {
    if !request.records() {
        return;
    }
    let mut views = request.actor.views();
    for item in items {
        if let Some(Look { state: FileState::Regular { len, digest: Some(digest), .. }, .. }) = &item.look {
            let metadata = guard_policy::Delivered {
                digest: *digest,
                len: *len,
                ranges: guard_policy::Ranges::new(),
                shape: Fact::Unknown,
            };
            views.record(&item.site.expect, began, metadata);
        }
    }
}

/// One change of a commit: what a receipt says of it before it happens, and what it means for the views.
pub(crate) struct Marked {
    pub(crate) draft: ChangeReceipt,
    pub(crate) mark: Mark,
    /// What is put.
    pub(crate) content: Option<Content>,
}

/// Records what a commit that is in effect means for the views of whoever made it.
pub(crate) fn note(record: &Record, marked: &[Marked], committed: &Committed) {
    for (Marked { draft, mark, content }, applied) in marked.iter().zip(&committed.changes) {
        note_one(record, mark, draft, applied);
        if let (Some(content), Some(shape)) = (content, mark.shape()) {
            note_lines(record, &applied.resolved, content, shape);
        }
    }
}

fn note_one(record: &Record, mark: &Mark, draft: &ChangeReceipt, applied: &Applied) {
    let mut views = record.views();
    let FileState::Regular { len, digest, .. } = &applied.after else {
        return match mark {
            Mark::Removed => views.removed(&applied.resolved),
            Mark::Moved => match &draft.moved_to {
                Some(to) => views.moved(&applied.resolved, to, None),
                None => views.removed(&applied.resolved),
            },
            Mark::Forget => views.forget(&applied.resolved),
            Mark::Wrote(_) | Mark::Edited { .. } | Mark::Nothing => {}
        };
    };
    match (mark, digest) {
        (Mark::Wrote(shape), Some(digest)) => views.wrote(&applied.resolved, *digest, *len, *shape),
        (Mark::Edited { base, splices, shape }, Some(digest)) => {
            views.edited(&applied.resolved, *base, splices, *digest, *len, *shape);
        }
        (Mark::Moved, digest) => {
            if let Some(to) = &draft.moved_to {
                views.moved(&applied.resolved, to, *digest);
            }
        }
        (Mark::Removed, _) => views.removed(&applied.resolved),
        (Mark::Forget, _) | (Mark::Wrote(_) | Mark::Edited { .. }, None) => views.forget(&applied.resolved),
        (Mark::Nothing, _) => {}
    }
}

/// Keeps hashes of the lines of a content that this actor put there. They are made before the views are held.
pub(super) fn note_lines(record: &Record, path: &TargetPath, content: &Content, shape: TextShape) {
    if shape.class == ContentClass::Binary {
        return;
    }
    let mut bytes = Vec::new();
    if content.open().and_then(|mut reader| reader.read_to_end(&mut bytes)).is_ok()
        && let Some(lines) = hashes::lines(&bytes, shape)
    {
        record.views().note_lines(path, content.digest(), &lines);
    }
}
