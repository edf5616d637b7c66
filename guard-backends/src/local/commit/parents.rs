//! Directories that a change needs, made one at a time inside the directory that is held.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use guard_core::policy::TargetPath;
use guard_core::port::{CommitFailure, Effect, Fate, OpError, Step};
use rustix::io::Errno;

use super::plan::Site;
use super::{Cx, Work, look};
use crate::local::errno;
use crate::local::sys::{self, Id};
use crate::names;

/// A directory that this batch made.
pub(super) struct MadeDir {
    pub(super) parent: Arc<OwnedFd>,
    pub(super) parent_path: TargetPath,
    name: String,
    path: TargetPath,
    /// None where it could not be looked at.
    id: Option<Id>,
    /// The change that it was made for.
    pub(super) by: usize,
}

/// Makes what is missing above a change's names; and the directory itself where the change is to make one, so that
/// later changes of the batch can be below it.
pub(super) fn make(cx: &Cx<'_>, work: &mut Work<'_>, made: &mut Vec<MadeDir>) -> Result<(), CommitFailure> {
    let by = work.plan.index;
    let before = made.len();
    enter(&mut work.plan.site, by, made)?;
    if let Some(to) = &mut work.plan.to {
        enter(to, by, made)?;
    }
    work.made = made[before..].iter().map(|made| made.path.clone()).collect();
    if matches!(work.plan.change.effect, Effect::MakeDir { .. }) {
        let site = &work.plan.site;
        cx.step(Step::Checked(&site.path));
        make_one(site, by, made)?;
        cx.step(Step::Exposed(&site.path));
    }
    Ok(())
}

fn make_one(site: &Site, by: usize, made: &mut Vec<MadeDir>) -> Result<(), CommitFailure> {
    let directory = MadeDir::at(site, &site.name, by)?;
    match sys::mkdir(&site.dir, site.name.as_bytes()) {
        Ok(()) => {
            made.push(directory.made());
            hold(&site.dir, &site.path, &site.name)?;
            Ok(())
        }
        Err(Errno::EXIST) => Err(CommitFailure::Precondition {
            resolved: site.path.clone(),
            found: look::found(site),
            destination: false,
        }),
        Err(errno) => Err(errno::at(errno, "making", &site.path).into()),
    }
}

/// Goes down to the directory that holds the name.
fn enter(site: &mut Site, by: usize, made: &mut Vec<MadeDir>) -> Result<(), CommitFailure> {
    for name in std::mem::take(&mut site.missing) {
        let directory = MadeDir::at(site, &name, by)?;
        let path = directory.path.clone();
        match sys::mkdir(&site.dir, name.as_bytes()) {
            // Whatever fails from here on, it is known that it was made.
            Ok(()) => made.push(directory.made()),
            // Another change of this batch made it, or another process did since: a directory is a directory.
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno::at(errno, "making", &path).into()),
        }
        site.dir = Arc::new(hold(&site.dir, &path, &name)?);
        site.dir_path = path;
    }
    Ok(())
}

fn hold(parent: &OwnedFd, path: &TargetPath, name: &str) -> Result<OwnedFd, OpError> {
    sys::hold(parent, name.as_bytes()).map_err(|errno| match errno {
        // A link came to be there, or the directory is gone again: what was resolved is no more.
        Errno::NOTDIR | Errno::LOOP if is_link(parent, name) => OpError::UnstablePath,
        Errno::NOENT => OpError::UnstablePath,
        errno => errno::at(errno, "opening", path),
    })
}

fn is_link(parent: &OwnedFd, name: &str) -> bool {
    matches!(sys::lstat(parent, name.as_bytes()), Ok(Some(meta)) if meta.kind == sys::Kind::Link)
}

impl MadeDir {
    /// Describes a directory that is about to be made.
    fn at(site: &Site, name: &str, by: usize) -> Result<Self, OpError> {
        let path = names::child(&site.dir_path, name)?;
        let (parent, parent_path) = (Arc::clone(&site.dir), site.dir_path.clone());
        Ok(Self { parent, parent_path, name: name.to_owned(), path, id: None, by })
    }

    /// Takes it as made, right after it was.
    fn made(self) -> Self {
        let id = sys::lstat(&self.parent, self.name.as_bytes()).ok().flatten().map(|meta| meta.id);
        Self { id, ..self }
    }

    /// Removes the directory again, if it is this one and nothing came to be in it.
    pub(super) fn remove(self) -> Fate {
        let left = |why: &str| Fate::Left { what: format!("{}: {why}", self.path) };
        match sys::lstat(&self.parent, self.name.as_bytes()) {
            Ok(Some(meta)) if Some(meta.id) == self.id => {}
            Ok(Some(_)) if self.id.is_none() => {
                return left("a directory that was made stays: it could not be looked at");
            }
            Ok(_) => return left("a directory that was made was moved or removed by another process"),
            Err(errno) => return left(&format!("a directory that was made stays: {errno}")),
        }
        match sys::rmdir(&self.parent, self.name.as_bytes()) {
            Ok(()) | Err(Errno::NOENT) => Fate::Restored,
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                left("a directory that was made stays, because something came to be in it")
            }
            Err(errno) => left(&format!("a directory that was made stays: {errno}")),
        }
    }
}
