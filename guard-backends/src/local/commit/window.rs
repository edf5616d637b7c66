//! Replacing a file where names cannot be exchanged: the race is narrowed, not closed.
//!
//! The old inode gets a second name, is verified there, and the name is verified to be of it right before the new
//! content is renamed over. A writer that renames over in that last instant is lost; the receipt's tier says so.

use guard_core::policy::Precondition;
use guard_core::port::{CommitFailure, Fate, OpError, Step, Tier};
use rustix::io::Errno;

use super::look::{self, Old, Thing};
use super::plan::Site;
use super::remove::Aside;
use super::stage::Staged;
use super::{Cx, Done, End, Failed, Published, Work, fail, in_place, left};
use crate::local::sys;
use crate::temp::Role;

/// A replacement whose old inode is linked aside.
struct Windowed {
    site: Site,
    ours: Thing,
    aside: Aside,
}

/// Publishes a staged content in place of a file.
pub(super) fn publish(cx: &Cx<'_>, work: &mut Work<'_>, staged: Staged) -> Result<Published, Failed> {
    let (site, precondition) = (&work.plan.site, &work.plan.change.precondition);
    let aside = cx.temp(work.plan.index, Role::Aside);
    let linked = cx.permit(Tier::Window).and_then(|()| link_aside(cx, site, &aside));
    let prepared = match linked {
        Ok(Linked::Aside) => verify(site, precondition, &aside),
        Ok(Linked::Mount) => return in_place::publish(cx, work, staged),
        Err(cause) => Err(cause.into()),
    };
    let came = match prepared {
        Ok(came) => came,
        Err(failed) => return Err(staged.give_up(site, failed)),
    };
    let Some(temp) = &staged.name else { return Err(super::create::nothing_staged().into()) };
    match sys::rename_over(&site.dir, temp.as_bytes(), &site.dir, site.name.as_bytes()) {
        Ok(()) => {}
        Err(errno) => {
            let fate = clear(site, &aside, &came);
            if errno != Errno::BUSY {
                return Err(staged.give_up(site, Failed { cause: fail(errno, "replacing", site), fate }));
            }
            // In place, the same name is needed for a copy.
            return match fate {
                Fate::Left { .. } => Err(staged.give_up(
                    site,
                    Failed { cause: CommitFailure::BusyMount { resolved: site.path.clone() }, fate },
                )),
                _ => in_place::publish(cx, work, staged),
            };
        }
    }
    cx.step(Step::Exposed(&site.path));
    let ours = staged.thing();
    let again = look::judge(site, &aside);
    cx.step(Step::Judged(&site.path));
    // The old inode has a second name for now, which is not counted.
    let (before, after) = (work.old.thing.state(), ours.state());
    let is_same = again.is(&came);
    let old = std::mem::replace(&mut work.old, Old::nothing());
    let keep = *precondition == Precondition::DangerAny;
    let windowed = Windowed { site: site.clone(), ours, aside: Aside::new(aside, again, old, keep) };
    if !is_same {
        // It was written to in place until the very last instant.
        let found = windowed.aside.thing.state();
        let fate = Box::new(windowed).undo(cx);
        let resolved = site.path.clone();
        return Err(Failed {
            cause: CommitFailure::Precondition { resolved, found, destination: false },
            fate,
        });
    }
    let mut published = Published::new(before, after, Tier::Window);
    published.lease = Some(windowed.aside.leased.is_some());
    Ok(published.with(windowed))
}

/// What came of giving the old inode a second name.
enum Linked {
    Aside,
    /// It is on another mount than its directory.
    Mount,
}

fn link_aside(cx: &Cx<'_>, site: &Site, aside: &str) -> Result<Linked, CommitFailure> {
    if !cx.offers(Tier::Window) {
        return Err(neither());
    }
    match sys::link(&site.dir, site.name.as_bytes(), &site.dir, aside.as_bytes()) {
        Ok(()) => Ok(Linked::Aside),
        // EXDEV within one directory: the name is a mount point.
        Err(Errno::XDEV) => Ok(Linked::Mount),
        Err(Errno::NOENT) => Err(CommitFailure::Precondition {
            resolved: site.path.clone(),
            found: look::found(site),
            destination: false,
        }),
        // EPERM: a directory came to be there (link(2)), or there are no hard links.
        Err(errno) if sys::cannot_link(errno) => match look::found(site) {
            found if found.is_regular() => Err(neither()),
            found => {
                Err(CommitFailure::Precondition { resolved: site.path.clone(), found, destination: false })
            }
        },
        Err(errno) => Err(fail(errno, "linking aside", site)),
    }
}

fn neither() -> CommitFailure {
    OpError::Unsupported {
        what: "replacing a file where names can neither be exchanged nor linked".to_owned(),
    }
    .into()
}

/// Judges the old inode under its second name, and that the name is of the same one.
fn verify(site: &Site, precondition: &Precondition, aside: &str) -> Result<Thing, Failed> {
    let came = look::judge(site, aside);
    let at_name = sys::lstat(&site.dir, site.name.as_bytes()).ok().flatten().map(|meta| meta.id);
    let mut verdict = look::came_out(site, precondition, &came);
    if verdict.is_ok() && at_name != came.id() {
        verdict = Err(CommitFailure::Precondition {
            resolved: site.path.clone(),
            found: look::found(site),
            destination: false,
        });
    }
    match verdict {
        Ok(()) => Ok(came),
        Err(cause) => {
            // A second name of what is (or was, until another writer replaced it) at the first: nothing is lost.
            let fate = clear(site, aside, &came);
            Err(Failed { cause, fate })
        }
    }
}

fn clear(site: &Site, aside: &str, came: &Thing) -> Fate {
    look::clear(site, aside, came, "a second name of the old content, which could not be removed")
}

impl Done for Windowed {
    fn is_waited_for(&self) -> bool {
        self.aside.is_waited_for()
    }

    fn undo(self: Box<Self>, cx: &Cx<'_>) -> Fate {
        let Self { site, ours, aside } = *self;
        let at_name = look::judge(&site, &site.name);
        let fate = if at_name.is(&ours) {
            match sys::rename_over(&site.dir, aside.name.as_bytes(), &site.dir, site.name.as_bytes()) {
                Ok(()) => Fate::Restored,
                Err(errno) => {
                    left(&site, &aside.name, &format!("the old content could not be put back: {errno}"))
                }
            }
        } else if let Thing::Absent = at_name {
            left(&site, &aside.name, "the old content; its name was removed meanwhile")
        } else {
            left(&site, &aside.name, "the old content; another writer has its name now")
        };
        cx.step(Step::PutBack(&site.path));
        fate
    }

    fn finish(self: Box<Self>, cx: &Cx<'_>, end: &mut End) {
        self.aside.finish(cx, &self.site, end);
    }
}
