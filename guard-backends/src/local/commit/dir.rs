//! Removing an empty directory.

use std::os::fd::OwnedFd;

use guard_core::policy::FileState;
use guard_core::port::{CommitFailure, Effect, Fate, OpError, Step, Tier};
use rustix::fs::Dir;
use rustix::io::Errno;

use super::plan::Site;
use super::{Cx, Done, End, Failed, Published, Work, beside, fail, left, look, metadata, remove};
use crate::local::sys::{self, Meta};
use crate::temp::Role;

/// A directory that is gone; its descriptor still has what it was.
struct Removed {
    site: Site,
    fd: OwnedFd,
    meta: Meta,
    /// Under which name an undo makes it again.
    undo: String,
}

/// A directory that goes when what this batch displaced in it is gone.
struct Deferred {
    site: Site,
}

/// Publishes a directory's removal. Whether it is empty is for the kernel to say (rmdir(2)).
pub(super) fn publish(cx: &Cx<'_>, work: &Work<'_>, before: &[Work<'_>]) -> Result<Published, Failed> {
    let site = &work.plan.site;
    let name = site.name.as_bytes();
    let fd = sys::open_directory(&site.dir, name).map_err(|errno| match errno {
        Errno::LOOP => CommitFailure::Op(OpError::NotDirectory { path: site.path.to_string() }),
        errno => fail(errno, "opening", site),
    })?;
    let meta = sys::meta(&fd).map_err(|errno| fail(errno, "looking at", site))?;
    let names = names(&fd).map_err(|errno| fail(errno, "listing", site))?;
    let published = Published::new(FileState::Directory, FileState::Absent, Tier::Exchange);
    // What earlier changes did in it is looked at once more before the batch is over, and taken back in it if the batch
    // fails: until then it stays.
    let is_worked_in =
        before.iter().any(|work| sys::meta(&work.plan.site.dir).is_ok_and(|dir| dir.id == meta.id));
    if !names.is_empty() || is_worked_in {
        let going = going(cx, &meta, before);
        if names.iter().all(|name| going.iter().any(|going| going.as_bytes() == name.as_slice())) {
            return Ok(published.with(Deferred { site: site.clone() }));
        }
        return Err(CommitFailure::NotEmpty { resolved: site.path.clone() }.into());
    }
    match sys::rmdir(&site.dir, name) {
        Ok(()) => {}
        // ENOTEMPTY or EEXIST: something came to be in it.
        Err(Errno::NOTEMPTY | Errno::EXIST) => {
            return Err(CommitFailure::NotEmpty { resolved: site.path.clone() }.into());
        }
        Err(Errno::BUSY) => return Err(CommitFailure::BusyMount { resolved: site.path.clone() }.into()),
        Err(errno) => return Err(fail(errno, "removing", site).into()),
    }
    cx.step(Step::Exposed(&site.path));
    let undo = cx.temp(work.plan.index, Role::Undo);
    Ok(published.with(Removed { site: site.clone(), fd, meta, undo }))
}

fn names(fd: &OwnedFd) -> rustix::io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(fd)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            names.push(entry.file_name().to_bytes().to_vec());
        }
    }
    Ok(names)
}

/// Names in a directory that are gone when this batch is over: what earlier changes displaced, and directories that
/// they remove.
fn going(cx: &Cx<'_>, meta: &Meta, before: &[Work<'_>]) -> Vec<String> {
    let here = |work: &&Work<'_>| sys::meta(&work.plan.site.dir).is_ok_and(|dir| dir.id == meta.id);
    let names = before.iter().filter(here).flat_map(|work| {
        let index = work.plan.index;
        match work.plan.change.effect {
            Effect::Remove | Effect::MoveTo { .. } => {
                vec![cx.temp(index, Role::Stage), cx.temp(index, Role::Aside)]
            }
            Effect::RemoveDir => vec![work.plan.site.name.clone()],
            _ => Vec::new(),
        }
    });
    names.collect()
}

/// Makes a removed directory again, with what it had: under a temporary name, so that nothing is given to a directory
/// that another writer puts at the name. Returns what it could not be given.
fn make_again(cx: &Cx<'_>, removed: &Removed) -> rustix::io::Result<Option<Errno>> {
    let Removed { site, fd, meta, undo } = removed;
    sys::mkdir(&site.dir, undo.as_bytes())?;
    let lost = match sys::open_directory(&site.dir, undo.as_bytes()) {
        Ok(new) => {
            metadata::restore(fd, meta, &new);
            None
        }
        Err(errno) => Some(errno),
    };
    remove::rename_to_free(cx, site, undo, &site.name).inspect_err(|_| {
        let _ = sys::rmdir(&site.dir, undo.as_bytes());
    })?;
    Ok(lost)
}

impl Done for Removed {
    fn undo(self: Box<Self>, cx: &Cx<'_>) -> Fate {
        let made = make_again(cx, &self);
        let site = &self.site;
        cx.step(Step::PutBack(&site.path));
        match made {
            Ok(None) => Fate::Restored,
            Ok(Some(errno)) => left(
                site,
                &site.name,
                &format!("the directory was made again, without its attributes: {errno}"),
            ),
            // Another process made one there: it has the last word, and a directory is a directory.
            Err(Errno::EXIST) if look::found(site) == FileState::Directory => Fate::Restored,
            Err(Errno::EXIST) => left(
                site,
                &site.name,
                "another writer's content is there; the directory could not be made again",
            ),
            Err(errno) => left(site, &site.name, &format!("the directory could not be made again: {errno}")),
        }
    }

    fn finish(self: Box<Self>, _cx: &Cx<'_>, _end: &mut End) {}
}

impl Done for Deferred {
    fn undo(self: Box<Self>, _cx: &Cx<'_>) -> Fate {
        Fate::Untouched
    }

    fn finish(self: Box<Self>, _cx: &Cx<'_>, end: &mut End) {
        let site = &self.site;
        match sys::rmdir(&site.dir, site.name.as_bytes()) {
            Ok(()) | Err(Errno::NOENT) => {
                // The files in it are gone for certain; a crash now could at worst bring an empty directory back.
                let _ = super::sync(&site.dir);
            }
            Err(errno) => {
                end.still_there = true;
                end.left.push(format!(
                    "{}: not removed, something came to be in it: {errno}",
                    beside(site, &site.name)
                ));
            }
        }
    }
}
