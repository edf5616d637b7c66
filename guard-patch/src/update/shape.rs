//! What a chunk is made of.

use crate::assign::Span;
use crate::patch::{Chunk, ChunkLine, LineKind};
use crate::search::{PatternId, Search};

/// A chunk's lines as patterns to search for.
#[derive(Debug)]
pub(super) struct Shape {
    /// The lines that the file has before: context and those that go.
    pub(super) old: PatternId,
    pub(super) anchors: Vec<PatternId>,
    /// What is edited, in old lines.
    pub(super) span: Span,
    /// What is new, in new lines; `None` if nothing is.
    pub(super) new_span: Option<Span>,
    pub(super) kind: ShapeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShapeKind {
    /// It has old lines and changes them.
    Edit,
    /// It has new lines only.
    AddOnly,
    /// It has context only.
    ContextOnly,
}

impl Shape {
    pub(super) fn new<'p>(chunk: &'p Chunk, search: &mut Search<'_, 'p>) -> Self {
        let old = search.pattern(side(chunk, LineKind::Add));
        let anchors = chunk.anchors.iter().map(|anchor| search.pattern([anchor.text.as_str()])).collect();
        let count = search.len(old);
        let edited = span(&chunk.lines, LineKind::Add, |kind| kind != LineKind::Context);
        let kind = match edited {
            None => ShapeKind::ContextOnly,
            Some(_) if count == 0 => ShapeKind::AddOnly,
            Some(_) => ShapeKind::Edit,
        };
        // Context only: it may share lines with its neighbours, and is in order if any of it is.
        let span_of_edit = edited.unwrap_or(Span { start: count, end: 0, point: false });
        let new_span = span(&chunk.lines, LineKind::Remove, |kind| kind == LineKind::Add);
        Self { old, anchors, span: span_of_edit, new_span, kind }
    }
}

/// Returns from where to where lines of some kinds stand, counted in the lines of one side: all but `other`.
fn span(lines: &[ChunkLine], other: LineKind, counts: impl Fn(LineKind) -> bool) -> Option<Span> {
    let mut at = 0;
    let mut span = None;
    for line in lines {
        let after = at + usize::from(line.kind != other);
        if counts(line.kind) {
            let start = span.map_or(at, |span: Span| span.start);
            span = Some(Span { start, end: after, point: start == after });
        }
        at = after;
    }
    span
}

/// Returns the lines of one side of a chunk: all but those of a kind.
pub(super) fn side(chunk: &Chunk, other: LineKind) -> impl Iterator<Item = &str> {
    chunk.lines.iter().filter(move |line| line.kind != other).map(|line| line.text.as_str())
}

/// Returns how many lines a chunk removes and adds.
pub(super) fn counts(chunk: &Chunk) -> (usize, usize) {
    let count = |kind| chunk.lines.iter().filter(|line| line.kind == kind).count();
    (count(LineKind::Remove), count(LineKind::Add))
}
