//! The tree of inodes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use guard_core::policy::{Digest, FileState, Hasher, OtherKind, TargetPath};

/// An inode's number; never used twice.
pub(super) type Ino = u64;

/// The inode of `/`.
pub(super) const TOP: Ino = 1;

/// What an inode holds. Contents are shared, so that a copy of the tree costs a map and no bytes.
#[derive(Debug, Clone)]
pub(super) enum Body {
    File(Arc<Vec<u8>>),
    Directory(Arc<BTreeMap<Vec<u8>, Ino>>),
    Link(Vec<u8>),
    Other(OtherKind),
}

/// One inode.
#[derive(Debug, Clone)]
pub(super) struct Inode {
    pub(super) body: Body,
    /// Permission bits.
    pub(super) mode: u32,
    /// Number of names; an inode without one stays, for those that have it open.
    pub(super) nlink: u64,
    /// How many have it open for writing.
    pub(super) writers: u32,
}

/// All inodes.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    inodes: BTreeMap<Ino, Inode>,
    next: Ino,
}

impl Tree {
    pub(super) fn new() -> Self {
        let mut tree = Self { inodes: BTreeMap::new(), next: TOP };
        let top = tree.add(Body::Directory(Arc::default()), 0o755);
        tree.node_mut(top).nlink = 1;
        tree
    }

    /// Adds an inode without a name.
    pub(super) fn add(&mut self, body: Body, mode: u32) -> Ino {
        let ino = self.next;
        self.next += 1;
        self.inodes.insert(ino, Inode { body, mode, nlink: 0, writers: 0 });
        ino
    }

    pub(super) fn node(&self, ino: Ino) -> &Inode {
        self.inodes.get(&ino).expect("an inode is never dropped from the tree that numbered it")
    }

    pub(super) fn node_mut(&mut self, ino: Ino) -> &mut Inode {
        self.inodes.get_mut(&ino).expect("an inode is never dropped from the tree that numbered it")
    }

    /// Returns a directory's names; none for anything else.
    pub(super) fn names(&self, ino: Ino) -> Option<&BTreeMap<Vec<u8>, Ino>> {
        match &self.node(ino).body {
            Body::Directory(names) => Some(names),
            _ => None,
        }
    }

    pub(super) fn lookup(&self, directory: Ino, name: &[u8]) -> Option<Ino> {
        self.names(directory)?.get(name).copied()
    }

    /// Gives an inode a name, whatever had it before.
    pub(super) fn attach(&mut self, directory: Ino, name: &[u8], ino: Ino) {
        self.detach(directory, name);
        if let Body::Directory(names) = &mut self.node_mut(directory).body {
            Arc::make_mut(names).insert(name.to_vec(), ino);
            self.node_mut(ino).nlink += 1;
        }
    }

    /// Takes a name away and returns the inode that had it.
    pub(super) fn detach(&mut self, directory: Ino, name: &[u8]) -> Option<Ino> {
        let Body::Directory(names) = &mut self.node_mut(directory).body else { return None };
        let ino = Arc::make_mut(names).remove(name)?;
        self.node_mut(ino).nlink -= 1;
        Some(ino)
    }

    /// Finds a path without following any link.
    pub(super) fn find(&self, path: &TargetPath) -> Option<Ino> {
        path.components().try_fold(TOP, |at, name| self.lookup(at, name.as_bytes()))
    }

    /// Makes a directory with its parents, where nothing else is in the way.
    pub(super) fn make_all(&mut self, path: &TargetPath) {
        let mut at = TOP;
        for name in path.components() {
            at = self.lookup(at, name.as_bytes()).unwrap_or_else(|| {
                let made = self.add(Body::Directory(Arc::default()), 0o755);
                self.attach(at, name.as_bytes(), made);
                made
            });
        }
    }

    /// Tells what an inode is, without a digest.
    pub(super) fn state(&self, ino: Ino) -> FileState {
        let node = self.node(ino);
        match &node.body {
            Body::File(bytes) => FileState::Regular {
                len: bytes.len() as u64,
                mode: node.mode,
                nlink: node.nlink,
                digest: None,
            },
            Body::Directory(_) => FileState::Directory,
            Body::Link(text) => FileState::Link { text: shown(text) },
            Body::Other(what) => FileState::Other { what: *what },
        }
    }

    /// Tells what an inode is, with the digest of a regular file that its owner may read.
    pub(super) fn state_with_digest(&self, ino: Ino) -> FileState {
        let mut state = self.state(ino);
        let node = self.node(ino);
        if let (FileState::Regular { digest, .. }, Body::File(bytes)) = (&mut state, &node.body)
            && node.mode & 0o400 != 0
        {
            *digest = Some(Digest::of(bytes));
        }
        state
    }

    /// Counts the bytes of all files that have a name.
    pub(super) fn used(&self) -> u64 {
        let len = |node: &Inode| match &node.body {
            Body::File(bytes) if node.nlink > 0 => bytes.len() as u64,
            _ => 0,
        };
        self.inodes.values().map(len).sum()
    }

    /// Digests names, types, modes, link texts and contents of everything below `ino`.
    pub(super) fn digest(&self, ino: Ino) -> Digest {
        let mut hasher = Hasher::new();
        self.digest_into(ino, &mut hasher);
        hasher.finish()
    }

    fn digest_into(&self, ino: Ino, hasher: &mut Hasher) {
        let node = self.node(ino);
        // Every piece goes in with its length, so that no two trees spell the same.
        let mut piece = |kind: u8, bytes: &[u8]| {
            hasher.update(&[kind]);
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        piece(b'm', &node.mode.to_le_bytes());
        match &node.body {
            Body::File(bytes) => piece(b'f', bytes),
            Body::Link(text) => piece(b'l', text),
            Body::Other(what) => piece(b'o', what.describe().as_bytes()),
            Body::Directory(names) => {
                piece(b'd', &(names.len() as u64).to_le_bytes());
                for (name, child) in names.iter() {
                    hasher.update(b"n");
                    hasher.update(&(name.len() as u64).to_le_bytes());
                    hasher.update(name);
                    self.digest_into(*child, hasher);
                }
            }
        }
    }
}

/// Writes bytes as text: those that are not UTF-8 as `\xHH`, and then a backslash as `\\`.
pub(super) fn shown(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', "\\\\"));
        for byte in chunk.invalid() {
            // Writing to a String never fails.
            let _ = write!(text, "\\x{byte:02X}");
        }
    }
    text
}
