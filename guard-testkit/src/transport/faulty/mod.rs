//! A transport that breaks, changes or holds its stream where a test wants it.

mod flow;
mod plan;
mod session;

use async_trait::async_trait;
use guard_backends::shell::wire::boot_len;
use guard_core::port::{Machine, Session, TargetId, Transport, TransportError};

pub use self::plan::{At, Bytes, Fault, Faults, Way};
use super::{frames, line};

/// A transport whose streams have the faults that a [`Faults`] has planned.
///
/// Without a plan it lets everything through, byte by byte as it is.
///
/// A line that was cut, or is held, carries no signal either: while it is so, what the controller does to the session
/// (drop it, kill it) does not reach the shell, which then goes on as an orphan until [`Faults::orphans_end`].
///
/// ```no_run
/// # use guard_core::port::TargetId;
/// use guard_backends::shell::Process;
/// use guard_testkit::transport::{At, Fault, Faults, Faulty, Way};
/// use guard_testkit::wrap::Method;
///
/// let faults = Faults::new();
/// let transport = Faulty::new(Process::shell(TargetId::new("here")), &faults);
/// // The line is lost when 100 bytes of the next commit have left.
/// faults.plan(Way::ToShell, At::request(Method::Commit, 1).byte(100), Fault::Cut);
/// // The two starts after that fail.
/// # let unreachable = guard_core::port::TransportError::TargetChanged;
/// faults.refuse(2, unreachable);
/// ```
pub struct Faulty<T> {
    inner: T,
    faults: Faults,
}

impl<T: Transport> Faulty<T> {
    /// Puts planned faults on the way to `inner`.
    pub fn new(inner: T, faults: &Faults) -> Self {
        Self { inner, faults: faults.clone() }
    }
}

#[async_trait]
impl<T: Transport> Transport for Faulty<T> {
    fn target(&self) -> &TargetId {
        self.inner.target()
    }

    async fn start(&self, command: &str) -> Result<Session, TransportError> {
        if let Some(latch) = self.faults.start()? {
            latch.hold().await;
        }
        let (session, to_shell, from_shell) = line::between(self.inner.start(command).await?);
        let started = self.faults.started();
        let (requests, replies) = frames::of_session(boot_len(command));
        let shared = session::Shared::new(self.faults.clone(), session.end);
        tokio::spawn(session::ask(to_shell, requests, shared.clone(), started.to_shell));
        tokio::spawn(session::tell(from_shell, replies, shared.clone(), started.from_shell));
        Ok(Session { end: Box::new(session::Line(shared)), ..session })
    }

    async fn machine(&self) -> Result<Option<Machine>, TransportError> {
        self.inner.machine().await
    }
}
