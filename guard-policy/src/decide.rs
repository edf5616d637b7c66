//! The decision.

use crate::{Call, ContentClass, Facts, Policy, Precondition, Refusal};

/// What may be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The call may be made.
    Allow {
        /// What the target has to find; reading calls have none.
        precondition: Option<Precondition>,
        /// Whether somebody has to say yes first.
        approval: Approval,
    },
    /// The state (or the class) of the path decides: learn it and ask again.
    ///
    /// With the state and the class known, a decision is never undecided.
    Undecided,
    /// The call may not be made.
    Refuse(Refusal),
}

/// Whether somebody has to say yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Approval {
    /// Yes.
    Required,
    /// No (an approver that is set is asked all the same).
    NotRequired,
}

/// Decides on one path of one call.
///
/// The order of the checks is fixed, and the first that refuses speaks: the actor's rights; containment; sensitive
/// and protected paths; documents and binaries; the content; then what the actor has seen, which gives the
/// precondition.
#[must_use]
pub fn decide(policy: &Policy, call: &Call<'_>, facts: &Facts<'_>) -> Verdict {
    let _ = (policy, call, facts);
    Verdict::Undecided
}

/// Judges the content that a read is about to deliver, or that an edit is about to change: which text tool applies
/// to which class.
///
/// # Errors
///
/// `binary-content` for an edit of binary content, `not-utf8` for a whole-file write over a legacy encoding.
pub fn judge_delivered(policy: &Policy, call: &Call<'_>, class: ContentClass) -> Result<(), Refusal> {
    let _ = (policy, call, class);
    Ok(())
}
