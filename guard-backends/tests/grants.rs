//! Roots that are granted to one actor while it lives, on real files.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "the test acts as another process does")]

mod workspace;

use guard_core::policy::{Access, Code};
use guard_core::{Actor, Guard, ReadFile, WriteFile};
use workspace::{code, done, target, targets};

/// What an actor is told of a path that it does not reach.
async fn told(actor: &Actor, path: &str) -> (Code, String) {
    let read = actor.read_file(ReadFile::new(path)).await.unwrap_err().refusal;
    assert_eq!(code(actor.write_file(WriteFile::new(path, "x\n")).await), read.code, "{path}");
    (read.code, read.message.replace(path, "PATH"))
}

#[tokio::test]
async fn a_granted_root_is_reached_by_one_actor_and_its_loss_disturbs_no_other_root() {
    for (name, ops) in targets().await {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for directory in ["ws", "data"] {
            std::fs::create_dir(at(directory)).unwrap();
        }
        std::fs::write(at("data/a.txt"), b"one\n").unwrap();
        std::os::unix::fs::symlink("../data", at("ws/data")).unwrap();
        let guard = Guard::builder(ops).root(target(&at("ws")), Access::ReadWrite).open().await.unwrap();
        let (actor, other) = (guard.actor("main"), guard.actor("other"));
        actor.grant(&target(&at("data")), Access::ReadWrite).await.unwrap();

        // A relative link that leaves the root is joined to its directory, and goes on from the granted root.
        actor.read_file(ReadFile::new("data/a.txt")).await.unwrap();
        done(actor.write_file(WriteFile::new("data/a.txt", "two\n")).await);
        let there = told(&other, "data/a.txt").await;
        assert_eq!(there.0, Code::OutsideRoot, "{name}");
        for missing in ["data/missing.txt", "data/missing/x.txt", "data/a.txt/x", "data/../data/a.txt"] {
            assert_eq!(told(&other, missing).await, there, "{name}: {missing}");
        }

        std::fs::rename(at("data"), at("moved")).unwrap();
        std::fs::create_dir(at("data")).unwrap();
        let absolute = format!("{}/a.txt", target(&at("data")));
        let refused = actor.write_file(WriteFile::new(absolute.as_str(), "x\n")).await;
        assert_eq!(code(refused), Code::RootReplaced, "{name}");
        done(actor.write_file(WriteFile::new("b.txt", "x\n")).await);
        assert_eq!(std::fs::read(at("moved/a.txt")).unwrap(), b"two\n", "{name}");
        assert!(!at("data/a.txt").exists(), "{name}");
        actor.grant(&target(&at("data")), Access::ReadWrite).await.unwrap();
        done(actor.write_file(WriteFile::new(absolute.replace("a.txt", "new.txt"), "x\n")).await);
        assert!(at("data/new.txt").exists(), "{name}");
    }
}

/// What an actor that has a root of its own is told of a link into another actor's.
#[tokio::test]
async fn nothing_is_explained_and_no_drift_is_told_of_what_an_actor_does_not_reach() {
    for (name, ops) in targets().await {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for directory in ["ws/a", "data/a"] {
            std::fs::create_dir_all(at(directory)).unwrap();
        }
        std::fs::write(at("data/a/f"), b"theirs\n").unwrap();
        for file in ["f", "gone"] {
            std::fs::write(at("ws/a").join(file), b"one\n").unwrap();
        }
        std::os::unix::fs::symlink("../data/a/f", at("ws/link")).unwrap();
        std::os::unix::fs::symlink("../data/a", at("ws/elsewhere")).unwrap();
        let guard = Guard::builder(ops).root(target(&at("ws")), Access::ReadWrite).open().await.unwrap();
        let (owner, other) = (guard.actor("owner"), guard.actor("other"));
        owner.grant(&target(&at("data")), Access::ReadWrite).await.unwrap();
        assert!(owner.explain("link").await.is_ok(), "{name}");
        assert_eq!(code(other.explain("link").await), Code::OutsideRoot, "{name}");
        assert_eq!(
            code(other.vouch("link", guard_core::policy::Digest::of(b"theirs\n")).await),
            Code::OutsideRoot,
            "{name}"
        );

        for file in ["a/f", "a/gone"] {
            other.read_file(ReadFile::new(file)).await.unwrap();
        }
        std::fs::rename(at("ws/a"), at("ws/before")).unwrap();
        std::fs::rename(at("ws/elsewhere"), at("ws/a")).unwrap();
        // One is there behind the link, and the other is not.
        let drift = other.drift().await.unwrap();
        assert!(drift.changed.is_empty(), "{name}: {:?}", drift.changed);
        assert_eq!(drift.unknown.len(), 2, "{name}");

        // That the other's root was replaced is told to whoever has it.
        std::fs::rename(at("data"), at("moved")).unwrap();
        std::fs::create_dir(at("data")).unwrap();
        assert_eq!(code(owner.read_file(ReadFile::new("link")).await), Code::RootReplaced, "{name}");
        assert_eq!(code(other.read_file(ReadFile::new("link")).await), Code::OutsideRoot, "{name}");
    }
}
