//! Reading a file of any size in bounded memory.

use guard_core::policy::FileState;
use guard_core::port::{Ask, Found, OpError};
use tokio::sync::mpsc::Sender;

use super::Inner;
use super::read::{self, Opened};
use super::resolve;
use super::state;
use super::{errno, sys};

/// Reads on the thread that calls it and sends the pieces; whoever receives them hands them to the sink.
///
/// What was sent cannot be taken back, so that a file that changes meanwhile is not read again but is torn.
pub(super) fn send(local: &Inner, ask: &Ask, pieces: &Sender<Vec<u8>>) -> Result<Found, OpError> {
    let spot = resolve::resolve(local, ask.root, &ask.path, ask.last)?;
    let shown = &spot.path;
    let not_regular = |state| OpError::NotRegular { path: spot.path.clone(), state };
    if spot.meta.is_none() {
        return Err(not_regular(FileState::Absent));
    }
    let (file, before) = match read::open(&spot.dir, spot.at(), shown)? {
        Opened::Regular(file, meta) => (file, meta),
        Opened::Other(meta) => return Err(not_regular(state::state(&spot.dir, spot.at(), meta, shown)?)),
    };
    let pass = read::pass(&file, before.len, |_, piece| {
        // The receiver is gone when the sink failed; its error is the one that is reported.
        pieces.blocking_send(piece.to_vec()).map_err(|_| std::io::ErrorKind::BrokenPipe.into())
    })
    .map_err(|error| errno::io(&error, "reading", shown))?;
    let after = sys::meta(&file).map_err(|errno| errno::at(errno, "looking at", shown))?;
    if pass.len != before.len || after.len != before.len || after.changed != before.changed {
        return Err(OpError::Torn);
    }
    Ok(Found { resolved: spot.path.clone(), state: read::with_digest(&after, pass) })
}
