//! Counts round trips.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use guard_core::port::{FileOps, OpError};

use super::{Around, Layer, Method, Moment, When};

/// A target that counts the requests that reach it.
pub type Counting<F> = Around<F, Counters>;

/// What a [`Counting`] has counted.
#[derive(Debug, Default)]
pub struct Counters(Mutex<Counts>);

/// Round trips by method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Requests to open a root.
    pub open_root: u64,
    /// Requests for the state of paths.
    pub stat: u64,
    /// Requests for contents.
    pub read: u64,
    /// Streams.
    pub stream: u64,
    /// Pages of listings.
    pub list: u64,
    /// Batches.
    pub commit: u64,
    /// Requests to settle.
    pub settle: u64,
}

impl Counts {
    /// Returns the number of all requests.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.open_root + self.stat + self.read + self.stream + self.list + self.commit + self.settle
    }

    /// Counts one request.
    pub(crate) const fn add(&mut self, method: Method) {
        let count = match method {
            Method::OpenRoot => &mut self.open_root,
            Method::Stat => &mut self.stat,
            Method::Read => &mut self.read,
            Method::Stream => &mut self.stream,
            Method::List => &mut self.list,
            Method::Commit => &mut self.commit,
            Method::Settle => &mut self.settle,
        };
        *count += 1;
    }
}

impl<F: FileOps> Around<F, Counters> {
    /// Counts from zero what reaches `inner`.
    pub fn new(inner: F) -> Self {
        Self::with(inner, Counters::default())
    }

    /// Returns what was counted since the start or the last [`Self::take`].
    #[must_use]
    pub fn counts(&self) -> Counts {
        *self.layer().0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what was counted and starts again from zero.
    pub fn take(&self) -> Counts {
        std::mem::take(&mut *self.layer().0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl Layer for Counters {
    async fn at(&self, moment: Moment<'_>) -> Result<(), OpError> {
        if moment.when == When::After {
            return Ok(());
        }
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(moment.method);
        Ok(())
    }
}
