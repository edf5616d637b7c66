//! `apply_patch`: a V4A patch, all of it or nothing.

use std::collections::{BTreeMap, BTreeSet};

use guard_patch::{
    Action, After, Applied, Before, Entry, FilePlan, Note, Options, Outcome, Patch, Rejected, Snapshot,
};
use guard_policy::{
    Act, Code, ContentClass, Fact, FileState, NewText, Policy, Precondition, Refusal, TargetPath, TextShape,
    classify,
};

use super::intent::{Intended, Intent, Intents, Mark, Remarks};
use super::mutate::{Item, Looking, Manner, mutate, one_refusal};
use crate::port::{Content, Last, Mode};
use crate::request::{Asked, Dangers, Decision, Known, Request};
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
    let whole = taken_whole(patch);
    for (path, asked) in acts(patch, engine) {
        let place = if let Some(place) = index.get(path) {
            *place
        } else {
            let last = if whole.contains(path) { Last::Itself } else { Last::Follow };
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

/// Returns the paths that the patch deletes, moves or moves something to: of these the name itself is meant, and a link is
/// nothing that can be patched.
fn taken_whole(patch: &Patch) -> BTreeSet<&str> {
    let mut whole = BTreeSet::new();
    for operation in patch.operations() {
        match &operation.action {
            Action::Delete => {
                whole.insert(operation.path.as_str());
            }
            Action::Update { move_to: Some(to), .. } => {
                whole.extend([operation.path.as_str(), to.path.as_str()]);
            }
            Action::Add { .. } | Action::Update { move_to: None, .. } => {}
        }
    }
    whole
}

/// Where the contents that a patch leaves come from.
#[derive(Default)]
struct Origins<'a> {
    /// For each path that has a content at the end: the path that had it before, or nothing for a new text.
    of: BTreeMap<&'a str, Option<&'a str>>,
    /// The paths whose content is gone at the end: deleted, or overwritten where the reference engine does that.
    destroyed: BTreeSet<&'a str>,
}

impl<'a> Origins<'a> {
    /// Follows the contents through the operations of a patch that was planned.
    fn follow(patch: &'a Patch, plan: &'a guard_patch::Plan) -> Self {
        let there = plan.files.iter().filter(|file| file.before == Before::File);
        let mut origins = Self {
            of: there.map(|file| (file.path.as_str(), Some(file.path.as_str()))).collect(),
            ..Self::default()
        };
        // Under the reference engine's options a plan can be of the operations before one that failed.
        let failed = plan.stopped.as_ref().and_then(|rejected| rejected.0.first()?.operation);
        let done = failed.map_or(usize::MAX, |failed| failed.saturating_sub(1));
        for operation in patch.operations().iter().take(done) {
            let name = operation.path.as_str();
            match &operation.action {
                Action::Add { .. } => origins.put(name, None),
                Action::Delete => origins.take(name),
                Action::Update { move_to: Some(to), .. } if to.path != name => {
                    let moved = origins.of.remove(name).flatten();
                    origins.put(&to.path, moved);
                }
                Action::Update { .. } => {}
            }
        }
        origins
    }

    fn put(&mut self, path: &'a str, origin: Option<&'a str>) {
        self.take(path);
        self.of.insert(path, origin);
    }

    fn take(&mut self, path: &'a str) {
        if let Some(Some(origin)) = self.of.remove(path) {
            self.destroyed.insert(origin);
        }
    }
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
    distinct(items)?;
    let options = match engine {
        Engine::Strict => Options::default(),
        Engine::Codex => Options::danger_codex(),
    };
    let files = Files::new(items);
    let plan = guard_patch::plan(patch, &files, &options).map_err(|rejected| refused(&rejected))?;
    let origins = Origins::follow(patch, &plan);
    judge_net(request, items, &plan, &origins, engine)?;
    let mut intents = Vec::new();
    for file in &plan.files {
        let moves = matches!(file.after, After::Same) && file.moved_from.is_some();
        let moved_whole = file.moved_to.as_ref().is_some_and(|to| {
            plan.files.iter().any(|other| other.path == *to && matches!(other.after, After::Same))
        });
        // A move without an edit is one change, and it is told of at its source.
        if file.changed() && !moves {
            intents.push(intent(request, items, (file, &origins), moved_whole)?);
        }
    }
    let notes = plan.notes.iter().map(Note::to_string).collect();
    let stopped = plan.stopped.map(|rejected| rejected.to_string());
    Ok(Intents { intents, remarks: Remarks { notes, stopped } })
}

/// Refuses two paths that lead to one file, and a path that leads below another.
fn distinct(items: &[Item]) -> Result<(), Failure> {
    let mut places: BTreeMap<&TargetPath, &Item> = BTreeMap::new();
    for item in items {
        if places.insert(&item.site.expect, item).is_some() {
            return Err(Refusal::new(Code::AliasInPatch, &item.site.requested, "").into());
        }
    }
    for (place, item) in &places {
        let mut above = place.parent();
        while let Some(parent) = above {
            if let Some(file) = places.get(&parent) {
                let detail = format!(
                    "`{}` is a file of the patch too, and leads to a parent of it",
                    file.site.requested
                );
                return Err(Refusal::new(Code::NotADirectory, &item.site.requested, &detail).into());
            }
            above = parent.parent();
        }
    }
    Ok(())
}

/// Judges what the patch comes to, beside its headers: every content that is gone, and every content that is put.
fn judge_net(
    request: &Request,
    items: &[Item],
    plan: &guard_patch::Plan,
    origins: &Origins<'_>,
    engine: Engine,
) -> Result<(), Failure> {
    let gone = if engine == Engine::Codex { Act::Write } else { Act::Delete };
    let mut refused = Vec::new();
    for item in items.iter().filter(|item| origins.destroyed.contains(item.site.requested.as_str())) {
        let overwritten = origins.of.contains_key(item.site.requested.as_str());
        let act = if overwritten { gone } else { Act::Delete };
        if let Err(failure) = decided(request, item, Asked::plain(act), item.known()) {
            refused.push((item, act, failure));
        }
    }
    if let Some(failure) = one_refusal(refused) {
        return Err(failure);
    }
    for file in &plan.files {
        let After::Bytes(text) = &file.after else { continue };
        let item = &items[place_of(items, &file.path)?];
        let text = NewText { class: classify(text).class, echo: false, len: text.len() as u64 };
        let own =
            origins.of.get(file.path.as_str()).is_some_and(|origin| *origin == Some(file.path.as_str()));
        let (act, known) = match (own, file.before) {
            (true, _) => (Act::Edit, item.known()),
            (false, Before::Absent) => (Act::Add, item.known()),
            // What was there is judged as gone; its name has to take a text all the same.
            (false, Before::File) => (Act::Add, Known::NOTHING),
        };
        decided(request, item, Asked { act, text: Some(text), expect: None }, known)?;
    }
    Ok(())
}

/// Judges an act by facts that suffice for it; what they leave undecided is more content than may be looked at.
fn decided(request: &Request, item: &Item, asked: Asked, known: Known<'_>) -> Result<(), Failure> {
    match request.judge(&item.site, asked, known)? {
        Decision::Allowed(_) => Ok(()),
        Decision::Undecided => Err(Refusal::new(Code::TooLarge, &item.site.requested, "").into()),
    }
}

/// Returns the place of a path of the plan among the items.
fn place_of(items: &[Item], path: &str) -> Result<usize, Failure> {
    let place = items.iter().position(|item| item.site.requested == path);
    place.ok_or_else(|| Refusal::new(Code::InvalidPatch, path, "it is not of the patch").into())
}

fn intent(
    request: &Request,
    items: &[Item],
    (file, origins): (&FilePlan, &Origins<'_>),
    moved_whole: bool,
) -> Result<Intent, Failure> {
    let index = place_of(items, &file.path)?;
    let item = &items[index];
    let read = item.look.as_ref().and_then(|look| look.state.digest());
    let mut intent = match (&file.after, moved_whole) {
        (After::Absent, true) => {
            let to = file.moved_to.as_deref().unwrap_or_default();
            let item = place_of(items, to)?;
            Intent::new(index, Intended::MoveTo { item }, Mark::Moved, format!("move to {to}"))
        }
        (After::Absent | After::Same, _) => {
            let mut intent = Intent::new(index, Intended::Remove, Mark::Removed, "delete");
            intent.diff = item.bytes().and_then(|old| diff::unified(old, b""));
            intent
        }
        (After::Bytes(text), _) => put(request, items, (file, origins), index, text)?,
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
    (file, origins): (&FilePlan, &Origins<'_>),
    index: usize,
    text: &[u8],
) -> Result<Intent, Failure> {
    let limit = request.guard().policy.limits.write_bytes;
    if text.len() as u64 > limit {
        let detail = format!("the result has {} bytes, the limit is {limit}", text.len());
        return Err(Refusal::new(Code::TooLarge, &file.path, &detail).into());
    }
    let origin = origins.of.get(file.path.as_str()).copied().flatten();
    let base = origin.and_then(|origin| items.iter().find(|item| item.site.requested == origin));
    let look = base.and_then(|item| item.look.as_ref());
    let old = base.and_then(Item::bytes).unwrap_or_default();
    let bytes = encoded(text, look.map(|look| look.shape)).ok_or_else(|| {
        Refusal::new(Code::Unsupported, &file.path, "its text cannot be encoded as the file is")
    })?;
    let shape = classify(&bytes);
    let (mark, mode, summary) = match (origin, look.map(|look| &look.state)) {
        (None, _) => (Mark::Wrote(shape), Mode::Keep, "create".to_owned()),
        (Some(origin), Some(FileState::Regular { digest: Some(digest), .. })) if origin == file.path => {
            let mark = Mark::Edited { base: *digest, splices: splice::between(old, &bytes), shape };
            (mark, Mode::Keep, "edit".to_owned())
        }
        // What came from another path was not seen here, and brings its permission bits along.
        (Some(origin), Some(FileState::Regular { mode, .. })) => {
            (Mark::Forget, Mode::Set(mode & 0o777), format!("move from {origin} and edit"))
        }
        (Some(_), _) => (Mark::Forget, Mode::Keep, "edit".to_owned()),
    };
    let moved = matches!(mode, Mode::Set(_));
    let diff = diff::unified(old, &bytes);
    let content = Content::from(bytes);
    let mut intent = Intent::new(index, Intended::Put { content, mode }, mark, summary);
    intent.diff = diff;
    if moved {
        intent.notes.push(format!(
            "Moved from `{}` and edited: the permission bits came along; owner, ACL and extended attributes are those \
             of a new file.",
            origin.unwrap_or_default()
        ));
    }
    Ok(intent)
}

/// Gives a text the encoding of the file that it comes from; nothing where that cannot be.
fn encoded(text: &[u8], shape: Option<Fact<TextShape>>) -> Option<Vec<u8>> {
    match shape {
        Some(Fact::Known(shape)) if shape.class == ContentClass::Utf16 => {
            std::str::from_utf8(text).ok().and_then(|text| utf16::encode(text, shape.bom))
        }
        _ => Some(text.to_vec()),
    }
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
