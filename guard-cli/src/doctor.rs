//! What the target is and can do.

mod shell;
mod walk;

use guard_core::policy::{Access, FileState, RootEntry, TargetPath};
use guard_core::port::{Capabilities, TargetId, Tier};
use guard_core::{Guard, OpenError};
use serde::Serialize;

pub(crate) use self::shell::Facts;
use crate::run::Ended;
use crate::target::{Connected, TargetError};

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
    /// What enforces a precondition.
    pub(crate) tiers: Tiers,
    /// Its shell, where it is reached by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shell: Option<Facts>,
    /// The roots that were opened, the base of relative paths first.
    pub(crate) roots: Vec<OpenedRoot>,
    /// What commits of dead processes left behind, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) leftovers: Option<Leftovers>,
}

/// What enforces a precondition, for each kind of change. The receipt says what it was.
#[derive(Debug, Serialize)]
pub(crate) struct Tiers {
    /// A new file.
    pub(crate) create: Tier,
    /// A new file on a filesystem that has no hard links.
    pub(crate) create_without_hard_links: Tier,
    /// A replacement or a deletion.
    pub(crate) replace: Tier,
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
pub(crate) async fn diagnose(
    connected: &Connected,
    guard: Option<&Guard>,
    leftovers: bool,
) -> Result<Diagnosis, Ended> {
    let entries = guard.map(|guard| guard.roots().entries()).unwrap_or_default();
    let roots = entries.iter().map(|root| OpenedRoot { path: root.physical.clone(), access: root.access });
    let leftovers = if leftovers { Some(find(connected, entries).await?) } else { None };
    Ok(Diagnosis {
        target: connected.ops.target().clone(),
        capabilities: connected.ops.capabilities().clone(),
        tiers: Tiers {
            create: Tier::Exchange,
            create_without_hard_links: Tier::CreatedNonatomic,
            replace: connected.ops.capabilities().tier,
        },
        shell: connected.hello.as_ref().map(Facts::of),
        roots: roots.collect(),
        leftovers,
    })
}

async fn find(connected: &Connected, roots: &[RootEntry]) -> Result<Leftovers, Ended> {
    let mut all = Leftovers::default();
    let mut left = NAMES;
    for root in roots {
        let found = match &connected.local {
            Some(local) => local.leftovers(root.id, NAMES).await,
            None => walk::below(&*connected.ops, root, &mut left).await,
        };
        let found = found
            .map_err(|error| TargetError::Root(OpenError::Root { path: root.physical.clone(), error }))?;
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
