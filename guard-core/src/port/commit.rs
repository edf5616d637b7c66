//! The mutation: changes under preconditions, all or nothing.

use std::fmt;
use std::sync::Arc;

use guard_policy::{FileState, OpenWriters, Precondition, RootId, TargetPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Content, Last, OpError, Scope};

/// Names one commit; unique among all controllers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CommitId(pub String);

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A location to change: names only, nothing is held between requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The root that the path is resolved from.
    pub root: RootId,
    /// The path below the root's directory, without leading or trailing slash.
    pub path: String,
    /// Where it has to arrive, byte for byte, parents included; otherwise nothing is done and the answer is
    /// [`CommitFailure::Elsewhere`].
    pub expect: TargetPath,
    /// What a final link is.
    pub last: Last,
}

/// One change under its precondition.
#[derive(Debug, Clone)]
pub struct Change {
    /// Where.
    pub place: Place,
    /// What has to be there before the batch.
    pub precondition: Precondition,
    /// What happens.
    pub effect: Effect,
}

/// What happens at a place.
#[derive(Debug, Clone)]
pub enum Effect {
    /// A content is put there.
    Put {
        /// The content.
        content: Content,
        /// The permission bits.
        mode: Mode,
        /// What missing parents are.
        parents: Parents,
    },
    /// The file or link is removed.
    Remove,
    /// The file or link is moved away.
    MoveTo {
        /// Where to.
        to: Place,
        /// What has to be there; [`Precondition::Absent`], others may be unsupported.
        destination: Precondition,
        /// What missing parents of the destination are.
        parents: Parents,
    },
    /// A directory is made.
    MakeDir {
        /// What missing parents are.
        parents: Parents,
    },
    /// A directory is removed, if it is empty. Its precondition is not looked at.
    RemoveDir,
}

/// The permission bits of what is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Those of the file that is replaced; a new file gets the target's own umask and default ACL.
    Keep,
    /// As `Keep`, but a new file is executable as far as the umask lets it be.
    Executable,
    /// Exactly these.
    Set(u32),
}

/// What missing parent directories are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parents {
    /// Made, one at a time, inside the root; removed again if the batch fails and they are empty.
    Make,
    /// An error.
    Require,
}

/// Changes that are made together, or not at all.
#[derive(Debug, Clone)]
pub struct Batch {
    /// Its name.
    pub id: CommitId,
    /// What is reached.
    pub scope: Arc<Scope>,
    /// The changes; at most one a resolved path, both ends of a move counted.
    pub changes: Vec<Change>,
    /// The weakest tier that may publish a replacement.
    pub require: Option<Tier>,
    /// Whether displaced bytes come back.
    pub displaced: Displaced,
    /// What a file that is open for writing elsewhere is.
    pub open_writers: OpenWriters,
    /// What owner, ACL and extended attributes that cannot be kept are.
    pub metadata: Keep,
    /// Whether a mount point may be written in place.
    pub in_place: InPlace,
}

/// Whether displaced bytes come back with the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Displaced {
    /// No.
    Discard,
    /// Yes, of files up to the limit.
    Return {
        /// The limit in bytes.
        max: u64,
    },
}

/// What metadata that cannot be kept is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// A failure, `metadata-loss`, before any effect.
    Require,
    /// Lost, and said in the receipt.
    DangerLose,
}

/// Whether a bind-mounted single file may be written in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InPlace {
    /// No: `busy-mount`.
    Refuse,
    /// Yes; the receipt says that it was not crash-atomic.
    DangerNotAtomic,
}

/// What enforced a precondition, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// Written in place after a check: neither exclusive nor crash-atomic (mount points only, and only when asked).
    InPlace,
    /// Created exclusively, but a reader can see it partial: the filesystem has no hard links.
    CreatedNonatomic,
    /// Checked, renamed over, checked again, restored on a mismatch: the race is narrowed, not closed.
    Window,
    /// An atomic exchange whose displaced inode was judged, or an atomic no-replace primitive.
    Exchange,
}

/// A batch that was carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// One for each change, in order.
    pub changes: Vec<Applied>,
    /// Whether the reply was lost and the batch was found in effect afterwards: then no more is known of what was
    /// there before than what was demanded, and of what is there now than what was asked for; tiers are the weakest
    /// that can have been used.
    pub settled: bool,
}

/// What surely happened to one change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// Where; of a move its source.
    pub resolved: TargetPath,
    /// What was there, with the digest of a regular file.
    pub before: FileState,
    /// What is there now; of a move what is at its destination.
    pub after: FileState,
    /// How it was published.
    pub publish: Publish,
    /// Directories that were made, outermost first.
    pub made: Vec<TargetPath>,
    /// What was kept of the old file's metadata, and what was not.
    pub kept: Kept,
    /// Displaced bytes, where they were asked for.
    pub displaced: Option<Vec<u8>>,
    /// Names under which bytes stay on the target, each with the reason.
    pub left: Vec<String>,
}

/// How a change was published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Publish {
    /// Which primitive enforced the precondition.
    pub tier: Tier,
    /// Whether a lease on the old file held off late writers; `None` where there was no old file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<bool>,
    /// Whether anything was done: identical bytes are verified, not replaced.
    pub changed: bool,
    /// Whether a move was a copy and a removal, across filesystems.
    pub copied: bool,
}

/// What was kept of the old file's metadata.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Kept {
    /// What was lost or dropped: "owner", "xattr user.x", "setuid", "file capabilities".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<String>,
    /// How many other names still have the old bytes.
    pub other_names: u64,
}

impl Kept {
    /// Tells whether all was kept.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        *self == Self::default()
    }
}

/// A batch that was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub struct CommitError {
    /// Why.
    pub cause: CommitFailure,
    /// The change that failed, as an index into the batch, where it was one.
    pub at: Option<usize>,
    /// What became of each change, in order.
    pub fates: Vec<Fate>,
}

/// Why a batch was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommitFailure {
    /// The precondition did not hold.
    #[error("the precondition did not hold")]
    Precondition {
        /// Where.
        resolved: TargetPath,
        /// What was there, with the digest of a regular file within reach.
        found: FileState,
        /// Whether it is a move's destination.
        destination: bool,
    },
    /// The path led elsewhere than demanded.
    #[error("the path leads to {resolved}")]
    Elsewhere {
        /// Where it leads.
        resolved: TargetPath,
        /// What is there.
        state: FileState,
        /// Whether it is a move's destination.
        destination: bool,
    },
    /// Two changes of the batch are of one path.
    #[error("two changes of one path: {resolved}")]
    SamePath {
        /// Which.
        resolved: TargetPath,
    },
    /// The file's mode forbids writing it.
    #[error("{resolved} is read-only")]
    ReadOnlyFile {
        /// Which.
        resolved: TargetPath,
    },
    /// Another process has the file open for writing.
    #[error("{resolved} is open for writing")]
    OpenForWriting {
        /// Which.
        resolved: TargetPath,
    },
    /// The replacement would lose metadata.
    #[error("the replacement of {resolved} would lose {}", lost.join(", "))]
    MetadataLoss {
        /// Which.
        resolved: TargetPath,
        /// What would be lost.
        lost: Vec<String>,
    },
    /// The name is a mount point.
    #[error("{resolved} is a mount point")]
    BusyMount {
        /// Which.
        resolved: TargetPath,
    },
    /// Nothing as strong as the batch requires can publish it.
    #[error("the filesystem offers no more than tier {available:?}")]
    TierUnavailable {
        /// What could.
        available: Tier,
    },
    /// A directory that is to be removed is not empty.
    #[error("{resolved} is not empty")]
    NotEmpty {
        /// Which.
        resolved: TargetPath,
    },
    /// The staged bytes were not those that the content announced.
    #[error("the content's source gave other bytes than announced")]
    ContentMismatch,
    /// The target failed.
    #[error(transparent)]
    Op(#[from] OpError),
}

/// What became of a change of a batch that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fate", rename_all = "kebab-case")]
pub enum Fate {
    /// It was never published.
    Untouched,
    /// It was published and taken back.
    Restored,
    /// Something stays: under which name, and why.
    Left {
        /// The names and the reason.
        what: String,
    },
    /// Not known.
    Unknown,
}

/// What became of a commit whose reply was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// Every change is in effect.
    Applied {
        /// Names under which bytes stay, each with the reason.
        left: Vec<String>,
    },
    /// No change is in effect.
    NotApplied {
        /// Names under which bytes stay, each with the reason.
        left: Vec<String>,
    },
    /// Neither: another writer was there too, or only a part is in effect.
    Conflict {
        /// What became of each change.
        fates: Vec<Fate>,
    },
}

impl Settled {
    /// Every change is in effect, and nothing else is left.
    pub const APPLIED: Self = Self::Applied { left: Vec::new() };
    /// No change is in effect, and nothing is left.
    pub const NOT_APPLIED: Self = Self::NotApplied { left: Vec::new() };
}
