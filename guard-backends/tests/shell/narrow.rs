//! A line that takes so many bytes and then no more: what the controller has written, byte by byte.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};

use async_trait::async_trait;
use guard_core::port::{Session, TargetId, Transport, TransportError};
use tokio::io::AsyncWrite;

/// A transport whose input a [`Gauge`] measures and limits.
pub(crate) struct Narrow<T> {
    inner: T,
    gauge: Gauge,
}

/// What the newest session's input takes, and how often one is started; the test keeps a clone.
#[derive(Clone, Default)]
pub(crate) struct Gauge(Arc<Mutex<Sessions>>);

#[derive(Default)]
struct Sessions {
    newest: Arc<Mutex<Taking>>,
    starts: usize,
    refuses: bool,
}

#[derive(Default)]
struct Taking {
    taken: u64,
    limit: Option<(u64, Then)>,
}

/// What a line does that takes nothing more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// Nothing, for ever.
    Stalls,
    /// It says that it is broken.
    Breaks,
}

impl Gauge {
    fn with<T>(&self, look: impl FnOnce(&mut Taking) -> T) -> T {
        let newest = Arc::clone(&self.0.lock().unwrap().newest);
        look(&mut newest.lock().unwrap())
    }

    /// Returns how many bytes were taken in the session.
    pub(crate) fn taken(&self) -> u64 {
        self.with(|taking| taking.taken)
    }

    /// Returns how often a session was to be started.
    pub(crate) fn starts(&self) -> usize {
        self.0.lock().unwrap().starts
    }

    /// Starts no session any more, or again.
    pub(crate) fn refuses(&self, refuses: bool) {
        self.0.lock().unwrap().refuses = refuses;
    }

    /// Lets so many more bytes through in this session.
    pub(crate) fn limit(&self, bytes: u64, then: Then) {
        self.with(|taking| taking.limit = Some((bytes, then)));
    }
}

impl<T: Transport> Narrow<T> {
    pub(crate) fn new(inner: T, gauge: &Gauge) -> Self {
        Self { inner, gauge: gauge.clone() }
    }
}

#[async_trait]
impl<T: Transport> Transport for Narrow<T> {
    fn target(&self) -> &TargetId {
        self.inner.target()
    }

    async fn start(&self, command: &str) -> Result<Session, TransportError> {
        let taking = Arc::new(Mutex::new(Taking::default()));
        {
            let mut sessions = self.gauge.0.lock().unwrap();
            sessions.starts += 1;
            if sessions.refuses {
                return Err(TransportError::Unreachable { why: "no route".to_owned() });
            }
            sessions.newest = Arc::clone(&taking);
        }
        let Session { input, output, errors, end } = self.inner.start(command).await?;
        Ok(Session { input: Box::new(Input { inner: input, taking }), output, errors, end })
    }
}

struct Input {
    inner: Box<dyn AsyncWrite + Send + Unpin>,
    taking: Arc<Mutex<Taking>>,
}

/// Tells whether nothing more is taken.
fn closed(taking: &MutexGuard<'_, Taking>) -> Option<Poll<io::Error>> {
    match taking.limit {
        Some((0, Then::Stalls)) => Some(Poll::Pending),
        Some((0, Then::Breaks)) => Some(Poll::Ready(io::ErrorKind::BrokenPipe.into())),
        _ => None,
    }
}

impl AsyncWrite for Input {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Self { inner, taking } = self.get_mut();
        let mut taking = taking.lock().unwrap();
        if let Some(answer) = closed(&taking) {
            return answer.map(Err);
        }
        let most = taking.limit.map_or(bytes.len(), |(left, _)| bytes.len().min(left as usize));
        let wrote = Pin::new(inner).poll_write(cx, &bytes[..most]);
        if let Poll::Ready(Ok(len)) = wrote {
            taking.taken += len as u64;
            if let Some((left, _)) = &mut taking.limit {
                *left -= len as u64;
            }
        }
        wrote
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { inner, taking } = self.get_mut();
        match closed(&taking.lock().unwrap()) {
            // What was taken has arrived all the same.
            Some(answer) => match Pin::new(inner).poll_flush(cx) {
                Poll::Ready(Ok(())) => answer.map(Err),
                other => other,
            },
            None => Pin::new(inner).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(cx)
    }
}
