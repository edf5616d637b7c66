//! The store of old bytes, and undo on real files.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "the test acts as another process does")]

mod workspace;

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::Arc;

use guard_backends::local::Local;
use guard_backends::undo::{FileUndo, Limits};
use guard_core::policy::{Access, Code, Digest, TargetPath};
use guard_core::port::{FileOps, UndoError, UndoStore as _};
use guard_core::{
    Actor, ApplyPatch, DeleteFile, EditFile, Guard, MakeDir, MoveFile, OpenError, ReadFile, Receipt,
    StatPaths, WriteFile,
};
use guard_testkit::tree::Snapshot;
use workspace::{code, done, target, targets};

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o7777
}

fn limits(total: u64, file: u64) -> Limits {
    Limits { total, file }
}

async fn keep(store: &FileUndo, bytes: &[u8]) -> Result<(), UndoError> {
    store.keep(Digest::of(bytes), bytes.to_vec()).await
}

/// Which of these are kept.
async fn kept(store: &FileUndo, all: &[&[u8]]) -> Vec<String> {
    let mut names = Vec::new();
    for bytes in all {
        match store.fetch(Digest::of(bytes)).await {
            Ok(found) if found == *bytes => names.push(String::from_utf8_lossy(bytes).into_owned()),
            Ok(_) => panic!("other bytes"),
            Err(error) => assert_eq!(error, UndoError::Gone),
        }
    }
    names
}

#[tokio::test]
async fn what_is_kept_is_private_kept_once_and_given_back() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("undo");
    let store = FileUndo::open(&place, Limits::default()).unwrap();
    assert_eq!(mode(&place), 0o700);
    for bytes in [&b"one\n"[..], b"", b"\0\xFF\n", b"one\n"] {
        keep(&store, bytes).await.unwrap();
        assert_eq!(store.fetch(Digest::of(bytes)).await.unwrap(), bytes);
    }
    let files: Vec<_> = std::fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 3);
    assert!(files.iter().all(|file| mode(file) == 0o600));
    assert_eq!(store.fetch(Digest::of(b"never")).await.unwrap_err(), UndoError::Gone);
    // Another process, by another spelling.
    symlink(&place, dir.path().join("alias")).unwrap();
    assert!(FileUndo::open(dir.path().join("alias"), Limits::default()).is_err(), "a link is none of ours");
    let again = FileUndo::open(&place, Limits::default()).unwrap();
    assert_eq!(again.fetch(Digest::of(b"one\n")).await.unwrap(), b"one\n");
    assert_eq!(again.place(), Some(target(&place).as_str()));
}

#[tokio::test]
async fn a_directory_that_others_can_enter_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for mode in [0o755, 0o710, 0o701, 0o770] {
        let place = dir.path().join(format!("{mode:o}"));
        std::fs::create_dir(&place).unwrap();
        std::fs::set_permissions(&place, Permissions::from_mode(mode)).unwrap();
        let error = FileUndo::open(&place, Limits::default()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied, "{mode:o}");
    }
    std::fs::write(dir.path().join("file"), b"").unwrap();
    assert!(FileUndo::open(dir.path().join("file"), Limits::default()).is_err());
    assert!(FileUndo::open(dir.path().join("no/parent"), Limits::default()).is_err());
}

#[tokio::test]
async fn the_least_recently_kept_make_room_and_what_is_not_ours_stays() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("undo");
    let store = FileUndo::open(&place, limits(10, 8)).unwrap();
    assert_eq!(store.largest(), 8);
    std::fs::write(place.join("README"), b"not a digest, and long").unwrap();
    std::fs::write(place.join(".keep-of-a-dead-process"), b"half").unwrap();
    let all: [&[u8]; 4] = [b"aaaa", b"bbbb", b"cccc", b"dddddddd"];
    let is_older = |bytes: &[u8], seconds: u64| {
        let name = Digest::of(bytes).to_string().replace("sha256:", "");
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(seconds);
        std::fs::File::options().write(true).open(place.join(name)).unwrap().set_modified(then).unwrap();
    };
    keep(&store, all[0]).await.unwrap();
    is_older(all[0], 30);
    keep(&store, all[1]).await.unwrap();
    is_older(all[1], 20);
    // Kept once more, the oldest is the newest.
    keep(&store, all[0]).await.unwrap();
    keep(&store, all[2]).await.unwrap();
    assert_eq!(kept(&store, &all).await, ["aaaa", "cccc"]);
    keep(&store, all[3]).await.unwrap();
    assert_eq!(kept(&store, &all).await, ["dddddddd"]);
    let error = keep(&store, b"123456789").await.unwrap_err();
    assert_eq!(error, UndoError::TooLarge { len: 9, limit: 8 });
    assert_eq!(kept(&store, &all).await, ["dddddddd"]);
    assert!(place.join("README").exists() && !place.join(".keep-of-a-dead-process").exists());
}

#[tokio::test]
async fn damaged_bytes_are_never_given_back_and_are_kept_anew() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("undo");
    let store = FileUndo::open(&place, Limits::default()).unwrap();
    let digest = Digest::of(b"one\n");
    let file = place.join(digest.to_string().replace("sha256:", ""));
    let outside = dir.path().join("outside");
    std::fs::write(&outside, b"one\n").unwrap();
    let harms: [Harm<'_>; 4] = [
        ("other bytes", &|| std::fs::write(&file, b"two\n").unwrap()),
        ("cut", &|| std::fs::write(&file, b"on").unwrap()),
        ("a link to the same bytes", &|| symlink(&outside, &file).unwrap()),
        ("a FIFO", &|| {
            rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        }),
    ];
    for (case, harm) in harms {
        let _ = std::fs::remove_file(&file);
        harm();
        assert_eq!(store.fetch(digest).await.unwrap_err(), UndoError::Damaged, "{case}");
        keep(&store, b"one\n").await.unwrap();
        assert_eq!(store.fetch(digest).await.unwrap(), b"one\n", "{case}");
    }
    assert_eq!(std::fs::read(outside).unwrap(), b"one\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_writers_share_a_directory() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("undo");
    let stores: Vec<_> = (0..4).map(|_| Arc::new(FileUndo::open(&place, limits(400, 40)).unwrap())).collect();
    let tasks: Vec<_> = (0..200_u32)
        .map(|n| {
            let store = Arc::clone(&stores[n as usize % stores.len()]);
            tokio::spawn(async move { keep(&store, format!("{:>20}", n % 50).as_bytes()).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let sizes = std::fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
    assert!(sizes.sum::<u64>() <= 400);
}

/// What is done to a file that is kept.
type Harm<'a> = (&'a str, &'a dyn Fn());

async fn reads(actor: &Actor, path: &str) {
    actor.read_file(ReadFile::new(path)).await.unwrap();
}

/// A patch that deletes, updates, moves and adds.
fn patch() -> ApplyPatch {
    let patch = "*** Begin Patch\n*** Delete File: a.txt\n*** Update File: b.txt\n@@\n-one\n+1\n\
        *** Update File: c.txt\n*** Move to: x/c.txt\n*** Add File: x/y/new.txt\n+new\n*** End Patch\n";
    ApplyPatch { patch: patch.into(), ..ApplyPatch::default() }
}

async fn make(actor: &Actor, call: &str) -> Receipt {
    let moves = |from: &str, to: &str| actor.move_file(MoveFile::new(from, to));
    done(match call {
        "write" => actor.write_file(WriteFile::new("-d e'f\n.txt", "new\n")).await,
        "create" => actor.write_file(WriteFile::new("x/y/new.txt", "new\n")).await,
        "edit" => actor.edit_file(EditFile::new("a.txt", "two", "2")).await,
        "delete" => actor.delete_file(DeleteFile::new("a.txt")).await,
        "delete binary" => {
            actor.stat(StatPaths::new("data.bin")).await.unwrap();
            actor.delete_file(DeleteFile::new("data.bin")).await
        }
        "move" => moves("a.txt", "x/moved.txt").await,
        "move a link" => moves("link", "x/moved").await,
        "make" => actor.make_dir(MakeDir { path: "x/y/z".into(), dry_run: false }).await,
        _ => actor.apply_patch(patch()).await,
    })
}

/// A receipt as a host stores it.
fn stored(receipt: &Receipt) -> Receipt {
    serde_json::from_str(&serde_json::to_string(receipt).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_call_is_undone_and_done_again_on_real_files() {
    for (name, ops) in targets().await {
        let dir = tempfile::tempdir().unwrap();
        let ws = dir.path().join("ws");
        let at = |path: &str| ws.join(path);
        std::fs::create_dir(&ws).unwrap();
        let store = Arc::new(FileUndo::open(dir.path().join("undo"), Limits::default()).unwrap());
        let builder = Guard::builder(ops).root(target(&ws), Access::ReadWrite).undo(store);
        let guard = builder.open().await.unwrap();
        let actor = guard.actor("main");
        for file in ["a.txt", "b.txt", "c.txt", "-d e'f\n.txt"] {
            std::fs::write(at(file), "one\ntwo\n").unwrap();
        }
        std::fs::set_permissions(at("a.txt"), Permissions::from_mode(0o750)).unwrap();
        symlink("a.txt", at("link")).unwrap();
        let binary: Vec<u8> = (0..=255_u8).cycle().take(100_000).collect();
        std::fs::write(at("data.bin"), &binary).unwrap();
        let before = Snapshot::of(&ws).unwrap();
        for call in
            ["write", "create", "edit", "delete", "delete binary", "move", "move a link", "make", "patch"]
        {
            for file in ["a.txt", "-d e'f\n.txt"] {
                reads(&actor, file).await;
            }
            let receipt = make(&actor, call).await;
            let after = Snapshot::of(&ws).unwrap();
            assert_ne!(after, before, "{name}: {call}");
            let back = done(actor.undo(&stored(&receipt)).await);
            assert_eq!(Snapshot::of(&ws).unwrap(), before, "{name}: {call}");
            assert_eq!(back.notes, [""; 0], "{name}: {call}");
            let again = done(actor.undo(&stored(&back)).await);
            assert_eq!(Snapshot::of(&ws).unwrap(), after, "{name}: {call}, done again");
            done(actor.undo(&stored(&again)).await);
            assert_eq!(Snapshot::of(&ws).unwrap(), before, "{name}: {call}, undone again");
        }

        // All or nothing where another was there, and a directory with something in it stays.
        reads(&actor, "a.txt").await;
        let receipt = make(&actor, "patch").await;
        std::fs::write(at("b.txt"), "of another\n").unwrap();
        let changed = Snapshot::of(&ws).unwrap();
        assert_eq!(code(actor.undo(&stored(&receipt)).await), Code::Stale, "{name}");
        assert_eq!(Snapshot::of(&ws).unwrap(), changed, "{name}");
        std::fs::write(at("b.txt"), "1\ntwo\n").unwrap();
        std::fs::write(at("x/y/theirs"), "of another\n").unwrap();
        let back = done(actor.undo(&stored(&receipt)).await);
        assert_eq!(back.notes.len(), 2, "{name}: {:?}", back.notes);
        assert_eq!(std::fs::read(at("x/y/theirs")).unwrap(), b"of another\n", "{name}");
        assert_eq!(std::fs::read(at("a.txt")).unwrap(), b"one\ntwo\n", "{name}");
    }
}

#[tokio::test]
async fn a_guard_of_this_machine_keeps_its_tools_away_from_what_it_keeps_itself() {
    let dir = tempfile::tempdir().unwrap();
    let store = || Arc::new(FileUndo::open(dir.path().join("undo"), Limits::default()).unwrap());
    let local = || -> Arc<dyn FileOps> { Arc::new(Local::builder().build().unwrap()) };
    let root = target(dir.path());
    // In a root it is an error of whoever opens the guard.
    let opened = Guard::builder(local()).root(root.clone(), Access::ReadWrite).undo(store()).open().await;
    assert!(matches!(opened, Err(OpenError::UndoInRoot { .. })));
    // The audit log may be there, and without containment the store: no tool touches either.
    let log = dir.path().join("audit.jsonl");
    let audit = Arc::new(guard_backends::audit::JsonLines::open(&log).unwrap());
    let policy = guard_core::policy::Policy { restrict: false, ..Default::default() };
    let builder = Guard::builder(local()).root(root, Access::ReadWrite).policy(policy);
    let guard = builder.audit(audit).undo(store()).open().await.unwrap();
    let actor = guard.actor("main");
    keep(&store(), b"secret\n").await.unwrap();
    let kept = dir.path().join("undo").join(Digest::of(b"secret\n").to_string().replace("sha256:", ""));
    for place in [log.as_path(), kept.as_path()] {
        let place = place.to_str().unwrap();
        let read = actor.read_file(ReadFile::new(place)).await;
        assert!(matches!(code(read), Code::SensitivePath | Code::Secret), "{place}");
        let write = actor.write_file(WriteFile::new(place, "x\n")).await;
        assert!(matches!(code(write), Code::SensitivePath | Code::Secret), "{place}");
    }
    assert_eq!(std::fs::read(kept).unwrap(), b"secret\n");
}

#[tokio::test]
async fn no_root_is_granted_that_has_to_do_with_the_store_of_old_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let at = |path: &str| dir.path().join(path);
    for directory in ["ws", "data/guard", "beside"] {
        std::fs::create_dir_all(at(directory)).unwrap();
    }
    symlink("data", at("link")).unwrap();
    let store = Arc::new(FileUndo::open(at("data/guard/undo"), Limits::default()).unwrap());
    std::fs::create_dir_all(at("data/guard/undo/below")).unwrap();
    let local: Arc<dyn FileOps> = Arc::new(Local::builder().build().unwrap());
    let builder = || Guard::builder(Arc::clone(&local)).undo(Arc::<FileUndo>::clone(&store));
    let below = builder().root(target(&at("data/guard/undo/below")), Access::ReadWrite).open().await;
    assert!(matches!(below, Err(OpenError::UndoInRoot { .. })));
    let guard = builder().root(target(&at("ws")), Access::ReadWrite).open().await.unwrap();
    let actor = guard.actor("main");
    for granted in ["data", "data/guard", "data/guard/undo", "data/guard/undo/below", "link"] {
        let path = TargetPath::new(at(granted).to_str().unwrap()).unwrap();
        let refused = actor.grant(&path, Access::ReadOnly).await;
        assert_eq!(refused.unwrap_err().refusal.code, Code::SensitivePath, "{granted}");
    }
    let path = target(&at("data/guard"));
    assert_eq!(code(actor.read_file(ReadFile::new(path.as_str())).await), Code::OutsideRoot);
    actor.grant(&target(&at("beside")), Access::ReadWrite).await.unwrap();
}
