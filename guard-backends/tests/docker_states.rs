//! What a guard says of a container in every state, and that nothing is done in it unsaid.
#![cfg(all(target_os = "linux", feature = "docker"))]
#![allow(clippy::unwrap_used, reason = "a test's helpers fail the test")]
#![allow(clippy::disallowed_methods, reason = "a file of this machine is bound into a container")]

use std::sync::Arc;
use std::time::Duration;

use guard_backends::shell::{ConnectError, Shell};
use guard_core::policy::{Access, Code, TargetPath};
use guard_core::port::TransportError;
use guard_core::{Actor, Guard, Outcome, Reply};
use guard_testkit::docker::{Builder, DockerTarget, Image, with_engine};
use guard_testkit::transport::{At, Fault, Faults, Faulty, Way};
use guard_testkit::wrap::Method;
use serde_json::json;

/// A container, and a guard over its `/data`.
struct Bench {
    container: DockerTarget,
    actor: Actor,
}

impl Bench {
    async fn of(container: Builder) -> Self {
        Self::at(container, "/data").await
    }

    async fn at(container: Builder, root: &str) -> Self {
        Self::over(container.start().await.unwrap(), root, &Faults::new()).await
    }

    async fn over(container: DockerTarget, root: &str, faults: &Faults) -> Self {
        let transport = container.transport().open().await.unwrap();
        let shell = Shell::builder(Arc::new(Faulty::new(transport, faults)))
            .progress(Duration::from_secs(2))
            .reconnect(2, Duration::from_millis(10))
            .connect()
            .await
            .unwrap();
        let guard = Guard::builder(Arc::new(shell)).root(TargetPath::new(root).unwrap(), Access::ReadWrite);
        let actor = guard.open().await.unwrap().actor("agent");
        Self { container, actor }
    }

    async fn call(&self, tool: &str, arguments: serde_json::Value) -> Reply {
        self.actor.call(tool, arguments).await
    }

    async fn write(&self, path: &str, content: &str) -> Reply {
        self.call("write_file", json!({ "path": path, "content": content })).await
    }

    /// Runs a line in the container, beside the guard.
    async fn said(&self, line: &str) -> String {
        let ended = self.container.exec(&["sh", "-c", line], b"").await.unwrap();
        String::from_utf8(ended.output).unwrap()
    }
}

fn done(reply: Reply) -> Reply {
    assert_eq!(reply.outcome, Outcome::Done, "{reply:?}");
    reply
}

fn refused(reply: &Reply, code: Code, words: &str) {
    let refusal = reply.refusal.as_ref().unwrap_or_else(|| panic!("{reply:?}"));
    assert_eq!((reply.outcome, refusal.code), (Outcome::Refused, code), "{refusal:?}");
    assert!(format!("{refusal:?}").contains(words), "{words:?} is not in {refusal:?}");
}

/// The request is on its way when the container is paused, so that it is carried out when it goes on, or never.
#[test]
fn a_commit_to_a_paused_container_is_settled_at_the_next_contact_and_told() {
    with_engine("a_commit_to_a_paused_container_is_settled_at_the_next_contact_and_told", async || {
        for image in [Image::BusyBox, Image::Gnu] {
            let bench = Bench::of(DockerTarget::of(image).volume("/data")).await;
            done(bench.write("old.txt", "old\n").await);
            for (round, path) in ["new.txt", "old.txt", "d/e/new.txt", "old.txt"].into_iter().enumerate() {
                let before = bench.said(&format!("cat /data/{path}")).await;
                let content = format!("round {round}\n");
                bench.container.pause().await.unwrap();
                let reply = bench.write(path, &content).await;
                assert_eq!(reply.outcome, Outcome::Unknown, "{image:?} {path}: {reply:?}");
                assert_eq!(reply.refusal.unwrap().code, Code::OutcomeUnknown);
                // As long as it is paused nothing can be found out, and nothing is told.
                let reply = bench.call("stat", json!({ "path": path })).await;
                refused(&reply, Code::StateUnavailable, "is paused");
                assert_eq!(reply.notices.len(), 0);
                bench.container.unpause().await.unwrap();
                let reply = bench.call("list_dir", json!({})).await;
                let reply = done(reply);
                let [notice] = &reply.notices[..] else { panic!("{image:?} {path}: {reply:?}") };
                let expected = match notice.outcome {
                    Outcome::Done => &content,
                    Outcome::Refused => &before,
                    Outcome::Unknown => panic!("{image:?} {path}: {notice:?}"),
                };
                // Other calls give a shell that woke up late its time.
                for _ in 0..3 {
                    assert_eq!(
                        bench.said(&format!("cat /data/{path}")).await,
                        *expected,
                        "{image:?} {notice:?}"
                    );
                    let again = bench.call("read_file", json!({ "path": "old.txt" })).await;
                    assert_eq!(done(again).notices.len(), 0);
                }
                assert_eq!(bench.said("find /data -name '.guard-*'").await, "");
            }
        }
    });
}

/// Where a root is in a container: in a volume, which is on a disk, or in the container's own filesystem, which the
/// engine mounts anew with every start.
const ROOTS: [(Image, &str); 4] = [
    (Image::BusyBox, "/data"),
    (Image::BusyBox, "/home/guard"),
    (Image::Gnu, "/data"),
    (Image::Gnu, "/home/guard"),
];

#[test]
fn a_stopped_container_is_unavailable_and_a_restarted_one_keeps_its_views() {
    with_engine("a_stopped_container_is_unavailable_and_a_restarted_one_keeps_its_views", async || {
        for (image, root) in ROOTS {
            let bench = Bench::at(DockerTarget::of(image).volume("/data"), root).await;
            bench.said(&format!("cd {root} && for f in a b c; do echo one >$f; done")).await;
            for path in ["a", "b", "c"] {
                done(bench.call("read_file", json!({ "path": path })).await);
            }
            bench.container.stop().await.unwrap();
            refused(&bench.write("a", "two\n").await, Code::StateUnavailable, "is stopped");
            bench.container.start().await.unwrap();
            // The views are kept: nothing is read again, and the digest decides.
            let edit = json!({ "path": "a", "old": "one", "new": "two" });
            done(bench.call("edit_file", edit).await);
            done(bench.write("b", "two\n").await);
            bench.said(&format!("echo theirs >{root}/c")).await;
            refused(&bench.write("c", "two\n").await, Code::Stale, "");
            for round in 0..3 {
                bench.container.restart().await.unwrap();
                // What was changed while nobody could look is stale too.
                bench.said(&format!("echo theirs {round} >{root}/a")).await;
                refused(&bench.write("a", "three\n").await, Code::Stale, "");
                done(bench.write("b", &format!("round {round}\n")).await);
                refused(&bench.write("c", "two\n").await, Code::Stale, "");
                done(bench.write(&format!("new {round}"), "new\n").await);
            }
            let seen = bench.said(&format!("cd {root} && cat a b c && ls")).await;
            let expected = "theirs 2\nround 2\ntheirs\na\nb\nc\nnew 0\nnew 1\nnew 2\n";
            assert_eq!(seen, expected, "{image:?} {root}");
            assert_eq!(bench.said(&format!("find {root} -name '.guard-*'")).await, "");
        }
    });
}

/// Whether it was carried out before the container went down or not: the answer says which, and it is so.
#[test]
fn a_commit_whose_reply_is_lost_in_a_restart_is_settled_after_it() {
    with_engine("a_commit_whose_reply_is_lost_in_a_restart_is_settled_after_it", async || {
        for (image, root) in ROOTS {
            let container = DockerTarget::of(image).volume("/data").start().await.unwrap();
            let faults = Faults::new();
            let bench = Bench::over(container, root, &faults).await;
            bench.said(&format!("echo one >{root}/old")).await;
            for (path, way, at, expected) in [
                // The reply does not arrive: all of it was done.
                ("new", Way::FromShell, At::request(Method::Commit, 1), Some(Outcome::Done)),
                ("old", Way::FromShell, At::request(Method::Commit, 1), Some(Outcome::Done)),
                // The tail does not arrive: nothing of it was done.
                ("old", Way::ToShell, At::tail(1).byte(1), Some(Outcome::Refused)),
                ("d/e/new", Way::ToShell, At::tail(1).byte(1), Some(Outcome::Refused)),
            ] {
                let before = bench.said(&format!("cat {root}/{path}")).await;
                let content = format!("{path} {way:?}\n");
                if path == "old" {
                    done(bench.call("read_file", json!({ "path": path })).await);
                }
                // Only after the restart anybody can ask.
                faults.refuse_all(TransportError::Unreachable { why: "it is not back yet".to_owned() });
                faults.plan(way, at, Fault::Hang);
                let reply = bench.write(path, &content).await;
                assert_eq!(reply.outcome, Outcome::Unknown, "{image:?} {path}: {reply:?}");
                bench.container.restart().await.unwrap();
                faults.accept();
                let reply = done(bench.call("list_dir", json!({})).await);
                let [notice] = &reply.notices[..] else { panic!("{image:?} {path}: {reply:?}") };
                let content = if notice.outcome == Outcome::Done { &content } else { &before };
                assert_eq!(Some(notice.outcome), expected, "{image:?} {root} {path}: {notice:?}");
                let seen = bench.said(&format!("cat {root}/{path}")).await;
                assert_eq!(seen, *content, "{image:?} {root} {path} {notice:?}");
                let left = bench.said(&format!("find {root} -name '.guard-*' -exec ls -dl {{}} +")).await;
                assert_eq!(left, "", "{image:?} {root} {path} {notice:?}");
            }
        }
    });
}

/// Another directory under the root's name is not the root, whether or not the session is the same.
#[test]
fn a_root_that_was_replaced_is_refused_while_the_container_runs() {
    with_engine("a_root_that_was_replaced_is_refused_while_the_container_runs", async || {
        for (image, below) in ROOTS {
            let container = DockerTarget::of(image).volume("/data").start().await.unwrap();
            let (faults, root) = (Faults::new(), format!("{below}/ws"));
            let made = container.exec(&["mkdir", &root], b"").await.unwrap();
            assert_eq!(made.code, 0, "{made:?}");
            let bench = Bench::over(container, &root, &faults).await;
            done(bench.write("a", "one\n").await);
            let replace = format!("mv {root} {root}.away && mkdir {root} && cp {root}.away/a {root}/a");
            bench.said(&replace).await;
            refused(&bench.write("a", "two\n").await, Code::RootReplaced, "");
            let before = faults.sessions();
            faults.plan(Way::ToShell, At::any(1), Fault::Cut);
            // The question that finds the line cut is asked again on another session.
            refused(&bench.call("list_dir", json!({})).await, Code::RootReplaced, "");
            assert_eq!(faults.sessions(), before + 1);
            for path in ["a", "new"] {
                refused(&bench.write(path, "two\n").await, Code::RootReplaced, "");
            }
            assert_eq!(bench.said(&format!("cat {root}/*")).await, "one\n", "{image:?} {below}");
        }
    });
}

/// On a disk a directory keeps its number over a restart, so that another one under its name is noticed. In the
/// container's own filesystem it keeps nothing but its path, and the digests of what was seen decide.
#[test]
fn a_root_that_was_replaced_over_a_restart_is_refused_or_judged_by_what_was_seen() {
    with_engine(
        "a_root_that_was_replaced_over_a_restart_is_refused_or_judged_by_what_was_seen",
        async || {
            for (image, below) in ROOTS {
                let container = DockerTarget::of(image).volume("/data").start().await.unwrap();
                let root = format!("{below}/ws");
                let made = container.exec(&["mkdir", &root], b"").await.unwrap();
                assert_eq!(made.code, 0, "{made:?}");
                let bench = Bench::over(container, &root, &Faults::new()).await;
                done(bench.write("a", "one\n").await);
                bench.container.restart().await.unwrap();
                let replace = format!("mv {root} {root}.away && mkdir {root} && echo theirs >{root}/a");
                bench.said(&replace).await;
                let device = bench.said(&format!("stat -c %d {root}")).await;
                // Linux: the major number of what is on no disk is 0.
                let is_of_a_disk = device.trim().parse::<u64>().unwrap() >> 8 != 0;
                let code = if is_of_a_disk { Code::RootReplaced } else { Code::Stale };
                refused(&bench.write("a", "two\n").await, code, "");
                assert_eq!(bench.said(&format!("cat {root}/*")).await, "theirs\n", "{image:?} {below}");
                // A root that is gone is gone, also when a directory appears under its name later.
                bench.said(&format!("mv {root} {root}.again")).await;
                bench.container.restart().await.unwrap();
                refused(&bench.write("new", "two\n").await, Code::RootReplaced, "");
                bench.said(&format!("mv {root}.again {root}")).await;
                refused(&bench.write("new", "two\n").await, Code::RootReplaced, "");
            }
        },
    );
}

/// What is in memory is gone with the run; nothing of it is taken for what was seen.
#[test]
fn a_root_in_memory_is_empty_after_a_restart() {
    with_engine("a_root_in_memory_is_empty_after_a_restart", async || {
        let bench = Bench::at(DockerTarget::of(Image::Gnu).tmpfs("/scratch"), "/scratch").await;
        done(bench.write("a", "one\n").await);
        bench.container.restart().await.unwrap();
        refused(&bench.write("a", "two\n").await, Code::Stale, "");
        done(bench.write("b", "one\n").await);
        assert_eq!(bench.said("ls -A /scratch").await, "b\n");
    });
}

#[test]
fn a_container_made_anew_is_another_target_for_every_call() {
    with_engine("a_container_made_anew_is_another_target_for_every_call", async || {
        let mut bench = Bench::at(DockerTarget::of(Image::BusyBox), "/home/guard").await;
        done(bench.write("a", "one\n").await);
        bench.container.recreate().await.unwrap();
        for (tool, arguments) in [
            ("read_file", json!({ "path": "a" })),
            ("write_file", json!({ "path": "a", "content": "two\n" })),
            ("write_file", json!({ "path": "new", "content": "two\n" })),
            ("list_dir", json!({})),
        ] {
            refused(&bench.call(tool, arguments).await, Code::TargetChanged, "");
        }
        assert_eq!(bench.said("ls -A /home/guard").await, "");
        bench.container.remove().await.unwrap();
        refused(&bench.write("a", "two\n").await, Code::StateUnavailable, "was removed");
    });
}

#[test]
fn a_container_without_a_shell_is_no_target() {
    with_engine("a_container_without_a_shell_is_no_target", async || {
        let container = DockerTarget::of(Image::NoShell).start().await.unwrap();
        let transport = container.open().await.unwrap();
        match Shell::builder(Arc::new(transport)).connect().await {
            Err(ConnectError::Transport(error @ TransportError::NoShell { .. })) => {
                assert!(error.to_string().starts_with("there is no shell on the target"), "{error}");
            }
            Err(error) => panic!("{error:?}"),
            Ok(_) => panic!("it has a shell"),
        }
    });
}

#[test]
fn a_read_only_root_is_told_and_what_is_mounted_in_it_can_be_written() {
    with_engine("a_read_only_root_is_told_and_what_is_mounted_in_it_can_be_written", async || {
        for image in [Image::BusyBox, Image::Gnu] {
            let container =
                DockerTarget::of(image).read_only().tmpfs("/home/guard/tmp").volume("/home/guard/volume");
            // The mount points are made in the container before it is read-only.
            let bench = Bench::at(container, "/home").await;
            let code = Code::ReadOnlyFilesystem;
            refused(&bench.write("guard/a", "one\n").await, code, "");
            refused(&bench.call("make_dir", json!({ "path": "guard/d" })).await, code, "");
            for mounted in ["guard/tmp/a", "guard/volume/a"] {
                done(bench.write(mounted, "one\n").await);
                let edit = json!({ "path": mounted, "old": "one", "new": "two" });
                done(bench.call("edit_file", edit).await);
                assert_eq!(bench.said(&format!("cat /home/{mounted}")).await, "two\n", "{image:?}");
            }
        }
    });
}

#[test]
fn a_file_that_is_bound_by_itself_is_busy_and_a_folder_that_is_bound_is_like_any_other() {
    with_engine(
        "a_file_that_is_bound_by_itself_is_busy_and_a_folder_that_is_bound_is_like_any_other",
        async || {
            let (file, folder) = (tempfile::NamedTempFile::new().unwrap(), tempfile::tempdir().unwrap());
            std::fs::write(file.path(), "of the host\n").unwrap();
            for image in [Image::BusyBox, Image::Gnu] {
                let container = DockerTarget::of(image)
                    .volume("/data")
                    .bind(file.path(), "/data/bound")
                    .bind(folder.path(), "/data/folder");
                let bench = Bench::of(container).await;
                let edit = json!({ "path": "bound", "old": "host", "new": "guard" });
                refused(&bench.call("edit_file", edit).await, Code::BusyMount, "");
                let seen = bench.call("stat", json!({ "path": "bound" })).await;
                done(seen);
                refused(&bench.call("delete_file", json!({ "path": "bound" })).await, Code::BusyMount, "");
                assert_eq!(std::fs::read(file.path()).unwrap(), b"of the host\n", "{image:?}");
                let path = format!("folder/{image:?}");
                done(bench.write(&path, "one\n").await);
                assert_eq!(std::fs::read(folder.path().join(format!("{image:?}"))).unwrap(), b"one\n");
                assert_eq!(bench.said("find /data -name '.guard-*'").await, "");
            }
        },
    );
}

#[test]
fn the_containers_user_is_held_back_by_permissions_and_owns_what_it_makes() {
    with_engine("the_containers_user_is_held_back_by_permissions_and_owns_what_it_makes", async || {
        for image in [Image::BusyBox, Image::Gnu] {
            let bench = Bench::at(DockerTarget::of(image).user(1000).workdir("/tmp"), "/home").await;
            refused(&bench.write("a", "one\n").await, Code::PermissionDenied, "");
            done(bench.write("guard/a", "one\n").await);
            assert_eq!(
                bench.said("ls -An /home/guard | sed -n 's/^[^ ]* *1 1000 *1000 .* //p'").await,
                "a\n"
            );
        }
    });
}
