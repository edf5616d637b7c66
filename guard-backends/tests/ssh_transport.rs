//! SSH as a transport, against a real server.
#![cfg(feature = "ssh")]
#![allow(clippy::print_stdout, reason = "a process that is to be killed says when")]
#![allow(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]
#![allow(clippy::disallowed_methods, reason = "it starts itself again, to be killed")]

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use guard_backends::ssh::{Builder, HostKeys, Ssh};
use guard_core::port::{Session, Transport, TransportError};
use guard_testkit::delay::DelayProxy;
use guard_testkit::skip::{self, Need};
use guard_testkit::sshd::{LoginShell, Sshd};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

/// A server, and where control directories are made.
struct Bench {
    sshd: Sshd,
    control: TempDir,
}

impl Bench {
    fn new(builder: &guard_testkit::sshd::Builder) -> Self {
        // A short path, whatever the machine's directory for temporary files is.
        Self { sshd: builder.start().unwrap(), control: tempfile::tempdir_in("/tmp").unwrap() }
    }

    fn plain() -> Self {
        Self::new(&Sshd::builder())
    }

    /// Leads to the server, or to what is said instead.
    fn to(&self, url: &str) -> Builder {
        Ssh::to(url.parse().unwrap()).config(self.sshd.config()).control_directory(self.control.path())
    }

    async fn ssh(&self) -> Ssh {
        self.to(&self.sshd.url()).resolve().await.unwrap()
    }

    fn left(&self) -> usize {
        std::fs::read_dir(self.control.path()).unwrap().count()
    }
}

async fn text(mut stream: impl AsyncRead + Unpin) -> String {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    String::from_utf8(bytes).unwrap()
}

async fn run(ssh: &Ssh, command: &str) -> String {
    text(ssh.start(command).await.unwrap().output).await
}

async fn line(session: &mut Session) -> String {
    let mut line = String::new();
    while !line.ends_with('\n') {
        line.push(char::from(session.output.read_u8().await.unwrap()));
    }
    line
}

async fn refused(ssh: &Ssh) -> TransportError {
    match ssh.start("true").await {
        Err(error) => error,
        Ok(_) => panic!("it was started"),
    }
}

/// Waits for what another process does; there is no event for it.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn the_streams_are_apart_and_a_banner_is_in_none_of_them() {
    if skip::unless(Need::Sshd, "the_streams_are_apart_and_a_banner_is_in_none_of_them") {
        return;
    }
    let bench = Bench::new(
        &Sshd::builder()
            .banner("Permission denied (publickey).\n")
            .noise("echo noise; echo 'more noise' >&2"),
    );
    let ssh = bench.ssh().await;
    let mut session = ssh.start("cat; echo 'it is' said >&2; exit 3").await.unwrap();
    session.input.write_all(b"any\0bytes\n").await.unwrap();
    drop(session.input);
    assert_eq!(text(session.output).await, "noise\nany\0bytes\n");
    assert_eq!(text(session.errors.unwrap()).await, "more noise\nit is said\n");
    assert_eq!(session.end.status().await.as_deref(), Some("exit status: 3"));
}

#[tokio::test]
async fn the_command_line_arrives_byte_for_byte() {
    if skip::unless(Need::Sshd, "the_command_line_arrives_byte_for_byte") {
        return;
    }
    let bench = Bench::new(&Sshd::builder().forced("printf %s \"$SSH_ORIGINAL_COMMAND\""));
    let ssh = bench.ssh().await;
    for line in [
        "sh -c 'eval \"$(dd bs=1 count=12 2>/dev/null)\"'",
        " two  blanks\tand a tab ",
        "\\ \" ' ` $HOME ! # ~ * ? [a] {b,c} ; & | < > ( )",
        "two\nlines\r\n",
        "größer 日本語",
        "-x",
        "%h %% %n",
    ] {
        assert_eq!(run(&ssh, line).await, line);
    }
}

/// The start of a shell session, as every login shell has to read it.
#[tokio::test]
async fn a_session_begins_alike_under_every_login_shell() {
    const TEST: &str = "a_session_begins_alike_under_every_login_shell";
    const STAGE: &str =
        "printf '%s|' \"it's\" '\"two\"  words' '$HOME' '\\' '!' '~'\nprintf '%s\\n' \"$#\"; exec cat";
    if skip::unless(Need::Sshd, TEST) {
        return;
    }
    let command = format!("sh -c 'eval \"$(dd bs=1 count={} 2>/dev/null)\"'", STAGE.len());
    let body: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    for shell in LoginShell::ALL {
        if !shell.is_there() {
            skip::unmet(Need::Sshd, &format!("{TEST} ({shell:?}: {})", shell.package().unwrap_or_default()));
            continue;
        }
        let bench = Bench::new(&Sshd::builder().login_shell(*shell));
        let ssh = bench.ssh().await;
        let mut session = ssh.start(&command).await.unwrap();
        let (mut input, sent) = (session.input, [STAGE.as_bytes(), &body].concat());
        let write = tokio::spawn(async move { input.write_all(&sent).await });
        let mut received = Vec::new();
        session.output.read_to_end(&mut received).await.unwrap();
        write.await.unwrap().unwrap();
        let said = b"it's|\"two\"  words|$HOME|\\|!|~|0\n";
        assert_eq!(received.get(..said.len()), Some(&said[..]), "{shell:?}: {}", bench.sshd.log());
        assert!(received[said.len()..] == body, "{shell:?}: other bytes than were sent");
        assert_eq!(session.end.status().await.as_deref(), Some("exit status: 0"), "{shell:?}");
    }
}

#[tokio::test]
async fn what_is_large_passes_both_ways_at_once() {
    const LEN: usize = 48 * 1024 * 1024;
    if skip::unless(Need::Sshd, "what_is_large_passes_both_ways_at_once") {
        return;
    }
    let bench = Bench::plain();
    let mut session = bench.ssh().await.start("cat").await.unwrap();
    let byte = |at: usize| (at % 253) as u8;
    let mut input = session.input;
    let write = tokio::spawn(async move {
        let mut at = 0;
        while at < LEN {
            let piece: Vec<u8> = (at..(at + 100_000).min(LEN)).map(byte).collect();
            input.write_all(&piece).await.unwrap();
            at += piece.len();
        }
    });
    let (mut at, mut buffer) = (0, vec![0; 256 * 1024]);
    while let len @ 1.. = session.output.read(&mut buffer).await.unwrap() {
        assert!(buffer[..len].iter().enumerate().all(|(more, found)| *found == byte(at + more)), "near {at}");
        at += len;
    }
    assert_eq!(at, LEN);
    write.await.unwrap();
}

#[tokio::test]
async fn what_stands_in_the_way_is_told_apart() {
    if skip::unless(Need::Sshd, "what_stands_in_the_way_is_told_apart") {
        return;
    }
    let bench = Bench::plain();
    let url = bench.sshd.url();
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let nobody = free.local_addr().unwrap();
    drop(free);
    // It accepts, and says nothing.
    let mute = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mute = (mute.local_addr().unwrap(), mute);
    let here = bench.to(&url);
    for (name, to, kind, words) in [
        ("no such host", bench.to("ssh://no-such-host.invalid"), "unresolved", "no-such-host.invalid"),
        ("nobody listens", bench.to(&format!("ssh://{nobody}")), "unreachable", "Connection refused"),
        (
            "no answer",
            bench.to(&format!("ssh://{}", mute.0)).connect_timeout(Duration::from_secs(1)),
            "unreachable",
            "timed out",
        ),
        (
            "another host key",
            here.clone().known_hosts(other_key(&bench)),
            "host key",
            "REMOTE HOST IDENTIFICATION HAS CHANGED",
        ),
        (
            "no host key",
            here.clone().known_hosts(bench.sshd.unknown_hosts()),
            "host key",
            "host key is known for",
        ),
        (
            "no such user",
            bench.to(&format!("ssh://nobody-of-that-name@{}", bench.sshd.address())),
            "refused",
            "Permission denied (publickey)",
        ),
        (
            "no such jump host",
            here.clone().jump("ssh://no-such-jump.invalid".parse().unwrap()),
            "unresolved",
            "no-such-jump.invalid",
        ),
        (
            "a jump host that refuses",
            here.clone().jump(format!("ssh://nobody-of-that-name@{}", bench.sshd.jump()).parse().unwrap()),
            "refused",
            "Permission denied (publickey)",
        ),
    ] {
        let ssh = to.resolve().await.unwrap();
        let (found, why) = match refused(&ssh).await {
            TransportError::Unresolved { why } => ("unresolved", why),
            TransportError::Unreachable { why } => ("unreachable", why),
            TransportError::HostKey { why } => ("host key", why),
            TransportError::Refused { why } => ("refused", why),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(found, kind, "{name}: {why}");
        assert!(why.contains(words), "{name}: {why}");
        assert_eq!(bench.left(), 0, "{name}");
    }
    let stranger = here.clone().identity(bench.sshd.stranger()).config("/dev/null");
    let stranger = stranger.known_hosts(bench.sshd.known_hosts()).resolve().await.unwrap();
    assert!(matches!(refused(&stranger).await, TransportError::Refused { .. }));
}

/// Makes a file that has another key for the host than the one it shows.
fn other_key(bench: &Bench) -> std::path::PathBuf {
    let key = std::fs::read_to_string(bench.sshd.stranger().with_extension("pub")).unwrap();
    let file = bench.sshd.known_hosts().with_extension("other");
    std::fs::write(&file, format!("guard-sshd {key}")).unwrap();
    file
}

#[tokio::test]
async fn what_cannot_be_run_or_read_is_told_before_anything_is_opened() {
    if skip::unless(Need::Sshd, "what_cannot_be_run_or_read_is_told_before_anything_is_opened") {
        return;
    }
    let bench = Bench::plain();
    let config = bench.control.path().join("config");
    std::fs::write(&config, "NoSuchOption yes\n").unwrap();
    for (to, words) in [
        (bench.to("ssh://host").program("/no/such/ssh"), "/no/such/ssh: No such file"),
        (bench.to("ssh://host").config("/no/such/config"), "Can't open user config file /no/such/config"),
        (bench.to("ssh://host").config(&config), "Bad configuration option: nosuchoption"),
    ] {
        match to.resolve().await {
            Err(TransportError::Unreachable { why }) => assert!(why.contains(words), "{why}"),
            Err(other) => panic!("{words}: {other:?}"),
            Ok(_) => panic!("{words}: resolved"),
        }
    }
    let long = bench.control.path().join("long".repeat(20));
    std::fs::create_dir(&long).unwrap();
    let ssh = bench.to(&bench.sshd.url()).control_directory(&long).resolve().await.unwrap();
    match refused(&ssh).await {
        TransportError::Unreachable { why } => assert!(why.contains("too long"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_host_key_that_changes_is_noticed_with_the_next_connection() {
    if skip::unless(Need::Sshd, "a_host_key_that_changes_is_noticed_with_the_next_connection") {
        return;
    }
    let bench = Bench::plain();
    let ssh = bench.ssh().await;
    assert_eq!(run(&ssh, "echo first").await, "first\n");
    bench.sshd.change_host_key().unwrap();
    assert_eq!(run(&ssh, "echo 'the same connection'").await, "the same connection\n");
    bench.sshd.kill_connections();
    assert!(matches!(refused(&ssh).await, TransportError::HostKey { .. }));
}

#[tokio::test]
async fn a_new_host_is_taken_only_where_that_is_said_and_a_changed_one_never() {
    if skip::unless(Need::Sshd, "a_new_host_is_taken_only_where_that_is_said_and_a_changed_one_never") {
        return;
    }
    let bench = Bench::plain();
    let accepting = || {
        let to = bench.to(&bench.sshd.url()).known_hosts(bench.sshd.unknown_hosts());
        to.host_keys(HostKeys::AcceptNew).resolve()
    };
    assert_eq!(run(&accepting().await.unwrap(), "echo taken").await, "taken\n");
    bench.sshd.change_host_key().unwrap();
    assert!(matches!(refused(&accepting().await.unwrap()).await, TransportError::HostKey { .. }));
}

#[tokio::test]
async fn the_end_of_a_command_is_told_from_a_lost_connection() {
    if skip::unless(Need::Sshd, "the_end_of_a_command_is_told_from_a_lost_connection") {
        return;
    }
    let bench = Bench::plain();
    let ssh = bench.ssh().await;
    for (command, status) in [
        ("exit 255", "exit status: 255"),
        ("exit 0", "exit status: 0"),
        ("guard-no-such-program 2>/dev/null", "exit status: 127"),
        ("kill -9 $$", "ended by a signal"),
    ] {
        let mut session = ssh.start(command).await.unwrap();
        assert_eq!(session.end.status().await.as_deref(), Some(status), "{command}");
    }
    let mut closed = ssh.start("cat").await.unwrap();
    closed.end.kill().await;
    assert_eq!(closed.end.status().await.as_deref(), Some("closed from here"));
    let mut lost = ssh.start("echo on; cat").await.unwrap();
    assert_eq!(line(&mut lost).await, "on\n");
    assert_eq!(bench.sshd.kill_connections(), 1);
    assert_eq!(text(&mut lost.output).await, "", "a lost connection reads as an end");
    let status = lost.end.status().await.unwrap();
    assert!(status.starts_with("the connection was lost"), "{status}");
    assert_eq!(lost.end.status().await, Some(status));
}

#[tokio::test]
async fn an_account_without_a_shell_tells_how_its_command_ended() {
    if skip::unless(Need::Sshd, "an_account_without_a_shell_tells_how_its_command_ended") {
        return;
    }
    for (command, said, status) in [
        ("/usr/sbin/nologin", "This account is currently not available.\n", "exit status: 1"),
        ("/no/such/shell -c true 2>/dev/null", "", "exit status: 127"),
    ] {
        let bench = Bench::new(&Sshd::builder().forced(command));
        let mut session = bench.ssh().await.start("sh -c 'echo hello'").await.unwrap();
        assert_eq!(text(session.output).await, said);
        assert_eq!(session.end.status().await.as_deref(), Some(status));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_share_one_connection() {
    if skip::unless(Need::Sshd, "commands_share_one_connection") {
        return;
    }
    let bench = Bench::plain();
    let ssh = Arc::new(bench.ssh().await);
    let starts = (0..8).map(|number| {
        let ssh = Arc::clone(&ssh);
        tokio::spawn(async move {
            let mut session = ssh.start("cat").await.unwrap();
            session.input.write_all(format!("{number}\n").as_bytes()).await.unwrap();
            assert_eq!(line(&mut session).await, format!("{number}\n"));
            session
        })
    });
    let mut sessions = Vec::new();
    for start in starts.collect::<Vec<_>>() {
        sessions.push(start.await.unwrap());
    }
    assert_eq!((bench.sshd.accepted(), bench.left()), (1, 1));
    // One that ends leaves the others alone.
    sessions.remove(0).end.kill().await;
    for (session, number) in sessions.iter_mut().zip(1..) {
        session.input.write_all(format!("again {number}\n").as_bytes()).await.unwrap();
        assert_eq!(line(session).await, format!("again {number}\n"));
    }
}

#[tokio::test]
async fn a_connection_that_was_lost_is_opened_again_with_the_next_command() {
    if skip::unless(Need::Sshd, "a_connection_that_was_lost_is_opened_again_with_the_next_command") {
        return;
    }
    let mut bench = Bench::plain();
    let ssh = bench.ssh().await;
    for round in 1..=5 {
        assert_eq!(run(&ssh, "echo here").await, "here\n");
        assert_eq!((bench.sshd.accepted(), bench.sshd.kill_connections()), (round, 1));
    }
    bench.sshd.stop();
    match refused(&ssh).await {
        TransportError::Unreachable { why } => assert!(why.contains("Connection refused"), "{why}"),
        other => panic!("{other:?}"),
    }
    bench.sshd.restart().unwrap();
    assert_eq!(run(&ssh, "echo back").await, "back\n");
}

/// A user who is looked up slowly, as by a module that asks another machine: the host answers at once, and lets in late.
#[tokio::test(flavor = "multi_thread")]
async fn a_login_has_more_time_than_a_host_has_to_answer() {
    const TEST: &str = "a_login_has_more_time_than_a_host_has_to_answer";
    if skip::unless(Need::Sshd, TEST) || skip::unless(Need::Root, TEST) {
        return;
    }
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let (asked, gate) = (folder.path().join("asked"), folder.path().join("gate"));
    let known = folder.path().join("known");
    // For a key that is not on its own list the server asks, in the middle of a login.
    let script = format!("touch {}; while [ -e {} ]; do sleep 0.01; done", asked.display(), gate.display());
    let script = format!("{script}; cat {}", known.display());
    let keys = format!("AuthorizedKeysCommand /bin/sh -c \"{script}\"");
    let bench = Bench::new(&Sshd::builder().line("AuthorizedKeysCommandUser root").line(keys));
    std::fs::write(&gate, "").unwrap();
    std::fs::copy(bench.sshd.stranger().with_extension("pub"), &known).unwrap();
    let to = bench.to(&bench.sshd.url()).identity(bench.sshd.stranger());
    let to = to.connect_timeout(Duration::from_secs(1));
    let ssh = Arc::new(to.clone().resolve().await.unwrap());
    let start = |ssh: &Arc<Ssh>| {
        let ssh = Arc::clone(ssh);
        tokio::spawn(async move { ssh.start("echo in").await })
    };
    let mut started = start(&ssh);
    until("the server is asked for the keys", || asked.exists());
    let early = tokio::time::timeout(Duration::from_secs(3), &mut started).await;
    assert!(early.is_err(), "it was given up while it logged in: {}", bench.sshd.log());
    std::fs::remove_file(&gate).unwrap();
    assert_eq!(line(&mut started.await.unwrap().unwrap()).await, "in\n");
    // And it has an end.
    let ssh = Arc::new(to.login_timeout(Duration::from_secs(2)).resolve().await.unwrap());
    std::fs::write(&gate, "").unwrap();
    match start(&ssh).await.unwrap() {
        Err(TransportError::Unreachable { why }) => assert_eq!(why, "no answer within 2 s"),
        other => panic!("{:?}", other.err()),
    }
}

#[tokio::test]
async fn a_connection_that_answers_nothing_is_given_up_and_opened_again() {
    if skip::unless(Need::Sshd, "a_connection_that_answers_nothing_is_given_up_and_opened_again") {
        return;
    }
    let bench = Bench::plain();
    let proxy = DelayProxy::start(bench.sshd.address(), Duration::ZERO).unwrap();
    let to = bench.to(&format!("ssh://{}@{}", bench.sshd.user(), proxy.address()));
    let ssh = to.connect_timeout(Duration::from_secs(1)).resolve().await.unwrap();
    assert_eq!(run(&ssh, "echo here").await, "here\n");
    proxy.hold();
    let began = Instant::now();
    match refused(&ssh).await {
        TransportError::Unreachable { why } => assert_eq!(why, "no answer within 2 s"),
        other => panic!("{other:?}"),
    }
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    proxy.release();
    assert_eq!(run(&ssh, "echo again").await, "again\n");
    assert_eq!(bench.sshd.accepted(), 2);
}

#[tokio::test]
async fn a_session_too_many_is_an_error_and_no_success() {
    if skip::unless(Need::Sshd, "a_session_too_many_is_an_error_and_no_success") {
        return;
    }
    let bench = Bench::new(&Sshd::builder().max_sessions(1));
    let ssh = bench.ssh().await;
    let mut first = ssh.start("cat; echo over").await.unwrap();
    assert_eq!(
        refused(&ssh).await,
        TransportError::NoSession { why: "Session open refused by peer".to_owned() }
    );
    // The first goes on, and the connection is still the same.
    first.input.write_all(b"on\n").await.unwrap();
    assert_eq!(line(&mut first).await, "on\n");
    drop(first.input);
    assert_eq!(text(first.output).await, "over\n");
    assert_eq!(first.end.status().await.as_deref(), Some("exit status: 0"));
    // The server tells the end of a command before it counts its session as over.
    let began = Instant::now();
    let next = loop {
        match ssh.start("echo next").await {
            Ok(next) => break next,
            Err(TransportError::NoSession { .. }) => assert!(began.elapsed() < Duration::from_secs(20)),
            Err(other) => panic!("{other:?}"),
        }
    };
    assert_eq!(text(next.output).await, "next\n");
    assert_eq!(bench.sshd.accepted(), 1);
}

#[tokio::test]
async fn a_jump_host_is_gone_through_and_is_part_of_the_targets_name() {
    if skip::unless(Need::Sshd, "a_jump_host_is_gone_through_and_is_part_of_the_targets_name") {
        return;
    }
    let bench = Bench::plain();
    let (user, address) = (bench.sshd.user(), bench.sshd.address());
    let direct = bench.ssh().await;
    assert_eq!(direct.target().as_str(), format!("ssh:{user}@{address}"));
    let jump = format!("ssh://{}", bench.sshd.jump()).parse().unwrap();
    let far = bench.to(&bench.sshd.url()).jump(jump).resolve().await.unwrap();
    assert_eq!(far.target().as_str(), format!("ssh:{user}@{address} via {}", bench.sshd.jump()));
    assert_eq!(run(&far, "echo far").await, "far\n");
    assert_eq!(bench.sshd.accepted(), 2);
}

#[tokio::test]
async fn the_name_of_a_target_is_what_the_configuration_makes_of_it() {
    if skip::unless(Need::Sshd, "the_name_of_a_target_is_what_the_configuration_makes_of_it") {
        return;
    }
    let bench = Bench::plain();
    let alias = bench.to("ssh://guard-sshd").resolve().await.unwrap();
    assert_eq!(alias.target(), bench.ssh().await.target());
    assert_eq!(run(&alias, "echo here").await, "here\n");
}

/// What a configuration says for people at a terminal.
#[tokio::test]
async fn a_configuration_for_interactive_use_does_no_harm() {
    if skip::unless(Need::Sshd, "a_configuration_for_interactive_use_does_no_harm") {
        return;
    }
    let bench = Bench::plain();
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let config = bench.sshd.config();
    let usual = std::fs::read_to_string(&config).unwrap();
    let marker = bench.control.path().join("marker");
    let lines = [
        "LogLevel QUIET".to_owned(),
        "RequestTTY force".to_owned(),
        "RemoteCommand tmux attach".to_owned(),
        "PermitLocalCommand yes".to_owned(),
        format!("LocalCommand touch {}", marker.display()),
        format!("LocalForward {} localhost:1", taken.local_addr().unwrap()),
        "ExitOnForwardFailure yes".to_owned(),
        format!("ControlPath {}", bench.control.path().join("theirs").display()),
        "ControlMaster auto".to_owned(),
        "ControlPersist yes".to_owned(),
        "ServerAliveCountMax 0".to_owned(),
    ];
    std::fs::write(&config, format!("{usual}  {}\n", lines.join("\n  "))).unwrap();
    let ssh = bench.ssh().await;
    assert_eq!(run(&ssh, "tty; echo quiet").await, "not a tty\nquiet\n");
    ssh.close().await;
    assert_eq!(bench.left(), 0);
    let stranger =
        bench.to(&bench.sshd.url()).known_hosts(bench.sshd.unknown_hosts()).resolve().await.unwrap();
    assert!(matches!(refused(&stranger).await, TransportError::HostKey { .. }), "QUIET takes the words away");
}

#[tokio::test]
async fn nothing_of_the_control_directory_is_left() {
    use std::os::unix::fs::PermissionsExt as _;
    if skip::unless(Need::Sshd, "nothing_of_the_control_directory_is_left") {
        return;
    }
    let bench = Bench::plain();
    let ssh = bench.ssh().await;
    assert_eq!(bench.left(), 0, "nothing is opened before it is needed");
    // A command that pays no heed to its input's end.
    let mut stubborn = ssh.start("echo on; exec sleep 30").await.unwrap();
    assert_eq!(line(&mut stubborn).await, "on\n");
    let directory = std::fs::read_dir(bench.control.path()).unwrap().next().unwrap().unwrap();
    assert_eq!(directory.metadata().unwrap().permissions().mode() & 0o7777, 0o700);
    ssh.close().await;
    assert_eq!(bench.left(), 0);
    bench.sshd.wait_for_connections();
    assert_eq!(text(stubborn.output).await, "");
    assert_eq!(run(&ssh, "echo again").await, "again\n");
    // Dropped while a command goes on: its connection stays as long as it does.
    let mut last = ssh.start("cat").await.unwrap();
    drop(ssh);
    last.input.write_all(b"still here\n").await.unwrap();
    assert_eq!(line(&mut last).await, "still here\n");
    assert_eq!((bench.left(), bench.sshd.connections()), (1, 1));
    drop(last);
    bench.sshd.wait_for_connections();
    until("the directory is removed", || bench.left() == 0);
}

#[tokio::test]
async fn a_start_that_is_dropped_leaves_nothing() {
    if skip::unless(Need::Sshd, "a_start_that_is_dropped_leaves_nothing") {
        return;
    }
    let bench = Bench::plain();
    let mute = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let ssh = bench.to(&format!("ssh://{}", mute.local_addr().unwrap())).resolve().await.unwrap();
    let accepted = tokio::task::spawn_blocking(move || mute.accept().map(|(stream, _)| stream).unwrap());
    let mut stream = tokio::select! {
        _ = ssh.start("true") => panic!("nobody has answered"),
        stream = accepted => stream.unwrap(),
    };
    // Whoever called did not wait; `ssh` does not go on without them.
    std::io::Read::read_to_end(&mut stream, &mut Vec::new()).unwrap();
    until("the directory is removed", || bench.left() == 0);
}

/// Set for the process that is to be killed: the control directory and the server's configuration and URL.
const VICTIM: &str = "GUARD_SSH_VICTIM";

#[tokio::test]
async fn nothing_is_left_of_a_process_that_was_killed() {
    const TEST: &str = "nothing_is_left_of_a_process_that_was_killed";
    if let Some(said) = std::env::var_os(VICTIM) {
        return victim(said.to_str().unwrap()).await;
    }
    if skip::unless(Need::Sshd, TEST) {
        return;
    }
    let bench = Bench::plain();
    let control = bench.control.path().display();
    let mut process = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", TEST, "--nocapture", "--test-threads=1"])
        .env(VICTIM, format!("{control} {} {}", bench.sshd.config().display(), bench.sshd.url()))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = std::io::BufReader::new(process.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("the victim is ready") {
        line.clear();
        assert!(std::io::BufRead::read_line(&mut said, &mut line).unwrap() > 0, "it ended");
    }
    assert_eq!((bench.left(), bench.sshd.connections()), (1, 1));
    process.kill().unwrap();
    process.wait().unwrap();
    bench.sshd.wait_for_connections();
    until("the directory is removed", || bench.left() == 0);
}

async fn victim(said: &str) {
    let mut words = said.split(' ');
    let mut word = || words.next().unwrap();
    let (control, config) = (Path::new(word()), Path::new(word()));
    let to = Ssh::to(word().parse().unwrap()).config(config).control_directory(control);
    let ssh = to.resolve().await.unwrap();
    let mut session = ssh.start("echo ready; exec sleep 30").await.unwrap();
    println!("the victim is {}", line(&mut session).await);
    // Until it is killed.
    text(session.output).await;
}
