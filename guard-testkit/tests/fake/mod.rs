//! A shell that is no shell: it reads requests by the codec and answers what the test wants. And a controller that is
//! as simple.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use guard_backends::shell::wire::{
    Change, Effect, Hello, Options, Place, Pre, Record, ReplyEvent, ReplyReader, Request, RequestEvent,
    RequestReader, Scope, Verb,
};
use guard_core::policy::Digest;
use guard_core::port::{End, Last, Mode, Parents, Session, TargetId, Transport, TransportError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::sync::watch;

pub const NONCE: &str = "0123456789abcdef0123456789abcdef";

fn stage() -> Vec<u8> {
    format!("g_nonce={NONCE} g_size=7 g_without=''\nfirst stage").into_bytes()
}

pub fn command() -> String {
    format!("sh -c 'eval \"$(dd bs=1 count={} 2>/dev/null)\"'", stage().len())
}

pub fn boot() -> Vec<u8> {
    [&stage()[..], b"script\n"].concat()
}

/// What the shell got, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    Request(Request),
    /// All bytes of a commit's bodies, and its tail.
    Go(Vec<u8>),
    /// Something that is no request: the session is over.
    Noise,
    /// The end, after so many bytes.
    End(usize),
}

/// What a reply is made of.
pub enum Say {
    Record(Record),
    Body(Vec<u8>),
}

type Answer = Arc<dyn Fn(&Request) -> Vec<Say> + Send + Sync>;

/// Starts fake shells that share a log.
#[derive(Clone)]
pub struct Fake {
    pub target: TargetId,
    pub answer: Answer,
    /// What comes before the nonce and the hello.
    pub banner: &'static str,
    /// What it tells of a request as soon as its head is there, before the tail.
    pub notes: Vec<Record>,
    pub log: Arc<Mutex<Vec<Heard>>>,
    pub killed: Arc<Mutex<usize>>,
}

impl Fake {
    pub fn new(answer: impl Fn(&Request) -> Vec<Say> + Send + Sync + 'static) -> Self {
        Self {
            target: TargetId::new("fake"),
            answer: Arc::new(answer),
            banner: "",
            notes: Vec::new(),
            log: Arc::default(),
            killed: Arc::default(),
        }
    }

    /// Answers with the end and nothing before it.
    pub fn silent() -> Self {
        Self::new(|_| Vec::new())
    }

    pub fn heard(&self) -> Vec<Heard> {
        self.log.lock().unwrap().clone()
    }

    pub fn kills(&self) -> usize {
        *self.killed.lock().unwrap()
    }
}

pub fn hello() -> Vec<u8> {
    let facts = [("version", "1"), ("home", "/tmp/home")].map(|(name, value)| (name.into(), value.into()));
    Record::Hello(Hello { facts: facts.into() }).encode(NONCE, 0)
}

/// Returns the bytes of a whole reply.
pub fn reply(request: &Request, says: Vec<Say>) -> Vec<u8> {
    let mut out = Vec::new();
    for say in says {
        match say {
            Say::Record(record) => out.extend(record.encode(NONCE, request.seq)),
            Say::Body(bytes) => {
                let head = Record::Body.encode(NONCE, request.seq);
                out.extend([&head[..], &bytes, request.token.as_bytes()].concat());
            }
        }
    }
    out.extend(Record::End.encode(NONCE, request.seq));
    out
}

#[async_trait]
impl Transport for Fake {
    fn target(&self) -> &TargetId {
        &self.target
    }

    async fn start(&self, _: &str) -> Result<Session, TransportError> {
        let (input, asked) = tokio::io::duplex(1 << 20);
        let (output, told) = tokio::io::duplex(1 << 20);
        let (ended, over) = watch::channel(false);
        let fake = self.clone();
        let task = tokio::spawn(async move {
            fake.run(asked, told).await;
            drop(ended);
        });
        let end = Box::new(Ending { task: task.abort_handle(), over, killed: Arc::clone(&self.killed) });
        Ok(Session { input: Box::new(input), output: Box::new(output), errors: None, end })
    }
}

impl Fake {
    async fn run(self, mut asked: DuplexStream, mut told: DuplexStream) {
        let mut reader = RequestReader::new(stage().len());
        let (mut bytes, mut total) = (vec![0; 4096], 0);
        let (mut request, mut bodies) = (None, Vec::new());
        told.write_all(self.banner.as_bytes()).await.unwrap();
        loop {
            let len = asked.read(&mut bytes).await.unwrap();
            total += len;
            if len == 0 {
                return self.note(Heard::End(total));
            }
            reader.push(&bytes[..len]);
            loop {
                let out = match reader.take() {
                    Ok(None) => break,
                    Err(_) => return self.note(Heard::Noise),
                    Ok(Some(RequestEvent::Boot(_))) => hello(),
                    Ok(Some(RequestEvent::Request(one))) => {
                        self.note(Heard::Request(one.clone()));
                        let out = if one.has_tail() {
                            self.notes.iter().flat_map(|note| note.encode(NONCE, one.seq)).collect()
                        } else {
                            reply(&one, (self.answer)(&one))
                        };
                        request = Some(one);
                        out
                    }
                    Ok(Some(RequestEvent::Bytes(some))) => {
                        bodies.extend(some);
                        Vec::new()
                    }
                    Ok(Some(RequestEvent::Tail)) => {
                        self.note(Heard::Go(std::mem::take(&mut bodies)));
                        let one = request.as_ref().unwrap();
                        reply(one, (self.answer)(one))
                    }
                };
                // Nobody may be listening any more.
                let _ = told.write_all(&out).await;
            }
        }
    }

    fn note(&self, heard: Heard) {
        self.log.lock().unwrap().push(heard);
    }
}

struct Ending {
    task: tokio::task::AbortHandle,
    over: watch::Receiver<bool>,
    killed: Arc<Mutex<usize>>,
}

#[async_trait]
impl End for Ending {
    async fn kill(&mut self) {
        *self.killed.lock().unwrap() += 1;
        self.task.abort();
        // The task's end drops the sender.
        let _ = self.over.changed().await;
    }

    async fn status(&mut self) -> Option<String> {
        // The task's end drops the sender.
        let _ = self.over.changed().await;
        Some("over".to_owned())
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        // An error is a sender that the task's end has dropped.
        if self.over.has_changed().is_ok() {
            *self.killed.lock().unwrap() += 1;
            self.task.abort();
        }
    }
}

/// The other side: it asks by the codec.
pub struct Controller {
    pub session: Session,
    replies: ReplyReader,
    seq: u64,
    pub hello: Vec<ReplyEvent>,
}

impl Controller {
    /// Starts a session, and reads its hello.
    pub async fn open(transport: &impl Transport) -> Self {
        let mut controller = Self::quiet(transport).await;
        controller.hello = controller.until(|event| matches!(event, ReplyEvent::Record { .. })).await;
        controller
    }

    /// Starts a session, and reads nothing.
    pub async fn quiet(transport: &impl Transport) -> Self {
        let mut session = transport.start(&command()).await.unwrap();
        session.input.write_all(&boot()).await.unwrap();
        Self { session, replies: ReplyReader::new(NONCE), seq: 0, hello: Vec::new() }
    }

    /// Returns the next request and its bytes, with a tail where it has one.
    pub fn request(&mut self, verb: Verb, bodies: &[u8]) -> (Request, Vec<u8>) {
        self.seq += 1;
        let token = format!("fedcba9876543210fedcba98{:08}", self.seq);
        let request = Request { seq: self.seq, token, roots: Vec::new(), verb };
        let mut bytes = request.encode(NONCE);
        if request.has_tail() {
            bytes.extend([bodies, &request.tail(NONCE)].concat());
        }
        (request, bytes)
    }

    /// Sends a whole request. A line that is lost is noticed by who reads.
    pub async fn send(&mut self, verb: Verb, bodies: &[u8]) -> Request {
        let (request, bytes) = self.request(verb, bodies);
        let _ = self.session.input.write_all(&bytes).await;
        request
    }

    /// Reads a reply to its end; of a broken one what came.
    pub async fn reply(&mut self, request: &Request) -> Vec<ReplyEvent> {
        self.replies.expect(&request.token);
        self.until(|event| matches!(event, ReplyEvent::Record { record: Record::End, .. })).await
    }

    pub async fn ask(&mut self, verb: Verb) -> Vec<ReplyEvent> {
        let request = self.send(verb, b"").await;
        self.reply(&request).await
    }

    /// Reads all bytes that come.
    pub async fn rest(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        self.session.output.read_to_end(&mut rest).await.unwrap();
        rest
    }

    pub async fn until(&mut self, is_last: impl Fn(&ReplyEvent) -> bool) -> Vec<ReplyEvent> {
        let (mut events, mut bytes) = (Vec::new(), vec![0; 4096]);
        loop {
            while let Some(event) = self.replies.take().unwrap() {
                let is_over = is_last(&event);
                events.push(event);
                if is_over {
                    return events;
                }
            }
            let len = self.session.output.read(&mut bytes).await.unwrap();
            if len == 0 {
                return events;
            }
            self.replies.push(&bytes[..len]);
        }
    }
}

pub fn open(path: &str) -> Verb {
    Verb::Open(vec![path.into()])
}

pub fn place(expect: &str, pre: Pre) -> Place {
    Place { root: 0, path: b"x".to_vec(), last: Last::Itself, expect: expect.into(), pre }
}

pub fn change(effect: Effect, place: Place) -> Change {
    let temps = [".guard-a", ".guard-b", ".guard-c"].map(str::to_owned);
    Change { effect, place, parents: Parents::Make, temps, scope: Scope::default() }
}

pub fn put(expect: &str, bytes: &[u8]) -> Change {
    let effect = Effect::Put { len: bytes.len() as u64, digest: Digest::of(bytes), mode: Mode::Keep };
    change(effect, place(expect, Pre::Absent))
}

pub fn commit(changes: Vec<Change>) -> Verb {
    Verb::Commit { options: Options::default(), changes }
}
