//! One session: both directions, and the shell's end.

use std::collections::HashMap;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use guard_backends::shell::wire::{Record, ReplyEvent, Request, RequestEvent};
use guard_core::port::End;
use tokio::sync::{Notify, watch};

use super::flow::{Flow, Over};
use super::plan::{Due, Faults, Way};
use crate::transport::frames::{Piece, Replies, Requests};
use crate::transport::line::{self, From, To};
use crate::transport::method_of;

/// What both directions and the controller's side know of a session.
pub(super) struct Shared {
    pub(super) faults: Faults,
    end: Mutex<Held>,
    /// Is told when the end was given back.
    given_back: Notify,
    was_killed: AtomicBool,
    state: watch::Sender<State>,
    /// How many holds the line is in.
    pub(super) held: AtomicUsize,
    is_orphan: AtomicBool,
    /// What is due in replies that did not begin yet, by the request's number.
    replies: Mutex<HashMap<u64, Due>>,
}

/// Who has the shell's end.
enum Held {
    Here(Box<dyn End>),
    /// Somebody who waits for it or kills it, and gives it back.
    Taken,
    /// Nobody of this session: the shell is an orphan, or over.
    Gone,
}

impl Held {
    /// Takes the end for good.
    fn leave(&mut self) -> Option<Box<dyn End>> {
        match mem::replace(self, Self::Gone) {
            Self::Here(end) => Some(end),
            Self::Taken | Self::Gone => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum State {
    Going,
    Killing,
    /// Nothing comes from the shell any more.
    Muted,
    /// Nor goes anything to it.
    Cut,
}

impl Shared {
    pub(super) fn new(faults: Faults, end: Box<dyn End>) -> Arc<Self> {
        Arc::new(Self {
            faults,
            end: Mutex::new(Held::Here(end)),
            given_back: Notify::new(),
            was_killed: AtomicBool::new(false),
            state: watch::Sender::new(State::Going),
            held: AtomicUsize::new(0),
            is_orphan: AtomicBool::new(false),
            replies: Mutex::default(),
        })
    }

    /// Cuts the line: the shell is an orphan from now on.
    pub(super) fn cut(&self) {
        let mut end = lock(&self.end);
        self.orphan(end.leave());
        self.state.send_replace(State::Cut);
    }

    /// Lets nothing of what the shell answers through any more; the line is about to be cut.
    pub(super) fn mute(&self) {
        self.becomes(State::Muted);
    }

    fn becomes(&self, next: State) {
        self.state.send_if_modified(|state| {
            let is_next = *state < next;
            if is_next {
                *state = next;
            }
            is_next
        });
    }

    /// Kills the shell.
    pub(super) async fn kill(&self) {
        self.becomes(State::Killing);
        if let Some(mut taken) = self.take().await {
            taken.kill().await;
        }
    }

    fn orphan(&self, end: Option<Box<dyn End>>) {
        if let Some(end) = end {
            self.is_orphan.store(true, Ordering::SeqCst);
            self.faults.adopt(end);
        }
    }

    /// Waits for the shell's end, and takes it.
    async fn take(&self) -> Option<Taken<'_>> {
        loop {
            // Before the look, so that what is given back after it is heard.
            let given_back = self.given_back.notified();
            {
                let mut end = lock(&self.end);
                match mem::replace(&mut *end, Held::Taken) {
                    Held::Here(end) => return Some(Taken { shared: self, end: Some(end) }),
                    Held::Taken => {}
                    Held::Gone => {
                        *end = Held::Gone;
                        return None;
                    }
                }
            }
            given_back.await;
        }
    }

    /// Tells whether nothing gets through to the shell now.
    fn is_lost(&self) -> bool {
        self.state() >= State::Muted || self.held.load(Ordering::SeqCst) > 0
    }

    fn state(&self) -> State {
        *self.state.borrow()
    }

    /// Waits for the state, or one after it.
    async fn is(&self, wanted: State) {
        // The sender is this session's own, and there as long as it is.
        let _ = self.state.subscribe().wait_for(|state| *state >= wanted).await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The shell's end in somebody's hands, who gives it back by dropping this.
struct Taken<'a> {
    shared: &'a Shared,
    end: Option<Box<dyn End>>,
}

impl Taken<'_> {
    fn end(&mut self) -> &mut dyn End {
        self.end.as_deref_mut().expect("it is taken out only by dropping")
    }

    async fn kill(&mut self) {
        if !self.shared.was_killed.swap(true, Ordering::SeqCst) {
            self.end().kill().await;
        }
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut held = lock(&self.shared.end);
        match (&*held, self.end.take()) {
            (Held::Taken, Some(end)) => *held = Held::Here(end),
            // The line was cut meanwhile.
            (_, end) => self.shared.orphan(end),
        }
        self.shared.given_back.notify_waiters();
    }
}

/// The controller's side of a session's end.
pub(super) struct Line(pub(super) Arc<Shared>);

#[async_trait]
impl End for Line {
    async fn kill(&mut self) {
        if self.0.is_lost() {
            let end = lock(&self.0.end).leave();
            self.0.orphan(end);
        } else if let Some(mut taken) = self.0.take().await {
            taken.kill().await;
        }
    }

    async fn status(&mut self) -> Option<String> {
        let mut state = self.0.state.subscribe();
        let mut taken = self.0.take().await?;
        loop {
            let now = *state.borrow_and_update();
            match now {
                State::Going | State::Muted => {}
                State::Killing => taken.kill().await,
                // What becomes of the shell cannot be known here any more.
                State::Cut => return None,
            }
            tokio::select! {
                biased;
                _ = state.changed() => {}
                status = taken.end().status() => return status,
            }
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let end = lock(&self.0.end).leave();
        if self.0.is_lost() {
            self.0.orphan(end);
        }
    }
}

/// Carries what goes to the shell.
pub(super) async fn ask((mut from, to): (From, To), mut requests: Requests, shared: Arc<Shared>, due: Due) {
    let mut flow = Flow::new(to, Way::ToShell, Arc::clone(&shared), due);
    let pump = async {
        loop {
            let bytes = line::read(&mut from).await;
            let is_over = bytes.is_empty();
            let pieces =
                if is_over { requests.finish().into_iter().collect() } else { requests.push(&bytes) };
            for piece in pieces {
                if let Err(over) = sent(&mut flow, piece, &requests, &shared).await {
                    return over;
                }
            }
            if is_over {
                return Over::Gone;
            }
        }
    };
    let over = tokio::select! {
        biased;
        () = shared.is(State::Cut) => Over::Cut,
        over = pump => over,
    };
    drop(flow);
    if matches!(over, Over::Ended) {
        // The controller does not notice.
        tokio::select! {
            () = shared.is(State::Cut) => {}
            () = line::drain(&mut from) => {}
        }
    }
}

async fn sent(
    flow: &mut Flow,
    Piece { raw, event }: Piece<RequestEvent>,
    requests: &Requests,
    shared: &Shared,
) -> Result<(), Over> {
    if let Some(RequestEvent::Request(request)) = &event {
        let (len, tail) = lengths(request, &requests.nonce(), raw.len());
        let chosen = shared.faults.chosen(method_of(&request.verb), len, tail);
        lock(&shared.replies).insert(request.seq, chosen.reply);
        flow.begin(chosen.request, Some(len));
    }
    flow.pass(&raw).await?;
    match event {
        Some(RequestEvent::Boot(_) | RequestEvent::Tail) => flow.end().await,
        Some(RequestEvent::Request(request)) if !request.has_tail() => flow.end().await,
        _ => Ok(()),
    }
}

/// Returns the length of a whole request, and of its tail.
fn lengths(request: &Request, nonce: &str, head: usize) -> (u64, u64) {
    let tail = if request.has_tail() { request.tail(nonce).len() as u64 } else { 0 };
    (head as u64 + request.bodies().iter().sum::<u64>() + tail, tail)
}

/// Carries what comes from the shell.
pub(super) async fn tell((mut from, to): (From, To), mut replies: Replies, shared: Arc<Shared>, due: Due) {
    let mut flow = Flow::new(to, Way::FromShell, Arc::clone(&shared), due);
    let pump = async {
        let mut last = 0;
        loop {
            let bytes = line::read(&mut from).await;
            if shared.state() >= State::Muted {
                shared.is(State::Cut).await;
                return Over::Cut;
            }
            let is_over = bytes.is_empty();
            let pieces = if is_over { replies.finish().into_iter().collect() } else { replies.push(&bytes) };
            for piece in pieces {
                if let Err(over) = told(&mut flow, piece, &mut last, &shared).await {
                    return over;
                }
            }
            if is_over {
                return Over::Gone;
            }
        }
    };
    let over = tokio::select! {
        biased;
        () = shared.is(State::Cut) => Over::Cut,
        over = pump => over,
    };
    drop(flow);
    // A shell behind a lost line writes on without an error, for a while.
    let writes_on = matches!(over, Over::Cut | Over::Ended);
    if writes_on || shared.is_lost() || shared.is_orphan.load(Ordering::SeqCst) {
        line::drain(&mut from).await;
    }
}

async fn told(
    flow: &mut Flow,
    Piece { raw, event }: Piece<ReplyEvent>,
    last: &mut u64,
    shared: &Shared,
) -> Result<(), Over> {
    let Some(ReplyEvent::Record { seq, record }) = event else { return flow.pass(&raw).await };
    if mem::replace(last, seq) != seq {
        flow.begin(lock(&shared.replies).remove(&seq).unwrap_or_default(), None);
    }
    flow.pass(&raw).await?;
    match record {
        Record::Hello(_) | Record::Unsupported(_) | Record::End => flow.end().await,
        _ => Ok(()),
    }
}
