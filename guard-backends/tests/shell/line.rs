//! The line of a session: deadlines, cancellation, reconnection, requests that wait for each other.

use std::sync::Arc;
use std::time::Duration;

use guard_backends::shell::{Process, Shell};
use guard_core::policy::{FileState, Precondition};
use guard_core::port::{
    CommitFailure, CommitId, Fate, FileOps as _, OpError, Settled, TargetId, TransportError,
};
use guard_testkit::rerun::{self, Body};
use guard_testkit::transport::{At, Fault, Faults, Faulty, Way};
use guard_testkit::wrap::Method;

use crate::common::{batch, mkfifo};
use crate::ws::{Ws, is, sh};

fn faulty() -> (Faults, Faulty<Process>) {
    let faults = Faults::new();
    let transport = Faulty::new(sh(), &faults);
    (faults, transport)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_goes_away_cancels_the_reply_and_nothing_else() {
    let (faults, transport) = faulty();
    let ws = Arc::new(Ws::over(transport).await);
    let mut gate = faults.hold_commit();
    let caller = tokio::spawn({
        let ws = Arc::clone(&ws);
        async move { ws.commit(ws.put("new", Precondition::Absent, "ours")).await }
    });
    gate.reached().await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    gate.open();
    // The next request waits for the one that is under way.
    assert!(ws.stat("new").await.unwrap().state.is_regular());
    assert_eq!((ws.read("new"), faults.sessions()), (b"ours".to_vec(), 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_wait_for_the_one_session_in_order() {
    let (faults, transport) = faulty();
    let ws = Arc::new(Ws::over(transport).await);
    let mut tasks = tokio::task::JoinSet::new();
    for nth in 0..20 {
        let ws = Arc::clone(&ws);
        tasks.spawn(async move {
            let name = format!("file {nth}");
            ws.commit(ws.put(&name, Precondition::Absent, name.clone())).await.unwrap();
            assert_eq!(ws.bytes(&name).await, name.as_bytes());
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    assert_eq!(faults.sessions(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_has_as_many_sessions_as_it_may_and_no_more() {
    let (faults, transport) = faulty();
    let ws = Arc::new(Ws::with(transport, |builder| builder.sessions(2)).await);
    ws.write("there", "bytes");
    let mut gate = faults.hold_commit();
    let held = tokio::spawn({
        let ws = Arc::clone(&ws);
        async move { ws.commit(ws.put("new", Precondition::Absent, "ours")).await }
    });
    gate.reached().await;
    // Another session answers meanwhile.
    assert_eq!(ws.stat("new").await.unwrap().state, FileState::Absent);
    assert_eq!(ws.bytes("there").await, b"bytes");
    assert_eq!(faults.sessions(), 2);
    gate.open();
    held.await.unwrap().unwrap();
    for _ in 0..5 {
        assert!(ws.stat("new").await.unwrap().state.is_regular());
    }
    assert_eq!(faults.sessions(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_ended_while_it_was_idle_is_opened_again() {
    let (faults, transport) = faulty();
    let ws = Ws::over(transport).await;
    ws.write("there", "bytes");
    for fault in [Fault::Cut, Fault::Kill] {
        // The line ends behind the reply: whoever asks next does not notice.
        faults.plan(Way::FromShell, At::request(Method::Stat, 1).end(), fault);
        assert!(ws.stat("there").await.unwrap().state.is_regular());
        assert_eq!(ws.bytes("there").await, b"bytes");
        faults.kill_orphans().await;
    }
    assert_eq!(faults.sessions(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_cannot_be_reached_is_tried_so_often_and_then_unavailable() {
    let (faults, transport) = faulty();
    let ws = Ws::with(transport, |builder| builder.reconnect(3, Duration::from_millis(1))).await;
    let unreachable = TransportError::Unreachable { why: "no route".to_owned() };
    // Two failures are made up for by a third attempt.
    let before = faults.starts();
    faults.refuse(2, unreachable.clone());
    faults.plan(Way::ToShell, At::request(Method::Stat, 1), Fault::Cut);
    assert_eq!(ws.stat("x").await.unwrap().state, FileState::Absent);
    assert_eq!(faults.starts() - before, 3);
    faults.refuse_all(unreachable);
    faults.plan(Way::ToShell, At::request(Method::Stat, 1), Fault::Cut);
    let before = faults.starts();
    let Err(OpError::Unavailable { why }) = ws.stat("x").await else { panic!("it was reached") };
    assert!(why.contains("no route"), "{why}");
    assert_eq!(faults.starts() - before, 3);
    faults.accept();
    assert_eq!(ws.stat("x").await.unwrap().state, FileState::Absent);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_reply_is_unknown_only_while_the_target_cannot_be_reached() {
    for applied in [true, false] {
        let (faults, transport) = faulty();
        let ws = Ws::with(transport, |builder| builder.reconnect(2, Duration::from_millis(1))).await;
        // The reply is lost, or the request is: the controller cannot tell.
        let (way, at) = if applied {
            (Way::FromShell, At::request(Method::Commit, 1))
        } else {
            (Way::ToShell, At::tail(1).byte(5))
        };
        faults.plan(way, at, Fault::Cut);
        // The session is open; no other one is to be had.
        faults.refuse_all(TransportError::Unreachable { why: "no route".to_owned() });
        let one = batch(vec![ws.put("new", Precondition::Absent, "ours")]);
        let id: CommitId = one.id.clone();
        let error = ws.shell.commit(one).await.unwrap_err();
        assert_eq!(error.cause, CommitFailure::Op(OpError::OutcomeUnknown { commit: id.clone() }));
        assert_eq!(error.fates, [Fate::Unknown]);
        assert!(matches!(ws.shell.settle(&id).await, Err(OpError::Unavailable { .. })));
        faults.accept();
        let expected = if applied { Settled::APPLIED } else { Settled::NOT_APPLIED };
        assert_eq!(ws.shell.settle(&id).await, Ok(expected.clone()));
        assert_eq!(ws.shell.settle(&id).await, Ok(expected));
        assert_eq!(ws.path("new").exists(), applied);
        assert!(ws.temps().is_empty());
        faults.kill_orphans().await;
        let unknown = CommitId("never-sent".to_owned());
        assert!(matches!(ws.shell.settle(&unknown).await, Err(OpError::Unsupported { .. })));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_on_which_nothing_moves_is_given_up() {
    let (faults, transport) = faulty();
    let quick = Duration::from_millis(300);
    let ws = Ws::with(transport, |builder| builder.progress(quick).reconnect(1, Duration::ZERO)).await;
    ws.write("there", "bytes");
    for way in [Way::ToShell, Way::FromShell] {
        faults.plan(way, At::request(Method::Read, 1).byte(3), Fault::Hang);
        let Err(OpError::Unavailable { why }) = ws.contents("there").await else { panic!("it came through") };
        assert!(why.contains("nothing moved"), "{why}");
        faults.kill_orphans().await;
        assert_eq!(ws.bytes("there").await, b"bytes");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_takes_long_is_no_silence_as_long_as_something_moves() {
    // The deadline is of progress: a body that comes in pieces takes longer than the deadline in all.
    let (faults, transport) = faulty();
    let quick = Duration::from_millis(1500);
    let ws = Arc::new(Ws::with(transport, |builder| builder.progress(quick)).await);
    let changes = (0..400).map(|nth| ws.put(&format!("f{nth}"), Precondition::Absent, "x")).collect();
    ws.shell.commit(batch(changes)).await.unwrap();
    assert_eq!(faults.sessions(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_that_never_says_hello_is_given_up() {
    let silent = Process::program(TargetId::new("silent"), "sh").args(["-c", "read x; sleep 1000", "sh"]);
    let dir = tempfile::tempdir().unwrap();
    mkfifo(&dir.path().join("never"));
    let builder = Shell::builder(Arc::new(silent)).hello(Duration::from_millis(300));
    let error = builder.connect().await.err().unwrap();
    assert!(error.to_string().contains("no shell answered"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_machine_behind_the_same_name_is_refused_and_settles_nothing() {
    if rerun::with_mounts("line::another_machine_behind_the_same_name_is_refused_and_settles_nothing")
        == Body::Done
    {
        return;
    }
    // The second session is on a machine with another id.
    let other = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(other.path(), "00000000000000000000000000000001\n").unwrap();
    let switch = tempfile::tempdir().unwrap();
    let flag = switch.path().join("other");
    let script = format!(
        "if [ -e '{}' ]; then mount --bind '{}' /etc/machine-id; fi; eval \"$1\"",
        flag.display(),
        other.path().display()
    );
    if !std::path::Path::new("/etc/machine-id").exists() {
        println!("this machine has no id");
        return;
    }
    let process =
        Process::program(TargetId::new("m"), "unshare").args(["--mount", "sh", "-c", &script, "sh"]);
    let faults = Faults::new();
    let ws = Ws::over(Faulty::new(process, &faults)).await;
    ws.write("there", "bytes");
    std::fs::write(&flag, "").unwrap();
    faults.plan(Way::FromShell, At::request(Method::Commit, 1), Fault::Cut);
    let one = batch(vec![ws.put("there", is("bytes"), "new")]);
    let id = one.id.clone();
    let error = ws.shell.commit(one).await.unwrap_err();
    assert_eq!(error.cause, CommitFailure::Op(OpError::OutcomeUnknown { commit: id.clone() }));
    assert_eq!(ws.stat("there").await, Err(OpError::TargetChanged));
    assert_eq!(ws.shell.settle(&id).await, Err(OpError::TargetChanged));
    // Back on the first machine it is found out.
    std::fs::remove_file(&flag).unwrap();
    assert_eq!(ws.shell.settle(&id).await, Ok(Settled::APPLIED));
    faults.kill_orphans().await;
}
