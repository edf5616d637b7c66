//! What is asked, and what is known of it.

use serde::{Deserialize, Serialize};

use crate::{ContentClass, Digest, Fact, FileState, Rights, Roots, Seen, TargetPath};

/// The tools, by the names under which they are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Tool {
    /// Reads a file.
    ReadFile,
    /// Writes a whole file.
    WriteFile,
    /// Replaces texts in a file.
    EditFile,
    /// Applies a V4A patch.
    ApplyPatch,
    /// Deletes a file or a link.
    DeleteFile,
    /// Moves a file or a link.
    MoveFile,
    /// Makes a directory.
    MakeDir,
    /// Lists a directory.
    ListDir,
    /// Tells what is at a path.
    Stat,
    /// Puts back what a call displaced. It is the host's, and no model can call it.
    Undo,
}

impl Tool {
    /// Every tool that a model can call.
    pub const ALL: &'static [Self] = &[
        Self::ReadFile,
        Self::WriteFile,
        Self::EditFile,
        Self::ApplyPatch,
        Self::DeleteFile,
        Self::MoveFile,
        Self::MakeDir,
        Self::ListDir,
        Self::Stat,
    ];

    /// Returns the name under which the tool is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadFile => "read_file",
            Self::WriteFile => "write_file",
            Self::EditFile => "edit_file",
            Self::ApplyPatch => "apply_patch",
            Self::DeleteFile => "delete_file",
            Self::MoveFile => "move_file",
            Self::MakeDir => "make_dir",
            Self::ListDir => "list_dir",
            Self::Stat => "stat",
            Self::Undo => "undo",
        }
    }

    /// Returns the tool of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|tool| tool.name() == name)
    }

    /// Tells whether the tool can change the target.
    #[must_use]
    pub const fn mutates(self) -> bool {
        !matches!(self, Self::ReadFile | Self::ListDir | Self::Stat)
    }
}

/// What a call does to one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Act {
    /// Delivers content.
    Read,
    /// Delivers facts about it.
    Stat,
    /// Delivers the names in it.
    List,
    /// Puts a whole content there, over a seen version or over nothing.
    Write,
    /// Replaces a part of the text there.
    Edit,
    /// Puts a whole content where nothing is; the destination of a patch's Update with `Move to` too, because text
    /// is put under that name.
    Add,
    /// Removes it.
    Delete,
    /// Moves it away.
    MoveFrom,
    /// Moves something there as it is, where nothing is.
    MoveTo,
    /// Makes a directory there, where nothing is.
    MakeDir,
}

impl Act {
    /// Every act.
    pub const ALL: &'static [Self] = &[
        Self::Read,
        Self::Stat,
        Self::List,
        Self::Write,
        Self::Edit,
        Self::Add,
        Self::Delete,
        Self::MoveFrom,
        Self::MoveTo,
        Self::MakeDir,
    ];

    /// Tells whether the act changes the target.
    #[must_use]
    pub const fn mutates(self) -> bool {
        !matches!(self, Self::Read | Self::Stat | Self::List)
    }

    /// Tells whether the act puts text under the name (so that document and binary rules apply).
    #[must_use]
    pub const fn puts_text(self) -> bool {
        matches!(self, Self::Write | Self::Edit | Self::Add)
    }
}

/// Facts about a whole content that a call would put.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NewText {
    /// Its class.
    pub class: ContentClass,
    /// Whether it is a display of a file with line numbers ([`crate::is_tool_echo`]), and the caller did not say
    /// `raw`.
    pub echo: bool,
    /// Length in bytes.
    pub len: u64,
}

/// One call on one path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Call<'a> {
    /// The tool that was called.
    pub tool: Tool,
    /// What it does to this path.
    pub act: Act,
    /// The path as the caller typed it, for messages and remedies; its final name is judged too.
    pub requested: &'a str,
    /// The content that it would put, where it has one.
    pub text: Option<NewText>,
    /// The version that the caller itself named, where it named one.
    pub expect: Option<Expect>,
}

/// The version that a caller names in its call.
///
/// It narrows: a digest here has to be the one that the actor has seen, and licenses nothing by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expect {
    /// Nothing is there.
    Absent,
    /// A file with this content is there.
    Content(Digest),
}

/// Whether somebody can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApproverSet {
    /// An approver is set.
    Yes,
    /// Nobody can be asked.
    No,
}

/// What is known of the path that a call is about.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    /// The actor's rights.
    pub rights: &'a Rights,
    /// Whether somebody can be asked.
    pub approver: ApproverSet,
    /// The guard's roots.
    pub roots: &'a Roots,
    /// The target's home directory, as its physical path (the location is one too); `Known(None)` where the user
    /// has none.
    pub home: Fact<Option<&'a TargetPath>>,
    /// The location: what the target is held to reach.
    pub path: &'a TargetPath,
    /// What is there.
    pub state: Fact<&'a FileState>,
    /// The class of what is there, where it is a regular file.
    pub class: Fact<ContentClass>,
    /// What the actor has seen of it.
    pub seen: Seen,
}
