//! The decision.

use crate::rules::seen::{self, Outcome};
use crate::rules::{Spellings, containment, content, documents, form, protected, rights, sensitive};
use crate::{Call, Facts, Policy, Precondition, Refusal};

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
    /// With the state and the class known (and with the state the digest of a regular file within the limit), a
    /// decision is never undecided.
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
/// The order of the checks is fixed, and the first that refuses speaks: the actor's rights; the path's form;
/// containment; sensitive paths and secrets; protected instructions; documents and binary names; the content; then
/// what the actor has seen, which gives the precondition.
///
/// # Examples
///
/// A write of what was never read demands that nothing is there, and the target enforces it:
///
/// ```
/// use guard_policy::{
///     Access, Act, Approval, ApproverSet, Call, Code, Fact, Facts, FileState, PathError, Policy, Precondition,
///     Rights, RootEntry, RootId, Roots, Seen, TargetPath, Tool, Verdict, decide,
/// };
///
/// let root = RootEntry {
///     id: RootId(0),
///     physical: TargetPath::new("/ws")?,
///     aliases: Vec::new(),
///     access: Access::ReadWrite,
/// };
/// let (roots, rights, path) = (Roots::new(vec![root]), Rights::default(), TargetPath::new("/ws/app.toml")?);
/// let call =
///     Call { tool: Tool::WriteFile, act: Act::Write, requested: "app.toml", text: None, expect: None };
/// let facts = Facts {
///     rights: &rights,
///     approver: ApproverSet::No,
///     roots: &roots,
///     home: Fact::Unknown,
///     path: &path,
///     state: Fact::Unknown,
///     class: Fact::Unknown,
///     seen: Seen::Nothing,
/// };
/// assert_eq!(
///     decide(&Policy::default(), &call, &facts),
///     Verdict::Allow { precondition: Some(Precondition::Absent), approval: Approval::NotRequired },
/// );
///
/// // The target found a file: the same question with that fact says what to do next.
/// let found = FileState::Regular { len: 7, mode: 0o644, nlink: 1, digest: None };
/// let Verdict::Refuse(refusal) =
///     decide(&Policy::default(), &call, &Facts { state: Fact::Known(&found), ..facts })
/// else {
///     unreachable!("a file that was not read is not overwritten");
/// };
/// assert_eq!(refusal.code, Code::NotRead);
/// assert_eq!(refusal.message, "This actor has not read `app.toml`, and the call would destroy what is there.");
/// # Ok::<(), PathError>(())
/// ```
#[must_use]
pub fn decide(policy: &Policy, call: &Call<'_>, facts: &Facts<'_>) -> Verdict {
    match judge(policy, call, facts) {
        Ok((Outcome::Free, approval)) => Verdict::Allow { precondition: None, approval },
        Ok((Outcome::Under(precondition), approval)) => {
            Verdict::Allow { precondition: Some(precondition), approval }
        }
        Ok((Outcome::Undecided, _)) => Verdict::Undecided,
        Err(refusal) => Verdict::Refuse(refusal),
    }
}

fn judge(policy: &Policy, call: &Call<'_>, facts: &Facts<'_>) -> Result<(Outcome, Approval), Refusal> {
    rights::check(policy, call, facts)?;
    form::check(call)?;
    containment::check(policy, call, facts)?;
    let spellings = Spellings::of(call, facts);
    sensitive::check(policy, call, facts, &spellings)?;
    let approval = protected::check(policy, call, facts, &spellings)?;
    let kind = documents::check(policy, call, &spellings)?;
    content::check(policy, call)?;
    let outcome = seen::check(policy, call, facts, kind)?;
    Ok((outcome, approval))
}
