//! Wrappers do what they say, and nothing else.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail the test")]

mod common;

use std::sync::Arc;

use common::{content, root, stat, write};
use guard_core::policy::{FileState, Precondition, TargetPath};
use guard_core::port::{CommitFailure, CommitId, Fate, FileOps, Last, OpError, Settled, Step};
use guard_testkit::memory::Memory;
use guard_testkit::wrap::{Barrier, Counting, Counts, Failing, Fault, Method, Shared, StepBarrier, When};

#[tokio::test]
async fn a_file_created_at_the_barrier_is_refused_and_without_the_intruder_creation_succeeds() {
    let memory = Memory::new();
    let world = memory.world();
    let barrier = Barrier::new(memory);
    let ws = root(&barrier, "/ws").await;
    let intruder = world.clone();
    barrier.once(Method::Commit, move || intruder.create("/ws/a.sqlite", b"theirs").unwrap());
    let refused = write(&barrier, ws, "a.sqlite", Precondition::Absent, b"ours").await.unwrap_err();
    assert!(matches!(refused.cause, CommitFailure::Precondition { .. }), "{refused:?}");
    assert_eq!(world.read("/ws/a.sqlite").unwrap(), b"theirs");
    write(&barrier, ws, "b.sqlite", Precondition::Absent, b"ours").await.unwrap();
    assert_eq!(world.read("/ws/b.sqlite").unwrap(), b"ours");
}

#[tokio::test]
async fn hooks_are_taken_in_order_one_a_request_and_every_request_does_what_is_for_every() {
    let memory = Memory::new();
    let world = memory.world();
    let barrier = Barrier::new(memory);
    let ws = root(&barrier, "/ws").await;
    let (first, second, each) = (world.clone(), world.clone(), world.clone());
    barrier.once(Method::Stat, move || first.write("/ws/a", b"1").unwrap());
    barrier.once_async(Method::Stat, When::Before, async move || second.write("/ws/a", b"22").unwrap());
    world.write("/tmp/count", b"").unwrap();
    barrier.every(Method::Stat, move || {
        let so_far = each.read("/tmp/count").unwrap();
        each.write("/tmp/count", &[so_far.as_slice(), b"x"].concat()).unwrap();
    });
    for expected in [1, 2, 2] {
        let found = stat(&barrier, ws, "a", Last::Follow).await.unwrap();
        assert!(matches!(found.state, FileState::Regular { len, .. } if len == expected), "{found:?}");
    }
    assert_eq!(world.read("/tmp/count").unwrap(), b"xxx");
}

#[tokio::test]
async fn a_held_commit_waits_for_its_gate_and_acts_on_what_is_there_then() {
    let memory = Memory::new();
    let world = memory.world();
    let barrier = Arc::new(Barrier::new(memory));
    let ws = root(barrier.as_ref(), "/ws").await;
    world.create("/ws/a", b"old").unwrap();
    let mut gate = barrier.hold(Method::Commit, When::Before);
    let held = Arc::clone(&barrier);
    let commit = tokio::spawn(async move { write(held.as_ref(), ws, "a", content(b"old"), b"new").await });
    gate.reached().await;
    assert_eq!(world.read("/ws/a").unwrap(), b"old");
    world.replace("/ws/a", b"theirs").unwrap();
    gate.open();
    commit.await.unwrap().unwrap_err();
    assert_eq!(world.read("/ws/a").unwrap(), b"theirs");

    let mut gate = barrier.hold(Method::Commit, When::After);
    let held = Arc::clone(&barrier);
    let commit = tokio::spawn(async move { write(held.as_ref(), ws, "a", content(b"theirs"), b"new").await });
    gate.reached().await;
    assert_eq!(world.read("/ws/a").unwrap(), b"new", "carried out, and not yet answered");
    drop(gate);
    commit.await.unwrap().unwrap();
}

#[tokio::test]
async fn round_trips_are_counted_by_method() {
    let counting = Counting::new(Shared(Arc::new(Memory::new())));
    let ws = root(&counting, "/ws").await;
    write(&counting, ws, "a", Precondition::Absent, b"a").await.unwrap();
    write(&counting, ws, "a", Precondition::Absent, b"b").await.unwrap_err();
    stat(&counting, ws, "a", Last::Follow).await.unwrap();
    let expected = Counts { open_root: 1, stat: 1, commit: 2, ..Counts::default() };
    assert_eq!(counting.take(), expected);
    assert_eq!(expected.total(), 4);
    assert_eq!(counting.counts(), Counts::default());
}

#[tokio::test]
async fn a_fault_before_the_request_leaves_the_target_alone_and_one_after_it_loses_only_the_reply() {
    let memory = Memory::new();
    let world = memory.world();
    let failing = Failing::new(memory);
    let ws = root(&failing, "/ws").await;
    failing.fail(Method::Commit, 2, When::Before, Fault::Unavailable);
    failing.fail(Method::Commit, 3, When::After, Fault::OutcomeUnknown);
    failing.fail(Method::Stat, 1, When::Before, Fault::With(OpError::TargetChanged));

    write(&failing, ws, "first", Precondition::Absent, b"1").await.unwrap();
    let before = world.snapshot();
    let refused = write(&failing, ws, "second", Precondition::Absent, b"2").await.unwrap_err();
    assert!(matches!(refused.cause, CommitFailure::Op(OpError::Unavailable { .. })));
    assert_eq!(refused.fates, [Fate::Untouched]);
    assert_eq!(world.snapshot(), before);

    let lost = write(&failing, ws, "third", Precondition::Absent, b"3").await.unwrap_err();
    let commit = CommitId("third".into());
    assert_eq!(lost.cause, CommitFailure::Op(OpError::OutcomeUnknown { commit: commit.clone() }));
    assert_eq!(lost.fates, [Fate::Unknown]);
    assert_eq!(failing.settle(&commit).await.unwrap(), Settled::APPLIED);
    assert_eq!(world.read("/ws/third").unwrap(), b"3");

    assert_eq!(stat(&failing, ws, "first", Last::Follow).await.unwrap_err(), OpError::TargetChanged);
    stat(&failing, ws, "first", Last::Follow).await.unwrap();
}

#[tokio::test]
async fn a_step_barrier_acts_once_at_its_step_and_remembers_all() {
    let barrier = Arc::new(StepBarrier::new());
    let memory = Memory::builder().observer(barrier.clone()).build();
    let world = memory.world();
    let ws = root(&memory, "/ws").await;
    write(&memory, ws, "a", Precondition::Absent, b"a").await.unwrap();
    let seen = barrier.take_seen();
    let names: Vec<_> = seen.iter().map(|step| step.name.as_str()).collect();
    let all = [
        "Resolved",
        "FirstLook",
        "Staging",
        "Staged",
        "Checked",
        "Exposed",
        "Judged",
        "Published",
        "Finished",
    ];
    assert_eq!(names, all);
    assert_eq!(seen[0].path, TargetPath::new("/ws/a").ok());

    // Whatever step the intruder takes before the one atomic step, its bytes survive; after it, they are a later
    // writer's.
    for nth in 1..=all.len() as u64 {
        world.replace("/ws/a", b"old").unwrap();
        let intruder = world.clone();
        barrier.arm(nth, |_| true, move || intruder.replace("/ws/a", b"theirs").unwrap());
        let outcome = write(&memory, ws, "a", content(b"old"), b"new").await;
        assert!(barrier.fired());
        assert_eq!(outcome.is_ok(), nth > 5, "step {nth}");
        assert_eq!(world.read("/ws/a").unwrap(), b"theirs");
    }
    barrier.arm(1, |step| matches!(step, Step::PutBack(_)), || ());
    write(&memory, ws, "b", Precondition::Absent, b"b").await.unwrap();
    assert!(!barrier.fired());
}
