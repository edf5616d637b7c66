//! What a guard says of a container in every state, and that nothing is done in it unsaid.
#![cfg(all(target_os = "linux", feature = "docker"))]
#![allow(clippy::unwrap_used, reason = "a test's helpers fail the test")]
#![allow(clippy::disallowed_methods, reason = "a file of this machine is bound into a container")]

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use guard_backends::shell::{ConnectError, Shell};
use guard_core::policy::{Access, Code, TargetPath};
use guard_core::port::TransportError;
use guard_core::{Actor, Guard, Outcome, Reply};
use guard_testkit::docker::{Builder, DockerTarget, Image};
use guard_testkit::skip::{self, Need};
use serde_json::json;

/// No test waits for ever.
const DEADLINE: Duration = Duration::from_secs(120);

fn with_engine<F: Future<Output = ()>>(test: &str, run: impl FnOnce() -> F) {
    if skip::unless(Need::Docker, test) {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime
        .block_on(async { tokio::time::timeout(DEADLINE, run()).await.expect("the test is over in time") });
}

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
        let container = container.start().await.unwrap();
        let transport = container.transport().deadline(Duration::from_secs(3)).open().await.unwrap();
        let shell = Shell::builder(Arc::new(transport))
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

/// What a restarted container is taken for: an engine may mount its filesystem anew under another device number, and
/// `fuse-overlayfs` numbers directories anew; neither can be told from another directory by looking.
#[test]
fn a_stopped_container_is_unavailable_and_a_restarted_one_keeps_its_views() {
    with_engine("a_stopped_container_is_unavailable_and_a_restarted_one_keeps_its_views", async || {
        for (image, root) in
            [(Image::BusyBox, "/data"), (Image::Gnu, "/data"), (Image::BusyBox, "/home/guard")]
        {
            let bench = Bench::at(DockerTarget::of(image).volume("/data"), root).await;
            bench.said(&format!("echo one >{root}/a; echo one >{root}/b")).await;
            for path in ["a", "b"] {
                done(bench.call("read_file", json!({ "path": path })).await);
            }
            let identities = format!("stat -c %d:%i / {root}");
            let before = bench.said(&identities).await;
            bench.container.stop().await.unwrap();
            refused(&bench.write("a", "two\n").await, Code::StateUnavailable, "is stopped");
            bench.container.start().await.unwrap();
            let seen = format!("cat {root}/a {root}/b");
            let reply = bench.write("a", "two\n").await;
            if bench.said(&identities).await == before {
                done(reply);
                // What changed meanwhile is stale, whatever the view says.
                bench.said(&format!("echo theirs >{root}/b")).await;
                refused(&bench.write("b", "two\n").await, Code::Stale, "");
                assert_eq!(bench.said(&seen).await, "two\ntheirs\n", "{image:?} {root}");
            } else {
                let code = reply.refusal.as_ref().map(|refusal| refusal.code);
                assert!(matches!(code, Some(Code::TargetChanged | Code::RootReplaced)), "{reply:?}");
                assert_eq!(bench.said(&seen).await, "one\none\n", "{image:?} {root}");
            }
        }
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
