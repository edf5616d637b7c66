//! Containers made for tests are what they say, and are gone afterwards.
#![cfg(all(target_os = "linux", feature = "docker"))]
#![allow(clippy::unwrap_used, reason = "a test's helpers fail the test")]
#![allow(clippy::disallowed_methods, reason = "the tests look at this machine's files")]

use std::io;

use guard_core::policy::OtherKind;
use guard_testkit::conformance::World as _;
use guard_testkit::docker::{DockerTarget, Image, with_engine};
use guard_testkit::skip::{self, Need};

async fn said(container: &DockerTarget, command: &str) -> String {
    let ended = container.exec(&["sh", "-c", command], b"").await.unwrap();
    assert_eq!(String::from_utf8_lossy(&ended.errors), "", "{command}");
    String::from_utf8(ended.output).unwrap().trim_end().to_owned()
}

#[test]
fn images_have_the_programs_that_they_are_named_after_and_no_other() {
    with_engine("images_have_the_programs_that_they_are_named_after_and_no_other", async || {
        let gnu = DockerTarget::of(Image::Gnu).start().await.unwrap();
        for (command, expected) in [
            ("readlink -f /proc/$$/exe", "/usr/bin/dash"),
            ("bash -c 'echo $BASH' ", "/usr/bin/bash"),
            ("sha256sum --version | head -n 1 | cut -d ' ' -f 1-3", "sha256sum (GNU coreutils)"),
            ("perl -MFcntl -e 'print syscall(39) == $$ ? \"yes\" : \"no\"'", "yes"),
            ("find /home -name guard; echo a | sed s/a/b/", "/home/guard\nb"),
            ("echo $HOME; id -un", "/root\nroot"),
            ("command -v busybox python3 docker || echo none", "none"),
        ] {
            assert_eq!(said(&gnu, command).await, expected, "{command}");
        }
        let busybox = DockerTarget::of(Image::BusyBox).user(1000).start().await.unwrap();
        for (command, expected) in [
            ("readlink -f /proc/$$/exe; readlink -f /bin/sha256sum", "/bin/busybox\n/bin/busybox"),
            ("command -v perl bash dash || echo none", "none"),
            ("echo $HOME; id -un; stat -c %a /tmp", "/home/guard\nguard\n1777"),
        ] {
            assert_eq!(said(&busybox, command).await, expected, "{command}");
        }
        let bare = DockerTarget::of(Image::NoShell).start().await.unwrap();
        assert_eq!(bare.exec(&["sleep", "0"], b"").await.unwrap().code, 0);
        assert!(matches!(bare.exec(&["sh", "-c", "true"], b"").await.unwrap().code, 126 | 127));
    });
}

#[test]
fn a_container_is_gone_when_it_is_dropped() {
    with_engine("a_container_is_gone_when_it_is_dropped", async || {
        let container = DockerTarget::of(Image::BusyBox).start().await.unwrap();
        let opening = container.transport();
        assert!(opening.clone().open().await.is_ok());
        drop(container);
        let error = opening.open().await.err().unwrap().to_string();
        assert!(error.contains("there is no container"), "{error}");
    });
}

/// The other route and the container's own processes see the same files, and belong to the same user.
#[test]
fn the_world_is_the_containers() {
    if skip::unless(Need::Root, "the_world_is_the_containers") {
        return;
    }
    with_engine("the_world_is_the_containers", async || {
        let directory = tempfile::tempdir().unwrap();
        let bound = directory.path().join("bound");
        std::fs::write(&bound, "of the host").unwrap();
        let container = DockerTarget::of(Image::BusyBox)
            .user(1000)
            .tmpfs("/scratch")
            .volume("/data")
            .bind(&bound, "/etc/bound")
            .start()
            .await
            .unwrap();
        let world = container.world().await.unwrap();
        assert!(world.enforces_permissions());
        assert_eq!(world.read(b"/etc/bound").unwrap(), b"of the host");
        for at in ["/tmp", "/scratch", "/data"] {
            let path = |name: &str| format!("{at}/{name}").into_bytes();
            world.mkdir(&path("d")).unwrap();
            world.create(&path("d/file"), b"any\0bytes").unwrap();
            assert!(world.create(&path("d/file"), b"").is_err());
            world.symlink(&path("d/file"), &path("absolute")).unwrap();
            world.symlink(b"../../../../../../etc/passwd", &path("up")).unwrap();
            world.link(&path("d/file"), &path("d/other")).unwrap();
            world.mknod(&path("d/fifo"), OtherKind::Fifo).unwrap();
            world.chmod(&path("absolute"), 0o640).unwrap();
            world.rename(&path("d/other"), &path("d/renamed")).unwrap();
            // A link leads to where it leads in the container, never to this machine's file of that name.
            assert_eq!(world.read(&path("absolute")).unwrap(), b"any\0bytes");
            assert_eq!(
                world.read(&path("up")).unwrap(),
                container.exec(&["cat", "/etc/passwd"], b"").await.unwrap().output
            );
            assert_eq!(world.readlink(&path("up")).unwrap(), b"../../../../../../etc/passwd");
            let mut names = world.names(&path("d")).unwrap();
            names.sort();
            assert_eq!(names, [&b"fifo"[..], b"file", b"renamed"]);
            let list = format!("cd {at} && stat -c '%n %A %u:%g %s' d/* absolute | sort");
            let expected = "absolute lrwxrwxrwx 1000:1000 {len}\nd/fifo prw-r--r-- 1000:1000 0\n\
                            d/file -rw-r----- 1000:1000 9\nd/renamed -rw-r----- 1000:1000 9";
            let expected = expected.replace("{len}", &path("d/file").len().to_string());
            assert_eq!(said(&container, &list).await, expected);
            let before = world.snapshot(&path("d")).unwrap();
            said(&container, &format!("echo more >>{at}/d/file")).await;
            assert_ne!(world.snapshot(&path("d")).unwrap(), before);
            world.unlink(&path("d/file")).unwrap();
            assert_eq!(world.read(&path("absolute")).unwrap_err().kind(), io::ErrorKind::NotFound);
        }
        assert!(world.create(b"/tmp/../../../etc/guard-made", b"").is_ok());
        assert_eq!(said(&container, "ls /etc/guard-made").await, "/etc/guard-made");
        assert!(std::fs::symlink_metadata("/etc/guard-made").is_err());
    });
}
