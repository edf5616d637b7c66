//! From what a target says to what a caller is told.

use guard_policy::{Code, Held, Refusal, TargetPath};

use crate::Failure;
use crate::port::{CommitError, CommitFailure, Fate, OpError};
use crate::request::Request;

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

impl Request {
    /// Tells the caller why a request on `path` failed.
    ///
    /// The target knows every root that was opened on it, and follows a link from one into another: what it tells of a
    /// place that this actor does not reach is told as one thing, whatever is there.
    pub(crate) fn op_error(&self, path: &str, error: &OpError) -> Failure {
        if *error == OpError::OutsideRoot {
            return self.led_outside(path);
        }
        match place(error) {
            Some(place)
                if self.roots.holding(&place).is_none()
                    || self.actor.rights.held(&place) == Held::Outside =>
            {
                self.led_outside(path)
            }
            _ => op_error(path, error),
        }
    }

    /// Refuses a path that led out of what this actor reaches: of its roots, or of what it is held to in them. Which of
    /// both it was says what there is outside.
    pub(crate) fn led_outside(&self, path: &str) -> Failure {
        if self.actor.rights.within.is_empty() {
            self.roots.led_outside(path).into()
        } else {
            self.actor.rights.outside(path).into()
        }
    }

    /// Tells whether the place that an error is of is one that the actor reaches; one that is no path is not.
    pub(crate) fn reaches_place_of(&self, error: &OpError) -> bool {
        place(error).is_some_and(|place| {
            self.roots.holding(&place).is_some() && self.actor.rights.held(&place) != Held::Outside
        })
    }

    /// Tells the caller why a commit on `path` failed, where the guard has no better word for it.
    pub(crate) fn commit_error(&self, path: &str, error: &CommitError) -> Failure {
        match &error.cause {
            CommitFailure::Op(op) => with_fates(self.op_error(path, op), &error.fates),
            _ => commit_error(path, error),
        }
    }
}

/// Returns the place that an error is of, where it is of one.
fn place(error: &OpError) -> Option<TargetPath> {
    match error {
        OpError::NotFound { path } | OpError::NotDirectory { path } | OpError::PermissionDenied { path } => {
            TargetPath::new(path.as_str()).ok()
        }
        OpError::NotRegular { path, .. } | OpError::RootReplaced { path } => Some(path.clone()),
        _ => None,
    }
}

/// Tells a caller why a commit on `path` failed, where nothing is known of who made it.
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
