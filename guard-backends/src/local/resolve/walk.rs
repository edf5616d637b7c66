//! The walk: one name at a time, no link followed by the kernel, and every directory on the way held.
//!
//! A link's text is followed as the kernel follows it, as long as that stays beneath the root. Where it is absolute, or
//! goes above the root, its next names, up to a `..`, have to begin with an opened root's spelling: the walk goes on
//! from that root. Otherwise the path is outside, even if the rest would come back, and nothing is looked at there.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use guard_core::policy::NAME_MAX;
use guard_core::port::{Last, OpError, Scope};
use rustix::io::Errno;

use super::Spot;
use crate::local::Inner;
use crate::local::errno;
use crate::local::root::RootDir;
use crate::local::sys::{self, Kind, Meta};
use crate::names;

/// How many links a path may lead through: path_resolution(7). A name that changes under the walk counts too.
const LINKS_MAX: usize = 40;

/// Names that are still to be walked.
struct Pending {
    names: VecDeque<Vec<u8>>,
    of: Origin,
}

/// What names come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Request,
    /// The text of a link on the way.
    Link,
}

struct Walk<'a> {
    local: &'a Inner,
    root: Arc<RootDir>,
    /// The directories below the root, innermost last.
    held: Vec<(Arc<OwnedFd>, Vec<u8>)>,
    /// Innermost last.
    pending: Vec<Pending>,
    links: usize,
    scope: &'a Scope,
    /// The link that the path ends with.
    final_link: Option<Spot>,
}

/// Resolves the names of a request.
pub(super) fn resolve(
    local: &Inner,
    root: Arc<RootDir>,
    names: &[&str],
    (last, scope): (Last, &Scope),
) -> Result<Spot, OpError> {
    let names = names.iter().map(|name| name.as_bytes().to_vec()).collect();
    let pending = vec![Pending { names, of: Origin::Request }];
    let mut walk = Walk { local, root, held: Vec::new(), pending, links: 0, scope, final_link: None };
    loop {
        if let Some(spot) = walk.step(last)? {
            return Ok(spot);
        }
    }
}

impl Walk<'_> {
    /// Takes one step; returns the spot at the end.
    fn step(&mut self, last: Last) -> Result<Option<Spot>, OpError> {
        while self.pending.last().is_some_and(|pending| pending.names.is_empty()) {
            self.pending.pop();
        }
        let Some(pending) = self.pending.last_mut() else { return self.directory_itself().map(Some) };
        let Some(name) = pending.names.pop_front() else { return Ok(None) };
        if name == b".." {
            self.up()?;
            return Ok(None);
        }
        if !self.passes(&name) {
            return Err(OpError::OutsideRoot);
        }
        if name.len() > NAME_MAX {
            return Err(OpError::NameTooLong);
        }
        let is_last = self.pending.iter().all(|pending| pending.names.is_empty());
        let found = sys::lstat(self.dir(), &name)
            .map_err(|errno| errno::at(errno, "looking at", self.shown(&name)))?;
        match found {
            None => self.missing(name).map(Some),
            Some(meta) => match meta.kind {
                Kind::Link if !is_last || last == Last::Follow => {
                    self.follow(&name, meta, is_last)?;
                    Ok(None)
                }
                _ if is_last => self.spot(self.held.len(), Vec::new(), name, Some(meta)).map(Some),
                Kind::Directory => {
                    self.enter(name)?;
                    Ok(None)
                }
                _ => Err(OpError::NotDirectory { path: self.shown(&name) }),
            },
        }
    }

    /// Goes to the parent of the directory that the walk is in: of what a link led to, not of the link.
    fn up(&mut self) -> Result<(), OpError> {
        if self.held.pop().is_some() {
            return Ok(());
        }
        let mut above = self.here();
        above.pop();
        match self.pending.last() {
            Some(Pending { of: Origin::Link, .. }) => self.leave(above),
            // From the top of a root that is in another one.
            _ => self.enter_root(&above),
        }
    }

    fn enter(&mut self, name: Vec<u8>) -> Result<(), OpError> {
        match sys::hold(self.dir(), &name) {
            Ok(fd) => self.held.push((Arc::new(fd), name)),
            // It was a directory a moment ago: look at it again.
            Err(Errno::NOTDIR | Errno::LOOP | Errno::NOENT) => {
                self.count()?;
                self.again(name);
            }
            Err(errno) => return Err(errno::at(errno, "opening", self.shown(&name))),
        }
        Ok(())
    }

    fn follow(&mut self, name: &[u8], meta: Meta, is_last: bool) -> Result<(), OpError> {
        self.count()?;
        let text = match sys::readlink(self.dir(), name) {
            Ok(text) => text,
            // It was a link a moment ago: look at it again.
            Err(Errno::INVAL | Errno::NOENT) => {
                self.again(name.to_vec());
                return Ok(());
            }
            Err(errno) => return Err(errno::at(errno, "reading the link", self.shown(name))),
        };
        if is_last && self.final_link.is_none() {
            self.final_link = Some(self.spot(self.held.len(), Vec::new(), name.to_vec(), Some(meta))?);
        }
        self.pending.push(Pending { names: components(&text), of: Origin::Link });
        if text.starts_with(b"/") { self.leave(Vec::new()) } else { Ok(()) }
    }

    /// Goes on from the root that a link's text leads back into, from a directory above the roots.
    ///
    /// `above` is that directory's path, free of links. What a name of the text is there is not looked at, so that a
    /// `..` behind one leads nowhere.
    fn leave(&mut self, mut above: Vec<Vec<u8>>) -> Result<(), OpError> {
        let names = self.pending.pop().map(|pending| pending.names).unwrap_or_default();
        let mut names = names.into_iter().peekable();
        while names.next_if(|name| name == b"..").is_some() {
            above.pop();
        }
        above.extend(std::iter::from_fn(|| names.next_if(|name| name != b"..")));
        self.pending.push(Pending { names: names.collect(), of: Origin::Link });
        self.enter_root(&above)
    }

    /// Goes on from the root of which a spelling holds the absolute path of `names`.
    fn enter_root(&mut self, names: &[Vec<u8>]) -> Result<(), OpError> {
        let holding = self.local.roots.holding(names, self.scope, self.local.position)?;
        let (root, rest) = holding.ok_or(OpError::OutsideRoot)?;
        self.root = root;
        self.held.clear();
        self.pending.push(Pending { names: rest.into(), of: Origin::Link });
        Ok(())
    }

    /// Ends the walk at a name that is not there.
    fn missing(&mut self, name: Vec<u8>) -> Result<Spot, OpError> {
        let Some(Pending { names: rest, of: Origin::Request }) = self.pending.pop() else {
            // A link that dangles is what is there itself; what is made is never made through one.
            return self.final_link.take().ok_or_else(|| OpError::NotFound { path: self.shown(&name) });
        };
        if rest.iter().any(|name| name == b"..") {
            return Err(OpError::NotFound { path: self.shown(&name) });
        }
        let mut missing = vec![name];
        missing.extend(rest);
        let last = missing.pop().unwrap_or_default();
        self.spot(self.held.len(), missing, last, None)
    }

    /// Ends the walk in a directory (the path ended in `..`, or with a link to `.`).
    fn directory_itself(&mut self) -> Result<Spot, OpError> {
        let Some((fd, name)) = self.held.pop() else { return Spot::of_root(&self.root) };
        let meta = sys::meta(&fd).map_err(|errno| errno::at(errno, "looking at", self.shown(&name)))?;
        self.spot(self.held.len(), Vec::new(), name, Some(meta))
    }

    fn spot(
        &self,
        depth: usize,
        missing: Vec<Vec<u8>>,
        name: Vec<u8>,
        meta: Option<Meta>,
    ) -> Result<Spot, OpError> {
        let held = &self.held[..depth];
        let dir_path = held.iter().try_fold(self.root.physical.clone(), |path, (_, name)| {
            names::child(&path, &text(name.clone())?)
        })?;
        let missing = missing.into_iter().map(text).collect::<Result<_, _>>()?;
        let dir = held.last().map_or(&self.root.fd, |(fd, _)| fd);
        Spot::new(Arc::clone(dir), dir_path, (missing, text(name)?), meta)
    }

    fn dir(&self) -> &OwnedFd {
        self.held.last().map_or(&self.root.fd, |(fd, _)| fd)
    }

    fn count(&mut self) -> Result<(), OpError> {
        self.links += 1;
        if self.links > LINKS_MAX { Err(OpError::Loop) } else { Ok(()) }
    }

    /// Puts a name back, to be looked at again.
    fn again(&mut self, name: Vec<u8>) {
        match self.pending.last_mut() {
            Some(pending) => pending.names.push_front(name),
            None => self.pending.push(Pending { names: [name].into(), of: Origin::Request }),
        }
    }

    /// Tells whether the walk may look at a name.
    fn passes(&self, name: &[u8]) -> bool {
        if self.scope.within.is_none() {
            return true;
        }
        let mut names = self.here();
        names.push(name.to_vec());
        self.scope.passes(&names)
    }

    /// Returns the names from `/` to the directory that the walk is in.
    fn here(&self) -> Vec<Vec<u8>> {
        let base = self.root.physical.components().map(|name| name.as_bytes().to_vec());
        base.chain(self.held.iter().map(|(_, name)| name.clone())).collect()
    }

    /// Writes the path of a name for a person.
    fn shown(&self, name: &[u8]) -> String {
        let mut path = self.here();
        path.push(name.to_vec());
        format!("/{}", String::from_utf8_lossy(&path.join(&b'/')))
    }
}

fn text(name: Vec<u8>) -> Result<String, OpError> {
    String::from_utf8(name)
        .map_err(|_| OpError::Unsupported { what: "a path with a name that is not UTF-8".to_owned() })
}

fn components(text: &[u8]) -> VecDeque<Vec<u8>> {
    text.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b".")).map(<[u8]>::to_vec).collect()
}
