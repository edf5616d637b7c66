//! What the parser tells while a patch is being typed.

use crate::diagnostic::Diagnostic;
use crate::note::Note;
use crate::patch::LineKind;

/// Something that a line of the patch completed.
///
/// Events are for showing what is being typed; the whole that is checked comes from
/// [`Parser::finish`](crate::Parser::finish).
/// Lines are those of the patch, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The Begin line.
    Begin {
        /// Its line.
        line: usize,
    },
    /// All events since the last Begin are void: they were of a patch that is quoted in prose.
    Discarded {
        /// The line of the Begin line that counts.
        line: usize,
    },
    /// The environment id.
    Environment {
        /// Its line.
        line: usize,
        /// The id.
        id: &'a str,
    },
    /// An Add begins.
    Add {
        /// Its line.
        line: usize,
        /// The file.
        path: &'a str,
    },
    /// A line of an Add.
    Content {
        /// Its line.
        line: usize,
        /// The text after its prefix.
        text: &'a str,
    },
    /// A Delete.
    Delete {
        /// Its line.
        line: usize,
        /// The file.
        path: &'a str,
    },
    /// An Update begins.
    Update {
        /// Its line.
        line: usize,
        /// The file.
        path: &'a str,
    },
    /// The destination of an Update.
    MoveTo {
        /// Its line.
        line: usize,
        /// The new path.
        path: &'a str,
    },
    /// A chunk begins.
    Chunk {
        /// Its line.
        line: usize,
    },
    /// An anchor of the chunk.
    Anchor {
        /// Its line.
        line: usize,
        /// Its text.
        text: &'a str,
    },
    /// A line of the chunk.
    Line {
        /// Its line.
        line: usize,
        /// What it is.
        kind: LineKind,
        /// The text after its prefix.
        text: &'a str,
    },
    /// The last line of the chunk or the Add has no end: `\ No newline at end of file`.
    NoNewline {
        /// The line of this mark.
        line: usize,
    },
    /// The chunk ends at the end of the file.
    EndOfFile {
        /// The line of this mark.
        line: usize,
    },
    /// The End line.
    End {
        /// Its line.
        line: usize,
    },
    /// Something was accepted although it was not quite right.
    Note(&'a Note),
    /// The patch will be refused.
    Problem(&'a Diagnostic),
}
