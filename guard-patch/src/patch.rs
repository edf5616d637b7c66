//! A patch that was read.

use crate::diagnostic::Rejected;
use crate::note::Note;
use crate::stream::Parser;

/// Reads a patch.
///
/// Paths are checked as text: an empty path, a NUL, a slash at the end, a drive or a UNC name are refused; `./` and
/// doubled slashes are taken out; `..` is left for the caller to judge.
///
/// # Errors
///
/// Every reason why the text is no patch, in one go, each with its line.
pub fn parse(text: &str) -> Result<Patch, Rejected> {
    let mut parser = Parser::new();
    parser.push(text, &mut |_| {});
    parser.finish(&mut |_| {})
}

/// A patch: operations in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patch {
    pub(crate) operations: Vec<Operation>,
    pub(crate) environment: Option<String>,
    pub(crate) notes: Vec<Note>,
}

impl Patch {
    /// Returns the operations.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// Returns every path that the patch names, destinations of moves among them, each once, in order.
    ///
    /// These are all the files that [`plan`](crate::plan()) asks its snapshot for.
    #[must_use]
    pub fn paths(&self) -> Vec<&str> {
        let mut seen = std::collections::HashSet::new();
        let named = self.operations.iter().flat_map(|operation| {
            let destination = match &operation.action {
                Action::Update { move_to, .. } => move_to.as_ref().map(|to| to.path.as_str()),
                Action::Add { .. } | Action::Delete => None,
            };
            std::iter::once(operation.path.as_str()).chain(destination)
        });
        named.filter(|path| seen.insert(*path)).collect()
    }

    /// Returns the id of the environment that the patch is meant for, if it names one.
    ///
    /// # Security
    ///
    /// [`plan`](crate::plan()) does not look at it: a caller refuses a patch that names an environment other than the
    /// one that it serves.
    #[must_use]
    pub fn environment(&self) -> Option<&str> {
        self.environment.as_deref()
    }

    /// Returns what was accepted although it was not quite right.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }
}

/// One operation of a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The line of the patch on which it begins, counted from 1.
    pub line: usize,
    /// The file, with the wrapper's directory before it if it is relative.
    pub path: String,
    /// What is done to it.
    pub action: Action,
}

/// What an operation does to its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Creates it.
    Add {
        /// The whole content.
        content: String,
    },
    /// Removes it.
    Delete,
    /// Edits it, moves it, or both.
    Update {
        /// Where it goes.
        move_to: Option<Destination>,
        /// The edits; none for a pure rename.
        chunks: Vec<Chunk>,
    },
}

/// Where a file is moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The line of the patch, counted from 1.
    pub line: usize,
    /// The new path, with the wrapper's directory before it if it is relative.
    pub path: String,
}

/// A group of lines that stand together in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// The line of the patch on which it begins, counted from 1.
    pub line: usize,
    /// The lines below which it stands, the outermost first.
    pub anchors: Vec<Anchor>,
    /// The line number in the header (`@@ -a,b +c,d @@`), counted from 1.
    pub hint: Option<usize>,
    /// The lines, without the bare blank ones at the edges.
    pub lines: Vec<ChunkLine>,
    /// The number of bare blank lines that were dropped before the first line.
    pub blanks_dropped: usize,
    /// Whether the chunk ends at the end of the file.
    pub end_of_file: bool,
}

/// A line below which a chunk stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The line of the patch, counted from 1.
    pub line: usize,
    /// The text after `@@`.
    pub text: String,
}

/// A line of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkLine {
    /// The line of the patch, counted from 1.
    pub line: usize,
    /// What it is.
    pub kind: LineKind,
    /// The text after its prefix.
    pub text: String,
    /// Whether `\ No newline at end of file` follows.
    pub no_newline: bool,
}

/// What a line of a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineKind {
    /// It stands in the file and stays.
    Context,
    /// It stands in the file and goes.
    Remove,
    /// It comes.
    Add,
}
