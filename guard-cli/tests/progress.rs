//! The bar of a command: drawn on a terminal, and gone when the command is over.
#![allow(clippy::disallowed_methods, reason = "tests make files and start the binary")]
#![allow(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

mod bench;

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::Stdio;

use bench::{Bench, Run};
use guard_testkit::skip::{self, Need};
use guard_testkit::sshd::Sshd;
use nix::pty::{Winsize, openpty};

const ROWS: u16 = 24;
/// Wide enough that no line of a message is broken.
const COLUMNS: u16 = 240;
const ON_A_TERMINAL: &[(&str, &str)] = &[("TERM", "xterm-256color")];

/// What a run came to, and what its standard error, a terminal, was sent.
struct Watched {
    run: Run,
    sent: String,
}

impl Watched {
    /// Runs the binary with a terminal for its standard error.
    fn of(bench: &Bench, args: &[&str], stdin: &[u8], variables: &[(&str, &str)]) -> Self {
        let size = Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
        let terminal = openpty(Some(&size), None).unwrap();
        let mut command = bench.command(args);
        command.envs(variables.iter().copied()).stdin(Stdio::piped()).stderr(Stdio::from(terminal.slave));
        let mut child = command.spawn().unwrap();
        // Its copy of the terminal's other end would keep it open.
        drop(command);
        let mut master = File::from(terminal.master);
        let watching = std::thread::spawn(move || {
            let (mut sent, mut piece) = (Vec::new(), [0; 4096]);
            // pty(7): EIO once nobody has the other end open.
            while let Ok(len @ 1..) = master.read(&mut piece) {
                sent.extend_from_slice(&piece[..len]);
            }
            String::from_utf8(sent).unwrap()
        });
        // A command that does not read its input may be gone already.
        let _ = child.stdin.take().unwrap().write_all(stdin);
        let run = Run::of(child.wait_with_output().unwrap());
        Self { run, sent: watching.join().unwrap() }
    }

    /// What is on the screen in the end.
    fn screen(&self) -> String {
        let mut terminal = vt100::Parser::new(ROWS, COLUMNS, 0);
        terminal.process(self.sent.as_bytes());
        let screen = terminal.screen();
        assert!(!screen.hide_cursor());
        screen.contents()
    }
}

/// More than gets a bar at once, in lines.
fn large() -> Vec<u8> {
    b"a line of sixteen\n".repeat((9 << 20) / 18)
}

#[test]
fn a_large_transfer_draws_a_bar_and_leaves_the_screen_as_it_would_be_without_one() {
    let bench = Bench::new();
    let large = large();
    let write = Watched::of(&bench, &["write", "big.txt"], &large, ON_A_TERMINAL);
    assert_eq!(write.run.code, 0, "{}", write.sent);
    assert!(write.sent.contains("writing big.txt [") && write.sent.contains("MiB"), "{:?}", write.sent);
    assert_eq!(write.screen(), "");
    assert_eq!(bench.get("big.txt"), large);
    let other = Bench::new();
    let piped = other.guard_with(&["write", "big.txt"], &large);
    assert_eq!(bench.plain(write.run.out()), other.plain(piped.out()));
    assert_eq!(piped.stderr, "");

    // What is read, and what is said beside it; and a refusal.
    for (args, code) in [
        (&["read", "big.txt", "--limit", "2"][..], 0),
        (&["edit", "big.txt", "--old", "not in it", "--new", "x"], 1),
    ] {
        let (watched, piped) = (Watched::of(&bench, args, b"", ON_A_TERMINAL), bench.guard(args));
        assert_eq!((watched.run.code, piped.code), (code, code), "{}", watched.sent);
        assert!(watched.sent.contains("reading big.txt ["), "{:?}", watched.sent);
        assert_eq!(watched.screen(), piped.stderr.trim_end(), "{args:?}");
        assert_eq!(watched.run.stdout, piped.stdout, "{args:?}");
        assert!(!piped.stderr.is_empty() && !piped.stderr.contains(['\r', '\u{1b}']), "{:?}", piped.stderr);
    }
}

#[test]
fn there_is_no_bar_for_what_is_small_nor_where_nobody_wants_one() {
    let bench = Bench::new();
    let large = large();
    let small = Watched::of(&bench, &["write", "small.txt"], b"small\n", ON_A_TERMINAL);
    assert_eq!((small.run.code, small.sent.as_str()), (0, ""));
    for (at, (args, variables)) in [
        (&["write", "--json"][..], ON_A_TERMINAL),
        (&["write"], &[("TERM", "xterm"), ("NO_COLOR", "1")]),
        (&["write"], &[("TERM", "dumb")]),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("big-{at}.txt");
        let watched = Watched::of(&bench, &[args, &[&name]].concat(), &large, variables);
        assert_eq!((watched.run.code, watched.sent.as_str()), (0, ""), "{args:?} {variables:?}");
        assert!(!watched.run.out().is_empty());
    }
    // Also where styles are wanted of what is no terminal.
    let mut command = bench.command(&["edit", "big-0.txt", "--old", "not in it", "--new", "x"]);
    let run = Run::of(command.envs([("TERM", "xterm"), ("CLICOLOR_FORCE", "1")]).output().unwrap());
    assert!(run.code == 1 && run.stderr.contains("refused") && !run.stderr.contains("reading"), "{run:?}");
}

#[test]
fn a_transfer_to_another_machine_has_a_bar() {
    if skip::unless(Need::Sshd, "a_transfer_to_another_machine_has_a_bar") {
        return;
    }
    let (bench, there, sshd) = (Bench::new(), tempfile::tempdir().unwrap(), Sshd::start().unwrap());
    let (url, config) = (sshd.url(), sshd.config().into_os_string().into_string().unwrap());
    let root = there.path().canonicalize().unwrap();
    let before = ["--target", &url, "--ssh-config", &config, "--root", root.to_str().unwrap()];
    let large = large();
    for (args, stdin, words) in [
        (&["write", "big.txt"][..], &large[..], "writing big.txt ["),
        (&["read", "big.txt", "--limit", "1"], b"", "reading big.txt ["),
    ] {
        let watched = Watched::of(&bench, &[&before, args].concat(), stdin, ON_A_TERMINAL);
        assert_eq!(watched.run.code, 0, "{}", watched.sent);
        assert!(watched.sent.contains(words), "{:?}", watched.sent);
        assert!(!watched.screen().contains("big.txt ["), "{}", watched.screen());
    }
    assert_eq!(std::fs::read(root.join("big.txt")).unwrap(), large);
    sshd.wait_for_connections();
}
