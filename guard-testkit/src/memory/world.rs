//! The other route to the tree: what another process does.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use guard_core::policy::{Digest, OtherKind};
use guard_core::port::{Last, OpError};

use super::resolve::{Anywhere, follow_anywhere};
use super::tree::{Body, Ino, Tree};
use super::{State, lock};

/// Acts on a [`super::Memory`]'s tree by another route than its port: no roots, no preconditions, no permissions.
///
/// Paths are absolute and any bytes; links in them are followed as the kernel does, a final one where the method
/// says so. Every method is one step.
#[derive(Clone)]
pub struct World(Arc<Mutex<State>>);

/// What another process makes that is neither a file, nor a directory, nor a link.
pub type Kind = OtherKind;

/// A file that another process holds open for writing; dropping it closes the file.
pub struct Writer {
    state: Arc<Mutex<State>>,
    ino: Ino,
}

impl World {
    pub(super) const fn new(state: Arc<Mutex<State>>) -> Self {
        Self(state)
    }

    /// Creates a file, as `open(O_CREAT | O_EXCL)` does.
    ///
    /// # Errors
    ///
    /// `AlreadyExists`, or what keeps the path from being reached.
    pub fn create(&self, path: impl AsRef<[u8]>, bytes: &[u8]) -> io::Result<()> {
        self.add(path.as_ref(), Body::File(Arc::new(bytes.to_vec())), 0o644)
    }

    /// Writes a file in place, through a final link, as `open(O_CREAT | O_TRUNC)` does: the same inode, other bytes.
    ///
    /// # Errors
    ///
    /// What keeps the path from being reached; `IsADirectory` and the like for what is no regular file.
    pub fn write(&self, path: impl AsRef<[u8]>, bytes: &[u8]) -> io::Result<()> {
        let mut state = lock(&self.0);
        let spot = walk(&state.tree, path.as_ref(), Last::Follow)?;
        let Some(ino) = spot.ino else {
            let body = Body::File(Arc::new(bytes.to_vec()));
            return attach(&mut state.tree, &spot, body, 0o644);
        };
        overwrite(&mut state.tree, ino, bytes)
    }

    /// Puts a file under a temporary name and renames it over the name: another inode.
    ///
    /// # Errors
    ///
    /// `IsADirectory` for a directory, or what keeps the path from being reached.
    pub fn replace(&self, path: impl AsRef<[u8]>, bytes: &[u8]) -> io::Result<()> {
        let mut state = lock(&self.0);
        let spot = walk(&state.tree, path.as_ref(), Last::Itself)?;
        if spot.ino.is_some_and(|ino| state.tree.names(ino).is_some()) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        attach(&mut state.tree, &spot, Body::File(Arc::new(bytes.to_vec())), 0o644)
    }

    /// Renames over whatever is there, as `rename(2)` does.
    ///
    /// # Errors
    ///
    /// `NotFound` for an absent source; `IsADirectory` and `DirectoryNotEmpty` as `rename(2)`.
    pub fn rename(&self, from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) -> io::Result<()> {
        let mut state = lock(&self.0);
        let tree = &mut state.tree;
        let from = walk(tree, from.as_ref(), Last::Itself)?;
        let to = walk(tree, to.as_ref(), Last::Itself)?;
        let ino = from.ino.ok_or(io::ErrorKind::NotFound)?;
        match to.ino.map(|there| (there, tree.names(there).map(BTreeMap::is_empty))) {
            Some((there, _)) if there == ino => return Ok(()),
            Some((_, Some(false))) => return Err(io::ErrorKind::DirectoryNotEmpty.into()),
            Some((_, Some(true))) if tree.names(ino).is_none() => {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            Some((_, None)) if tree.names(ino).is_some() => return Err(io::ErrorKind::NotADirectory.into()),
            _ => {}
        }
        if to.names.starts_with(&from.names) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        tree.attach(to.directory, last(&to)?, ino);
        tree.detach(from.directory, last(&from)?);
        Ok(())
    }

    /// Exchanges two names, as `renameat2(RENAME_EXCHANGE)` does.
    ///
    /// # Errors
    ///
    /// `NotFound` where one of them is absent.
    pub fn exchange(&self, one: impl AsRef<[u8]>, other: impl AsRef<[u8]>) -> io::Result<()> {
        let mut state = lock(&self.0);
        let tree = &mut state.tree;
        let one = walk(tree, one.as_ref(), Last::Itself)?;
        let other = walk(tree, other.as_ref(), Last::Itself)?;
        let (a, b) = one.ino.zip(other.ino).ok_or(io::ErrorKind::NotFound)?;
        tree.attach(one.directory, last(&one)?, b);
        tree.attach(other.directory, last(&other)?, a);
        Ok(())
    }

    /// Removes a name that is no directory's.
    ///
    /// # Errors
    ///
    /// `NotFound`, or `IsADirectory`.
    pub fn unlink(&self, path: impl AsRef<[u8]>) -> io::Result<()> {
        let mut state = lock(&self.0);
        let spot = walk(&state.tree, path.as_ref(), Last::Itself)?;
        let ino = spot.ino.ok_or(io::ErrorKind::NotFound)?;
        if state.tree.names(ino).is_some() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        state.tree.detach(spot.directory, last(&spot)?);
        Ok(())
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    ///
    /// `NotFound`, `NotADirectory`, or `DirectoryNotEmpty`.
    pub fn rmdir(&self, path: impl AsRef<[u8]>) -> io::Result<()> {
        let mut state = lock(&self.0);
        let spot = walk(&state.tree, path.as_ref(), Last::Itself)?;
        let ino = spot.ino.ok_or(io::ErrorKind::NotFound)?;
        match state.tree.names(ino).map(BTreeMap::is_empty) {
            None => return Err(io::ErrorKind::NotADirectory.into()),
            Some(false) => return Err(io::ErrorKind::DirectoryNotEmpty.into()),
            Some(true) => {}
        }
        state.tree.detach(spot.directory, last(&spot)?);
        Ok(())
    }

    /// Makes a directory.
    ///
    /// # Errors
    ///
    /// `AlreadyExists`, or what keeps the path from being reached.
    pub fn mkdir(&self, path: impl AsRef<[u8]>) -> io::Result<()> {
        self.add(path.as_ref(), Body::Directory(Arc::default()), 0o755)
    }

    /// Makes a symbolic link.
    ///
    /// # Errors
    ///
    /// `AlreadyExists`, or what keeps the path from being reached.
    pub fn symlink(&self, text: impl AsRef<[u8]>, path: impl AsRef<[u8]>) -> io::Result<()> {
        self.add(path.as_ref(), Body::Link(text.as_ref().to_vec()), 0o777)
    }

    /// Makes a FIFO, a socket or a device.
    ///
    /// # Errors
    ///
    /// `AlreadyExists`, or what keeps the path from being reached.
    pub fn mknod(&self, path: impl AsRef<[u8]>, kind: Kind) -> io::Result<()> {
        self.add(path.as_ref(), Body::Other(kind), 0o644)
    }

    /// Gives a file another name (a hard link).
    ///
    /// # Errors
    ///
    /// `AlreadyExists`, `NotFound`, or `PermissionDenied` for a directory.
    pub fn link(&self, old: impl AsRef<[u8]>, new: impl AsRef<[u8]>) -> io::Result<()> {
        let mut state = lock(&self.0);
        let tree = &mut state.tree;
        let ino = walk(tree, old.as_ref(), Last::Itself)?.ino.ok_or(io::ErrorKind::NotFound)?;
        let spot = walk(tree, new.as_ref(), Last::Itself)?;
        if spot.ino.is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        if tree.names(ino).is_some() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        tree.attach(spot.directory, last(&spot)?, ino);
        Ok(())
    }

    /// Sets permission bits, through a final link. The target judges them as the owner's:
    /// a directory with mode 0 denies everything below it.
    ///
    /// # Errors
    ///
    /// What keeps the path from being reached.
    pub fn chmod(&self, path: impl AsRef<[u8]>, mode: u32) -> io::Result<()> {
        let mut state = lock(&self.0);
        let ino = walk(&state.tree, path.as_ref(), Last::Follow)?.ino.ok_or(io::ErrorKind::NotFound)?;
        state.tree.node_mut(ino).mode = mode & 0o7777;
        Ok(())
    }

    /// Reads a file, through a final link.
    ///
    /// # Errors
    ///
    /// `NotFound`, or `InvalidInput` for what is no regular file.
    pub fn read(&self, path: impl AsRef<[u8]>) -> io::Result<Vec<u8>> {
        let state = lock(&self.0);
        let ino = walk(&state.tree, path.as_ref(), Last::Follow)?.ino.ok_or(io::ErrorKind::NotFound)?;
        match &state.tree.node(ino).body {
            Body::File(bytes) => Ok(bytes.to_vec()),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Reads a link's text.
    ///
    /// # Errors
    ///
    /// `NotFound`, or `InvalidInput` for what is no link.
    pub fn readlink(&self, path: impl AsRef<[u8]>) -> io::Result<Vec<u8>> {
        let state = lock(&self.0);
        let ino = walk(&state.tree, path.as_ref(), Last::Itself)?.ino.ok_or(io::ErrorKind::NotFound)?;
        match &state.tree.node(ino).body {
            Body::Link(text) => Ok(text.clone()),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    /// Returns a directory's names, sorted by their bytes.
    ///
    /// # Errors
    ///
    /// `NotFound`, or `NotADirectory`.
    pub fn names(&self, path: impl AsRef<[u8]>) -> io::Result<Vec<Vec<u8>>> {
        let state = lock(&self.0);
        let ino = walk(&state.tree, path.as_ref(), Last::Follow)?.ino.ok_or(io::ErrorKind::NotFound)?;
        let names = state.tree.names(ino).ok_or(io::ErrorKind::NotADirectory)?;
        Ok(names.keys().cloned().collect())
    }

    /// Returns the permission bits, of a final link's target.
    ///
    /// # Errors
    ///
    /// `NotFound`.
    pub fn mode(&self, path: impl AsRef<[u8]>) -> io::Result<u32> {
        let state = lock(&self.0);
        let ino = walk(&state.tree, path.as_ref(), Last::Follow)?.ino.ok_or(io::ErrorKind::NotFound)?;
        Ok(state.tree.node(ino).mode)
    }

    /// Opens a file for writing and keeps it open.
    ///
    /// # Errors
    ///
    /// `NotFound`, or `InvalidInput` for what is no regular file.
    pub fn open_for_writing(&self, path: impl AsRef<[u8]>) -> io::Result<Writer> {
        let mut state = lock(&self.0);
        let ino = walk(&state.tree, path.as_ref(), Last::Follow)?.ino.ok_or(io::ErrorKind::NotFound)?;
        if !matches!(state.tree.node(ino).body, Body::File(_)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        state.tree.node_mut(ino).writers += 1;
        Ok(Writer { state: Arc::clone(&self.0), ino })
    }

    /// Digests the whole tree: names, types, modes, link texts and contents. Equal digests mean that nothing changed.
    #[must_use]
    pub fn snapshot(&self) -> Digest {
        lock(&self.0).tree.digest(super::tree::TOP)
    }

    /// Digests what is at a path and everything below it.
    ///
    /// # Errors
    ///
    /// `NotFound`.
    pub fn snapshot_of(&self, path: impl AsRef<[u8]>) -> io::Result<Digest> {
        let state = lock(&self.0);
        let ino = walk(&state.tree, path.as_ref(), Last::Itself)?.ino.ok_or(io::ErrorKind::NotFound)?;
        Ok(state.tree.digest(ino))
    }

    fn add(&self, path: &[u8], body: Body, mode: u32) -> io::Result<()> {
        let mut state = lock(&self.0);
        let spot = walk(&state.tree, path, Last::Itself)?;
        if spot.ino.is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        attach(&mut state.tree, &spot, body, mode)
    }
}

impl Writer {
    /// Replaces all bytes of the file that was opened, whatever its name is now.
    ///
    /// # Errors
    ///
    /// Never: a descriptor that is open for writing can be written.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        overwrite(&mut lock(&self.state).tree, self.ino, bytes)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        lock(&self.state).tree.node_mut(self.ino).writers -= 1;
    }
}

fn overwrite(tree: &mut Tree, ino: Ino, bytes: &[u8]) -> io::Result<()> {
    match &mut tree.node_mut(ino).body {
        Body::File(old) => {
            *old = Arc::new(bytes.to_vec());
            Ok(())
        }
        Body::Directory(_) => Err(io::ErrorKind::IsADirectory.into()),
        Body::Link(_) | Body::Other(_) => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn attach(tree: &mut Tree, spot: &Anywhere, body: Body, mode: u32) -> io::Result<()> {
    let name = last(spot)?;
    let ino = tree.add(body, mode);
    tree.attach(spot.directory, name, ino);
    Ok(())
}

fn last(spot: &Anywhere) -> io::Result<&[u8]> {
    spot.names.last().map(Vec::as_slice).ok_or_else(|| io::ErrorKind::ResourceBusy.into())
}

fn walk(tree: &Tree, path: &[u8], last: Last) -> io::Result<Anywhere> {
    if !path.starts_with(b"/") {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "paths of the world are absolute"));
    }
    follow_anywhere(tree, path, last).map_err(|error| {
        let kind = match &error {
            OpError::NotFound { .. } => io::ErrorKind::NotFound,
            OpError::NotDirectory { .. } => io::ErrorKind::NotADirectory,
            _ => io::ErrorKind::InvalidInput,
        };
        io::Error::new(kind, error)
    })
}
