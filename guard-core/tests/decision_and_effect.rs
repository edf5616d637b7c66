//! Absence is demanded, never observed: what appears between the decision and the effect is not destroyed.

mod common;

use std::sync::Arc;

use common::{Bench, code, done, path, reads};
use guard_core::policy::{Access, Code};
use guard_core::{Actor, ApplyPatch, DeleteFile, EditFile, Guard, MoveFile, Outcome, ReadFile, WriteFile};
use guard_testkit::memory::Memory;
use guard_testkit::wrap::{Failing, Fault, Method, When};

const DATABASE: &[u8] = b"SQLite format 3\0 rows of another process";

/// Another process puts a file at the barrier.
fn intrude(bench: &Bench, path: &'static str, bytes: &'static [u8]) {
    let world = bench.world.clone();
    bench.barrier().once(Method::Commit, move || world.replace(path, bytes).expect("the directory is there"));
}

#[tokio::test]
async fn absent_precondition_refuses_a_database_created_after_the_decision() {
    for spelling in ["app.sqlite", "./app.sqlite", "/ws/app.sqlite", "/ws//app.sqlite"] {
        let bench = Bench::new().await;
        intrude(&bench, "/ws/app.sqlite", DATABASE);
        assert_eq!(
            code(bench.actor().write_file(WriteFile::new(spelling, "text\n")).await),
            Code::BinaryExists
        );
        assert_eq!(bench.world.read("/ws/app.sqlite").unwrap(), DATABASE);
    }
    // Control: without the intruder it is created, with exactly these bytes.
    let bench = Bench::new().await;
    let receipt = done(bench.actor().write_file(WriteFile::new("app.sqlite", "text\n")).await);
    assert_eq!((receipt.changed, receipt.round_trips), (true, 1));
    assert_eq!(bench.content("app.sqlite"), "text\n");
}

#[tokio::test]
async fn a_move_never_lands_on_what_appeared_at_its_destination() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    intrude(&bench, "/ws/app.sqlite", DATABASE);
    assert_eq!(code(bench.actor().move_file(MoveFile::new("a.txt", "app.sqlite")).await), Code::Exists);
    assert_eq!(bench.world.read("/ws/app.sqlite").unwrap(), DATABASE);
    assert_eq!(bench.content("a.txt"), "one\n");
}

#[tokio::test]
async fn what_changed_after_the_decision_is_not_overwritten_or_deleted() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    let actor = bench.actor();
    reads(&actor, "a.txt").await;
    intrude(&bench, "/ws/a.txt", b"newer\n");
    assert_eq!(code(actor.write_file(WriteFile::new("a.txt", "mine\n")).await), Code::Stale);
    reads(&actor, "a.txt").await;
    intrude(&bench, "/ws/a.txt", b"newest\n");
    assert_eq!(code(actor.delete_file(DeleteFile::new("a.txt")).await), Code::Stale);
    assert_eq!(bench.content("a.txt"), "newest\n");
}

#[tokio::test]
async fn an_edit_that_lost_its_compare_and_swap_is_made_in_what_is_there_now() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\ntwo\n").unwrap();
    intrude(&bench, "/ws/a.txt", b"ONE\ntwo\n");
    let receipt = done(bench.actor().edit_file(EditFile::new("a.txt", "two", "2")).await);
    assert_eq!(bench.content("a.txt"), "ONE\n2\n");
    assert_eq!(receipt.round_trips, 4);
    // Three losses in a row are a conflict, and the last writer's bytes stay.
    for bytes in [b"1\ntwo\n", b"2\ntwo\n", b"3\ntwo\n"] {
        intrude(&bench, "/ws/b.txt", bytes);
    }
    bench.world.create("/ws/b.txt", b"0\ntwo\n").unwrap();
    assert_eq!(code(bench.actor().edit_file(EditFile::new("b.txt", "two", "2")).await), Code::Conflict);
    assert_eq!(bench.content("b.txt"), "3\ntwo\n");
}

#[tokio::test]
async fn an_edit_of_a_file_replaced_by_a_database_is_refused() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    intrude(&bench, "/ws/a.txt", DATABASE);
    assert_eq!(code(bench.actor().edit_file(EditFile::new("a.txt", "one", "1")).await), Code::BinaryContent);
    assert_eq!(bench.world.read("/ws/a.txt").unwrap(), DATABASE);
}

#[tokio::test]
async fn round_trips_are_one_for_a_write_one_for_a_read_two_for_an_edit_and_one_more_through_a_link() {
    let bench = Bench::new().await;
    let actor = bench.actor();
    done(actor.write_file(WriteFile::new("a.txt", "one\n")).await);
    assert_eq!(bench.ops.take().total(), 1);
    reads(&actor, "a.txt").await;
    assert_eq!(bench.ops.take().total(), 1);
    done(actor.edit_file(EditFile::new("a.txt", "one", "two")).await);
    assert_eq!(bench.ops.take().total(), 2);
    done(actor.delete_file(DeleteFile::new("a.txt")).await);
    assert_eq!(bench.ops.take().total(), 1);
    bench.world.mkdir("/ws/real").unwrap();
    bench.world.symlink("real", "/ws/dir").unwrap();
    let receipt = done(actor.write_file(WriteFile::new("dir/a.txt", "one\n")).await);
    assert_eq!((bench.ops.take().total(), receipt.round_trips), (2, 2));
    assert_eq!(receipt.changes[0].resolved, path("/ws/real/a.txt"));
    reads(&actor, "dir/a.txt").await;
    assert_eq!(bench.ops.take().total(), 1);
    done(actor.edit_file(EditFile::new("dir/a.txt", "one", "two")).await);
    assert_eq!(bench.ops.take().total(), 2, "the read says where the path leads");
    // The view is of the file, whatever it was called.
    done(actor.write_file(WriteFile::new("real/a.txt", "three\n")).await);
    // A path with `..` after a name is resolved by the target first.
    bench.ops.take();
    done(actor.write_file(WriteFile::new("dir/../b.txt", "one\n")).await);
    assert_eq!(bench.ops.take().total(), 2);
    assert_eq!(bench.content("b.txt"), "one\n");
}

#[tokio::test]
async fn an_alias_is_judged_by_what_it_leads_to() {
    let bench = Bench::new().await;
    bench.world.create("/ws/report.docx", b"PK\x03\x04").unwrap();
    bench.world.symlink("report.docx", "/ws/notes.txt").unwrap();
    bench.world.mkdir("/ws/.git").unwrap();
    bench.world.mkdir("/ws/.git/hooks").unwrap();
    bench.world.symlink(".git/hooks", "/ws/docs").unwrap();
    bench.world.create("/ws/.env", b"SECRET=1\n").unwrap();
    bench.world.symlink(".env", "/ws/readme.txt").unwrap();
    let actor = bench.actor();
    let before = bench.world.snapshot();
    assert_eq!(code(actor.write_file(WriteFile::new("notes.txt", "x\n")).await), Code::OpaqueDocument);
    assert_eq!(code(actor.write_file(WriteFile::new("docs/pre-commit", "x\n")).await), Code::SensitivePath);
    assert_eq!(code(actor.read_file(ReadFile::new("readme.txt")).await), Code::Secret);
    assert_eq!(code(actor.edit_file(EditFile::new("readme.txt", "1", "2")).await), Code::Secret);
    assert_eq!(bench.world.snapshot(), before);
}

#[tokio::test]
async fn a_protected_name_that_is_a_link_is_judged_by_its_name_in_every_spelling() {
    let bench = Bench::with(|builder| builder.root(path("/home/agent"), Access::ReadWrite)).await;
    for directory in ["gitdir", "gitdir/hooks", "x", "rules", ".cursor"] {
        bench.world.mkdir(format!("/ws/{directory}")).unwrap();
    }
    bench.world.create("/ws/gitdir/config", b"[core]\n").unwrap();
    bench.world.symlink("gitdir", "/ws/.git").unwrap();
    bench.world.symlink("../rules", "/ws/.cursor/rules").unwrap();
    bench.world.mkdir("/home/agent/real").unwrap();
    bench.world.mkdir("/home/agent/y").unwrap();
    bench.world.create("/home/agent/real/credentials", b"secret\n").unwrap();
    bench.world.symlink("real", "/home/agent/.aws").unwrap();
    let actor = bench.actor();
    let before = bench.world.snapshot();
    for spelling in [
        ".git/hooks/x",
        "x/../.git/hooks/x",
        "x/../.git//hooks/x",
        "x/../.git/./hooks/x",
        "./x/.././.git/hooks/./x",
        "/ws/x/../.git//hooks/x",
        "x/../.GIT/hooks/x",
        "gitdir/../.git/hooks/x",
    ] {
        let refused = actor.write_file(WriteFile::new(spelling, "x\n")).await;
        assert!(matches!(code(refused), Code::SensitivePath | Code::NotFound), "{spelling}");
    }
    for spelling in [
        "~/.aws/credentials",
        "~/y/../.aws/credentials",
        "/home/agent/y/../.aws//credentials",
        "~/y/.././.aws/credentials",
    ] {
        assert_eq!(code(actor.read_file(ReadFile::new(spelling)).await), Code::Secret, "{spelling}");
    }
    for spelling in [".cursor/rules/a.mdc", "x/../.cursor//rules/a.mdc"] {
        let refused = actor.write_file(WriteFile::new(spelling, "x\n")).await;
        assert_eq!(code(refused), Code::ApprovalRequired, "{spelling}");
    }
    assert_eq!(bench.world.snapshot(), before);
}

#[tokio::test]
async fn a_path_that_keeps_leading_elsewhere_is_refused() {
    let bench = Bench::new().await;
    for name in ["one", "two", "three"] {
        bench.world.mkdir(format!("/ws/{name}")).unwrap();
    }
    bench.world.symlink("one", "/ws/dir").unwrap();
    for next in ["two", "three"] {
        let world = bench.world.clone();
        bench.barrier().once(Method::Commit, move || {
            world.unlink("/ws/dir").unwrap();
            world.symlink(next, "/ws/dir").unwrap();
        });
    }
    assert_eq!(code(bench.actor().write_file(WriteFile::new("dir/a.txt", "x\n")).await), Code::UnstablePath);
    for name in ["one", "two", "three"] {
        assert!(bench.world.names(format!("/ws/{name}")).unwrap().is_empty());
    }
}

#[tokio::test]
async fn two_edits_of_one_file_in_one_process_both_land() {
    let bench = Bench::new().await;
    let lines = (0..40).map(|n| format!("line {n};\n")).collect::<Vec<_>>().concat();
    bench.world.create("/ws/a.txt", lines.as_bytes()).unwrap();
    let tasks: Vec<_> = (0..40)
        .map(|n| {
            let actor = bench.guard.actor(format!("actor {n}"));
            tokio::spawn(async move {
                actor.edit_file(EditFile::new("a.txt", format!("line {n};"), format!("LINE {n};"))).await
            })
        })
        .collect();
    for task in tasks {
        done(task.await.unwrap());
    }
    assert_eq!(bench.content("a.txt"), lines.replace("line", "LINE"));
}

#[tokio::test]
async fn commits_of_one_file_wait_for_each_other_and_those_of_others_do_not() {
    let bench = Bench::new().await;
    for name in ["a.txt", "b.txt", "c.txt"] {
        bench.world.create(format!("/ws/{name}"), b"one\n").unwrap();
    }
    let edit = |path: &'static str, new: &'static str| {
        let actor = bench.guard.actor(new);
        tokio::spawn(
            async move { actor.edit_file(EditFile::new(path, "one\n", format!("one\n{new}\n"))).await },
        )
    };
    let mut gate = bench.barrier().hold(Method::Commit, When::Before);
    let first = edit("a.txt", "first");
    gate.reached().await;
    // Each takes what another has, in one order or the other: of the file that is held, and of one more.
    let patch = |one: &str, other: &str, word: &str| {
        let update = |path: &str| format!("*** Update File: {path}\n@@\n one\n+{word}\n");
        let patch = format!("*** Begin Patch\n{}{}*** End Patch\n", update(one), update(other));
        let actor = bench.guard.actor("patching");
        tokio::spawn(async move { actor.apply_patch(ApplyPatch { patch, ..ApplyPatch::default() }).await })
    };
    let waiting =
        [patch("a.txt", "b.txt", "there"), patch("b.txt", "a.txt", "back"), edit("a.txt", "second")];
    done(edit("c.txt", "other").await.unwrap());
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    // That of the other file, and the one that is held.
    assert_eq!(bench.ops.counts().commit, 2);
    assert!(waiting.iter().all(|task| !task.is_finished()));
    gate.open();
    done(first.await.unwrap());
    for task in waiting {
        done(task.await.unwrap());
    }
    let content = bench.content("a.txt");
    assert!(["first", "second", "there", "back"].iter().all(|word| content.contains(word)), "{content}");
}

#[tokio::test]
async fn a_caller_that_goes_away_cancels_the_reply_and_nothing_else() {
    let bench = Bench::new().await;
    let actor = Arc::new(bench.actor());
    let mut gate = bench.barrier().hold(Method::Commit, When::Before);
    let call = tokio::spawn({
        let actor = Arc::clone(&actor);
        async move { actor.write_file(WriteFile::new("a.txt", "one\n")).await }
    });
    gate.reached().await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    gate.open();
    // The lock is the commit's: this waits for it, and then the view is there.
    done(actor.write_file(WriteFile::new("a.txt", "two\n")).await);
    assert_eq!(bench.content("a.txt"), "two\n");
}

#[tokio::test]
async fn a_slow_read_never_puts_an_older_view_over_a_newer_own_commit() {
    for route in ["direct", "deferred", "bound"] {
        let bench = Bench::new().await;
        bench.world.create("/ws/a.txt", b"one\n").unwrap();
        let actor = Arc::new(bench.actor());
        reads(&actor, "a.txt").await;
        let mut gate = bench.barrier().hold(Method::Read, When::After);
        let slow = tokio::spawn({
            let (actor, toolbox) = (Arc::clone(&actor), bench.guard.toolbox());
            async move {
                let arguments = serde_json::json!({ "path": "a.txt" });
                let shown = match route {
                    "direct" => serde_json::to_value(actor.read_file(ReadFile::new("a.txt")).await.unwrap()),
                    "deferred" => serde_json::to_value(actor.call("read_file", arguments).await),
                    _ => {
                        serde_json::to_value(toolbox.bind("read_file", &actor).unwrap().call(arguments).await)
                    }
                };
                shown.unwrap().to_string()
            }
        });
        gate.reached().await;
        done(actor.write_file(WriteFile::new("a.txt", "two\n")).await);
        gate.open();
        assert!(slow.await.unwrap().contains("one"), "{route}");
        done(actor.write_file(WriteFile::new("a.txt", "three\n")).await);
    }
}

async fn failing(fault: Fault, when: When) -> (Actor, Arc<Failing<Memory>>, guard_testkit::memory::World) {
    let memory = Memory::new();
    let world = memory.world();
    let ops = Arc::new(Failing::new(memory));
    let guard =
        Guard::builder(Arc::<Failing<Memory>>::clone(&ops)).root(path("/ws"), Access::ReadWrite).open().await;
    ops.fail(Method::Commit, 1, when, fault);
    (guard.expect("the root is there").actor("main"), ops, world)
}

#[tokio::test]
async fn unavailable_is_no_state_and_a_lost_reply_is_no_refusal() {
    let (actor, _, world) = failing(Fault::Unavailable, When::Before).await;
    let failure = actor.write_file(WriteFile::new("a.txt", "x\n")).await.unwrap_err();
    assert_eq!((failure.outcome, failure.refusal.code), (Outcome::Refused, Code::StateUnavailable));
    assert!(world.names("/ws").unwrap().is_empty());
    done(actor.write_file(WriteFile::new("a.txt", "x\n")).await);

    let (actor, _, world) = failing(Fault::OutcomeUnknown, When::After).await;
    let failure = actor.write_file(WriteFile::new("a.txt", "x\n")).await.unwrap_err();
    assert_eq!((failure.outcome, failure.refusal.code), (Outcome::Unknown, Code::OutcomeUnknown));
    assert_eq!(world.read("/ws/a.txt").unwrap(), b"x\n");
}

#[tokio::test]
async fn a_write_whose_answer_was_lost_is_an_own_write_once_it_is_found_in_effect() {
    // Found in effect: it can be written over, and is no drift.
    let (actor, ops, world) = failing(Fault::OutcomeUnknown, When::After).await;
    actor.write_file(WriteFile::new("a.txt", "x\n")).await.unwrap_err();
    ops.fail(Method::Settle, 1, When::Before, Fault::Unavailable);
    // While that is not known, it licenses nothing.
    assert_eq!(code(actor.write_file(WriteFile::new("a.txt", "y\n")).await), Code::NotRead);
    assert_eq!(actor.drift().await.unwrap().changed, []);
    done(actor.write_file(WriteFile::new("a.txt", "y\n")).await);
    assert_eq!(world.read("/ws/a.txt").unwrap(), b"y\n");

    // Found in effect, and changed by another since: that version was never seen.
    let (actor, _, world) = failing(Fault::OutcomeUnknown, When::After).await;
    actor.write_file(WriteFile::new("a.txt", "x\n")).await.unwrap_err();
    assert_eq!(actor.drift().await.unwrap().changed, []);
    world.write("/ws/a.txt", b"of another\n").unwrap();
    assert_eq!(code(actor.write_file(WriteFile::new("a.txt", "y\n")).await), Code::Stale);
    assert_eq!(world.read("/ws/a.txt").unwrap(), b"of another\n");

    // Nothing of it in effect: nothing was seen.
    let (actor, _, world) = failing(Fault::OutcomeUnknown, When::Before).await;
    actor.write_file(WriteFile::new("a.txt", "x\n")).await.unwrap_err();
    world.create("/ws/a.txt", b"x\n").unwrap();
    assert_eq!(actor.drift().await.unwrap().changed, []);
    world.write("/ws/a.txt", b"of another\n").unwrap();
    assert_eq!(code(actor.write_file(WriteFile::new("a.txt", "y\n")).await), Code::NotRead);
}

#[tokio::test]
async fn what_became_of_a_commit_whose_answer_was_lost_is_told_with_the_next_call() {
    for (when, outcome, words) in
        [(When::After, Outcome::Done, "all of it"), (When::Before, Outcome::Refused, "nothing of it")]
    {
        let (actor, ops, world) = failing(Fault::OutcomeUnknown, when).await;
        let arguments = serde_json::json!({"path": "a.txt", "content": "x\n"});
        let reply = actor.call("write_file", arguments).await;
        assert_eq!((reply.outcome, reply.notices.len()), (Outcome::Unknown, 0));
        // While the target cannot be asked, nothing is told, and nothing is forgotten.
        ops.fail(Method::Settle, 1, When::Before, Fault::Unavailable);
        let look = serde_json::json!({"path": "a.txt"});
        let reply = actor.call("stat", look.clone()).await;
        assert_eq!(reply.notices, []);
        let reply = actor.call("stat", look.clone()).await;
        let [notice] = reply.notices.as_slice() else { panic!("{reply:?}") };
        assert_eq!((notice.outcome, notice.paths.as_slice()), (outcome, &["a.txt".to_owned()][..]));
        assert!(notice.message.contains(words), "{}", notice.message);
        assert_eq!(world.read("/ws/a.txt").is_ok(), outcome == Outcome::Done);
        assert_eq!(actor.call("stat", look).await.notices, []);
    }
}

/// The negative control: a guard that asks first and then writes loses the database.
#[tokio::test]
async fn control_asking_first_and_then_writing_loses_the_database() {
    let bench = Bench::new().await;
    let absent = bench.world.read("/ws/app.sqlite").is_err();
    bench.world.create("/ws/app.sqlite", DATABASE).unwrap();
    if absent {
        bench.world.write("/ws/app.sqlite", b"text\n").unwrap();
    }
    assert_ne!(bench.world.read("/ws/app.sqlite").unwrap(), DATABASE);
}
