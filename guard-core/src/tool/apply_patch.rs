//! `apply_patch`: a V4A patch, all of it or nothing.

use std::collections::BTreeMap;

use guard_patch::{
    Action, After, Applied, Before, Entry, FilePlan, Note, Options, Outcome, Patch, Rejected, Snapshot,
};
use guard_policy::{
    Act, Code, ContentClass, Fact, FileState, NewText, Policy, Precondition, Refusal, classify,
};

use super::mutate::{Intended, Intent, Intents, Item, Looking, Manner, Mark, Remarks, mutate};
use crate::port::{Content, Last, Mode};
use crate::request::{Asked, Dangers, Known, Request};
use crate::text::{diff, splice, utf16};
use crate::{ApplyPatch, Done, Failure, PlacedChunk};

/// Reads the patch.
pub(crate) fn parsed(text: &str, policy: &Policy) -> Result<Patch, Failure> {
    let limit = policy.limits.patch_bytes;
    if text.len() as u64 > limit {
        let detail = format!("{} bytes, the limit is {limit}", text.len());
        return Err(Refusal::new(Code::TooLarge, "the patch", &detail).into());
    }
    guard_patch::parse(text).map_err(|rejected| refused(&rejected))
}

pub(crate) async fn apply_patch(
    mut request: Request,
    parsed: Result<Patch, Failure>,
    args: ApplyPatch,
) -> Result<Done, Failure> {
    let patch = parsed?;
    if let Some(named) = patch.environment()
        && request.guard().environment.as_deref() != Some(named)
    {
        return Err(Refusal::new(Code::EnvironmentMismatch, "", &format!("`{named}`")).into());
    }
    let engine = if args.danger_codex { Engine::Codex } else { Engine::Strict };
    let items = items(&mut request, &patch, engine).await?;
    let manner = Manner {
        looking: Looking::Always,
        dry_run: args.dry_run,
        dangers: Dangers { lose_metadata: args.danger_lose_metadata, in_place: false },
    };
    let plan = |request: &Request, items: &[Item]| plan(request, &patch, items, engine);
    mutate(request, items, manner, plan).await
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Engine {
    Strict,
    Codex,
}

/// Locates every path of the patch and applies every rule that needs no request, to every header; the first act on a
/// path is the one that speaks of what is there.
async fn items(request: &mut Request, patch: &Patch, engine: Engine) -> Result<Vec<Item>, Failure> {
    let mut items: Vec<Item> = Vec::new();
    let mut index: BTreeMap<&str, usize> = BTreeMap::new();
    for (path, asked) in acts(patch, engine) {
        let place = if let Some(place) = index.get(path) {
            *place
        } else {
            let last = match asked.act {
                Act::Delete | Act::MoveFrom | Act::MoveTo => Last::Itself,
                _ => Last::Follow,
            };
            let site = request.locate(path, last).await?;
            items.push(Item::of_plan(site, asked));
            index.insert(path, items.len() - 1);
            items.len() - 1
        };
        let judged = request.judge(&items[place].site, asked, Known::NOTHING);
        // Whether it was seen is asked later, of all deletions at once.
        if let Err(failure) = judged
            && failure.refusal.code != Code::NotRead
        {
            return Err(failure);
        }
    }
    Ok(items)
}

/// Returns what the patch does to each path, in order.
fn acts(patch: &Patch, engine: Engine) -> Vec<(&str, Asked)> {
    let add = if engine == Engine::Codex { Act::Write } else { Act::Add };
    let mut acts = Vec::new();
    for operation in patch.operations() {
        let file = operation.path.as_str();
        match &operation.action {
            Action::Add { content } => {
                let text = NewText {
                    class: classify(content.as_bytes()).class,
                    echo: guard_policy::is_tool_echo(content),
                    len: content.len() as u64,
                };
                acts.push((file, Asked { act: add, text: Some(text), expect: None }));
            }
            Action::Delete => acts.push((file, Asked::plain(Act::Delete))),
            Action::Update { move_to: None, .. } => acts.push((file, Asked::plain(Act::Edit))),
            Action::Update { move_to: Some(to), chunks } => {
                let (from, into) = match (chunks.is_empty(), engine) {
                    (true, Engine::Strict) => (Act::MoveFrom, Act::MoveTo),
                    (true, Engine::Codex) => (Act::MoveFrom, add),
                    (false, _) => (Act::Edit, add),
                };
                acts.push((file, Asked::plain(from)));
                if to.path != file {
                    acts.push((&to.path, Asked::plain(into)));
                }
            }
        }
    }
    acts
}

/// The files as they were read, by the paths of the patch; UTF-16 is decoded.
struct Files<'a>(BTreeMap<&'a str, (&'a Item, Option<String>)>);

impl<'a> Files<'a> {
    fn new(items: &'a [Item]) -> Self {
        let files = items.iter().map(|item| {
            let shape = item.look.as_ref().map(|look| look.shape);
            let decoded = match (shape, item.bytes()) {
                (Some(Fact::Known(shape)), Some(bytes)) if shape.class == ContentClass::Utf16 => {
                    utf16::decode(bytes)
                }
                _ => None,
            };
            (item.site.requested.as_str(), (item, decoded))
        });
        Self(files.collect())
    }
}

impl Snapshot for Files<'_> {
    fn entry(&self, path: &str) -> Entry<'_> {
        let Some((item, decoded)) = self.0.get(path) else { return Entry::Absent };
        match (&item.look, decoded) {
            (_, Some(text)) => Entry::File(text.as_bytes()),
            (Some(look), None) => match (&look.state, item.bytes()) {
                (FileState::Absent, _) => Entry::Absent,
                (FileState::Regular { .. }, Some(bytes)) => Entry::File(bytes),
                (FileState::Regular { .. }, None) => Entry::Other("a file over the limit"),
                (state, _) => Entry::Other(state.describe()),
            },
            (None, None) => Entry::Other("a file that was not read"),
        }
    }
}

fn plan(request: &Request, patch: &Patch, items: &[Item], engine: Engine) -> Result<Intents, Failure> {
    for (index, item) in items.iter().enumerate() {
        if items[..index].iter().any(|other| other.site.expect == item.site.expect) {
            return Err(Refusal::new(Code::AliasInPatch, &item.site.requested, "").into());
        }
    }
    let options = match engine {
        Engine::Strict => Options::default(),
        Engine::Codex => Options::danger_codex(),
    };
    let files = Files::new(items);
    let plan = guard_patch::plan(patch, &files, &options).map_err(|rejected| refused(&rejected))?;
    let mut intents = Vec::new();
    for file in &plan.files {
        let moves = matches!(file.after, After::Same) && file.moved_from.is_some();
        let moved_whole = file.moved_to.as_ref().is_some_and(|to| {
            plan.files.iter().any(|other| other.path == *to && matches!(other.after, After::Same))
        });
        // A move without an edit is one change, and it is told of at its source.
        if file.changed() && !moves {
            intents.push(intent(request, items, file, moved_whole)?);
        }
    }
    let notes = plan.notes.iter().map(Note::to_string).collect();
    let stopped = plan.stopped.map(|rejected| rejected.to_string());
    Ok(Intents { intents, remarks: Remarks { notes, stopped } })
}

fn intent(request: &Request, items: &[Item], file: &FilePlan, moved_whole: bool) -> Result<Intent, Failure> {
    let refuse = |code, detail: &str| Failure::from(Refusal::new(code, &file.path, detail));
    let find = |path: &str| items.iter().position(|item| item.site.requested == path);
    let index = find(&file.path).ok_or_else(|| refuse(Code::InvalidPatch, "it is not of the patch"))?;
    let item = &items[index];
    let read = item.look.as_ref().and_then(|look| look.state.digest());
    let mut intent = match (&file.after, moved_whole) {
        (After::Absent, true) => {
            let to = file.moved_to.as_deref().unwrap_or_default();
            let item =
                find(to).ok_or_else(|| refuse(Code::InvalidPatch, "its destination is not of the patch"))?;
            Intent::new(index, Intended::MoveTo { item }, Mark::Moved, format!("move to {to}"))
        }
        (After::Absent | After::Same, _) => {
            let mut intent = Intent::new(index, Intended::Remove, Mark::Removed, "delete");
            intent.diff = item.bytes().and_then(|old| diff::unified(old, b""));
            intent
        }
        (After::Bytes(text), _) => put(request, items, file, index, text)?,
    };
    // What is replaced, removed or moved is exactly what was read.
    intent.precondition = match (file.before, read) {
        (Before::File, Some(digest)) => Some(Precondition::Content { digest }),
        _ => None,
    };
    intent.chunks = Some(file.chunks.iter().map(placed).collect());
    Ok(intent)
}

fn put(
    request: &Request,
    items: &[Item],
    file: &FilePlan,
    index: usize,
    text: &[u8],
) -> Result<Intent, Failure> {
    let limit = request.guard().policy.limits.write_bytes;
    if text.len() as u64 > limit {
        let detail = format!("the result has {} bytes, the limit is {limit}", text.len());
        return Err(Refusal::new(Code::TooLarge, &file.path, &detail).into());
    }
    // The text that was edited: of this path, or of the one that it was moved from.
    let source = file.moved_from.as_deref().unwrap_or(&file.path);
    let base = items.iter().find(|item| item.site.requested == source);
    let old = base.and_then(Item::bytes).unwrap_or_default();
    let shape = match base.and_then(|item| item.look.as_ref()).map(|look| look.shape) {
        Some(Fact::Known(shape)) => Some(shape),
        _ => None,
    };
    let encoded = shape
        .filter(|shape| shape.class == ContentClass::Utf16)
        .map(|shape| std::str::from_utf8(text).ok().and_then(|text| utf16::encode(text, shape.bom)));
    let bytes = match encoded {
        None => text.to_vec(),
        Some(Some(bytes)) => bytes,
        Some(None) => {
            let detail = "its text cannot be encoded as the file is";
            return Err(Refusal::new(Code::Unsupported, &file.path, detail).into());
        }
    };
    let edits = file.before == Before::File && !file.chunks.is_empty();
    let digest = items[index].look.as_ref().and_then(|look| look.state.digest());
    let mark = match (edits, digest) {
        (true, Some(base)) => {
            Mark::Edited { base, splices: splice::between(old, &bytes), shape: classify(&bytes) }
        }
        // Moved and edited: what is new was never seen where it is now.
        _ if file.moved_from.is_some() => Mark::Nothing,
        _ => Mark::Wrote(classify(&bytes)),
    };
    let diff = diff::unified(old, &bytes);
    let summary = match (&file.moved_from, file.before) {
        (Some(from), _) => format!("move from {from} and edit"),
        (None, Before::Absent) => "create".to_owned(),
        (None, Before::File) => "edit".to_owned(),
    };
    let content = Content::from(bytes);
    let mut intent = Intent::new(index, Intended::Put { content, mode: Mode::Keep }, mark, summary);
    intent.diff = diff;
    Ok(intent)
}

fn placed(chunk: &Applied) -> PlacedChunk {
    PlacedChunk {
        patch_line: chunk.patch_line as u64,
        file_line: chunk.file_line as u64,
        tier: chunk.tier.as_str().to_owned(),
        outcome: match chunk.outcome {
            Outcome::Applied => "applied",
            Outcome::AlreadyApplied => "already-applied",
            Outcome::ContextOnly => "context-only",
        }
        .to_owned(),
    }
}

fn refused(rejected: &Rejected) -> Failure {
    Refusal::new(Code::InvalidPatch, "", &format!("{rejected}\n")).into()
}
