//! What is at a name, and what came out of one: by type first, then by digest.

use std::fs::File;
use std::os::fd::AsFd;

use guard_core::policy::{Digest, FileState, OtherKind, Precondition};
use guard_core::port::{CommitFailure, Fate, OpError};

use super::plan::Site;
use crate::local::read::{self, Opened};
use crate::local::sys::{self, Id, Kind, Meta};
use crate::local::{lease, state};

/// The largest file whose digest is taken only to be told of.
pub(super) const TOLD_MAX: u64 = 256 * 1024 * 1024;

/// Of how large a file the digest is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Of any: something is decided by it.
    Any,
    /// Of those within the digest limit: it is reported.
    Told,
}

/// What is at a name.
#[derive(Debug)]
pub(super) enum Thing {
    Absent,
    Regular(Regular),
    /// A link, with its text as it is written for people.
    Link {
        id: Id,
        text: String,
    },
    /// A directory, or another kind.
    Other {
        id: Id,
        state: FileState,
    },
    /// It could not be looked at: never the same as anything, never unlinked.
    Unknown,
}

/// A regular file that was looked at.
#[derive(Debug)]
pub(super) struct Regular {
    /// The descriptor that the digest was taken from; none where we may not read it.
    pub(super) file: Option<File>,
    pub(super) meta: Meta,
    pub(super) len: u64,
    pub(super) digest: Option<Digest>,
}

/// What was at a name at the last look, with the lease on it.
#[derive(Debug)]
pub(super) struct Old {
    pub(super) thing: Thing,
    /// Whether a read lease is held on the descriptor.
    pub(super) leased: bool,
}

impl Old {
    pub(super) const fn nothing() -> Self {
        Self { thing: Thing::Absent, leased: false }
    }
}

impl Thing {
    pub(super) fn state(&self) -> FileState {
        match self {
            Self::Absent => FileState::Absent,
            Self::Regular(Regular { meta, len, digest, .. }) => {
                FileState::Regular { len: *len, mode: meta.mode, nlink: meta.nlink, digest: *digest }
            }
            Self::Link { text, .. } => FileState::Link { text: text.clone() },
            Self::Other { state, .. } => state.clone(),
            Self::Unknown => FileState::Other { what: OtherKind::Unknown },
        }
    }

    pub(super) const fn id(&self) -> Option<Id> {
        match self {
            Self::Regular(Regular { meta, .. }) => Some(meta.id),
            Self::Link { id, .. } | Self::Other { id, .. } => Some(*id),
            Self::Absent | Self::Unknown => None,
        }
    }

    /// Tells whether this is the same inode with the same content.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.id().is_some() && self.id() == other.id() && {
            match (self, other) {
                (Self::Regular(one), Self::Regular(other)) => one.digest == other.digest,
                (Self::Link { text, .. }, Self::Link { text: other, .. }) => text == other,
                (Self::Other { state, .. }, Self::Other { state: other, .. }) => state == other,
                _ => false,
            }
        }
    }
}

/// Looks at a name without changing anything.
pub(super) fn look(
    dir: impl AsFd,
    name: &str,
    reach: Reach,
    shown: &dyn std::fmt::Display,
) -> Result<Thing, OpError> {
    look_under(dir, name, reach, shown, |_| ())
}

/// Looks at a name; `hold` gets a regular file's descriptor before its digest is taken.
fn look_under(
    dir: impl AsFd,
    name: &str,
    reach: Reach,
    shown: &dyn std::fmt::Display,
    hold: impl FnOnce(&File),
) -> Result<Thing, OpError> {
    match read::open(&dir, name.as_bytes(), shown) {
        Ok(Opened::Regular(file, meta)) => {
            hold(&file);
            if reach == Reach::Told && meta.len > TOLD_MAX {
                return Ok(Thing::Regular(Regular { file: Some(file), meta, len: meta.len, digest: None }));
            }
            let (meta, pass) = read::digest(&file, shown)?;
            Ok(Thing::Regular(Regular { file: Some(file), meta, len: pass.len, digest: Some(pass.digest) }))
        }
        Ok(Opened::Other(None)) => Ok(Thing::Absent),
        Ok(Opened::Other(Some(meta))) => {
            let state = state::state(&dir, name.as_bytes(), Some(meta), shown)?;
            Ok(match state {
                FileState::Link { text } => Thing::Link { id: meta.id, text },
                FileState::Absent => Thing::Absent,
                state => Thing::Other { id: meta.id, state },
            })
        }
        // A regular file that we may not read is there all the same.
        Err(OpError::PermissionDenied { path }) => match sys::lstat(&dir, name.as_bytes()) {
            Ok(Some(meta)) if meta.kind == Kind::Regular => {
                Ok(Thing::Regular(Regular { file: None, meta, len: meta.len, digest: None }))
            }
            _ => Err(OpError::PermissionDenied { path }),
        },
        Err(error) => Err(error),
    }
}

/// Looks at what came out of a name; what cannot be looked at is unknown, which stops nothing from being put back.
pub(super) fn judge(site: &Site, name: &str) -> Thing {
    judge_within(site, name, Reach::Any)
}

/// Looks at what came out of a name, as far as something depends on it.
pub(super) fn judge_within(site: &Site, name: &str, reach: Reach) -> Thing {
    match look(&site.dir, name, reach, &site.path) {
        Ok(thing) => thing,
        // It is being written to: an inode without a digest is never unlinked.
        Err(OpError::Torn) => match sys::lstat(&site.dir, name.as_bytes()) {
            Ok(Some(meta)) if meta.kind == Kind::Regular => {
                Thing::Regular(Regular { file: None, meta, len: meta.len, digest: None })
            }
            _ => Thing::Unknown,
        },
        Err(_) => Thing::Unknown,
    }
}

/// Looks at a name and compares it with what has to be there.
pub(super) fn demand(
    site: &Site,
    precondition: &Precondition,
    destination: bool,
) -> Result<Thing, CommitFailure> {
    let thing = look(&site.dir, &site.name, reach(precondition), &site.path)?;
    holds(site, precondition, &thing, destination)?;
    Ok(thing)
}

/// Looks at a file that is about to be displaced: a read lease first, where one is to be had, and its digest under
/// that.
pub(super) fn demand_leased(
    site: &Site,
    precondition: &Precondition,
) -> Result<(Old, lease::Taken), CommitFailure> {
    let mut taken = lease::Taken::Unavailable;
    let hold = |file: &File| taken = lease::take_soon(file);
    let thing = look_under(&site.dir, &site.name, reach(precondition), &site.path, hold)?;
    holds(site, precondition, &thing, false)?;
    Ok((Old { thing, leased: taken == lease::Taken::Held }, taken))
}

pub(super) const fn reach(precondition: &Precondition) -> Reach {
    match precondition {
        Precondition::Content { .. } => Reach::Any,
        _ => Reach::Told,
    }
}

/// Compares what is there with what has to be.
pub(super) fn holds(
    site: &Site,
    precondition: &Precondition,
    thing: &Thing,
    destination: bool,
) -> Result<(), CommitFailure> {
    if let (Precondition::Content { .. }, Thing::Regular(Regular { digest: None, .. })) =
        (precondition, thing)
    {
        // A digest that could not be taken is not another digest.
        return Err(OpError::PermissionDenied { path: site.path.to_string() }.into());
    }
    if precondition.holds(&thing.state()) { Ok(()) } else { Err(other(site, thing, destination)) }
}

/// Compares what came out of a name with what should have; what cannot be read is not what was named.
pub(super) fn came_out(site: &Site, precondition: &Precondition, thing: &Thing) -> Result<(), CommitFailure> {
    if precondition.holds(&thing.state()) { Ok(()) } else { Err(other(site, thing, false)) }
}

fn other(site: &Site, thing: &Thing, destination: bool) -> CommitFailure {
    CommitFailure::Precondition { resolved: site.path.clone(), found: thing.state(), destination }
}

/// Tells what is at a name for a report; what cannot be looked at is of an unknown kind.
pub(super) fn found(site: &Site) -> FileState {
    look(&site.dir, &site.name, Reach::Told, &site.path)
        .map_or_else(|_| Thing::Unknown.state(), |thing| thing.state())
}

/// Tells which inode has a name, if that can be told.
pub(super) fn id(site: &Site, name: &str) -> Option<Id> {
    sys::lstat(&site.dir, name.as_bytes()).ok().flatten().map(|meta| meta.id)
}

/// Unlinks a temporary name if it still is of exactly this inode, and says so where it stays.
pub(super) fn clear(site: &Site, name: &str, thing: &Thing, what: &str) -> Fate {
    if unlink_if(site, name, thing) || matches!(sys::lstat(&site.dir, name.as_bytes()), Ok(None)) {
        return Fate::Untouched;
    }
    super::left(site, name, what)
}

/// Unlinks a temporary name if it still is of exactly this inode.
///
/// The caller has judged the inode; `false` where the name is of another one, which stays.
pub(super) fn unlink_if(site: &Site, name: &str, thing: &Thing) -> bool {
    let same = |meta: &Meta| Some(meta.id) == thing.id() && matches!(meta.kind, Kind::Regular | Kind::Link);
    match sys::lstat(&site.dir, name.as_bytes()) {
        Ok(Some(meta)) if same(&meta) => sys::unlink(&site.dir, name.as_bytes()).is_ok(),
        _ => false,
    }
}
