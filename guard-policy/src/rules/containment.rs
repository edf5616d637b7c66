//! Below a root, and below one that may be written to.

use crate::{Access, Call, Code, Facts, Policy, Refusal};

/// Refuses what is outside every root, and changes below a root that may only be read.
///
/// With `restrict = false` a path below no root is free; a root that was opened for reading stays so.
pub(crate) fn check(policy: &Policy, call: &Call<'_>, facts: &Facts<'_>) -> Result<(), Refusal> {
    match facts.roots.holding(facts.path) {
        None if policy.restrict => Err(facts.roots.outside(call.requested)),
        Some(root) if root.access == Access::ReadOnly && call.act.mutates() => {
            Err(Refusal::new(Code::ReadOnlyRoot, call.requested, ""))
        }
        _ => Ok(()),
    }
}
