//! What the Docker transport does with containers in every state, and with engines that do not answer.
#![cfg(all(target_os = "linux", feature = "docker"))]
#![allow(clippy::unwrap_used, reason = "a test's helpers fail the test")]
#![allow(
    clippy::disallowed_methods,
    reason = "the tests are the other process, on this machine and in the container"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use guard_backends::docker::{Docker, Endpoint};
use guard_core::port::{Session, Transport, TransportError};
use guard_testkit::docker::{Builder, DockerTarget, Image, with_engine};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixListener, UnixStream};

async fn busybox() -> DockerTarget {
    DockerTarget::of(Image::BusyBox).start().await.unwrap()
}

async fn bytes(mut stream: impl AsyncRead + Unpin) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    bytes
}

async fn text(stream: impl AsyncRead + Unpin) -> String {
    String::from_utf8(bytes(stream).await).unwrap()
}

/// Runs a command to its end and returns what it said.
async fn said(transport: &Docker, command: &str) -> String {
    let Session { input, output, end: _end, .. } = transport.start(command).await.unwrap();
    drop(input);
    text(output).await.trim_end().to_owned()
}

async fn refusal(transport: &Docker, command: &str) -> TransportError {
    match transport.start(command).await {
        Ok(_) => panic!("it was started"),
        Err(error) => error,
    }
}

/// Asserts that the target cannot be reached, and that it is said why.
fn assert_unreachable(error: &TransportError, words: &str) {
    match error {
        TransportError::Unreachable { why } => assert!(why.contains(words), "{words:?} is not in {why:?}"),
        other => panic!("{other:?} instead of {words:?}"),
    }
}

/// Every byte, in an order in which none follows itself.
fn all_bytes(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at.wrapping_mul(167) >> 3) as u8).collect()
}

#[test]
fn the_streams_are_apart_and_the_status_is_told() {
    with_engine("the_streams_are_apart_and_the_status_is_told", async || {
        let container = busybox().await;
        let transport = container.open().await.unwrap();
        assert_eq!(transport.target().as_str(), format!("docker:{}", container.id()));
        let mut session = transport.start("cat; echo 'it is' said >&2; exit 3").await.unwrap();
        session.input.write_all(b"any\0bytes\xff\n").await.unwrap();
        session.input.shutdown().await.unwrap();
        assert_eq!(bytes(session.output).await, b"any\0bytes\xff\n");
        assert_eq!(text(session.errors.unwrap()).await, "it is said\n");
        assert_eq!(session.end.status().await.as_deref(), Some("exit status: 3"));
    });
}

#[test]
fn bytes_are_not_changed_however_many_go_both_ways() {
    with_engine("bytes_are_not_changed_however_many_go_both_ways", async || {
        for image in [Image::BusyBox, Image::Gnu] {
            let container = DockerTarget::of(image).start().await.unwrap();
            let transport = container.open().await.unwrap();
            let sent = all_bytes(24 << 20);
            let Session { mut input, output, errors, end } = transport.start("cat").await.unwrap();
            let feed = async {
                input.write_all(&sent).await.unwrap();
                // Dropped, as a pipe would be: the command sees the end.
                drop(input);
            };
            let ((), received, words) = tokio::join!(feed, bytes(output), text(errors.unwrap()));
            assert!(received == sent, "{image:?}: {} bytes of {}", received.len(), sent.len());
            assert_eq!(words, "");
            drop(end);
        }
    });
}

#[test]
fn words_that_nobody_reads_hold_nothing_up() {
    with_engine("words_that_nobody_reads_hold_nothing_up", async || {
        let container = busybox().await;
        let transport = container.open().await.unwrap();
        let command = "dd if=/dev/zero bs=1024 count=8192 >&2 2>/dev/null; echo answer";
        let Session { output, errors, input, end } = transport.start(command).await.unwrap();
        assert_eq!(text(output).await, "answer\n");
        drop((errors, input, end));
    });
}

/// Output that nobody takes does not pile up here: the command has to wait for its reader.
#[test]
fn output_waits_for_its_reader() {
    with_engine("output_waits_for_its_reader", async || {
        let container = busybox().await;
        let transport = container.open().await.unwrap();
        let mut session =
            transport.start("dd if=/dev/zero bs=65536 count=512 2>/dev/null && echo done >&2").await.unwrap();
        let mut errors = session.errors.take().unwrap();
        let mut word = [0; 5];
        let waits = tokio::time::timeout(Duration::from_millis(300), errors.read_exact(&mut word)).await;
        assert!(waits.is_err(), "32 MiB were taken though nobody reads them");
        let output = tokio::spawn(bytes(session.output));
        errors.read_exact(&mut word).await.unwrap();
        assert_eq!(output.await.unwrap().len(), 32 << 20);
    });
}

#[test]
fn many_sessions_at_once_do_not_mix() {
    with_engine("many_sessions_at_once_do_not_mix", async || {
        let container = busybox().await;
        let transport = Arc::new(container.open().await.unwrap());
        let sessions = (0..12).map(|number: u8| {
            let transport = Arc::clone(&transport);
            tokio::spawn(async move {
                let sent = vec![number; 200_000];
                let Session { mut input, output, end: _end, .. } = transport.start("cat").await.unwrap();
                let feed = async {
                    input.write_all(&sent).await.unwrap();
                    input.shutdown().await.unwrap();
                };
                assert!(tokio::join!(feed, bytes(output)).1 == sent, "session {number}");
            })
        });
        for session in sessions.collect::<Vec<_>>() {
            session.await.unwrap();
        }
    });
}

/// The command as the shell session gives it: what follows it on the input belongs to it, to the byte.
#[test]
fn the_boot_command_reads_its_script_and_not_a_byte_more() {
    with_engine("the_boot_command_reads_its_script_and_not_a_byte_more", async || {
        for image in [Image::BusyBox, Image::Gnu] {
            let container = DockerTarget::of(image).start().await.unwrap();
            let transport = container.open().await.unwrap();
            let script = "read -r line; echo \"[$line]\"; cat";
            let command = format!("sh -c 'eval \"$(dd bs=1 count={} 2>/dev/null)\"'", script.len());
            let Session { mut input, output, end: _end, .. } = transport.start(&command).await.unwrap();
            input.write_all(format!("{script}a line\nthe rest").as_bytes()).await.unwrap();
            input.shutdown().await.unwrap();
            assert_eq!(text(output).await, "[a line]\nthe rest", "{image:?}");
        }
    });
}

#[test]
fn killing_or_dropping_ends_a_command_that_reads_its_input() {
    with_engine("killing_or_dropping_ends_a_command_that_reads_its_input", async || {
        let container = busybox().await;
        let transport = container.open().await.unwrap();
        for drops in [false, true] {
            let command = "mkfifo /tmp/ended; echo started; cat; echo over >/tmp/ended";
            let mut session = transport.start(command).await.unwrap();
            let mut started = [0; 8];
            session.output.read_exact(&mut started).await.unwrap();
            if drops {
                drop(session.end);
            } else {
                session.end.kill().await;
                session.end.kill().await;
            }
            assert_eq!(text(session.output).await, "");
            assert!(session.input.write_all(b"x").await.is_err(), "the input is closed");
            let ended = container.exec(&["sh", "-c", "cat /tmp/ended; rm /tmp/ended"], b"").await.unwrap();
            assert_eq!(ended.output, b"over\n");
        }
    });
}

#[test]
fn what_cannot_be_found_is_told() {
    with_engine("what_cannot_be_found_is_told", async || {
        let endpoint = || Endpoint::unix(Endpoint::USUAL_SOCKET);
        for (name, words) in [
            ("guard-no-such-container", "there is no container \"guard-no-such-container\""),
            ("../images/json", "no container can have the name \"../images/json\""),
            ("a?b", "no container can have the name"),
            ("", "no container can have the name"),
        ] {
            assert_unreachable(&Docker::container(endpoint(), name).open().await.err().unwrap(), words);
        }
        let nowhere = Docker::container(Endpoint::unix("/nowhere/docker.sock"), "web").open().await;
        assert_unreachable(
            &nowhere.err().unwrap(),
            "no socket of a Docker engine can be seen at /nowhere/docker.sock",
        );
        let closed = Docker::container(Endpoint::tcp("127.0.0.1:1"), "web").open().await;
        assert_unreachable(&closed.err().unwrap(), "Connection refused");
    });
}

#[test]
fn an_identifier_or_its_beginning_names_the_same_target() {
    with_engine("an_identifier_or_its_beginning_names_the_same_target", async || {
        let container = busybox().await;
        for name in [container.id(), &container.id()[..12]] {
            let opened =
                Docker::container(Endpoint::unix(Endpoint::USUAL_SOCKET), name).open().await.unwrap();
            assert_eq!(opened.id(), container.id());
        }
    });
}

#[test]
fn a_paused_container_is_told_in_time_and_goes_on_afterwards() {
    with_engine("a_paused_container_is_told_in_time_and_goes_on_afterwards", async || {
        let container = busybox().await;
        let transport = container.open().await.unwrap();
        container.pause().await.unwrap();
        let before = Instant::now();
        assert_unreachable(&refusal(&transport, "true").await, "is paused");
        assert!(before.elapsed() < Duration::from_secs(5), "{:?}", before.elapsed());
        assert_unreachable(&refusal(&container.open().await.unwrap(), "true").await, "is paused");
        container.unpause().await.unwrap();
        assert_eq!(said(&transport, "echo on").await, "on");
    });
}

/// A session that is open when its container is paused says nothing, and nothing is lost: it goes on afterwards.
#[test]
fn a_session_of_a_paused_container_is_silent_until_it_goes_on() {
    with_engine("a_session_of_a_paused_container_is_silent_until_it_goes_on", async || {
        let container = busybox().await;
        let transport = container.open().await.unwrap();
        let mut session = transport.start("cat").await.unwrap();
        container.pause().await.unwrap();
        session.input.write_all(b"later").await.unwrap();
        let mut answer = [0; 5];
        let silent = tokio::time::timeout(Duration::from_millis(300), session.output.read(&mut answer)).await;
        assert!(silent.is_err(), "{silent:?}");
        container.unpause().await.unwrap();
        session.output.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"later");
    });
}

#[test]
fn stopped_and_never_started_containers_are_told_and_a_restarted_one_is_the_same_target() {
    with_engine(
        "stopped_and_never_started_containers_are_told_and_a_restarted_one_is_the_same_target",
        async || {
            let container = DockerTarget::of(Image::BusyBox).created().await.unwrap();
            let transport = container.open().await.unwrap();
            assert_unreachable(&refusal(&transport, "true").await, "was never started");
            container.start().await.unwrap();
            assert_eq!(said(&transport, "echo on >/tmp/kept; cat /tmp/kept").await, "on");
            container.stop().await.unwrap();
            assert_unreachable(&refusal(&transport, "true").await, "is stopped (exit status 137)");
            container.start().await.unwrap();
            assert_eq!(said(&transport, "cat /tmp/kept").await, "on");
            container.restart().await.unwrap();
            assert_eq!(said(&transport, "cat /tmp/kept").await, "on");
        },
    );
}

#[test]
fn a_restarting_container_is_told() {
    with_engine("a_restarting_container_is_told", async || {
        let container =
            DockerTarget::of(Image::BusyBox).command(&["false"]).restarts().start().await.unwrap();
        let transport = container.open().await.unwrap();
        // Between two restarts it runs for an instant, in which anything can be seen.
        loop {
            match transport.start("cat").await {
                Err(TransportError::Unreachable { why }) if why.contains("is restarting") => return,
                Err(TransportError::Unreachable { .. }) | Ok(_) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
    });
}

#[test]
fn a_container_made_anew_under_the_name_is_refused_until_it_is_opened_anew() {
    with_engine("a_container_made_anew_under_the_name_is_refused_until_it_is_opened_anew", async || {
        let mut container = busybox().await;
        let transport = container.open().await.unwrap();
        let by_id =
            Docker::container(Endpoint::unix(Endpoint::USUAL_SOCKET), container.id()).open().await.unwrap();
        container.recreate().await.unwrap();
        assert_eq!(refusal(&transport, "touch /tmp/wrong").await, TransportError::TargetChanged);
        assert_unreachable(&refusal(&by_id, "touch /tmp/wrong").await, "was removed");
        let anew = container.open().await.unwrap();
        assert_ne!(anew.target(), transport.target());
        assert_eq!(said(&anew, "ls /tmp").await, "");
    });
}

#[test]
fn a_removed_container_is_told() {
    with_engine("a_removed_container_is_told", async || {
        let container = busybox().await;
        let transport = container.open().await.unwrap();
        let mut session = transport.start("cat").await.unwrap();
        container.remove().await.unwrap();
        assert_eq!(text(session.output).await, "", "the session is over");
        assert!(session.end.status().await.unwrap().contains("No such exec instance"));
        assert_unreachable(&refusal(&transport, "true").await, "was removed");
    });
}

#[test]
fn a_killed_container_and_a_killed_shell_are_noticed() {
    with_engine("a_killed_container_and_a_killed_shell_are_noticed", async || {
        let container = busybox().await;
        let transport = container.open().await.unwrap();
        let mut session = transport.start("echo $$; cat").await.unwrap();
        let mut pid = [0; 8];
        let len = session.output.read(&mut pid).await.unwrap();
        let pid = String::from_utf8(pid[..len].to_vec()).unwrap();
        container
            .exec(&["sh", "-c", &format!("kill -9 {0} $(pgrep -P {0})", pid.trim())], b"")
            .await
            .unwrap();
        assert_eq!(text(session.output).await, "");
        assert_eq!(session.end.status().await.as_deref(), Some("exit status: 137"));

        let mut session = transport.start("cat").await.unwrap();
        container.kill().await.unwrap();
        assert_eq!(text(session.output).await, "");
        assert!(session.end.status().await.is_some());
        assert_unreachable(&refusal(&transport, "true").await, "is stopped");
    });
}

#[test]
fn an_image_without_a_shell_is_told() {
    with_engine("an_image_without_a_shell_is_told", async || {
        let container = DockerTarget::of(Image::NoShell).start().await.unwrap();
        match refusal(&container.open().await.unwrap(), "true").await {
            TransportError::NoShell { why } => {
                assert!(why.contains("\"sh\": executable file not found"), "{why}");
            }
            other => panic!("{other:?}"),
        }
    });
}

/// A `sh` that is none says something else than that it is there.
#[test]
fn a_shell_that_is_none_is_told() {
    with_engine("a_shell_that_is_none_is_told", async || {
        let directory = tempfile::tempdir().unwrap();
        let fake = directory.path().join("sh");
        std::fs::write(&fake, "#!/bin/busybox echo\n").unwrap();
        std::fs::set_permissions(&fake, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let container = DockerTarget::of(Image::BusyBox).bind(&fake, "/usr/bin/sh").start().await.unwrap();
        // The engine's PATH has /usr/bin before /bin.
        match refusal(&container.open().await.unwrap(), "true").await {
            TransportError::NoShell { why } => assert!(why.contains("ended with status 0"), "{why}"),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn the_user_is_the_containers_unless_another_is_named() {
    with_engine("the_user_is_the_containers_unless_another_is_named", async || {
        let container =
            DockerTarget::of(Image::BusyBox).user(1000).workdir("/home/guard").start().await.unwrap();
        let look = "echo $(id -u):$(id -g) $HOME; pwd";
        assert_eq!(said(&container.open().await.unwrap(), look).await, "1000:1000 /home/guard\n/home/guard");
        for (user, expected) in
            [("root", "0:0 /root"), ("guard", "1000:1000 /home/guard"), ("0:1000", "0:1000 /root")]
        {
            let other = container.transport().user(user).open().await.unwrap();
            assert_eq!(said(&other, look).await, format!("{expected}\n/home/guard"));
        }
        for user in ["nobody-known", "guard:nobody-known"] {
            match refusal(&container.transport().user(user).open().await.unwrap(), "true").await {
                TransportError::Refused { why } => assert!(why.contains("nobody-known"), "{why}"),
                other => panic!("{other:?}"),
            }
        }
    });
}

/// The directory in which commands are started can be removed while the container runs.
#[test]
fn a_working_directory_that_is_gone_is_told() {
    with_engine("a_working_directory_that_is_gone_is_told", async || {
        let container = DockerTarget::of(Image::BusyBox).workdir("/tmp/here").start().await.unwrap();
        let transport = container.open().await.unwrap();
        assert_eq!(said(&transport, "pwd; rmdir /tmp/here").await, "/tmp/here");
        assert_unreachable(&refusal(&transport, "true").await, "/tmp/here");
    });
}

/// What the container's filesystems are is the shell's business: the transport reaches it on all of them.
#[test]
fn every_kind_of_mount_is_reached() {
    with_engine("every_kind_of_mount_is_reached", async || {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "of the host\n").unwrap();
        let try_it = |at: &str| format!("cd {at} && echo in >f && cat f");
        let cases: &[(&str, fn(Builder, &std::path::Path) -> Builder, String, &str)] = &[
            (
                "a read-only root",
                |it, _| it.read_only(),
                "(echo in >/tmp/f) 2>&1".to_owned(),
                "Read-only file system",
            ),
            ("a tmpfs", |it, _| it.read_only().tmpfs("/scratch"), try_it("/scratch"), "in"),
            ("a bound folder", |it, at| it.bind(at.parent().unwrap(), "/bound"), try_it("/bound"), "in"),
            ("a bound file", |it, at| it.bind(at, "/etc/bound"), "cat /etc/bound".to_owned(), "of the host"),
            ("a volume", |it, _| it.volume("/data"), try_it("/data"), "in"),
            ("a user", |it, _| it.user(1000), try_it("/home/guard"), "in"),
        ];
        for (name, configure, command, expected) in cases {
            let container = configure(DockerTarget::of(Image::BusyBox), &file).start().await.unwrap();
            let seen = said(&container.open().await.unwrap(), command).await;
            assert!(seen.ends_with(expected), "{name}: {seen}");
        }
        assert_eq!(std::fs::read_to_string(directory.path().join("f")).unwrap(), "in\n");
    });
}

/// Over TCP it is the same; here through a relay to this machine's engine.
#[test]
fn an_engine_is_reached_over_tcp() {
    with_engine("an_engine_is_reached_over_tcp", async || {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = format!("tcp://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            loop {
                let (mut from, _) = listener.accept().await.unwrap();
                tokio::spawn(async move {
                    let mut to = UnixStream::connect(Endpoint::USUAL_SOCKET).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut from, &mut to).await;
                });
            }
        });
        let container = busybox().await;
        let endpoint = Endpoint::from_host(&host, None).unwrap();
        let transport = Docker::container(endpoint, container.name()).open().await.unwrap();
        let Session { mut input, output, end: _end, .. } = transport.start("cat; echo over").await.unwrap();
        input.write_all(b"there and back; ").await.unwrap();
        input.shutdown().await.unwrap();
        assert_eq!(text(output).await, "there and back; over\n");
    });
}

/// An engine that takes connections and never answers.
#[tokio::test]
async fn an_engine_that_hangs_is_told_in_time() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("docker.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let hanging = tokio::spawn(async move {
        let mut held = Vec::new();
        loop {
            held.push(listener.accept().await.unwrap());
        }
    });
    let endpoint = Endpoint::unix(socket.to_str().unwrap());
    let opened = Docker::container(endpoint, "web").deadline(Duration::from_millis(100)).open().await;
    assert_unreachable(&opened.err().unwrap(), "did not answer within 100ms");
    hanging.abort();
}

/// An engine that stops answering after the container was found: every later question has its deadline too.
#[test]
fn an_engine_that_hangs_later_is_told_in_time() {
    with_engine("an_engine_that_hangs_later_is_told_in_time", async || {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("docker.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let container = busybox().await;
        tokio::spawn(async move {
            // One answer, and then silence.
            let (mut from, _) = listener.accept().await.unwrap();
            let mut to = UnixStream::connect(Endpoint::USUAL_SOCKET).await.unwrap();
            let _ = tokio::io::copy_bidirectional(&mut from, &mut to).await;
            let mut held = Vec::new();
            loop {
                held.push(listener.accept().await.unwrap());
            }
        });
        let endpoint = Endpoint::unix(socket.to_str().unwrap());
        let opening = Docker::container(endpoint, container.name()).deadline(Duration::from_secs(2));
        let transport = opening.open().await.unwrap();
        assert_unreachable(&refusal(&transport, "true").await, "did not answer within 2s");
    });
}

/// Whatever is not in a frame is no output: here an engine that sends text as it is.
#[tokio::test]
async fn a_broken_frame_ends_the_session() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("docker.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let engine = tokio::spawn(async move {
        let json = |body: &str| {
            format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
        };
        let greeting = b"guard: a shell is there\n";
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 8192];
            let len = client.read(&mut request).await.unwrap();
            let line = String::from_utf8_lossy(&request[..len]).lines().next().unwrap_or_default().to_owned();
            if line.contains("/start") {
                let upgraded = "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n";
                client.write_all(upgraded.as_bytes()).await.unwrap();
                let frame = [&[1, 0, 0, 0, 0, 0, 0, greeting.len() as u8][..], greeting].concat();
                client.write_all(&frame).await.unwrap();
                client.write_all(b"\x01\x00\x00\x00\x00\x00\x00\x03yesNO FRAME AT ALL").await.unwrap();
            } else {
                client.write_all(json("{\"Id\":\"abc\"}").as_bytes()).await.unwrap();
            }
        }
    });
    let transport = Docker::container(Endpoint::unix(socket.to_str().unwrap()), "web").open().await.unwrap();
    let mut session = transport.start("cat").await.unwrap();
    let mut all = Vec::new();
    let error = session.output.read_to_end(&mut all).await.unwrap_err();
    assert_eq!(
        (all.as_slice(), error.to_string().as_str()),
        (&b"yes"[..], "a broken frame from the Docker engine")
    );
    engine.abort();
}
