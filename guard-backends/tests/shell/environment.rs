//! Hostile surroundings: what a user's files and variables do to a shell, and what they must not do to a session.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use guard_backends::shell::{Process, Shell};
use guard_core::policy::{Fact, FileState, Precondition};
use guard_core::port::{FileOps as _, TargetId};

use guard_testkit::skip;
use guard_testkit::transport::{Login, Sh};

use crate::common;
use crate::ws::{Ws, is, sh};

/// Creates, replaces, reads, lists and removes, and claims each outcome.
pub(crate) async fn works(ws: &Ws) {
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
    // Something that writes to the same pipe later breaks the session: another one is asked, and nothing is taken for
    // an answer. What it writes has arrived when it says so, and is noticed before anything is sent.
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for name in ["go", "done"] {
        common::mkfifo(&at(name));
    }
    let script = format!(
        "echo start >> {0}/starts; {{ read x < {0}/go; echo Welcome; echo > {0}/done; }} & eval \"$1\"",
        dir.path().display()
    );
    let ws = Ws::over(noisy(&script)).await;
    works(&ws).await;
    let starts = || fs::read_to_string(at("starts")).unwrap().lines().count();
    for nth in 1..=3 {
        assert_eq!(starts(), nth);
        let (go, done) = (at("go"), at("done"));
        let spoken = tokio::task::spawn_blocking(move || {
            fs::write(go, "now\n").unwrap();
            fs::read(done).unwrap()
        });
        spoken.await.unwrap();
        // The runtime looks at what has come.
        tokio::task::yield_now().await;
        let name = format!("file {nth}");
        match nth {
            1 => assert_eq!(ws.stat("none").await.unwrap().state, FileState::Absent),
            2 => drop(ws.commit(ws.put(&name, Precondition::Absent, "x")).await.unwrap()),
            _ => assert_eq!(ws.bytes("file 2").await, b"x"),
        }
        assert_eq!(starts(), nth + 1, "the session goes on");
    }
}

/// What the script calls, and what it says with; `dd` and `eval` are in the command line that starts a session.
const USED: &[&str] = &[
    "cat",
    "ls",
    "stat",
    "ln",
    "link",
    "mv",
    "dd",
    "head",
    "tail",
    "sha256sum",
    "sync",
    "rm",
    "rmdir",
    "mkdir",
    "cp",
    "chmod",
    "chown",
    "chgrp",
    "touch",
    "readlink",
    "perl",
    "id",
    "uname",
    "grep",
    "printf",
    "echo",
    "print",
    "test",
    "[",
    "true",
    "false",
    "pwd",
    "cd",
    "read",
    "kill",
    "umask",
    "command",
    "builtin",
    "type",
    "hash",
    "unalias",
    "alias",
    "wait",
    "getopts",
    "local",
    "shopt",
    "emulate",
    "set",
    "unset",
    "export",
    "exec",
    "trap",
    "return",
    "exit",
    "shift",
    "break",
    "continue",
    "eval",
];

/// Definitions of every one of them as a function, or as an alias, that says something else and leaves a mark.
fn hostile(is_alias: bool, mark: &std::path::Path, but: &[&str]) -> String {
    let mark = mark.display();
    // What is only defined does no harm, and a name that is none of a function spoils nothing else.
    let define = |name: &&str| {
        if is_alias {
            format!("\\alias '{name}={{ : >> {mark}; /bin/echo evil; }}; :' 2>/dev/null\n")
        } else {
            format!("\\eval '{name}() {{ : >> {mark}; /bin/echo evil; }}' 2>/dev/null\n")
        }
    };
    let definitions: String = USED.iter().filter(|name| !but.contains(name)).map(define).collect();
    format!("shopt -s expand_aliases 2>/dev/null\n{definitions}")
}

/// Whoever may put files and variables before a session: a user's own set-up. Either nothing of it is used, or there
/// is no session.
#[tokio::test(flavor = "multi_thread")]
async fn functions_and_aliases_named_like_the_tools_change_no_answer() {
    let dir = tempfile::tempdir().unwrap();
    let mark = dir.path().join("mark");
    for sh in Sh::ALL {
        if skip::unless(sh.need(), "environment::functions_and_aliases_named_like_the_tools_change_no_answer")
        {
            continue;
        }
        let tools = sh.tools().unwrap();
        let process = || Process::shell(TargetId::new(sh.name())).env("PATH", tools.path());
        // Only bash reads them where nobody types; of the others it is enough to see that.
        for is_alias in if *sh == Sh::Bash { &[false, true][..] } else { &[false] } {
            // `dd` and `eval` are used before anything can be done about them.
            let file = evil_file(&hostile(*is_alias, &mark, &["dd", "eval"]));
            for variable in ["BASH_ENV", "ENV"] {
                println!("{}: {variable}, aliases {is_alias}", sh.name());
                works(&Ws::over(process().env(variable, file.path())).await).await;
                assert!(!mark.exists(), "{}: something of {variable} was run", sh.name());
            }
        }
        // Functions that are exported; bash takes them, the others leave them in the environment of their tools.
        let mut exported = process();
        for name in USED.iter().filter(|name| !["dd", "eval"].contains(name)) {
            let body = format!("() {{ : >> {}; /bin/echo evil; }}", mark.display());
            exported = exported.env(format!("BASH_FUNC_{name}%%"), body);
        }
        works(&Ws::over(exported).await).await;
        assert!(!mark.exists(), "{}: an exported function was run", sh.name());
        // Those two: a session that cannot start is none, and says so.
        for name in ["dd", "eval"] {
            let body = format!("() {{ : >> {}; /bin/echo evil; }}", mark.display());
            let function = process().env(format!("BASH_FUNC_{name}%%"), body);
            let connected = Shell::builder(std::sync::Arc::new(function)).connect().await;
            let fails = *sh == Sh::Bash || (*sh == Sh::BashPosix && name == "dd");
            match connected {
                Err(error) => assert!(fails && error.to_string().contains("no shell answered"), "{error}"),
                Ok(_) => assert!(!fails && !mark.exists(), "{}: {name}", sh.name()),
            }
            let _ = fs::remove_file(&mark);
        }
    }
}

/// The files that login shells read before they run a command line.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_login_shell_reads_first_changes_no_answer() {
    for login in Login::ALL {
        let name = format!("environment::what_a_login_shell_reads_first_changes_no_answer, {}", login.name());
        if skip::unless(login.need(), &name) {
            continue;
        }
        let home = tempfile::tempdir().unwrap();
        let mark = home.path().join("mark");
        let read = home.path().join("read");
        let posix = |is_alias| {
            format!("{}\n: >> {}\n/bin/echo Welcome\n", hostile(is_alias, &mark, &[]), read.display())
        };
        let (fish, tcsh) = (home.path().join(".config/fish"), home.path().join(".tcshrc"));
        fs::create_dir_all(&fish).unwrap();
        for is_alias in [false, true] {
            for file in [".bashrc", ".bash_profile", ".profile", ".zshenv", ".zshrc", ".mkshrc", ".kshrc"] {
                fs::write(home.path().join(file), posix(is_alias)).unwrap();
            }
            let functions = USED.iter().map(|tool| format!("function {tool}; echo evil; end\n"));
            let functions: String =
                functions.filter(|text| text.contains("cat;") || text.contains("stat;")).collect();
            fs::write(
                fish.join("config.fish"),
                format!("{functions}touch {}\necho Welcome\n", read.display()),
            )
            .unwrap();
            let aliases: String =
                ["cat", "stat", "mv", "dd"].map(|tool| format!("alias {tool} echo evil\n")).concat();
            fs::write(&tcsh, format!("{aliases}touch {}\necho Welcome\n", read.display())).unwrap();
            let process = login
                .process(TargetId::new(login.name()))
                .env("HOME", home.path())
                .env("ZDOTDIR", home.path())
                .env("XDG_CONFIG_HOME", home.path().join(".config"))
                .env("ENV", home.path().join(".mkshrc"))
                .env("BASH_ENV", home.path().join(".bashrc"));
            println!("{}, aliases {is_alias}", login.name());
            works(&Ws::over(process).await).await;
            if matches!(login, Login::Zsh | Login::Fish | Login::Tcsh | Login::Bash) {
                assert!(read.exists(), "{} did not read its file", login.name());
            }
            assert!(!mark.exists(), "{}: something of its file was run", login.name());
            let _ = fs::remove_file(&read);
        }
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
