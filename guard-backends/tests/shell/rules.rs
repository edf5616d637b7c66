//! The rules of a session over a byte stream to a shell, each with a test that fails when it is broken.

use std::fs;
use std::path::Path;

use guard_backends::shell::Process;
use guard_core::policy::{FileState, Precondition};
use guard_core::port::{CommitFailure, Fate, FileOps as _, OpError, RootSpec};
use guard_testkit::transport::{At, Call, Deed, Fault, Faults, Faulty, Way, Wrappers};
use guard_testkit::wrap::Method;

use crate::common::{chmod, mismatch};
use crate::ws::{Ws, is, regular, sh};

fn wrapped(wrappers: &Wrappers) -> Process {
    sh().env("PATH", wrappers.path())
}

/// Rule 1: only a record with this session's nonce and this request's number is a result.
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_is_not_whole_and_ours_is_no_answer() {
    let faults = Faults::new();
    let ws =
        Ws::with(Faulty::new(sh(), &faults), |builder| builder.reconnect(1, std::time::Duration::ZERO)).await;
    ws.write("there", "bytes");
    chmod(&ws.path("there"), 0o644);
    // In the nonce, at the request's number, in the kind, in the length of the path, and in the path.
    let head = ws.target("there").as_str().len().to_string().len() + 42;
    for byte in [0, 1, 20, 31, 32, 33, 34, 35, 39, 40, head - 1, head + 5] {
        for fault in [
            Fault::Cut,
            Fault::End,
            Fault::Kill,
            Fault::Garble(1),
            Fault::Skip(1),
            Fault::Repeat(7),
            Fault::Insert(b"sh: not found\n".to_vec()),
            Fault::Insert(b"\n".to_vec()),
        ] {
            let at = At::request(Method::Stat, 1).byte(byte as u64);
            faults.plan(Way::FromShell, at, fault.clone());
            let sessions = faults.sessions();
            let answer = ws.stat("there").await;
            assert_eq!(faults.pending(), 0, "{fault:?} at {byte}");
            match &answer {
                // Nothing of an answer had come when the session ended: it is asked once more.
                Ok(found) if byte == 0 && matches!(fault, Fault::Cut | Fault::End | Fault::Kill) => {
                    assert_eq!(found.state, regular(b"bytes", 0o644));
                    assert_eq!(faults.sessions(), sessions + 1);
                }
                Err(OpError::Unavailable { .. }) if byte > 0 || !matches!(fault, Fault::Cut) => {}
                // A byte of the path that became another one: a path that is none.
                Err(OpError::Unsupported { .. }) if byte > head && fault == Fault::Garble(1) => {}
                other => panic!("{fault:?} at {byte}: {other:?}"),
            }
            faults.kill_orphans().await;
        }
    }
    // Another digit, where a digit is: the reply to another request.
    for digit in *b"0234567891" {
        let at = At::request(Method::Stat, 1).byte(33);
        faults.plan(Way::FromShell, at, Fault::Insert(vec![digit]));
        faults.plan(Way::FromShell, at, Fault::Skip(1));
        // The session before is broken, so that it is the first request of its own.
        let answer = ws.stat("there").await;
        assert_eq!(faults.pending(), 0);
        match answer {
            Ok(found) if digit == b'1' => assert_eq!(found.state, regular(b"bytes", 0o644)),
            Err(OpError::Unavailable { why }) if digit != b'1' => {
                assert!(why.contains("a reply to request"), "{why}");
            }
            other => panic!("{}: {other:?}", char::from(digit)),
        }
    }
    // A file that looks like a reply is a file.
    let fake = "0123456789abcdef0123456789abcdef 2 end\n\n0123456789abcdef0123456789abcdef 2 found 1:x\n";
    ws.write("fake", fake);
    assert_eq!(ws.bytes("fake").await, fake.as_bytes());
}

/// Rule 2: a request that was sent is never "not applied" because nothing came back.
#[tokio::test(flavor = "multi_thread")]
async fn a_shell_that_is_stopped_after_the_tail_is_not_reported_as_if_nothing_had_happened() {
    let wrappers = Wrappers::new().unwrap();
    for tool in ["link", "rm"] {
        wrappers.wrap(tool).unwrap();
    }
    let patient = std::time::Duration::from_millis(700);
    for (tool, applied) in [("link", false), ("rm", true)] {
        let ws = Ws::with(wrapped(&wrappers), |builder| builder.progress(patient)).await;
        let gate = wrappers.hold(Call::of(tool)).unwrap();
        let done = ws.commit(ws.put("new", Precondition::Absent, "ours")).await;
        // The line was silent for too long; the next session found out, and ended the old shell.
        match done {
            Ok(done) => assert!(applied && done.after.is_regular(), "{tool}: {done:?}"),
            Err(error) => {
                assert!(!applied, "{tool}: {error:?}");
                assert!(matches!(error.cause, CommitFailure::Op(OpError::Unavailable { .. })), "{error:?}");
                assert_eq!(error.fates, [Fate::Untouched]);
            }
        }
        let settled = ws.tree();
        drop(gate);
        assert_eq!(ws.stat("new").await.unwrap().state.is_regular(), applied);
        assert_eq!(ws.tree(), settled, "{tool}: the old shell changed something after it was settled");
        assert!(ws.temps().is_empty());
    }
}

/// Rule 3: the bytes of a body never reach the command parser.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_is_never_a_command() {
    let wrappers = Wrappers::new().unwrap();
    wrappers.wrap("dd").unwrap();
    let faults = Faults::new();
    let ws = Ws::over(Faulty::new(wrapped(&wrappers), &faults)).await;
    // The first commit of a session tries its tools.
    ws.commit(ws.put("first", Precondition::Absent, "x")).await.unwrap();
    let mark = ws.path("mark");
    let command = format!(": > {}\n", mark.display());
    let bodies: [Vec<u8>; 3] = [
        command.repeat(40).into_bytes(),
        // Larger than any pipe.
        command.repeat(200_000 / command.len()).into_bytes(),
        format!("x|1|commit|0|0|t||.\n{command}").repeat(3).into_bytes(),
    ];
    for body in &bodies {
        // A reader that dies before it has read a byte, or after.
        for call in [Call::of("dd"), Call::of("dd").after()] {
            wrappers.plan(call, Deed::fail("dd: error writing: No space left on device", 1)).unwrap();
            let error = ws.commit(ws.put("new", Precondition::Absent, body.clone())).await.err();
            // Whatever it made of it, it says so: no space, or a session that ended and was settled.
            let error = error.expect("the body was not staged");
            assert!(
                matches!(
                    error.cause,
                    CommitFailure::Op(OpError::NoSpace | OpError::Unavailable { .. })
                        | CommitFailure::ContentMismatch
                ),
                "{error:?}"
            );
            assert!(!mark.exists(), "a body was run");
            assert_eq!(ws.stat("new").await.unwrap().state, FileState::Absent);
            assert!(ws.temps().is_empty());
        }
        // A body that is longer or shorter on the line than it was announced.
        for fault in [Fault::Insert(command.clone().into_bytes()), Fault::Skip(30), Fault::Repeat(50)] {
            // In the body, or in the record of a short one.
            let at = At::request(Method::Commit, 1).byte(if body.len() > 900 { 900 } else { 350 });
            faults.plan(Way::ToShell, at, fault);
            let outcome = ws.commit(ws.put("new", Precondition::Absent, body.clone())).await;
            assert!(outcome.is_err(), "{outcome:?}");
            assert!(!mark.exists(), "a body was run");
            faults.kill_orphans().await;
            assert_eq!(ws.stat("new").await.unwrap().state, FileState::Absent);
        }
    }
    ws.commit(ws.put("new", Precondition::Absent, bodies[1].clone())).await.unwrap();
    assert_eq!(ws.read("new"), bodies[1]);
}

/// Rule 4, to the target: what is staged is checked before it is published.
#[tokio::test(flavor = "multi_thread")]
async fn staged_bytes_that_are_not_those_announced_are_never_published() {
    let wrappers = Wrappers::new().unwrap();
    wrappers.wrap("dd").unwrap();
    let ws = Ws::over(wrapped(&wrappers)).await;
    // The first commit of a session tries its tools.
    ws.commit(ws.put("first", Precondition::Absent, "x")).await.unwrap();
    ws.write("old", "old");
    for harm in ["for f in .guard-*; do printf x >> $f; done", "for f in .guard-*; do : > $f; done"] {
        for change in [ws.put("new", Precondition::Absent, "new"), ws.put("old", is("old"), "new")] {
            wrappers.plan(Call::of("dd").after(), Deed::Run(harm.to_owned())).unwrap();
            let error = ws.commit(change).await.unwrap_err();
            assert_eq!(error.cause, CommitFailure::ContentMismatch, "{harm}");
            assert_eq!(ws.read("old"), b"old");
            assert!(!ws.path("new").exists());
        }
    }
}

/// Rule 6: a directory is held and compared by what the shell has it for, never by what a substitution printed.
#[tokio::test(flavor = "multi_thread")]
async fn directories_whose_names_end_in_newlines_or_look_like_options_are_told_apart() {
    let ws = Ws::new().await;
    for name in ["a", "a\n", "a\n\n", "-", "-P", "--", "~", "*", " ", "$HOME", "`x`", "a\\b", "a'b", "+1"] {
        ws.mkdir(name);
        ws.write(&format!("{name}/which"), name);
    }
    for name in ["a", "a\n", "a\n\n", "-", "-P", "--", "~", "*", " ", "$HOME", "`x`", "a\\b", "a'b", "+1"] {
        assert_eq!(ws.bytes(&format!("{name}/which")).await, name.as_bytes(), "{name:?}");
        let done = ws.commit(ws.put(&format!("{name}/new"), Precondition::Absent, name)).await.unwrap();
        assert_eq!(done.resolved, ws.target(&format!("{name}/new")));
        assert_eq!(ws.read(&format!("{name}/new")), name.as_bytes(), "{name:?}");
    }
    // A link to the sibling is no way into the directory that has almost the same name.
    ws.link("a\n", "link");
    assert_eq!(ws.stat("link/which").await.unwrap().resolved, ws.target("a\n/which"));
    // As a root too.
    let spec = RootSpec { path: ws.target("a\n") };
    assert_eq!(ws.shell.open_root(&spec).await.unwrap().path, spec.path);
}

/// Rule 8: directories are made one at a time, and entered with a comparison.
#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_becomes_a_link_while_parents_are_made_leads_nowhere() {
    let wrappers = Wrappers::new().unwrap();
    wrappers.wrap("mkdir").unwrap();
    for nth in [1, 2] {
        let ws = Ws::over(wrapped(&wrappers)).await;
        let outside = tempfile::tempdir().unwrap();
        let victim = if nth == 1 { "a" } else { "b" };
        let swap = format!("mv {victim} {victim}.away && ln -s '{}' {victim}", outside.path().display());
        wrappers.plan(Call::of("mkdir").nth(nth).after(), Deed::Run(swap)).unwrap();
        let outcome = ws.commit(ws.put("a/b/c/new", Precondition::Absent, "ours")).await;
        assert!(outcome.is_err(), "{outcome:?}");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0, "something was made outside");
    }
}

/// Runs what another process does right before or after names are exchanged.
async fn at_the_exchange(
    after: bool,
    deed: impl Fn(&Ws) -> String,
    judge: impl Fn(&Ws, Result<(), FileState>),
) {
    let wrappers = Wrappers::new().unwrap();
    for tool in ["perl", "mv", "exch"] {
        // What this machine does not have is not wrapped.
        let _ = wrappers.wrap(tool);
    }
    let ws = Ws::over(wrapped(&wrappers)).await;
    let tool = match ws.shell.hello().get("exchange") {
        Some("perl") => "perl",
        Some("exch") => "exch",
        Some("mv") => "mv",
        other => {
            println!("names are not exchanged here: {other:?}");
            return;
        }
    };
    ws.write("file", "old");
    let call = if after { Call::of(tool).after() } else { Call::of(tool) };
    wrappers.plan(call, Deed::Run(deed(&ws))).unwrap();
    let outcome = ws.commit(ws.put("file", is("old"), "new")).await;
    judge(&ws, outcome.map(|_| ()).map_err(|error| mismatch(&error)));
    assert!(ws.temps().is_empty(), "{:?}", ws.temps());
}

/// Rule 9: the type comes before the digest, and the same inode is not the same content.
#[tokio::test(flavor = "multi_thread")]
async fn what_comes_out_of_a_name_is_judged_by_type_and_content() {
    // A link to identical bytes.
    at_the_exchange(
        false,
        |_| "printf old > twin && rm file && ln -s twin file".to_owned(),
        |ws, outcome| {
            assert_eq!(outcome, Err(FileState::Link { text: "twin".to_owned() }));
            assert_eq!(fs::read_link(ws.path("file")).unwrap(), Path::new("twin"));
            assert_eq!(ws.read("twin"), b"old");
        },
    )
    .await;
    // A directory.
    at_the_exchange(
        false,
        |_| "rm file && mkdir file && echo x > file/inside".to_owned(),
        |ws, outcome| {
            assert_eq!(outcome, Err(FileState::Directory));
            assert_eq!(ws.read("file/inside"), b"x\n");
        },
    )
    .await;
    // The same inode with other bytes.
    at_the_exchange(
        false,
        |_| "printf newer > file".to_owned(),
        |ws, outcome| {
            let found = outcome.unwrap_err();
            assert_eq!(found.digest(), Some(guard_core::policy::Digest::of(b"newer")));
            assert_eq!(ws.read("file"), b"newer");
        },
    )
    .await;
    // Another file, renamed over.
    at_the_exchange(
        false,
        |_| "printf other > t && mv t file".to_owned(),
        |ws, outcome| {
            assert!(outcome.is_err());
            assert_eq!(ws.read("file"), b"other");
        },
    )
    .await;
    // Nothing at all.
    at_the_exchange(
        false,
        |_| "rm file".to_owned(),
        |ws, outcome| {
            assert_eq!(outcome, Err(FileState::Absent));
            assert!(!ws.path("file").exists());
        },
    )
    .await;
    // Another writer's bytes in our inode, as soon as it has the name: they stay.
    at_the_exchange(
        true,
        |_| "printf later > file".to_owned(),
        |ws, outcome| {
            assert_eq!(outcome, Ok(()));
            assert_eq!(ws.read("file"), b"later");
        },
    )
    .await;
}

/// The control of all of it: with the obvious way the bytes are lost.
#[test]
fn control_checking_first_and_renaming_then_loses_the_other_writers_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("file"), "old").unwrap();
    let script = "test \"$(cat file)\" = old && printf newer > file && printf new > t && mv t file";
    let status =
        std::process::Command::new("sh").args(["-c", script]).current_dir(dir.path()).status().unwrap();
    assert!(status.success());
    assert_eq!(fs::read(at("file")).unwrap(), b"new");
}
