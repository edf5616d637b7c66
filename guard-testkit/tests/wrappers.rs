//! Wrapper tools stop, fail and kill at the call that was chosen, and are the real tools at every other.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail the test")]
#![allow(clippy::disallowed_methods, reason = "the tests look at files of their own")]

use std::path::Path;

use guard_backends::shell::Process;
use guard_core::port::{Session, TargetId, Transport as _};
use guard_testkit::skip::{self, Need};
use guard_testkit::transport::{Call, Called, Deed, Wrappers, busybox_tools};
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;

/// Starts a script in a directory, with the wrappers first on its `PATH`.
async fn start(wrappers: &Wrappers, at: &Path, script: &str) -> Session {
    let process = Process::shell(TargetId::new("here")).env("PATH", wrappers.path());
    process.start(&format!("cd '{}' && {{ {script}\n}}", at.display())).await.unwrap()
}

struct Ended {
    output: String,
    errors: String,
    status: String,
}

async fn end(mut session: Session) -> Ended {
    drop(session.input);
    let (mut output, mut errors) = (String::new(), String::new());
    session.output.read_to_string(&mut output).await.unwrap();
    session.errors.unwrap().read_to_string(&mut errors).await.unwrap();
    Ended { output, errors, status: session.end.status().await.unwrap() }
}

fn ground() -> (Wrappers, TempDir) {
    (Wrappers::new().unwrap(), tempfile::tempdir().unwrap())
}

fn there(at: &TempDir, name: &str) -> bool {
    at.path().join(name).try_exists().unwrap()
}

#[tokio::test]
async fn calls_are_logged_in_order_and_the_real_tools_do_their_work() {
    let (wrappers, at) = ground();
    for tool in ["mkdir", "dd", "rm"] {
        wrappers.wrap(tool).unwrap();
    }
    let script =
        "mkdir ./a ./'b\nc'; cd ./a; echo bytes | dd bs=5 count=1 2>/dev/null; rm -- ../absent; touch x";
    let ended = end(start(&wrappers, at.path(), script).await).await;
    assert_eq!((ended.output.as_str(), ended.status.as_str()), ("bytes", "exit status: 0"));
    assert!(ended.errors.contains("No such file"), "{}", ended.errors);
    let here = at.path().to_str().unwrap();
    let called = |tool: &str, directory: String, args: &[&str]| Called {
        tool: tool.into(),
        directory: directory.into_bytes(),
        args: args.iter().map(|arg| arg.as_bytes().to_vec()).collect(),
    };
    assert_eq!(
        wrappers.calls().unwrap(),
        [
            called("mkdir", here.to_owned(), &["./a", "./b\nc"]),
            called("dd", format!("{here}/a"), &["bs=5", "count=1"]),
            called("rm", format!("{here}/a"), &["--", "../absent"]),
        ]
    );
}

#[tokio::test]
async fn the_chosen_call_fails_and_no_other() {
    let (wrappers, at) = ground();
    wrappers
        .plan(Call::of("mkdir").nth(2), Deed::fail("mkdir: cannot create: No space left on device", 1))
        .unwrap();
    wrappers.plan(Call::of("touch").every().with("*that*"), Deed::fail("it's full", 7)).unwrap();
    wrappers.plan(Call::of("cp").after(), Deed::fail("", 0)).unwrap();
    let script = "mkdir a; mkdir b; echo $?; mkdir c; touch this that; echo $?; touch this; touch that; cp none x; echo $?";
    let ended = end(start(&wrappers, at.path(), script).await).await;
    assert_eq!(ended.output, "1\n7\n0\n");
    assert!(
        ended.errors.starts_with("mkdir: cannot create: No space left on device\nit's full\nit's full\n")
    );
    let made = ["a", "b", "c", "this", "that", "x"].map(|name| there(&at, name));
    assert_eq!(made, [true, false, true, true, false, false]);
    // What is counted from now on begins with one.
    wrappers.plan(Call::of("mkdir"), Deed::fail("again", 1)).unwrap();
    assert_eq!(end(start(&wrappers, at.path(), "mkdir d; mkdir e").await).await.errors, "again\n");
    assert!(!there(&at, "d") && there(&at, "e"));
}

#[tokio::test]
async fn a_held_call_waits_for_its_gate_before_or_after_the_real_tool() {
    let (wrappers, at) = ground();
    let mut before = wrappers.hold(Call::of("mkdir").nth(2)).unwrap();
    let mut after = wrappers.hold(Call::of("mkdir").nth(3).after()).unwrap();
    let never = wrappers.hold(Call::of("mkdir").nth(9)).unwrap();
    let session = start(&wrappers, at.path(), "mkdir a; mkdir b; mkdir c; mkdir d").await;
    before.reached().await;
    assert!(there(&at, "a") && !there(&at, "b"));
    before.open();
    after.reached().await;
    assert!(there(&at, "c") && !there(&at, "d"));
    drop(after);
    assert_eq!(end(session).await.status, "exit status: 0");
    assert!(there(&at, "d"));
    // A gate may outlive the wrappers: their threads have ended.
    drop(wrappers);
    drop(never);
}

#[tokio::test]
async fn a_killed_shell_does_nothing_more_though_its_tool_goes_on() {
    for after in [false, true] {
        let (wrappers, at) = ground();
        let call = Call::of("mkdir").with("b");
        wrappers.plan(if after { call.after() } else { call }, Deed::KillShell).unwrap();
        // Killed is not the subshell alone. The output is over when the tool, too, has ended.
        let script = "mkdir a; x=$(mkdir b; mkdir c); mkdir d";
        assert_eq!(end(start(&wrappers, at.path(), script).await).await.status, "signal: 9 (SIGKILL)");
        assert_eq!(["a", "b", "c", "d"].map(|name| there(&at, name)), [true, true, false, false], "{after}");
    }
}

#[tokio::test]
async fn a_command_is_run_at_the_chosen_call_and_is_not_heard() {
    let (wrappers, at) = ground();
    let intruder = "echo loud; echo theirs > \"file\"; mkdir 'not counted'";
    wrappers.plan(Call::of("ln").nth(1), Deed::Run(intruder.into())).unwrap();
    wrappers.wrap("mkdir").unwrap();
    let ended = end(start(&wrappers, at.path(), "echo ours > new; ln new file; cat file").await).await;
    assert_eq!(ended.output, "theirs\n");
    assert!(there(&at, "not counted"));
    assert_eq!(wrappers.calls().unwrap().len(), 1);
}

/// Many calls at once have a number each, and one of them is the chosen one.
#[tokio::test]
async fn calls_at_once_are_counted_each() {
    let (wrappers, at) = ground();
    wrappers.plan(Call::of("mkdir").nth(10), Deed::fail("", 1)).unwrap();
    let script = "n=0; while [ $n -lt 40 ]; do n=$((n + 1)); mkdir $n 2>/dev/null & done; wait";
    assert_eq!(end(start(&wrappers, at.path(), script).await).await.status, "exit status: 0");
    assert_eq!(std::fs::read_dir(at.path()).unwrap().count(), 39);
    assert_eq!(wrappers.calls().unwrap().len(), 40);
}

#[tokio::test]
async fn tools_of_another_path_are_wrapped_as_they_are() {
    if skip::unless(Need::BusyBox, "tools_of_another_path_are_wrapped_as_they_are") {
        return;
    }
    let applets = busybox_tools().unwrap();
    let wrappers = Wrappers::over(applets.directory()).unwrap();
    wrappers.wrap("stat").unwrap();
    let at = tempfile::tempdir().unwrap();
    let ended = end(start(&wrappers, at.path(), "stat --help 2>&1 | head -n 1").await).await;
    assert!(ended.output.starts_with("BusyBox"), "{}", ended.output);
    let error = wrappers.wrap("perl").unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}
