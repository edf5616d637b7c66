//! The cases of containment that the field pins: every tool, inside, outside, switched off, and in allowed roots.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "the test acts as another process does")]

mod workspace;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use guard_core::policy::{Access, AllowedRoot, Policy};
use guard_core::{Actor, Answer, Approver, Guard, Proposal};
use guard_testkit::rerun::{self, Body};
use guard_testkit::tree::digest_of_tree;
use serde_json::{Value, json};
use workspace::{target, targets};

/// Who may be asked: nobody, or somebody who says yes and counts.
#[derive(Default)]
struct Counts(AtomicU32);

#[async_trait]
impl Approver for Counts {
    async fn approve(&self, _: &Proposal<'_>) -> Answer {
        self.0.fetch_add(1, Ordering::Relaxed);
        Answer::Approve
    }
}

/// The calls of a tool on a path that has `theirs` in it, or on a new one in a folder that is not there yet.
fn calls(tool: &str, path: &str) -> Vec<(&'static str, Value)> {
    let envelope = |body: String| json!({ "patch": format!("*** Begin Patch\n{body}*** End Patch\n") });
    let read = ("read_file", json!({ "path": path }));
    match tool {
        "read" => vec![read],
        "write" => vec![read, ("write_file", json!({ "path": path, "content": "mine\n" }))],
        "write new" => {
            vec![("write_file", json!({ "path": format!("{path}-new/deep/new.txt"), "content": "mine\n" }))]
        }
        "edit" => vec![("edit_file", json!({ "path": path, "old": "theirs", "new": "mine" }))],
        "patch" => vec![("apply_patch", envelope(format!("*** Update File: {path}\n@@\n-theirs\n+mine\n")))],
        "patch add" => {
            vec![("apply_patch", envelope(format!("*** Add File: {path}-new/added.txt\n+mine\n")))]
        }
        "delete" => vec![read, ("delete_file", json!({ "path": path }))],
        _ => vec![("move_file", json!({ "from": path, "to": format!("{path}.moved") }))],
    }
}

const TOOLS: [&str; 8] = ["read", "write", "write new", "edit", "patch", "patch add", "delete", "move"];

/// Which of them only look.
fn reads(tool: &str) -> bool {
    tool == "read"
}

async fn outcome(actor: &Actor, tool: &str, path: &str) -> (String, bool) {
    let mut calls = calls(tool, path);
    let (last, arguments) = calls.pop().unwrap();
    for (tool, arguments) in calls {
        actor.call(tool, arguments).await;
    }
    let reply = actor.call(last, arguments).await;
    let unrestricted = reply.receipt.is_some_and(|receipt| receipt.unrestricted);
    (reply.refusal.map_or("ok".to_owned(), |refusal| refusal.code.as_str().to_owned()), unrestricted)
}

/// A workspace, an allowed root of each kind and a place outside, each with a file; and links to all in the workspace.
fn place(base: &Path) {
    for directory in ["ws", "rw", "ro", "out"] {
        std::fs::create_dir(base.join(directory)).unwrap();
        std::fs::write(base.join(directory).join("f.txt"), "theirs\n").unwrap();
    }
    for name in ["rw", "ro", "out"] {
        std::os::unix::fs::symlink(base.join(name), base.join("ws").join(format!("to-{name}"))).unwrap();
    }
}

/// What has to be answered to a tool in a place.
fn expected(place: &str, tool: &str, restrict: bool) -> &'static str {
    match place {
        "out" if restrict => "outside-root",
        "ro" if !reads(tool) => "read-only-root",
        _ => "ok",
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_tool_stays_in_the_roots_unless_that_is_switched_off_and_no_approval_changes_that() {
    for restrict in [true, false] {
        for asks in [false, true] {
            for spelling in ["absolute", "..", "through a link", "inside"] {
                // Each with targets of its own: a root stays open for as long as its target.
                for (name, ops) in targets().await {
                    for (tool, at) in
                        TOOLS.iter().flat_map(|tool| ["ws", "rw", "ro", "out"].map(|at| (*tool, at)))
                    {
                        let dir = tempfile::tempdir().unwrap();
                        place(dir.path());
                        let path = match (spelling, at) {
                            ("absolute", _) => format!("{}/f.txt", target(&dir.path().join(at))),
                            ("..", _) => format!("../{at}/f.txt"),
                            ("through a link", "ws") | ("inside", "rw" | "ro" | "out") => continue,
                            ("through a link", _) => format!("to-{at}/f.txt"),
                            _ => "f.txt".to_owned(),
                        };
                        let allow = |at: &str, access| AllowedRoot {
                            path: target(&dir.path().join(at)).to_string(),
                            access,
                        };
                        let policy = Policy {
                            restrict,
                            roots: vec![target(&dir.path().join("ws")).to_string()],
                            allow: vec![allow("rw", Access::ReadWrite), allow("ro", Access::ReadOnly)],
                            ..Policy::default()
                        };
                        let counts = Arc::new(Counts::default());
                        let mut builder = Guard::builder(Arc::clone(&ops)).policy(policy);
                        if asks {
                            builder = builder.approver(Arc::<Counts>::clone(&counts));
                        }
                        let guard = builder.open().await.unwrap();
                        let before = digest_of_tree(dir.path()).unwrap();
                        let (word, unrestricted) = outcome(&guard.actor("agent"), tool, &path).await;
                        let case = format!("{name}, {tool} {path}, restrict {restrict}, asks {asks}");
                        assert_eq!(word, expected(at, tool, restrict), "{case}");
                        let is_done = word == "ok" && !reads(tool);
                        assert_eq!(digest_of_tree(dir.path()).unwrap() != before, is_done, "{case}");
                        assert_eq!(unrestricted, is_done && !restrict, "{case}: the receipt says so");
                        assert_eq!(
                            counts.0.load(Ordering::Relaxed) > 0,
                            is_done && asks,
                            "{case}: who was asked"
                        );
                    }
                }
            }
        }
    }
}

fn mount(arguments: &[&str], at: &Path) {
    let mounted = std::process::Command::new("mount").args(arguments).arg(at).status().unwrap();
    assert!(mounted.success(), "mount {arguments:?}");
}

#[test]
fn what_is_mounted_inside_a_root_is_inside_and_a_read_only_mount_is_told() {
    if rerun::with_mounts("what_is_mounted_inside_a_root_is_inside_and_a_read_only_mount_is_told")
        == Body::Done
    {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for (name, ops) in targets().await {
            let dir = tempfile::tempdir().unwrap();
            place(dir.path());
            let ws = dir.path().join("ws");
            for directory in ["memory", "bound", "fixed"] {
                std::fs::create_dir(ws.join(directory)).unwrap();
            }
            mount(&["-t", "tmpfs", "-o", "size=64k", "tmpfs"], &ws.join("memory"));
            std::fs::write(ws.join("memory/f.txt"), "theirs\n").unwrap();
            let (out, rw) = (dir.path().join("out"), dir.path().join("rw"));
            mount(&["--bind", out.to_str().unwrap()], &ws.join("bound"));
            mount(&["--bind", "-o", "ro", rw.to_str().unwrap()], &ws.join("fixed"));
            let guard = Guard::builder(ops).root(target(&ws), Access::ReadWrite).open().await.unwrap();
            for (at, writes) in [("memory", "ok"), ("bound", "ok"), ("fixed", "read-only-filesystem")] {
                for tool in TOOLS.iter().rev() {
                    let expected = if reads(tool) { "ok" } else { writes };
                    let path = format!("{at}/f.txt");
                    let before = digest_of_tree(&ws.join(at)).unwrap();
                    let (word, _) = outcome(&guard.actor("agent"), tool, &path).await;
                    assert_eq!(word, expected, "{name}, {tool} {path}");
                    assert_eq!(digest_of_tree(&ws.join(at)).unwrap() != before, word == "ok" && !reads(tool));
                    // For the next tool it is as it was.
                    if writes == "ok" {
                        let _ = std::fs::remove_file(ws.join(format!("{path}.moved")));
                        std::fs::write(ws.join(&path), "theirs\n").unwrap();
                    }
                }
            }
            drop(guard);
            for directory in ["memory", "bound", "fixed"] {
                let status = std::process::Command::new("umount").arg("-l").arg(ws.join(directory)).status();
                assert!(status.unwrap().success());
            }
        }
    });
}
