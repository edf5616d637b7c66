//! Listing a directory.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;

use guard_core::port::{Ask, Entry, Listing, OpError, Page, Step};
use rustix::fs::Dir;

use super::Inner;
use super::errno;
use super::resolve::{self, Spot};
use super::state;
use super::sys;
use crate::names;

/// Lists one page, sorted by the bytes of the names; memory is bounded by the page, not by the directory.
pub(super) fn list(local: &Inner, ask: &Ask, page: &Page) -> Result<Listing, OpError> {
    // No name is empty, so that every name comes after that of a first page.
    let after = page.after_name()?;
    for _ in 0..resolve::ATTEMPTS {
        if let Some(listing) = list_once(local, ask, page, &after)? {
            return Ok(listing);
        }
    }
    Err(OpError::UnstablePath)
}

/// `None` where the directory is not at its path any more.
fn list_once(local: &Inner, ask: &Ask, page: &Page, after: &[u8]) -> Result<Option<Listing>, OpError> {
    let spot = resolve::resolve(local, (ask.root, &ask.path), ask.last, &ask.scope)?;
    let fail = |errno| errno::at(errno, "listing", &spot.path);
    if spot.meta.is_none() {
        return Err(OpError::NotFound { path: spot.path.to_string() });
    }
    // ELOOP: a link itself was asked for, which is no directory.
    let fd = sys::open_directory(&spot.dir, spot.at()).map_err(|errno| match errno {
        rustix::io::Errno::LOOP => OpError::NotDirectory { path: spot.path.to_string() },
        errno => fail(errno),
    })?;
    local.step(Step::ToList(&spot.path));
    let listed = read_page(&spot, &fd, page, after);
    // What went wrong in a directory that left its place is no more to be told than what is in it.
    if spot.is_of(&fd, local.position)? { listed.map(Some) } else { Ok(None) }
}

/// Reads the names of one page, and what each of them is.
fn read_page(spot: &Spot, fd: &OwnedFd, page: &Page, after: &[u8]) -> Result<Listing, OpError> {
    let fail = |errno| errno::at(errno, "listing", &spot.path);
    let limit = page.limit as usize;
    let mut names: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut more = false;
    for entry in Dir::read_from(fd).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") || name <= after {
            continue;
        }
        names.insert(name.to_vec());
        if names.len() > limit {
            names.pop_last();
            more = true;
        }
    }
    let next = more.then(|| Listing::cursor(names.last().map_or(after, Vec::as_slice)));
    let mut entries = Vec::with_capacity(names.len());
    for name in names {
        let meta = sys::lstat(fd, &name).map_err(fail)?;
        // A name that is gone since is not listed.
        if meta.is_some() {
            let shown = names::escaped(&name);
            let state = state::state(fd, &name, meta, &shown)?;
            let addressable = std::str::from_utf8(&name).is_ok();
            entries.push(Entry { name: shown, addressable, state });
        }
    }
    Ok(Listing { resolved: spot.path.clone(), entries, next })
}
