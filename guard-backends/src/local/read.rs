//! Reading regular files, and nothing else.
//!
//! A file is looked at before it is opened, because opening a device can have effects and opening a FIFO waits; it is
//! looked at again once it is open, because the name may lead to something else by then.
//!
//! One pass gives both the bytes and the digest, so that a delivered byte is always one of the version that the
//! digest names. A writer in the middle of that pass would make it a version that never was: the file's size and
//! times are compared before and after, and a difference is read again. They are used for nothing else. (Where their
//! granularity hides such a write, the digest is of no file that exists, and no precondition made of it holds.)

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt as _;

use guard_core::policy::{Digest, FileState};
use guard_core::port::{Ask, Body, Contents, Depth, Found, OpError, Part, Step, Want};
use rustix::io::Errno;

use super::Inner;
use super::errno;
use super::resolve::{self, Spot};
use super::state;
use super::sys::{self, Kind, Meta};

/// How often a file that changes while it is read is read again.
const ATTEMPTS: usize = 8;
/// How many bytes are read at a time.
pub(super) const PIECE: usize = 128 * 1024;

/// What is at a name, with a descriptor of a regular file.
#[derive(Debug)]
pub(super) enum Opened {
    /// A regular file that is open, and what it was when it was opened.
    Regular(File, Meta),
    /// Something else, or nothing.
    Other(Option<Meta>),
}

/// Opens the regular file at a name; anything else is looked at only.
pub(super) fn open(dir: impl AsFd, name: &[u8], shown: &dyn std::fmt::Display) -> Result<Opened, OpError> {
    for _ in 0..ATTEMPTS {
        let seen = sys::lstat(&dir, name).map_err(|errno| errno::at(errno, "looking at", shown))?;
        let Some(meta) = seen.filter(|meta| meta.kind == Kind::Regular) else {
            return Ok(Opened::Other(seen));
        };
        let file = match sys::open_read(&dir, name) {
            Ok(file) => file,
            // Gone, a link (ELOOP, open(2)), or a socket (ENXIO) since: look again.
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => continue,
            Err(errno) => return Err(errno::at(errno, "opening", shown)),
        };
        let opened = sys::meta(&file).map_err(|errno| errno::at(errno, "looking at", shown))?;
        if opened.kind == Kind::Regular && opened.id == meta.id {
            return Ok(Opened::Regular(file, opened));
        }
    }
    Err(OpError::Torn)
}

/// One pass over a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pass {
    /// How many bytes there were.
    pub(super) len: u64,
    /// The digest of exactly those.
    pub(super) digest: Digest,
}

/// Reads a file from its start, handing over each piece with its offset.
///
/// It ends one byte after `expected` at the latest, so that a file that grows cannot keep it.
pub(super) fn pass(
    file: &File,
    expected: u64,
    mut each: impl FnMut(u64, &[u8]) -> io::Result<()>,
) -> io::Result<Pass> {
    let mut hasher = guard_core::policy::Hasher::new();
    let mut buffer = vec![0; PIECE.min(expected as usize + 1)];
    let mut len = 0;
    while len <= expected {
        let read = match file.read_at(&mut buffer, len) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(&buffer[..read]);
        each(len, &buffer[..read])?;
        len += read as u64;
    }
    Ok(Pass { len, digest: hasher.finish() })
}

/// Reads a file that does not change meanwhile; `start` is called before each attempt.
pub(super) fn steady<T>(
    file: &File,
    shown: &dyn std::fmt::Display,
    mut attempt: impl FnMut(&Meta) -> io::Result<(Pass, T)>,
) -> Result<(Meta, Pass, T), OpError> {
    let look = || sys::meta(file).map_err(|errno| errno::at(errno, "looking at", shown));
    for _ in 0..ATTEMPTS {
        let before = look()?;
        let (pass, value) = attempt(&before).map_err(|error| errno::io(&error, "reading", shown))?;
        let after = look()?;
        if pass.len == before.len && before.len == after.len && before.changed == after.changed {
            return Ok((after, pass, value));
        }
    }
    Err(OpError::Torn)
}

/// Takes the digest of an open file that does not change meanwhile.
pub(super) fn digest(file: &File, shown: &dyn std::fmt::Display) -> Result<(Meta, Pass), OpError> {
    steady(file, shown, |meta| Ok((pass(file, meta.len, |_, _| Ok(()))?, ())))
        .map(|(meta, pass, ())| (meta, pass))
}

/// Describes a regular file with its digest.
pub(super) fn with_digest(meta: &Meta, pass: Pass) -> FileState {
    FileState::Regular { len: pass.len, mode: meta.mode, nlink: meta.nlink, digest: Some(pass.digest) }
}

/// Tells what is at a spot, with the digest of a regular file of at most `max` bytes.
pub(super) fn state_at(
    dir: impl AsFd,
    name: &[u8],
    max: Option<u64>,
    shown: &dyn std::fmt::Display,
) -> Result<FileState, OpError> {
    let Some(max) = max else {
        let meta = sys::lstat(&dir, name).map_err(|errno| errno::at(errno, "looking at", shown))?;
        return state::state(dir, name, meta, shown);
    };
    match open(&dir, name, shown)? {
        Opened::Regular(_, meta) if meta.len > max => Ok(state::regular(&meta)),
        Opened::Regular(file, _) => digest(&file, shown).map(|(meta, pass)| with_digest(&meta, pass)),
        Opened::Other(meta) => state::state(dir, name, meta, shown),
    }
}

/// Follows a path and opens what is there, until what was opened is what has the path: a directory can be moved out of
/// a root after it was found there, and then its names are no names of the root.
///
/// `None` where the path leads to nothing.
pub(super) fn arrive(local: &Inner, ask: &Ask) -> Result<(Spot, Option<Opened>), OpError> {
    for _ in 0..resolve::ATTEMPTS {
        let spot = resolve::resolve(local, (ask.root, &ask.path), ask.last, &ask.scope)?;
        if spot.meta.is_none() {
            if spot.is_where_it_was(local.position)? {
                return Ok((spot, None));
            }
        } else if let Some(opened) = open_at(local, &spot)? {
            return Ok((spot, Some(opened)));
        }
    }
    Err(OpError::UnstablePath)
}

/// Opens what is at a spot; `None` where what was opened does not have its path any more.
fn open_at(local: &Inner, spot: &Spot) -> Result<Option<Opened>, OpError> {
    let opened = open(&spot.dir, spot.at(), &spot.path)?;
    let is_there = match &opened {
        Opened::Regular(file, _) => spot.is_of(file, local.position)?,
        Opened::Other(_) => spot.is_where_it_was(local.position)?,
    };
    Ok(is_there.then_some(opened))
}

/// Tells what is at a path, as deep as it was asked.
pub(super) fn stat(local: &Inner, ask: &Ask) -> Result<Found, OpError> {
    for _ in 0..resolve::ATTEMPTS {
        let spot = resolve::resolve(local, (ask.root, &ask.path), ask.last, &ask.scope)?;
        let is_digested = |meta: &Meta| matches!(ask.depth, Depth::Digest { max } if meta.kind == Kind::Regular && meta.len <= max);
        if spot.meta.as_ref().is_some_and(is_digested) {
            let Some(opened) = open_at(local, &spot)? else { continue };
            let state = match (opened, ask.depth) {
                (Opened::Regular(file, meta), Depth::Digest { max }) if meta.len <= max => {
                    let (meta, pass) = digest(&file, &spot.path)?;
                    with_digest(&meta, pass)
                }
                (Opened::Regular(_, meta), _) => state::regular(&meta),
                (Opened::Other(meta), _) => state::state(&spot.dir, spot.at(), meta, &spot.path)?,
            };
            return Ok(Found { resolved: spot.path, state });
        }
        let found = found(&spot, ask.depth)?;
        if spot.is_where_it_was(local.position)? {
            return Ok(found);
        }
    }
    Err(OpError::UnstablePath)
}

/// Tells what a resolved spot is, as deep as it was asked.
pub(super) fn found(spot: &Spot, depth: Depth) -> Result<Found, OpError> {
    let state = match (&spot.meta, depth) {
        (None, _) => FileState::Absent,
        (Some(meta), Depth::Digest { max }) if meta.kind == Kind::Regular && meta.len <= max => {
            state_at(&spot.dir, spot.at(), Some(max), &spot.path)?
        }
        (Some(meta), _) => state::state(&spot.dir, spot.at(), Some(*meta), &spot.path)?,
    };
    Ok(Found { resolved: spot.path.clone(), state })
}

/// Reads what is wanted.
pub(super) fn read(local: &Inner, want: &Want) -> Result<Contents, OpError> {
    let (spot, opened) = arrive(local, &want.ask)?;
    let shown = &spot.path;
    let here = |state| Found { resolved: spot.path.clone(), state };
    let (file, meta) = match opened {
        Some(Opened::Regular(file, meta)) => (file, meta),
        Some(Opened::Other(meta)) => {
            let state = state::state(&spot.dir, spot.at(), meta, shown)?;
            return Ok(Contents { found: here(state), body: Body::NotRegular });
        }
        None => return Ok(Contents { found: here(FileState::Absent), body: Body::NotRegular }),
    };
    let reach = match want.ask.depth {
        Depth::State => None,
        Depth::Digest { max } => Some(max),
    };
    let window = |len: u64| match want.part {
        Part::Whole { max } => (len <= max).then_some((0, len)),
        // What comes with a window is the digest of the whole.
        Part::Bytes { offset, len: wanted } => {
            let start = offset.min(len);
            reach.is_none_or(|max| len <= max).then(|| (start, start.saturating_add(wanted).min(len)))
        }
    };
    if window(meta.len).is_none() && reach.is_none_or(|max| meta.len > max) {
        return Ok(Contents { found: here(state::regular(&meta)), body: Body::TooLarge });
    }
    let (meta, pass, bytes) = steady(&file, shown, |meta| {
        let range = window(meta.len);
        let (start, end) = range.unwrap_or_default();
        let mut bytes = Vec::new();
        if range.is_some() {
            local.step(Step::ToRead(&spot.path, end - start));
        }
        let pass = pass(&file, meta.len, |at, piece| {
            let from = start.saturating_sub(at).min(piece.len() as u64) as usize;
            let to = end.saturating_sub(at).min(piece.len() as u64) as usize;
            bytes.extend_from_slice(&piece[from..to.max(from)]);
            if to > from {
                local.step(Step::Reading(&spot.path, bytes.len() as u64));
            }
            Ok(())
        })?;
        if range.is_some() && bytes.is_empty() {
            local.step(Step::Reading(&spot.path, 0));
        }
        Ok((pass, range.map(|_| (start, bytes))))
    })?;
    let body = bytes.map_or(Body::TooLarge, |(offset, bytes)| Body::Bytes { offset, bytes });
    Ok(Contents { found: here(with_digest(&meta, pass)), body })
}

/// Reads an open file from its start, whatever its position is.
pub(super) struct FromStart<'a> {
    file: &'a File,
    at: u64,
}

impl<'a> FromStart<'a> {
    pub(super) const fn new(file: &'a File) -> Self {
        Self { file, at: 0 }
    }
}

impl io::Read for FromStart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
