//! One direction of a stream, with what is due in it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::plan::{Deed, Due, Fault, Way};
use super::session::Shared;
use crate::transport::line::{self, To};

/// Why a direction is over.
pub(super) enum Over {
    /// The line was cut.
    Cut,
    /// A fault ended this direction.
    Ended,
    /// The stream has ended, or whoever reads it is gone.
    Gone,
}

/// Lets bytes through, and does what is due on the way. The stream is made of parts: the start, then requests or
/// replies.
pub(super) struct Flow {
    to: To,
    way: Way,
    shared: Arc<Shared>,
    due: Due,
    /// Where in the part.
    at: u64,
    /// How long the part is, where that is known before.
    len: Option<u64>,
    change: Option<Change>,
}

/// How the next bytes are changed.
struct Change {
    how: How,
    left: u64,
}

enum How {
    Skip,
    Garble,
    Repeat(Vec<u8>),
}

impl Flow {
    /// Begins with the start of a session.
    pub(super) fn new(to: To, way: Way, shared: Arc<Shared>, due: Due) -> Self {
        Self { to, way, shared, due, at: 0, len: None, change: None }
    }

    /// Begins a part.
    pub(super) fn begin(&mut self, due: Due, len: Option<u64>) {
        (self.due, self.at, self.len) = (due, 0, len);
    }

    /// Lets bytes of the part through.
    pub(super) async fn pass(&mut self, bytes: &[u8]) -> Result<(), Over> {
        let mut rest = bytes;
        loop {
            while self.due.front().is_some_and(|(offset, _)| *offset <= self.at) {
                self.act().await?;
            }
            if rest.is_empty() {
                return Ok(());
            }
            let until = self.due.front().map_or(u64::MAX, |(offset, _)| *offset - self.at);
            let (now, later) = rest.split_at(clamp(until, rest.len()));
            self.at += now.len() as u64;
            if self.len == Some(self.at) && matches!(self.due.front(), Some((_, Deed::Fault(Fault::Cut)))) {
                // The answer to a whole request may be quicker than the cut behind it. Where nobody reads the request
                // any more, the line is cut all the same.
                self.shared.mute();
                let _ = self.write(now).await;
            } else {
                self.write(now).await?;
            }
            rest = later;
        }
    }

    /// Ends the part: what is due later than it is long is due now.
    pub(super) async fn end(&mut self) -> Result<(), Over> {
        while !self.due.is_empty() {
            self.act().await?;
        }
        self.close().await
    }

    async fn act(&mut self) -> Result<(), Over> {
        let Some((_, deed)) = self.due.pop_front() else { return Ok(()) };
        self.shared.faults.happens();
        let fault = match deed {
            Deed::Act(act) => {
                act();
                return Ok(());
            }
            Deed::Hold(latch) => {
                self.shared.held.fetch_add(1, Ordering::SeqCst);
                latch.hold().await;
                self.shared.held.fetch_sub(1, Ordering::SeqCst);
                return Ok(());
            }
            Deed::Fault(fault) => fault,
        };
        match fault {
            Fault::Cut => {
                self.shared.cut();
                Err(Over::Cut)
            }
            Fault::End => Err(Over::Ended),
            Fault::Kill => {
                self.shared.kill().await;
                // What was in the pipe already would come or not come by chance.
                Err(Over::Ended)
            }
            Fault::Hang => {
                self.shared.held.fetch_add(1, Ordering::SeqCst);
                std::future::pending().await
            }
            Fault::Insert(bytes) => self.send(&bytes).await,
            Fault::Skip(left) => self.changed(How::Skip, left).await,
            Fault::Garble(left) => self.changed(How::Garble, left).await,
            Fault::Repeat(left) => self.changed(How::Repeat(Vec::new()), left).await,
        }
    }

    async fn changed(&mut self, how: How, left: u64) -> Result<(), Over> {
        self.close().await?;
        self.change = Some(Change { how, left });
        if left == 0 { self.close().await } else { Ok(()) }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Over> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let left = self.change.as_ref().map_or(u64::MAX, |change| change.left);
            let (now, later) = rest.split_at(clamp(left, rest.len()));
            rest = later;
            let mut out = now.to_vec();
            match self.change.as_mut().map(|change| &mut change.how) {
                None => {}
                Some(How::Skip) => out.clear(),
                Some(How::Garble) => out.iter_mut().for_each(|byte| *byte = !*byte),
                Some(How::Repeat(again)) => again.extend_from_slice(now),
            }
            self.send(&out).await?;
            if let Some(change) = &mut self.change {
                change.left -= now.len() as u64;
                if change.left == 0 {
                    self.close().await?;
                }
            }
        }
        Ok(())
    }

    /// Ends a change of bytes.
    async fn close(&mut self) -> Result<(), Over> {
        match self.change.take() {
            Some(Change { how: How::Repeat(again), .. }) => self.send(&again).await,
            _ => Ok(()),
        }
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), Over> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.shared.faults.arrived(self.way, bytes.len());
        line::write(&mut self.to, bytes).await.map_err(|_| Over::Gone)
    }
}

fn clamp(wanted: u64, len: usize) -> usize {
    usize::try_from(wanted).unwrap_or(usize::MAX).min(len)
}
