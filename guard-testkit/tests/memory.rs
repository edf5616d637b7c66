//! What is particular to the in-memory target; what every target owes is in the conformance suite.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail the test")]

mod common;

use std::sync::{Arc, Mutex};

use common::{batch, content, place, put, root, stat, write};
use guard_core::policy::{Digest, FileState, OtherKind, Precondition, TargetPath};
use guard_core::port::{
    Change, CommitFailure, CommitId, Displaced, Effect, Fate, FileOps, Last, LeaseSupport, Observer, OpError,
    Parents, Settled, Step, Tier,
};
use guard_testkit::memory::Memory;

#[tokio::test]
async fn a_file_is_created_and_replaced_under_its_digest_and_nothing_else() {
    let memory = Memory::new();
    let ws = root(&memory, "/ws").await;
    let created = write(&memory, ws, "a/b/c.txt", Precondition::Absent, b"one").await.unwrap();
    let made: Vec<_> = created.changes[0].made.iter().map(TargetPath::as_str).collect();
    assert_eq!(made, ["/ws/a", "/ws/a/b"]);
    assert_eq!(created.changes[0].publish.lease, None);

    let before = memory.world().snapshot();
    for wrong in [Precondition::Absent, content(b"two"), Precondition::Link { text: "x".into() }] {
        let refused = write(&memory, ws, "a/b/c.txt", wrong, b"two").await.unwrap_err();
        let CommitFailure::Precondition { found, .. } = refused.cause else { panic!("{refused:?}") };
        assert_eq!(found.digest(), Some(Digest::of(b"one")));
        assert_eq!(refused.fates, [Fate::Untouched]);
    }
    assert_eq!(memory.world().snapshot(), before);

    let replaced = write(&memory, ws, "a/b/c.txt", content(b"one"), b"two").await.unwrap();
    assert_eq!(replaced.changes[0].publish.lease, Some(true));
    assert_eq!(memory.world().read("/ws/a/b/c.txt").unwrap(), b"two");
    let same = write(&memory, ws, "a/b/c.txt", content(b"two"), b"two").await.unwrap();
    assert!(!same.changes[0].publish.changed);
}

#[tokio::test]
async fn links_are_followed_beneath_a_root_and_refused_beyond() {
    let memory = Memory::new();
    let world = memory.world();
    for directory in ["/ws/real", "/ws/real/in", "/tmp/out", "/tmp/second"] {
        world.mkdir(directory).unwrap();
    }
    for file in ["/ws/real/f", "/ws/top", "/tmp/out/f", "/tmp/second/f"] {
        world.create(file, file.as_bytes()).unwrap();
    }
    let links = [
        ("real/in", "/ws/deep"),
        ("../real/f", "/ws/real/up"),
        ("/ws/real", "/ws/absolute"),
        ("../ws/real", "/ws/around"),
        ("/tmp/../ws/real", "/ws/past-a-name"),
        ("/ws/deep/../f", "/ws/kernels-parent"),
        ("/tmp/second", "/ws/other-root"),
        ("/tmp/out", "/ws/out"),
        ("/ws", "/tmp/out/back"),
        ("../../ws", "/tmp/out/relative-back"),
        ("/tmp/out/f", "/ws/out-file"),
        ("/ws-not", "/ws/prefix"),
        ("deep/../../top", "/ws/kernel-meaning"),
        ("nowhere", "/ws/dangling"),
        ("loop", "/ws/loop"),
        ("/ws", "/tmp/ws-link"),
        ("/tmp/ws-link/top", "/ws/by-alias"),
    ];
    for (text, at) in links {
        world.symlink(text, at).unwrap();
    }
    root(&memory, "/tmp/ws-link").await;
    let ws = root(&memory, "/ws").await;
    let second = root(&memory, "/tmp/second").await;
    assert_ne!(second, ws);

    let cases: &[(&str, Result<&str, OpError>)] = &[
        ("deep/../f", Ok("/ws/real/f")),
        ("deep/../up", Ok("/ws/real/f")),
        ("absolute/f", Ok("/ws/real/f")),
        ("around/f", Ok("/ws/real/f")),
        ("past-a-name/f", Err(OpError::OutsideRoot)),
        ("kernels-parent", Ok("/ws/real/f")),
        ("by-alias", Ok("/ws/top")),
        ("kernel-meaning", Ok("/ws/top")),
        ("other-root/f", Ok("/tmp/second/f")),
        ("real/missing/x", Ok("/ws/real/missing/x")),
        ("", Ok("/ws")),
        ("out/f", Err(OpError::OutsideRoot)),
        ("out/back/top", Err(OpError::OutsideRoot)),
        ("out/relative-back/top", Err(OpError::OutsideRoot)),
        ("out-file", Err(OpError::OutsideRoot)),
        ("prefix", Err(OpError::OutsideRoot)),
        ("..", Err(OpError::OutsideRoot)),
        ("real/../../ws/top", Err(OpError::OutsideRoot)),
        ("loop", Err(OpError::Loop)),
        ("top/x", Err(OpError::NotDirectory { path: "/ws/top".into() })),
        ("missing/../top", Err(OpError::NotFound { path: "/ws/missing".into() })),
        ("dangling/x", Err(OpError::NotFound { path: "/ws/nowhere".into() })),
    ];
    for (path, expected) in cases {
        let got = stat(&memory, ws, path, Last::Follow).await.map(|found| found.resolved.to_string());
        assert_eq!(got, expected.clone().map(str::to_owned), "{path}");
    }
    let dangling = stat(&memory, ws, "dangling", Last::Follow).await.unwrap();
    assert_eq!(dangling.resolved.as_str(), "/ws/dangling");
    assert_eq!(dangling.state, FileState::Link { text: "nowhere".into() });
}

#[tokio::test]
async fn a_path_that_leads_elsewhere_is_told_and_nothing_is_made() {
    let memory = Memory::new();
    let ws = root(&memory, "/ws").await;
    memory.world().mkdir("/ws/.git").unwrap();
    memory.world().symlink(".git", "/ws/docs").unwrap();
    let before = memory.world().snapshot();
    let refused = write(&memory, ws, "docs/new/hook", Precondition::Absent, b"x").await.unwrap_err();
    assert_eq!(
        refused.cause,
        CommitFailure::Elsewhere {
            resolved: TargetPath::new("/ws/.git/new/hook").unwrap(),
            state: FileState::Absent,
            destination: false
        }
    );
    assert_eq!(memory.world().snapshot(), before);
}

#[tokio::test]
async fn a_batch_is_all_or_nothing_and_speaks_of_the_state_before_it() {
    let memory = Memory::new();
    let ws = root(&memory, "/ws").await;
    memory.world().create("/ws/a", b"a").unwrap();
    memory.world().create("/ws/b", b"b").unwrap();
    let before = memory.world().snapshot();
    let changes = |last: &[u8]| {
        let to = place(ws, "moved/b", "/ws/moved/b");
        let effect = Effect::MoveTo { to, destination: Precondition::Absent, parents: Parents::Make };
        vec![
            put(place(ws, "new/c", "/ws/new/c"), Precondition::Absent, b"c"),
            Change { place: place(ws, "b", "/ws/b"), precondition: Precondition::Exists, effect },
            put(place(ws, "a", "/ws/a"), content(last), b"A"),
        ]
    };
    let refused = memory.commit(batch("1", changes(b"other"))).await.unwrap_err();
    assert_eq!((refused.at, refused.fates.len()), (Some(2), 3));
    assert_eq!(memory.world().snapshot(), before);

    memory.commit(batch("2", changes(b"a"))).await.unwrap();
    assert_eq!(memory.world().names("/ws").unwrap(), [b"a".to_vec(), b"moved".to_vec(), b"new".to_vec()]);
    assert_eq!(memory.world().read("/ws/moved/b").unwrap(), b"b");
}

#[tokio::test]
async fn one_path_twice_in_a_batch_is_refused_also_as_the_end_of_a_move() {
    let memory = Memory::new();
    let ws = root(&memory, "/ws").await;
    memory.world().create("/ws/a", b"a").unwrap();
    let to = place(ws, "b", "/ws/b");
    let effect = Effect::MoveTo { to, destination: Precondition::Absent, parents: Parents::Require };
    let moved = Change { place: place(ws, "a", "/ws/a"), precondition: Precondition::Exists, effect };
    let changes = vec![moved, put(place(ws, "b", "/ws/b"), Precondition::Absent, b"b")];
    let refused = memory.commit(batch("1", changes)).await.unwrap_err();
    assert_eq!(refused.cause, CommitFailure::SamePath { resolved: TargetPath::new("/ws/b").unwrap() });
}

#[tokio::test]
async fn permissions_are_an_owners_and_a_denied_parent_is_not_absence() {
    let memory = Memory::new();
    let ws = root(&memory, "/ws").await;
    let world = memory.world();
    for directory in ["/ws/closed", "/ws/fixed"] {
        world.mkdir(directory).unwrap();
    }
    world.create("/ws/closed/f", b"f").unwrap();
    world.create("/ws/unreadable", b"f").unwrap();
    world.create("/ws/fixed-file", b"f").unwrap();
    world.chmod("/ws/closed", 0).unwrap();
    world.chmod("/ws/fixed", 0o555).unwrap();
    world.chmod("/ws/unreadable", 0).unwrap();
    world.chmod("/ws/fixed-file", 0o444).unwrap();
    let before = world.snapshot();
    let denied = |path: &str| OpError::PermissionDenied { path: path.into() };

    assert_eq!(stat(&memory, ws, "closed/f", Last::Follow).await, Err(denied("/ws/closed")));
    assert_eq!(stat(&memory, ws, "unreadable", Last::Follow).await, Err(denied("/ws/unreadable")));
    let cases = [
        ("closed/new", Precondition::Absent, CommitFailure::Op(denied("/ws/closed"))),
        ("fixed/new", Precondition::Absent, CommitFailure::Op(denied("/ws/fixed"))),
        ("unreadable", content(b"f"), CommitFailure::Op(denied("/ws/unreadable"))),
        (
            "fixed-file",
            content(b"f"),
            CommitFailure::ReadOnlyFile { resolved: TargetPath::new("/ws/fixed-file").unwrap() },
        ),
    ];
    for (path, is, cause) in cases {
        assert_eq!(write(&memory, ws, path, is, b"new").await.unwrap_err().cause, cause, "{path}");
    }
    assert_eq!(world.snapshot(), before);
}

#[tokio::test]
async fn space_and_a_read_only_mount_are_enforced() {
    let memory = Memory::builder().capacity(10).build();
    let ws = root(&memory, "/ws").await;
    write(&memory, ws, "a", Precondition::Absent, b"12345").await.unwrap();
    let full = write(&memory, ws, "a", content(b"12345"), b"123456").await.unwrap_err();
    assert_eq!(
        full.cause,
        CommitFailure::Op(OpError::NoSpace),
        "old and new bytes are both there while staged"
    );
    memory.set_capacity(None);
    memory.set_read_only(true);
    let refused = write(&memory, ws, "b", Precondition::Absent, b"").await.unwrap_err();
    assert_eq!(refused.cause, CommitFailure::Op(OpError::ReadOnlyFilesystem));
    assert_eq!(memory.world().read("/ws/a").unwrap(), b"12345");
}

#[tokio::test]
async fn metadata_is_kept_special_bits_are_dropped_and_other_names_keep_the_old_bytes() {
    let memory = Memory::builder().umask(0o077).build();
    let ws = root(&memory, "/ws").await;
    let world = memory.world();
    world.create("/ws/a", b"a").unwrap();
    world.link("/ws/a", "/ws/b").unwrap();
    world.chmod("/ws/a", 0o6755).unwrap();
    let done = write(&memory, ws, "a", content(b"a"), b"A").await.unwrap();
    assert_eq!(done.changes[0].kept.lost, ["setuid", "setgid"]);
    assert_eq!(done.changes[0].kept.other_names, 1);
    assert_eq!((world.mode("/ws/a").unwrap(), world.mode("/ws/b").unwrap()), (0o755, 0o6755));
    assert_eq!(world.read("/ws/b").unwrap(), b"a");
    write(&memory, ws, "new", Precondition::Absent, b"").await.unwrap();
    assert_eq!(world.mode("/ws/new").unwrap(), 0o600);
}

#[tokio::test]
async fn a_file_that_is_open_for_writing_is_noticed_only_with_a_lease() {
    for (lease, allowed) in [(LeaseSupport::Tried, false), (LeaseSupport::No, true)] {
        let memory = Memory::builder().lease(lease).build();
        let ws = root(&memory, "/ws").await;
        memory.world().create("/ws/a", b"a").unwrap();
        let writer = memory.world().open_for_writing("/ws/a").unwrap();
        let outcome = write(&memory, ws, "a", content(b"a"), b"A").await;
        match outcome {
            Ok(done) => assert_eq!((allowed, done.changes[0].publish.lease), (true, Some(false))),
            Err(error) => {
                assert!(!allowed);
                let resolved = TargetPath::new("/ws/a").unwrap();
                assert_eq!(error.cause, CommitFailure::OpenForWriting { resolved });
            }
        }
        writer.write(b"late").unwrap();
        let there = memory.world().read("/ws/a").unwrap();
        assert_eq!(there, if allowed { b"A".to_vec() } else { b"late".to_vec() });
    }
}

#[tokio::test]
async fn danger_any_keeps_what_it_displaces_under_a_reported_name() {
    let memory = Memory::new();
    let ws = root(&memory, "/ws").await;
    memory.world().create("/ws/a", b"old").unwrap();
    let mut dangerous = batch("1", vec![put(place(ws, "a", "/ws/a"), Precondition::DangerAny, b"new")]);
    dangerous.displaced = Displaced::Return { max: 3 };
    let done = memory.commit(dangerous).await.unwrap();
    assert_eq!(done.changes[0].displaced.as_deref(), Some(b"old".as_slice()));
    let (kept, _) = done.changes[0].left[0].split_once(": ").unwrap();
    assert_eq!(memory.world().read(kept).unwrap(), b"old");
    memory.world().mknod("/ws/pipe", OtherKind::Fifo).unwrap();
    let pipe = put(place(ws, "pipe", "/ws/pipe"), Precondition::DangerAny, b"new");
    memory.commit(batch("2", vec![pipe])).await.unwrap_err();
}

#[tokio::test]
async fn a_root_that_was_moved_or_replaced_is_not_that_root() {
    let memory = Memory::new();
    let ws = root(&memory, "/ws").await;
    memory.world().rename("/ws", "/tmp/moved").unwrap();
    let gone = Err(OpError::RootReplaced { path: TargetPath::new("/ws").unwrap() });
    assert_eq!(stat(&memory, ws, "a", Last::Follow).await, gone);
    memory.world().mkdir("/ws").unwrap();
    assert_eq!(stat(&memory, ws, "a", Last::Follow).await, gone);
}

#[tokio::test]
async fn a_settled_commit_is_told_truly_and_one_that_comes_too_late_does_nothing() {
    let memory = Memory::new();
    let ws = root(&memory, "/ws").await;
    let change = |is| vec![put(place(ws, "a", "/ws/a"), is, b"a")];
    memory.commit(batch("done", change(Precondition::Absent))).await.unwrap();
    memory.commit(batch("refused", change(Precondition::Absent))).await.unwrap_err();
    let settled = async |id: &str| memory.settle(&CommitId(id.into())).await.unwrap();
    assert_eq!(settled("done").await, Settled::APPLIED);
    assert_eq!(settled("refused").await, Settled::NOT_APPLIED);
    assert_eq!(settled("late").await, Settled::NOT_APPLIED);
    memory.world().unlink("/ws/a").unwrap();
    let late = memory.commit(batch("late", change(Precondition::Absent))).await.unwrap_err();
    assert!(matches!(late.cause, CommitFailure::Op(OpError::Unavailable { .. })), "{late:?}");
    assert_eq!(settled("late").await, Settled::NOT_APPLIED);
}

#[tokio::test]
async fn a_tier_that_the_target_does_not_have_is_refused_before_any_effect() {
    let memory = Memory::builder().tier(Tier::Window).build();
    let ws = root(&memory, "/ws").await;
    let mut strict = batch("1", vec![put(place(ws, "a", "/ws/a"), Precondition::Absent, b"a")]);
    strict.require = Some(Tier::Exchange);
    let before = memory.world().snapshot();
    let refused = memory.commit(strict).await.unwrap_err();
    assert_eq!(refused.cause, CommitFailure::TierUnavailable { available: Tier::Window });
    assert_eq!(memory.world().snapshot(), before);
}

/// Creates the file when the commit has looked and is about to act.
struct Intruder(Mutex<Option<guard_testkit::memory::World>>);

impl Observer for Intruder {
    fn step(&self, step: Step<'_>) {
        if let Step::Checked(path) = step
            && let Some(world) = self.0.lock().unwrap().take()
        {
            world.create(path.as_str(), b"theirs").unwrap();
        }
    }
}

#[tokio::test]
async fn what_happens_between_the_first_look_and_the_act_is_judged_by_the_act() {
    let intruder = Arc::new(Intruder(Mutex::new(None)));
    let memory = Memory::builder().observer(intruder.clone()).build();
    let ws = root(&memory, "/ws").await;
    *intruder.0.lock().unwrap() = Some(memory.world());
    write(&memory, ws, "a", Precondition::Absent, b"ours").await.unwrap_err();
    assert_eq!(memory.world().read("/ws/a").unwrap(), b"theirs");
}
