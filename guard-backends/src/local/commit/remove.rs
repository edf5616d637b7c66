//! Taking something away from its name, judging it, and letting it go.

use std::fs::File;

use guard_core::policy::{FileState, OpenWriters, Precondition};
use guard_core::port::{CommitFailure, Displaced, Fate, Step, Tier};
use rustix::io::Errno;

use super::look::{self, Old, Regular, Thing};
use super::plan::Site;
use super::{Cx, Done, End, Failed, Published, Work, beside, fail, left};
use crate::local::{lease, sys};
use crate::temp::Role;

/// Something that is under a temporary name now.
pub(super) struct Removed {
    pub(super) site: Site,
    pub(super) aside: Aside,
}

/// An inode that was displaced, under a temporary name, until the batch is over.
pub(super) struct Aside {
    pub(super) name: String,
    pub(super) thing: Thing,
    /// The descriptor that a lease on it is held by.
    pub(super) leased: Option<File>,
    /// Whether it is kept: nobody said what it is.
    pub(super) keep: bool,
}

/// Publishes a removal.
pub(super) fn publish(cx: &Cx<'_>, work: &mut Work<'_>) -> Result<Published, Failed> {
    let old = std::mem::replace(&mut work.old, Old::nothing());
    let removed = take_away(cx, work.plan.index, &work.plan.site, old, &work.plan.change.precondition)?;
    let lease = matches!(removed.aside.thing, Thing::Regular(_)).then_some(removed.aside.leased.is_some());
    let mut published = Published::new(removed.aside.thing.state(), FileState::Absent, Tier::Exchange);
    published.lease = lease;
    Ok(published.with(removed))
}

/// Renames what is at a name to a temporary one and judges it there.
pub(super) fn take_away(
    cx: &Cx<'_>,
    index: usize,
    site: &Site,
    old: Old,
    precondition: &Precondition,
) -> Result<Removed, Failed> {
    let temp = cx.temp(index, Role::Aside);
    match set_aside(cx, site, &temp) {
        Ok(()) => {}
        Err(Errno::NOENT) => {
            return Err(CommitFailure::Precondition {
                resolved: site.path.clone(),
                found: FileState::Absent,
                destination: false,
            }
            .into());
        }
        Err(Errno::BUSY) => return Err(CommitFailure::BusyMount { resolved: site.path.clone() }.into()),
        Err(errno) => return Err(fail(errno, "removing", site).into()),
    }
    cx.step(Step::Exposed(&site.path));
    let came = look::judge(site, &temp);
    cx.step(Step::Judged(&site.path));
    if let Err(cause) = look::came_out(site, precondition, &came) {
        let fate = match put_back(cx, site, &temp) {
            Ok(()) => Fate::Restored,
            Err(Errno::EXIST) => left(site, &temp, "what was displaced; its name was taken again"),
            Err(errno) => left(site, &temp, &format!("what was displaced could not be put back: {errno}")),
        };
        cx.step(Step::PutBack(&site.path));
        return Err(Failed { cause, fate });
    }
    let keep = *precondition == Precondition::DangerAny;
    Ok(Removed { site: site.clone(), aside: Aside::new(temp, came, old, keep) })
}

/// Renames a name to a temporary one that nothing has: it is derived from the commit's, so that nobody else has it,
/// and a leftover of the same commit is not replaced.
pub(super) fn set_aside(cx: &Cx<'_>, site: &Site, temp: &str) -> rustix::io::Result<()> {
    rename_to_free(cx, site, &site.name, temp)
}

/// Renames within a directory to a name that nothing has; where the kernel cannot see to that, it is looked at just
/// before.
pub(super) fn rename_to_free(cx: &Cx<'_>, site: &Site, from: &str, to: &str) -> rustix::io::Result<()> {
    let (from, to) = (from.as_bytes(), to.as_bytes());
    if cx.offers(Tier::Exchange) {
        match sys::rename_noreplace(&site.dir, from, &site.dir, to) {
            Err(errno) if sys::is_unsupported(errno) => {}
            done => return done,
        }
    }
    if sys::lstat(&site.dir, to)?.is_some() {
        return Err(Errno::EXIST);
    }
    sys::rename_over(&site.dir, from, &site.dir, to)
}

/// Gives what is under a temporary name its old name, if nothing has that.
pub(super) fn put_back(cx: &Cx<'_>, site: &Site, temp: &str) -> rustix::io::Result<()> {
    let (name, temp) = (site.name.as_bytes(), temp.as_bytes());
    if cx.offers(Tier::Exchange) {
        match sys::rename_noreplace(&site.dir, temp, &site.dir, name) {
            Err(errno) if sys::is_unsupported(errno) => {}
            done => return done,
        }
    }
    sys::link(&site.dir, temp, &site.dir, name)?;
    sys::unlink(&site.dir, temp)
}

impl Aside {
    /// Takes what came out of a name; the lease counts only if it is on this inode.
    pub(super) fn new(name: String, thing: Thing, old: Old, keep: bool) -> Self {
        let leased = match old {
            Old { thing: Thing::Regular(Regular { file, meta, .. }), leased: true }
                if Some(meta.id) == thing.id() =>
            {
                file
            }
            _ => None,
        };
        Self { name, thing, leased, keep }
    }

    /// Tells whether a writer waits for the lease to go.
    pub(super) fn is_waited_for(&self) -> bool {
        self.leased.as_ref().is_some_and(|file| !lease::is_whole(file))
    }

    /// Lets it go: unlinks it if it still is what was judged, else says where it stays.
    pub(super) fn finish(self, cx: &Cx<'_>, site: &Site, end: &mut End) {
        if let Displaced::Return { max } = cx.batch.displaced {
            end.displaced = self.bytes(max);
        }
        let place = beside(site, &self.name);
        let mut stays = |why: &str| end.left.push(format!("{place}: {why}"));
        if self.keep {
            return stays(&format!("what was at {} before", site.path));
        }
        // Under a whole lease nobody has opened it for writing since it was judged.
        let is_whole = self.leased.as_ref().is_some_and(lease::is_whole);
        end.late = self.leased.is_some() && !is_whole;
        if end.late && cx.batch.open_writers == OpenWriters::Refuse {
            return stays(&format!("what was at {} before; a writer came to it late", site.path));
        }
        let is_same = is_whole || look::judge(site, &self.name).is(&self.thing);
        if !(is_same && look::unlink_if(site, &self.name, &self.thing)) {
            stays(&format!("what was at {} before; it was written to after it was displaced", site.path));
        }
    }

    /// Reads the bytes again, if they are still those that were judged.
    fn bytes(&self, max: u64) -> Option<Vec<u8>> {
        let Thing::Regular(Regular { file: Some(file), len, digest, .. }) = &self.thing else { return None };
        if *len > max {
            return None;
        }
        let mut bytes = Vec::with_capacity(*len as usize);
        let pass = crate::local::read::pass(file, *len, |_, piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        });
        pass.is_ok_and(|pass| Some(pass.digest) == *digest).then_some(bytes)
    }
}

impl Done for Removed {
    fn is_waited_for(&self) -> bool {
        self.aside.is_waited_for()
    }

    fn undo(self: Box<Self>, cx: &Cx<'_>) -> Fate {
        let fate = match put_back(cx, &self.site, &self.aside.name) {
            Ok(()) => Fate::Restored,
            Err(Errno::EXIST) => {
                left(&self.site, &self.aside.name, "what was removed; its name was taken again")
            }
            Err(errno) => left(
                &self.site,
                &self.aside.name,
                &format!("what was removed could not be put back: {errno}"),
            ),
        };
        cx.step(Step::PutBack(&self.site.path));
        fate
    }

    fn finish(self: Box<Self>, cx: &Cx<'_>, end: &mut End) {
        self.aside.finish(cx, &self.site, end);
    }
}
