//! The end of a line that a test plays itself: it reads requests as a shell does, and answers what it likes.
//!
//! The clock of these tests is paused: it moves on when nothing else does, so that whoever waits in vain fails at once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use guard_backends::shell::wire::{
    Applied, Effect, Hello, Record, Request, RequestEvent, RequestReader, State, Verb, Verdict, boot_len,
};
use guard_backends::shell::{Builder, Shell};
use guard_core::policy::{Digest, Precondition, TargetPath};
use guard_core::port::{
    Applied as Done, Ask, CommitError, Content, Depth, Effect as Does, End, FileOps as _, Found, Last,
    OpError, Parents, Place, Root, RootSpec, Session, TargetId, Tier, Transport, TransportError,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use crate::common::batch;

/// How many bytes may be on the way in one direction.
pub(crate) const ROOM: usize = 4096;

/// How long the controller may do nothing: longer than any deadline that a session has.
const PATIENCE: Duration = Duration::from_secs(100);

/// What a shell says of itself, if the test does not care.
pub(crate) const FACTS: &[(&str, &str)] = &[
    ("pid", "4242"),
    ("start", "7"),
    ("uid", "0"),
    ("home", "/root"),
    ("machine", "m"),
    ("bootid", "b"),
    ("rootid", "1:2"),
    ("exchange", "perl"),
];

/// A transport whose other end is the test.
pub(crate) struct Peer {
    target: TargetId,
    lines: UnboundedSender<Line>,
    starts: Starts,
}

/// The starts of a [`Peer`].
#[derive(Clone, Default)]
pub(crate) struct Starts(Arc<Mutex<Plan>>);

#[derive(Default)]
struct Plan {
    at: Vec<Instant>,
    refusals: VecDeque<TransportError>,
}

impl Starts {
    /// When they were tried.
    pub(crate) fn at(&self) -> Vec<Instant> {
        self.0.lock().unwrap().at.clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().unwrap().at.len()
    }

    /// Refuses the next ones.
    pub(crate) fn refuse(&self, times: usize, error: &TransportError) {
        self.0.lock().unwrap().refusals.extend(std::iter::repeat_n(error.clone(), times));
    }
}

#[async_trait]
impl Transport for Peer {
    fn target(&self) -> &TargetId {
        &self.target
    }

    async fn start(&self, command: &str) -> Result<Session, TransportError> {
        let refusal = {
            let mut plan = self.starts.0.lock().unwrap();
            plan.at.push(Instant::now());
            plan.refusals.pop_front()
        };
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        let (input, asked) = tokio::io::duplex(ROOM);
        let (output, told) = tokio::io::duplex(ROOM);
        let reader = RequestReader::new(boot_len(command).unwrap());
        // Where the test is over, nobody answers.
        let _ = self.lines.send(Line { asked, told, reader });
        Ok(Session { input: Box::new(input), output: Box::new(output), errors: None, end: Box::new(Nothing) })
    }
}

/// There is no process to be ended.
struct Nothing;

#[async_trait]
impl End for Nothing {
    async fn kill(&mut self) {}

    async fn status(&mut self) -> Option<String> {
        None
    }
}

/// The target's end of a session.
pub(crate) struct Line {
    asked: DuplexStream,
    told: DuplexStream,
    reader: RequestReader,
}

impl Line {
    /// Takes what comes next; nothing at the end.
    pub(crate) async fn event(&mut self) -> Option<RequestEvent> {
        loop {
            if let Some(event) = self.reader.take().unwrap() {
                return Some(event);
            }
            let mut piece = [0; 1024];
            match self.asked.read(&mut piece).await.unwrap() {
                0 => return None,
                len => self.reader.push(&piece[..len]),
            }
        }
    }

    /// Takes the script and says hello.
    pub(crate) async fn hello(&mut self, facts: &[(&str, &str)]) {
        assert!(matches!(self.event().await, Some(RequestEvent::Boot(_))));
        let facts = facts.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
        let hello = Record::Hello(Hello { facts: facts.collect() });
        self.raw(&hello.encode(&self.nonce(), 0)).await;
    }

    pub(crate) fn nonce(&self) -> String {
        self.reader.nonce().to_owned()
    }

    /// Takes the next request up to its bodies.
    pub(crate) async fn request(&mut self) -> Request {
        match tokio::time::timeout(PATIENCE, self.event()).await {
            Ok(Some(RequestEvent::Request(request))) => request,
            other => panic!("{other:?} instead of a request"),
        }
    }

    /// Waits until a request has begun to come, and takes no more of it.
    pub(crate) async fn is_begun(&mut self) {
        let mut byte = [0];
        self.asked.read_exact(&mut byte).await.unwrap();
        self.reader.push(&byte);
    }

    /// Takes the next request whole.
    pub(crate) async fn whole(&mut self) -> Request {
        let request = self.request().await;
        while request.has_tail() {
            match self.event().await {
                Some(RequestEvent::Bytes(_)) => {}
                Some(RequestEvent::Tail) => break,
                other => panic!("{other:?} instead of the rest of a request"),
            }
        }
        request
    }

    async fn root(&mut self, request: &Request) {
        let root = Record::Root { path: b"/ws".to_vec(), identity: "1:3".to_owned() };
        self.reply(request, &[root]).await;
    }

    /// Sends bytes as they are; those that the controller does not take any more are lost.
    pub(crate) async fn raw(&mut self, bytes: &[u8]) {
        let _ = self.told.write_all(bytes).await;
    }

    /// Sends bytes until the controller takes no more, or until so many have left; returns how many have.
    pub(crate) async fn flood(&mut self, piece: &[u8], most: usize) -> usize {
        let mut sent = 0;
        while sent < most && self.told.write_all(piece).await.is_ok() {
            sent += piece.len();
        }
        sent
    }

    /// Answers a request.
    pub(crate) async fn reply(&mut self, request: &Request, records: &[Record]) {
        let bytes = reply(&self.nonce(), request.seq, records);
        self.raw(&bytes).await;
    }

    /// Tells, once the controller closed the session, whether nothing more had come.
    pub(crate) async fn is_closed(&mut self) -> bool {
        matches!(tokio::time::timeout(PATIENCE, self.event()).await, Ok(None))
    }
}

/// Writes a whole reply.
pub(crate) fn reply(nonce: &str, seq: u64, records: &[Record]) -> Vec<u8> {
    let records = records.iter().chain([&Record::End]);
    records.flat_map(|record| record.encode(nonce, seq)).collect()
}

/// A target that the test plays.
pub(crate) struct Talk {
    pub(crate) user: User,
    pub(crate) line: Line,
    pub(crate) calls: Calls,
    pub(crate) starts: Starts,
}

/// The controller's side.
#[derive(Clone)]
pub(crate) struct User {
    pub(crate) shell: Shell,
    pub(crate) root: Root,
}

/// The sessions that are started.
pub(crate) struct Calls(UnboundedReceiver<Line>);

impl Calls {
    pub(crate) async fn next(&mut self) -> Line {
        tokio::time::timeout(PATIENCE, self.0.recv()).await.expect("no session is started").unwrap()
    }

    /// Takes the next session and says hello.
    pub(crate) async fn greeted(&mut self) -> Line {
        let mut line = self.next().await;
        line.hello(FACTS).await;
        line
    }
}

impl Talk {
    pub(crate) async fn new() -> Self {
        Self::with(|builder| builder).await
    }

    pub(crate) async fn with(build: impl FnOnce(Builder) -> Builder) -> Self {
        let starts = Starts::default();
        let (lines, calls) = unbounded_channel();
        let peer = Peer { target: TargetId::new("played"), lines, starts: starts.clone() };
        let mut calls = Calls(calls);
        let builder = build(Shell::builder(Arc::new(peer)));
        let (shell, mut line) = tokio::join!(builder.connect(), calls.greeted());
        let shell = shell.unwrap();
        let spec = RootSpec { path: TargetPath::new("/ws").unwrap() };
        let (root, ()) = tokio::join!(shell.open_root(&spec), async {
            let request = line.whole().await;
            line.root(&request).await;
        });
        Self { user: User { root: root.unwrap(), shell }, line, calls, starts }
    }
}

impl User {
    pub(crate) fn ask(&self, path: &str) -> Ask {
        Ask {
            root: self.root.id,
            path: path.to_owned(),
            last: Last::Follow,
            depth: Depth::State,
            scope: Arc::default(),
        }
    }

    pub(crate) async fn stat(&self, path: &str) -> Result<Found, OpError> {
        self.shell.stat(&[self.ask(path)]).await?.remove(0)
    }

    /// Creates a file.
    pub(crate) async fn create(&self, name: &str, content: Content) -> Result<Done, CommitError> {
        let expect = TargetPath::new(format!("/ws/{name}")).unwrap();
        let place = Place { root: self.root.id, path: name.to_owned(), last: Last::Itself, expect };
        let effect = Does::Put { content, mode: guard_core::port::Mode::Keep, parents: Parents::Make };
        let change = guard_core::port::Change { place, precondition: Precondition::Absent, effect };
        self.shell.commit(batch(vec![change])).await.map(|mut done| done.changes.remove(0))
    }
}

/// Says that nothing is at the place of a stat.
pub(crate) fn absent(request: &Request) -> Record {
    found(request, State::Absent)
}

/// Says what is at the place of a question.
pub(crate) fn found(request: &Request, state: State) -> Record {
    let look = match &request.verb {
        Verb::Stat(looks) => &looks[0],
        Verb::Read(looks) => &looks[0].0,
        Verb::Stream(look) | Verb::List { look, .. } => look,
        other => panic!("{other:?} is no question"),
    };
    Record::Found { resolved: [b"/ws/", &look.path[..]].concat(), state }
}

/// Describes a regular file with these bytes.
pub(crate) fn regular(bytes: &[u8]) -> State {
    State::Regular { len: bytes.len() as u64, mode: 0o644, nlink: 1, digest: Some(Digest::of(bytes)) }
}

/// Says that a creation was carried out.
pub(crate) fn created(request: &Request) -> Record {
    let Verb::Commit { changes, .. } = &request.verb else { panic!("{request:?} is no commit") };
    let Effect::Put { len, digest, .. } = changes[0].effect else { panic!("{changes:?} is no creation") };
    Record::Applied(Box::new(Applied {
        change: 0,
        resolved: changes[0].place.expect.clone(),
        before: State::Absent,
        after: State::Regular { len, mode: 0o644, nlink: 1, digest: Some(digest) },
        tier: Tier::Exchange,
        displaced: false,
        changed: true,
        copied: false,
        other_names: 0,
    }))
}

/// Says what became of a commit of one change.
pub(crate) fn settled(verdict: Verdict) -> Vec<Record> {
    let fate = Record::Fate { change: 0, fate: "untouched".to_owned() };
    match verdict {
        Verdict::Applied => vec![Record::Settled(verdict)],
        _ => vec![Record::Settled(verdict), fate],
    }
}
