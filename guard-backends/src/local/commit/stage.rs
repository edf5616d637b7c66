//! New content, written and checked before anything is published.

use std::fs::File;
use std::io::{Read, Write as _};
use std::os::fd::OwnedFd;

use guard_core::policy::{Digest, Hasher};
use guard_core::port::{CommitFailure, Content, Effect, Fate, Mode, OpError, Step, Tier};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::look::{Old, Regular, Thing};
use super::plan::{self, Site};
use super::{Cx, Failed, Stop, Work, fail, left, metadata};
use crate::local::errno;
use crate::local::read::PIECE;
use crate::local::sys::{self, Meta};
use crate::names;
use crate::temp::Role;

/// A content that is in a file of its own, checked and synced.
#[derive(Debug)]
pub(super) struct Staged {
    pub(super) file: File,
    /// Its temporary name; none for one that has no name yet.
    pub(super) name: Option<String>,
    pub(super) meta: Meta,
    pub(super) len: u64,
    pub(super) digest: Digest,
}

/// What a temporary file starts as.
pub(super) enum Start {
    /// With what the umask and the directory's default ACL make of these bits; without a name, where that can be.
    New(u32),
    /// With a name, and readable by nobody else until it has the old file's metadata.
    Private(Role),
}

impl Staged {
    /// Removes it, if it has a temporary name and that is still its own.
    ///
    /// It was never at a name that others know, so that whatever is in it is ours.
    pub(super) fn discard(self, site: &Site) -> Fate {
        self.clear(site)
    }

    /// Takes the temporary name from it, if it has one and that is still its own.
    pub(super) fn clear(&self, site: &Site) -> Fate {
        let Some(name) = &self.name else { return Fate::Untouched };
        match sys::lstat(&site.dir, name.as_bytes()) {
            Ok(Some(meta)) if meta.id == self.meta.id => match sys::unlink(&site.dir, name.as_bytes()) {
                Ok(()) | Err(Errno::NOENT) => Fate::Untouched,
                Err(errno) => left(site, name, &format!("a staged content could not be removed: {errno}")),
            },
            Ok(None) => Fate::Untouched,
            Ok(Some(_)) => left(site, name, "another file has the name of a staged content"),
            Err(errno) => left(site, name, &format!("a staged content could not be removed: {errno}")),
        }
    }

    /// Removes it because of a failure, which then says where it stays if it does.
    pub(super) fn give_up(self, site: &Site, failed: impl Into<Failed>) -> Failed {
        let Failed { cause, fate } = failed.into();
        Failed { cause, fate: super::worse(fate, self.discard(site)) }
    }

    /// Takes it as what is at a name, as the kernel has it now.
    pub(super) fn thing(&self) -> Thing {
        let meta = sys::meta(&self.file).unwrap_or(self.meta);
        Thing::Regular(Regular { file: None, meta, len: self.len, digest: Some(self.digest) })
    }
}

/// Stages what a change puts, if anything is to be put.
pub(super) fn stage(cx: &Cx<'_>, work: &mut Work<'_>) -> Result<(), Failed> {
    let plan = &work.plan;
    let site = &plan.site;
    let staged = match (&plan.change.effect, &work.old.thing) {
        (Effect::Put { content, mode, .. }, Thing::Regular(old))
            if plan::is_identical(content.digest(), *mode, old) =>
        {
            work.identical = true;
            return Ok(());
        }
        (Effect::Put { content, mode, .. }, Thing::Regular(old)) => {
            let staged = write(cx, site, plan.index, &Start::Private(Role::Stage), |file| {
                put(cx, site, content, file)
            })?;
            match dress(cx, site, old, &staged.file, *mode) {
                Ok(kept) => work.kept = kept,
                Err(cause) => return Err(staged.give_up(site, cause)),
            }
            work.kept.other_names = old.meta.nlink.saturating_sub(1);
            seal(site, staged)?
        }
        (Effect::Put { content, mode, .. }, _) => {
            let bits = match mode {
                Mode::Keep => 0o666,
                Mode::Executable => 0o777,
                Mode::Set(mode) => mode & 0o777,
            };
            let staged = write(cx, site, plan.index, &Start::New(bits), |file| put(cx, site, content, file))?;
            if let Mode::Set(mode) = mode
                && let Err(errno) = rustix::fs::fchmod(&staged.file, sys::mode_bits(*mode))
            {
                return Err(staged.give_up(site, fail(errno, "setting the mode of", site)));
            }
            seal(site, staged)?
        }
        (Effect::MoveTo { .. }, _) => return super::copy::stage_across(cx, work),
        _ => return Ok(()),
    };
    cx.step(Step::Staged(&site.path));
    work.staged = Some(staged);
    Ok(())
}

/// Carries the metadata over again, where the second look found another file, or other attributes, than the first.
pub(super) fn again(cx: &Cx<'_>, work: &mut Work<'_>, first: &Thing) -> Result<(), CommitFailure> {
    let (Some(staged), Thing::Regular(now), Thing::Regular(before)) = (&work.staged, &work.old.thing, first)
    else {
        return Ok(());
    };
    let attributes = |meta: &Meta| (meta.id, meta.mode, meta.uid, meta.gid);
    if attributes(&now.meta) == attributes(&before.meta) {
        return Ok(());
    }
    let Effect::Put { mode, .. } = work.plan.change.effect else { return Ok(()) };
    let site = &work.plan.site;
    let mut kept = dress(cx, site, now, &staged.file, mode)?;
    kept.other_names = now.meta.nlink.saturating_sub(1);
    work.kept = kept;
    sys::sync(&staged.file).map_err(|errno| fail(errno, "syncing the content of", site))
}

fn dress(
    cx: &Cx<'_>,
    site: &Site,
    old: &Regular,
    new: &File,
    mode: Mode,
) -> Result<guard_core::port::Kept, CommitFailure> {
    metadata::keep(cx, site, (old.file.as_ref(), &old.meta), new, mode)
}

/// Makes a file and fills it; on any failure it is gone again.
pub(super) fn write(
    cx: &Cx<'_>,
    site: &Site,
    index: usize,
    start: &Start,
    pour: impl FnOnce(&File) -> Result<(u64, Digest), CommitFailure>,
) -> Result<Staged, Failed> {
    let (file, name) = make(cx, site, index, start)?;
    let filled = pour(&file).and_then(|(len, digest)| {
        let meta = sys::meta(&file).map_err(|errno| fail(errno, "looking at the content of", site))?;
        Ok((len, digest, meta))
    });
    match filled {
        Ok((len, digest, meta)) => Ok(Staged { file, name, meta, len, digest }),
        Err(cause) => Err(match (name, sys::meta(&file)) {
            (Some(name), Ok(meta)) => {
                let empty = Digest::of(b"");
                Staged { file, name: Some(name), meta, len: 0, digest: empty }.give_up(site, cause)
            }
            (Some(name), Err(errno)) => {
                let fate = left(site, &name, &format!("a staged content could not be looked at: {errno}"));
                Failed { cause, fate }
            }
            (None, _) => cause.into(),
        }),
    }
}

fn make(
    cx: &Cx<'_>,
    site: &Site,
    index: usize,
    start: &Start,
) -> Result<(File, Option<String>), CommitFailure> {
    if let Start::New(mode) = start
        && cx.local.unnamed
        && let Some(file) = unnamed(&site.dir, *mode).map_err(|errno| blocked(errno, site, ""))?
    {
        return Ok((file, None));
    }
    let (mode, role) = match start {
        Start::New(mode) => (*mode, Role::Stage),
        Start::Private(role) => (0o600, *role),
    };
    let name = cx.temp(index, role);
    let file = sys::create_exclusively(&site.dir, name.as_bytes(), mode)
        .map_err(|errno| blocked(errno, site, &name))?;
    Ok((file, Some(name)))
}

/// A temporary file that could not be made: the directory is to blame, not the name that is changed.
fn blocked(errno: Errno, site: &Site, name: &str) -> CommitFailure {
    // A directory that was removed meanwhile takes no files: ENOENT, and of ext4 EPERM.
    if sys::meta(&site.dir).is_ok_and(|dir| dir.nlink == 0) {
        return OpError::UnstablePath.into();
    }
    let path = if errno == Errno::EXIST { names::child(&site.dir_path, name).ok() } else { None };
    errno::at(errno, "making a temporary file in", path.as_ref().unwrap_or(&site.dir_path)).into()
}

/// Makes a file without a name: open(2), `O_TMPFILE`.
#[cfg(target_os = "linux")]
fn unnamed(dir: &OwnedFd, mode: u32) -> rustix::io::Result<Option<File>> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::openat(dir, ".", flags, sys::mode_bits(mode)) {
        Ok(fd) => Ok(Some(File::from(fd))),
        // EOPNOTSUPP: the filesystem has none. EISDIR, ENOENT: neither has the kernel (before 3.11).
        Err(errno) if sys::is_unsupported(errno) || errno == Errno::ISDIR || errno == Errno::NOENT => {
            Ok(None)
        }
        Err(errno) => Err(errno),
    }
}

#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps, reason = "on Linux it can fail")]
fn unnamed(_dir: &OwnedFd, _mode: u32) -> rustix::io::Result<Option<File>> {
    let _ = OFlags::empty();
    Ok(None)
}

/// Writes a content and checks that it is what was announced.
pub(super) fn put(
    cx: &Cx<'_>,
    site: &Site,
    content: &Content,
    file: &File,
) -> Result<(u64, Digest), CommitFailure> {
    cx.step(Step::ToStage(&site.path, content.len()));
    let source = content.open().map_err(|error| source(&error))?;
    // One byte more than announced is enough to know.
    let reader = source.take(content.len().saturating_add(1));
    let (len, digest) = pour(cx, site, reader, file)?;
    let staged = sys::meta(file).map_err(|errno| fail(errno, "looking at the content of", site))?.len;
    if len != content.len() || digest != content.digest() || staged != len {
        return Err(CommitFailure::ContentMismatch);
    }
    Ok((len, digest))
}

fn source(error: &std::io::Error) -> CommitFailure {
    OpError::Io { what: "reading the content".to_owned(), errno: error.to_string() }.into()
}

/// Copies all bytes of a reader into a file.
pub(super) fn pour(
    cx: &Cx<'_>,
    site: &Site,
    mut reader: impl Read,
    mut file: &File,
) -> Result<(u64, Digest), CommitFailure> {
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; PIECE];
    let mut len = 0;
    loop {
        let read = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(source(&error)),
        };
        hasher.update(&buffer[..read]);
        file.write_all(&buffer[..read])
            .map_err(|error| errno::io(&error, "writing the content of", &site.path))?;
        len += read as u64;
        cx.step(Step::Staging(&site.path, len));
    }
    if len == 0 {
        cx.step(Step::Staging(&site.path, 0));
    }
    Ok((len, hasher.finish()))
}

/// Syncs a staged file and lets go of the right to write it, so that nobody finds it open for writing once it is
/// published (a lease would be refused, and executing it would be ETXTBSY).
pub(super) fn seal(site: &Site, mut staged: Staged) -> Result<Staged, Failed> {
    if let Err(errno) = sys::sync(&staged.file) {
        return Err(staged.give_up(site, fail(errno, "syncing the content of", site)));
    }
    // Its mode may have been set since.
    staged.meta = sys::meta(&staged.file).unwrap_or(staged.meta);
    let reopened = match &staged.name {
        Some(name) => sys::open_read(&site.dir, name.as_bytes()).ok(),
        None => reopen(&staged.file),
    };
    // Where its mode keeps even us from reading it, the first descriptor has to do.
    if let Some(file) = reopened
        && sys::meta(&file).is_ok_and(|meta| meta.id == staged.meta.id)
    {
        staged.file = file;
    }
    Ok(staged)
}

#[cfg(target_os = "linux")]
fn reopen(file: &File) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    rustix::fs::open(descriptor(file), flags, rustix::fs::Mode::empty()).ok().map(File::from)
}

#[cfg(not(target_os = "linux"))]
fn reopen(_file: &File) -> Option<File> {
    None
}

/// Names a descriptor: proc(5).
#[cfg(target_os = "linux")]
pub(super) fn descriptor(file: &File) -> String {
    use std::os::fd::AsRawFd as _;
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Finds out, for a batch that requires an exchange, whether the filesystems have it, while nothing is published.
///
/// A single change finds out when it is published, which is before it has any effect; here a later change's
/// filesystem could be weaker than that of one that was published already.
pub(super) fn probe(cx: &Cx<'_>, works: &mut [Work<'_>]) -> Result<(), Stop> {
    if cx.batch.require != Some(Tier::Exchange) || works.len() < 2 {
        return Ok(());
    }
    for work in works {
        let Work { plan, staged: Some(staged), old: Old { thing: Thing::Regular(_), .. }, left, .. } = work
        else {
            continue;
        };
        let Some(stage) = &staged.name else { continue };
        let site = &plan.site;
        let nothing = |_: &File| Ok((0, Digest::of(b"")));
        let probe = write(cx, site, plan.index, &Start::Private(Role::Probe), nothing)
            .map_err(Stop::at(plan.index))?;
        let name = cx.temp(plan.index, Role::Probe);
        let there = sys::exchange(&site.dir, stage.as_bytes(), name.as_bytes());
        let back = there.and_then(|()| sys::exchange(&site.dir, stage.as_bytes(), name.as_bytes()));
        let fate = probe.discard(site);
        let cause = match back {
            Ok(()) => {
                if let Fate::Left { what } = fate {
                    left.push(what);
                }
                continue;
            }
            Err(errno) if sys::is_unsupported(errno) => {
                CommitFailure::TierUnavailable { available: Tier::Window }
            }
            Err(errno) => fail(errno, "asking for the exchange of", site),
        };
        return Err(Stop::at(plan.index)(Failed { cause, fate }));
    }
    Ok(())
}
