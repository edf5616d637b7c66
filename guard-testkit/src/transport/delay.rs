//! A line with a round-trip time.

use std::time::Duration;

use async_trait::async_trait;
use guard_core::port::{Machine, Session, TargetId, Transport, TransportError};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::line::{self, From, To};

/// A transport whose bytes take their time: half of a round trip each way.
///
/// Order is kept and bandwidth is not limited, so that all that is sent at once arrives at once.
pub struct Delay<T> {
    inner: T,
    round_trip: Duration,
}

impl<T: Transport> Delay<T> {
    /// Puts a round-trip time on the line to `inner`. Starting takes no time of its own.
    pub const fn new(inner: T, round_trip: Duration) -> Self {
        Self { inner, round_trip }
    }
}

#[async_trait]
impl<T: Transport> Transport for Delay<T> {
    fn target(&self) -> &TargetId {
        self.inner.target()
    }

    async fn start(&self, command: &str) -> Result<Session, TransportError> {
        let (session, to_shell, from_shell) = line::between(self.inner.start(command).await?);
        let half = self.round_trip / 2;
        carry(to_shell, half);
        carry(from_shell, half);
        Ok(session)
    }

    async fn machine(&self) -> Result<Option<Machine>, TransportError> {
        self.inner.machine().await
    }
}

fn carry((mut from, mut to): (From, To), half: Duration) {
    let (send, mut on_the_way) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    tokio::spawn(async move {
        loop {
            let bytes = line::read(&mut from).await;
            let is_over = bytes.is_empty();
            // The end takes its time too. An error is a line whose other end is gone.
            if send.send((Instant::now() + half, bytes)).is_err() || is_over {
                return;
            }
        }
    });
    tokio::spawn(async move {
        while let Some((due, bytes)) = on_the_way.recv().await {
            sleep_until(due).await;
            if line::write(&mut to, &bytes).await.is_err() {
                return;
            }
        }
    });
}
