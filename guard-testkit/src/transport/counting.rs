//! Counts what goes over a line.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use guard_backends::shell::wire::{Record, ReplyEvent, RequestEvent, boot_len};
use guard_core::port::{Machine, Session, TargetId, Transport, TransportError};

use super::frames::{self, Replies, Requests};
use super::line::{self, From, To};
use super::method_of;
use crate::wrap::{Counts, Method};

/// A transport that counts what goes over it.
pub struct Counting<T> {
    inner: T,
    traffic: Traffic,
}

/// What a [`Counting`] has counted; the test keeps a clone.
#[derive(Debug, Clone, Default)]
pub struct Traffic(Arc<Mutex<Counted>>);

/// What went over a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// Sessions that were started.
    pub sessions: u64,
    /// How often the controller asked and then got an answer: what it sends before the answer begins is one question.
    /// A request that needs another look in between costs two. The start of a session is none, and what a commit notes
    /// on the way is no answer: nobody waits for it.
    pub trips: u64,
    /// Requests that were sent whole.
    pub requests: Counts,
    /// Bytes to the shell, the script among them.
    pub sent: u64,
    /// Bytes from the shell.
    pub received: u64,
}

impl<T: Transport> Counting<T> {
    /// Counts what goes over `inner`.
    pub fn new(inner: T, traffic: &Traffic) -> Self {
        Self { inner, traffic: traffic.clone() }
    }
}

impl Traffic {
    /// Starts from zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns what was counted since the start or the last [`Self::take`].
    #[must_use]
    pub fn counted(&self) -> Counted {
        *self.lock()
    }

    /// Returns what was counted and starts again from zero.
    #[must_use = "it cannot be asked for again"]
    pub fn take(&self) -> Counted {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request(&self, method: Method) {
        self.lock().requests.add(method);
    }
}

#[async_trait]
impl<T: Transport> Transport for Counting<T> {
    fn target(&self) -> &TargetId {
        self.inner.target()
    }

    async fn start(&self, command: &str) -> Result<Session, TransportError> {
        let (session, to_shell, from_shell) = line::between(self.inner.start(command).await?);
        self.traffic.lock().sessions += 1;
        let asked = Arc::new(Mutex::new(false));
        let (requests, replies) = frames::of_session(boot_len(command));
        tokio::spawn(ask(to_shell, requests, self.traffic.clone(), Arc::clone(&asked)));
        tokio::spawn(tell(from_shell, replies, self.traffic.clone(), asked));
        Ok(session)
    }

    async fn machine(&self) -> Result<Option<Machine>, TransportError> {
        self.inner.machine().await
    }
}

async fn ask(
    (mut from, mut to): (From, To),
    mut requests: Requests,
    traffic: Traffic,
    asked: Arc<Mutex<bool>>,
) {
    let mut method = None;
    loop {
        let bytes = line::read(&mut from).await;
        if bytes.is_empty() {
            return;
        }
        // Counted before they are sent: the answer may be quick.
        traffic.lock().sent += bytes.len() as u64;
        for piece in requests.push(&bytes) {
            match piece.event {
                Some(RequestEvent::Request(request)) => {
                    let this = method_of(&request.verb);
                    if request.has_tail() {
                        method = Some(this);
                    } else {
                        traffic.request(this);
                    }
                }
                // What changes something is whole with its tail.
                Some(RequestEvent::Tail) => method.take().into_iter().for_each(|this| traffic.request(this)),
                Some(RequestEvent::Boot(_)) => continue,
                _ => {}
            }
            *asked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        }
        if line::write(&mut to, &bytes).await.is_err() {
            return;
        }
    }
}

async fn tell(
    (mut from, mut to): (From, To),
    mut replies: Replies,
    traffic: Traffic,
    asked: Arc<Mutex<bool>>,
) {
    loop {
        let bytes = line::read(&mut from).await;
        if bytes.is_empty() {
            return;
        }
        let begins = replies.push(&bytes).iter().any(|piece| !piece.event.as_ref().is_some_and(is_note));
        let answers = begins && std::mem::take(&mut *asked.lock().unwrap_or_else(PoisonError::into_inner));
        {
            let mut counted = traffic.lock();
            counted.received += bytes.len() as u64;
            counted.trips += u64::from(answers);
        }
        if line::write(&mut to, &bytes).await.is_err() {
            return;
        }
    }
}

/// Tells whether a commit notes something on its way, which may come before all of the request has left.
const fn is_note(event: &ReplyEvent) -> bool {
    matches!(
        event,
        ReplyEvent::Record { record: Record::Made { .. } | Record::Left { .. } | Record::Lost { .. }, .. }
    )
}
