//! Hostile surroundings: what a user's files and variables do to a shell, and what they must not do to a session.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use guard_backends::shell::{Process, Shell};
use guard_core::policy::{Fact, FileState, Precondition};
use guard_core::port::{FileOps as _, TargetId};

use guard_testkit::skip;
use guard_testkit::transport::Login;

use crate::common;
use crate::ws::{Ws, is, sh};

/// Creates, replaces, reads, lists and removes, and claims each outcome.
async fn works(ws: &Ws) {
    ws.commit(ws.put("d/new -n", Precondition::Absent, "one\n")).await.unwrap();
    assert_eq!(ws.bytes("d/new -n").await, b"one\n");
    ws.commit(ws.put("d/new -n", is("one\n"), "two\n")).await.unwrap();
    assert_eq!(ws.read("d/new -n"), b"two\n");
    ws.commit(ws.move_to("d/new -n", is("two\n"), "e/*")).await.unwrap();
    let page = guard_core::port::Page { after: None, limit: 10 };
    let names: Vec<String> = ws
        .shell
        .list(&ws.ask("e"), &page)
        .await
        .unwrap()
        .entries
        .into_iter()
        .map(|entry| entry.name)
        .collect();
    assert_eq!(names, ["*"]);
    ws.commit(ws.remove("e/*", is("two\n"))).await.unwrap();
    assert_eq!(ws.stat("e/*").await.unwrap().state, FileState::Absent);
    assert!(ws.temps().is_empty());
}

fn evil_file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    file
}

/// Commands that do harm when they are taken for the real ones: they leave a mark.
fn shadow(dir: &std::path::Path, mark: &std::path::Path) {
    for tool in ["cat", "stat", "sha256sum", "link", "mv", "rm", "dd", "readlink", "printf", "test", "cd"] {
        let at = dir.join(tool);
        fs::write(&at, format!("#!/bin/sh\n: > {}\nexit 0\n", mark.display())).unwrap();
        fs::set_permissions(&at, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[tokio::test]
async fn variables_that_change_how_shells_and_tools_behave_change_nothing() {
    let evil = evil_file(
        "cat() { echo evil; }; cd() { echo evil; }; printf() { echo evil; }; read() { return 1; }; set -C; IFS=/",
    );
    let functions =
        ["cat", "cd", "printf", "read", "test", "[", "stat", "true", "unset", "command", "pwd", "eval"];
    for (name, value) in [
        ("CDPATH", "/etc:/tmp".into()),
        ("ENV", evil.path().as_os_str().to_owned()),
        ("BASH_ENV", evil.path().as_os_str().to_owned()),
        ("IFS", "/.-abc".into()),
        ("POSIXLY_CORRECT", "1".into()),
        ("LC_ALL", "C.UTF-8".into()),
        ("LANG", "de_DE.UTF-8".into()),
        ("LANGUAGE", "de".into()),
        ("GLOBIGNORE", "*".into()),
        ("SHELLOPTS", "noclobber:noglob".into()),
        ("BASHOPTS", "extglob:dotglob:nullglob".into()),
        ("QUOTING_STYLE", "shell-escape".into()),
        ("TAR_OPTIONS", "-x".into()),
        ("PERL5OPT", "-Mstrict".into()),
        ("PWD", "/nowhere".into()),
        ("OLDPWD", "/nowhere".into()),
        ("TMPDIR", "/nowhere".into()),
        ("PS4", "$(touch /tmp/evil)".into()),
    ] {
        let ws = Ws::over(sh().env(name, &value)).await;
        works(&ws).await;
        println!("{name} changes nothing");
    }
    let mut process = sh();
    for function in functions {
        process = process.env(format!("BASH_FUNC_{function}%%"), "() { echo evil; return 0; }");
    }
    works(&Ws::over(process).await).await;
}

#[tokio::test]
async fn directories_of_tools_that_are_not_absolute_are_not_looked_into() {
    let mark = tempfile::tempdir().unwrap();
    let mark = mark.path().join("mark");
    for path in [".", "", "bin", "./bin", "relative/../."] {
        let ws = Ws::over(sh().env("PATH", format!("{path}:/usr/bin:/bin"))).await;
        ws.mkdir("bin");
        ws.mkdir("d");
        for dir in ["", "bin", "d"] {
            shadow(&ws.path(dir), &mark);
        }
        ws.commit(ws.put("new", Precondition::Absent, "one\n")).await.unwrap();
        ws.commit(ws.put("new", is("one\n"), "two\n")).await.unwrap();
        ws.commit(ws.put("d/new", Precondition::Absent, "one\n")).await.unwrap();
        assert_eq!(ws.bytes("new").await, b"two\n");
        assert!(!mark.exists(), "{path:?}");
    }
}

#[tokio::test]
async fn a_digest_tool_that_lies_is_not_used() {
    let bin = tempfile::tempdir().unwrap();
    let at = bin.path().join("sha256sum");
    fs::write(&at, format!("#!/bin/sh\necho '{:064}  -'\n", 0)).unwrap();
    fs::set_permissions(&at, fs::Permissions::from_mode(0o755)).unwrap();
    let ws = Ws::over(sh().env("PATH", format!("{}:/usr/bin:/bin", bin.path().display()))).await;
    assert_ne!(ws.shell.hello().get("digest"), Some("sha256sum"));
    works(&ws).await;
}

#[tokio::test]
async fn what_is_said_before_the_hello_is_skipped_and_what_is_said_later_is_no_answer() {
    let noisy = |script: &str| Process::program(TargetId::new("noisy"), "sh").args(["-c", script, "sh"]);
    // A banner, a prompt, half a line, bytes that are no text, and much of it.
    let ws = Ws::over(noisy(
        "echo Welcome; printf '\\377\\000$ '; dd if=/dev/zero bs=1000 count=60 2>/dev/null; eval \"$1\"",
    ))
    .await;
    works(&ws).await;
    // More than any banner is no shell.
    let much = noisy("dd if=/dev/zero bs=1000 count=70 2>/dev/null; eval \"$1\"");
    let error = Shell::builder(std::sync::Arc::new(much)).connect().await.err().unwrap();
    assert!(error.to_string().contains("bytes before the hello"), "{error}");
    // Something that writes to the same pipe later breaks the session, and is not taken for an answer.
    let mark = tempfile::tempdir().unwrap();
    let go = mark.path().join("go");
    common::mkfifo(&go);
    let script = format!("{{ read x < {}; echo noise; }} & eval \"$1\"", go.display());
    let ws = Ws::over(noisy(&script)).await;
    works(&ws).await;
    fs::write(&go, "now\n").unwrap();
    // The noise is noticed at the latest by the request after it; either way no answer is wrong.
    for _ in 0..3 {
        let found = ws.stat("none").await;
        assert!(
            matches!(&found, Ok(found) if found.state == FileState::Absent)
                || matches!(&found, Err(guard_core::port::OpError::Unavailable { .. })),
            "{found:?}"
        );
    }
}

#[tokio::test]
async fn every_login_shell_runs_the_command_line() {
    for login in Login::ALL {
        let name = format!("environment::every_login_shell_runs_the_command_line, {}", login.name());
        if skip::unless(login.need(), &name) {
            continue;
        }
        let ws = Ws::over(login.process(TargetId::new(login.name()))).await;
        works(&ws).await;
    }
}

#[tokio::test]
async fn the_home_is_the_targets() {
    let home = tempfile::tempdir().unwrap();
    let real = home.path().join("real");
    fs::create_dir(&real).unwrap();
    let link = home.path().join("link");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let ws = Ws::over(sh().env("HOME", &link)).await;
    assert_eq!(ws.shell.capabilities().home, Fact::Known(Some(common::target(&real))));
    // One that is not told is not known, which is not the same as none.
    let ws = Ws::over(sh().env("HOME", "relative")).await;
    assert_eq!(ws.shell.capabilities().home, Fact::Unknown);
}

#[tokio::test]
async fn new_files_are_made_under_the_targets_umask_and_temporary_ones_are_private() {
    for (umask, mode, executable) in [("022", 0o644, 0o755), ("002", 0o664, 0o775), ("077", 0o600, 0o700)] {
        let script = format!("umask {umask}; eval \"$1\"");
        let process = Process::program(TargetId::new("umask"), "sh").args(["-c", &script, "sh"]);
        let ws = Ws::over(process).await;
        ws.commit(ws.put("d/new", Precondition::Absent, "x")).await.unwrap();
        let mut change = ws.put("tool", Precondition::Absent, "#!/bin/sh\n");
        if let guard_core::port::Effect::Put { mode, .. } = &mut change.effect {
            *mode = guard_core::port::Mode::Executable;
        }
        ws.commit(change).await.unwrap();
        let mode_of = |name: &str| fs::metadata(ws.path(name)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode_of("d/new"), mode_of("tool"), mode_of("d")), (mode, executable, executable));
    }
}
