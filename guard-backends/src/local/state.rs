//! What is at a name, in the words of the port.

use std::os::fd::AsFd;

use guard_core::policy::FileState;
use guard_core::port::OpError;
use rustix::io::Errno;

use crate::names::escaped;

use super::errno;
use super::sys::{self, Kind, Meta};

/// Translates what `lstat` said; no digest is taken.
///
/// A name that is gone by the time its link is read is absent.
pub(super) fn state(
    dir: impl AsFd,
    name: &[u8],
    meta: Option<Meta>,
    shown: &dyn std::fmt::Display,
) -> Result<FileState, OpError> {
    let Some(meta) = meta else { return Ok(FileState::Absent) };
    Ok(match meta.kind {
        Kind::Regular => regular(&meta),
        Kind::Directory => FileState::Directory,
        Kind::Other(what) => FileState::Other { what },
        Kind::Link => match sys::readlink(&dir, name) {
            Ok(text) => FileState::Link { text: escaped(&text) },
            Err(Errno::NOENT) => FileState::Absent,
            // EINVAL: it is no link any more, and what it is instead is not established.
            Err(Errno::INVAL) => return Err(OpError::Torn),
            Err(errno) => return Err(errno::at(errno, "reading the link", shown)),
        },
    })
}

/// Describes a regular file without its digest.
pub(super) fn regular(meta: &Meta) -> FileState {
    FileState::Regular { len: meta.len, mode: meta.mode, nlink: meta.nlink, digest: None }
}
