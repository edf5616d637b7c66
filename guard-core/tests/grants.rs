//! Roots that are granted to one actor while it lives.
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

mod common;

use common::{Bench, code, done, path, reads};
use guard_core::policy::{Access, Code, Rights, Within};
use guard_core::{Actor, MakeDir, ReadFile, StatPaths, WriteFile};
use serde_json::json;

/// A guard on `/ws`, with `/data` and `/data/deep` beside it and a link from the one into the other.
async fn bench() -> Bench {
    let bench = Bench::new().await;
    for directory in ["/data", "/data/deep", "/other"] {
        bench.world.mkdir(directory).unwrap();
    }
    bench.world.write("/data/a.txt", b"one\n").unwrap();
    bench.world.write("/other/marker.txt", b"marker\n").unwrap();
    bench.world.symlink("/data", "/ws/data").unwrap();
    bench.world.symlink("/data", "/alias").unwrap();
    bench
}

async fn reading(actor: &Actor, path: &str) -> Option<Code> {
    actor.read_file(ReadFile::new(path)).await.err().map(|failure| failure.refusal.code)
}

#[tokio::test]
async fn a_grant_is_for_one_actor_alone_and_for_as_long_as_it_stands() {
    let bench = bench().await;
    let (actor, sibling) = (bench.actor(), bench.guard.actor("sibling"));
    let early = actor.child("early");
    let toolbox = bench.guard.toolbox();
    let bound = toolbox.bind("read_file", &actor).unwrap();
    assert_eq!(reading(&actor, "/data/a.txt").await, Some(Code::OutsideRoot));

    assert_eq!(actor.grant(&path("/data"), Access::ReadWrite).await.unwrap(), Access::ReadWrite);
    let late = actor.child("late");
    // Direct, deferred, bound before, bound later, through a link of the workspace.
    reads(&actor, "/data/a.txt").await;
    assert_eq!(reading(&actor, "data/a.txt").await, None);
    let arguments = json!({ "path": "/data/a.txt" });
    assert!(actor.call("read_file", arguments.clone()).await.refusal.is_none());
    assert!(bound.call(arguments.clone()).await.refusal.is_none());
    done(actor.write_file(WriteFile::new("/data/a.txt", "two\n")).await);
    done(actor.write_file(WriteFile::new("/data/new/b.txt", "new\n")).await);

    let others = [&sibling, &early, &late];
    for other in others {
        for spelling in ["/data/a.txt", "data/a.txt", "/data/missing", "data/missing", "data/missing/x"] {
            assert_eq!(
                reading(other, spelling).await,
                Some(Code::OutsideRoot),
                "{} {spelling}",
                other.name()
            );
            let stat = other.call("stat", json!({ "path": spelling })).await;
            let told = serde_json::to_string(&stat).unwrap();
            // Of a link of the workspace no more is told than that it leads out.
            assert!(told.contains("outside-root") && !told.contains("sha256"), "{spelling}: {told}");
        }
        let refused = other.write_file(WriteFile::new("/data/c.txt", "x\n")).await;
        assert_eq!(code(refused), Code::OutsideRoot);
        let refused = other.write_file(WriteFile::new("data/c.txt", "x\n")).await;
        assert_eq!(code(refused), Code::OutsideRoot);
        // A tool of one with the grant, handed to one without it, and back.
        let handed = bound.rebind(other);
        assert_eq!(handed.call(arguments.clone()).await.refusal.unwrap().code, Code::OutsideRoot);
    }
    assert!(toolbox.bind("read_file", &late).unwrap().call(arguments.clone()).await.refusal.is_some());
    let back = toolbox.bind("read_file", &late).unwrap().rebind(&actor);
    assert!(back.call(arguments.clone()).await.refusal.is_some(), "the roots of both");
    assert!(bound.rebind(&actor).call(arguments.clone()).await.refusal.is_none(), "the same actor");

    // The parent's grant can be given to a child too, and ends with that of nobody else.
    late.grant(&path("/data"), Access::ReadOnly).await.unwrap();
    assert_eq!(reading(&late, "/data/a.txt").await, None);
    assert_eq!(code(late.write_file(WriteFile::new("/data/a.txt", "x\n")).await), Code::ReadOnlyRoot);
    assert!(actor.revoke(&path("/data")) && !actor.revoke(&path("/data")));
    assert_eq!(reading(&actor, "/data/a.txt").await, Some(Code::OutsideRoot));
    assert!(bound.call(arguments).await.refusal.is_some());
    assert_eq!(reading(&late, "/data/a.txt").await, None);
    assert_eq!(bench.world.read("/data/a.txt").unwrap(), b"two\n");
    assert!(bench.world.read("/data/c.txt").is_err());
}

#[tokio::test]
async fn a_grant_gives_no_more_than_the_guard_and_the_rights_leave() {
    let bench = bench().await;
    // A directory that is a root already keeps what may be done there; one inside it can be granted less.
    let actor = bench.actor();
    bench.world.mkdir("/ws/docs").unwrap();
    assert_eq!(actor.grant(&path("/ws/docs"), Access::ReadOnly).await.unwrap(), Access::ReadOnly);
    assert_eq!(code(actor.write_file(WriteFile::new("docs/a.txt", "x\n")).await), Code::ReadOnlyRoot);
    assert!(actor.revoke(&path("/ws/docs")));
    // The last grant of a directory counts, by whatever spelling.
    actor.grant(&path("/data"), Access::ReadWrite).await.unwrap();
    assert_eq!(actor.grant(&path("/alias"), Access::ReadOnly).await.unwrap(), Access::ReadOnly);
    assert_eq!(reading(&actor, "/alias/a.txt").await, None);
    assert_eq!(code(actor.write_file(WriteFile::new("/data/c.txt", "x\n")).await), Code::ReadOnlyRoot);
    assert!(actor.revoke(&path("/alias")));
    // Rights restrict what is granted as well.
    let reader = Rights { access: Access::ReadOnly, ..Rights::default() };
    let reader = bench.guard.actor_with("reader", reader);
    assert_eq!(reader.grant(&path("/data"), Access::ReadWrite).await.unwrap(), Access::ReadOnly);
    let held = Rights { within: vec![Within::new([(path("/ws"), Access::ReadWrite)])], ..Rights::default() };
    let held = bench.guard.actor_with("held", held);
    let refused = held.grant(&path("/data"), Access::ReadWrite).await.unwrap_err().refusal;
    assert_eq!(refused.code, Code::OutsideRoot);
    assert_eq!(refused.message, "`/data` is outside the workspace: this actor is held to `/ws`.");
    assert_eq!(reading(&held, "/data/a.txt").await, Some(Code::OutsideRoot));
    // What is sensitive stays so.
    bench.world.mkdir("/data/.ssh").unwrap();
    bench.world.write("/data/.ssh/id_ed25519", b"key\n").unwrap();
    actor.grant(&path("/data"), Access::ReadWrite).await.unwrap();
    assert_eq!(reading(&actor, "/data/.ssh/id_ed25519").await, Some(Code::Secret));
}

#[tokio::test]
async fn what_is_no_directory_is_not_granted_and_a_granted_root_that_goes_disturbs_no_other() {
    let bench = bench().await;
    let actor = bench.actor();
    let missing = actor.grant(&path("/nowhere"), Access::ReadWrite).await;
    assert_eq!(code(missing), Code::NotFound);
    let file = actor.grant(&path("/data/a.txt"), Access::ReadWrite).await;
    assert_eq!(code(file), Code::NotADirectory);
    actor.grant(&path("/data"), Access::ReadWrite).await.unwrap();
    bench.world.rename("/data", "/moved").unwrap();
    bench.world.mkdir("/data").unwrap();
    assert_eq!(reading(&actor, "/data/a.txt").await, Some(Code::RootReplaced));
    done(actor.write_file(WriteFile::new("x.txt", "x\n")).await);
    // Granted anew, it is the directory that is there now.
    actor.grant(&path("/data"), Access::ReadWrite).await.unwrap();
    done(actor.write_file(WriteFile::new("/data/a.txt", "x\n")).await);
    assert_eq!(bench.world.read("/moved/a.txt").unwrap(), b"one\n");
}

#[tokio::test]
async fn an_actor_that_is_held_to_a_part_is_told_nothing_of_the_rest() {
    let bench = bench().await;
    for directory in ["/ws/docs", "/ws/src"] {
        bench.world.mkdir(directory).unwrap();
    }
    bench.world.write("/ws/src/there.rs", b"fn main() {}\n").unwrap();
    bench.world.symlink("../src", "/ws/docs/src").unwrap();
    let held =
        Rights { within: vec![Within::new([(path("/ws/docs"), Access::ReadWrite)])], ..Rights::default() };
    let held = bench.guard.actor_with("held", held);
    let mut answers = std::collections::BTreeSet::new();
    for name in ["there.rs", "missing.rs", "missing/x.rs", "there.rs/x"] {
        for spelling in [format!("docs/../src/{name}"), format!("docs/src/{name}")] {
            let read = held.read_file(ReadFile::new(&spelling)).await.unwrap_err().refusal;
            let write = held.write_file(WriteFile::new(&spelling, "x\n")).await.unwrap_err().refusal;
            let stat = held.stat(StatPaths { path: Some(spelling.clone()), ..StatPaths::default() });
            let stat = stat.await.unwrap_err().refusal;
            let make = held.make_dir(MakeDir { path: spelling.clone(), ..MakeDir::default() });
            let make = make.await.unwrap_err().refusal;
            for refusal in [read, write, stat, make] {
                answers.insert((refusal.code, refusal.message.replace(&spelling, "PATH")));
            }
        }
    }
    let only =
        (Code::OutsideRoot, "`PATH` is outside the workspace: this actor is held to `/ws/docs`.".to_owned());
    assert_eq!(answers, [only].into());
}
