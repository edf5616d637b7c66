//! Somebody who is asked before a change is made.

use async_trait::async_trait;
use guard_policy::{Digest, Tool};

use crate::PlannedChange;

/// Asks somebody about a plan.
///
/// It is never asked about a call that would be refused, and what it approved is what is committed: the plan is
/// bound to the versions that it was made from, and what moved while the approver thought is `stale`.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Answers a proposal.
    async fn approve(&self, proposal: &Proposal<'_>) -> Answer;
}

/// A plan that waits for an answer.
#[derive(Debug)]
pub struct Proposal<'a> {
    /// Whose call.
    pub actor: &'a str,
    /// Which tool.
    pub tool: Tool,
    /// What would change.
    pub changes: &'a [PlannedChange],
    /// Whether the policy demands an approval (else an approver is there and is asked all the same).
    pub required: bool,
    /// The digest of the bytes that would be written, where the call writes.
    pub after: Option<Digest>,
}

/// An approver's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Make the change.
    Approve,
    /// Do not make it; the text is passed on to the caller.
    Deny(String),
}
