//! Why a patch is refused.

use std::fmt;

use thiserror::Error;

/// A patch was refused, for these reasons: all that were found, in the order of the patch's lines.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct Rejected(pub Vec<Diagnostic>);

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}

/// One reason why a patch is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// What is wrong, for machines.
    pub code: Code,
    /// The line of the patch, counted from 1.
    pub line: usize,
    /// The file that the operation is about.
    pub path: Option<String>,
    /// The operation's number within the patch, counted from 1.
    pub operation: Option<usize>,
    /// The chunk's number within its operation, counted from 1.
    pub chunk: Option<usize>,
    /// What is wrong, in one sentence for the model.
    pub message: String,
    /// Lines of the file that the message is about, counted from 1, such as every place where an ambiguous chunk fits.
    /// At most [`Diagnostic::MOST_CANDIDATES`] are kept.
    pub candidates: Vec<usize>,
    /// Where in the file the chunk comes closest.
    pub closest: Option<Closest>,
    /// What would make it right.
    pub remedy: Option<String>,
}

impl Diagnostic {
    /// The most lines that are kept as candidates.
    pub const MOST_CANDIDATES: usize = 100;

    pub(crate) fn new(code: Code, line: usize, message: impl Into<String>) -> Self {
        Self {
            code,
            line,
            path: None,
            operation: None,
            chunk: None,
            message: message.into(),
            candidates: Vec::new(),
            closest: None,
            remedy: None,
        }
    }

    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    pub(crate) fn candidates(mut self, lines: impl IntoIterator<Item = usize>) -> Self {
        self.candidates = lines.into_iter().take(Self::MOST_CANDIDATES).collect();
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "patch line {}", self.line)?;
        if let Some(path) = &self.path {
            write!(f, ", {path}")?;
        }
        if let Some(chunk) = self.chunk {
            write!(f, ", chunk {chunk}")?;
        }
        write!(f, ": {} [{}]", self.message, self.code.as_str())?;
        if let Some(closest) = &self.closest {
            write!(f, "\n  {closest}")?;
        }
        if let Some(remedy) = &self.remedy {
            write!(f, "\n  remedy: {remedy}")?;
        }
        Ok(())
    }
}

/// The place in a file to which a chunk comes closest.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Closest {
    /// The line of the file at which the chunk would begin, counted from 1.
    pub file_line: usize,
    /// How many of the chunk's old lines stand there.
    pub fitting: usize,
    /// How many old lines the chunk has.
    pub of: usize,
    /// The first line of the file that differs, counted from 1.
    pub differs_at: usize,
    /// How it differs, with what cannot be seen made visible.
    pub difference: String,
}

impl fmt::Display for Closest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "closest: file line {}, where {} of {} lines fit; line {} differs: {}",
            self.file_line, self.fitting, self.of, self.differs_at, self.difference
        )
    }
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// What is wrong with a patch; [`Code::as_str`] is stable.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Code {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the stable kebab-case name.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

codes! {
    /// There is no Begin line.
    MissingBegin = "missing-begin",
    /// There is no End line.
    MissingEnd = "missing-end",
    /// A second Begin line stands inside the patch.
    SecondBegin = "second-begin",
    /// A second patch follows the first.
    SecondEnvelope = "second-envelope",
    /// A line of an Add or Update has no prefix.
    UnprefixedLine = "unprefixed-line",
    /// A line stands where no operation takes lines.
    StrayLine = "stray-line",
    /// A line begins with `@@` and has no blank after it.
    AnchorWithoutBlank = "anchor-without-blank",
    /// A line of a later chunk stands before its `@@`.
    ChunkWithoutHeader = "chunk-without-header",
    /// A chunk has anchors and no lines.
    EmptyChunk = "empty-chunk",
    /// A line begins with `***` and is no known marker.
    UnknownMarker = "unknown-marker",
    /// A known marker stands where it means nothing.
    MisplacedMarker = "misplaced-marker",
    /// An Update has neither a chunk nor a move.
    EmptyUpdate = "empty-update",
    /// An environment id is empty.
    EmptyEnvironment = "empty-environment",
    /// A path is empty.
    EmptyPath = "empty-path",
    /// A path is one that no file can have, or that means another machine's way to name files.
    BadPath = "bad-path",
    /// The wrapper changes to a directory that cannot be told.
    UnknownDirectory = "unknown-directory",
    /// `\ No newline at end of file` stands where it means nothing.
    MisplacedNoNewline = "misplaced-no-newline",
    /// Something exists that must not.
    FileExists = "file-exists",
    /// Something does not exist that must.
    FileMissing = "file-missing",
    /// Something is no regular file.
    NotAFile = "not-a-file",
    /// A touched path is the parent of another.
    PathConflict = "path-conflict",
    /// The old lines of a chunk are not in the file.
    NotFound = "not-found",
    /// The old lines of a chunk fit only at a tier that the options do not allow.
    TierNotAllowed = "tier-not-allowed",
    /// A chunk fits at several places.
    Ambiguous = "ambiguous",
    /// A chunk fits only where an earlier chunk edits.
    Overlap = "overlap",
    /// A chunk fits only above an earlier chunk.
    OutOfOrder = "out-of-order",
    /// A chunk fits only outside its anchor's block.
    OutsideBlock = "outside-block",
    /// An anchor is not in the file.
    AnchorNotFound = "anchor-not-found",
    /// An anchor that has to be unique is not.
    AnchorAmbiguous = "anchor-ambiguous",
    /// A chunk with the End of File flag fits only elsewhere.
    NotAtEnd = "not-at-end",
    /// A chunk that only adds says not where.
    NoPlace = "no-place",
    /// The added lines stand at their place already.
    AlreadyPresent = "already-present",
    /// The indentation of an added line cannot be told.
    UnclearIndentation = "unclear-indentation",
    /// `\ No newline at end of file` does not hold.
    FinalNewline = "final-newline",
    /// Placing the chunks would be too much work.
    TooMuchWork = "too-much-work",
}
