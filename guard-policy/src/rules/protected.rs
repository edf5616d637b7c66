//! Instructions for agents change only when somebody says yes.

use super::Spellings;
use crate::fold::{self, Places};
use crate::{Approval, ApproverSet, Call, Code, Facts, Policy, Refusal, Switch, names};

const PROTECTED_PATHS: Places = Places::new(names::PROTECTED_PATHS);

/// Tells whether the call needs an approval, and refuses it where nobody can be asked.
///
/// The policy's own entries hold whatever the switch of the built-in list says.
pub(crate) fn check(
    policy: &Policy,
    call: &Call<'_>,
    facts: &Facts<'_>,
    spellings: &Spellings<'_>,
) -> Result<Approval, Refusal> {
    let on = policy.rules.protected_instructions == Switch::On;
    let is_protected = call.act.mutates()
        && spellings.iter().any(|spelling| {
            (on && (fold::is_listed(names::PROTECTED_NAMES, spelling.name())
                || PROTECTED_PATHS.anywhere(&spelling.text).is_some()))
                || policy.protected.iter().any(|entry| fold::ends_with(&spelling.text, entry))
        });
    match (is_protected, facts.approver) {
        (false, _) => Ok(Approval::NotRequired),
        (true, ApproverSet::Yes) => Ok(Approval::Required),
        (true, ApproverSet::No) => Err(Refusal::new(Code::ApprovalRequired, call.requested, "")),
    }
}
