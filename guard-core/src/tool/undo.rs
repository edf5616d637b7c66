//! Putting back what a call displaced: the inverse of its receipt, as one batch.

use std::collections::{BTreeSet, HashMap};

use guard_policy::{Act, Code, Digest, FileState, Precondition, Refusal, TargetPath};

use super::intent::{Intended, Intent, Intents, Mark, Remarks};
use super::mutate::{Item, Looking, Manner, mutate};
use crate::port::{Applied, Batch, Committed, Content, Effect, Last, Mode, UndoError, UndoStore};
use crate::receipt::{Undo, VERSION};
use crate::request::{Asked, Dangers, Request};
use crate::text::diff;
use crate::{ChangeReceipt, Done, Failure, Receipt};

/// The permission bits that are put back.
const PERMISSIONS: u32 = 0o777;

/// Keeps what a commit displaced, and tells for each change how it can be undone.
pub(crate) async fn keep(
    store: &dyn UndoStore,
    batch: &Batch,
    committed: &mut Committed,
) -> Vec<Option<Undo>> {
    let settled = committed.settled;
    let mut undos = Vec::with_capacity(committed.changes.len());
    for (change, applied) in batch.changes.iter().zip(&mut committed.changes) {
        undos.push(if applied.publish.changed {
            Some(keep_one(store, &change.effect, applied, settled).await)
        } else {
            None
        });
    }
    undos
}

async fn keep_one(store: &dyn UndoStore, effect: &Effect, applied: &mut Applied, settled: bool) -> Undo {
    let removes = matches!(effect, Effect::Remove);
    match (effect, &applied.before) {
        (Effect::MoveTo { .. }, _) => Undo::MoveBack,
        (Effect::MakeDir { .. }, _) => Undo::RemoveDir,
        (Effect::RemoveDir, _) => Undo::MakeDir,
        (Effect::Put { .. }, FileState::Absent) => Undo::Remove,
        (Effect::Put { .. } | Effect::Remove, FileState::Regular { len, mode, digest: Some(digest), .. }) => {
            let mode = removes.then_some(*mode);
            match (applied.displaced.take(), *digest) {
                (Some(bytes), digest) if Digest::of(&bytes) == digest => {
                    match store.keep(digest, bytes).await {
                        Ok(()) => Undo::PutBack { mode },
                        Err(error) => no(&error),
                    }
                }
                (Some(_), _) => no(&UndoError::Damaged),
                (None, _) if settled => Undo::No { why: "the target's answer was lost".to_owned() },
                (None, _) if *len > store.largest() => {
                    no(&UndoError::TooLarge { len: *len, limit: store.largest() })
                }
                (None, _) => Undo::No { why: "the target did not give the old bytes back".to_owned() },
            }
        }
        (Effect::Remove, FileState::Link { .. }) => {
            Undo::No { why: "a link that was removed cannot be made again".to_owned() }
        }
        _ => Undo::No { why: "what was there before is not known".to_owned() },
    }
}

fn no(error: &UndoError) -> Undo {
    Undo::No { why: error.to_string() }
}

/// Undoes what a receipt tells of: all of it, or nothing.
pub(crate) async fn undo(mut request: Request, receipt: &Receipt, dry_run: bool) -> Result<Done, Failure> {
    let steps = steps(&request, receipt)?;
    let kept = fetch(&request, receipt).await?;
    let mut items = Vec::new();
    let mut plans = Vec::with_capacity(steps.len());
    for step in steps {
        let item = items.len();
        for (path, act) in step.places() {
            let site = request.locate(path.as_str(), Last::Itself).await?;
            if site.expect != *path {
                return Err(forged(&format!("{path} is no path free of links on the target")));
            }
            let asked = Asked::plain(act);
            // What is at a directory's path is looked at when it is removed, and it stays if it is anything else.
            let is_left_to_the_target = matches!(step, Step::RemoveDir { .. });
            items.push(if is_left_to_the_target {
                Item::of_plan(site, asked)
            } else {
                Item::new(site, asked)
            });
        }
        plans.push((item, step));
    }
    let manner = Manner { looking: Looking::AsGiven, dry_run, dangers: Dangers::default() };
    let plan = |_: &Request, items: &[Item]| {
        let stays: Vec<&TargetPath> =
            items.iter().filter(|item| item.is_left_out()).map(|item| &item.site.expect).collect();
        let mut remarks = Remarks::default();
        let mut intents = Vec::with_capacity(plans.len());
        for (item, step) in &plans {
            match step {
                Step::RemoveDir { path } if stays.iter().any(|below| below.starts_with(path)) => {
                    remarks
                        .notes
                        .push(format!("The directory {path}, which was made then, stays: it is not empty."));
                }
                _ => intents.push(intent(step, *item, items, &kept)?),
            }
        }
        Ok(Intents { intents, remarks })
    };
    mutate(request, items, manner, plan).await
}

/// What has to be done for one change.
enum Step<'a> {
    /// The old bytes go over what was written.
    PutOver { path: &'a TargetPath, old: Digest, now: Digest },
    /// The old bytes go where they were removed.
    PutBack { path: &'a TargetPath, old: Digest, mode: Option<u32> },
    /// What was created is removed.
    Remove { path: &'a TargetPath, now: Digest },
    /// What was moved is moved back.
    MoveBack { from: &'a TargetPath, to: &'a TargetPath, now: Precondition },
    /// A directory that was made is removed, if it is empty.
    RemoveDir { path: TargetPath },
    /// A directory that was removed is made.
    MakeDir { path: &'a TargetPath },
}

impl Step<'_> {
    /// Returns its paths, each with what is judged there: a file that is put or taken as it was is moved, as far as
    /// rules go.
    fn places(&self) -> Vec<(&TargetPath, Act)> {
        match self {
            Self::PutOver { path, .. } | Self::Remove { path, .. } => vec![(path, Act::MoveFrom)],
            Self::RemoveDir { path } => vec![(path, Act::MoveFrom)],
            Self::PutBack { path, .. } => vec![(path, Act::MoveTo)],
            Self::MakeDir { path } => vec![(path, Act::MakeDir)],
            Self::MoveBack { from, to, .. } => vec![(from, Act::MoveFrom), (to, Act::MoveTo)],
        }
    }
}

/// Reads the inverse off a receipt, which anybody may have written.
fn steps<'a>(request: &Request, receipt: &'a Receipt) -> Result<Vec<Step<'a>>, Failure> {
    let target = request.guard().ops.target();
    if receipt.version != VERSION {
        return Err(forged(&format!("its version is {}, and {VERSION} is known", receipt.version)));
    }
    if receipt.target != *target {
        let detail = format!("the receipt is of {}, and this is {target}", receipt.target);
        return Err(Refusal::new(Code::TargetChanged, "", &detail).into());
    }
    let mut steps = Vec::with_capacity(receipt.changes.len());
    let mut made: BTreeSet<&TargetPath> = BTreeSet::new();
    let mut paths: BTreeSet<&TargetPath> = BTreeSet::new();
    // The last change is undone first.
    for change in receipt.changes.iter().rev() {
        if !change.publish.is_some_and(|publish| publish.changed) {
            continue;
        }
        for path in [Some(&change.resolved), change.moved_to.as_ref()].into_iter().flatten() {
            if !paths.insert(path) {
                return Err(forged(&format!("it has two changes of {path}")));
            }
        }
        made.extend(&change.made);
        match step(change)? {
            Step::RemoveDir { .. } => drop(made.insert(&change.resolved)),
            step => steps.push(step),
        }
    }
    if steps.is_empty() && made.is_empty() {
        return Err(forged("it tells of no change"));
    }
    // Behind what is in them, and the innermost first.
    let mut made: Vec<&TargetPath> =
        made.into_iter().filter(|path| !paths.contains(path) || is_made(receipt, path)).collect();
    made.sort_by_key(|path| std::cmp::Reverse(path.as_str().len()));
    steps.extend(made.into_iter().map(|path| Step::RemoveDir { path: path.clone() }));
    Ok(steps)
}

fn is_made(receipt: &Receipt, path: &TargetPath) -> bool {
    receipt.changes.iter().any(|change| change.resolved == *path && change.undo == Some(Undo::RemoveDir))
}

fn step(change: &ChangeReceipt) -> Result<Step<'_>, Failure> {
    let path = &change.resolved;
    let lacks = |what: &str| forged(&format!("the change of {path} has no {what}"));
    Ok(match &change.undo {
        None => return Err(cannot(change, "nothing was kept of it")),
        Some(Undo::No { why }) => return Err(cannot(change, why)),
        Some(Undo::PutBack { mode }) => {
            let old = change.before.ok_or_else(|| lacks("digest before"))?;
            match change.after {
                Some(now) => Step::PutOver { path, old, now },
                None => Step::PutBack { path, old, mode: *mode },
            }
        }
        Some(Undo::Remove) => Step::Remove { path, now: change.after.ok_or_else(|| lacks("digest after"))? },
        Some(Undo::MoveBack) => {
            let from = change.moved_to.as_ref().ok_or_else(|| lacks("destination"))?;
            let now = match (&change.after, &change.precondition) {
                (Some(digest), _) => Precondition::Content { digest: *digest },
                (None, link @ Precondition::Link { .. }) => link.clone(),
                (None, _) => return Err(cannot(change, "what was moved has no digest")),
            };
            Step::MoveBack { from, to: path, now }
        }
        Some(Undo::RemoveDir) => Step::RemoveDir { path: path.clone() },
        Some(Undo::MakeDir) => Step::MakeDir { path },
    })
}

fn intent(
    step: &Step<'_>,
    item: usize,
    items: &[Item],
    kept: &HashMap<Digest, Vec<u8>>,
) -> Result<Intent, Failure> {
    // Whatever is not at hand is never taken for nothing.
    let old = |digest: &Digest, path: &TargetPath| {
        let gone =
            || Failure::from(Refusal::new(Code::CannotUndo, path.as_str(), &UndoError::Gone.to_string()));
        kept.get(digest).cloned().ok_or_else(gone)
    };
    let now = items[item].bytes();
    let shown =
        |old: &[u8]| items[item].look.as_ref().and_then(|_| diff::unified(now.unwrap_or_default(), old));
    let content = |bytes: Vec<u8>| Content::from(bytes);
    Ok(match step {
        Step::PutOver { path, old: digest, now } => {
            let bytes = old(digest, path)?;
            let diff = shown(&bytes);
            let effect = Intended::Put { content: content(bytes), mode: Mode::Keep };
            let mut intent = Intent::new(item, effect, Mark::Forget, "put the old content back");
            (intent.diff, intent.precondition) = (diff, Some(Precondition::Content { digest: *now }));
            intent
        }
        Step::PutBack { path, old: digest, mode } => {
            let bytes = old(digest, path)?;
            let diff = shown(&bytes);
            // Anybody may have written the receipt: what gives rights is not put back.
            let plain = mode.map_or(Mode::Keep, |mode| Mode::Set(mode & PERMISSIONS));
            let effect = Intended::Put { content: content(bytes), mode: plain };
            let mut intent = Intent::new(item, effect, Mark::Forget, "put the file back that was removed");
            (intent.diff, intent.precondition) = (diff, Some(Precondition::Absent));
            if mode.is_some_and(|mode| mode & !PERMISSIONS & 0o7777 != 0) {
                intent.notes.push("Its setuid, setgid or sticky bit is not put back.".to_owned());
            }
            intent.notes.push(
                "It is a new file with the old content and permission bits: the old one's owner, ACL and extended attributes are not known."
                    .to_owned(),
            );
            intent
        }
        Step::Remove { now, .. } => {
            let mut intent = Intent::new(item, Intended::Remove, Mark::Removed, "remove what was created");
            (intent.diff, intent.precondition) = (shown(b""), Some(Precondition::Content { digest: *now }));
            intent
        }
        Step::MoveBack { to, now, .. } => {
            let effect = Intended::MoveTo { item: item + 1 };
            let mut intent = Intent::new(item, effect, Mark::Moved, format!("move back to {to}"));
            intent.precondition = Some(now.clone());
            intent
        }
        Step::RemoveDir { .. } => {
            Intent::new(item, Intended::RemoveDir, Mark::Nothing, "remove the directory if it is empty")
        }
        Step::MakeDir { .. } => Intent::new(item, Intended::MakeDir, Mark::Nothing, "make the directory"),
    })
}

/// Takes what is needed from the store, before anything is asked of the target.
async fn fetch(request: &Request, receipt: &Receipt) -> Result<HashMap<Digest, Vec<u8>>, Failure> {
    let mut kept = HashMap::new();
    for change in &receipt.changes {
        let (Some(Undo::PutBack { .. }), Some(digest)) = (&change.undo, change.before) else { continue };
        let Some(store) = &request.guard().undo else {
            return Err(cannot(change, "this guard keeps nothing of what is displaced"));
        };
        let bytes = store.fetch(digest).await.map_err(|error| cannot(change, &error.to_string()))?;
        if Digest::of(&bytes) != digest {
            return Err(cannot(change, &UndoError::Damaged.to_string()));
        }
        kept.insert(digest, bytes);
    }
    Ok(kept)
}

fn cannot(change: &ChangeReceipt, why: &str) -> Failure {
    Refusal::new(Code::CannotUndo, change.resolved.as_str(), why).into()
}

fn forged(why: &str) -> Failure {
    Refusal::new(Code::InvalidArguments, "", &format!("the receipt cannot be undone: {why}")).into()
}
