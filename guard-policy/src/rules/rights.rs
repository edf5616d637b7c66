//! What this actor may do at all.

use crate::{Access, Call, Code, Facts, Policy, Refusal};

/// Refuses a tool that does not exist here, and every change by an actor that may only read.
pub(crate) fn check(policy: &Policy, call: &Call<'_>, facts: &Facts<'_>) -> Result<(), Refusal> {
    if policy.disabled_tools.contains(&call.tool) || facts.rights.disabled.contains(&call.tool) {
        return Err(Refusal::new(Code::ToolDisabled, call.requested, call.tool.name()));
    }
    if !call.act.mutates() && !call.tool.mutates() {
        return Ok(());
    }
    if policy.read_only {
        return Err(Refusal::new(Code::ReadOnlyActor, call.requested, "the policy is read-only"));
    }
    if facts.rights.access == Access::ReadOnly {
        return Err(Refusal::new(Code::ReadOnlyActor, call.requested, ""));
    }
    Ok(())
}
