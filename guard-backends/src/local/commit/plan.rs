//! Where the changes are and what is there, before anything is done.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use guard_core::policy::{OpenWriters, Precondition, TargetPath};
use guard_core::port::{Change, CommitFailure, Effect, Mode, OpError, Parents, Place, Step};
use rustix::fs::{Access, AtFlags};
use rustix::io::Errno;

use super::look::{self, Old, Reach, Regular, Thing};
use super::{Cx, Failed, Stop, Work, fail};
use crate::local::lease::Taken;
use crate::local::resolve::{self, Spot};
use crate::local::{Lease, read};

/// One end of a change.
#[derive(Debug, Clone)]
pub(super) struct Site {
    /// The directory that holds the name, once it exists.
    pub(super) dir: Arc<OwnedFd>,
    pub(super) dir_path: TargetPath,
    /// Directories on the way that do not exist.
    pub(super) missing: Vec<String>,
    pub(super) name: String,
    pub(super) path: TargetPath,
}

/// A change that leads where it was demanded to lead.
pub(super) struct Planned<'a> {
    pub(super) index: usize,
    pub(super) change: &'a Change,
    pub(super) site: Site,
    /// A move's destination.
    pub(super) to: Option<Site>,
}

/// Resolves every place and compares it with where it has to lead.
pub(super) fn plan<'a>(cx: &Cx<'a>) -> Result<Vec<Planned<'a>>, Stop> {
    let mut paths = BTreeSet::new();
    let mut planned = Vec::with_capacity(cx.batch.changes.len());
    for (index, change) in cx.batch.changes.iter().enumerate() {
        let fail = |cause: CommitFailure| Stop::at(index)(cause);
        is_supported(change).map_err(fail)?;
        let site = arrive(cx, &change.place, &change.effect, false).map_err(fail)?;
        let to = match &change.effect {
            Effect::MoveTo { to, .. } => Some(arrive(cx, to, &change.effect, true).map_err(fail)?),
            _ => None,
        };
        for site in [Some(&site), to.as_ref()].into_iter().flatten() {
            if !paths.insert(site.path.clone()) {
                return Err(fail(CommitFailure::SamePath { resolved: site.path.clone() }));
            }
        }
        cx.step(Step::Resolved(&site.path));
        planned.push(Planned { index, change, site, to });
    }
    Ok(planned)
}

/// Refuses what no file system could carry out as it is meant.
fn is_supported(change: &Change) -> Result<(), CommitFailure> {
    let what = match (&change.effect, &change.precondition) {
        (Effect::MoveTo { destination, .. }, _) if *destination != Precondition::Absent => {
            "a move to a name that need not be absent"
        }
        (Effect::Put { .. } | Effect::Remove, Precondition::Exists) => {
            "the precondition `exists` for anything but a move"
        }
        (Effect::Put { .. }, Precondition::Link { .. }) => "putting a content where a link is",
        (Effect::MoveTo { .. }, Precondition::DangerAny) => "moving whatever is there",
        _ => return Ok(()),
    };
    Err(OpError::Unsupported { what: what.to_owned() }.into())
}

fn arrive(cx: &Cx<'_>, place: &Place, effect: &Effect, destination: bool) -> Result<Site, CommitFailure> {
    let spot = resolve::resolve(cx.local, (place.root, &place.path), place.last, &cx.batch.scope)?;
    if spot.path != place.expect {
        let state = state(&spot)?;
        return Err(CommitFailure::Elsewhere { resolved: spot.path, state, destination });
    }
    let Spot { dir, dir_path, missing, name, path, .. } = spot;
    // A root's own name is in a directory that is not the root's.
    let Some(name) = name else {
        return Err(match effect {
            Effect::RemoveDir => OpError::OutsideRoot.into(),
            _ => CommitFailure::Precondition {
                resolved: path,
                found: guard_core::policy::FileState::Directory,
                destination,
            },
        });
    };
    Ok(Site { dir, dir_path, missing, name, path })
}

fn state(spot: &Spot) -> Result<guard_core::policy::FileState, OpError> {
    let depth = guard_core::port::Depth::Digest { max: look::TOLD_MAX };
    match read::found(spot, depth) {
        Ok(found) => Ok(found.state),
        // Where it leads is what matters here; a digest that cannot be had is left out.
        Err(OpError::PermissionDenied { .. } | OpError::Torn) => {
            read::found(spot, guard_core::port::Depth::State).map(|found| found.state)
        }
        Err(error) => Err(error),
    }
}

/// Looks at what has to be there. It has no effect, so that a stale expectation leaves no trace.
pub(super) fn first_look(plan: &Planned<'_>) -> Result<Old, CommitFailure> {
    let Planned { change, site, to, .. } = plan;
    let parents = match &change.effect {
        Effect::Put { parents, .. } | Effect::MakeDir { parents } => *parents,
        _ => Parents::Require,
    };
    let thing = match &change.effect {
        Effect::RemoveDir => removable(site)?,
        Effect::MakeDir { .. } => expected(site, &Precondition::Absent, false)?,
        Effect::Put { .. } => expected(site, &change.precondition, false)?,
        Effect::Remove | Effect::MoveTo { .. } => {
            let thing = expected(site, &change.precondition, false)?;
            if matches!(thing, Thing::Absent) {
                let (resolved, found) = (site.path.clone(), thing.state());
                return Err(CommitFailure::Precondition { resolved, found, destination: false });
            }
            thing
        }
    };
    may_make(site, parents)?;
    if let (Some(to), Effect::MoveTo { destination, parents, .. }) = (to, &change.effect) {
        expected(to, destination, true)?;
        may_make(to, *parents)?;
    }
    if let (Effect::Put { content, mode, .. }, Thing::Regular(old)) = (&change.effect, &thing)
        && !is_identical(content.digest(), *mode, old)
    {
        may_write(site)?;
    }
    Ok(Old { thing, leased: false })
}

/// Compares what is at a site with what has to be; where a parent is missing, nothing is there.
fn expected(site: &Site, precondition: &Precondition, destination: bool) -> Result<Thing, CommitFailure> {
    if site.missing.is_empty() {
        return look::demand(site, precondition, destination);
    }
    look::holds(site, precondition, &Thing::Absent, destination)?;
    Ok(Thing::Absent)
}

fn removable(site: &Site) -> Result<Thing, CommitFailure> {
    let thing = if site.missing.is_empty() {
        look::look(&site.dir, &site.name, Reach::Told, &site.path)?
    } else {
        Thing::Absent
    };
    match thing.state() {
        guard_core::policy::FileState::Directory => Ok(thing),
        guard_core::policy::FileState::Absent => {
            Err(OpError::NotFound { path: site.path.to_string() }.into())
        }
        _ => Err(OpError::NotDirectory { path: site.path.to_string() }.into()),
    }
}

fn may_make(site: &Site, parents: Parents) -> Result<(), CommitFailure> {
    match (site.missing.first(), parents) {
        (Some(name), Parents::Require) => Err(OpError::NotFound { path: super::beside(site, name) }.into()),
        _ => Ok(()),
    }
}

/// Tells whether nothing would change.
pub(super) fn is_identical(content: guard_core::policy::Digest, mode: Mode, old: &Regular) -> bool {
    let same_mode = match mode {
        Mode::Keep | Mode::Executable => true,
        Mode::Set(mode) => mode & 0o7777 == old.meta.mode,
    };
    same_mode && old.digest == Some(content)
}

/// Refuses a file that the mode forbids to write, although a rename could replace it.
fn may_write(site: &Site) -> Result<(), CommitFailure> {
    let flags = AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW;
    let name = site.name.as_bytes();
    let asked = rustix::fs::accessat(&site.dir, name, Access::WRITE_OK, flags);
    // Linux before 5.8 knows no flags here (EINVAL, ENOSYS): then the real user is asked about, who is the same.
    let asked = match asked {
        Err(Errno::INVAL | Errno::NOSYS) => {
            rustix::fs::accessat(&site.dir, name, Access::WRITE_OK, AtFlags::empty())
        }
        asked => asked,
    };
    match asked {
        Ok(()) => Ok(()),
        // EPERM: the file is immutable (ioctl_iflags(2)).
        Err(Errno::ACCESS | Errno::PERM) => Err(CommitFailure::ReadOnlyFile { resolved: site.path.clone() }),
        Err(errno) => Err(fail(errno, "asking for access to", site)),
    }
}

/// Looks again, right before publishing; a file that is going to be displaced is leased.
pub(super) fn second_look(cx: &Cx<'_>, work: &mut Work<'_>) -> Result<(), Failed> {
    let Planned { change, site, to, .. } = &work.plan;
    let precondition = &change.precondition;
    match &change.effect {
        // A directory was made with the parents, and is judged by its emptiness where it is removed.
        Effect::MakeDir { .. } | Effect::RemoveDir => return Ok(()),
        Effect::MoveTo { destination, .. } => {
            let thing = look::demand(site, precondition, false)?;
            if let Some(to) = to {
                look::demand(to, destination, true)?;
            }
            work.old = Old { thing, leased: false };
        }
        Effect::Put { .. } | Effect::Remove => {
            if matches!(work.old.thing, Thing::Regular(_)) && cx.local.lease == Lease::Try {
                let (old, taken) = look::demand_leased(site, precondition)?;
                cx.step(Step::Leased(&site.path, old.leased));
                if taken == Taken::OpenForWriting && cx.batch.open_writers == OpenWriters::Refuse {
                    return Err(CommitFailure::OpenForWriting { resolved: site.path.clone() }.into());
                }
                replan(cx, work, old)?;
            } else {
                let thing = look::demand(site, precondition, false)?;
                replan(cx, work, Old { thing, leased: false })?;
            }
        }
    }
    Ok(())
}

/// Takes what was found at the second look, and stages anew where that is another file than at the first.
fn replan(cx: &Cx<'_>, work: &mut Work<'_>, old: Old) -> Result<(), Failed> {
    let first = std::mem::replace(&mut work.old, old);
    let regular = |thing: &Thing| matches!(thing, Thing::Regular(_));
    if regular(&first.thing) != regular(&work.old.thing)
        && matches!(work.plan.change.effect, Effect::Put { .. })
    {
        // Only `danger: any` lets through both a file and its absence: what is staged is for the other.
        let (resolved, found) = (work.plan.site.path.clone(), work.old.thing.state());
        return Err(CommitFailure::Precondition { resolved, found, destination: false }.into());
    }
    if work.identical
        && let (Effect::Put { content, mode, .. }, Thing::Regular(old)) =
            (&work.plan.change.effect, &work.old.thing)
        && !is_identical(content.digest(), *mode, old)
    {
        // Only `danger: any` lets through another content than at the first look.
        work.identical = false;
        return super::stage::stage(cx, work);
    }
    Ok(super::stage::again(cx, work, &first.thing)?)
}
