//! The built binary on targets that are somewhere else: a real SSH server, real containers.
#![allow(clippy::disallowed_methods, reason = "tests make files and start the binary")]
#![allow(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

mod bench;

use std::io::Write as _;
use std::process::Stdio;

use bench::{Bench, Run};
use guard_testkit::docker::{DockerTarget, Image, with_engine};
use guard_testkit::skip::{self, Need};
use guard_testkit::sshd::Sshd;

/// Runs the binary on a target, with variables of its environment.
fn guard(bench: &Bench, before: &[&str], args: &[&str], stdin: &str, variables: &[(&str, &str)]) -> Run {
    let mut command = bench.command(&[before, args].concat());
    let mut child = command.envs(variables.iter().copied()).stdin(Stdio::piped()).spawn().unwrap();
    // A command that does not read its input may be gone already.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    Run::of(child.wait_with_output().unwrap())
}

/// The digest of `one\n`.
const ONE: &str = "sha256:2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806";

/// Every command, what it is given, how it ends and what is in what it prints. `~` is the target's home.
const EVERY_COMMAND: &[(&[&str], &str, i32, &str)] = &[
    (&["write", "notes.txt"], "one\n", 0, ""),
    (&["write", "notes.txt"], "two\n", 1, "[exists]"),
    (&["read", "notes.txt"], "", 0, "one\n"),
    (&["edit", "notes.txt", "--old", "one", "--new", "two"], "", 0, ""),
    (&["edit", "notes.txt", "--old", "two", "--new", "one"], "", 0, ""),
    (&["stat", "notes.txt"], "", 0, ONE),
    (&["patch"], "*** Begin Patch\n*** Add File: d/added.txt\n+added\n*** End Patch\n", 0, ""),
    (&["mkdir", "a/b"], "", 0, ""),
    (&["mv", "d/added.txt", "a/b/moved.txt"], "", 0, ""),
    (&["ls", "a/b"], "", 0, "moved.txt"),
    (&["write", "~/in-the-home.txt"], "x\n", 0, ""),
    (&["read", "~/in-the-home.txt"], "", 0, "x\n"),
    (&["read", "~/.ssh/id_ed25519"], "", 1, "[secret]"),
    (&["explain", ".git/hooks/pre-commit"], "", 0, ""),
    (&["rm", "notes.txt"], "", 1, "[not-read]"),
    (&["rm", "notes.txt", "--expect", ONE], "", 0, ""),
    (&["read", "notes.txt"], "", 1, "[not-found]"),
    (&["doctor", "--leftovers"], "", 0, "no leftovers"),
];

fn every_command(bench: &Bench, before: &[&str], variables: &[(&str, &str)]) {
    for (args, stdin, code, words) in EVERY_COMMAND {
        let run = guard(bench, before, args, stdin, variables);
        assert_eq!(run.code, *code, "{args:?}: {run:?}");
        let said = format!("{}{}", run.out(), run.stderr);
        assert!(said.contains(words), "{args:?}: {words:?} is not in {said}");
    }
    // Nothing of it was done here.
    assert_eq!(std::fs::read_dir(bench.root()).unwrap().count(), 0);
}

#[test]
fn every_command_works_over_ssh_and_leaves_no_connection() {
    if skip::unless(Need::Sshd, "every_command_works_over_ssh_and_leaves_no_connection") {
        return;
    }
    let (bench, there, sshd) = (Bench::new(), tempfile::tempdir().unwrap(), Sshd::start().unwrap());
    let (url, config) = (sshd.url(), sshd.config());
    let (config, root) = (config.to_str().unwrap(), there.path().canonicalize().unwrap());
    let before = ["--target", &url, "--ssh-config", config, "--root", root.to_str().unwrap(), "--root", "~"];
    every_command(&bench, &before, &[]);
    assert_eq!(std::fs::read(root.join("a/b/moved.txt")).unwrap(), b"added\n");
    assert_eq!(std::fs::read(sshd.home().join("in-the-home.txt")).unwrap(), b"x\n");
    // What a commit that died left behind is found, and what only looks like it is not.
    for name in ["a/b/.guard-abcdefgh", "a/.guard-abcdefg", "a/.guard-abcdefg1"] {
        std::fs::write(root.join(name), "one\n").unwrap();
    }
    let run = guard(&bench, &before, &["doctor", "--leftovers", "--json"], "", &[]);
    let leftovers = &run.json()["result"]["leftovers"];
    assert_eq!(leftovers["found"].as_array().unwrap().len(), 1, "{leftovers}");
    assert_eq!(leftovers["found"][0]["path"], root.join("a/b/.guard-abcdefgh").to_str().unwrap());
    assert!(leftovers["found"][0]["state"].to_string().contains(ONE), "{leftovers}");
    sshd.wait_for_connections();
}

#[test]
fn every_command_works_in_a_container_as_the_user_that_is_named() {
    with_engine("every_command_works_in_a_container_as_the_user_that_is_named", async || {
        let bench = Bench::new();
        let container = DockerTarget::of(Image::BusyBox).start().await.unwrap();
        let made = container
            .exec(&["sh", "-c", "mkdir -p /srv/app && chown 1000:1000 /srv/app"], b"")
            .await
            .unwrap();
        assert_eq!(made.code, 0, "{made:?}");
        let url = format!("docker://{}?user=guard", container.name());
        let host = ("DOCKER_HOST", "unix:///var/run/docker.sock");
        every_command(&bench, &["--target", &url, "--root", "/srv/app", "--root", "~"], &[host]);
        let line =
            "cat /srv/app/a/b/moved.txt /home/guard/in-the-home.txt; stat -c %u /srv/app/a/b/moved.txt";
        let seen = container.exec(&["sh", "-c", line], b"").await.unwrap();
        assert_eq!(String::from_utf8_lossy(&seen.output), "added\nx\n1000\n");
    });
}

#[test]
fn what_is_no_target_is_a_usage_error_before_anything_is_contacted() {
    let bench = Bench::new();
    for (target, root, words) in [
        ("podman://web", "/srv", "no target is reached by podman://"),
        ("ssh://a:secret@host", "/srv", "a password has no place"),
        ("docker://web?group=x", "/srv", "has no meaning"),
        ("elsewhere", "/srv", "a target is local, ssh://"),
    ] {
        for args in [&["--target", target, "--root", root, "ls"][..], &["doctor", "--target", target]] {
            let run = guard(&bench, &[], args, "", &[]);
            assert_eq!((run.code, run.out()), (2, ""), "{args:?}: {run:?}");
            assert!(run.stderr.contains(words), "{args:?}: {}", run.stderr);
            let run = guard(&bench, &["--json"], args, "", &[]);
            assert_eq!((run.code, run.stderr.as_str()), (2, ""), "{args:?}: {run:?}");
            let refusal = &run.json()["refusal"];
            assert_eq!(refusal["code"], "invalid-arguments", "{refusal}");
            assert!(refusal["message"].as_str().unwrap().contains(words), "{refusal}");
        }
    }
}

/// Asserts exit code 3 and a sentence, for a person and for a program.
fn is_unavailable(bench: &Bench, args: &[&str], variables: &[(&str, &str)], code: &str, words: &str) {
    let run = guard(bench, &[], args, "", variables);
    assert_eq!((run.code, run.out()), (3, ""), "{args:?}: {run:?}");
    assert!(run.stderr.contains(words), "{args:?}: {words:?} is not in {}", run.stderr);
    let said = run.stderr.trim_end().trim_start_matches("error: ").to_owned();
    let run = guard(bench, &["--json"], args, "", variables);
    assert_eq!(run.code, 3, "{args:?}: {run:?}");
    let refusal = &run.json()["refusal"];
    assert_eq!(refusal["code"], code, "{refusal}");
    assert_eq!(refusal["message"], said);
}

#[test]
fn an_ssh_target_that_cannot_be_had_is_told_by_its_reason() {
    if skip::unless(Need::Sshd, "an_ssh_target_that_cannot_be_had_is_told_by_its_reason") {
        return;
    }
    let (bench, mut sshd) = (Bench::new(), Sshd::start().unwrap());
    let config = std::fs::read_to_string(sshd.config()).unwrap();
    let with = |name: &str, from: std::path::PathBuf, to: std::path::PathBuf| {
        let file = bench.path(name);
        std::fs::write(&file, config.replace(from.to_str().unwrap(), to.to_str().unwrap())).unwrap();
        file.into_os_string().into_string().unwrap()
    };
    let plain = with("plain", sshd.known_hosts(), sshd.known_hosts());
    let unknown = with("unknown", sshd.known_hosts(), sshd.unknown_hosts());
    let stranger = with("stranger", sshd.identity(), sshd.stranger());
    let no_host = "ssh://guard.invalid".to_owned();
    let forced =
        Sshd::builder().forced("echo This account is currently not available.; exit 1").start().unwrap();
    let forced_config = forced.config().into_os_string().into_string().unwrap();
    let check = |url: &str, config: &str, words: &str| {
        let args = ["--target", url, "--ssh-config", config, "--root", "/", "ls"];
        is_unavailable(&bench, &args, &[], "state-unavailable", words);
    };
    check(&sshd.url(), &unknown, "the host's key is not the known one");
    check(&sshd.url(), &stranger, "the target refused to let the user in");
    check(&no_host, "/dev/null", "the target's name cannot be resolved");
    check(&forced.url(), &forced_config, "no shell answered");
    let url = sshd.url();
    sshd.stop();
    check(&url, &plain, "the target cannot be reached");
}

#[test]
fn a_container_that_cannot_be_had_is_told_by_its_reason() {
    with_engine("a_container_that_cannot_be_had_is_told_by_its_reason", async || {
        let bench = Bench::new();
        let bare = DockerTarget::of(Image::NoShell).start().await.unwrap();
        let stopped = DockerTarget::of(Image::BusyBox).created().await.unwrap();
        let paused = DockerTarget::of(Image::BusyBox).start().await.unwrap();
        paused.pause().await.unwrap();
        let here = [];
        for (container, variables, code, words) in [
            (bare.name(), &here[..], "unsupported", "there is no shell on the target"),
            (stopped.name(), &here[..], "state-unavailable", "the target cannot be reached: the container"),
            (paused.name(), &here[..], "state-unavailable", "is paused"),
            ("guard-no-such-container", &here[..], "state-unavailable", "there is no container"),
            (
                "web",
                &[("DOCKER_HOST", "ssh://build")][..],
                "state-unavailable",
                "DOCKER_HOST: no Docker engine",
            ),
            ("web", &[("DOCKER_HOST", "unix:///nowhere.sock")][..], "state-unavailable", "cannot be reached"),
            ("web", &[("DOCKER_CONTEXT", "nowhere")][..], "state-unavailable", "there is no context"),
        ] {
            let target = format!("docker://{container}");
            is_unavailable(&bench, &["--target", &target, "--root", "/", "ls"], variables, code, words);
        }
        let user = format!("docker://{}?user=nobody-of-that-name", bare.name());
        let args = ["doctor", "--target", &user];
        is_unavailable(&bench, &args, &[], "state-unavailable", "the target refused to let the user in");
        paused.unpause().await.unwrap();
    });
}

#[test]
fn a_root_on_another_machine_is_named_from_its_own_root() {
    with_engine("a_root_on_another_machine_is_named_from_its_own_root", async || {
        let bench = Bench::new();
        let container = DockerTarget::of(Image::BusyBox).start().await.unwrap();
        let target = format!("docker://{}", container.name());
        for (roots, words) in [
            (&[][..], "name a directory of the target: --root DIR"),
            (&["--root", "."], "no working directory there"),
            (&["--root", "/nowhere"], "cannot be opened"),
        ] {
            let run = guard(&bench, &["--target", &target], &[roots, &["ls"]].concat(), "", &[]);
            assert_eq!(run.code, 2, "{run:?}");
            assert!(run.stderr.contains(words), "{}", run.stderr);
        }
    });
}

#[test]
fn doctor_tells_of_shell_user_home_tools_and_what_is_missing() {
    with_engine("doctor_tells_of_shell_user_home_tools_and_what_is_missing", async || {
        let bench = Bench::new();
        let mut text = String::new();
        for image in [Image::BusyBox, Image::Gnu] {
            let container = DockerTarget::of(image).user(1000).start().await.unwrap();
            let target = format!("docker://{}", container.name());
            let run = guard(&bench, &[], &["doctor", "--target", &target], "", &[]);
            assert_eq!(run.code, 0, "{run:?}");
            let out = run.out().replace(container.id(), "[id]");
            // Newer coreutils do it themselves.
            text.push_str(
                &out.replace("exchange perl", "exchange [tool]").replace("exchange mv", "exchange [tool]"),
            );
            text.push('\n');
            let run =
                guard(&bench, &[], &["--root", "/tmp", "doctor", "--target", &target, "--json"], "", &[]);
            let found = &run.json()["result"];
            assert_eq!(found["target"], format!("docker:{}", container.id()));
            assert_eq!(found["uid"], 1000);
            assert_eq!(found["roots"][0]["path"], "/tmp");
            assert_eq!(found["shell"]["tools"]["digest"], "sha256sum");
            let is_weaker = found["shell"]["missing"].to_string().contains("exchanges two names");
            assert_eq!(
                (found["tier"] == "window", is_weaker),
                (image == Image::BusyBox, image == Image::BusyBox)
            );
        }
        insta::assert_snapshot!(text);
    });
}

#[test]
fn doctor_tells_a_program_what_it_tells_a_person() {
    with_engine("doctor_tells_a_program_what_it_tells_a_person", async || {
        let bench = Bench::new();
        let container = DockerTarget::of(Image::BusyBox).user(1000).start().await.unwrap();
        let target = format!("docker://{}", container.name());
        let lines = "mkdir /tmp/ws; cd /tmp/ws; echo one > .guard-abcdefgh; mkdir -m 0 .hidden";
        let made = container.exec(&["sh", "-c", lines], b"").await.unwrap();
        assert_eq!(made.code, 0, "{made:?}");
        let args = ["--target", &target, "--root", "/tmp/ws", "--root-ro", "~", "doctor", "--leftovers"];
        let (text, json) = (guard(&bench, &[], &args, "", &[]), guard(&bench, &["--json"], &args, "", &[]));
        assert_eq!((text.code, json.code), (0, 0), "{text:?} {json:?}");
        insta::assert_snapshot!(format!("{}\n{}", text.out(), json.out()).replace(container.id(), "[id]"));
    });
}

#[test]
fn doctor_tells_what_a_target_lacks_without_which_there_is_no_guarantee() {
    with_engine("doctor_tells_what_a_target_lacks_without_which_there_is_no_guarantee", async || {
        let bench = Bench::new();
        for (missing, words) in [
            ("sha256sum", "the target has no tool for SHA-256 that works: sha256sum, shasum, openssl"),
            (
                "link ln",
                "the target has no tool that makes a hard link and never replaces: link, or ln with -T",
            ),
            ("dd", "the target has no tool named dd in its PATH"),
        ] {
            let container = DockerTarget::of(Image::BusyBox).start().await.unwrap();
            let removed =
                container.exec(&["sh", "-c", &format!("cd /bin && rm {missing}")], b"").await.unwrap();
            assert_eq!(removed.code, 0, "{removed:?}");
            let target = format!("docker://{}", container.name());
            is_unavailable(&bench, &["doctor", "--target", &target], &[], "unsupported", words);
        }
    });
}
