//! What was seen outlasts a process and is compared with what is there: resume and drift.

mod common;

use std::sync::Arc;

use common::{Bench, code, done, path, reads};
use guard_core::policy::{
    Access, Code, Digest, FileState, Limits, Policy, Rights, Switch, Tool, Views, Within,
};
use guard_core::port::FileOps;
use guard_core::{
    ByteWindow, DeleteFile, Drift, EditFile, Guard, MoveFile, ReadFile, SavedViews, SeenVersion, StatPaths,
    WriteFile,
};
use guard_testkit::memory::Memory;
use guard_testkit::wrap::{Failing, Fault, Method, When};

/// Stores the views as a host does, and reads them again.
fn stored(saved: &SavedViews) -> SavedViews {
    let json = serde_json::to_string(saved).expect("views are plain data");
    serde_json::from_str(&json).expect("what was stored is read again")
}

#[tokio::test]
async fn what_is_still_there_need_not_be_read_again_and_what_changed_is_not_trusted() {
    let bench = Bench::new().await;
    for file in ["same", "touched", "changed", "gone", "recreated", "other-kind"] {
        bench.world.create(format!("/ws/{file}"), format!("{file}\n").as_bytes()).unwrap();
    }
    bench.world.create("/ws/paged", b"1\n2\n3\n").unwrap();
    bench.world.symlink("same", "/ws/link").unwrap();
    bench.world.symlink("same", "/ws/turned").unwrap();
    let before = bench.actor();
    for file in ["same", "touched", "changed", "gone", "recreated", "other-kind"] {
        reads(&before, file).await;
    }
    before.read_file(ReadFile { limit: Some(1), ..ReadFile::new("paged") }).await.unwrap();
    let links = StatPaths { paths: vec!["link".into(), "turned".into()], ..StatPaths::default() };
    before.stat(links).await.unwrap();
    let saved = stored(&before.save());
    drop(before);

    // Rewritten with the same bytes; the same length and other bytes; removed; made anew with the same bytes.
    bench.world.write("/ws/touched", b"touched\n").unwrap();
    bench.world.write("/ws/changed", b"Changed\n").unwrap();
    bench.world.unlink("/ws/gone").unwrap();
    bench.world.unlink("/ws/recreated").unwrap();
    bench.world.create("/ws/recreated", b"recreated\n").unwrap();
    bench.world.unlink("/ws/other-kind").unwrap();
    bench.world.mkdir("/ws/other-kind").unwrap();
    bench.world.unlink("/ws/turned").unwrap();
    bench.world.symlink("changed", "/ws/turned").unwrap();

    let after = bench.guard.actor("main");
    bench.ops.take();
    let resumed = after.resume(saved).await.unwrap();
    assert_eq!(bench.ops.take().total(), 1, "one request for all of them");
    assert_eq!(resumed.round_trips, 1);
    let names = |paths: &[guard_core::policy::TargetPath]| {
        paths.iter().map(|path| path.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&resumed.kept), ["link", "paged", "recreated", "same", "touched"]);
    assert_eq!(names(&resumed.dropped), ["changed", "gone", "other-kind", "turned"]);

    for file in ["same", "touched", "recreated"] {
        assert!(done(after.write_file(WriteFile::new(file, "new\n")).await).changed, "{file}");
    }
    assert_eq!(bench.ops.take().total(), 3, "and nothing is read again");
    // A page is still a page, and the version that was not trusted is not.
    assert_eq!(code(after.write_file(WriteFile::new("paged", "new\n")).await), Code::PartiallyRead);
    assert_eq!(code(after.write_file(WriteFile::new("changed", "new\n")).await), Code::NotRead);
    assert_eq!(bench.content("changed"), "Changed\n");
    assert!(after.write_file(WriteFile::new("gone", "new\n")).await.is_ok(), "what is gone is made anew");
    assert!(after.delete_file(DeleteFile::new("link")).await.is_ok());
    assert_eq!(code(after.delete_file(DeleteFile::new("turned")).await), Code::NotRead);
}

#[tokio::test]
async fn what_was_seen_meanwhile_stands() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a", b"one\n").unwrap();
    let before = bench.actor();
    before
        .read_file(ReadFile { bytes: Some(ByteWindow { offset: 0, length: 1 }), ..ReadFile::new("a") })
        .await
        .unwrap();
    let part = before.save();
    reads(&before, "a").await;
    let whole = before.save();
    for (saved, expected) in [(part, Some(Code::PartiallyRead)), (whole, None)] {
        let actor = Arc::new(bench.guard.actor("main"));
        // While the versions are compared, this actor writes: what was stored is older than that.
        let writer = Arc::clone(&actor);
        bench.barrier().once_async(Method::Stat, When::After, move || async move {
            done(writer.write_file(WriteFile::new("b", "mine\n")).await);
        });
        actor.resume(saved).await.unwrap();
        assert_eq!(
            actor.write_file(WriteFile::new("a", "one\n")).await.err().map(|f| f.refusal.code),
            expected
        );
        done(actor.write_file(WriteFile::new("b", "again\n")).await);
        bench.world.unlink("/ws/b").unwrap();
    }
    let actor = Arc::new(bench.guard.actor("main"));
    reads(&actor, "a").await;
    let saved = actor.save();
    let writer = Arc::clone(&actor);
    bench.barrier().once_async(Method::Stat, When::After, move || async move {
        done(writer.write_file(WriteFile::new("a", "two\n")).await);
    });
    actor.resume(saved).await.unwrap();
    let view = actor.views().seen(&path("/ws/a"));
    assert!(
        matches!(view, guard_core::policy::Seen::Whole { digest, .. } if digest == Digest::of(b"two\n")),
        "an older view never takes the place of the actor's own commit: {view:?}"
    );
}

#[tokio::test]
async fn views_of_another_target_or_version_or_place_are_not_taken_over() {
    let bench = Bench::new().await;
    bench.world.mkdir("/ws/inner").unwrap();
    bench.world.mkdir("/ws/other").unwrap();
    bench.world.create("/ws/inner/a", b"one\n").unwrap();
    bench.world.create("/ws/other/b", b"one\n").unwrap();
    let before = bench.actor();
    reads(&before, "inner/a").await;
    reads(&before, "other/b").await;
    let saved = before.save();

    // Another target, though it has the same file.
    let elsewhere = Memory::builder().target("elsewhere").build();
    elsewhere.world().mkdir("/ws/inner").unwrap();
    elsewhere.world().create("/ws/inner/a", b"one\n").unwrap();
    let ops: Arc<dyn FileOps> = Arc::new(elsewhere);
    let other = Guard::builder(ops).root(path("/ws"), Access::ReadWrite).open().await.unwrap().actor("main");
    assert_eq!(code(other.resume(saved.clone()).await), Code::TargetChanged);
    assert_eq!(other.views(), Views::new());

    // Outside of the roots, or of what the actor is held to.
    let ops: Arc<dyn FileOps> = Arc::<common::Ops>::clone(&bench.ops);
    let inner =
        Guard::builder(ops).root(path("/ws/inner"), Access::ReadWrite).open().await.unwrap().actor("main");
    let resumed = inner.resume(saved.clone()).await.unwrap();
    assert_eq!((resumed.kept, resumed.dropped), (vec![path("/ws/inner/a")], vec![path("/ws/other/b")]));
    let within = vec![Within::new([(path("/ws/other"), Access::ReadWrite)])];
    let held = bench.guard.actor_with("main", Rights { within, ..Rights::default() });
    let resumed = held.resume(saved.clone()).await.unwrap();
    assert_eq!((resumed.kept, resumed.dropped), (vec![path("/ws/other/b")], vec![path("/ws/inner/a")]));

    // A stored form that this version does not know.
    let mut json = serde_json::to_value(&saved).unwrap();
    json["views"]["version"] = 99.into();
    let error = serde_json::from_value::<SavedViews>(json).unwrap_err().to_string();
    assert!(error.contains("version 99"), "{error}");
    // Nothing that was seen is nothing to ask about.
    bench.ops.take();
    let empty = SavedViews { views: Views::new(), ..saved };
    assert_eq!(bench.actor().resume(empty).await.unwrap().round_trips, 0);
    assert_eq!(bench.ops.take().total(), 0);
}

#[tokio::test]
async fn a_target_that_cannot_be_asked_leaves_nothing_taken_over() {
    let memory = Memory::new();
    memory.world().create("/ws/a", b"one\n").unwrap();
    let failing = Arc::new(Failing::new(memory));
    let ops: Arc<dyn FileOps> = Arc::<Failing<Memory>>::clone(&failing);
    let guard = Guard::builder(ops).root(path("/ws"), Access::ReadWrite).open().await.unwrap();
    let before = guard.actor("main");
    reads(&before, "a").await;
    let after = guard.actor("main");
    failing.fail(Method::Stat, 1, When::Before, Fault::Unavailable);
    assert_eq!(code(after.resume(before.save()).await), Code::StateUnavailable);
    assert_eq!(after.views(), Views::new());
    failing.fail(Method::Stat, 1, When::Before, Fault::Unavailable);
    assert_eq!(code(before.drift().await), Code::StateUnavailable);
    assert_eq!(after.resume(before.save()).await.unwrap().kept, [path("/ws/a")], "asked again, it is");
}

fn told(drift: &Drift) -> Vec<&str> {
    assert_eq!(drift.unknown, []);
    drift.changed.iter().map(|drifted| drifted.path.name()).collect()
}

#[tokio::test]
async fn drift_tells_each_change_of_another_once_and_licenses_nothing() {
    let bench = Bench::new().await;
    for file in ["a", "b", "c"] {
        bench.world.create(format!("/ws/{file}"), b"one\n").unwrap();
    }
    bench.world.symlink("a", "/ws/link").unwrap();
    let actor = bench.actor();
    assert_eq!(actor.drift().await.unwrap().round_trips, 0, "nothing was seen");
    for file in ["a", "b", "c"] {
        reads(&actor, file).await;
    }
    actor.stat(StatPaths::new("link")).await.unwrap();
    done(actor.edit_file(EditFile::new("b", "one", "two")).await);
    bench.ops.take();
    assert_eq!(told(&actor.drift().await.unwrap()), [""; 0], "own writes are no drift");
    assert_eq!(bench.ops.take().total(), 1, "one request for all of them");

    bench.world.write("/ws/a", b"ONE\n").unwrap();
    bench.world.write("/ws/c", b"one\n").unwrap();
    bench.world.unlink("/ws/link").unwrap();
    bench.world.symlink("b", "/ws/link").unwrap();
    let drift = actor.drift().await.unwrap();
    assert_eq!(told(&drift), ["a", "link"]);
    assert_eq!(drift.changed[0].seen, SeenVersion::Regular { digest: Digest::of(b"one\n") });
    assert_eq!(drift.changed[0].now.digest(), Some(Digest::of(b"ONE\n")));
    assert_eq!(drift.changed[1].now, FileState::Link { text: "b".into() });
    assert_eq!(told(&actor.drift().await.unwrap()), [""; 0], "it is told once");
    // To be told is not to have read.
    assert_eq!(code(actor.write_file(WriteFile::new("a", "mine\n")).await), Code::Stale);
    assert_eq!(code(actor.delete_file(DeleteFile::new("a")).await), Code::Stale);
    assert_eq!(bench.content("a"), "ONE\n");
    bench.world.write("/ws/a", b"TWO\n").unwrap();
    assert_eq!(told(&actor.drift().await.unwrap()), ["a"], "another change is told again");
    bench.world.write("/ws/a", b"one\n").unwrap();
    assert_eq!(told(&actor.drift().await.unwrap()), [""; 0], "what was seen is there again");
    bench.world.write("/ws/a", b"TWO\n").unwrap();
    assert_eq!(told(&actor.drift().await.unwrap()), ["a"], "and this is a change once more");
    reads(&actor, "a").await;
    bench.world.write("/ws/a", b"one\n").unwrap();
    reads(&actor, "a").await;
    bench.world.write("/ws/a", b"TWO\n").unwrap();
    assert_eq!(
        told(&actor.drift().await.unwrap()),
        ["a"],
        "what was told of an older reading counts no more"
    );

    // What is gone is not seen any more: it can be made anew.
    bench.world.unlink("/ws/c").unwrap();
    assert_eq!(told(&actor.drift().await.unwrap()), ["c"]);
    assert_eq!(told(&actor.drift().await.unwrap()), [""; 0]);
    assert!(done(actor.write_file(WriteFile::new("c", "new\n")).await).changed);
}

#[tokio::test]
async fn what_an_actor_does_while_drift_is_looked_for_is_no_drift() {
    let bench = Bench::new().await;
    for file in ["written", "read", "removed"] {
        bench.world.create(format!("/ws/{file}"), b"one\n").unwrap();
    }
    for when in [When::Before, When::After] {
        let actor = Arc::new(bench.guard.actor("main"));
        for file in ["written", "read", "removed"] {
            bench.world.write(format!("/ws/{file}"), b"one\n").unwrap();
            reads(&actor, file).await;
        }
        let (busy, world) = (Arc::clone(&actor), bench.world.clone());
        bench.barrier().once_async(Method::Stat, when, move || async move {
            done(busy.write_file(WriteFile::new("written", "mine\n")).await);
            world.write("/ws/read", b"theirs\n").unwrap();
            reads(&busy, "read").await;
            done(busy.delete_file(DeleteFile::new("removed")).await);
        });
        assert_eq!(told(&actor.drift().await.unwrap()), [""; 0]);
        // An absence that was found before the actor made the file does not make it unseen.
        assert!(done(actor.write_file(WriteFile::new("written", "again\n")).await).changed);
    }
}

#[tokio::test]
async fn a_child_drifts_by_its_own_record() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a", b"one\n").unwrap();
    let parent = bench.actor();
    reads(&parent, "a").await;
    let child = parent.child_with("child", &Rights { disabled: [Tool::Stat].into(), ..Rights::default() });
    bench.world.write("/ws/a", b"two\n").unwrap();
    assert_eq!(told(&child.drift().await.unwrap()), [""; 0], "it has seen nothing");
    assert_eq!(told(&parent.drift().await.unwrap()), ["a"]);
    reads(&child, "a").await;
    bench.world.write("/ws/a", b"three\n").unwrap();
    assert_eq!(told(&child.drift().await.unwrap()), ["a"], "a host asks, whatever tools the child has");
}

#[tokio::test]
async fn what_another_actor_has_seen_is_not_taken_over() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a", b"one\n").unwrap();
    let parent = bench.actor();
    let child = parent.child("child");
    reads(&child, "a").await;
    assert_eq!(code(parent.resume(stored(&child.save())).await), Code::InvalidArguments);
    assert_eq!(code(parent.write_file(WriteFile::new("a", "mine\n")).await), Code::NotRead);
    assert_eq!(parent.child("child").resume(child.save()).await.unwrap().kept, [path("/ws/a")]);
}

#[tokio::test]
async fn what_was_stored_and_what_was_seen_meanwhile_add_up() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a", b"1\n2\n").unwrap();
    let before = bench.actor();
    let line = |offset| ReadFile { offset: Some(offset), limit: Some(1), ..ReadFile::new("a") };
    before.read_file(line(1)).await.unwrap();
    let after = bench.actor();
    after.read_file(line(2)).await.unwrap();
    assert_eq!(after.resume(before.save()).await.unwrap().kept, [path("/ws/a")]);
    done(after.write_file(WriteFile::new("a", "new\n")).await);
    // Of another version that was read meanwhile nothing is kept, and that is said.
    let late = bench.actor();
    let saved = after.save();
    let (busy, world) = (bench.actor(), bench.world.clone());
    let busy = Arc::new(busy);
    let reader = Arc::clone(&busy);
    bench.barrier().once_async(Method::Stat, When::After, move || async move {
        world.write("/ws/a", b"newer\n").unwrap();
        reads(&reader, "a").await;
    });
    assert_eq!(busy.resume(saved).await.unwrap().dropped, [path("/ws/a")]);
    assert_eq!(code(late.write_file(WriteFile::new("a", "mine\n")).await), Code::NotRead);
}

#[tokio::test]
async fn an_own_commit_that_is_under_way_is_no_drift() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a", b"one\n").unwrap();
    bench.world.create("/ws/m", b"one\n").unwrap();
    let actor = Arc::new(bench.actor());
    reads(&actor, "a").await;
    reads(&actor, "m").await;
    for call in ["write", "move"] {
        // The target has carried it out, and the actor has not heard of it.
        let mut gate = bench.barrier().hold(Method::Commit, When::After);
        let busy = Arc::clone(&actor);
        let commit = tokio::spawn(async move {
            if call == "write" {
                done(busy.write_file(WriteFile::new("a", "mine\n")).await);
            } else {
                done(busy.move_file(MoveFile::new("m", "n")).await);
            }
        });
        gate.reached().await;
        let looks = Arc::clone(&actor);
        let drift = tokio::spawn(async move { looks.drift().await.unwrap() });
        while bench.ops.counts().stat == 0 {
            tokio::task::yield_now().await;
        }
        gate.open();
        commit.await.unwrap();
        assert_eq!(told(&drift.await.unwrap()), [""; 0], "{call}");
        bench.ops.take();
    }
    done(actor.write_file(WriteFile::new("n", "its view went along\n")).await);
}

#[tokio::test]
async fn what_nobody_can_tell_is_no_drift_and_without_views_there_is_none() {
    let limits = Limits { digest: 4, ..Limits::default() };
    let bench = Bench::with_policy(Policy { limits, ..Policy::default() }).await;
    bench.world.create("/ws/a", b"12345678").unwrap();
    let actor = bench.actor();
    actor.vouch("a", Digest::of(b"12345678")).await.unwrap();
    let drift = actor.drift().await.unwrap();
    assert_eq!((drift.changed, drift.unknown), (Vec::new(), vec![path("/ws/a")]));

    let bench = Bench::with_policy(Policy { views: Switch::Off, ..Policy::default() }).await;
    bench.world.create("/ws/a", b"one\n").unwrap();
    let guarded = Bench::new().await;
    guarded.world.create("/ws/a", b"one\n").unwrap();
    let seen = guarded.actor();
    reads(&seen, "a").await;
    let actor = bench.actor();
    bench.ops.take();
    assert_eq!(actor.resume(seen.save()).await.unwrap().dropped, [path("/ws/a")]);
    done(actor.write_file(WriteFile::new("b", "mine\n")).await);
    actor.vouch("a", Digest::of(b"one\n")).await.unwrap();
    assert_eq!(actor.views(), Views::new());
    assert_eq!(told(&actor.drift().await.unwrap()), [""; 0]);
}
