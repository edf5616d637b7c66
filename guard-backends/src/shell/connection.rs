//! One session: a shell that said hello, and requests to it, one after the other.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use guard_core::port::{End, OpError, Session, Transport, TransportError};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::time::Instant;

use super::script;
use super::settings::Settings;
use super::watch::{Arriving, Leaving, Watch};
use super::wire::{Boot, Hello, Noise, Record, ReplyEvent, ReplyReader, Request, RootRef, Verb};

/// How many bytes are moved at a time.
pub(super) const PIECE: usize = 256 * 1024;
/// How long the end of a session is waited for.
const KILL_MAX: Duration = Duration::from_secs(5);
/// How much of the target's standard error is kept for people.
const WORDS_MAX: usize = 2048;

/// A shell that could not be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The byte stream could not be opened.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// What was started did not say hello: no shell, another program, or only noise.
    #[error("no shell answered: {why}")]
    NoHello {
        /// What was seen instead.
        why: String,
    },
    /// The target lacks something that the guarantees need.
    #[error("{what}")]
    Unsupported {
        /// What, as a sentence.
        what: String,
    },
}

impl From<ConnectError> for OpError {
    fn from(error: ConnectError) -> Self {
        match error {
            ConnectError::Transport(TransportError::TargetChanged) => Self::TargetChanged,
            ConnectError::Unsupported { what } => Self::Unsupported { what },
            ConnectError::Transport(TransportError::NoShell { why }) => {
                Self::Unsupported { what: format!("a target without a shell: {why}") }
            }
            other => Self::Unavailable { why: other.to_string() },
        }
    }
}

/// A request whose reply did not come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lost {
    /// It had not left completely: it was certainly not carried out.
    Unsent(String),
    /// It had left.
    Sent(String),
    /// A body's source gave other bytes than announced, and the request was not completed.
    Source(SourceError),
}

/// What was wrong with a body's source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SourceError {
    /// Other bytes than announced.
    Mismatch,
    /// It could not be read.
    Io(String),
}

/// A part of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    /// A record.
    Record(Record),
    /// The whole body that follows a record.
    Body(Vec<u8>),
}

/// The bodies of a commit, in pieces.
pub(super) type Bodies = Receiver<Result<Vec<u8>, SourceError>>;

/// How many records a reply may have for each that was asked for, signs of life among them, and how many in all for
/// none: what says more is no answer.
const RECORDS_MAX: (u64, u64) = (64, 1024);

/// Where a reply's bodies go.
pub(super) enum Sink<'a> {
    /// Into the items; more than so many bytes in all are no answer to what was asked.
    Items(u64),
    /// To whoever takes them as they come.
    Pieces(&'a Sender<Vec<u8>>),
}

/// A shell that said hello.
pub(super) struct Connection {
    pub(super) hello: Hello,
    nonce: String,
    seq: u64,
    input: Box<dyn AsyncWrite + Send + Unpin>,
    output: Box<dyn AsyncRead + Send + Unpin>,
    reader: ReplyReader,
    words: Words,
    end: Box<dyn End>,
    progress: Duration,
    watch: Watch,
    buffer: Vec<u8>,
    /// The directories that the last request said it was making, each with its change.
    making: Vec<(usize, Vec<u8>)>,
    /// Whether the line ended before a byte of the last reply had come.
    had_ended: bool,
}

/// The last words of the target's standard error.
#[derive(Debug, Clone, Default)]
struct Words(Arc<Mutex<Vec<u8>>>);

impl Words {
    fn listen(errors: Option<Box<dyn AsyncRead + Send + Unpin>>) -> Self {
        let words = Self::default();
        if let Some(mut errors) = errors {
            let kept = words.clone();
            tokio::spawn(async move {
                let mut piece = [0; 512];
                while let Ok(len @ 1..) = errors.read(&mut piece).await {
                    let mut kept = kept.0.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.extend_from_slice(&piece[..len]);
                    let over = kept.len().saturating_sub(WORDS_MAX);
                    kept.drain(..over);
                }
            });
        }
        words
    }

    fn last(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).trim().to_owned()
    }
}

impl Connection {
    /// Opens a byte stream, starts the script and waits for its hello.
    pub(super) async fn open(transport: &dyn Transport, settings: &Settings) -> Result<Self, ConnectError> {
        let nonce = random().map_err(|why| ConnectError::NoHello { why })?;
        let without: Vec<&str> = settings.without.iter().map(|feature| feature.word()).collect();
        let boot = Boot::new(&nonce, &without, &script::stage(), &script::whole());
        let start = tokio::time::timeout(settings.opening, transport.start(&boot.command)).await;
        let Session { input, output, errors, end } = start.map_err(|_| {
            let why = format!("no stream was opened within {} s", settings.opening.as_secs());
            TransportError::Unreachable { why }
        })??;
        let mut connection = Self {
            hello: Hello::default(),
            reader: ReplyReader::new(&nonce),
            nonce,
            seq: 0,
            input,
            output,
            words: Words::listen(errors),
            end,
            progress: settings.progress,
            watch: settings.watch.clone(),
            buffer: vec![0; PIECE],
            making: Vec::new(),
            had_ended: false,
        };
        match tokio::time::timeout(settings.hello, connection.greet(&boot.input)).await {
            Ok(Ok(())) => Ok(connection),
            Ok(Err(error)) => {
                connection.kill().await;
                Err(error)
            }
            Err(_) => {
                connection.kill().await;
                let why = format!("nothing within {} s{}", settings.hello.as_secs(), connection.last_words());
                Err(ConnectError::NoHello { why })
            }
        }
    }

    async fn greet(&mut self, boot: &[u8]) -> Result<(), ConnectError> {
        let (mut written, mut noise) = (0, Vec::new());
        loop {
            while let Some(event) = self.take().map_err(|noise| no_hello(&noise.to_string()))? {
                match event {
                    ReplyEvent::Noise(bytes) => noise.extend(bytes),
                    ReplyEvent::Record { record: Record::Hello(hello), .. } => {
                        self.hello = hello;
                        return Ok(());
                    }
                    ReplyEvent::Record { record: Record::Unsupported(what), .. } => {
                        return Err(ConnectError::Unsupported { what });
                    }
                    other => return Err(no_hello(&format!("{other:?} instead of a hello"))),
                }
            }
            tokio::select! {
                wrote = self.input.write(&boot[written..]), if written < boot.len() => {
                    // A stream that takes nothing more may still say why.
                    written = wrote.map_or(boot.len(), |len| if len == 0 { boot.len() } else { written + len });
                    if written == boot.len() {
                        let _ = self.input.flush().await;
                    }
                }
                read = self.output.read(&mut self.buffer) => match read {
                    Ok(len @ 1..) => self.reader.push(&self.buffer[..len]),
                    ended => {
                        let said = String::from_utf8_lossy(&noise[noise.len().saturating_sub(400)..]).into_owned();
                        let how = ended.err().map_or_else(|| "it ended".to_owned(), |error| error.to_string());
                        let status = self.end.status().await.map(|status| format!(", {status}"));
                        let (status, words) = (status.unwrap_or_default(), self.last_words());
                        let said = if said.trim().is_empty() { said } else { format!("; it said {:?}", said.trim()) };
                        return Err(no_hello(&format!("{how}{status}{said}{words}")));
                    }
                },
            }
        }
    }

    fn take(&mut self) -> Result<Option<ReplyEvent>, Noise> {
        self.reader.take()
    }

    fn last_words(&self) -> String {
        let words = self.words.last();
        if words.is_empty() { words } else { format!("; its last words: {words}") }
    }

    /// Tells whether nothing came that nobody asked for, and the stream has not ended.
    pub(super) async fn is_quiet(&mut self) -> bool {
        if !self.reader.is_empty() {
            return false;
        }
        let mut byte = [0];
        tokio::select! {
            biased;
            _ = self.output.read(&mut byte) => false,
            () = std::future::ready(()) => true,
        }
    }

    /// Returns the directories that the last request said it was making, each with its change.
    pub(super) fn making(&mut self) -> Vec<(usize, Vec<u8>)> {
        std::mem::take(&mut self.making)
    }

    /// Tells whether the line, which had been idle, ended before a byte of the last reply had come.
    pub(super) const fn had_ended(&self) -> bool {
        self.seq > 1 && self.had_ended
    }

    /// Returns the shell's process id and start time, if it told them.
    pub(super) fn shell(&self) -> Option<(u32, String)> {
        let pid = self.hello.get("pid")?.parse().ok()?;
        Some((pid, self.hello.get("start").unwrap_or_default().to_owned()))
    }

    /// Sends a request and takes its reply. After an error the connection is of no use.
    pub(super) async fn request(
        &mut self,
        roots: Vec<RootRef>,
        verb: Verb,
        bodies: Option<Bodies>,
        sink: Sink<'_>,
    ) -> Result<Vec<Item>, Lost> {
        self.seq += 1;
        let token = random().map_err(Lost::Unsent)?;
        let request = Request { seq: self.seq, token, roots, verb };
        self.reader.expect(&request.token);
        let outcome = self.exchange(&request, bodies, sink).await;
        match &outcome {
            Ok(_) => {}
            // The line is whole: a shell that finds it closed before the tail clears away what it staged.
            Err(Lost::Source(_)) => self.close().await,
            Err(_) => self.kill().await,
        }
        outcome.map_err(|lost| lost.with(&self.last_words()))
    }

    /// Closes the line and lets the shell come to its end.
    async fn close(&mut self) {
        // Not every stream is closed by being shut down: a pipe is closed by being dropped.
        let mut input = std::mem::replace(&mut self.input, Box::new(tokio::io::sink()));
        let rest = async {
            let _ = input.shutdown().await;
            drop(input);
            while self.output.read(&mut self.buffer).await? > 0 {}
            Ok::<(), std::io::Error>(())
        };
        // Whatever stays is looked for on the next session.
        let _ = tokio::time::timeout(self.progress, rest).await;
        self.kill().await;
    }

    /// Ends the session, and does not wait for long if that cannot be done.
    async fn kill(&mut self) {
        // A pipe is closed by being dropped.
        self.input = Box::new(tokio::io::sink());
        let _ = tokio::time::timeout(self.progress.min(KILL_MAX), self.end.kill()).await;
    }

    async fn exchange(
        &mut self,
        request: &Request,
        bodies: Option<Bodies>,
        sink: Sink<'_>,
    ) -> Result<Vec<Item>, Lost> {
        let Self { input, output, reader, buffer, nonce, progress, had_ended, making, watch, .. } = self;
        let line = Line::new(*progress);
        making.clear();
        let records = RECORDS_MAX.0.saturating_mul(request.verb.records()).saturating_add(RECORDS_MAX.1);
        let arriving = Arriving::of(&request.verb, watch);
        let mut collect =
            Collect { items: Vec::new(), making, body: None, taken: 0, records, sink, arriving };
        let write = send(input, request, nonce, bodies, &line, watch);
        tokio::pin!(write);
        let (mut writing, mut replied) = (true, false);
        loop {
            while let Some(event) = reader.take().map_err(|noise| line.lost(noise.to_string()))? {
                match collect.take(event, request.seq).await.map_err(|noise| line.lost(noise.what))? {
                    Going::On => line.moved(),
                    Going::Over if !line.is_sent() => {
                        return Err(line.lost("a reply to a request that had not left completely".to_owned()));
                    }
                    Going::Over if writing => {
                        // The last bytes are on the way already.
                        let rest = tokio::time::timeout(*progress, &mut write).await;
                        return match rest {
                            Ok(Ok(())) => Ok(collect.items),
                            _ => Err(line.lost("the connection takes nothing more".to_owned())),
                        };
                    }
                    Going::Over => return Ok(collect.items),
                }
            }
            tokio::select! {
                done = &mut write, if writing => {
                    writing = false;
                    match done {
                        Ok(()) => {}
                        Err(Written::Source(error)) => return Err(Lost::Source(error)),
                        // Whatever the target had to say is still read.
                        Err(Written::Broken(why)) => {
                            if !line.is_sent() {
                                return Err(Lost::Unsent(why));
                            }
                        }
                    }
                }
                read = output.read(buffer) => match read {
                    Ok(0) => {
                        *had_ended = !replied;
                        return Err(line.lost("the connection ended".to_owned()));
                    }
                    Ok(len) => {
                        replied = true;
                        line.moved();
                        reader.push(&buffer[..len]);
                    }
                    Err(error) => return Err(line.lost(error.to_string())),
                },
                () = line.stalled() => {
                    let seconds = progress.as_secs_f32();
                    return Err(line.lost(format!("nothing moved for {seconds} s")));
                }
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        tracing::trace!(requests = self.seq, "session closed");
    }
}

fn no_hello(why: &str) -> ConnectError {
    ConnectError::NoHello { why: why.to_owned() }
}

/// Draws 128 bits, as 32 hexadecimal digits.
fn random() -> Result<String, String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| format!("no randomness: {error}"))?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// What is known of the line while a request is under way.
struct Line {
    state: Mutex<(Instant, bool)>,
    progress: Duration,
}

impl Line {
    fn new(progress: Duration) -> Self {
        Self { state: Mutex::new((Instant::now(), false)), progress }
    }

    fn with<T>(&self, look: impl FnOnce(&mut (Instant, bool)) -> T) -> T {
        look(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Something moved.
    fn moved(&self) {
        self.with(|state| state.0 = Instant::now());
    }

    /// From now on the request may be complete on the other side.
    fn sent(&self) {
        self.with(|state| *state = (Instant::now(), true));
    }

    fn is_sent(&self) -> bool {
        self.with(|state| state.1)
    }

    /// Waits until nothing has moved for too long.
    async fn stalled(&self) {
        loop {
            let at = self.with(|state| state.0) + self.progress;
            if at <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(at).await;
        }
    }

    fn lost(&self, why: String) -> Lost {
        if self.is_sent() { Lost::Sent(why) } else { Lost::Unsent(why) }
    }
}

impl Lost {
    fn with(self, words: &str) -> Self {
        match self {
            Self::Unsent(why) => Self::Unsent(why + words),
            Self::Sent(why) => Self::Sent(why + words),
            Self::Source(error) => Self::Source(error),
        }
    }
}

/// Why a request was not written.
enum Written {
    Broken(String),
    Source(SourceError),
}

impl From<std::io::Error> for Written {
    fn from(error: std::io::Error) -> Self {
        Self::Broken(error.to_string())
    }
}

async fn send(
    input: &mut (dyn AsyncWrite + Send + Unpin),
    request: &Request,
    nonce: &str,
    bodies: Option<Bodies>,
    line: &Line,
    watch: &Watch,
) -> Result<(), Written> {
    let head = request.encode(nonce);
    if !request.has_tail() {
        // Nothing is changed by what has no tail, so that it does not matter when it is complete.
        line.sent();
        return put(input, &head, line).await;
    }
    put(input, &head, line).await?;
    let mut left: u64 = request.bodies().iter().sum();
    if let Some(mut bodies) = bodies {
        let mut leaving = Leaving::of(&request.verb, watch);
        while let Some(piece) = bodies.recv().await {
            let piece = piece.map_err(Written::Source)?;
            left = left.saturating_sub(piece.len() as u64);
            put(input, &piece, line).await?;
            leaving.left(piece.len());
            // What an observer takes its time for is no silence of the line's.
            line.moved();
        }
    }
    if left > 0 {
        return Err(Written::Source(SourceError::Io("the source gave up".to_owned())));
    }
    line.sent();
    put(input, &request.tail(nonce), line).await
}

async fn put(input: &mut (dyn AsyncWrite + Send + Unpin), bytes: &[u8], line: &Line) -> Result<(), Written> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let len = input.write(rest).await?;
        if len == 0 {
            return Err(Written::Broken("the connection takes nothing more".to_owned()));
        }
        line.moved();
        rest = &rest[len..];
    }
    input.flush().await?;
    line.moved();
    Ok(())
}

enum Going {
    On,
    Over,
}

struct Collect<'a> {
    items: Vec<Item>,
    making: &'a mut Vec<(usize, Vec<u8>)>,
    body: Option<Vec<u8>>,
    taken: u64,
    /// How many more records there may be.
    records: u64,
    sink: Sink<'a>,
    arriving: Arriving<'a>,
}

impl Collect<'_> {
    async fn take(&mut self, event: ReplyEvent, expected: u64) -> Result<Going, Noise> {
        if matches!(event, ReplyEvent::Record { .. }) {
            self.records =
                self.records.checked_sub(1).ok_or_else(|| Noise::new("more records than any reply has"))?;
        }
        match event {
            ReplyEvent::Noise(_) => return Err(Noise::new("noise after the hello")),
            ReplyEvent::Record { seq, .. } if seq != expected => {
                return Err(Noise::new(format!("a reply to request {seq} instead of {expected}")));
            }
            ReplyEvent::Record { record: Record::End, .. } => return Ok(Going::Over),
            ReplyEvent::Record { record: Record::Working, .. } => {}
            ReplyEvent::Record { record: Record::Making { change, path }, .. } => {
                self.making.push((change, path));
            }
            ReplyEvent::Record { record: Record::Body, .. } => {
                self.arriving.record(&Record::Body);
                self.body = Some(Vec::new());
            }
            ReplyEvent::Record { record, .. } => {
                self.arriving.record(&record);
                self.items.push(Item::Record(record));
            }
            ReplyEvent::Bytes(bytes) => {
                self.taken += bytes.len() as u64;
                if matches!(self.sink, Sink::Items(max) if self.taken > max) {
                    return Err(Noise::new("more bytes than were asked for"));
                }
                self.arriving.bytes(bytes.len());
                match &self.sink {
                    Sink::Items(_) => self.body.get_or_insert_default().extend(bytes),
                    Sink::Pieces(pieces) => {
                        pieces.send(bytes).await.map_err(|_| Noise::new("nobody takes the stream"))?;
                    }
                }
            }
            ReplyEvent::BodyEnd => {
                self.arriving.end();
                let body = self.body.take().unwrap_or_default();
                self.items.push(Item::Body(body));
            }
        }
        Ok(Going::On)
    }
}
