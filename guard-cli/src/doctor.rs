//! What the target is and can do.

use guard_core::policy::{Access, FileState, TargetPath};
use guard_core::port::{Capabilities, TargetId};
use serde::Serialize;

use crate::run::Ended;
use crate::target::Opened;

/// Names that a search for leftovers looks at, at most.
const NAMES: u64 = 10_000_000;

/// What the target is and can do.
#[derive(Debug, Serialize)]
pub(crate) struct Diagnosis {
    /// Which filesystem.
    pub(crate) target: TargetId,
    /// What its tools can do.
    #[serde(flatten)]
    pub(crate) capabilities: Capabilities,
    /// The roots that were opened, the base of relative paths first.
    pub(crate) roots: Vec<OpenedRoot>,
    /// What commits of dead processes left behind, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) leftovers: Option<Leftovers>,
}

/// A root.
#[derive(Debug, Serialize)]
pub(crate) struct OpenedRoot {
    /// Its physical path.
    pub(crate) path: TargetPath,
    /// What may be done below it.
    pub(crate) access: Access,
}

/// What commits of dead processes left behind.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Leftovers {
    /// The files.
    pub(crate) found: Vec<Leftover>,
    /// What could not be looked into, each with the reason.
    pub(crate) skipped: Vec<String>,
    /// Whether there were more names than were looked at.
    pub(crate) incomplete: bool,
}

/// One file under a temporary name.
#[derive(Debug, Serialize)]
pub(crate) struct Leftover {
    /// Where it is.
    pub(crate) path: TargetPath,
    /// What it is.
    pub(crate) state: FileState,
}

/// Asks the target.
pub(crate) async fn diagnose(opened: &Opened, leftovers: bool) -> Result<Diagnosis, Ended> {
    let ops = opened.guard.target();
    let entries = opened.guard.roots().entries();
    let roots = entries.iter().map(|root| OpenedRoot { path: root.physical.clone(), access: root.access });
    let leftovers = if leftovers { Some(find(opened).await?) } else { None };
    Ok(Diagnosis {
        target: ops.target().clone(),
        capabilities: ops.capabilities().clone(),
        roots: roots.collect(),
        leftovers,
    })
}

async fn find(opened: &Opened) -> Result<Leftovers, Ended> {
    let mut all = Leftovers::default();
    for root in opened.guard.roots().entries() {
        let found = opened.local.leftovers(root.id, NAMES).await;
        let found = found.map_err(|error| Ended::Unavailable(format!("{}: {error}", root.physical)))?;
        for file in found.found {
            // Roots can hold one another.
            if !all.found.iter().any(|known| known.path == file.path) {
                all.found.push(Leftover { path: file.path, state: file.state });
            }
        }
        all.skipped.extend(found.skipped);
        all.incomplete |= found.incomplete;
    }
    Ok(all)
}
