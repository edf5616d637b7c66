//! Moving a file or link to a name that nothing has.

use guard_core::policy::FileState;
use guard_core::port::{CommitFailure, Fate, Step, Tier};
use rustix::io::Errno;

use super::create::Created;
use super::look::{self, Old, Reach, Thing};
use super::plan::Site;
use super::{Cx, Done, End, Failed, Published, Work, copy, create, fail, left, remove};
use crate::local::sys;

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
    cx.step(Step::Exposed(&from.path));
    let reach = look::reach(&work.plan.change.precondition);
    let came = look::judge_within(&to, &to.name, reach);
    cx.step(Step::Judged(&from.path));
    if let Err(cause) = look::came_out(&from, &work.plan.change.precondition, &came) {
        // Another writer's content was moved: it goes back where it was put.
        let back = sys::rename_noreplace(&to.dir, to.name.as_bytes(), &from.dir, from.name.as_bytes());
        cx.step(Step::PutBack(&from.path));
        let fate = match back {
            Ok(()) | Err(Errno::NOENT) => Fate::Restored,
            Err(_) => left(&to, &to.name, &format!("what was at {}, whose name was taken again", from.path)),
        };
        return Err(Failed { cause, fate });
    }
    let published = Published::new(came.state(), came.state(), Tier::Exchange);
    Ok(published.with(Moved { from, to, thing: came, reach }))
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
    let verdict = look::came_out(from, &work.plan.change.precondition, &came);
    let created = Created::new(cx, index, to, came);
    let removed = verdict
        .map_err(Failed::from)
        .and_then(|()| remove::take_away(cx, index, from, Old::nothing(), &work.plan.change.precondition));
    match removed {
        Ok(removed) => {
            let before = work.old.thing.state();
            Ok(Published::new(before.clone(), before, Tier::Exchange).with(created).with(removed))
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
        let alone = || left(&to, &to.name, "another writer's content is there, and was left alone");
        if !look::judge_within(&to, &to.name, reach).is(&thing) {
            return alone();
        }
        let back = sys::rename_noreplace(&to.dir, to.name.as_bytes(), &from.dir, from.name.as_bytes());
        cx.step(Step::PutBack(&from.path));
        match back {
            Ok(()) if look::judge_within(&from, &from.name, reach).is(&thing) => Fate::Restored,
            // It was replaced in that instant: back to where its writer put it.
            Ok(()) => {
                match sys::rename_noreplace(&from.dir, from.name.as_bytes(), &to.dir, to.name.as_bytes()) {
                    Ok(()) => alone(),
                    Err(_) => left(&from, &from.name, &format!("what another writer put at {}", to.path)),
                }
            }
            Err(_) => left(&to, &to.name, &format!("what was at {}, whose name was taken again", from.path)),
        }
    }

    fn finish(self: Box<Self>, _cx: &Cx<'_>, _end: &mut End) {}
}
