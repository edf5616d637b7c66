//! One exec: its streams, and its end.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use async_trait::async_trait;
use bollard::container::LogOutput;
use bollard::errors::Error;
use futures_core::Stream;
use guard_core::port::{End, Session};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::words;

/// How many frames of output wait for their reader before the engine has to wait. A frame is at most 32 KiB.
const AHEAD: usize = 8;
/// How many frames of words may wait for their reader. What comes more is dropped: words that nobody reads must not
/// hold up an answer.
const WORDS_AHEAD: usize = 64;
/// The pauses between questions for how an exec ended: the engine closes its streams a little earlier.
const PAUSES: [u64; 7] = [0, 5, 10, 20, 50, 100, 200];

/// The engine's side of the streams.
pub(super) type Frames = Pin<Box<dyn Stream<Item = Result<LogOutput, Error>> + Send>>;
type Write = Pin<Box<dyn AsyncWrite + Send>>;

/// What a frame is for.
pub(super) enum Frame {
    Output(LogOutput),
    Words(LogOutput),
}

/// Takes the next frame; nothing after the last.
pub(super) async fn next(frames: &mut Frames) -> io::Result<Option<Frame>> {
    match poll_fn(|cx| frames.as_mut().poll_next(cx)).await {
        None => Ok(None),
        Some(Ok(frame @ LogOutput::StdOut { .. })) => Ok(Some(Frame::Output(frame))),
        Some(Ok(frame @ LogOutput::StdErr { .. })) => Ok(Some(Frame::Words(frame))),
        // Without a terminal every byte is in a frame: these are not, or theirs was cut short.
        Some(Ok(LogOutput::Console { .. } | LogOutput::StdIn { .. })) => {
            Err(io::Error::new(io::ErrorKind::InvalidData, "a broken frame from the Docker engine"))
        }
        Some(Err(error)) => Err(io::Error::other(words::of(&error))),
    }
}

/// Puts a session together: what was read already comes first.
pub(super) fn join(
    api: bollard::Docker,
    exec: String,
    deadline: Duration,
    (frames, input): (Frames, Write),
    (first, skip, words): (Option<LogOutput>, usize, Vec<LogOutput>),
) -> Session {
    let (output, to_output) = Reader::new(first, skip, AHEAD);
    let (errors, to_errors) = Reader::new(None, 0, WORDS_AHEAD);
    for frame in words {
        let _ = to_errors.try_send(Ok(frame));
    }
    let input = Arc::new(Mutex::new(Some(input)));
    let pump = tokio::spawn(pump(frames, to_output, to_errors));
    Session {
        input: Box::new(Input(Arc::clone(&input))),
        output: Box::new(output),
        errors: Some(Box::new(errors)),
        end: Box::new(Running { api, exec, deadline, input, pump: Some(pump) }),
    }
}

/// Takes the frames apart until the last.
async fn pump(mut frames: Frames, output: Sender, errors: Sender) {
    loop {
        match next(&mut frames).await {
            // A reader that is gone misses nothing; the other may still want its part.
            Ok(Some(Frame::Output(frame))) => drop(output.send(Ok(frame)).await),
            Ok(Some(Frame::Words(frame))) => drop(errors.try_send(Ok(frame))),
            Ok(None) => return,
            Err(error) => {
                drop(output.send(Err(error)).await);
                return;
            }
        }
    }
}

type Sender = mpsc::Sender<io::Result<LogOutput>>;

struct Reader {
    frames: mpsc::Receiver<io::Result<LogOutput>>,
    current: Option<LogOutput>,
    at: usize,
}

impl Reader {
    fn new(current: Option<LogOutput>, at: usize, ahead: usize) -> (Self, Sender) {
        let (sender, frames) = mpsc::channel(ahead);
        (Self { frames, current, at }, sender)
    }
}

impl AsyncRead for Reader {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            let rest =
                this.current.as_ref().and_then(|frame| frame.as_ref().get(this.at..)).unwrap_or_default();
            if !rest.is_empty() {
                let len = rest.len().min(buf.remaining());
                buf.put_slice(&rest[..len]);
                this.at += len;
                return Poll::Ready(Ok(()));
            }
            match ready!(this.frames.poll_recv(cx)) {
                None => return Poll::Ready(Ok(())),
                Some(frame) => (this.current, this.at) = (Some(frame?), 0),
            }
        }
    }
}

/// The exec's input. It is closed when it is dropped, as a pipe is, though the output goes over the same connection.
struct Input(Shared);

type Shared = Arc<Mutex<Option<Write>>>;

impl Input {
    fn with<T>(
        &self,
        act: impl FnOnce(Pin<&mut (dyn AsyncWrite + Send)>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(write) => act(write.as_mut()),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }
}

impl AsyncWrite for Input {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.with(|write| write.poll_write(cx, buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|write| write.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|write| write.poll_shutdown(cx))
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        close(&self.0);
    }
}

/// Closes an exec's input, if it is not closed.
fn close(input: &Shared) {
    if let Some(mut write) = input.lock().unwrap_or_else(PoisonError::into_inner).take() {
        // A socket is shut down at once. TLS may still have something to say, which is lost with the connection.
        let _ = write.as_mut().poll_shutdown(&mut Context::from_waker(Waker::noop()));
    }
}

/// An exec that was started.
///
/// Its process is in the engine's world of processes, where its number says nothing here, and the engine has no call
/// that ends it. Letting go of the streams closes its input: a command that reads it comes to its end by itself.
struct Running {
    api: bollard::Docker,
    exec: String,
    deadline: Duration,
    input: Shared,
    pump: Option<JoinHandle<()>>,
}

impl Running {
    async fn ended(&self) -> Option<String> {
        for pause in PAUSES {
            tokio::time::sleep(Duration::from_millis(pause)).await;
            match self.api.inspect_exec(&self.exec).await {
                Ok(exec) if exec.running == Some(true) => {}
                Ok(exec) => return exec.exit_code.map(|code| format!("exit status: {code}")),
                // The container is gone, and with it everything that ran in it.
                Err(error) => return Some(words::of(&error)),
            }
        }
        Some("it is still running".to_owned())
    }
}

#[async_trait]
impl End for Running {
    async fn kill(&mut self) {
        close(&self.input);
        if let Some(pump) = self.pump.take() {
            pump.abort();
            // The connection is closed when the task is gone; an error is that it was ended.
            let _ = pump.await;
        }
    }

    async fn status(&mut self) -> Option<String> {
        if let Some(pump) = &mut self.pump {
            // An error is a task that was ended; either way it is over, and must not be asked again.
            let _ = timeout(self.deadline, pump).await.ok()?;
            self.pump = None;
        }
        timeout(self.deadline, self.ended()).await.ok()?
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        close(&self.input);
        if let Some(pump) = &self.pump {
            pump.abort();
        }
    }
}
