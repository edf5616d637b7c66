//! The ways in which a rival writes.

#![allow(clippy::disallowed_methods, reason = "the rival is a program that nothing guards")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags};

use super::{Kind, now};

/// Writes once. `pause` is how long a writer that waits has the file open, in nanoseconds.
pub(super) fn write(kind: Kind, file: &Path, bytes: &[u8], pause: u64) -> io::Result<()> {
    match kind {
        Kind::RenamesOver => {
            let temp = temp(file);
            fs::write(&temp, bytes)?;
            fs::rename(&temp, file)
        }
        Kind::WritesInPlace => fs::write(file, bytes),
        Kind::OpensWaitsWrites => {
            let mut opened = OpenOptions::new().write(true).create(true).truncate(false).open(file)?;
            spin(pause);
            opened.set_len(0)?;
            opened.write_all(bytes)
        }
        Kind::UnlinksAndCreates => {
            match fs::remove_file(file) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
            File::create(file)?.write_all(bytes)
        }
        Kind::Exchanges => {
            let temp = temp(file);
            fs::write(&temp, bytes)?;
            match rustix::fs::renameat_with(CWD, &temp, CWD, file, RenameFlags::EXCHANGE) {
                // It knows what it has displaced.
                Ok(()) => fs::remove_file(&temp),
                Err(rustix::io::Errno::NOENT) => fs::rename(&temp, file),
                Err(errno) => Err(errno.into()),
            }
        }
        Kind::CreatesExclusively => {
            OpenOptions::new().write(true).create_new(true).open(file)?.write_all(bytes)
        }
        Kind::LinksIn => {
            let temp = temp(file);
            fs::write(&temp, bytes)?;
            let linked = fs::hard_link(&temp, file);
            fs::remove_file(&temp)?;
            linked
        }
    }
}

/// The temporary file of a writer that has one: a name that is not the guard's.
pub(super) fn temp(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".rival");
    file.with_file_name(name)
}

/// Waits without giving up the processor: a sleep is longer than the windows that are to be hit.
pub(crate) fn spin(nanos: u64) {
    let until = now() + nanos;
    while now() < until {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_leaves_its_bytes_at_the_name_and_nothing_else() {
        for kind in Kind::ALL {
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join("file");
            for bytes in [&b"first, and longer"[..], b"second"] {
                write(kind, &file, bytes, 1000).unwrap();
                assert_eq!(fs::read(&file).unwrap(), bytes, "{kind}");
                assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "{kind}");
            }
        }
    }

    #[test]
    fn an_exclusive_kind_writes_where_nothing_is_and_nowhere_else() {
        for kind in Kind::CREATING.into_iter().filter(|kind| kind.is_exclusive()) {
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join("file");
            write(kind, &file, b"first", 1000).unwrap();
            let late = write(kind, &file, b"second", 1000).unwrap_err();
            assert_eq!(late.kind(), io::ErrorKind::AlreadyExists, "{kind}");
            assert_eq!(fs::read(&file).unwrap(), b"first", "{kind}");
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "{kind}");
        }
    }
}
