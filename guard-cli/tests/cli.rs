//! The built binary on real files: every command, every exit code, exact bytes.
#![allow(clippy::disallowed_methods, reason = "tests make files and start the binary")]
#![allow(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

mod bench;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use bench::{Bench, Run};
use guard_testkit::skip::{self, Need};
use nix::unistd::{Uid, User};

/// Runs command lines one after the other and writes down what a person sees.
fn transcript(bench: &Bench, lines: &[(&[&str], &str)]) -> String {
    let mut text = String::new();
    for (args, stdin) in lines {
        let run = bench.guard_with(args, stdin.as_bytes());
        let shown: Vec<_> = args
            .iter()
            .map(|arg| if arg.contains([' ', '\n']) { format!("{arg:?}") } else { (*arg).to_owned() })
            .collect();
        let input = if stdin.is_empty() { String::new() } else { format!(" <<< {stdin:?}") };
        writeln!(text, "$ guard {}{input}", shown.join(" ")).unwrap();
        text.push_str(&bench.plain(run.out()));
        for line in bench.plain(&run.stderr).lines() {
            writeln!(text, "! {line}").unwrap();
        }
        writeln!(text, "= {}\n", run.code).unwrap();
    }
    text
}

/// The digest of `one\n`.
const ONE: &str = "sha256:2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806";

#[test]
fn every_command_tells_a_person_what_it_did() {
    let bench = Bench::new();
    symlink("/etc", bench.path("out")).unwrap();
    symlink("new notes", bench.path("lnk")).unwrap();
    symlink("new/deep/run.sh", bench.path("run")).unwrap();
    let lines: &[(&[&str], &str)] = &[
        (&["write", "notes.txt"], "one\n"),
        (&["write", "notes.txt"], "one\n"),
        (&["write", "notes.txt"], "two\n"),
        (&["write", "notes.txt", "--expect", ONE, "--dry-run"], "two\n"),
        (&["write", "notes.txt", "--expect", ONE], "two\n"),
        (&["write", "notes.txt", "--expect", ONE], "three\n"),
        (&["write", "new/deep/run.sh", "--executable"], "#!/bin/sh\n"),
        (&["read", "notes.txt"], ""),
        (&["edit", "notes.txt", "--old", "two", "--new", "2", "--dry-run"], ""),
        (&["edit", "notes.txt", "--old", "two", "--new", "2"], ""),
        (&["edit", "notes.txt", "--old", "three", "--new", "3"], ""),
        (&["stat", "notes.txt", "new", "absent"], ""),
        (&["mv", "notes.txt", "new/notes.txt"], ""),
        (&["mv", "new/notes.txt", "new/deep/run.sh"], ""),
        (&["mkdir", "a/b"], ""),
        (&["ls"], ""),
        (&["ls", "new", "--limit", "1"], ""),
        (&["rm", "new/notes.txt"], ""),
        (&["rm", "new/notes.txt", "--danger-unseen", "--dry-run"], ""),
        (&["rm", "new/notes.txt", "--danger-unseen"], ""),
        (&["rm", "lnk"], ""),
        (&["stat", "lnk", "run"], ""),
        (&["rm", "lnk", "--expect", "link:old notes"], ""),
        (&["rm", "lnk", "--expect", "link:new notes"], ""),
        (&["write", "out/passwd"], "x"),
        (&["write", "report.docx"], "x"),
        (&["read", "new"], ""),
        (&["read", "absent"], ""),
        (&["explain", "new/deep/run.sh"], ""),
        (&["explain", ".git/hooks/pre-commit"], ""),
        (&["doctor", "--leftovers"], ""),
    ];
    insta::assert_snapshot!(transcript(&bench, lines));
}

#[test]
fn help_says_every_option() {
    let bench = Bench::new();
    let mut text = bench.guard(&["--help"]).out().to_owned();
    let commands = [
        "read",
        "write",
        "edit",
        "patch",
        "rm",
        "mv",
        "mkdir",
        "undo",
        "ls",
        "stat",
        "explain",
        "doctor",
        "completions",
    ];
    for command in commands {
        let run = bench.guard(&[command, "--help"]);
        assert_eq!(run.code, 0);
        write!(text, "\n$ guard {command} --help\n{}", run.out()).unwrap();
    }
    insta::assert_snapshot!(text);
}

#[test]
fn the_policy_names_the_workspace_and_what_is_allowed_beside_it() {
    let bench = Bench::new();
    for directory in ["app", "data", "else"] {
        std::fs::create_dir(bench.path(directory)).unwrap();
    }
    bench.put("data/a.txt", "one\n");
    bench.put("else/a.txt", "one\n");
    let policy = |access: &str, allowed: &str| {
        let (app, data) = (bench.path("app"), bench.path(allowed));
        let allow = format!("allow = [{{ path = {data:?}, access = {access:?} }}]");
        bench.put("guard.toml", format!("roots = [{app:?}]\n{allow}\n"));
    };
    let run = |arguments: &[&str]| {
        let run = bench.guard(&[&["--policy", "guard.toml"], arguments].concat());
        (run.code, format!("{}{}", run.out(), run.stderr))
    };
    policy("ro", "data");
    let (data, outside) = (bench.path("data/a.txt"), bench.path("else/a.txt"));
    let (data, outside) = (data.to_str().unwrap(), outside.to_str().unwrap());
    let expect = |(code, told): (i32, String), expected: i32, words: &str| {
        assert!(code == expected && told.contains(words), "{code}: {told}");
    };
    expect(run(&["write", "new.txt"]), 0, "new.txt");
    assert!(bench.path("app/new.txt").exists(), "relative paths begin at the policy's first root");
    expect(run(&["read", data]), 0, "one");
    expect(run(&["rm", data, "--danger-unseen"]), 1, "[read-only-root]");
    expect(run(&["read", outside]), 1, "[outside-root]");
    // A root of the command line comes before.
    let named = bench.path("else");
    expect(run(&["--root", named.to_str().unwrap(), "read", "a.txt"]), 0, "one");
    policy("rw", "data");
    expect(run(&["rm", data, "--danger-unseen"]), 0, "a.txt");
    // What is not there, or has no meaning on a target, is an error of the configuration.
    policy("rw", "nowhere");
    expect(run(&["read", "new.txt"]), 2, "nowhere");
    bench.put("guard.toml", "roots = [\"app\"]\n");
    expect(run(&["read", "new.txt"]), 2, "roots");
    bench.put("guard.toml", "restrict = 0\n");
    expect(run(&["read", "new.txt"]), 2, "restrict");
}

#[test]
fn every_exit_code_and_nothing_changes_unless_it_is_0() {
    let bench = Bench::new();
    bench.put("a.txt", "one\n");
    bench.put("data.sqlite", "SQLite format 3\0");
    bench.put("bad.toml", "restrict = true\nretsrict = false\n");
    symlink("loop", bench.path("loop")).unwrap();
    let rows: &[(&[&str], i32, &str)] = &[
        (&["--help"], 0, ""),
        (&["--version"], 0, ""),
        (&["read", "a.txt"], 0, "sha256:"),
        (&["doctor"], 0, ""),
        (&["write", "a.txt"], 1, "[exists]"),
        (&["write", "data.sqlite"], 1, "[exists]"),
        (&["write", "data.sqlite", "--danger-unseen"], 1, "[binary-exists]"),
        (&["write", "data.sqlite-wal"], 1, "[sqlite-sidecar]"),
        (&["write", "../a.txt"], 1, "[outside-root]"),
        (&["write", "CLAUDE.md"], 1, "[approval-required]"),
        (&["write", ""], 1, "[invalid-path]"),
        (&["write", "x/"], 1, "[invalid-path]"),
        (&["read", "absent"], 1, "[not-found]"),
        (&["read", "~/.ssh/id_ed25519"], 1, "[outside-root]"),
        (&["read", ".env"], 1, "[secret]"),
        (&["rm", "a.txt"], 1, "[not-read]"),
        (&["mv", "a.txt", "data.sqlite"], 1, "[exists]"),
        (&["edit", "a.txt", "--old", "", "--new", "x"], 1, "[empty-old]"),
        (&["edit", "a.txt", "--old", "one", "--new", "one"], 1, "[no-change]"),
        (&["ls", "a.txt"], 1, "[not-a-directory]"),
        (&["ls", "--after", "a.txt"], 1, "[invalid-arguments]"),
        (&["--root-ro", ".", "write", "b.txt"], 1, "[read-only-root]"),
        (&[], 2, "Usage"),
        (&["frobnicate"], 2, "unrecognized subcommand"),
        (&["write"], 2, "<PATH>"),
        (&["write", "a.txt", "--expect", "sha256:12"], 2, "64 hexadecimal digits"),
        (&["write", "a.txt", "--expect", "absent", "--danger-unseen"], 2, "cannot be used with"),
        (&["write", "a.txt", "--dryrun"], 2, "--dryrun"),
        (&["read", "a.txt", "--offset", "0"], 2, "--offset"),
        (&["read", "a.txt", "--bytes", "1"], 2, "OFFSET:LENGTH"),
        (&["rm", "a.txt", "--expect", "absent"], 2, "64 hexadecimal digits"),
        (&["rm", "a.txt", "--expect", "link:"], 2, "link:TEXT"),
        (&["mv", "a.txt", "b.txt", "--expect", "link"], 2, "link:TEXT"),
        (&["write", "a.txt", "--expect", "link:x"], 2, "64 hexadecimal digits"),
        (&["--target", "ssh", "ls"], 2, "--target"),
        (&["--root", "absent", "ls"], 2, "absent"),
        (&["--root", "a.txt", "ls"], 2, "a.txt"),
        (&["--root", "x/../y", "ls"], 2, "`..` after a name"),
        (&["--policy", "bad.toml", "ls"], 2, "retsrict"),
        (&["--policy", "absent.toml", "ls"], 2, "absent.toml"),
        (&["--root", "loop", "ls"], 3, "loop"),
    ];
    let before = bench.state();
    for (args, code, said) in rows {
        let run = bench.guard_with(args, b"text\n");
        assert_eq!(run.code, *code, "{args:?}: {run:?}");
        assert!(run.stderr.contains(said), "{args:?} does not say {said:?}: {run:?}");
        assert!(!run.stderr.contains("this is a bug"), "{args:?}: {run:?}");
    }
    assert_eq!(bench.state(), before);
}

#[test]
fn a_command_line_that_is_none_is_an_object_where_one_was_asked_for() {
    let bench = Bench::new();
    for (args, words) in [
        (&["--json"][..], "requires a subcommand"),
        (&["--json", "frobnicate"], "unrecognized subcommand 'frobnicate'"),
        (&["read", "--json"], "the following required arguments were not provided:\n  <PATH>"),
        (&["--json", "--root", "/nowhere", "ls"], "the root /nowhere cannot be opened"),
        (&["--json", "--policy", "/nowhere", "ls"], "the policy /nowhere: "),
    ] {
        let run = bench.guard(args);
        assert_eq!((run.code, run.stderr.as_str()), (2, ""), "{args:?}: {run:?}");
        let refusal = &run.json()["refusal"];
        assert_eq!(refusal["code"], "invalid-arguments", "{args:?}");
        let message = refusal["message"].as_str().unwrap();
        assert!(message.contains(words) && !message.contains("error:"), "{args:?}: {message}");
    }
    // What follows `--` is no option, and help is help.
    assert_eq!(bench.guard(&["read", "--", "--json"]).code, 1);
    let (plain, help) = (bench.guard(&["frobnicate", "--", "--json"]), bench.guard(&["--json", "--help"]));
    assert!(plain.code == 2 && plain.out().is_empty() && plain.stderr.contains("frobnicate"), "{plain:?}");
    assert!(help.code == 0 && help.out().contains("Usage"), "{help:?}");
}

#[test]
fn output_that_cannot_be_written_is_3_and_a_reader_that_had_enough_is_0() {
    let bench = Bench::new();
    bench.put("a.txt", "line\n".repeat(1000));
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    // Also where the outcome is known: the change was made, and its receipt could not be delivered.
    let commands: &[&[&str]] = &[&["read", "a.txt"], &["mkdir", "d"]];
    for command in commands {
        let output = bench.command(command).stdout(full.try_clone().unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{command:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("the output could not be written"), "{command:?}: {said}");
    }
    assert!(bench.path("d").is_dir());
    let help = bench.guard(&["--help"]);
    assert!(help.out().contains("or the output could not be written"), "{help:?}");

    // The reading end is closed before the binary starts.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut child = bench.command(&["read", "a.txt"]).stdout(writer).spawn().unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{said}");
}

#[test]
fn standard_input_is_written_byte_for_byte_and_read_back_so() {
    let bench = Bench::new();
    let contents: &[&[u8]] = &[
        b"",
        b"no newline",
        b"a\r\nb\nc\r",
        b"\xEF\xBB\xBFbom\n",
        b"caf\xE9\n",
        b"\x1b[31mred\x1b[0m\n",
        b"\t\xff\xfe\n",
    ];
    for (at, content) in contents.iter().enumerate() {
        let name = format!("f{at}");
        let run = bench.guard_with(&["write", &name], content);
        assert_eq!(run.code, 0, "{content:?}: {run:?}");
        assert_eq!(bench.get(&name), *content);
        let read = bench.guard(&["read", &name]);
        assert_eq!((read.code, read.stdout.as_slice()), (0, *content), "{}", read.stderr);
    }
}

#[test]
fn a_replacement_is_standard_input_exactly_whatever_the_old_line_ends_were() {
    let bench = Bench::new();
    bench.put("dos.txt", "\u{feff}one\r\ntwo\r\n");
    let stat = bench.guard(&["--json", "stat", "dos.txt"]).json();
    let digest = stat["result"]["paths"][0]["state"]["digest"].as_str().unwrap().to_owned();
    let run = bench.guard_with(&["write", "dos.txt", "--expect", &digest], b"1\n2\n");
    assert_eq!((run.code, bench.get("dos.txt").as_slice()), (0, &b"1\n2\n"[..]), "{run:?}");
}

#[test]
fn without_a_version_a_write_only_creates_even_where_an_empty_file_is_there() {
    let bench = Bench::new();
    bench.put("empty", "");
    bench.put("full", "somebody else's\n");
    let before = bench.state();
    for name in ["empty", "full"] {
        for command in [vec!["write", name], vec!["write", name, "--expect", "absent"]] {
            let run = bench.guard_with(&command, b"mine\n");
            assert!(run.code == 1 && run.stderr.contains("[exists]"), "{command:?}: {run:?}");
            assert!(run.stderr.contains("--expect"), "{command:?} does not say how to replace it: {run:?}");
        }
    }
    assert_eq!(bench.state(), before);

    // A call that is made again finds its own bytes, which is no replacement.
    for word in ["created", "unchanged"] {
        let run = bench.guard_with(&["write", "new"], b"mine\n");
        assert!(run.code == 0 && run.out().starts_with(word), "{run:?}");
    }

    // The control: whoever says so replaces it.
    assert_eq!(bench.guard_with(&["write", "empty", "--danger-unseen"], b"mine\n").code, 0);
    assert_eq!(bench.get("empty"), b"mine\n");
}

#[test]
fn the_executable_bit_is_for_a_new_file_as_the_help_says() {
    let bench = Bench::new();
    let mode = |name: &str| bench.path(name).metadata().unwrap().permissions().mode() & 0o777;
    bench.put("old.sh", "one\n");
    let old = mode("old.sh");
    let run = bench.guard_with(&["write", "old.sh", "--executable", "--expect", ONE], b"#!/bin/sh\n");
    assert_eq!((run.code, mode("old.sh")), (0, old), "{run:?}");
    let run = bench.guard_with(&["write", "new.sh", "--executable"], b"#!/bin/sh\n");
    assert_eq!((run.code, mode("new.sh") & 0o100), (0, 0o100), "{run:?}");
    let help = bench.guard(&["write", "--help"]);
    assert!(help.out().contains("a file that is there keeps its mode"), "{help:?}");
}

#[test]
fn a_listing_goes_on_with_the_cursor_that_it_printed() {
    let bench = Bench::new();
    let names = ["a b", "c", "it's", "-z"];
    for name in names {
        bench.put(name, "");
    }
    let mut listed = Vec::new();
    let mut args = vec!["ls".to_owned(), "--limit".to_owned(), "1".to_owned()];
    loop {
        let run = bench.guard(&args);
        assert_eq!(run.code, 0, "{run:?}");
        let mut lines = run.out().lines();
        listed.push(lines.next().unwrap().split_once("0  ").unwrap().1.to_owned());
        let Some(more) = lines.next() else { break };
        args.truncate(3);
        args.extend(["--after".to_owned(), more.split_once("--after ").unwrap().1.to_owned()]);
    }
    listed.sort();
    assert_eq!(listed, ["-z", "a b", "c", "it's"]);
}

#[test]
fn a_version_that_moved_on_is_never_replaced_deleted_or_moved() {
    let bench = Bench::new();
    bench.put("a.txt", "somebody else's\n");
    let before = bench.state();
    let commands: &[&[&str]] = &[
        &["write", "a.txt", "--expect", ONE],
        &["rm", "a.txt", "--expect", ONE],
        &["mv", "a.txt", "b.txt", "--expect", ONE],
    ];
    for command in commands {
        let run = bench.guard_with(command, b"mine\n");
        assert_eq!(run.code, 1, "{run:?}");
        assert!(run.stderr.contains("[stale]"), "{run:?}");
    }
    assert_eq!(bench.state(), before);

    // The control: what `--expect` names is what there is.
    bench.put("a.txt", "one\n");
    assert_eq!(bench.guard(&["rm", "a.txt", "--expect", ONE]).code, 0);
    assert_eq!(bench.path("a.txt").symlink_metadata().unwrap_err().kind(), std::io::ErrorKind::NotFound);
}

/// What `stat` prints of the link `name`, to be pasted after `--expect`.
fn link_version(bench: &Bench, name: &str) -> String {
    let stat = bench.guard(&["stat", "--", name]);
    let line = stat.out().lines().find(|line| line.contains("link:")).unwrap_or_else(|| panic!("{stat:?}"));
    line.trim().to_owned()
}

#[test]
fn a_link_is_deleted_or_moved_under_the_text_that_stat_prints() {
    let bench = Bench::new();
    bench.put("target", "one\n");
    let texts = [
        "target",
        "nowhere",
        "/etc/passwd",
        "a b",
        "it's",
        "$(id)",
        "a\nb",
        "\u{1b}[31m",
        r"a\b",
        "\u{202e}x'1",
    ];
    for text in texts {
        for command in ["rm lnk", "mv lnk gone"] {
            symlink(text, bench.path("lnk")).unwrap();
            let version = link_version(&bench, "lnk");
            assert!(!version.contains(char::is_control), "{version:?} steers the terminal");
            // As a person does: the line goes through a shell.
            let line = format!("\"$GUARD\" {command} --expect {version}");
            let pasted = bench.shell(&line);
            assert_eq!(pasted.code, 0, "{line}: {pasted:?}");
            assert!(bench.path("lnk").symlink_metadata().is_err(), "{line}");
            if command.starts_with("mv") {
                assert_eq!(std::fs::read_link(bench.path("gone")).unwrap().to_str(), Some(text));
                std::fs::remove_file(bench.path("gone")).unwrap();
            }
        }
    }
    assert_eq!(bench.get("target"), b"one\n");
}

#[test]
fn a_link_that_is_another_than_was_named_stays_and_the_refusal_says_how_to_name_it() {
    let bench = Bench::new();
    bench.put("target", "one\n");
    symlink("target", bench.path("lnk")).unwrap();
    symlink("nowhere", bench.path("dangling")).unwrap();
    let before = bench.state();
    let rows: &[(&[&str], &str)] = &[
        (&["rm", "lnk"], "[not-read]"),
        (&["rm", "dangling"], "[not-read]"),
        // The digest is the target's, and no version of the link.
        (&["rm", "lnk", "--expect", ONE], "[not-read]"),
        (&["rm", "lnk", "--expect", "link:other"], "[stale]"),
        (&["mv", "lnk", "x", "--expect", "link:other"], "[stale]"),
        (&["rm", "dangling", "--expect", "link:nowher"], "[stale]"),
        (&["rm", "target", "--expect", "link:target"], "[stale]"),
        (&["mv", "target", "x", "--expect", "link:target"], "[stale]"),
        (&["rm", "absent", "--expect", "link:target"], "[not-found]"),
    ];
    for (command, code) in rows {
        let run = bench.guard(command);
        assert!(run.code == 1 && run.stderr.contains(code), "{command:?}: {run:?}");
        if *code == "[not-read]" {
            assert!(run.stderr.contains("`link:TEXT`"), "{command:?}: {run:?}");
        }
    }
    assert_eq!(bench.state(), before);
}

#[test]
fn a_dry_run_of_every_mutation_shows_the_verdict_and_changes_nothing() {
    let bench = Bench::new();
    bench.put("a.txt", "one\n");
    let before = bench.state();
    let commands: &[(&[&str], &str)] = &[
        (&["write", "new.txt", "--dry-run"], "+mine"),
        (&["write", "a.txt", "--expect", ONE, "--dry-run"], "-one"),
        (&["edit", "a.txt", "--old", "one", "--new", "1", "--dry-run"], "+1"),
        (&["rm", "a.txt", "--expect", ONE, "--dry-run"], "would"),
        (&["mv", "a.txt", "b.txt", "--dry-run"], "b.txt"),
        (&["mkdir", "d", "--dry-run"], "would"),
        (&["--dry-run", "mkdir", "d"], "would"),
    ];
    for (command, shown) in commands {
        let run = bench.guard_with(command, b"mine\n");
        assert_eq!(run.code, 0, "{run:?}");
        assert!(run.out().contains(shown), "{command:?} does not show {shown:?}: {run:?}");
    }
    assert_eq!(bench.state(), before);
}

#[test]
fn names_are_taken_as_they_are() {
    let names =
        ["-rf", "--json", "a\nb", "it's", "*", "$HOME", "~root", "a b", "%2e", "\u{e9}", "\u{1b}[31m"];
    for name in names {
        let bench = Bench::new();
        let run = bench.guard_with(&["write", "--", name], b"x\n");
        assert_eq!(run.code, 0, "{name:?}: {run:?}");
        assert!(!run.out().contains('\u{1b}'), "{name:?} steers the terminal: {run:?}");
        assert_eq!(bench.get(name), b"x\n");
        let listed = bench.guard(&["--json", "ls"]).json();
        assert_eq!(listed["result"]["entries"][0]["name"], *name);
        assert_eq!(bench.guard(&["ls"]).out().lines().count(), 1, "{name:?} forges a line");
        let moved = bench.guard(&["mv", "--", name, "-plain"]);
        assert_eq!(moved.code, 0, "{name:?}: {moved:?}");
        let removed = bench.guard(&["rm", "--danger-unseen", "--", "-plain"]);
        assert_eq!(removed.code, 0, "{name:?}: {removed:?}");
        assert_eq!(bench.state(), Bench::new().state(), "something is left of {name:?}");
    }
    let bench = Bench::new();
    assert_eq!(bench.guard_with(&["write", "-rf"], b"x\n").code, 2, "without `--` it is an option");
}

#[test]
fn a_name_that_is_not_utf8_is_usage_and_is_listed_escaped() {
    use std::os::unix::ffi::OsStrExt as _;

    let bench = Bench::new();
    let name = OsStr::from_bytes(b"caf\xE9");
    assert_eq!(bench.guard(&[OsStr::new("read"), name]).code, 2);
    std::fs::write(bench.path(name), "x").unwrap();
    let listed = bench.guard(&["ls"]);
    assert!(listed.out().contains(r"caf\xE9") && listed.out().contains("no tool can name it"), "{listed:?}");
}

#[test]
fn json_is_one_object_with_receipt_result_plan_or_refusal() {
    let bench = Bench::new();
    let object = |args: &[&str]| bench.guard_with(args, b"one\n");
    let created = object(&["--json", "write", "a.txt"]).json();
    assert_eq!(created["outcome"], "done");
    assert_eq!(created["receipt"]["changes"][0]["after"], ONE);
    let refused =
        bench.guard_with(&["write", "a.txt", "--json", "--expect", &ONE.replace("2c", "00")], b"two\n");
    assert_eq!(refused.code, 1);
    assert_eq!(refused.json()["outcome"], "refused");
    assert_eq!(refused.json()["refusal"]["code"], "stale");
    assert_eq!(refused.stderr, "");
    let read = object(&["read", "a.txt", "--json"]).json();
    assert_eq!(read["result"]["content"], "one\n");
    assert_eq!(read["result"]["digest"], ONE);
    let planned = object(&["--json", "edit", "a.txt", "--old", "one", "--new", "1", "--dry-run"]).json();
    assert!(planned["plan"]["changes"][0]["diff"].as_str().unwrap().contains("+1"), "{planned}");
    let doctor = object(&["--json", "doctor", "--leftovers"]).json();
    assert_eq!(doctor["result"]["target"], "local");
    assert_eq!(doctor["result"]["roots"][0]["path"], bench.root().to_str().unwrap());
    assert_eq!(doctor["result"]["leftovers"]["found"], serde_json::json!([]));
    let explained = object(&["--json", "explain", "a.txt"]).json();
    assert_eq!(explained["result"]["answers"].as_array().unwrap().len(), 10, "{explained}");
}

#[test]
fn a_policy_file_is_followed_and_is_out_of_the_reach_of_the_tools() {
    let bench = Bench::new();
    bench.put("guard.toml", "disabled_tools = [\"move_file\"]\n[rules]\nopaque_documents = \"off\"\n");
    let with = |args: &[&str]| bench.guard_with(&[&["--policy", "guard.toml"], args].concat(), b"text\n");
    assert_eq!(with(&["write", "a.docx"]).code, 0);
    assert!(with(&["mv", "a.docx", "b.docx"]).stderr.contains("[tool-disabled]"));
    let edit = with(&["edit", "guard.toml", "--old", "off", "--new", "on"]);
    assert!(edit.code == 1 && edit.stderr.contains("[sensitive-path]"), "{edit:?}");
    // No policy is read that is not named.
    assert!(bench.guard_with(&["write", "c.docx"], b"text\n").stderr.contains("[opaque-document]"));
}

#[test]
fn the_first_root_is_the_base_and_home_is_the_callers() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("one")).unwrap();
    std::fs::create_dir(bench.path("two")).unwrap();
    let run = bench.guard_with(&["--root", "one", "--root", "two", "write", "a.txt"], b"x");
    assert_eq!((run.code, bench.get("one/a.txt")), (0, b"x".to_vec()), "{run:?}");
    let two = bench.path("two/b.txt");
    let run = bench.guard_with(&["--root", "one", "--root", "two", "write", two.to_str().unwrap()], b"x");
    assert_eq!((run.code, bench.get("two/b.txt")), (0, b"x".to_vec()), "{run:?}");
    let home = bench.guard_with(&["--root", "../home", "write", "~/note"], b"x");
    assert_eq!(home.code, 0, "{home:?}");
    assert_eq!(bench.get("../home/note"), b"x");
}

#[test]
fn the_roots_are_in_the_order_of_the_command_line() {
    let bench = Bench::new();
    for name in ["a", "b", "c"] {
        std::fs::create_dir(bench.path(name)).unwrap();
    }
    let cases: &[(&[&str], &[(&str, &str)])] = &[
        (&["--root-ro", "a", "--root", "b"], &[("a", "ro"), ("b", "rw")]),
        (&["--root", "b", "--root-ro", "a"], &[("b", "rw"), ("a", "ro")]),
        (&["--root", "c", "--root-ro", "a", "--root=b"], &[("c", "rw"), ("a", "ro"), ("b", "rw")]),
        (&["--root-ro=a"], &[("a", "ro")]),
        (&[], &[("", "rw")]),
    ];
    for (options, expected) in cases {
        let found = bench.guard(&[*options, &["--json", "doctor"]].concat()).json();
        let roots: Vec<_> = expected
            .iter()
            .map(|(name, access)| {
                let path = if name.is_empty() { bench.root() } else { bench.path(name) };
                serde_json::json!({ "path": path.to_str().unwrap(), "access": access })
            })
            .collect();
        assert_eq!(found["result"]["roots"], serde_json::json!(roots), "{options:?}");
    }
    // The first is the base, whatever may be done in it.
    let run = bench.guard_with(&["--root-ro", "a", "--root", "b", "write", "x"], b"x");
    assert!(run.code == 1 && run.stderr.contains("[read-only-root]"), "{run:?}");
}

#[test]
fn credentials_in_the_home_are_refused_however_home_is_spelled() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.path("../home/.aws")).unwrap();
    bench.put("../home/.aws/credentials", "secret");
    let home = bench.path("../home").canonicalize().unwrap();
    let home = home.to_str().unwrap();
    let dir = home.strip_suffix("/home").unwrap();
    let spellings = [
        home.to_owned(),
        format!("{home}/"),
        format!("{home}//."),
        format!("{home}/."),
        format!("{dir}//home"),
        format!("{dir}/./home"),
        format!("/{home}"),
        format!("{dir}/ws/../home"),
    ];
    for spelling in &spellings {
        for path in [".aws/credentials", "~/.aws/credentials"] {
            let mut command = bench.command(&["--root", "../home", "read", path]);
            let output = command.env("HOME", spelling).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.code() == Some(1) && said.contains("[secret]"), "{spelling}: {said}");
            assert_eq!(output.stdout, b"", "{spelling}");
        }
    }
    // The control: where it is known that the home is another directory, the name is one as any other.
    std::fs::create_dir(bench.path(".aws")).unwrap();
    bench.put(".aws/credentials", "of a test");
    assert_eq!(bench.guard(&["read", ".aws/credentials"]).out(), "of a test");
}

#[test]
fn without_a_usable_home_variable_the_home_is_the_users_entry() {
    let bench = Bench::new();
    let user = User::from_uid(Uid::effective()).unwrap().expect("who runs the tests has an entry");
    let home = user.dir.to_str().unwrap();
    let read =
        [OsStr::new("--root"), user.dir.as_os_str(), OsStr::new("read"), OsStr::new(".aws/credentials")];
    for value in [None, Some(""), Some("home"), Some("."), Some("/no-such-directory/../x")] {
        let set = |mut command: Command| {
            match value {
                Some(value) => command.env("HOME", value),
                None => command.env_remove("HOME"),
            };
            command.output().unwrap()
        };
        let output = set(bench.command(&read));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && said.contains("[secret]"), "{value:?}: {said}");
        let doctor = set(bench.command(&["doctor"]));
        let said = String::from_utf8(doctor.stdout).unwrap();
        let known = std::fs::canonicalize(home).unwrap();
        assert!(said.contains(&format!("home    {}\n", known.display())), "{value:?}: {said}");
    }
}

#[test]
fn where_no_home_is_known_credentials_are_refused_in_every_directory() {
    if skip::unless(Need::Setpriv, "where_no_home_is_known_credentials_are_refused_in_every_directory") {
        return;
    }
    let nobody = Uid::from_raw(54_321);
    assert!(User::from_uid(nobody).unwrap().is_none(), "the test needs a user without an entry");
    let bench = Bench::new();
    bench.open_to_all();
    std::fs::create_dir_all(bench.path("deep/.aws")).unwrap();
    bench.put("deep/.aws/credentials", "secret");
    let run = |home: Option<&str>, args: &[&str]| {
        let mut command = bench.command_as(nobody.as_raw(), args);
        match home {
            Some(home) => command.env("HOME", home),
            None => command.env_remove("HOME"),
        };
        Run::of(command.output().unwrap())
    };
    for home in [None, Some(""), Some("home")] {
        let read = run(home, &["read", "deep/.aws/credentials"]);
        assert!(read.code == 1 && read.stderr.contains("[secret]"), "{home:?}: {read:?}");
        assert_eq!(read.stdout, b"", "{home:?}");
        let list = run(home, &["ls", "~"]);
        assert_eq!(list.code, 3, "where `~` is cannot be known: {list:?}");
        let doctor = run(home, &["doctor"]);
        assert!(doctor.out().contains("home    not known"), "{home:?}: {doctor:?}");
    }
    // The control: a user whose home is known to be elsewhere can read it.
    let read = run(Some("/elsewhere"), &["read", "deep/.aws/credentials"]);
    assert_eq!(read.out(), "secret", "{read:?}");
}

#[test]
fn leftovers_of_dead_commits_are_listed_and_left_alone() {
    let bench = Bench::new();
    bench.put(".guard-abcd2345", "staged\n");
    let before = bench.state();
    let run = bench.guard(&["doctor", "--leftovers"]);
    assert!(bench.plain(run.out()).contains("[ws]/.guard-abcd2345"), "{run:?}");
    assert_eq!(bench.state(), before);
}

#[test]
fn output_is_coloured_on_a_terminal_only() {
    let bench = Bench::new();
    let run = bench.guard_with(&["write", "a.txt"], b"x\n");
    assert!(!run.out().contains('\u{1b}'), "{run:?}");
    let forced = bench.command(&["ls"]).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(forced.stdout.contains(&0x1b), "the control: where colour is forced there is some");
}

#[test]
fn completions_know_the_commands() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = bench.guard(&["completions", shell]);
        assert_eq!(run.code, 0);
        for word in ["explain", "dry-run", "danger-unseen", "target", "ssh-config", "leftovers"] {
            assert!(run.out().contains(word), "{shell} does not know {word}");
        }
        let need = match shell {
            "bash" => Need::Bash,
            "zsh" => Need::Zsh,
            "fish" => Need::Fish,
            _ => continue,
        };
        if skip::unless(need, "completions_know_the_commands") {
            continue;
        }
        // The shell itself takes them for a script.
        let file = bench.path(format!("guard.{shell}"));
        std::fs::write(&file, run.out()).unwrap();
        let checked = Command::new(shell).arg("-n").arg(&file).output().unwrap();
        assert!(checked.status.success() && checked.stderr.is_empty(), "{shell}: {checked:?}");
    }
}
