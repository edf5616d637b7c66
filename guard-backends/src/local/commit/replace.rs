//! Replacing a file's content by compare-and-swap.

use guard_core::policy::{OpenWriters, Precondition};
use guard_core::port::{CommitFailure, Fate, Step, Tier};
use rustix::io::Errno;

use super::give_back::give_back;
use super::look::{self, Old, Thing};
use super::plan::Site;
use super::remove::Aside;
use super::stage::Staged;
use super::{Cx, Done, End, Failed, Published, Work, create, fail, in_place, window};
use crate::local::sys;

/// A replacement whose old inode is under the temporary name.
struct Replaced {
    site: Site,
    ours: Thing,
    aside: Aside,
}

/// Publishes a staged content in place of a file.
pub(super) fn publish(cx: &Cx<'_>, work: &mut Work<'_>) -> Result<Published, Failed> {
    let Some(staged) = work.staged.take() else { return Err(create::nothing_staged().into()) };
    let (site, precondition) = (&work.plan.site, &work.plan.change.precondition);
    let Some(temp) = staged.name.clone() else { return Err(create::nothing_staged().into()) };
    let exchanged = if cx.offers(Tier::Exchange) {
        sys::exchange(&site.dir, temp.as_bytes(), site.name.as_bytes())
    } else {
        Err(Errno::OPNOTSUPP)
    };
    match exchanged {
        Ok(()) => {}
        Err(Errno::NOENT) => {
            let (resolved, found) = (site.path.clone(), look::found(site));
            let cause = CommitFailure::Precondition { resolved, found, destination: false };
            return Err(staged.give_up(site, cause));
        }
        Err(Errno::BUSY) => return in_place::publish(cx, work, staged),
        Err(errno) if sys::is_unsupported(errno) => return window::publish(cx, work, staged),
        Err(errno) => return Err(staged.give_up(site, fail(errno, "replacing", site))),
    }
    cx.step(Step::Exposed(&site.path));
    let old = std::mem::replace(&mut work.old, Old::nothing());
    judge(cx, site, precondition, &temp, &staged, old)
}

fn judge(
    cx: &Cx<'_>,
    site: &Site,
    precondition: &Precondition,
    temp: &str,
    staged: &Staged,
    old: Old,
) -> Result<Published, Failed> {
    let came = look::judge(site, temp);
    cx.step(Step::Judged(&site.path));
    let ours = staged.thing();
    if look::came_out(site, precondition, &came).is_err() {
        let back = give_back(cx, site, temp, ours, came);
        let resolved = site.path.clone();
        let cause = CommitFailure::Precondition { resolved, found: back.found, destination: false };
        return Err(Failed { cause, fate: back.fate });
    }
    let (before, after) = (came.state(), ours.state());
    let aside = Aside::new(temp.to_owned(), came, old, *precondition == Precondition::DangerAny);
    let lease = aside.leased.is_some();
    let replaced = Replaced { site: site.clone(), ours, aside };
    if cx.batch.open_writers == OpenWriters::Refuse && replaced.is_waited_for() {
        // No need to go on with the batch: the last look would find the same.
        let fate = Box::new(replaced).undo(cx);
        return Err(Failed { cause: CommitFailure::OpenForWriting { resolved: site.path.clone() }, fate });
    }
    let mut published = Published::new(before, after, Tier::Exchange);
    published.lease = Some(lease);
    Ok(published.with(replaced))
}

impl Done for Replaced {
    fn is_waited_for(&self) -> bool {
        self.aside.is_waited_for()
    }

    fn undo(self: Box<Self>, cx: &Cx<'_>) -> Fate {
        let Self { site, ours, aside } = *self;
        let Aside { name, thing, leased, .. } = aside;
        let fate = give_back(cx, &site, &name, ours, thing).fate;
        // Whoever waits for the old inode goes on only now that it has its name again.
        drop(leased);
        fate
    }

    fn finish(self: Box<Self>, cx: &Cx<'_>, end: &mut End) {
        self.aside.finish(cx, &self.site, end);
    }
}
