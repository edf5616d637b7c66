//! The roots that an actor reaches: those of its guard, and those that were granted to it alone.

use std::sync::{Arc, Mutex, PoisonError};

use guard_policy::{Access, Code, Held, Refusal, RootEntry, Roots, TargetPath};

use crate::Failure;
use crate::actor::ActorState;
use crate::guard::is_one_in_the_other;
use crate::port::RootSpec;
use crate::refuse::op_error;

/// The roots that one actor reaches by now.
///
/// A call takes them once, when it begins: what is granted or revoked meanwhile is for the next one.
pub(crate) struct Reach(Mutex<Reached>);

struct Reached {
    all: Arc<Roots>,
    granted: Vec<RootEntry>,
}

impl Reach {
    /// Begins with the roots of the guard.
    pub(crate) fn new(roots: &Arc<Roots>) -> Self {
        Self(Mutex::new(Reached { all: Arc::clone(roots), granted: Vec::new() }))
    }

    pub(crate) fn roots(&self) -> Arc<Roots> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner).all)
    }

    /// Changes what is granted, and makes all roots of it anew.
    fn change<T>(&self, of_guard: &Roots, change: impl FnOnce(&mut Vec<RootEntry>) -> T) -> T {
        let mut reached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut reached.granted);
        reached.all =
            Arc::new(Roots::new(of_guard.entries().iter().chain(&reached.granted).cloned().collect()));
        result
    }
}

/// Opens a root for this actor alone, and tells what may be done there now.
pub(crate) async fn grant(actor: &ActorState, path: &TargetPath, access: Access) -> Result<Access, Failure> {
    let opened = actor.guard.ops.open_root(&RootSpec { path: path.clone() }).await;
    let opened = opened.map_err(|error| op_error(path.as_str(), &error))?;
    let Held::To(held) = actor.rights.held(&opened.path) else {
        return Err(actor.rights.outside(path.as_str()).into());
    };
    if actor.guard.undo_at.as_ref().is_some_and(|undo| is_one_in_the_other(undo, &opened.path)) {
        let why = "the store of old bytes is there";
        return Err(Refusal::new(Code::SensitivePath, path.as_str(), why).into());
    }
    let aliases = if opened.path == *path { Vec::new() } else { vec![path.clone()] };
    let entry = RootEntry { id: opened.id, physical: opened.path, aliases, access };
    let physical = entry.physical.clone();
    actor.reach.change(&actor.guard.roots, |granted| {
        granted.retain(|old| old.physical != entry.physical);
        granted.push(entry);
    });
    let reached = actor.reach.roots();
    Ok(reached.holding(&physical).map_or(access, |root| root.access).min(held))
}

/// Takes back what was granted under this spelling or as this directory; tells whether there was anything.
pub(crate) fn revoke(actor: &ActorState, path: &TargetPath) -> bool {
    actor.reach.change(&actor.guard.roots, |granted| {
        let before = granted.len();
        granted.retain(|root| root.physical != *path && !root.aliases.contains(path));
        granted.len() < before
    })
}
