//! From what a target says to what a caller is told.

use guard_policy::{Code, Refusal};

use crate::Failure;
use crate::port::{CommitError, CommitFailure, Fate, OpError};

/// Tells a caller why a request on `path` failed.
///
/// A message names the path as it was requested, and never what lies outside the roots.
pub(crate) fn op_error(path: &str, error: &OpError) -> Failure {
    let (code, detail) = match error {
        OpError::NotFound { .. } => (Code::NotFound, "a directory in the path does not exist".to_owned()),
        OpError::NotDirectory { .. } => (Code::NotADirectory, String::new()),
        OpError::NotRegular { state, .. } => (Code::NotRegular, format!("it is {}", state.describe())),
        OpError::OutsideRoot => (Code::OutsideRoot, "it leads out through a link or `..`".to_owned()),
        OpError::Elsewhere { .. } | OpError::UnstablePath => (Code::UnstablePath, String::new()),
        OpError::RootReplaced { .. } => (Code::RootReplaced, String::new()),
        OpError::Loop => (Code::InvalidPath, "it leads through too many symbolic links".to_owned()),
        OpError::NameTooLong => (Code::InvalidPath, "it is too long for the target".to_owned()),
        OpError::PermissionDenied { .. } => (Code::PermissionDenied, String::new()),
        OpError::TooLarge { len, limit } => (Code::TooLarge, format!("{len} bytes, the limit is {limit}")),
        OpError::Torn => (Code::TornRead, String::new()),
        OpError::NoSpace => (Code::NoSpace, String::new()),
        OpError::ReadOnlyFilesystem => (Code::ReadOnlyFilesystem, String::new()),
        OpError::Io { what, errno } => (Code::IoError, format!("{what}: {errno}")),
        OpError::Unsupported { what } => (Code::Unsupported, what.clone()),
        OpError::TargetChanged => (Code::TargetChanged, String::new()),
        OpError::Unavailable { why } => (Code::StateUnavailable, why.clone()),
        OpError::OutcomeUnknown { commit } => {
            return Failure::unknown(Refusal::new(Code::OutcomeUnknown, path, &format!("commit {commit}")));
        }
    };
    Refusal::new(code, path, &detail).into()
}

/// Tells a caller why a commit on `path` failed, where the guard has no better word for it.
pub(crate) fn commit_error(path: &str, error: &CommitError) -> Failure {
    let failure = match &error.cause {
        CommitFailure::Op(op) => op_error(path, op),
        CommitFailure::Precondition { found, .. } => Refusal::stale(path, found).into(),
        CommitFailure::Elsewhere { .. } => Refusal::new(Code::UnstablePath, path, "").into(),
        CommitFailure::SamePath { .. } => {
            Refusal::new(Code::InvalidArguments, path, "two changes of one call are of this path").into()
        }
        CommitFailure::ReadOnlyFile { .. } => Refusal::new(Code::ReadOnlyFile, path, "").into(),
        CommitFailure::OpenForWriting { .. } => Refusal::new(Code::OpenForWriting, path, "").into(),
        CommitFailure::MetadataLoss { lost, .. } => {
            Refusal::new(Code::MetadataLoss, path, &lost.join(", ")).into()
        }
        CommitFailure::BusyMount { .. } => Refusal::new(Code::BusyMount, path, "").into(),
        CommitFailure::TierUnavailable { .. } => {
            Refusal::new(Code::TierUnavailable, path, &error.cause.to_string()).into()
        }
        CommitFailure::NotEmpty { .. } => Refusal::new(Code::NotEmpty, path, "").into(),
        CommitFailure::ContentMismatch => Refusal::new(Code::IoError, path, &error.cause.to_string()).into(),
    };
    with_fates(failure, &error.fates)
}

/// Adds what a failed commit left behind; a change whose fate is unknown makes the outcome unknown.
pub(crate) fn with_fates(mut failure: Failure, fates: &[Fate]) -> Failure {
    for fate in fates {
        match fate {
            Fate::Untouched | Fate::Restored => {}
            Fate::Left { what } => failure.refusal.left.push(what.clone()),
            Fate::Unknown => failure.outcome = crate::Outcome::Unknown,
        }
    }
    failure
}
