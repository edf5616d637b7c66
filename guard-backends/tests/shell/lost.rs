//! Replies that are lost on several sessions at once, or whose shell cannot be ended; and what is left behind.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use guard_backends::shell::Feature;
use guard_core::policy::Precondition;
use guard_core::port::{
    Change, CommitError, CommitFailure, Committed, Fate, FileOps as _, OpError, Settled, TransportError,
};
use guard_testkit::transport::{At, Call, Fault, Faults, Faulty, Way, Wrappers};
use guard_testkit::wrap::Method;

use crate::common::batch;
use crate::ws::{Ws, is, sh};

#[tokio::test(flavor = "multi_thread")]
async fn commits_whose_replies_are_lost_at_once_on_several_sessions_are_each_settled() {
    const COUNT: u64 = 6;
    let faults = Faults::new();
    let ws = Arc::new(Ws::with(Faulty::new(sh(), &faults), |builder| builder.sessions(COUNT as usize)).await);
    // All of them are under way before the first is lost: of one half the reply, of the other a part of the tail.
    let mut gates = Vec::new();
    for nth in 1..=COUNT {
        gates.push(faults.hold(Way::ToShell, At::tail(nth)));
        if nth % 2 == 0 {
            faults.plan(Way::FromShell, At::request(Method::Commit, nth), Fault::Cut);
        } else {
            faults.plan(Way::ToShell, At::tail(nth).byte(5), Fault::Cut);
        }
    }
    let commits: Vec<_> = (0..COUNT)
        .map(|nth| {
            let ws = Arc::clone(&ws);
            tokio::spawn(async move {
                let name = format!("file {nth}");
                let one = batch(vec![ws.put(&name, Precondition::Absent, name.clone())]);
                let id = one.id.clone();
                (name, id, ws.shell.commit(one).await)
            })
        })
        .collect();
    for gate in &mut gates {
        gate.reached().await;
    }
    assert_eq!(faults.sessions(), COUNT);
    drop(gates);
    let mut applied = 0;
    for commit in commits {
        let (name, id, outcome) = commit.await.unwrap();
        let is_applied = outcome.is_ok();
        match outcome {
            Ok(done) => {
                assert!(done.settled, "{name}: its reply was not lost");
                assert_eq!(ws.read(&name), name.as_bytes());
                applied += 1;
            }
            Err(error) => {
                assert!(matches!(error.cause, CommitFailure::Op(OpError::Unavailable { .. })), "{error:?}");
                assert_eq!(error.fates, [Fate::Untouched], "{name}");
                assert!(!ws.path(&name).exists(), "{name}");
            }
        }
        let expected = if is_applied { Settled::APPLIED } else { Settled::NOT_APPLIED };
        assert_eq!(ws.shell.settle(&id).await, Ok(expected), "{name}");
    }
    assert_eq!((applied, faults.pending()), (COUNT / 2, 0));
    assert_eq!(ws.tree().len() as u64, COUNT / 2);
    faults.kill_orphans().await;
}

/// Where the old shell stands when its line is lost.
struct Stand {
    tool: &'static str,
    nth: u64,
    after: bool,
}

impl std::fmt::Display for Stand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let when = if self.after { "after" } else { "before" };
        write!(f, "{when} call {} of {}", self.nth, self.tool)
    }
}

fn texts(outcome: &Result<Committed, CommitError>) -> String {
    let (left, fates) = match outcome {
        Ok(done) => (done.changes.iter().flat_map(|change| change.left.clone()).collect(), Vec::new()),
        Err(error) => (Vec::new(), error.fates.clone()),
    };
    format!("{left:?} {fates:?}")
}

/// What a directory holds under ordinary names.
fn ordinary(ws: &Ws) -> Vec<(String, Vec<u8>)> {
    let names = ws.tree().into_keys().filter(|name| ws.path(name).is_file() && !name.contains(".guard-"));
    names.map(|name| (name.clone(), ws.read(&name))).collect()
}

/// The old shell of a lost commit cannot be ended (there is no /proc that would tell that it is ours): it goes on
/// after the commit was settled, from wherever it stood, and nothing that it does makes untrue what was told.
#[tokio::test(flavor = "multi_thread")]
async fn a_shell_that_cannot_be_ended_makes_nothing_untrue_that_was_told() {
    let tools = ["dd", "sha256sum", "link", "perl", "mv", "rm"];
    let wrappers = Wrappers::new().unwrap();
    for tool in tools {
        wrappers.wrap(tool).unwrap();
    }
    let changes: [(&str, fn(&Ws) -> Change); 4] = [
        ("create", |ws| ws.put("made", Precondition::Absent, "new")),
        ("replace", |ws| ws.put("there", is("old"), "new")),
        ("remove", |ws| ws.remove("there", is("old"))),
        ("move", |ws| ws.move_to("there", is("old"), "moved")),
    ];
    let (mut applied, mut not_applied) = (0, 0);
    for (what, change) in changes {
        let calls = calls_of(&wrappers, change).await;
        for tool in tools {
            for nth in 1..=calls.iter().filter(|called| *called == tool).count() as u64 {
                // What a tool did that changes no name is all the same to whoever settles.
                let is_publisher = matches!(tool, "link" | "perl" | "mv");
                for after in if is_publisher { &[false, true][..] } else { &[false] } {
                    let after = *after;
                    let stand = Stand { tool, nth, after };
                    let faults = Faults::new();
                    let transport = Faulty::new(sh().env("PATH", wrappers.path()), &faults);
                    let ws = Ws::with(transport, |builder| builder.danger_without(Feature::Proc)).await;
                    ws.write("there", "old");
                    ws.stat("there").await.unwrap();
                    let old = ordinary(&ws);
                    let call = Call::of(tool).nth(nth);
                    let mut gate = wrappers.hold(if after { call.after() } else { call }).unwrap();
                    let mut start = faults.hold_start();
                    faults.plan(Way::ToShell, At::tail(1).end(), Fault::Cut);
                    let ws = Arc::new(ws);
                    let commit = tokio::spawn({
                        let ws = Arc::clone(&ws);
                        async move { ws.shell.commit(batch(vec![change(&ws)])).await }
                    });
                    // The old shell stands there, the line is lost, and then it is settled.
                    gate.reached().await;
                    start.reached().await;
                    drop(start);
                    let told = commit.await.unwrap();
                    let at_once = ordinary(&ws);
                    drop(gate);
                    faults.orphans_end().await;
                    let later = ordinary(&ws);
                    let case = format!("{what} {stand}: {told:?}, then {later:?}");
                    assert_eq!(at_once, later, "it was changed later: {case}");
                    match &told {
                        Ok(done) => {
                            assert!(done.settled, "{case}");
                            assert_eq!(later, new(what), "{case}");
                            applied += 1;
                        }
                        Err(error)
                            if matches!(error.cause, CommitFailure::Op(OpError::Unavailable { .. })) =>
                        {
                            assert_eq!(later, old, "{case}");
                            not_applied += 1;
                        }
                        Err(error) => panic!("it could be found out: {error:?}, {case}"),
                    }
                    for name in ws.temps() {
                        assert!(texts(&told).contains(&name), "{name} is not told: {case}");
                    }
                }
            }
        }
    }
    println!("{applied} were in effect, {not_applied} were not");
    assert!(applied > 0 && not_applied > 0);
}

fn new(what: &str) -> Vec<(String, Vec<u8>)> {
    let files: &[(&str, &str)] = match what {
        "create" => &[("made", "new"), ("there", "old")],
        "replace" => &[("there", "new")],
        "remove" => &[],
        _ => &[("moved", "old")],
    };
    files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.as_bytes().to_vec())).collect()
}

/// Returns the tools that a commit calls, in order.
async fn calls_of(wrappers: &Wrappers, change: fn(&Ws) -> Change) -> Vec<String> {
    let ws =
        Ws::with(sh().env("PATH", wrappers.path()), |builder| builder.danger_without(Feature::Proc)).await;
    ws.write("there", "old");
    ws.stat("there").await.unwrap();
    let before = wrappers.calls().unwrap().len();
    ws.commit(change(&ws)).await.unwrap();
    wrappers.calls().unwrap().split_off(before).into_iter().map(|call| call.tool).collect()
}

/// Another writer wrote to what was taken away before it was removed, and made something else at the name: the bytes
/// stay, and whoever settles is told where.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_left_after_a_lost_reply_is_told_at_once_or_when_it_is_settled() {
    for is_reachable in [true, false] {
        let wrappers = Wrappers::new().unwrap();
        wrappers.wrap("rm").unwrap();
        let faults = Faults::new();
        let transport = Faulty::new(sh().env("PATH", wrappers.path()), &faults);
        let ws =
            Arc::new(Ws::with(transport, |builder| builder.reconnect(1, Duration::from_millis(1))).await);
        ws.write("there", "old");
        let mut gate = wrappers.hold(Call::of("rm")).unwrap();
        faults.plan(Way::ToShell, At::tail(1).end(), Fault::Cut);
        let start = is_reachable.then(|| faults.hold_start());
        if !is_reachable {
            faults.refuse_all(TransportError::Unreachable { why: "no route".to_owned() });
        }
        let one = batch(vec![ws.remove("there", is("old"))]);
        let id = one.id.clone();
        let commit = tokio::spawn({
            let ws = Arc::clone(&ws);
            async move { ws.shell.commit(one).await }
        });
        // It is renamed aside, and about to be removed.
        gate.reached().await;
        assert!(!ws.path("there").exists());
        let [aside] = &ws.temps()[..] else { panic!("{:?}", ws.temps()) };
        ws.write(aside, "another writer's");
        ws.write("there", "a third one's");
        let left = if let Some(mut start) = start {
            start.reached().await;
            start.open();
            let error = commit.await.unwrap().unwrap_err();
            error.fates
        } else {
            let error = commit.await.unwrap().unwrap_err();
            assert_eq!(error.cause, CommitFailure::Op(OpError::OutcomeUnknown { commit: id.clone() }));
            faults.accept();
            match ws.shell.settle(&id).await {
                Ok(Settled::Conflict { fates }) => fates,
                other => panic!("{other:?}"),
            }
        };
        let [Fate::Left { what }] = &left[..] else { panic!("{left:?}") };
        // It may have got another name; whatever it is called, it is said.
        let [name] = &ws.temps()[..] else { panic!("{:?}", ws.temps()) };
        assert!(what.contains(name.as_str()), "{name} is not in {what:?}");
        let holds = || (ws.read(name), ws.read("there"));
        assert_eq!(holds(), (b"another writer's".to_vec(), b"a third one's".to_vec()));
        // The answer stays what it was, and so does what is there.
        assert_eq!(ws.shell.settle(&id).await, Ok(Settled::Conflict { fates: left }));
        drop(gate);
        faults.orphans_end().await;
        assert_eq!(holds(), (b"another writer's".to_vec(), b"a third one's".to_vec()));
    }
}

/// What became of a commit is told by the directory that it was sent to. In another one nothing tells, and nothing is
/// touched.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_root_is_another_directory_by_then_stays_unknown_and_nothing_is_touched() {
    for is_replaced in [false, true] {
        let faults = Faults::new();
        let transport = Faulty::new(sh(), &faults);
        let ws = Ws::with(transport, |builder| builder.reconnect(1, Duration::from_millis(1))).await;
        ws.write("there", "old");
        faults.plan(Way::ToShell, At::tail(1).end(), Fault::Cut);
        faults.refuse_all(TransportError::Unreachable { why: "no route".to_owned() });
        let changes = batch(vec![ws.put("new", Precondition::Absent, "ours"), ws.remove("there", is("old"))]);
        let id = changes.id.clone();
        let error = ws.shell.commit(changes).await.unwrap_err();
        assert_eq!(error.cause, CommitFailure::Op(OpError::OutcomeUnknown { commit: id.clone() }));
        faults.orphans_end().await;
        assert!(ws.path("new").exists() && !ws.path("there").exists(), "it is in effect");
        let root = ws.path("new").parent().unwrap().to_owned();
        let away = root.with_extension("away");
        if is_replaced {
            // By what is here, the creation was not done and the removal was.
            fs::rename(&root, &away).unwrap();
            fs::create_dir(&root).unwrap();
            ws.write("other", "theirs");
        }
        faults.accept();
        let settled = ws.shell.settle(&id).await;
        if is_replaced {
            let fates = vec![Fate::Unknown; 2];
            assert_eq!(settled, Ok(Settled::Conflict { fates }));
            let names: Vec<_> =
                fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!(names, ["other"]);
            assert_eq!(fs::read(away.join("new")).unwrap(), b"ours");
            fs::remove_dir_all(&away).unwrap();
        } else {
            assert_eq!(settled, Ok(Settled::APPLIED));
        }
    }
}
