//! The files as the operations so far have left them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::diagnostic::{Code, Diagnostic, Rejected};
use crate::note::Note;
use crate::options::Options;
use crate::patch::{Action, Chunk, Destination, Operation, Patch};
use crate::path::is_parent;
use crate::plan::{After, Applied, Before, FilePlan, Plan};
use crate::snapshot::{Entry, Snapshot};
use crate::update::update;

/// Works out the net effect of a patch.
pub(crate) fn plan(patch: &Patch, files: &dyn Snapshot, options: &Options) -> Result<Plan, Rejected> {
    let mut problems = conflicts(patch);
    let mut overlay = Overlay { files, options, states: HashMap::new(), notes: patch.notes.clone() };
    let mut stopped = None;
    if options.codex && !problems.is_empty() {
        return Err(Rejected(problems));
    }
    for (number, operation) in patch.operations.iter().enumerate() {
        let failed = overlay.apply(operation);
        problems
            .extend(failed.into_iter().map(|problem| Diagnostic { operation: Some(number + 1), ..problem }));
        if options.codex && !problems.is_empty() {
            stopped = Some(Rejected(std::mem::take(&mut problems)));
            break;
        }
    }
    if !problems.is_empty() {
        problems.sort_by_key(|problem| problem.line);
        return Err(Rejected(problems));
    }
    let files = overlay.net(&patch.paths());
    let mut notes = overlay.notes;
    notes.sort_by_key(|note| note.line);
    Ok(Plan { files, notes, stopped })
}

/// Refuses paths of which one is the parent of another.
fn conflicts(patch: &Patch) -> Vec<Diagnostic> {
    let touched: HashSet<&str> = patch.paths().into_iter().collect();
    let mut problems = Vec::new();
    for (number, operation) in patch.operations.iter().enumerate() {
        let destination = operation.destination().map(|to| (to.line, to.path.as_str()));
        for (line, path) in std::iter::once((operation.line, operation.path.as_str())).chain(destination) {
            let parents = path.match_indices('/').map(|(slash, _)| &path[..slash]);
            for parent in parents.filter(|parent| touched.contains(parent) && is_parent(parent, path)) {
                let what =
                    format!("`{parent}` and `{path}` are both touched, but one cannot be in the other");
                problems.push(Diagnostic {
                    path: Some(path.to_owned()),
                    operation: Some(number + 1),
                    ..Diagnostic::new(Code::PathConflict, line, what)
                });
            }
        }
    }
    problems
}

struct Overlay<'s> {
    files: &'s dyn Snapshot,
    options: &'s Options,
    states: HashMap<String, State<'s>>,
    notes: Vec<Note>,
}

/// A path as the operations so far have left it.
struct State<'s> {
    before: Entry<'s>,
    now: Now<'s>,
    /// What made it so, if an operation did: what it did and its line.
    cause: Option<(&'static str, usize)>,
    /// An operation on it failed: what follows from that is not reported.
    failed: bool,
}

enum Now<'s> {
    Absent,
    Other(&'s str),
    File(File<'s>),
}

struct File<'s> {
    /// Borrowed from the snapshot while it is as it was there.
    bytes: Cow<'s, [u8]>,
    /// The path of the snapshot from which it comes; `None` for an added file.
    origin: Option<String>,
    chunks: Vec<Applied>,
}

impl Operation {
    fn destination(&self) -> Option<&Destination> {
        match &self.action {
            Action::Update { move_to, .. } => move_to.as_ref(),
            Action::Add { .. } | Action::Delete => None,
        }
    }
}

impl<'s> Overlay<'s> {
    fn state(&mut self, path: &str) -> &mut State<'s> {
        let files = self.files;
        self.states.entry(path.to_owned()).or_insert_with(|| {
            let before = files.entry(path);
            let now = match before {
                Entry::Absent => Now::Absent,
                Entry::Other(what) => Now::Other(what),
                Entry::File(bytes) => Now::File(File {
                    bytes: Cow::Borrowed(bytes),
                    origin: Some(path.to_owned()),
                    chunks: Vec::new(),
                }),
            };
            State { before, now, cause: None, failed: false }
        })
    }

    /// Applies an operation, or says why not.
    fn apply(&mut self, operation: &Operation) -> Vec<Diagnostic> {
        // All paths that an operation names are known to the overlay, also if it fails.
        let paths = std::iter::once(&operation.path).chain(operation.destination().map(|to| &to.path));
        let mut failed = false;
        for path in paths.clone() {
            failed |= self.state(path).failed;
        }
        if failed {
            return Vec::new();
        }
        let problems = match &operation.action {
            Action::Add { content } => self.add(operation, content),
            Action::Delete => self.delete(operation),
            Action::Update { move_to, chunks } => self.update(operation, move_to.as_ref(), chunks),
        };
        if !problems.is_empty() {
            for path in paths {
                self.state(path).failed = true;
            }
        }
        problems
    }

    fn add(&mut self, operation: &Operation, content: &str) -> Vec<Diagnostic> {
        if let Some(problem) = self.occupied(&operation.path, operation.line, "an Add") {
            return vec![problem];
        }
        let state = self.state(&operation.path);
        let bytes = Cow::Owned(content.as_bytes().to_vec());
        state.now = Now::File(File { bytes, origin: None, chunks: Vec::new() });
        state.cause = Some(("added", operation.line));
        Vec::new()
    }

    fn delete(&mut self, operation: &Operation) -> Vec<Diagnostic> {
        if let Some(problem) = self.missing(operation, "a Delete") {
            return vec![problem];
        }
        let state = self.state(&operation.path);
        state.now = Now::Absent;
        state.cause = Some(("deleted", operation.line));
        Vec::new()
    }

    fn update(
        &mut self,
        operation: &Operation,
        move_to: Option<&Destination>,
        chunks: &[Chunk],
    ) -> Vec<Diagnostic> {
        // `Move to` the file itself is an edit in place.
        let move_to = move_to.filter(|to| to.path != operation.path);
        let mut problems = Vec::new();
        problems.extend(self.missing(operation, "an Update"));
        problems.extend(move_to.and_then(|to| self.occupied(&to.path, to.line, "a move")));
        let options = self.options;
        if let (Now::File(file), false) = (&self.state(&operation.path).now, chunks.is_empty()) {
            match update(&file.bytes, chunks, options) {
                Ok(updated) if problems.is_empty() => {
                    self.notes.extend(updated.notes);
                    if let Now::File(file) = &mut self.state(&operation.path).now {
                        file.chunks.extend(updated.applied);
                        if let Some(bytes) = updated.bytes {
                            file.bytes = Cow::Owned(bytes);
                        }
                    }
                }
                Ok(_) => {}
                Err(failed) => problems.extend(
                    failed
                        .into_iter()
                        .map(|problem| Diagnostic { path: Some(operation.path.clone()), ..problem }),
                ),
            }
        }
        if let (Some(to), true) = (move_to, problems.is_empty()) {
            let source = self.state(&operation.path);
            let file = std::mem::replace(&mut source.now, Now::Absent);
            source.cause = Some(("moved away", operation.line));
            let destination = self.state(&to.path);
            destination.now = file;
            destination.cause = Some(("moved here", operation.line));
        }
        problems
    }

    /// Refuses a path at which nothing may be.
    fn occupied(&mut self, path: &str, line: usize, who: &str) -> Option<Diagnostic> {
        let codex = self.options.codex;
        let state = self.state(path);
        let (code, what) = match &state.now {
            Now::Absent => return None,
            Now::File(_) if codex => return None,
            Now::Other(what) => {
                (Code::NotAFile, format!("`{path}` is {what}, and {who} needs the path free"))
            }
            Now::File(_) => match state.cause {
                None => (Code::FileExists, format!("`{path}` exists, and {who} needs the path free")),
                Some((did, at)) => {
                    let what = format!(
                        "`{path}` exists, since it was {did} at patch line {at}, and {who} needs the path free"
                    );
                    (Code::FileExists, what)
                }
            },
        };
        let remedy = match code {
            Code::FileExists => "use `*** Update File` to change it, or another path",
            _ => "use another path",
        };
        Some(Diagnostic { path: Some(path.to_owned()), ..Diagnostic::new(code, line, what).remedy(remedy) })
    }

    /// Refuses a path at which no file is.
    fn missing(&mut self, operation: &Operation, who: &str) -> Option<Diagnostic> {
        let path = &operation.path;
        let state = self.state(path);
        let (code, what) = match (&state.now, state.cause) {
            (Now::File(_), _) => return None,
            (Now::Other(what), _) => (Code::NotAFile, format!("`{path}` is {what}, and {who} needs a file")),
            (Now::Absent, None) => {
                (Code::FileMissing, format!("`{path}` does not exist, and {who} needs it"))
            }
            (Now::Absent, Some((did, at))) => {
                let what = format!(
                    "`{path}` does not exist, since it was {did} at patch line {at}, and {who} needs it"
                );
                (Code::FileMissing, what)
            }
        };
        Some(Diagnostic { path: Some(path.clone()), ..Diagnostic::new(code, operation.line, what) })
    }

    /// Returns what becomes of each path.
    fn net(&mut self, paths: &[&str]) -> Vec<FilePlan> {
        // Where each moved file went, if its old place stays free and its new one was.
        let mut moves = HashMap::new();
        for (path, state) in &self.states {
            if let (Entry::Absent, Now::File(File { origin: Some(origin), .. })) = (state.before, &state.now)
                && self.states.get(origin).is_some_and(|source| matches!(source.now, Now::Absent))
            {
                moves.insert(origin.clone(), path.clone());
            }
        }
        let mut plans = Vec::new();
        for path in paths {
            let Some(state) = self.states.remove(*path) else { continue };
            // An operation that failed, where a plan is kept in spite of that, did nothing.
            if state.failed && state.cause.is_none() {
                continue;
            }
            let before = match state.before {
                Entry::Absent => Before::Absent,
                Entry::File(_) => Before::File,
                // Never changed: every operation refuses it.
                Entry::Other(_) => continue,
            };
            let mut plan = FilePlan {
                path: (*path).to_owned(),
                before,
                after: After::Absent,
                moved_from: None,
                moved_to: moves.get(*path).cloned(),
                chunks: Vec::new(),
            };
            if let Now::File(file) = state.now {
                plan.chunks = file.chunks;
                plan.moved_from = file.origin.filter(|origin| moves.get(origin).is_some_and(|to| to == path));
                let known = match (&plan.moved_from, state.before) {
                    (Some(origin), _) => self.files.entry(origin),
                    (None, before) => before,
                };
                plan.after = match known {
                    Entry::File(bytes) if bytes == &*file.bytes => After::Same,
                    _ => After::Bytes(file.bytes.into_owned()),
                };
            }
            plans.push(plan);
        }
        plans
    }
}
