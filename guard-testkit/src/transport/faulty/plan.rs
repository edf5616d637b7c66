//! What is to go wrong, and where.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use guard_core::port::{End, TransportError};

use crate::wrap::{Gate, Latch, Method};

/// What a [`super::Faulty`] does; the test keeps a clone, and may plan more at any time.
///
/// Each planned fault happens once, in whatever session its moment comes.
#[derive(Clone, Default)]
pub struct Faults(Arc<Mutex<Plan>>);

/// A direction of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// What the controller sends.
    ToShell,
    /// What the shell answers.
    FromShell,
}

/// A place in the stream of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    part: Part,
    /// Behind how many bytes of the part; at most at its end.
    byte: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Start,
    Request(Option<Method>, u64),
    Tail(u64),
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The line is lost: the shell reads an end of file, and so does the controller. The shell itself goes on.
    Cut,
    /// This direction ends here; the other goes on.
    End,
    /// The shell is killed.
    Kill,
    /// Nothing more arrives in this direction, and nothing says so.
    Hang,
    /// So many bytes are lost.
    Skip(u64),
    /// So many bytes arrive as others.
    Garble(u64),
    /// So many bytes arrive twice; `u64::MAX` for all up to the end of the request or reply.
    Repeat(u64),
    /// These bytes arrive too.
    Insert(Vec<u8>),
}

/// How many bytes were let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bytes {
    /// To the shell.
    pub to_shell: u64,
    /// From the shell.
    pub from_shell: u64,
}

impl At {
    /// The start of the next session: to the shell the first stage and the script; from the shell all that comes
    /// before the first reply, a banner and the hello.
    #[must_use]
    pub const fn start() -> Self {
        Self { part: Part::Start, byte: 0 }
    }

    /// The `nth` request of a method from now on (1 is the next); from the shell the reply to it.
    #[must_use]
    pub const fn request(method: Method, nth: u64) -> Self {
        Self { part: Part::Request(Some(method), nth), byte: 0 }
    }

    /// The `nth` request of any method from now on; from the shell the reply to it.
    #[must_use]
    pub const fn any(nth: u64) -> Self {
        Self { part: Part::Request(None, nth), byte: 0 }
    }

    /// The tail of the `nth` commit from now on, without which nothing is published; from the shell the reply to it.
    #[must_use]
    pub const fn tail(nth: u64) -> Self {
        Self { part: Part::Tail(nth), byte: 0 }
    }

    /// Behind so many bytes of it, at most at its end.
    #[must_use]
    pub const fn byte(self, byte: u64) -> Self {
        Self { byte, ..self }
    }

    /// Behind its last byte.
    #[must_use]
    pub const fn end(self) -> Self {
        self.byte(u64::MAX)
    }
}

/// What is done at a place.
pub(super) enum Deed {
    Fault(Fault),
    Hold(Latch),
    Act(Box<dyn FnOnce() + Send>),
}

/// What is due in a part of the stream, by offset.
pub(super) type Due = VecDeque<(u64, Deed)>;

/// What is due in the start of a session.
pub(super) struct Started {
    pub(super) to_shell: Due,
    pub(super) from_shell: Due,
}

/// What is due in a request and in the reply to it.
pub(super) struct Chosen {
    pub(super) request: Due,
    pub(super) reply: Due,
}

#[derive(Default)]
struct Plan {
    planned: Vec<Planned>,
    refusals: VecDeque<TransportError>,
    refuses: Option<TransportError>,
    held_starts: VecDeque<Latch>,
    starts: u64,
    sessions: u64,
    bytes: Bytes,
    requests: Vec<(Method, u64)>,
    /// Faults that are bound to a request, and did not happen yet.
    bound: usize,
    orphans: Vec<Box<dyn End>>,
}

struct Planned {
    way: Way,
    at: At,
    deed: Deed,
}

impl Faults {
    /// Starts without a fault.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Plans a fault.
    pub fn plan(&self, way: Way, at: At, fault: Fault) {
        self.push(way, at, Deed::Fault(fault));
    }

    /// Holds the stream at a place until the gate is opened or dropped; what comes after it waits too.
    #[must_use]
    pub fn hold(&self, way: Way, at: At) -> Gate {
        let (gate, latch) = Gate::pair();
        self.push(way, at, Deed::Hold(latch));
        gate
    }

    /// Holds the next commit before its tail: all of it was sent, and nothing may be published yet.
    #[must_use]
    pub fn hold_commit(&self) -> Gate {
        self.hold(Way::ToShell, At::tail(1))
    }

    /// Acts when the stream comes to a place; what comes after it waits for that.
    pub fn act(&self, way: Way, at: At, act: impl FnOnce() + Send + 'static) {
        self.push(way, at, Deed::Act(Box::new(act)));
    }

    /// Refuses the next `times` starts.
    pub fn refuse(&self, times: usize, error: TransportError) {
        self.lock().refusals.extend(std::iter::repeat_n(error, times));
    }

    /// Refuses every start until [`Self::accept`].
    pub fn refuse_all(&self, error: TransportError) {
        self.lock().refuses = Some(error);
    }

    /// Refuses no start any more.
    pub fn accept(&self) {
        let mut plan = self.lock();
        plan.refusals.clear();
        plan.refuses = None;
    }

    /// Holds the next start until the gate is opened or dropped.
    #[must_use]
    pub fn hold_start(&self) -> Gate {
        let (gate, latch) = Gate::pair();
        self.lock().held_starts.push_back(latch);
        gate
    }

    /// Returns how many starts were tried, refused ones among them.
    #[must_use]
    pub fn starts(&self) -> u64 {
        self.lock().starts
    }

    /// Returns how many sessions were started.
    #[must_use]
    pub fn sessions(&self) -> u64 {
        self.lock().sessions
    }

    /// Returns how many bytes arrived, over all sessions.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.lock().bytes
    }

    /// Returns the requests that came to the line, over all sessions, each with its whole length: head, records,
    /// bodies and tail.
    #[must_use]
    pub fn requests(&self) -> Vec<(Method, u64)> {
        self.lock().requests.clone()
    }

    /// Returns how many planned faults did not happen yet: a test whose fault never came has shown nothing.
    #[must_use]
    pub fn pending(&self) -> usize {
        let plan = self.lock();
        plan.planned.len() + plan.bound
    }

    /// Returns how many shells outlived their lines and were not waited for.
    #[must_use]
    pub fn orphans(&self) -> usize {
        self.lock().orphans.len()
    }

    /// Waits for the shells that outlived their lines, and returns how they ended.
    pub async fn orphans_end(&self) -> Vec<Option<String>> {
        let mut ended = Vec::new();
        for mut orphan in self.take_orphans() {
            ended.push(orphan.status().await);
        }
        ended
    }

    /// Kills the shells that outlived their lines.
    pub async fn kill_orphans(&self) {
        for mut orphan in self.take_orphans() {
            orphan.kill().await;
        }
    }

    fn take_orphans(&self) -> Vec<Box<dyn End>> {
        std::mem::take(&mut self.lock().orphans)
    }

    fn push(&self, way: Way, at: At, deed: Deed) {
        self.lock().planned.push(Planned { way, at, deed });
    }

    fn lock(&self) -> MutexGuard<'_, Plan> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to start a session.
    pub(super) fn start(&self) -> Result<Option<Latch>, TransportError> {
        let mut plan = self.lock();
        plan.starts += 1;
        match plan.refusals.pop_front().or_else(|| plan.refuses.clone()) {
            Some(error) => Err(error),
            None => Ok(plan.held_starts.pop_front()),
        }
    }

    /// Returns what is due in the start of the session that was started.
    pub(super) fn started(&self) -> Started {
        let mut plan = self.lock();
        plan.sessions += 1;
        let mut started = Started { to_shell: Due::new(), from_shell: Due::new() };
        for one in plan.planned.extract_if(.., |one| one.at.part == Part::Start) {
            match one.way {
                Way::ToShell => started.to_shell.push_back((one.at.byte, one.deed)),
                Way::FromShell => started.from_shell.push_back((one.at.byte, one.deed)),
            }
        }
        plan.bound += sort(&mut started.to_shell) + sort(&mut started.from_shell);
        started
    }

    /// Returns what is due in a request that begins, of this length and with a tail of that.
    pub(super) fn chosen(&self, method: Method, len: u64, tail: u64) -> Chosen {
        let mut plan = self.lock();
        plan.requests.push((method, len));
        let mut chosen = Chosen { request: Due::new(), reply: Due::new() };
        let is_now = |one: &mut Planned| {
            let nth = match &mut one.at.part {
                Part::Request(wanted, nth) if wanted.is_none_or(|wanted| wanted == method) => nth,
                Part::Tail(nth) if method == Method::Commit => nth,
                Part::Start | Part::Request(..) | Part::Tail(_) => return false,
            };
            *nth = nth.saturating_sub(1);
            *nth == 0
        };
        for one in plan.planned.extract_if(.., is_now) {
            match (one.way, one.at.part) {
                (Way::FromShell, _) => chosen.reply.push_back((one.at.byte, one.deed)),
                (Way::ToShell, part) => {
                    let before = if matches!(part, Part::Tail(_)) { len - tail } else { 0 };
                    chosen.request.push_back((before.saturating_add(one.at.byte).min(len), one.deed));
                }
            }
        }
        plan.bound += sort(&mut chosen.request) + sort(&mut chosen.reply);
        chosen
    }

    /// Notes that a fault happens.
    pub(super) fn happens(&self) {
        let mut plan = self.lock();
        plan.bound = plan.bound.saturating_sub(1);
    }

    pub(super) fn arrived(&self, way: Way, len: usize) {
        let mut plan = self.lock();
        match way {
            Way::ToShell => plan.bytes.to_shell += len as u64,
            Way::FromShell => plan.bytes.from_shell += len as u64,
        }
    }

    pub(super) fn adopt(&self, orphan: Box<dyn End>) {
        self.lock().orphans.push(orphan);
    }
}

/// Sorts by offset, and counts; what is at one offset stays in the order in which it was planned.
fn sort(due: &mut Due) -> usize {
    due.make_contiguous().sort_by_key(|(offset, _)| *offset);
    due.len()
}
