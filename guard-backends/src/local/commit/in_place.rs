//! Writing a mount point in place, where that was asked for: it cannot be renamed over (rename(2), EBUSY).
//!
//! Neither exclusive nor crash-atomic, as the receipt's tier says. The old bytes are kept beside until the batch is
//! over.

use std::fs::File;
use std::io::{Seek as _, SeekFrom};

use guard_core::policy::{Digest, Precondition};
use guard_core::port::{CommitFailure, Effect, Fate, InPlace, Mode, Step, Tier};

use super::look::{self, Old, Regular, Thing};
use super::plan::Site;
use super::remove::Aside;
use super::stage::{self, Staged, Start};
use super::{Cx, Done, End, Failed, Published, Work, fail, left};
use crate::local::read::FromStart;
use crate::local::{errno, lease, read, sys};
use crate::temp::Role;

/// A file that was written in place, and a copy of what it was.
struct Overwritten {
    site: Site,
    file: File,
    ours: Digest,
    backup: Staged,
    keep: bool,
    /// What its mode was, if that was changed.
    mode: Option<u32>,
}

/// Publishes a staged content by copying it into the file.
pub(super) fn publish(cx: &Cx<'_>, work: &mut Work<'_>, staged: Staged) -> Result<Published, Failed> {
    let site = &work.plan.site;
    let result = if cx.batch.in_place == InPlace::Refuse {
        Err(CommitFailure::BusyMount { resolved: site.path.clone() }.into())
    } else {
        let old = std::mem::replace(&mut work.old, Old::nothing());
        cx.permit(Tier::InPlace).map_err(Failed::from).and_then(|()| overwrite(cx, work, &staged, old))
    };
    match (result, staged.discard(site)) {
        (Ok(published), Fate::Left { what }) => {
            work.left.push(what);
            Ok(published)
        }
        (Ok(published), _) => Ok(published),
        (Err(failed), fate) => Err(Failed { fate: super::worse(failed.fate, fate), ..failed }),
    }
}

fn overwrite(cx: &Cx<'_>, work: &Work<'_>, staged: &Staged, old: Old) -> Result<Published, Failed> {
    let (index, site, change) = (work.plan.index, &work.plan.site, work.plan.change);
    let before = old.thing.state();
    let Thing::Regular(Regular { file: Some(original), meta, .. }) = old.thing else {
        return Err(CommitFailure::BusyMount { resolved: site.path.clone() }.into());
    };
    let copy = |file: &File| stage::pour(cx, site, FromStart::new(&original), file);
    let backup = stage::write(cx, site, index, &Start::Private(Role::Aside), copy)?;
    let backup = stage::seal(site, backup)?;
    let give_up = |cause: CommitFailure, backup: Staged| {
        let fate = backup.discard(site);
        Failed { cause, fate }
    };
    if let Err(cause) = look::came_out(site, &change.precondition, &backup.thing()) {
        return Err(give_up(cause, backup));
    }
    // Our own lease would keep us waiting.
    lease::release(&original);
    let file = match sys::open_in_place(&site.dir, site.name.as_bytes()) {
        Ok(file) => file,
        Err(errno) => return Err(give_up(fail(errno, "opening", site), backup)),
    };
    if !sys::meta(&file).is_ok_and(|now| now.id == meta.id) {
        let (resolved, found) = (site.path.clone(), look::found(site));
        return Err(give_up(CommitFailure::Precondition { resolved, found, destination: false }, backup));
    }
    match read::digest(&file, &site.path) {
        Ok((_, pass)) if pass.digest == backup.digest => {}
        Ok((now, pass)) => {
            let (resolved, found) = (site.path.clone(), read::with_digest(&now, pass));
            return Err(give_up(CommitFailure::Precondition { resolved, found, destination: false }, backup));
        }
        Err(error) => return Err(give_up(error.into(), backup)),
    }
    let written = fill(site, &file, &staged.file, staged.digest);
    cx.step(Step::Exposed(&site.path));
    let keep = change.precondition == Precondition::DangerAny;
    let mode = match change.effect {
        Effect::Put { mode: Mode::Set(_), .. } => Some(meta.mode),
        _ => None,
    };
    let overwritten = Overwritten { site: site.clone(), file, ours: staged.digest, backup, keep, mode };
    if let Err(cause) = written {
        let fate = match &cause {
            // Another writer wrote at the same time: what is there is not ours to take back.
            CommitFailure::Precondition { .. } => {
                let name = overwritten.backup.name.clone().unwrap_or_default();
                left(site, &name, "the old bytes; another writer wrote at the same time")
            }
            _ => overwritten.restore(),
        };
        return Err(Failed { cause, fate });
    }
    if let Effect::Put { mode: Mode::Set(mode), .. } = change.effect
        && let Err(errno) = rustix::fs::fchmod(&overwritten.file, sys::mode_bits(mode))
    {
        let fate = overwritten.restore();
        return Err(Failed { cause: fail(errno, "setting the mode of", site), fate });
    }
    cx.step(Step::Judged(&site.path));
    let after = match read::digest(&overwritten.file, &site.path) {
        Ok((now, pass)) => read::with_digest(&now, pass),
        Err(error) => return Err(Failed { cause: error.into(), fate: overwritten.restore() }),
    };
    let mut published = Published::new(before, after, Tier::InPlace);
    published.lease = Some(false);
    Ok(published.with(overwritten))
}

/// Copies a file's bytes into another, which has exactly those afterwards.
fn fill(site: &Site, mut file: &File, from: &File, digest: Digest) -> Result<(), CommitFailure> {
    let writing = |error: std::io::Error| CommitFailure::from(errno::io(&error, "writing", &site.path));
    file.seek(SeekFrom::Start(0)).map_err(writing)?;
    let len = std::io::copy(&mut FromStart::new(from), &mut file).map_err(writing)?;
    rustix::fs::ftruncate(file, len).map_err(|errno| fail(errno, "cutting", site))?;
    sys::sync(file).map_err(|errno| fail(errno, "syncing", site))?;
    match read::digest(file, &site.path)? {
        (_, pass) if pass.digest == digest => Ok(()),
        (now, pass) => Err(CommitFailure::Precondition {
            resolved: site.path.clone(),
            found: read::with_digest(&now, pass),
            destination: false,
        }),
    }
}

impl Overwritten {
    /// Writes the old bytes back; they stay beside where that fails.
    fn restore(self) -> Fate {
        let Self { site, file, backup, mode, .. } = self;
        let name = backup.name.clone().unwrap_or_default();
        let back = fill(&site, &file, &backup.file, backup.digest).and_then(|()| {
            let given = mode.map_or(Ok(()), |mode| rustix::fs::fchmod(&file, sys::mode_bits(mode)));
            given.map_err(|errno| fail(errno, "giving back the mode of", &site))
        });
        match back {
            Ok(()) => super::worse(Fate::Restored, backup.discard(&site)),
            Err(cause) => left(&site, &name, &format!("the old bytes could not be written back: {cause}")),
        }
    }
}

impl Done for Overwritten {
    fn undo(self: Box<Self>, cx: &Cx<'_>) -> Fate {
        let name = self.backup.name.clone().unwrap_or_default();
        let path = self.site.path.clone();
        let fate = match read::digest(&self.file, &path) {
            Ok((_, pass)) if pass.digest == self.ours => self.restore(),
            _ => left(&self.site, &name, "the old bytes; another writer wrote since"),
        };
        cx.step(Step::PutBack(&path));
        fate
    }

    fn finish(self: Box<Self>, cx: &Cx<'_>, end: &mut End) {
        let Self { site, backup, keep, .. } = *self;
        let Staged { file, name: Some(name), meta, len, digest } = backup else { return };
        let thing = Thing::Regular(Regular { file: Some(file), meta, len, digest: Some(digest) });
        Aside::new(name, thing, Old::nothing(), keep).finish(cx, &site, end);
    }
}
