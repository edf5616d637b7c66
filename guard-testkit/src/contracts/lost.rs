//! A line that is lost: before the request is complete nothing is done, after it what was done is found out.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use guard_backends::shell::{Process, Shell};
use guard_core::policy::Access;
use guard_core::port::{Machine, Session, TargetId, Transport, TransportError};
use guard_core::{Actor, Guard, Outcome, Reply};
use serde_json::{Value, json};

use super::bench::{Bench, Shared, failed, patch};
use crate::conformance::{Broken, broken, ensure, same};
use crate::transport::{At, Fault, Faults, Faulty, Way};
use crate::wrap::Method;

/// Starts what it was told to start instead of the target's shell.
struct Instead {
    inner: Shared,
    script: Arc<Mutex<Option<String>>>,
}

#[async_trait]
impl Transport for Instead {
    fn target(&self) -> &TargetId {
        self.inner.target()
    }

    async fn start(&self, command: &str) -> Result<Session, TransportError> {
        let script = self.script.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match script {
            None => self.inner.start(command).await,
            Some(script) => {
                // A program of this machine stands for a target that answers so; it gets the command and ignores it.
                let other = Process::program(self.target().clone(), "sh").args(["-c", &script, "sh"]);
                other.start(command).await
            }
        }
    }

    async fn machine(&self) -> Result<Option<Machine>, TransportError> {
        self.inner.machine().await
    }
}

/// A guard over a line that can be broken.
struct Line {
    actor: Actor,
    faults: Faults,
    script: Arc<Mutex<Option<String>>>,
}

impl Line {
    async fn of(bench: &Bench) -> Result<Self, Broken> {
        let (faults, script) = (Faults::new(), Arc::new(Mutex::new(None)));
        let instead = Instead { inner: Shared(Arc::clone(&bench.transport)), script: Arc::clone(&script) };
        let shell = Shell::builder(Arc::new(Faulty::new(instead, &faults)))
            .progress(Duration::from_secs(20))
            .hello(Duration::from_secs(5))
            .reconnect(2, Duration::from_millis(1))
            .connect()
            .await
            .map_err(failed)?;
        Self::over(bench, shell, faults, script).await
    }

    /// As [`Self::of`], with deadlines that a test waits for.
    async fn impatient(bench: &Bench) -> Result<Self, Broken> {
        let (faults, script) = (Faults::new(), Arc::new(Mutex::new(None)));
        let instead = Instead { inner: Shared(Arc::clone(&bench.transport)), script: Arc::clone(&script) };
        let shell = Shell::builder(Arc::new(Faulty::new(instead, &faults)))
            .progress(Duration::from_millis(400))
            .hello(Duration::from_secs(5))
            .reconnect(1, Duration::ZERO)
            .connect()
            .await
            .map_err(failed)?;
        Self::over(bench, shell, faults, script).await
    }

    async fn over(
        bench: &Bench,
        shell: Shell,
        faults: Faults,
        script: Arc<Mutex<Option<String>>>,
    ) -> Result<Self, Broken> {
        let guard = Guard::builder(Arc::new(shell)).root(bench.root.clone(), Access::ReadWrite).open().await;
        Ok(Self { actor: guard.map_err(failed)?.actor("agent"), faults, script })
    }

    async fn call(&self, tool: &str, arguments: &Value) -> Reply {
        self.actor.call(tool, arguments.clone()).await
    }

    /// Loses the session in the middle of a request that is larger than any buffer on the way, so that the controller
    /// surely knows that it had not left.
    async fn lose(&self) -> Result<(), Broken> {
        self.faults.plan(Way::ToShell, At::request(Method::Commit, 1).byte(9), Fault::Cut);
        let large = json!({ "path": "large.txt", "content": "0123456789abcde\n".repeat(1 << 18) });
        unavailable("a large write that is cut", &self.call("write_file", &large).await)?;
        self.faults.kill_orphans().await;
        Ok(())
    }

    fn instead(&self, script: Option<&str>) {
        *self.script.lock().unwrap_or_else(PoisonError::into_inner) = script.map(str::to_owned);
    }
}

/// The calls that change something, each with the method of the request that would.
fn calls() -> Vec<(&'static str, Value, Method)> {
    vec![
        ("write_file", json!({ "path": "new.txt", "content": "ours\n" }), Method::Commit),
        ("write_file", json!({ "path": "new.sqlite", "content": "ours\n" }), Method::Commit),
        ("edit_file", json!({ "path": "old.txt", "old": "old", "new": "ours" }), Method::Commit),
        ("apply_patch", patch("*** Add File: new.pdf\n+ours\n"), Method::Commit),
        ("apply_patch", patch("*** Update File: old.txt\n@@\n-old\n+ours\n"), Method::Commit),
        ("move_file", json!({ "from": "old.txt", "to": "moved" }), Method::Commit),
    ]
}

/// Claims that a call was refused because the target could not be asked, that nothing has changed, and that the
/// remedy is to make the call again.
fn unavailable(what: &str, reply: &Reply) -> Result<(), Broken> {
    same(&format!("{what}: the outcome ({:?})", reply.refusal), &reply.outcome, &Outcome::Refused)?;
    let Some(refusal) = &reply.refusal else { return broken(format!("{what}: no refusal")) };
    same(&format!("{what}: the code"), &refusal.code.as_str(), &"state-unavailable")?;
    let remedy = refusal.remedy.as_ref().map(|remedy| remedy.sentence.clone()).unwrap_or_default();
    ensure(remedy.contains("again"), format!("{what}: the remedy is {remedy:?}"))
}

pub(super) async fn what_fails_before_the_request_is_complete_changes_nothing(
    bench: Bench,
) -> Result<(), Broken> {
    bench.there("old.txt", b"old\n")?;
    let before = bench.snapshot()?;
    let line = Line::of(&bench).await?;
    for (tool, arguments, method) in calls() {
        // The line is lost within the request, or before it.
        for byte in [0, 1, 40, 150] {
            for fault in [Fault::Cut, Fault::End, Fault::Kill, Fault::Insert(b"noise\n".to_vec())] {
                // What is inserted into a request is noise to the shell, which ends the session.
                let what = format!("{fault:?} at byte {byte} of {tool} {arguments}");
                line.faults.plan(Way::ToShell, At::request(method, 1).byte(byte), fault);
                unavailable(&what, &line.call(tool, &arguments).await)?;
                same(&format!("{what}: faults to come"), &line.faults.pending(), &0)?;
                line.faults.kill_orphans().await;
                bench.unchanged(&before, &what)?;
            }
        }
        // What is started again is no shell.
        for script in [
            "exit 0",
            "exit 1",
            "exit 125",
            "exit 126",
            "exit 127",
            "exit 137",
            "exit 255",
            "kill -9 $$",
            "echo noise; exit 0",
            "echo 'sh: not found' >&2; exit 127",
            "exec cat",
        ] {
            let what = format!("{script:?} instead of a shell, for {tool}");
            line.lose().await?;
            line.instead(Some(script));
            unavailable(&what, &line.call(tool, &arguments).await)?;
            bench.unchanged(&before, &what)?;
            line.instead(None);
        }
        // The transport refuses.
        line.lose().await?;
        line.faults.refuse_all(TransportError::Unreachable { why: "no route".to_owned() });
        unavailable("a refused start", &line.call(tool, &arguments).await)?;
        line.faults.accept();
        bench.unchanged(&before, "a refused start")?;
    }
    // When the target answers again, the call is made.
    let (tool, arguments, _) = calls().remove(0);
    same("the outcome at last", &line.call(tool, &arguments).await.outcome, &Outcome::Done)?;
    bench.holds("new.txt", b"ours\n")
}

pub(super) async fn a_target_that_hangs_is_given_up_and_changes_nothing(bench: Bench) -> Result<(), Broken> {
    bench.there("old.txt", b"old\n")?;
    let before = bench.snapshot()?;
    for (tool, arguments, method) in calls() {
        let line = Line::impatient(&bench).await?;
        line.faults.plan(Way::ToShell, At::request(method, 1).byte(60), Fault::Hang);
        unavailable(&format!("{tool} into a line that hangs"), &line.call(tool, &arguments).await)?;
        line.faults.kill_orphans().await;
        bench.unchanged(&before, tool)?;
    }
    Ok(())
}

/// The names in the workspace, and which of them are temporary.
fn names(bench: &Bench) -> Result<(Vec<String>, Vec<String>), Broken> {
    let names = bench.world.names(&bench.at(""))?;
    let names = names.into_iter().map(|name| String::from_utf8_lossy(&name).into_owned());
    Ok(names.partition(|name| !name.starts_with(".guard-")))
}

/// Cuts the line at a place of a write of 4 KiB over `old` (or nothing), and claims what has to hold.
async fn cut(bench: &Bench, line: &Line, way: Way, at: At, old: Option<&[u8]>) -> Result<Outcome, Broken> {
    let what = format!("{way:?} {at:?} of {}", if old.is_some() { "a replacement" } else { "a creation" });
    let new = "0123456789abcde\n".repeat(256);
    let _ = bench.world.unlink(&bench.at("file.txt"));
    if let Some(old) = old {
        bench.there("file.txt", old)?;
        let read = line.call("read_file", &json!({ "path": "file.txt" })).await;
        same(&format!("{what}: a read before"), &read.outcome, &Outcome::Done)?;
    } else {
        // What was written by the last one is gone, and the actor is told.
        line.call("stat", &json!({ "path": "file.txt" })).await;
    }
    line.faults.plan(way, at, Fault::Cut);
    let reply = line.call("write_file", &json!({ "path": "file.txt", "content": new })).await;
    same(&format!("{what}: faults to come"), &line.faults.pending(), &0)?;
    // Whatever the old shell does when it wakes up, it does not change what was reported.
    let settled = (bench.snapshot()?, names(bench)?);
    line.faults.orphans_end().await;
    let look = line.call("stat", &json!({ "path": "file.txt" })).await;
    same(&format!("{what}: a look afterwards"), &look.outcome, &Outcome::Done)?;
    let now = bench.world.read(&bench.at("file.txt")).ok();
    match reply.outcome {
        Outcome::Done => same(&format!("{what}: reported as done"), &now.as_deref(), &Some(new.as_bytes()))?,
        Outcome::Refused => {
            same(&format!("{what}: reported as refused ({:?})", reply.refusal), &now.as_deref(), &old)?;
        }
        Outcome::Unknown => {
            return broken(format!("{what}: unknown, though the target can be reached: {:?}", reply.refusal));
        }
    }
    let (_, temps) = names(bench)?;
    let told = format!("{:?} {:?}", reply.receipt, reply.refusal);
    for temp in &temps {
        ensure(told.contains(temp.as_str()), format!("{what}: {temp} is left, and nobody says so: {told}"))?;
        bench.world.unlink(&bench.at(temp))?;
    }
    if reply.outcome == Outcome::Done || old.is_none() {
        same(&format!("{what}: temporary names"), &temps, &Vec::<String>::new())?;
    }
    let after = (bench.snapshot()?, names(bench)?);
    if temps.is_empty() {
        ensure(settled == after, format!("{what}: the old shell changed something after it was settled"))?;
    }
    Ok(reply.outcome)
}

pub(super) async fn a_write_cut_anywhere_is_old_or_new_and_reported_truly(
    bench: Bench,
) -> Result<(), Broken> {
    let line = Line::of(&bench).await?;
    for old in [None, Some(&b"old\n"[..])] {
        // The length of the request and of its reply, from one that is not cut.
        let _ = bench.world.unlink(&bench.at("file.txt"));
        let mut outcomes = Vec::new();
        for byte in [0, 1, 33, 34, 100, 150, 200, 250, 300, 350, 400, 450, 500, 600, 1000, 2000, 3000, 4000] {
            let at = At::request(Method::Commit, 1).byte(byte);
            outcomes.push(cut(&bench, &line, Way::ToShell, at, old).await?);
        }
        for byte in [0, 1, 2, 10, 32, 33, 35, 38, 39] {
            outcomes.push(cut(&bench, &line, Way::ToShell, At::tail(1).byte(byte), old).await?);
        }
        let before = outcomes.iter().filter(|outcome| **outcome == Outcome::Done).count();
        outcomes.push(cut(&bench, &line, Way::ToShell, At::tail(1).end(), old).await?);
        for byte in [0, 1, 20, 33, 34, 60, 100, 150, 200, 250, u64::MAX] {
            let at = At::request(Method::Commit, 1).byte(byte);
            outcomes.push(cut(&bench, &line, Way::FromShell, at, old).await?);
        }
        let done = outcomes.iter().filter(|outcome| **outcome == Outcome::Done).count();
        ensure(before == 0 && done > 5, format!("done before the tail: {before}, and in all: {done}"))?;
    }
    Ok(())
}
