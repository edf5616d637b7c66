//! The stable codes of refusals.

use serde::{Deserialize, Serialize};

/// Stable codes of refusals: a public, append-only list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Code {
    /// The arguments are not of the tool's form; the message names the allowed ones.
    InvalidArguments,
    /// The path is empty, holds a NUL, is too long, or names a directory by a trailing slash where a file is meant.
    InvalidPath,
    /// The policy or the actor's rights do not have this tool.
    ToolDisabled,
    /// The actor may only read.
    ReadOnlyActor,
    /// The path leads out of the workspace roots.
    OutsideRoot,
    /// The root may only be read.
    ReadOnlyRoot,
    /// The path is configuration or system state that tools do not touch.
    SensitivePath,
    /// The path holds credentials; they are not read either.
    Secret,
    /// Instructions for agents change only with an approver.
    ApprovalRequired,
    /// The approver said no.
    ApprovalDenied,
    /// The name is of an office document, which text would destroy.
    OpaqueDocument,
    /// The name is of a SQLite journal, which text would destroy.
    SqliteSidecar,
    /// A PDF is there, which text would destroy.
    PdfExists,
    /// A binary file is there, which text would destroy.
    BinaryExists,
    /// The content is binary; text tools do not apply.
    BinaryContent,
    /// The content is in a legacy encoding; a whole-file write would change every byte of it.
    #[serde(rename = "not-utf8")]
    NotUtf8,
    /// What is there is no regular file (a directory, a FIFO, a socket, a device, a link).
    NotRegular,
    /// Nothing is there.
    NotFound,
    /// A parent in the path is no directory, or the path lists something that is none.
    NotADirectory,
    /// Something is there, and the call demands absence.
    Exists,
    /// The file exists and this actor has not seen it.
    NotRead,
    /// This actor has seen only a part of the file.
    PartiallyRead,
    /// The file is not what this actor has seen.
    Stale,
    /// The caller's expectation is not what this actor has seen.
    Expectation,
    /// The content is a display of a file, with line numbers in it.
    ToolEcho,
    /// The content or file is over a limit.
    TooLarge,
    /// An edit's old text is empty.
    EmptyOld,
    /// An edit's old and new texts are equal.
    NoChange,
    /// An edit's old text does not occur.
    NoMatch,
    /// An edit's old text occurs more than once.
    Ambiguous,
    /// An edit's old text does not occur and its new text does, once.
    AlreadyApplied,
    /// The file kept changing; the edit lost its compare-and-swap three times.
    Conflict,
    /// The file kept changing while it was read.
    TornRead,
    /// The path kept leading elsewhere.
    UnstablePath,
    /// The root is no longer the directory that was opened.
    RootReplaced,
    /// The file's mode forbids writing it.
    ReadOnlyFile,
    /// Another process has the file open for writing.
    OpenForWriting,
    /// The replacement would lose owner, ACL or extended attributes.
    MetadataLoss,
    /// The name is a mount point and cannot be replaced.
    BusyMount,
    /// The directory's filesystem has no primitive of the required strength.
    TierUnavailable,
    /// The directory is not empty.
    NotEmpty,
    /// The target's permissions forbid it.
    PermissionDenied,
    /// The target has no space, or a quota is used up.
    NoSpace,
    /// The target's filesystem is mounted read-only.
    ReadOnlyFilesystem,
    /// The target reported an I/O error.
    IoError,
    /// The target or this file does not support it.
    Unsupported,
    /// The target cannot be asked; nothing was done.
    StateUnavailable,
    /// The target is another machine than the one that was opened.
    TargetChanged,
    /// The request may or may not have been carried out.
    OutcomeUnknown,
    /// The patch does not parse, or does not fit the files; the message has every reason.
    InvalidPatch,
    /// The patch is meant for another environment.
    EnvironmentMismatch,
    /// Two paths of the patch lead to one file.
    AliasInPatch,
    /// The caller gave the call up before it was done; it is only ever in an audit line.
    Cancelled,
    /// A call cannot be undone: nothing was kept of what it displaced.
    CannotUndo,
}

impl Code {
    /// Every code, in the order in which they were added.
    pub const ALL: &'static [Self] = &[
        Self::InvalidArguments,
        Self::InvalidPath,
        Self::ToolDisabled,
        Self::ReadOnlyActor,
        Self::OutsideRoot,
        Self::ReadOnlyRoot,
        Self::SensitivePath,
        Self::Secret,
        Self::ApprovalRequired,
        Self::ApprovalDenied,
        Self::OpaqueDocument,
        Self::SqliteSidecar,
        Self::PdfExists,
        Self::BinaryExists,
        Self::BinaryContent,
        Self::NotUtf8,
        Self::NotRegular,
        Self::NotFound,
        Self::NotADirectory,
        Self::Exists,
        Self::NotRead,
        Self::PartiallyRead,
        Self::Stale,
        Self::Expectation,
        Self::ToolEcho,
        Self::TooLarge,
        Self::EmptyOld,
        Self::NoChange,
        Self::NoMatch,
        Self::Ambiguous,
        Self::AlreadyApplied,
        Self::Conflict,
        Self::TornRead,
        Self::UnstablePath,
        Self::RootReplaced,
        Self::ReadOnlyFile,
        Self::OpenForWriting,
        Self::MetadataLoss,
        Self::BusyMount,
        Self::TierUnavailable,
        Self::NotEmpty,
        Self::PermissionDenied,
        Self::NoSpace,
        Self::ReadOnlyFilesystem,
        Self::IoError,
        Self::Unsupported,
        Self::StateUnavailable,
        Self::TargetChanged,
        Self::OutcomeUnknown,
        Self::InvalidPatch,
        Self::EnvironmentMismatch,
        Self::AliasInPatch,
        Self::Cancelled,
        Self::CannotUndo,
    ];

    /// Returns the code as it is written on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArguments => "invalid-arguments",
            Self::InvalidPath => "invalid-path",
            Self::ToolDisabled => "tool-disabled",
            Self::ReadOnlyActor => "read-only-actor",
            Self::OutsideRoot => "outside-root",
            Self::ReadOnlyRoot => "read-only-root",
            Self::SensitivePath => "sensitive-path",
            Self::Secret => "secret",
            Self::ApprovalRequired => "approval-required",
            Self::ApprovalDenied => "approval-denied",
            Self::OpaqueDocument => "opaque-document",
            Self::SqliteSidecar => "sqlite-sidecar",
            Self::PdfExists => "pdf-exists",
            Self::BinaryExists => "binary-exists",
            Self::BinaryContent => "binary-content",
            Self::NotUtf8 => "not-utf8",
            Self::NotRegular => "not-regular",
            Self::NotFound => "not-found",
            Self::NotADirectory => "not-a-directory",
            Self::Exists => "exists",
            Self::NotRead => "not-read",
            Self::PartiallyRead => "partially-read",
            Self::Stale => "stale",
            Self::Expectation => "expectation",
            Self::ToolEcho => "tool-echo",
            Self::TooLarge => "too-large",
            Self::EmptyOld => "empty-old",
            Self::NoChange => "no-change",
            Self::NoMatch => "no-match",
            Self::Ambiguous => "ambiguous",
            Self::AlreadyApplied => "already-applied",
            Self::Conflict => "conflict",
            Self::TornRead => "torn-read",
            Self::UnstablePath => "unstable-path",
            Self::RootReplaced => "root-replaced",
            Self::ReadOnlyFile => "read-only-file",
            Self::OpenForWriting => "open-for-writing",
            Self::MetadataLoss => "metadata-loss",
            Self::BusyMount => "busy-mount",
            Self::TierUnavailable => "tier-unavailable",
            Self::NotEmpty => "not-empty",
            Self::PermissionDenied => "permission-denied",
            Self::NoSpace => "no-space",
            Self::ReadOnlyFilesystem => "read-only-filesystem",
            Self::IoError => "io-error",
            Self::Unsupported => "unsupported",
            Self::StateUnavailable => "state-unavailable",
            Self::TargetChanged => "target-changed",
            Self::OutcomeUnknown => "outcome-unknown",
            Self::InvalidPatch => "invalid-patch",
            Self::EnvironmentMismatch => "environment-mismatch",
            Self::AliasInPatch => "alias-in-patch",
            Self::Cancelled => "cancelled",
            Self::CannotUndo => "cannot-undo",
        }
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
