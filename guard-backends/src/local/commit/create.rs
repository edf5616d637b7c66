//! Putting something at a name that nothing has.

use std::fs::File;

use guard_core::policy::{Digest, FileState};
use guard_core::port::{CommitFailure, Effect, Fate, OpError, Step, Tier};
use rustix::io::Errno;

use super::look::{self, Thing};
use super::plan::Site;
use super::stage::{self, Staged};
use super::{Cx, Done, Failed, Published, Work, fail, left, remove};
use crate::local::sys;
use crate::local::temp::Role;

/// Something that was put at a name that nothing had.
pub(super) struct Created {
    site: Site,
    /// Under which name an undo takes it away.
    undo: String,
    ours: Thing,
}

/// Publishes a staged content as a new file.
pub(super) fn publish(cx: &Cx<'_>, work: &mut Work<'_>) -> Result<Published, Failed> {
    let Some(staged) = work.staged.take() else { return Err(nothing_staged().into()) };
    let (index, site) = (work.plan.index, &work.plan.site);
    let Effect::Put { content, .. } = &work.plan.change.effect else {
        return Err(nothing_staged().into());
    };
    let refill = |file: &File| stage::put(cx, site, content, file);
    let (created, tier) = place(cx, index, site, staged, false, refill)?;
    Ok(Published::new(FileState::Absent, created.ours.state(), tier).with(created))
}

/// Puts a staged file at a name that nothing has, with the strongest primitive that there is.
pub(super) fn place(
    cx: &Cx<'_>,
    index: usize,
    site: &Site,
    staged: Staged,
    destination: bool,
    refill: impl FnOnce(&File) -> Result<(u64, Digest), CommitFailure>,
) -> Result<(Created, Tier), Failed> {
    let placed =
        if cx.offers(Tier::Window) { without_replacing(cx, site, &staged) } else { Err(Errno::OPNOTSUPP) };
    let (ours, tier) = match placed {
        Ok(()) => (staged.thing(), Tier::Exchange),
        Err(Errno::EXIST) => {
            staged.discard(site);
            return Err(taken(site, destination).into());
        }
        Err(errno) if sys::cannot_link(errno) => {
            let written = exclusively(cx, index, site, &staged, refill);
            let fate = staged.discard(site);
            match written {
                Ok(thing) => (thing, Tier::CreatedNonatomic),
                Err(failed) => return Err(Failed { fate: super::worse(failed.fate, fate), ..failed }),
            }
        }
        Err(errno) => {
            staged.discard(site);
            return Err(fail(errno, "creating", site).into());
        }
    };
    cx.step(Step::Exposed(&site.path));
    cx.step(Step::Judged(&site.path));
    Ok((Created { site: site.clone(), undo: cx.temp(index, Role::Undo), ours }, tier))
}

/// Reports what has the name by now.
fn taken(site: &Site, destination: bool) -> CommitFailure {
    CommitFailure::Precondition { resolved: site.path.clone(), found: look::found(site), destination }
}

/// Gives the staged file its name, if nothing has it.
fn without_replacing(cx: &Cx<'_>, site: &Site, staged: &Staged) -> rustix::io::Result<()> {
    let name = site.name.as_bytes();
    let Some(temp) = &staged.name else { return link_unnamed(&staged.file, site) };
    if cx.offers(Tier::Exchange) {
        match sys::rename_noreplace(&site.dir, temp.as_bytes(), &site.dir, name) {
            Err(errno) if sys::is_unsupported(errno) => {}
            done => return done,
        }
    }
    sys::link(&site.dir, temp.as_bytes(), &site.dir, name)?;
    // Our own other name; one that cannot be removed is seen by `leftovers`.
    let _ = sys::unlink(&site.dir, temp.as_bytes());
    Ok(())
}

/// Names a file that has no name: open(2), `O_TMPFILE`, where this is the way without privileges.
#[cfg(target_os = "linux")]
fn link_unnamed(file: &File, site: &Site) -> rustix::io::Result<()> {
    use rustix::fs::{AtFlags, CWD};
    let path = stage::descriptor(file);
    rustix::fs::linkat(CWD, path, &site.dir, site.name.as_bytes(), AtFlags::SYMLINK_FOLLOW)
}

#[cfg(not(target_os = "linux"))]
fn link_unnamed(_file: &File, _site: &Site) -> rustix::io::Result<()> {
    Err(Errno::OPNOTSUPP)
}

/// Creates the file under its own name, where there is no way to give a whole one a name: nothing is replaced, but a
/// reader can see it partial.
fn exclusively(
    cx: &Cx<'_>,
    index: usize,
    site: &Site,
    staged: &Staged,
    refill: impl FnOnce(&File) -> Result<(u64, Digest), CommitFailure>,
) -> Result<Thing, Failed> {
    cx.permit(Tier::CreatedNonatomic)?;
    let name = site.name.as_bytes();
    let file = match sys::create_exclusively(&site.dir, name, staged.meta.mode & 0o777) {
        Ok(file) => file,
        Err(Errno::EXIST) => return Err(taken(site, false).into()),
        Err(errno) => return Err(fail(errno, "creating", site).into()),
    };
    let filled = refill(&file).and_then(|(len, digest)| {
        if (len, digest) != (staged.len, staged.digest) {
            return Err(CommitFailure::ContentMismatch);
        }
        // The mode is the staged one's, whatever the umask has become.
        rustix::fs::fchmod(&file, sys::mode_bits(staged.meta.mode))
            .map_err(|errno| fail(errno, "setting the mode of", site))?;
        sys::sync(&file).map_err(|errno| fail(errno, "syncing", site))?;
        sys::meta(&file).map_err(|errno| fail(errno, "looking at", site))
    });
    match filled {
        Ok(meta) => Ok(Thing::Regular(look::Regular {
            file: None,
            meta,
            len: staged.len,
            digest: Some(staged.digest),
        })),
        Err(cause) => {
            // What was written so far is known by what is in it now, through the descriptor that wrote it.
            let shown = &site.path;
            let fate = match crate::local::read::digest(&file, shown) {
                Ok((meta, pass)) => {
                    let ours = Thing::Regular(look::Regular {
                        file: None,
                        meta,
                        len: pass.len,
                        digest: Some(pass.digest),
                    });
                    let undo = cx.temp(index, Role::Undo);
                    Box::new(Created { site: site.clone(), undo, ours }).undo(cx)
                }
                Err(error) => left(site, &site.name, &format!("a partial content stays: {error}")),
            };
            Err(Failed { cause, fate })
        }
    }
}

impl Created {
    /// Takes what is at a name since this commit put it there in another way.
    pub(super) fn new(cx: &Cx<'_>, index: usize, site: &Site, ours: Thing) -> Self {
        Self { site: site.clone(), undo: cx.temp(index, Role::Undo), ours }
    }
}

impl Created {
    /// Tells what was put there.
    pub(super) fn state(&self) -> FileState {
        self.ours.state()
    }
}

impl Done for Created {
    fn undo(self: Box<Self>, cx: &Cx<'_>) -> Fate {
        let Self { site, undo, ours } = *self;
        match remove::set_aside(cx, &site, &undo) {
            Ok(()) => {}
            // Another writer removed it already.
            Err(Errno::NOENT) => return Fate::Restored,
            Err(errno) => return left(&site, &site.name, &format!("it could not be taken back: {errno}")),
        }
        let came = look::judge(&site, &undo);
        if came.is(&ours) && look::unlink_if(&site, &undo, &came) {
            return Fate::Restored;
        }
        match remove::put_back(cx, &site, &undo) {
            Ok(()) => left(&site, &site.name, "another writer's content is there, and was left alone"),
            Err(_) => left(&site, &undo, "another writer's content, whose name was taken again"),
        }
    }

    fn finish(self: Box<Self>, _cx: &Cx<'_>, _end: &mut super::End) {}
}

/// A content that was to be put and was not staged: a mistake of this program, which changes nothing.
pub(super) fn nothing_staged() -> CommitFailure {
    OpError::Io { what: "staging".to_owned(), errno: "nothing was staged".to_owned() }.into()
}
