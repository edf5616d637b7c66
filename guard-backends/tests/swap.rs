//! Containment while directories change under the paths: what was checked is what is used.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test is the other process"
)]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use common::{RESOLVERS, Ws, content};
use guard_core::policy::{Digest, Precondition};
use guard_core::port::{Body, CommitFailure, FileOps as _, OpError, Part, Want};
use rustix::fs::{CWD, RenameFlags, renameat_with};

const ROUNDS: usize = 1500;

/// Does something over and over, until it is dropped.
struct Meanwhile {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Meanwhile {
    fn new(mut act: impl FnMut() + Send + 'static) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                act();
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Meanwhile {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn exchange(one: &Path, other: &Path) {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).unwrap();
}

/// A workspace whose directory `d` is exchanged with a link to a directory outside, over and over.
async fn swapped(resolver: guard_backends::local::Resolver) -> (Ws, tempfile::TempDir, Meanwhile) {
    let ws = Ws::of(resolver).await;
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("f"), "outside").unwrap();
    ws.mkdir("d");
    ws.write("d/f", "inside");
    ws.link(outside.path(), "link");
    let (one, other): (PathBuf, PathBuf) = (ws.path("d"), ws.path("link"));
    let swapper = Meanwhile::new(move || exchange(&one, &other));
    (ws, outside, swapper)
}

#[tokio::test]
async fn a_directory_that_is_swapped_for_a_link_never_gives_what_is_outside() {
    for resolver in RESOLVERS {
        let (ws, _outside, swapper) = swapped(resolver).await;
        let (mut inside, mut refused) = (0, 0);
        for _ in 0..ROUNDS {
            let want = Want { ask: ws.ask("d/f"), part: Part::Whole { max: 100 } };
            match ws.local.read(&[want]).await.unwrap().remove(0) {
                Ok(contents) => {
                    assert_eq!(contents.body, Body::Bytes { offset: 0, bytes: b"inside".to_vec() });
                    inside += 1;
                }
                Err(OpError::OutsideRoot | OpError::Loop | OpError::UnstablePath) => refused += 1,
                Err(other) => panic!("{other:?}"),
            }
        }
        drop(swapper);
        println!("{resolver:?}: {inside} read inside, {refused} refused");
        assert_eq!(inside + refused, ROUNDS);
        assert!(inside > 0);
    }
}

#[tokio::test]
async fn a_directory_that_is_swapped_for_a_link_never_lets_a_change_outside() {
    for resolver in RESOLVERS {
        let (ws, outside, swapper) = swapped(resolver).await;
        let before = common::tree(outside.path());
        let mut last = "inside".to_owned();
        for round in 0..ROUNDS / 3 {
            let new = format!("round {round}");
            match ws.commit(ws.put("d/f", content(&last), &new)).await {
                Ok(done) => {
                    assert_eq!(done.resolved, ws.target("d/f"));
                    last = new;
                }
                Err(error) => assert!(
                    matches!(
                        error.cause,
                        CommitFailure::Op(OpError::OutsideRoot | OpError::Loop | OpError::UnstablePath)
                            | CommitFailure::Elsewhere { .. }
                    ),
                    "{error:?}"
                ),
            }
            let _ = ws.commit(ws.put(&format!("d/new-{round}"), Precondition::Absent, "new")).await;
            let _ = ws.commit(ws.put(&format!("d/a/b/{round}"), Precondition::Absent, "new")).await;
        }
        drop(swapper);
        assert_eq!(common::tree(outside.path()), before, "{resolver:?}");
        let inside = [ws.path("d"), ws.path("link")].into_iter().find(|path| !path.is_symlink()).unwrap();
        assert_eq!(
            Digest::of(&fs::read(inside.join("f")).unwrap()),
            Digest::of(last.as_bytes()),
            "{resolver:?}"
        );
        assert!(ws.temps().is_empty(), "{resolver:?}: {:?}", ws.temps());
    }
}

/// Moves the directory `a` out, puts something that was never in the root in the place of a part of it, and moves it
/// back whole, over and over.
fn moves_out_and_back(ws: &Ws, part: &str) -> (tempfile::TempDir, Meanwhile) {
    // On the same filesystem, so that it can be moved.
    let outside = tempfile::tempdir().unwrap();
    let (inside, away) = (ws.path("a"), outside.path().join("a"));
    let (part, secret) = (away.join(part), outside.path().join("secret"));
    if ws.path("a/b").is_dir() {
        fs::create_dir(&secret).unwrap();
        fs::write(secret.join("g"), "SECRET").unwrap();
    } else {
        fs::write(&secret, "SECRET").unwrap();
    }
    let mover = Meanwhile::new(move || {
        fs::rename(&inside, &away).unwrap();
        exchange(&part, &secret);
        exchange(&part, &secret);
        fs::rename(&away, &inside).unwrap();
    });
    (outside, mover)
}

/// A directory that was found in a root can be moved out of it before its names are used.
#[tokio::test]
async fn what_was_never_in_a_root_is_not_read_by_a_directory_that_was() {
    for resolver in RESOLVERS {
        for (part, path) in [("g", "a/g"), ("b", "a/b/g"), ("b", "link")] {
            let ws = Ws::of(resolver).await;
            ws.mkdir(if part == "b" { "a/b" } else { "a" });
            ws.write(&format!("a/{}g", if part == "b" { "b/" } else { "" }), "inside");
            ws.link("a/b/g", "link");
            let (outside, mover) = moves_out_and_back(&ws, part);
            let (mut inside, mut refused) = (0, 0);
            let mut count = |done: Result<bool, OpError>, what: &str| match done {
                Ok(is_inside) => {
                    assert!(is_inside, "{resolver:?}, {path}: {what} told of what is outside");
                    inside += 1;
                }
                Err(OpError::NotFound { .. } | OpError::UnstablePath | OpError::Torn) => refused += 1,
                Err(other) => panic!("{other:?}"),
            };
            let ask = guard_core::port::Ask {
                depth: guard_core::port::Depth::Digest { max: 100 },
                last: guard_core::port::Last::Follow,
                ..ws.ask(path)
            };
            for _ in 0..ROUNDS {
                let want = Want { ask: ask.clone(), part: Part::Whole { max: 100 } };
                let read = ws.local.read(&[want]).await.unwrap().remove(0);
                count(
                    read.map(|read| match read.body {
                        Body::Bytes { bytes, .. } => bytes == b"inside",
                        // Nothing, or the link itself, where the directory is away.
                        _ => !read.found.state.is_regular(),
                    }),
                    "read",
                );
                let found = ws.local.stat(std::slice::from_ref(&ask)).await.unwrap().remove(0);
                let secret = Some(Digest::of(b"SECRET"));
                count(found.map(|found| found.state.digest() != secret), "stat");
            }
            drop(mover);
            println!("{resolver:?}, {path}: {inside} inside, {refused} refused");
            assert!(inside > 0, "{resolver:?}, {path}");
            drop(outside);
        }
    }
}

/// The unguarded way: the directory is held and was in the root, and then its name is opened.
#[tokio::test]
async fn control_a_directory_that_is_held_can_be_moved_out_before_its_name_is_opened() {
    let ws = Ws::new().await;
    ws.mkdir("a");
    ws.write("a/g", "inside");
    let (_outside, mover) = moves_out_and_back(&ws, "g");
    let place = ws.path("a");
    let leaks = (0..200_000).any(|_| {
        let Ok(directory) = fs::File::open(&place) else { return false };
        let name = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&directory));
        // It is at its place, and then its file is read.
        fs::read_link(&name).is_ok_and(|at| at == place)
            && fs::read_to_string(format!("{name}/g")).is_ok_and(|text| text == "SECRET")
    });
    drop(mover);
    assert!(leaks, "it met the same file every time");
}

/// One directory that is met at two paths is at one of them only.
#[tokio::test]
async fn a_directory_that_is_renamed_between_two_changes_is_not_taken_for_being_at_both_paths() {
    for resolver in RESOLVERS {
        let turn = std::sync::atomic::AtomicUsize::new(0);
        let builder = guard_backends::local::Local::builder().resolver(resolver);
        let ws = Ws::watched(builder, move |step, root| {
            if step == "resolved" {
                let (from, to) =
                    if turn.fetch_add(1, Ordering::Relaxed) == 0 { (".git", "x") } else { ("x", ".git") };
                fs::rename(root.join(from), root.join(to)).unwrap();
            }
        })
        .await;
        ws.mkdir(".git");
        let changes = vec![
            ws.put(".git/harmless", Precondition::Absent, "one"),
            ws.put("x/config", Precondition::Absent, "two"),
        ];
        let failed = ws.batch(common::batch(changes)).await.unwrap_err();
        assert_eq!(failed.cause, CommitFailure::Op(OpError::UnstablePath), "{resolver:?}");
        assert_eq!(fs::read_dir(ws.path(".git")).unwrap().count(), 0, "{resolver:?}");
    }
}

#[tokio::test]
async fn unrelated_renames_do_not_keep_a_path_with_dots_from_being_resolved() {
    for resolver in RESOLVERS {
        let ws = Ws::of(resolver).await;
        ws.mkdir("a/b");
        ws.write("a/f", "inside");
        ws.mkdir("one");
        ws.mkdir("other");
        let (one, other) = (ws.path("one"), ws.path("other"));
        let renamer = Meanwhile::new(move || exchange(&one, &other));
        for _ in 0..ROUNDS {
            let found = ws.stat("a/b/../b/../f").await.unwrap();
            assert_eq!(found.resolved, ws.target("a/f"), "{resolver:?}");
        }
        drop(renamer);
    }
}

/// The unguarded way: a check, and then the same path again.
#[test]
fn control_a_path_that_is_checked_and_then_opened_gives_what_is_outside() {
    let root = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("f"), "outside").unwrap();
    fs::create_dir(root.path().join("d")).unwrap();
    fs::write(root.path().join("d/f"), "inside").unwrap();
    std::os::unix::fs::symlink(outside.path(), root.path().join("link")).unwrap();
    let path = root.path().join("d/f");
    assert!(fs::canonicalize(&path).unwrap().starts_with(fs::canonicalize(root.path()).unwrap()));
    exchange(&root.path().join("d"), &root.path().join("link"));
    assert_eq!(fs::read(&path).unwrap(), b"outside");
}
