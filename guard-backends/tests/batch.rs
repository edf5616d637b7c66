//! Batches: all or nothing.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::type_complexity,
    reason = "a test is the other writer"
)]

mod common;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{RESOLVERS, Tree, Ws, assert_bytes, batch, content, mismatch, rename_over};
use guard_backends::local::{Builder, Lease, Local};
use guard_core::policy::{FileState, Precondition};
use guard_core::port::{Change, CommitFailure, Effect, Fate, OpError, Parents, Tier};

fn exchange() -> Builder {
    Local::builder()
}

fn weaker() -> Builder {
    Local::builder().danger_force_tier(Tier::Window)
}

fn without_lease() -> Builder {
    Local::builder().lease(Lease::DangerNever)
}

const WAYS: [(&str, fn() -> Builder); 3] =
    [("exchange", exchange), ("window", weaker), ("without lease", without_lease)];

fn prepare(ws: &Ws) {
    ws.mkdir("d");
    ws.mkdir("empty");
    ws.write("replaced", "old");
    ws.write("d/removed", "removed");
    ws.write("moved", "moved");
    ws.write("last", "last");
}

/// One change of each kind; the last replaces `last`.
fn every_kind(ws: &Ws) -> Vec<Change> {
    vec![
        ws.put("new/deep/created", Precondition::Absent, "created"),
        ws.put("replaced", content("old"), "new"),
        ws.change("d/removed", content("removed"), Effect::Remove),
        ws.move_to("moved", content("moved"), "other/moved"),
        ws.change("made/dir", Precondition::Absent, Effect::MakeDir { parents: Parents::Make }),
        ws.change("empty", Precondition::Absent, Effect::RemoveDir),
        ws.change("d", Precondition::Absent, Effect::RemoveDir),
        ws.put("last", content("last"), "changed"),
    ]
}

/// A tree without the inodes of directories, which an undo may have made again.
fn shape(tree: Tree) -> Tree {
    tree.into_iter()
        .map(|(name, what)| {
            let what = match what.strip_prefix("directory ") {
                Some(rest) => format!("directory {}", rest.split_once(' ').unwrap().1),
                None => what,
            };
            (name, what)
        })
        .collect()
}

#[tokio::test]
async fn a_batch_of_every_kind_is_carried_out() {
    for (way, builder) in WAYS {
        let ws = Ws::with(builder()).await;
        prepare(&ws);
        let done = ws.batch(batch(every_kind(&ws))).await.unwrap();
        let names: Vec<String> = ws.tree().into_keys().collect();
        assert_eq!(
            names,
            [
                "last",
                "made",
                "made/dir",
                "new",
                "new/deep",
                "new/deep/created",
                "other",
                "other/moved",
                "replaced"
            ],
            "{way}"
        );
        assert_eq!((ws.read("replaced"), ws.read("last")), (b"new".to_vec(), b"changed".to_vec()));
        assert!(done.changes.iter().all(|applied| applied.publish.changed && applied.left.is_empty()));
        let after: Vec<bool> =
            done.changes.iter().map(|applied| applied.after == FileState::Absent).collect();
        assert_eq!(after, [false, false, true, false, false, true, true, false]);
        assert_bytes(&done.changes[3].after, "moved");
    }
}

#[tokio::test]
async fn a_failure_of_the_last_change_leaves_all_as_before() {
    for (way, builder) in WAYS {
        // Right before the last change is published, its file changes.
        let published = AtomicUsize::new(0);
        let ws = Ws::watched(builder(), move |step, dir| {
            if step == "published" && published.fetch_add(1, Ordering::Relaxed) == 6 {
                rename_over(&dir.join("last"), "theirs");
            }
        })
        .await;
        prepare(&ws);
        let mut before = shape(ws.tree());
        let error = ws.batch(batch(every_kind(&ws))).await.unwrap_err();
        assert_bytes(&mismatch(&error), "theirs");
        assert_eq!(error.at, Some(7));
        for (index, fate) in error.fates.iter().enumerate() {
            assert!(matches!(fate, Fate::Restored | Fate::Untouched), "{way} {index}: {fate:?}");
        }
        let mut after = shape(ws.tree());
        assert_eq!(ws.read("last"), b"theirs");
        assert!(before.remove("last") != after.remove("last"));
        assert_eq!(after, before, "{way}");
    }
}

#[tokio::test]
async fn a_failure_in_the_middle_leaves_all_as_before_at_every_step() {
    for (way, builder) in WAYS {
        for step in ["resolved", "first-look", "staging", "staged", "checked", "published"] {
            let ws = Ws::once(builder(), step, |dir| rename_over(&dir.join("b"), "theirs")).await;
            for name in ["a", "b", "c"] {
                ws.write(name, "old");
            }
            let mut before = ws.tree();
            let changes = ["a", "b", "c"].map(|name| ws.put(name, content("old"), "new"));
            let error = ws.batch(batch(changes.to_vec())).await.unwrap_err();
            assert_bytes(&mismatch(&error), "theirs");
            assert_eq!(error.at, Some(1), "{way} {step}");
            assert_eq!(error.fates[2], Fate::Untouched);
            let mut after = ws.tree();
            before.remove("b");
            after.remove("b");
            assert_eq!((after, ws.read("b")), (before, b"theirs".to_vec()), "{way} {step}");
        }
    }
}

#[tokio::test]
async fn a_published_file_that_another_writer_touched_is_left_alone_and_named() {
    let rivals: [(&str, fn(&Path, &str)); 2] =
        [("renames over", rename_over), ("writes in place", |path, bytes| fs::write(path, bytes).unwrap())];
    for (way, builder) in WAYS {
        for (rival, act) in rivals {
            let ws = Ws::once(builder(), "published", move |dir| {
                act(&dir.join("created"), "touched");
                rename_over(&dir.join("b"), "theirs");
            })
            .await;
            ws.write("b", "old");
            let changes =
                vec![ws.put("created", Precondition::Absent, "mine"), ws.put("b", content("old"), "new")];
            let error = ws.batch(batch(changes)).await.unwrap_err();
            assert_eq!(error.at, Some(1));
            let Fate::Left { what } = &error.fates[0] else { panic!("{error:?}") };
            assert!(what.starts_with(ws.target("created").as_str()), "{what}");
            assert_eq!(
                (ws.read("created"), ws.read("b")),
                (b"touched".to_vec(), b"theirs".to_vec()),
                "{way} {rival}"
            );
            assert!(ws.temps().is_empty(), "{way} {rival}");

            let ws = Ws::once(builder(), "published", move |dir| {
                act(&dir.join("a"), "touched");
                rename_over(&dir.join("b"), "theirs");
            })
            .await;
            ws.write("a", "old");
            ws.write("b", "old");
            let changes = ["a", "b"].map(|name| ws.put(name, content("old"), "new"));
            let error = ws.batch(batch(changes.to_vec())).await.unwrap_err();
            let Fate::Left { what } = &error.fates[0] else { panic!("{error:?}") };
            let [temp] = &ws.temps()[..] else { panic!("{way} {rival}: {:?}", ws.tree()) };
            assert!(what.starts_with(ws.target(temp).as_str()), "{what}");
            assert_eq!(
                (ws.read("a"), ws.read(temp)),
                (b"touched".to_vec(), b"old".to_vec()),
                "{way} {rival}"
            );
        }
    }
}

#[tokio::test]
async fn a_made_directory_stays_where_something_came_to_be_in_it() {
    let ws = Ws::once(Local::builder(), "published", |dir| {
        fs::write(dir.join("made/theirs"), "theirs").unwrap();
        rename_over(&dir.join("b"), "theirs");
    })
    .await;
    ws.write("b", "old");
    let changes = vec![ws.put("made/mine", Precondition::Absent, "mine"), ws.put("b", content("old"), "new")];
    let error = ws.batch(batch(changes)).await.unwrap_err();
    let Fate::Left { what } = &error.fates[0] else { panic!("{error:?}") };
    assert!(what.starts_with(ws.target("made").as_str()), "{what}");
    assert_eq!(ws.tree().into_keys().collect::<Vec<_>>(), ["b", "made", "made/theirs"]);
}

#[tokio::test]
async fn two_changes_of_one_path_are_refused() {
    let ws = Ws::new().await;
    ws.write("f", "f");
    ws.mkdir("d");
    ws.link("d", "e");
    let before = ws.tree();
    let mut other = ws.put("e/x", Precondition::Absent, "2");
    other.place.expect = ws.target("d/x");
    for changes in [
        vec![ws.put("f", content("f"), "1"), ws.change("f", content("f"), Effect::Remove)],
        vec![ws.put("g", Precondition::Absent, "1"), ws.move_to("f", content("f"), "g")],
        vec![ws.move_to("f", content("f"), "g"), ws.put("f", content("f"), "1")],
        vec![ws.put("d/x", Precondition::Absent, "1"), other],
    ] {
        let error = ws.batch(batch(changes)).await.unwrap_err();
        assert!(matches!(error.cause, CommitFailure::SamePath { .. }), "{error:?}");
        assert_eq!((error.at, error.fates), (Some(1), vec![Fate::Untouched; 2]));
        assert_eq!(ws.tree(), before);
    }
}

#[tokio::test]
async fn later_changes_may_be_below_a_directory_that_an_earlier_one_makes() {
    let ws = Ws::new().await;
    let changes = vec![
        ws.change("d", Precondition::Absent, Effect::MakeDir { parents: Parents::Require }),
        ws.put("d/a", Precondition::Absent, "1"),
        ws.put("d/e/b", Precondition::Absent, "2"),
        ws.put("d/e/c", Precondition::Absent, "3"),
    ];
    let done = ws.batch(batch(changes)).await.unwrap();
    assert_eq!(done.changes[2].made, [ws.target("d/e")]);
    assert_eq!((done.changes[1].made.len(), done.changes[3].made.len()), (0, 0));
    assert_eq!(ws.tree().into_keys().collect::<Vec<_>>(), ["d", "d/a", "d/e", "d/e/b", "d/e/c"]);

    let changes = vec![
        ws.change("x/y", Precondition::Absent, Effect::MakeDir { parents: Parents::Make }),
        ws.put("x/y/a", Precondition::Absent, "1"),
        ws.put("d/a", content("stale"), "2"),
    ];
    let before = ws.tree();
    assert_eq!(ws.batch(batch(changes)).await.unwrap_err().at, Some(2));
    assert_eq!(ws.tree(), before);
}

#[tokio::test]
async fn an_empty_batch_does_nothing() {
    let ws = Ws::new().await;
    assert!(ws.batch(batch(Vec::new())).await.unwrap().changes.is_empty());
}

#[tokio::test]
async fn an_observer_that_panics_makes_the_outcome_unknown_and_nothing_is_published_half() {
    let ws = Ws::once(Local::builder(), "checked", |_| panic!("on purpose")).await;
    ws.write("f", "old");
    let error = ws.commit(ws.put("f", content("old"), "new")).await.unwrap_err();
    assert!(matches!(error.cause, CommitFailure::Op(OpError::OutcomeUnknown { .. })), "{error:?}");
    assert_eq!((error.fates, ws.read("f")), (vec![Fate::Unknown], b"old".to_vec()));
    // What it left is found.
    let left = ws.local.leftovers(ws.root.id, 1000).await.unwrap();
    assert_eq!(left.found.len(), 1);
    assert_bytes(&left.found[0].state, "new");
}

#[tokio::test]
async fn leftovers_are_found_below_a_root_and_nothing_else_is() {
    let ws = Ws::new().await;
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join(".guard-aaaaaaaa"), "outside").unwrap();
    ws.mkdir("d/e");
    ws.write(".guard-abcdefgh", "1");
    ws.write("d/e/.guard-zzzzzzz7", "2");
    ws.mkdir(".guard-dddddddd");
    for (name, bytes) in [(".guard-ABCDEFGH", ""), (".guard-abc", ""), ("guard-abcdefgh", "")] {
        ws.write(name, bytes);
    }
    ws.link(outside.path(), "out");
    let before = ws.tree();
    let left = ws.local.leftovers(ws.root.id, 1000).await.unwrap();
    let mut paths: Vec<_> = left.found.iter().map(|left| left.path.clone()).collect();
    paths.sort();
    assert_eq!(
        paths,
        [ws.target(".guard-abcdefgh"), ws.target(".guard-dddddddd"), ws.target("d/e/.guard-zzzzzzz7")]
    );
    assert!(!left.incomplete && left.skipped.is_empty());
    assert!(ws.local.leftovers(ws.root.id, 2).await.unwrap().incomplete);
    assert_eq!(ws.tree(), before);
}

#[tokio::test]
async fn a_directory_that_leaves_the_root_while_leftovers_are_sought_tells_nothing() {
    for resolver in RESOLVERS {
        let outside = tempfile::tempdir().unwrap();
        let away = outside.path().join("away");
        let to = away.clone();
        // The second directory that is looked into: it was held when the root was.
        let steps = AtomicUsize::new(0);
        let ws = Ws::watched(Local::builder().resolver(resolver), move |step, dir| {
            if step == "to-list" && steps.fetch_add(1, Ordering::Relaxed) == 1 {
                fs::rename(dir.join("d"), &to).unwrap();
                fs::write(to.join(".guard-outsideb"), "outside").unwrap();
            }
        })
        .await;
        ws.mkdir("d/e");
        ws.write("d/e/.guard-outsidec", "outside");
        ws.write(".guard-abcdefgh", "inside");
        let left = ws.local.leftovers(ws.root.id, 1000).await.unwrap();
        assert!(away.join("e").exists(), "{resolver:?}");
        let found: Vec<_> = left.found.iter().map(|left| left.path.clone()).collect();
        assert_eq!(found, [ws.target(".guard-abcdefgh")], "{resolver:?}");
        assert_eq!(left.skipped, [format!("{}: not found", ws.target("d"))], "{resolver:?}");
    }
}
