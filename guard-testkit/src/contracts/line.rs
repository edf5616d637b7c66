//! A guard over a line that can be broken.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use guard_backends::shell::{Builder, Process, Shell};
use guard_core::policy::Access;
use guard_core::port::{End, Machine, Session, TargetId, Transport, TransportError};
use guard_core::{Actor, Guard, Outcome, Reply};
use serde_json::{Value, json};

use super::bench::{Bench, Shared, failed};
use crate::conformance::{Broken, broken, ensure, same};
use crate::transport::{At, Fault, Faults, Faulty, Way};
use crate::wrap::Method;

/// A guard of one actor over a line that can be broken.
pub(super) struct Line {
    actor: Actor,
    pub(super) faults: Faults,
    told: Arc<Mutex<Told>>,
}

impl Line {
    pub(super) async fn of(bench: &Bench) -> Result<Self, Broken> {
        Self::with(bench, |shell| {
            shell
                .progress(Duration::from_secs(20))
                .hello(Duration::from_secs(5))
                .reconnect(2, Duration::from_millis(1))
        })
        .await
    }

    /// As [`Self::of`], with deadlines that a test waits for.
    pub(super) async fn impatient(bench: &Bench) -> Result<Self, Broken> {
        Self::with(bench, |shell| {
            shell
                .progress(Duration::from_millis(1500))
                .hello(Duration::from_secs(2))
                .reconnect(1, Duration::ZERO)
        })
        .await
    }

    async fn with(bench: &Bench, configure: impl FnOnce(Builder) -> Builder) -> Result<Self, Broken> {
        let (faults, told) = (Faults::new(), Arc::default());
        let instead = Instead { inner: Shared(Arc::clone(&bench.transport)), told: Arc::clone(&told) };
        let builder = Shell::builder(Arc::new(Faulty::new(instead, &faults)));
        let shell = (bench.around)(configure(builder).connect().await.map_err(failed)?);
        let guard = Guard::builder(shell).root(bench.root.clone(), Access::ReadWrite).open().await;
        Ok(Self { actor: guard.map_err(failed)?.actor("agent"), faults, told })
    }

    pub(super) async fn call(&self, tool: &str, arguments: &Value) -> Reply {
        self.actor.call(tool, arguments.clone()).await
    }

    /// Loses the session between two calls, so that the next one has to open another.
    pub(super) async fn lose(&self) -> Result<(), Broken> {
        self.faults.refuse_all(TransportError::Unreachable { why: "not now".to_owned() });
        self.faults.plan(Way::ToShell, At::any(1), Fault::Cut);
        unavailable("a look that is cut", &self.call("stat", &json!({ "path": "old.txt" })).await)?;
        same("faults to come", &self.faults.pending(), &0)?;
        self.faults.kill_orphans().await;
        self.faults.accept();
        Ok(())
    }

    /// Starts a program instead of the target's shell from now on, or the target's shell again.
    pub(super) fn instead(&self, script: Option<&str>) {
        lock(&self.told).script = script.map(str::to_owned);
    }

    /// Says from now on that whatever ends has ended so.
    pub(super) fn ends_with(&self, status: Option<String>) {
        lock(&self.told).status = status;
    }

    /// Returns how many commits came to the line so far.
    pub(super) fn commits(&self) -> usize {
        self.faults.requests().into_iter().filter(|(method, _)| *method == Method::Commit).count()
    }
}

/// Claims that a call was refused because the target could not be asked, and that the remedy is to make it again.
pub(super) fn unavailable(what: &str, reply: &Reply) -> Result<(), Broken> {
    same(&format!("{what}: the outcome ({:?})", reply.refusal), &reply.outcome, &Outcome::Refused)?;
    let Some(refusal) = &reply.refusal else { return broken(format!("{what}: no refusal")) };
    same(&format!("{what}: the code"), &refusal.code.as_str(), &"state-unavailable")?;
    let remedy = refusal.remedy.as_ref().map(|remedy| remedy.sentence.clone()).unwrap_or_default();
    ensure(remedy.contains("again"), format!("{what}: the remedy is {remedy:?}"))
}

/// What an [`Instead`] was told.
#[derive(Default)]
struct Told {
    script: Option<String>,
    status: Option<String>,
}

fn lock(told: &Mutex<Told>) -> MutexGuard<'_, Told> {
    told.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts what it was told to start instead of the target's shell, and says what it was told to say of how it ended.
struct Instead {
    inner: Shared,
    told: Arc<Mutex<Told>>,
}

#[async_trait]
impl Transport for Instead {
    fn target(&self) -> &TargetId {
        self.inner.target()
    }

    async fn start(&self, command: &str) -> Result<Session, TransportError> {
        let script = lock(&self.told).script.clone();
        let session = match script {
            None => self.inner.start(command).await?,
            Some(script) => {
                // A program of this machine stands for a target that answers so; it gets the command and ignores it.
                let other = Process::program(self.target().clone(), "sh").args(["-c", &script, "sh"]);
                other.start(command).await?
            }
        };
        let end = Box::new(Ends { inner: session.end, told: Arc::clone(&self.told) });
        Ok(Session { end, ..session })
    }

    async fn machine(&self) -> Result<Option<Machine>, TransportError> {
        self.inner.machine().await
    }
}

/// How a session ended, by what was told of it.
struct Ends {
    inner: Box<dyn End>,
    told: Arc<Mutex<Told>>,
}

#[async_trait]
impl End for Ends {
    async fn kill(&mut self) {
        self.inner.kill().await;
    }

    async fn status(&mut self) -> Option<String> {
        let real = self.inner.status().await;
        lock(&self.told).status.clone().or(real)
    }
}
