//! Moving across filesystems: a copy and a removal, in one batch.

use std::fs::File;

use guard_core::policy::{FileState, OpenWriters, Precondition};
use guard_core::port::{CommitFailure, Mode, OpError, Step};
use rustix::fs::{Timespec, Timestamps};
use rustix::io::Errno;

use super::create::{self, Created};
use super::look::{self, Old, Regular, Thing};
use super::plan::Site;
use super::stage::{self, Start};
use super::{Cx, Failed, Published, Work, fail, metadata, moved};
use crate::local::lease::Taken;
use crate::local::read::FromStart;
use crate::local::{Lease, sys};
use crate::names;

/// Stages a copy, if the two directories are on different filesystems.
///
/// Where they only look like one (a bind mount), the rename says so (EXDEV) and it is staged then.
pub(super) fn stage_across(cx: &Cx<'_>, work: &mut Work<'_>) -> Result<(), Failed> {
    let Some(to) = work.plan.to.clone() else { return Ok(()) };
    let dev = |site: &Site| {
        sys::meta(&site.dir).map(|meta| meta.id.dev).map_err(|errno| fail(errno, "looking above", site))
    };
    if dev(&work.plan.site)? == dev(&to)? { Ok(()) } else { stage(cx, work, &to) }
}

/// Copies a regular file to where it is going to be; a link needs no staging.
fn stage(cx: &Cx<'_>, work: &mut Work<'_>, to: &Site) -> Result<(), Failed> {
    let from = &work.plan.site;
    let Thing::Regular(Regular { file, meta, digest, .. }) = &work.old.thing else { return Ok(()) };
    let Some(file) = file else {
        return Err(OpError::PermissionDenied { path: from.path.to_string() }.into());
    };
    let copy = |new: &File| {
        cx.step(Step::ToStage(&to.path, meta.len));
        let (len, copied) = stage::pour(cx, to, FromStart::new(file), new)?;
        if digest.is_some_and(|digest| digest != copied) {
            return Err(CommitFailure::Op(OpError::Torn));
        }
        Ok((len, copied))
    };
    let staged = stage::write(cx, to, work.plan.index, &Start::New(0o600), copy)?;
    let dressed =
        metadata::keep(cx, from, (Some(file), meta), &staged.file, Mode::Keep).and_then(|mut kept| {
            keep_times(meta, &staged.file);
            kept.other_names = meta.nlink.saturating_sub(1);
            // The mode is part of what an exclusive creation repeats.
            let meta =
                sys::meta(&staged.file).map_err(|errno| fail(errno, "looking at the copy of", from))?;
            Ok((kept, meta))
        });
    match dressed {
        Ok((kept, meta)) => {
            work.kept = kept;
            let staged = stage::seal(to, stage::Staged { meta, ..staged })?;
            cx.step(Step::Staged(&from.path));
            work.staged = Some(staged);
            Ok(())
        }
        Err(cause) => Err(staged.give_up(to, cause)),
    }
}

/// Keeps when the bytes were written, as a rename does; no promise is made of it.
fn keep_times(meta: &sys::Meta, new: &File) {
    let [(seconds, nanoseconds), _] = meta.changed;
    let written = Timespec { tv_sec: seconds, tv_nsec: nanoseconds as _ };
    let times = Timestamps { last_access: written, last_modification: written };
    let _ = rustix::fs::futimens(new, &times);
}

/// Publishes the copy and then takes the original away, if it still is what was copied.
pub(super) fn publish(cx: &Cx<'_>, work: &mut Work<'_>, to: &Site) -> Result<Published, Failed> {
    let index = work.plan.index;
    if work.staged.is_none() {
        stage(cx, work, to)?;
    }
    let from = work.plan.site.clone();
    let before = work.old.thing.state();
    let (created, tier, precondition) = match (work.staged.take(), &work.old.thing) {
        (Some(staged), Thing::Regular(Regular { file: Some(file), .. })) => {
            let digest = staged.digest;
            let refill = |new: &File| stage::pour(cx, to, FromStart::new(file), new);
            let (created, tier) = create::place(cx, index, to, staged, true, refill)?;
            created.is_whole()?;
            (created, tier, Precondition::Content { digest })
        }
        (None, Thing::Link { text, .. }) => {
            let created = link_again(cx, index, &from, to, text)?;
            (created, guard_core::port::Tier::Exchange, Precondition::Link { text: text.clone() })
        }
        _ => return Err(create::nothing_staged().into()),
    };
    let (created, removed) = moved::take_source(cx, index, &from, created, || {
        let old = hold(cx, &from, &precondition)?;
        Ok((old, precondition))
    })?;
    let is_regular = matches!(removed.aside.thing, Thing::Regular(_));
    let mut published = Published::new(before, created.state(), tier);
    published.lease = is_regular.then_some(removed.aside.leased.is_some());
    published.copied = true;
    Ok(published.with(created).with(removed))
}

/// Looks at the original once more, under a lease where one is to be had.
fn hold(cx: &Cx<'_>, from: &Site, precondition: &Precondition) -> Result<Old, CommitFailure> {
    if cx.local.lease == Lease::DangerNever || !matches!(precondition, Precondition::Content { .. }) {
        let thing = look::demand(from, precondition, false)?;
        return Ok(Old { thing, leased: false });
    }
    let (old, taken) = look::demand_leased(from, precondition)?;
    cx.step(Step::Leased(&from.path, old.leased));
    if taken == Taken::OpenForWriting && cx.batch.open_writers == OpenWriters::Refuse {
        return Err(CommitFailure::OpenForWriting { resolved: from.path.clone() });
    }
    Ok(old)
}

/// Makes a link with the same text; making one never replaces anything (symlink(2)).
fn link_again(cx: &Cx<'_>, index: usize, from: &Site, to: &Site, text: &str) -> Result<Created, Failed> {
    let raw = sys::readlink(&from.dir, from.name.as_bytes())
        .map_err(|errno| fail(errno, "reading the link", from))?;
    if names::escaped(&raw) != text {
        let (resolved, found) = (from.path.clone(), FileState::Link { text: names::escaped(&raw) });
        return Err(CommitFailure::Precondition { resolved, found, destination: false }.into());
    }
    match rustix::fs::symlinkat(raw.as_slice(), &to.dir, to.name.as_bytes()) {
        Ok(()) => {}
        Err(Errno::EXIST) => {
            let (resolved, found) = (to.path.clone(), look::found(to));
            return Err(CommitFailure::Precondition { resolved, found, destination: true }.into());
        }
        Err(errno) => return Err(fail(errno, "linking", to).into()),
    }
    cx.step(Step::Exposed(&from.path));
    // Making a link gives no hold of its inode; one with the same text is the same to whoever follows it.
    let came = look::judge(to, &to.name);
    match &came {
        Thing::Link { text: made, .. } if made == text => Ok(Created::new(cx, index, to, came)),
        _ => Err(create::lost(to, &came)),
    }
}
