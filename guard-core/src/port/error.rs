//! What can go wrong on a target.

use guard_policy::{FileState, TargetPath};

use super::CommitId;

/// A request that failed. What could not be established is here and is never a state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpError {
    /// A directory in the path is not there (ENOENT for a parent), or the root is gone.
    #[error("{path}: not found")]
    NotFound {
        /// The path that is not there.
        path: String,
    },
    /// A component that has to be a directory is none (ENOTDIR).
    #[error("{path}: not a directory")]
    NotDirectory {
        /// The path that is no directory.
        path: String,
    },
    /// The operation is for regular files.
    #[error("{path} is {}", state.describe())]
    NotRegular {
        /// The path.
        path: TargetPath,
        /// What is there.
        state: FileState,
    },
    /// The path leads out of the roots.
    #[error("the path leads outside the root")]
    OutsideRoot,
    /// The path led elsewhere than the request demanded; nothing was done.
    #[error("the path leads to {resolved}")]
    Elsewhere {
        /// Where it leads.
        resolved: TargetPath,
        /// What is there.
        state: FileState,
    },
    /// The directory that was opened as the root is not at its path any more.
    #[error("the root {path} was replaced or moved")]
    RootReplaced {
        /// The root's path.
        path: TargetPath,
    },
    /// Too many links (ELOOP).
    #[error("too many symbolic links in the path")]
    Loop,
    /// A name or path is too long for the target (ENAMETOOLONG).
    #[error("the path is too long for the target")]
    NameTooLong,
    /// The target forbids it (EACCES, EPERM). On a parent it is not absence.
    #[error("{path}: permission denied")]
    PermissionDenied {
        /// The path.
        path: String,
    },
    /// Larger than a limit.
    #[error("{len} bytes are over the limit of {limit}")]
    TooLarge {
        /// The size in bytes.
        len: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The file kept changing while it was read.
    #[error("the file kept changing while it was read")]
    Torn,
    /// The path kept leading elsewhere, or stopped leading where the change was published.
    #[error("the path kept leading elsewhere")]
    UnstablePath,
    /// No space, or over quota (ENOSPC, EDQUOT).
    #[error("no space left on the target")]
    NoSpace,
    /// The filesystem is mounted read-only (EROFS).
    #[error("read-only filesystem")]
    ReadOnlyFilesystem,
    /// The target reported an I/O error or one that has no variant of its own.
    #[error("{what}: {errno}")]
    Io {
        /// What was being done.
        what: String,
        /// The target's words for the error.
        errno: String,
    },
    /// The target cannot do this.
    #[error("unsupported: {what}")]
    Unsupported {
        /// What.
        what: String,
    },
    /// The target is another machine than the one that was opened.
    #[error("the target is another machine than the one that was opened")]
    TargetChanged,
    /// No complete request left this side: it was certainly not carried out.
    #[error("the target is unavailable: {why}")]
    Unavailable {
        /// Why.
        why: String,
    },
    /// The request left, and its reply was lost: ask [`super::FileOps::settle`].
    #[error("the outcome of {commit} is unknown")]
    OutcomeUnknown {
        /// Which commit.
        commit: CommitId,
    },
}
