//! Putting something at a name that nothing has.

use std::fs::File;

use guard_core::policy::{Digest, FileState};
use guard_core::port::{CommitFailure, Effect, Fate, OpError, Step, Tier};
use rustix::io::Errno;

use super::look::{self, Thing};
use super::plan::Site;
use super::stage::{self, Staged};
use super::{Cx, Done, End, Failed, Published, Work, fail, left, remove};
use crate::local::sys::{self, Id};
use crate::temp::Role;

/// Something that was put at a name that nothing had.
pub(super) struct Created {
    site: Site,
    /// Under which name an undo takes it away.
    undo: String,
    ours: Thing,
    /// Another name of the same inode, which has all that is in it.
    twin: Option<Site>,
    /// What stays of the staged content beside it.
    rest: Fate,
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
    let (ours, tier, rest) = match placed {
        Ok(rest) => (staged.thing(), Tier::Exchange, rest),
        Err(Errno::EXIST) => return Err(staged.give_up(site, taken(site, destination))),
        Err(errno) if sys::cannot_link(errno) => {
            let written = exclusively(cx, index, site, &staged, destination, refill);
            match written {
                Ok(thing) => (thing, Tier::CreatedNonatomic, staged.discard(site)),
                Err(failed) => return Err(staged.give_up(site, failed)),
            }
        }
        Err(errno) => return Err(staged.give_up(site, fail(errno, "creating", site))),
    };
    cx.step(Step::Exposed(&site.path));
    cx.step(Step::Judged(&site.path));
    Ok((Created { rest, ..Created::new(cx, index, site, ours) }, tier))
}

/// Reports what has the name by now.
fn taken(site: &Site, destination: bool) -> CommitFailure {
    CommitFailure::Precondition { resolved: site.path.clone(), found: look::found(site), destination }
}

/// Gives the staged file its name, if nothing has it; returns what stays under the temporary one.
fn without_replacing(cx: &Cx<'_>, site: &Site, staged: &Staged) -> rustix::io::Result<Fate> {
    let name = site.name.as_bytes();
    let Some(temp) = &staged.name else {
        return link_unnamed(&staged.file, site).map(|()| Fate::Untouched);
    };
    if cx.offers(Tier::Exchange) {
        match sys::rename_noreplace(&site.dir, temp.as_bytes(), &site.dir, name) {
            Err(errno) if sys::is_unsupported(errno) => {}
            done => return done.map(|()| Fate::Untouched),
        }
    }
    sys::link(&site.dir, temp.as_bytes(), &site.dir, name)?;
    Ok(staged.clear(site))
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
    destination: bool,
    refill: impl FnOnce(&File) -> Result<(u64, Digest), CommitFailure>,
) -> Result<Thing, Failed> {
    cx.permit(Tier::CreatedNonatomic)?;
    let name = site.name.as_bytes();
    let file = match sys::create_exclusively(&site.dir, name, staged.meta.mode & 0o777) {
        Ok(file) => file,
        Err(Errno::EXIST) => return Err(taken(site, destination).into()),
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
                    Box::new(Created::new(cx, index, site, ours)).undo(cx)
                }
                Err(error) => left(site, &site.name, &format!("a partial content stays: {error}")),
            };
            Err(Failed { cause, fate })
        }
    }
}

impl Created {
    /// Takes what is at a name since this commit put it there.
    ///
    /// The caller knows that it did: what only happens to be there is another writer's.
    pub(super) fn new(cx: &Cx<'_>, index: usize, site: &Site, ours: Thing) -> Self {
        let undo = cx.temp(index, Role::Undo);
        Self { site: site.clone(), undo, ours, twin: None, rest: Fate::Untouched }
    }

    /// Takes a second name that this commit gave an inode; while the first is there, nothing is lost with it.
    pub(super) fn twin(cx: &Cx<'_>, index: usize, (first, second): (&Site, &Site), ours: Thing) -> Self {
        Self { twin: Some(first.clone()), ..Self::new(cx, index, second, ours) }
    }

    /// Tells what was put there.
    pub(super) fn state(&self) -> FileState {
        self.ours.state()
    }

    /// Tells which inode was put there.
    pub(super) const fn id(&self) -> Option<Id> {
        self.ours.id()
    }

    /// Fails if another writer has the name by now, or wrote to what was put there.
    pub(super) fn is_whole(&self) -> Result<(), Failed> {
        let came = look::judge(&self.site, &self.site.name);
        if came.is(&self.ours) { Ok(()) } else { Err(self.lost(&came)) }
    }

    /// Fails if another writer has the name by now.
    pub(super) fn has_name(&self) -> Result<(), Failed> {
        if look::id(&self.site, &self.site.name) == self.ours.id() {
            return Ok(());
        }
        Err(self.lost(&look::judge(&self.site, &self.site.name)))
    }

    fn lost(&self, came: &Thing) -> Failed {
        let Failed { cause, fate } = lost(&self.site, came);
        Failed { cause, fate: super::worse(fate, self.rest.clone()) }
    }
}

impl Done for Created {
    fn undo(self: Box<Self>, cx: &Cx<'_>) -> Fate {
        let Self { site, undo, ours, twin, rest } = *self;
        let fate = match remove::set_aside(cx, &site, &undo) {
            Ok(()) => take_back(cx, &site, &undo, &ours, twin.as_ref()),
            // Another writer removed it already.
            Err(Errno::NOENT) => Fate::Restored,
            Err(errno) => left(&site, &site.name, &format!("it could not be taken back: {errno}")),
        };
        super::worse(fate, rest)
    }

    fn finish(self: Box<Self>, _cx: &Cx<'_>, end: &mut End) {
        if let Fate::Left { what } = self.rest {
            end.left.push(what);
        }
    }
}

/// Removes what an undo took away from the name, if it is what was put there.
fn take_back(cx: &Cx<'_>, site: &Site, undo: &str, ours: &Thing, twin: Option<&Site>) -> Fate {
    let came = look::judge(site, undo);
    let has_twin = came.id().is_some() && twin.is_some_and(|twin| look::id(twin, &twin.name) == came.id());
    if (has_twin || came.is(ours)) && look::unlink_if(site, undo, &came) {
        return Fate::Restored;
    }
    match remove::put_back(cx, site, undo) {
        Ok(()) => left(site, &site.name, "another writer's content is there, and was left alone"),
        Err(_) => left(site, undo, "another writer's content, whose name was taken again"),
    }
}

/// Refuses what is at a destination instead of what this commit put there.
pub(super) fn not_ours(site: &Site, came: &Thing) -> CommitFailure {
    CommitFailure::Precondition { resolved: site.path.clone(), found: came.state(), destination: true }
}

/// Says that a move's destination has another writer's content, or nothing, while the source still is there.
pub(super) fn lost(to: &Site, came: &Thing) -> Failed {
    let fate = match came {
        Thing::Absent => Fate::Restored,
        _ => left(to, &to.name, "another writer's content is there, and was left alone"),
    };
    Failed { cause: not_ours(to, came), fate }
}

/// A content that was to be put and was not staged: a mistake of this program, which changes nothing.
pub(super) fn nothing_staged() -> CommitFailure {
    OpError::Io { what: "staging".to_owned(), errno: "nothing was staged".to_owned() }.into()
}
