//! What surely happened, and what would.

use guard_policy::{Digest, Precondition, TargetPath, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::port::{Kept, Publish, TargetId};

/// The version of the serialised receipt.
pub(crate) const VERSION: u32 = 1;

/// What a mutating call did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// It changed the target (or found it as intended).
    Committed(Receipt),
    /// It was a dry run: this is what it would do.
    Planned(Plan),
}

impl Done {
    /// Returns the receipt of a call that was no dry run.
    #[must_use]
    pub fn receipt(self) -> Option<Receipt> {
        match self {
            Self::Committed(receipt) => Some(receipt),
            Self::Planned(_) => None,
        }
    }

    /// Returns why only a part of a patch was applied, where the caller chose the reference engine's way.
    #[must_use]
    pub fn stopped(&self) -> Option<&str> {
        match self {
            Self::Committed(receipt) => receipt.stopped.as_deref(),
            Self::Planned(plan) => plan.stopped.as_deref(),
        }
    }

    /// Returns the plan of a dry run.
    #[must_use]
    pub fn plan(self) -> Option<Plan> {
        match self {
            Self::Planned(plan) => Some(plan),
            Self::Committed(_) => None,
        }
    }
}

/// What surely happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// The receipt's version.
    pub version: u32,
    /// Where.
    pub target: TargetId,
    /// By which tool.
    pub tool: Tool,
    /// Whether anything was changed; `false` where the target was as intended already.
    pub changed: bool,
    /// Whether the bytes written are the bytes given.
    pub exact: bool,
    /// One for each path.
    pub changes: Vec<ChangeReceipt>,
    /// Requests to the target that the call took.
    pub round_trips: u32,
    /// Remarks on a patch as a whole, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Why only the operations before one that failed are here; only where the caller chose the reference engine's way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// Set where the policy does not hold locations to the roots.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unrestricted: bool,
}

/// What surely happened at one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeReceipt {
    /// The path as it was requested.
    pub path: String,
    /// Where it is on the target.
    pub resolved: TargetPath,
    /// Where it was moved to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<TargetPath>,
    /// What the target enforced.
    pub precondition: Precondition,
    /// The digest of what was there, where it was a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Digest>,
    /// The digest of what is there now (at `moved_to`, for a move), where it is a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Digest>,
    /// The length in bytes of what is there now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The digest of the content that was given, where it is not the digest of what was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<Digest>,
    /// What was done to the content that was given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conversions: Vec<Conversion>,
    /// How it was published; left out where the target was as intended already and nothing was asked of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish: Option<Publish>,
    /// Directories that were made, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<TargetPath>,
    /// What was not kept of the old file, where there is something to say.
    #[serde(default, skip_serializing_if = "Kept::is_whole")]
    pub metadata: Kept,
    /// Names under which bytes stay on the target, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
    /// Remarks, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// How the chunks of a patch were placed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chunks: Vec<PlacedChunk>,
    /// A unified diff of what a patch did, where both sides are text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// How it can be undone; left out where nothing was changed, or where the guard keeps nothing for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<Undo>,
}

/// How one change can be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum Undo {
    /// The bytes of `before` are kept: they go over those of `after`, or back where nothing is.
    PutBack {
        /// The permission bits of what was removed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<u32>,
    },
    /// What was created is removed.
    Remove,
    /// What was moved is moved back.
    MoveBack,
    /// The directory that was made is removed, if it is empty.
    RemoveDir,
    /// The directory that was removed is made again.
    MakeDir,
    /// It cannot.
    No {
        /// Why.
        why: String,
    },
}

/// How one chunk of a patch was placed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlacedChunk {
    /// The line of the patch on which it begins.
    pub patch_line: u64,
    /// The line of the file at which it stands, as the file was before.
    pub file_line: u64,
    /// How well its old lines fit: `exact`, `trailing-blanks`, `indentation`, `unicode`.
    pub tier: String,
    /// What was done: `applied`, `already-applied`, `context-only`.
    pub outcome: String,
}

/// What was done to the content that was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Conversion {
    /// LF became CRLF, as the version that was replaced had it.
    LfToCrlf,
    /// The byte-order mark of the version that was replaced was kept.
    BomKept,
    /// The text was encoded as UTF-16, as the version that was replaced was.
    Utf16,
}

/// What a call would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Plan {
    /// The plan's version.
    pub version: u32,
    /// Where.
    pub target: TargetId,
    /// By which tool.
    pub tool: Tool,
    /// Whether anything would change.
    pub changed: bool,
    /// Whether the policy demands an approval.
    pub approval_required: bool,
    /// One for each path.
    pub changes: Vec<PlannedChange>,
    /// Remarks on a patch as a whole, as sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Why only the operations before one that failed are here; only where the caller chose the reference engine's way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// Requests to the target that the call took.
    pub round_trips: u32,
}

/// What would happen at one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlannedChange {
    /// The path as it was requested.
    pub path: String,
    /// Where it is on the target.
    pub resolved: TargetPath,
    /// Where it would be moved to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_to: Option<TargetPath>,
    /// What the target would have to find.
    pub precondition: Precondition,
    /// The digest of what is there, where it is a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Digest>,
    /// The digest of what would be there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Digest>,
    /// A unified diff, where both sides are text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// How the chunks of a patch would be placed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chunks: Vec<PlacedChunk>,
    /// What is done, in words.
    pub summary: String,
}
