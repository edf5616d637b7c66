//! Below a root, and below one that may be written to.

use crate::{Access, Call, Code, Facts, Held, Policy, Refusal};

/// Refuses what is outside every root, or outside of what this actor is held to, and changes where only reading is
/// allowed.
///
/// With `restrict = false` a path below no root is free; a root that was opened for reading stays so, and an actor
/// stays held.
pub(crate) fn check(policy: &Policy, call: &Call<'_>, facts: &Facts<'_>) -> Result<(), Refusal> {
    let root = match facts.roots.holding(facts.path) {
        None if policy.restrict => return Err(facts.roots.outside(call.requested)),
        None => Access::ReadWrite,
        Some(root) => root.access,
    };
    match facts.rights.held(facts.path) {
        Held::Outside => Err(facts.rights.outside(call.requested)),
        Held::To(held) if held.min(root) == Access::ReadOnly && call.act.mutates() => {
            Err(Refusal::new(Code::ReadOnlyRoot, call.requested, ""))
        }
        Held::To(_) => Ok(()),
    }
}
