//! What was accepted although it was not quite right.

use std::fmt;

/// Something that the caller should know about a patch that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The line of the patch, counted from 1.
    pub line: usize,
    /// What was met.
    pub kind: NoteKind,
}

/// What a [`Note`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum NoteKind {
    /// A byte order mark stands before the Begin line.
    ByteOrderMark,
    /// Blanks stand before a marker.
    LeadingBlanks,
    /// The space after a marker's colon is missing.
    MissingSpace,
    /// The patch is wrapped in a shell's here-document.
    Heredoc,
    /// The patch is wrapped in a code fence.
    Fence,
    /// Text stands before or after the patch; it was not read.
    Prose,
    /// A quoted patch stands before the real one; it was not read.
    Quoted,
    /// The wrapper changes the directory; relative paths begin there.
    Directory,
    /// An anchor ends in `@@`, as in `@@ text @@`.
    AnchorTail,
    /// A chunk's header has line numbers, as in `@@ -1,2 +1,3 @@`; they only decide between places that fit alike.
    LineNumbers,
    /// `*** Move File: a -> b` was read as an Update with a move.
    MoveFile,
    /// A chunk has context and no change; its lines were found.
    ContextOnly,
    /// A chunk's new lines are in the file already, and its old ones are not; nothing was done for it.
    AlreadyApplied,
    /// A chunk's old lines, or its anchor, fit only at a looser [`Tier`](crate::Tier).
    LooseMatch,
    /// An anchor is the beginning of a line, not the whole of it.
    AnchorPrefix,
    /// The line numbers of a chunk's header decided between several places.
    LineNumberUsed,
}

impl NoteKind {
    /// Returns a stable kebab-case name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ByteOrderMark => "byte-order-mark",
            Self::LeadingBlanks => "leading-blanks",
            Self::MissingSpace => "missing-space",
            Self::Heredoc => "heredoc",
            Self::Fence => "fence",
            Self::Prose => "prose",
            Self::Quoted => "quoted",
            Self::Directory => "directory",
            Self::AnchorTail => "anchor-tail",
            Self::LineNumbers => "line-numbers",
            Self::MoveFile => "move-file",
            Self::ContextOnly => "context-only",
            Self::AlreadyApplied => "already-applied",
            Self::LooseMatch => "loose-match",
            Self::AnchorPrefix => "anchor-prefix",
            Self::LineNumberUsed => "line-number-used",
        }
    }

    const fn sentence(self) -> &'static str {
        match self {
            Self::ByteOrderMark => "a byte order mark before the patch was dropped",
            Self::LeadingBlanks => "blanks before a marker were dropped",
            Self::MissingSpace => "the space after a marker's colon is missing",
            Self::Heredoc => "a here-document around the patch was dropped",
            Self::Fence => "a code fence around the patch was dropped",
            Self::Prose => "text outside the patch was not read",
            Self::Quoted => "a quoted patch before the real one was not read",
            Self::Directory => "relative paths begin at the directory that the wrapper changes to",
            Self::AnchorTail => "the `@@` at the end of an anchor was dropped",
            Self::LineNumbers => "line numbers in a chunk's header are only a hint",
            Self::MoveFile => "`*** Move File` was read as an Update with a move",
            Self::ContextOnly => "the chunk changes nothing; its lines were found",
            Self::AlreadyApplied => "the chunk was applied already; nothing was done for it",
            Self::LooseMatch => "the chunk or its anchor fits the file only loosely",
            Self::AnchorPrefix => "the anchor is only the beginning of the file's line",
            Self::LineNumberUsed => "the line number in the chunk's header decided between several places",
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "patch line {}: {} [{}]", self.line, self.kind.sentence(), self.kind.as_str())
    }
}
