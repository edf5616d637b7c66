//! From placed chunks to edits of lines.

use std::borrow::Cow;

use super::Placed;
use super::shape::{Shape, ShapeKind};
use crate::diagnose::visible;
use crate::diagnostic::{Code, Diagnostic};
use crate::indent::{Indentations, Unclear};
use crate::lines::Lines;
use crate::options::Options;
use crate::patch::{Chunk, ChunkLine, LineKind};
use crate::plan::Outcome;
use crate::splice::{Edit, LastLine};
use crate::tier::Tier;

/// The edits of an Update.
#[derive(Debug, Default)]
pub(super) struct Edits<'p> {
    pub(super) list: Vec<Edit>,
    pub(super) inserted: Vec<Cow<'p, [u8]>>,
    /// The edits whose last line is to be the file's last, without an end: the edit, the chunk, the patch's line.
    unterminated: Vec<(usize, usize, usize)>,
}

impl<'p> Edits<'p> {
    /// Adds the edits of a chunk.
    pub(super) fn add(
        &mut self,
        lines: &Lines<'_>,
        chunk: &'p Chunk,
        shape: &Shape,
        placed: &Placed,
        options: &Options,
    ) -> Result<(), Diagnostic> {
        if placed.outcome != Outcome::Applied {
            return Ok(());
        }
        let mut indentations = Indentations::default();
        if placed.tier >= Tier::Indentation {
            let old = chunk.lines.iter().filter(|line| line.kind != LineKind::Add);
            for (offset, line) in old.enumerate() {
                indentations.learn(line.text.as_bytes(), lines.content(placed.place + offset));
            }
        }
        let first = self.list.len();
        let mut at = placed.place;
        for run in chunk
            .lines
            .chunk_by(|one, next| (one.kind == LineKind::Context) == (next.kind == LineKind::Context))
        {
            if run[0].kind == LineKind::Context {
                at += run.len();
                continue;
            }
            let removed = run.iter().filter(|line| line.kind == LineKind::Remove).count();
            let start = self.inserted.len();
            for line in run.iter().filter(|line| line.kind == LineKind::Add) {
                let text = indentations.translate(line.text.as_bytes());
                self.inserted.push(text.map_err(|unclear| unclear_indentation(line, unclear))?);
            }
            let inserted = start..self.inserted.len();
            let last = self.last_line(run, placed.chunk);
            self.list.push(Edit { at, removed, inserted, last });
            at += removed;
        }
        if options.codex {
            return Ok(());
        }
        self.check_additions(lines, chunk, shape, first)
    }

    /// Says how the last new line of a run ends.
    fn last_line(&mut self, run: &[ChunkLine], chunk: usize) -> LastLine {
        let marked = |kind| run.iter().find(|line| line.kind == kind && line.no_newline);
        if let Some(line) = marked(LineKind::Add) {
            self.unterminated.push((self.list.len(), chunk, line.line));
            LastLine::Unterminated
        } else if marked(LineKind::Remove).is_some() {
            LastLine::Terminated
        } else {
            LastLine::AsBefore
        }
    }

    /// Refuses a chunk that adds, at its edge, what stands there already.
    fn check_additions(
        &self,
        lines: &Lines<'_>,
        chunk: &Chunk,
        shape: &Shape,
        first: usize,
    ) -> Result<(), Diagnostic> {
        if chunk.lines.iter().any(|line| line.kind == LineKind::Remove) {
            return Ok(());
        }
        let edge = |line: Option<&ChunkLine>| line.is_some_and(|line| line.kind == LineKind::Add);
        let edits = &self.list[first..];
        let stands_at = |from: Option<usize>, edit: &Edit| {
            let new = &self.inserted[edit.inserted.clone()];
            let old = from.map(|from| from..from + new.len()).filter(|range| range.end <= lines.len())?;
            let stands = old.clone().zip(new).all(|(line, text)| lines.content(line) == &**text);
            stands.then_some(old.start)
        };
        let only_adds = shape.kind == ShapeKind::AddOnly;
        let above = edits.first().filter(|_| edge(chunk.lines.first()) && (!only_adds || chunk.end_of_file));
        let above = above.and_then(|edit| stands_at(edit.at.checked_sub(edit.inserted.len()), edit));
        let below = edits.last().filter(|_| edge(chunk.lines.last()));
        let below = below.and_then(|edit| stands_at(Some(edit.at), edit));
        let (stands, remedy) = match (above, below) {
            (_, Some(line)) => {
                (line, "if they are to come once more, add the line that follows in the file as context")
            }
            (Some(line), None) => {
                (line, "if they are to come once more, add the line above in the file as context")
            }
            (None, None) => return Ok(()),
        };
        let what = format!("the added lines stand at their place already: line {}", stands + 1);
        Err(Diagnostic::new(Code::AlreadyPresent, chunk.line, what).remedy(remedy).candidates([stands + 1]))
    }

    /// Refuses a last line without an end that is not the last line of the file.
    pub(super) fn check_ends(&self, lines: &Lines<'_>, problems: &mut Vec<Diagnostic>) {
        for (number, chunk, line) in &self.unterminated {
            let ends = self.list.get(*number).is_some_and(|edit| edit.at + edit.removed == lines.len());
            let more = self.list.iter().skip(number + 1).any(|edit| !edit.inserted.is_empty());
            if !ends || more {
                let what = "the line is said to have no end, but it would not be the file's last";
                let problem = Diagnostic::new(Code::FinalNewline, *line, what);
                let problem = problem.remedy("leave `\\ No newline at end of file` out");
                problems.push(super::numbered(problem, *chunk));
            }
        }
    }
}

fn unclear_indentation(line: &ChunkLine, unclear: Unclear) -> Diagnostic {
    let why = match unclear {
        Unclear::Unknown => "no old line of the chunk has its indentation",
        Unclear::Several => "its indentation stands for several in the file",
    };
    let shown = visible(line.text.as_bytes());
    let what = format!(
        "the chunk fits only with another indentation, and that of the added line `{shown}` cannot be told: {why}"
    );
    Diagnostic::new(Code::UnclearIndentation, line.line, what).remedy("copy the indentation from the file")
}
