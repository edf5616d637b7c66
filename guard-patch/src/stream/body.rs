//! The lines of one operation.

use super::{Event, Kind, Listener, Taken};
use crate::diagnostic::{Code, Diagnostic};
use crate::grammar::{anchor, is_blank};
use crate::note::{Note, NoteKind};
use crate::patch::{Action, Anchor, Chunk, ChunkLine, LineKind, Operation, Patch};

/// The state between the lines of an operation.
#[derive(Debug, Default)]
pub(super) struct Body {
    kind: Option<Kind>,
    /// Bare blank lines that count only if something follows, by their lines.
    blanks: Vec<usize>,
    /// Whether nothing has followed the header of the Update.
    fresh: bool,
    /// Whether the Update has a destination.
    moved: bool,
    /// The chunk that is being read.
    chunk: Option<Chunk>,
    /// The line of the Add's mark that its last line has no end.
    unterminated: Option<usize>,
    /// How many problems were known when the operation began.
    problems: usize,
}

impl Body {
    pub(super) fn is_update(&self) -> bool {
        self.kind == Some(Kind::Update)
    }

    pub(super) const fn takes_move(&self) -> bool {
        matches!(self.kind, Some(Kind::Update)) && self.fresh && !self.moved
    }

    pub(super) const fn moved(&mut self) {
        self.moved = true;
    }

    pub(super) fn open(&mut self, kind: Kind, problems: usize) {
        *self = Self { kind: Some(kind), fresh: true, problems, ..Self::default() };
    }

    /// Ends the operation, if one is open.
    pub(super) fn close(
        &mut self,
        patch: &mut Patch,
        problems: &mut Vec<Diagnostic>,
        listener: Listener<'_>,
    ) {
        let Some(operation) = patch.operations.last_mut().filter(|_| self.kind.is_some()) else { return };
        match &mut operation.action {
            Action::Add { content } => {
                if self.unterminated.is_some() {
                    content.pop();
                }
            }
            Action::Delete => {}
            Action::Update { move_to, chunks } => {
                self.close_chunk(chunks, problems, listener);
                if move_to.is_none() && chunks.is_empty() && problems.len() == self.problems {
                    let what = "the Update has neither a chunk nor a move";
                    let empty = Diagnostic::new(Code::EmptyUpdate, operation.line, what);
                    problem(
                        empty.remedy("add the lines to change, or leave the Update out"),
                        problems,
                        listener,
                    );
                }
            }
        }
        self.kind = None;
        self.blanks.clear();
    }

    fn close_chunk(
        &mut self,
        chunks: &mut Vec<Chunk>,
        problems: &mut Vec<Diagnostic>,
        listener: Listener<'_>,
    ) {
        self.blanks.clear();
        let Some(chunk) = self.chunk.take() else { return };
        if chunk.lines.is_empty() {
            let empty = Diagnostic::new(Code::EmptyChunk, chunk.line, "the chunk has no lines");
            problem(empty.remedy("add the lines to change below its `@@`"), problems, listener);
            return;
        }
        for line in misplaced_marks(&chunk.lines) {
            misplaced_mark(line, problems, listener);
        }
        chunks.push(chunk);
    }

    /// Reads a line that is no marker.
    pub(super) fn line(
        &mut self,
        at: usize,
        line: &str,
        patch: &mut Patch,
        problems: &mut Vec<Diagnostic>,
        listener: Listener<'_>,
    ) {
        let action = patch.operations.last_mut().map(|Operation { action, .. }| action);
        match (self.kind, action) {
            (Some(Kind::Add), Some(Action::Add { content })) => {
                self.add_line(at, line, content, problems, listener);
            }
            (Some(Kind::Update), Some(Action::Update { chunks, .. })) => {
                self.fresh &= line.is_empty();
                self.update_line(at, line, chunks, &mut patch.notes, problems, listener);
            }
            _ if is_blank(line) => {}
            _ => {
                let what = format!("no operation takes the line `{}`", line.escape_debug());
                let remedy = "begin with `*** Add File: `, `*** Update File: ` or `*** Delete File: `";
                problem(Diagnostic::new(Code::StrayLine, at, what).remedy(remedy), problems, listener);
            }
        }
    }

    fn add_line(
        &mut self,
        at: usize,
        line: &str,
        content: &mut String,
        problems: &mut Vec<Diagnostic>,
        listener: Listener<'_>,
    ) {
        if let Some(text) = line.strip_prefix('+') {
            // Blank lines between an Add and what follows are separators; inside of it they lack their prefix.
            for blank in std::mem::take(&mut self.blanks) {
                unprefixed(blank, "", Kind::Add, problems, listener);
            }
            if let Some(mark) = self.unterminated.take() {
                misplaced_mark(mark, problems, listener);
            }
            content.push_str(text);
            content.push('\n');
            listener(Event::Content { line: at, text });
        } else if is_blank(line) {
            self.blanks.push(at);
        } else if is_mark(line) {
            if content.is_empty() || self.unterminated.is_some() || !self.blanks.is_empty() {
                misplaced_mark(at, problems, listener);
            } else {
                self.unterminated = Some(at);
                listener(Event::NoNewline { line: at });
            }
        } else {
            unprefixed(at, line, Kind::Add, problems, listener);
        }
    }

    fn update_line(
        &mut self,
        at: usize,
        line: &str,
        chunks: &mut Vec<Chunk>,
        notes: &mut Vec<Note>,
        problems: &mut Vec<Diagnostic>,
        listener: Listener<'_>,
    ) {
        if line.is_empty() {
            self.blanks.push(at);
        } else if let Some(rest) = line.strip_prefix("@@") {
            self.header(at, rest, chunks, notes, problems, listener);
        } else if let Some((kind, text)) = prefixed(line) {
            if self.chunk.is_none() && !chunks.is_empty() {
                let what = "only the first chunk of an Update may begin without its `@@`";
                let missing = Diagnostic::new(Code::ChunkWithoutHeader, at, what);
                problem(missing.remedy("put a line `@@` before the chunk"), problems, listener);
            }
            self.open_chunk(at, listener);
            self.take_blanks(listener);
            self.push(ChunkLine { line: at, kind, text: text.to_owned(), no_newline: false }, listener);
        } else if is_mark(line) {
            let blanks = self.blanks.is_empty();
            let last = self.chunk.as_mut().and_then(|chunk| chunk.lines.last_mut());
            match last.filter(|last| blanks && !last.no_newline) {
                Some(last) => {
                    last.no_newline = true;
                    listener(Event::NoNewline { line: at });
                }
                None => misplaced_mark(at, problems, listener),
            }
        } else {
            unprefixed(at, line, Kind::Update, problems, listener);
        }
    }

    fn header(
        &mut self,
        at: usize,
        rest: &str,
        chunks: &mut Vec<Chunk>,
        notes: &mut Vec<Note>,
        problems: &mut Vec<Diagnostic>,
        listener: Listener<'_>,
    ) {
        let Some(header) = anchor::read(rest) else {
            let what = format!("`@@{}` has no blank after its `@@`", rest.escape_debug());
            let bad = Diagnostic::new(Code::AnchorWithoutBlank, at, what);
            problem(bad.remedy("write `@@ ` and the anchor, or `@@` alone"), problems, listener);
            return;
        };
        // Anchors in a row are of one chunk; bare blank lines between them are separators.
        if self.chunk.as_ref().is_some_and(|chunk| !chunk.lines.is_empty()) {
            self.close_chunk(chunks, problems, listener);
        }
        self.blanks.clear();
        self.open_chunk(at, listener);
        if header.numbers {
            note(at, NoteKind::LineNumbers, notes, listener);
        }
        if header.tail {
            note(at, NoteKind::AnchorTail, notes, listener);
        }
        if let Some(chunk) = &mut self.chunk {
            chunk.hint = header.hint.or(chunk.hint);
            if let Some(text) = header.text {
                chunk.anchors.push(Anchor { line: at, text: text.to_owned() });
                listener(Event::Anchor { line: at, text });
            }
        }
    }

    fn open_chunk(&mut self, at: usize, listener: Listener<'_>) {
        if self.chunk.is_none() {
            self.chunk = Some(Chunk { line: at, ..Chunk::default() });
            listener(Event::Chunk { line: at });
        }
    }

    /// Takes the bare blank lines as context, or drops them where nothing of the chunk is above them.
    fn take_blanks(&mut self, listener: Listener<'_>) {
        let blanks = std::mem::take(&mut self.blanks);
        match &mut self.chunk {
            Some(chunk) if chunk.lines.is_empty() => chunk.blanks_dropped = blanks.len(),
            _ => {
                for line in blanks {
                    let kind = LineKind::Context;
                    self.push(ChunkLine { line, kind, text: String::new(), no_newline: false }, listener);
                }
            }
        }
    }

    fn push(&mut self, line: ChunkLine, listener: Listener<'_>) {
        listener(Event::Line { line: line.line, kind: line.kind, text: &line.text });
        if let Some(chunk) = &mut self.chunk {
            chunk.lines.push(line);
        }
    }

    /// Reads an End of File line; it is not taken where no chunk is open.
    pub(super) fn end_of_file(
        &mut self,
        at: usize,
        patch: &mut Patch,
        problems: &mut Vec<Diagnostic>,
        listener: Listener<'_>,
    ) -> Taken {
        let operation = patch.operations.last_mut().filter(|_| self.is_update());
        let Some(Operation { action: Action::Update { chunks, .. }, .. }) = operation else {
            return Taken::No;
        };
        if self.chunk.is_none() {
            return Taken::No;
        }
        self.take_blanks(listener);
        if let Some(chunk) = &mut self.chunk {
            chunk.end_of_file = true;
        }
        listener(Event::EndOfFile { line: at });
        self.close_chunk(chunks, problems, listener);
        Taken::Yes
    }
}

/// Splits a line into what it is and its text.
fn prefixed(line: &str) -> Option<(LineKind, &str)> {
    let kind = match line.as_bytes().first()? {
        b' ' => LineKind::Context,
        b'-' => LineKind::Remove,
        b'+' => LineKind::Add,
        _ => return None,
    };
    Some((kind, &line[1..]))
}

/// Says whether a line is the mark that the line above it has no end; its words may be translated.
fn is_mark(line: &str) -> bool {
    line.starts_with("\\ ")
}

/// Returns the lines whose marks cannot be: more lines of the same side follow.
fn misplaced_marks(lines: &[ChunkLine]) -> Vec<usize> {
    let (mut old_follows, mut new_follows) = (false, false);
    let mut misplaced = Vec::new();
    for line in lines.iter().rev() {
        let follows = if line.kind == LineKind::Add { new_follows } else { old_follows };
        if line.no_newline && follows {
            misplaced.push(line.line + 1);
        }
        old_follows |= line.kind != LineKind::Add;
        new_follows |= line.kind != LineKind::Remove;
    }
    misplaced
}

fn misplaced_mark(at: usize, problems: &mut Vec<Diagnostic>, listener: Listener<'_>) {
    let what = "`\\ No newline at end of file` is out of place: it follows the last line";
    problem(Diagnostic::new(Code::MisplacedNoNewline, at, what), problems, listener);
}

fn unprefixed(at: usize, line: &str, kind: Kind, problems: &mut Vec<Diagnostic>, listener: Listener<'_>) {
    let (what, remedy) = match kind {
        Kind::Add => ("an Add", "put `+` before every line of the new file, also before an empty one"),
        _ => ("an Update", "put a blank (context), `-` or `+` before every line"),
    };
    let what = format!("the line `{}` of {what} has no prefix", line.escape_debug());
    problem(Diagnostic::new(Code::UnprefixedLine, at, what).remedy(remedy), problems, listener);
}

pub(super) fn note(line: usize, kind: NoteKind, notes: &mut Vec<Note>, listener: Listener<'_>) {
    let note = Note { line, kind };
    listener(Event::Note(&note));
    notes.push(note);
}

pub(super) fn problem(problem: Diagnostic, problems: &mut Vec<Diagnostic>, listener: Listener<'_>) {
    listener(Event::Problem(&problem));
    problems.push(problem);
}
