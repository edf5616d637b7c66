//! Reading a file of any size in bounded memory.

use guard_core::policy::FileState;
use guard_core::port::{Ask, Found, OpError, Step};
use tokio::sync::mpsc::Sender;

use super::Inner;
use super::read::{self, Opened};
use super::state;
use super::{errno, sys};

/// Reads on the thread that calls it and sends the pieces; whoever receives them hands them to the sink.
///
/// What was sent cannot be taken back, so that a file that changes meanwhile is not read again but is torn.
pub(super) fn send(local: &Inner, ask: &Ask, pieces: &Sender<Vec<u8>>) -> Result<Found, OpError> {
    let (spot, opened) = read::arrive(local, ask)?;
    let shown = &spot.path;
    let not_regular = |state| OpError::NotRegular { path: spot.path.clone(), state };
    let (file, before) = match opened {
        Some(Opened::Regular(file, meta)) => (file, meta),
        Some(Opened::Other(meta)) => {
            return Err(not_regular(state::state(&spot.dir, spot.at(), meta, shown)?));
        }
        None => return Err(not_regular(FileState::Absent)),
    };
    local.step(Step::ToRead(&spot.path, before.len));
    let pass = read::pass(&file, before.len, |at, piece| {
        // It ends one byte after what is expected at the latest.
        local.step(Step::Reading(&spot.path, at + piece.len() as u64));
        // The receiver is gone when the sink failed; its error is the one that is reported.
        pieces.blocking_send(piece.to_vec()).map_err(|_| std::io::ErrorKind::BrokenPipe.into())
    })
    .map_err(|error| errno::io(&error, "reading", shown))?;
    if pass.len == 0 {
        local.step(Step::Reading(&spot.path, 0));
    }
    let after = sys::meta(&file).map_err(|errno| errno::at(errno, "looking at", shown))?;
    if pass.len != before.len || after.len != before.len || after.changed != before.changed {
        return Err(OpError::Torn);
    }
    Ok(Found { resolved: spot.path.clone(), state: read::with_digest(&after, pass) })
}
