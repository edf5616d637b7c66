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
                Err(OpError::OutsideRoot | OpError::Loop) => refused += 1,
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
