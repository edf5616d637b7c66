//! Moving a file or link to a name that nothing has.
//!
//! What is at the destination afterwards is taken for what was moved only if it is the same inode: another writer can
//! have replaced it there, and its content is neither moved nor removed.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use guard_core::policy::{FileState, Precondition};
use guard_core::port::{CommitFailure, Fate, Step, Tier};
use rustix::io::Errno;

use super::create::{self, Created};
use super::look::{self, Old, Reach, Regular, Thing};
use super::plan::Site;
use super::remove::Removed;
use super::{Cx, Done, End, Failed, Published, Work, copy, fail, left, remove};
use crate::local::root::{self, Position};
use crate::local::sys::{self, Id};

/// A file or link that has another name now.
struct Moved {
    from: Site,
    to: Site,
    thing: Thing,
    reach: Reach,
}

/// Publishes a move.
pub(super) fn publish(cx: &Cx<'_>, work: &mut Work<'_>) -> Result<Published, Failed> {
    let Some(to) = work.plan.to.clone() else { return Err(create::nothing_staged().into()) };
    if work.staged.is_some() {
        return copy::publish(cx, work, &to);
    }
    let from = work.plan.site.clone();
    let pinned = pin(&from, &work.old.thing);
    let renamed = if cx.offers(Tier::Exchange) {
        sys::rename_noreplace(&from.dir, from.name.as_bytes(), &to.dir, to.name.as_bytes())
    } else {
        Err(Errno::OPNOTSUPP)
    };
    match renamed {
        Ok(()) => {}
        Err(errno) if sys::is_unsupported(errno) => return by_link(cx, work, &to),
        Err(Errno::XDEV) => return copy::publish(cx, work, &to),
        Err(errno) => return Err(refused(errno, &from, &to).into()),
    }
    let source = work.old.thing.id();
    let arrived = look::id(&to, &to.name) == source;
    cx.step(Step::Exposed(&from.path));
    let precondition = &work.plan.change.precondition;
    let reach = look::reach(precondition);
    let came = look::judge_within(&to, &to.name, reach);
    cx.step(Step::Judged(&from.path));
    let there = came.id().or_else(|| look::id(&to, &to.name));
    if there != source && (there.is_none() || arrived || was_moved(cx, &work.old.thing, pinned.as_ref(), &to))
    {
        return Err(superseded(&from, &to, &came));
    }
    // What is not the inode of the second look was put at the source in the last instant, and was moved for it. Where
    // the kernel does not tell, that is taken for what happened: writers write to files that are there.
    if let Err(cause) = came_out(&from, precondition, &came, source) {
        let fate = back(cx, &from, &to, |site| look::id(site, &site.name) == there);
        return Err(Failed { cause, fate });
    }
    let published = Published::new(came.state(), came.state(), Tier::Exchange);
    Ok(published.with(Moved { from, to, thing: came, reach }))
}

/// Holds what has no descriptor yet: while it is held, no other inode gets its number.
fn pin(from: &Site, thing: &Thing) -> Option<OwnedFd> {
    if let Thing::Regular(Regular { file: Some(_), .. }) = thing {
        return None;
    }
    let held = sys::pin(&from.dir, from.name.as_bytes())?;
    sys::meta(&held).is_ok_and(|meta| Some(meta.id) == thing.id()).then_some(held)
}

/// Tells whether the inode of the second look came to the destination, whatever has that name by now: the kernel
/// knows by which name it was found last (proc(5): ` (deleted)` is appended where it does not have it any more).
fn was_moved(cx: &Cx<'_>, thing: &Thing, pinned: Option<&OwnedFd>, to: &Site) -> bool {
    let held: Option<BorrowedFd<'_>> = match thing {
        Thing::Regular(Regular { file: Some(file), .. }) => Some(file.as_fd()),
        _ => pinned.map(OwnedFd::as_fd),
    };
    if cx.local.position != Position::Kernel {
        return false;
    }
    let Some(path) = held.and_then(|held| root::path_of(held).ok()) else { return false };
    let to = to.path.as_str().as_bytes();
    path == to || path.strip_suffix(b" (deleted)") == Some(to)
}

/// Compares what was moved with the precondition; one that names no content is of the inode that was looked at.
fn came_out(
    from: &Site,
    precondition: &Precondition,
    came: &Thing,
    source: Option<Id>,
) -> Result<(), CommitFailure> {
    look::came_out(from, precondition, came)?;
    if *precondition == Precondition::Exists && came.id() != source {
        let (resolved, found) = (from.path.clone(), came.state());
        return Err(CommitFailure::Precondition { resolved, found, destination: false });
    }
    Ok(())
}

/// Says that what was moved was replaced at its destination, or is gone from there.
fn superseded(from: &Site, to: &Site, came: &Thing) -> Failed {
    let cause = if let Thing::Absent = came {
        let (resolved, found) = (from.path.clone(), look::found(from));
        CommitFailure::Precondition { resolved, found, destination: false }
    } else {
        create::not_ours(to, came)
    };
    Failed { cause, fate: alone(from, to, came) }
}

/// Says what became of what was moved, where it is not what is at the destination.
fn alone(from: &Site, to: &Site, came: &Thing) -> Fate {
    let why = if let Thing::Absent = came {
        format!("what was moved there from {} is not there any more: another writer took it away", from.path)
    } else {
        format!(
            "another writer's content is there, and was left alone; it replaced what was moved there from {}",
            from.path
        )
    };
    left(to, &to.name, &why)
}

/// Renames back what was moved, and makes sure that it was that.
fn back(cx: &Cx<'_>, from: &Site, to: &Site, is_it: impl Fn(&Site) -> bool) -> Fate {
    let back = sys::rename_noreplace(&to.dir, to.name.as_bytes(), &from.dir, from.name.as_bytes());
    cx.step(Step::PutBack(&from.path));
    match back {
        Ok(()) if is_it(from) => Fate::Restored,
        // It was replaced in that instant: back to where its writer put it.
        Ok(()) => match sys::rename_noreplace(&from.dir, from.name.as_bytes(), &to.dir, to.name.as_bytes()) {
            Ok(()) => alone(from, to, &Thing::Unknown),
            Err(_) => left(from, &from.name, &format!("what another writer put at {}", to.path)),
        },
        Err(Errno::NOENT) => alone(from, to, &Thing::Absent),
        Err(Errno::EXIST) => {
            left(to, &to.name, &format!("what was at {}, whose name was taken again", from.path))
        }
        Err(errno) => {
            left(to, &to.name, &format!("what was at {} could not be put back: {errno}", from.path))
        }
    }
}

/// Says why a name could not be given away.
fn refused(errno: Errno, from: &Site, to: &Site) -> CommitFailure {
    match errno {
        Errno::EXIST => CommitFailure::Precondition {
            resolved: to.path.clone(),
            found: look::found(to),
            destination: true,
        },
        Errno::BUSY => CommitFailure::BusyMount { resolved: from.path.clone() },
        Errno::NOENT => match look::found(from) {
            FileState::Absent => CommitFailure::Precondition {
                resolved: from.path.clone(),
                found: FileState::Absent,
                destination: false,
            },
            _ => fail(errno, "moving to", to),
        },
        errno => fail(errno, "moving", from),
    }
}

/// Moves where a rename cannot be kept from replacing: a second name, which replaces nothing, then the first goes.
fn by_link(cx: &Cx<'_>, work: &mut Work<'_>, to: &Site) -> Result<Published, Failed> {
    let (index, from) = (work.plan.index, &work.plan.site);
    let linked = if cx.offers(Tier::Window) {
        sys::link(&from.dir, from.name.as_bytes(), &to.dir, to.name.as_bytes())
    } else {
        Err(Errno::OPNOTSUPP)
    };
    match linked {
        Ok(()) => {}
        Err(errno) if sys::cannot_link(errno) || errno == Errno::XDEV => return copy::publish(cx, work, to),
        Err(errno) => return Err(refused(errno, from, to).into()),
    }
    cx.step(Step::Exposed(&from.path));
    let came = look::judge(to, &to.name);
    let source = work.old.thing.id();
    let there = came.id().or_else(|| look::id(to, &to.name));
    // Not what was looked at, nor what has the source's name since and was linked for it.
    if there.is_none() || (there != source && there != look::id(from, &from.name)) {
        return Err(create::lost(to, &came));
    }
    let precondition = &work.plan.change.precondition;
    let verdict = came_out(from, precondition, &came, source);
    let created = Created::twin(cx, index, (from, to), came);
    if let Err(cause) = verdict {
        let fate = Box::new(created).undo(cx);
        return Err(Failed { cause, fate });
    }
    let (created, removed) =
        take_source(cx, index, from, created, || Ok((Old::nothing(), precondition.clone())))?;
    let before = work.old.thing.state();
    Ok(Published::new(before.clone(), before, Tier::Exchange).with(created).with(removed))
}

/// Takes the source away, now that the destination has what was there. `look` says what it has to be.
///
/// Nothing is let go of yet, so that a destination that another writer has by now gives the source its name again.
pub(super) fn take_source(
    cx: &Cx<'_>,
    index: usize,
    from: &Site,
    created: Created,
    look: impl FnOnce() -> Result<(Old, Precondition), CommitFailure>,
) -> Result<(Created, Removed), Failed> {
    let taken = look().map_err(Failed::from).and_then(|(old, precondition)| {
        let removed = remove::take_away(cx, index, from, old, &precondition)?;
        Ok((removed, precondition))
    });
    match taken {
        Ok((removed, precondition)) => {
            // Where the precondition names no content, only the inode tells that it is what the destination has.
            let is_other = precondition == Precondition::Exists && removed.aside.thing.id() != created.id();
            if is_other {
                let (resolved, found) = (from.path.clone(), removed.aside.thing.state());
                let cause = CommitFailure::Precondition { resolved, found, destination: false };
                let fate = Box::new(removed).undo(cx);
                return Err(Failed { cause, fate: super::worse(fate, Box::new(created).undo(cx)) });
            }
            if let Err(failed) = created.has_name() {
                let fate = Box::new(removed).undo(cx);
                return Err(Failed { fate: super::worse(failed.fate, fate), ..failed });
            }
            Ok((created, removed))
        }
        Err(failed) => {
            let fate = Box::new(created).undo(cx);
            Err(Failed { fate: super::worse(failed.fate, fate), ..failed })
        }
    }
}

impl Done for Moved {
    fn undo(self: Box<Self>, cx: &Cx<'_>) -> Fate {
        let Self { from, to, thing, reach } = *self;
        let there = look::judge_within(&to, &to.name, reach);
        if there.is(&thing) {
            return back(cx, &from, &to, |site| look::judge_within(site, &site.name, reach).is(&thing));
        }
        if there.id().is_some() && there.id() == thing.id() {
            let why = format!("another writer wrote to what was moved there from {}", from.path);
            return left(&to, &to.name, &why);
        }
        alone(&from, &to, &there)
    }

    fn finish(self: Box<Self>, _cx: &Cx<'_>, _end: &mut End) {}
}
