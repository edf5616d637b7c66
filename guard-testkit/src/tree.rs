//! What a whole directory looks like, so that "nothing changed" is said of everything in it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use guard_core::policy::{Digest, Hasher};

/// A real directory, byte exact: names, types, permission bits, link texts and contents.
///
/// Two snapshots are equal if nothing changed; where they differ, their `Debug` form says in which line.
/// Times, owners and inode numbers are not looked at.
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot(BTreeMap<Vec<u8>, Entry>);

/// One name.
#[derive(Clone, PartialEq, Eq)]
struct Entry {
    mode: u32,
    what: What,
}

#[derive(Clone, PartialEq, Eq)]
enum What {
    File(u64, Digest),
    Directory,
    Link(Vec<u8>),
    Other(&'static str),
    /// A file or directory whose bytes or names this process may not read: its inode, size and time of last change
    /// (`st_ctime`, which no process can set) stand in for them.
    Unreadable(u64, u64, i64, i64),
}

impl Snapshot {
    /// Looks at everything below `path`, and at `path` itself. Links are never followed, FIFOs and devices never
    /// opened.
    ///
    /// # Errors
    ///
    /// Whatever keeps something from being looked at, except that this process may not read it.
    pub fn of(path: &Path) -> io::Result<Self> {
        let mut entries = BTreeMap::new();
        let mut pending = vec![(path.to_owned(), Vec::new())];
        while let Some((at, name)) = pending.pop() {
            let metadata = fs::symlink_metadata(&at)?;
            let mode = metadata.mode() & 0o7777;
            let mut what = describe(&at, &metadata)?;
            if what == What::Directory {
                match names(&at) {
                    Ok(children) => {
                        pending.extend(children.into_iter().map(|child| below(&at, &name, child)));
                    }
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                        what = unreadable(&metadata);
                    }
                    Err(error) => return Err(error),
                }
            }
            entries.insert(name, Entry { mode, what });
        }
        Ok(Self(entries))
    }

    /// Digests the snapshot.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::new();
        for line in self.lines() {
            // A line holds no newline of its own: names and texts are escaped.
            hasher.update(line.as_bytes());
            hasher.update(b"\n");
        }
        hasher.finish()
    }

    /// Writes one line a name, sorted by the names' bytes.
    fn lines(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(name, Entry { mode, what })| {
            let what = match what {
                What::File(len, digest) => format!("file of {len} bytes, {digest}"),
                What::Directory => "directory".to_owned(),
                What::Link(text) => format!("link to \"{}\"", text.escape_ascii()),
                What::Other(kind) => (*kind).to_owned(),
                What::Unreadable(ino, len, seconds, nanos) => {
                    format!("unreadable, inode {ino}, {len} bytes, changed {seconds}.{nanos:09}")
                }
            };
            format!("\"{}\" {mode:04o} {what}", name.escape_ascii())
        })
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.lines()).finish()
    }
}

/// Digests a real directory: equal digests mean that no name, type, mode, link text or content changed.
///
/// # Errors
///
/// As [`Snapshot::of`].
pub fn digest_of_tree(path: &Path) -> io::Result<Digest> {
    Snapshot::of(path).map(|snapshot| snapshot.digest())
}

fn describe(at: &Path, metadata: &Metadata) -> io::Result<What> {
    let kind = metadata.file_type();
    Ok(if kind.is_dir() {
        What::Directory
    } else if kind.is_symlink() {
        What::Link(fs::read_link(at)?.into_os_string().into_vec())
    } else if kind.is_file() {
        match digest_of_file(at) {
            Ok(digest) => What::File(metadata.len(), digest),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => unreadable(metadata),
            Err(error) => return Err(error),
        }
    } else if kind.is_fifo() {
        What::Other("FIFO")
    } else if kind.is_socket() {
        What::Other("socket")
    } else {
        What::Other("device")
    })
}

fn unreadable(metadata: &Metadata) -> What {
    What::Unreadable(metadata.ino(), metadata.len(), metadata.ctime(), metadata.ctime_nsec())
}

fn digest_of_file(at: &Path) -> io::Result<Digest> {
    let mut file = File::open(at)?;
    let mut hasher = Hasher::new();
    let mut piece = vec![0; 256 * 1024];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hasher.finish()),
            read => hasher.update(&piece[..read]),
        }
    }
}

fn names(at: &Path) -> io::Result<Vec<OsString>> {
    fs::read_dir(at)?.map(|entry| Ok(entry?.file_name())).collect()
}

fn below(at: &Path, name: &[u8], child: OsString) -> (PathBuf, Vec<u8>) {
    let relative =
        if name.is_empty() { child.as_bytes().to_vec() } else { [name, b"/", child.as_bytes()].concat() };
    (at.join(child), relative)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "the tests are the other process")]

    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// Every single change of a tree is seen.
    #[test]
    fn any_change_changes_the_digest() {
        type Change = fn(&Path) -> io::Result<()>;
        let changes: &[(&str, Change)] = &[
            ("a byte", |at| fs::write(at.join("d/file"), "two!")),
            ("a mode", |at| fs::set_permissions(at.join("d/file"), fs::Permissions::from_mode(0o600))),
            ("a directory's mode", |at| fs::set_permissions(at.join("d"), fs::Permissions::from_mode(0o700))),
            ("a name", |at| fs::rename(at.join("d/file"), at.join("d/other"))),
            ("a new file", |at| fs::write(at.join(".new"), "")),
            ("a new directory", |at| fs::create_dir(at.join("d/new"))),
            ("a link's text", |at| {
                fs::remove_file(at.join("link"))?;
                symlink("d/other", at.join("link"))
            }),
            ("a link for what it leads to", |at| {
                fs::remove_file(at.join("link"))?;
                fs::write(at.join("link"), "one!")
            }),
            ("a removal", |at| fs::remove_file(at.join("d/file"))),
        ];
        for (change, make) in changes {
            let directory = tempfile::tempdir().unwrap();
            let at = directory.path();
            fs::create_dir(at.join("d")).unwrap();
            fs::write(at.join("d/file"), "one!").unwrap();
            symlink("d/file", at.join("link")).unwrap();
            symlink("/nowhere", at.join("dangling")).unwrap();
            rustix::fs::mknodat(
                rustix::fs::CWD,
                at.join("pipe"),
                rustix::fs::FileType::Fifo,
                rustix::fs::Mode::from(0o600),
                0,
            )
            .unwrap();
            let before = digest_of_tree(at).unwrap();
            assert_eq!(digest_of_tree(at).unwrap(), before);
            make(at).unwrap();
            assert_ne!(digest_of_tree(at).unwrap(), before, "{change}");
        }
    }

    #[test]
    fn an_error_is_not_an_empty_tree() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(
            digest_of_tree(&directory.path().join("absent")).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }
}
