//! Leftovers on a target that is reached by the port alone: directory by directory.

use std::sync::Arc;

use guard_backends::local::{Leftover, Leftovers};
use guard_core::policy::{FileState, RootEntry};
use guard_core::port::{Ask, Depth, FileOps, Last, OpError, Page};

/// The largest file whose digest is taken.
const DIGEST_MAX: u64 = 256 * 1024 * 1024;
/// Names that are asked for at once.
const PAGE: u64 = 10_000;

/// Looks below a root, following no link; at `left` names at most.
pub(super) async fn below(ops: &dyn FileOps, root: &RootEntry, left: &mut u64) -> Result<Leftovers, OpError> {
    let ask = |path: &str, depth| Ask {
        root: root.id,
        path: path.to_owned(),
        last: Last::Itself,
        depth,
        scope: Arc::default(),
    };
    let mut result = Leftovers::default();
    let mut pending = vec![(String::new(), root.physical.clone())];
    while let Some((at, path)) = pending.pop() {
        let mut page = Page { after: None, limit: PAGE };
        loop {
            let listing = match ops.list(&ask(&at, Depth::State), &page).await {
                Ok(listing) => listing,
                // Without the root there is nothing to look below, and without a target nobody to ask.
                Err(error) if at.is_empty() || matches!(error, OpError::Unavailable { .. }) => {
                    return Err(error);
                }
                Err(error) => {
                    result.skipped.push(error.to_string());
                    break;
                }
            };
            for entry in listing.entries {
                let Some(rest) = left.checked_sub(1) else {
                    result.incomplete = true;
                    return Ok(result);
                };
                *left = rest;
                // A name that is not UTF-8 is none of ours, and what is below it cannot be addressed.
                let child = path.child(&entry.name).ok().filter(|_| entry.addressable);
                let Some(child) = child else { continue };
                let slash = if at.is_empty() { "" } else { "/" };
                let at = format!("{at}{slash}{}", entry.name);
                if is_temp(&entry.name) {
                    result.found.push(Leftover {
                        state: state(ops, &ask(&at, DIGEST), &entry.state).await?,
                        path: child,
                    });
                } else if matches!(entry.state, FileState::Directory) {
                    pending.push((at, child));
                }
            }
            page.after = listing.next;
            if page.after.is_none() {
                break;
            }
        }
    }
    Ok(result)
}

const DIGEST: Depth = Depth::Digest { max: DIGEST_MAX };

/// Asks for a file's digest; what was listed is said where it cannot be had.
async fn state(ops: &dyn FileOps, ask: &Ask, listed: &FileState) -> Result<FileState, OpError> {
    let found = ops.stat(std::slice::from_ref(ask)).await?.pop();
    Ok(found.and_then(Result::ok).map_or_else(|| listed.clone(), |found| found.state))
}

/// Tells whether a name is `.guard-` and eight characters of RFC 4648's base 32.
fn is_temp(name: &str) -> bool {
    let is_letter = |byte: u8| matches!(byte, b'a'..=b'z' | b'2'..=b'7');
    name.strip_prefix(".guard-").is_some_and(|rest| rest.len() == 8 && rest.bytes().all(is_letter))
}
