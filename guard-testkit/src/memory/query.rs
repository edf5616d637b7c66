//! Requests that change nothing.

use std::sync::Arc;

use guard_core::policy::{Digest, FileState};
use guard_core::port::{Ask, Body, Contents, Depth, Entry, Found, Listing, OpError, Page, Part, Want};

use super::State;
use super::resolve::{Spot, resolve};
use super::tree::{self, shown};

/// How many bytes a stream hands over at a time.
pub(super) const PIECE: usize = 64 * 1024;

pub(super) fn stat(state: &State, ask: &Ask) -> Result<Found, OpError> {
    let spot = resolve(state, (ask.root, &ask.path), ask.last, &ask.scope)?;
    let mut found = found(state, &spot);
    if let (FileState::Regular { len, digest, .. }, Depth::Digest { max }) = (&mut found.state, ask.depth)
        && *len <= max
    {
        *digest = Some(Digest::of(&readable(state, &spot)?));
    }
    Ok(found)
}

pub(super) fn read(state: &State, want: &Want) -> Result<Contents, OpError> {
    let spot = resolve(state, (want.ask.root, &want.ask.path), want.ask.last, &want.ask.scope)?;
    let mut found = found(state, &spot);
    let FileState::Regular { len, digest, .. } = &mut found.state else {
        return Ok(Contents { found, body: Body::NotRegular });
    };
    let digest_max = match want.ask.depth {
        Depth::State => None,
        Depth::Digest { max } => Some(max),
    };
    let window = match want.part {
        Part::Whole { max } => (*len <= max).then_some((0, *len)),
        // What comes with a window is the digest of the whole.
        Part::Bytes { offset, len: wanted } => {
            digest_max.is_none_or(|max| *len <= max).then_some((offset.min(*len), wanted))
        }
    };
    let bytes = readable(state, &spot)?;
    if window.is_some() || digest_max.is_some_and(|max| *len <= max) {
        *digest = Some(Digest::of(&bytes));
    }
    let body = window.map_or(Body::TooLarge, |(offset, wanted)| {
        let end = offset.saturating_add(wanted).min(*len);
        Body::Bytes { offset, bytes: bytes[offset as usize..end as usize].to_vec() }
    });
    Ok(Contents { found, body })
}

/// Opens a regular file for a stream.
pub(super) fn open(state: &State, ask: &Ask) -> Result<(Found, Arc<Vec<u8>>), OpError> {
    let spot = resolve(state, (ask.root, &ask.path), ask.last, &ask.scope)?;
    let mut found = found(state, &spot);
    let FileState::Regular { digest, .. } = &mut found.state else {
        return Err(OpError::NotRegular { path: found.resolved, state: found.state });
    };
    let bytes = readable(state, &spot)?;
    *digest = Some(Digest::of(&bytes));
    Ok((found, bytes))
}

pub(super) fn list(state: &State, ask: &Ask, page: &Page) -> Result<Listing, OpError> {
    let spot = resolve(state, (ask.root, &ask.path), ask.last, &ask.scope)?;
    let path = || spot.path.to_string();
    let ino = spot.ino.ok_or_else(|| OpError::NotFound { path: path() })?;
    let names = state.tree.names(ino).ok_or_else(|| OpError::NotDirectory { path: path() })?;
    if state.tree.node(ino).mode & 0o500 != 0o500 {
        return Err(OpError::PermissionDenied { path: path() });
    }
    // No name is empty, so every name comes after that of a first page.
    let after = page.after_name()?;
    let mut rest =
        names.range::<[u8], _>((std::ops::Bound::Excluded(after.as_slice()), std::ops::Bound::Unbounded));
    let entries: Vec<(&Vec<u8>, Entry)> = rest
        .by_ref()
        .take(page.limit as usize)
        .map(|(name, ino)| {
            let addressable = std::str::from_utf8(name).is_ok();
            (name, Entry { name: shown(name), addressable, state: state.tree.state(*ino) })
        })
        .collect();
    let last = entries.last().map_or(after.as_slice(), |(name, _)| name.as_slice());
    let next = rest.next().is_some().then(|| Listing::cursor(last));
    let entries = entries.into_iter().map(|(_, entry)| entry).collect();
    Ok(Listing { resolved: spot.path, entries, next })
}

fn found(state: &State, spot: &Spot) -> Found {
    let what = spot.ino.map_or(FileState::Absent, |ino| state.tree.state(ino));
    Found { resolved: spot.path.clone(), state: what }
}

/// Returns a regular file's bytes, if its owner may read them.
fn readable(state: &State, spot: &Spot) -> Result<Arc<Vec<u8>>, OpError> {
    let node = spot.ino.map(|ino| state.tree.node(ino));
    match node.map(|node| (&node.body, node.mode & 0o400)) {
        Some((tree::Body::File(_), 0)) => Err(OpError::PermissionDenied { path: spot.path.to_string() }),
        Some((tree::Body::File(bytes), _)) => Ok(Arc::clone(bytes)),
        _ => Err(OpError::NotRegular { path: spot.path.clone(), state: spot.state(&state.tree) }),
    }
}
