//! A temporary name that somebody has taken already, as a link out of the root or anything else: nothing is written
//! through it, nothing waits for it, and it is not taken for our own.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "the test acts as another process does")]

mod workspace;

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use guard_core::policy::{Digest, OpenWriters, Precondition, TargetPath};
use guard_core::port::{
    Batch, Change, CommitId, Content, Displaced, Effect, InPlace, Keep, Last, Mode, Parents, Place, Root,
    RootSpec,
};
use guard_testkit::tree::digest_of_tree;
use rustix::fs::{CWD, FileType, mknodat};
use workspace::{target, targets};

/// The temporary names of the only change of a commit, as `temp.rs` derives them.
fn name(commit: &str, role: &str) -> String {
    let digest = Digest::of(format!("{commit}\0{}\0{role}", 0).as_bytes()).to_string();
    let hex = digest.trim_start_matches("sha256:");
    let letter = |at: usize| {
        let byte = u8::from_str_radix(&hex[at * 2..at * 2 + 2], 16).unwrap();
        char::from(b"abcdefghijklmnopqrstuvwxyz234567"[usize::from(byte % 32)])
    };
    format!(".guard-{}", (0..8).map(letter).collect::<String>())
}

/// What has the name: what it is called, and how it is made.
type Taken = (&'static str, fn(&Path, &Path));

const TAKEN: &[Taken] = &[
    ("a link to a file outside", |at, out| symlink(out.join("f.txt"), at).unwrap()),
    ("a link to a missing file outside", |at, out| symlink(out.join("new.txt"), at).unwrap()),
    ("a link to a directory outside", |at, out| symlink(out, at).unwrap()),
    ("a file", |at, _| std::fs::write(at, "theirs\n").unwrap()),
    ("a directory", |at, _| std::fs::create_dir(at).unwrap()),
    ("a FIFO", |at, _| mknodat(CWD, at, FileType::Fifo, 0o600.into(), 0).unwrap()),
];

fn place(root: &Root, name: &str) -> Place {
    let expect = TargetPath::new(format!("{}/{name}", root.path)).unwrap();
    Place { root: root.id, path: name.to_owned(), expect, last: Last::Itself }
}

/// The one change of a commit, by its name.
fn change(root: &Root, what: &str) -> Change {
    let there = Precondition::Content { digest: Digest::of(b"theirs\n") };
    let content = Content::from(b"mine\n".to_vec());
    let (name, precondition, effect) = match what {
        "create" => (
            "new.txt",
            Precondition::Absent,
            Effect::Put { content, mode: Mode::Keep, parents: Parents::Require },
        ),
        "replace" => ("f.txt", there, Effect::Put { content, mode: Mode::Keep, parents: Parents::Require }),
        "remove" => ("f.txt", there, Effect::Remove),
        _ => {
            let to = place(root, "moved.txt");
            let destination = Precondition::Absent;
            ("f.txt", there, Effect::MoveTo { to, destination, parents: Parents::Require })
        }
    };
    Change { place: place(root, name), precondition, effect }
}

fn batch(id: &str, change: Change) -> Batch {
    Batch {
        id: CommitId(id.to_owned()),
        changes: vec![change],
        require: None,
        displaced: Displaced::Discard,
        open_writers: OpenWriters::Refuse,
        metadata: Keep::Require,
        in_place: InPlace::Refuse,
        scope: Arc::default(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_through_a_temporary_name_that_is_taken() {
    for (target_name, ops) in targets().await {
        let dir = tempfile::tempdir().unwrap();
        let (ws, out) = (dir.path().join("ws"), dir.path().join("out"));
        std::fs::create_dir(&ws).unwrap();
        std::fs::create_dir(&out).unwrap();
        std::fs::write(out.join("f.txt"), "outside\n").unwrap();
        let root = ops.open_root(&RootSpec { path: target(&ws) }).await.unwrap();
        let (outside, mut met) = (digest_of_tree(&out).unwrap(), 0);
        for what in ["create", "replace", "remove", "move"] {
            for role in ["Stage", "Aside", "Undo"] {
                for (taken, make) in TAKEN {
                    let case = format!("{target_name}, {what}, {role} is {taken}");
                    std::fs::write(ws.join("f.txt"), "theirs\n").unwrap();
                    let id = format!("{what}-{role}-{taken}");
                    let at = ws.join(name(&id, role));
                    make(&at, &out);
                    let before = at.symlink_metadata().unwrap();
                    let commit = ops.commit(batch(&id, change(&root, what)));
                    let ended = tokio::time::timeout(Duration::from_secs(30), commit).await;
                    let ended = ended.unwrap_or_else(|_| panic!("{case}: it waits"));
                    assert_eq!(digest_of_tree(&out).unwrap(), outside, "{case}");
                    let after = at.symlink_metadata();
                    assert!(
                        after.is_ok_and(|after| after.file_type() == before.file_type()),
                        "{case}: {ended:?}"
                    );
                    met += usize::from(ended.is_err());
                    // What was not done has changed nothing.
                    let made = ["new.txt", "moved.txt"].iter().any(|name| ws.join(name).exists());
                    let old = std::fs::read(ws.join("f.txt")).is_ok_and(|bytes| bytes == b"theirs\n");
                    if ended.is_err() {
                        assert!(!made && old, "{case}: {ended:?}");
                    }
                    for entry in std::fs::read_dir(&ws).unwrap() {
                        let path = entry.unwrap().path();
                        let removed = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir(&path));
                        removed.unwrap_or_else(|error| panic!("{case}: {}: {error}", path.display()));
                    }
                }
            }
        }
        // The names that were taken are those that commits would have had.
        assert!(met > 0, "{target_name}: no commit met a name that was taken");
    }
}
