//! What is at a name, in the words of the port.

use std::fmt::Write as _;
use std::os::fd::AsFd;

use guard_core::policy::FileState;
use guard_core::port::OpError;
use rustix::io::Errno;

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

/// Writes bytes as text: UTF-8 as it is; else what is not UTF-8 as `\xHH` and a backslash as `\\`.
pub(super) fn escaped(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut text = String::with_capacity(bytes.len() * 2);
    for chunk in bytes.utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', "\\\\"));
        for byte in chunk.invalid() {
            // Writing to a String cannot fail.
            let _ = write!(text, "\\x{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_utf8_are_escaped() {
        for (bytes, expected) in [
            (&b"plain"[..], "plain"),
            (b"back\\slash", "back\\slash"),
            ("na\u{ef}ve".as_bytes(), "na\u{ef}ve"),
            (b"\xff", "\\xFF"),
            (b"a\\b\xfe", "a\\\\b\\xFE"),
        ] {
            assert_eq!(escaped(bytes), expected);
        }
    }
}
