//! Moving: nothing at the destination is replaced, and only what the precondition names moves.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::type_complexity,
    reason = "a test is the other writer"
)]

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use common::{RESOLVERS, Ws, assert_bytes, batch, content, mismatch, open, place, rename_over};
use guard_backends::local::{Builder, Local};
use guard_core::policy::{FileState, Precondition};
use guard_core::port::{CommitFailure, Effect, Fate, Last, OpError, Parents, Tier};
use guard_testkit::skip::{self, Need};

fn rename() -> Builder {
    Local::builder()
}

fn by_link() -> Builder {
    Local::builder().danger_force_tier(Tier::Window)
}

fn by_copy() -> Builder {
    Local::builder().danger_force_tier(Tier::CreatedNonatomic)
}

const WAYS: [(&str, fn() -> Builder); 2] = [("rename", rename), ("link", by_link)];

#[tokio::test]
async fn a_file_or_link_is_moved_with_its_inode() {
    for resolver in RESOLVERS {
        for (way, builder) in WAYS {
            let ws = Ws::with(builder().resolver(resolver)).await;
            for precondition in [content("seen"), Precondition::Exists] {
                ws.write("f", "seen");
                let ino = fs::metadata(ws.path("f")).unwrap().ino();
                let done = ws.commit(ws.move_to("f", precondition, "a/b/g")).await.unwrap();
                assert_eq!((ws.read("a/b/g"), ws.tree().len()), (b"seen".to_vec(), 3), "{way}");
                assert_eq!(fs::metadata(ws.path("a/b/g")).unwrap().ino(), ino);
                assert_bytes(&done.before, "seen");
                assert!(matches!(done.before, FileState::Regular { nlink: 1, .. }));
                // What is there now is at the destination.
                assert_eq!((done.resolved, done.after), (ws.target("f"), done.before));
                assert_eq!((done.publish.tier, done.publish.copied), (Tier::Exchange, false), "{way}");
                fs::remove_dir_all(ws.path("a")).unwrap();
            }
            ws.link("nothing", "link");
            let mut change = ws.move_to("link", Precondition::Link { text: "nothing".to_owned() }, "moved");
            change.place.last = Last::Itself;
            ws.commit(change).await.unwrap();
            assert_eq!(fs::read_link(ws.path("moved")).unwrap(), Path::new("nothing"), "{way}");
            assert_eq!(ws.tree().len(), 1);
        }
    }
}

#[tokio::test]
async fn what_is_at_the_destination_is_refused_before_any_effect() {
    for (way, builder) in WAYS {
        let ws = Ws::with(builder()).await;
        ws.write("f", "seen");
        ws.write("file", "theirs");
        ws.mkdir("dir");
        ws.link("nothing", "dangling");
        fs::hard_link(ws.path("f"), ws.path("twin")).unwrap();
        let before = ws.tree();
        for to in ["file", "dir", "twin"] {
            let error = ws.commit(ws.move_to("f", content("seen"), to)).await.unwrap_err();
            assert!(
                matches!(error.cause, CommitFailure::Precondition { destination: true, .. }),
                "{way} {to}: {error:?}"
            );
            assert_eq!(error.fates, [Fate::Untouched]);
        }
        let mut dangling = ws.move_to("f", content("seen"), "dangling");
        let Effect::MoveTo { to, .. } = &mut dangling.effect else { unreachable!("it is a move") };
        to.last = Last::Itself;
        assert!(matches!(mismatch(&ws.commit(dangling).await.unwrap_err()), FileState::Link { .. }));
        let error = ws.commit(ws.move_to("f", content("seen"), "f")).await.unwrap_err();
        assert_eq!(error.cause, CommitFailure::SamePath { resolved: ws.target("f") });
        let error = ws.commit(ws.move_to("f", content("other"), "g")).await.unwrap_err();
        assert!(matches!(error.cause, CommitFailure::Precondition { destination: false, .. }));
        let error = ws.commit(ws.move_to("dir", Precondition::Exists, "g")).await.unwrap_err();
        assert_eq!(mismatch(&error), FileState::Directory);
        let mut replacing = ws.move_to("f", content("seen"), "file");
        let Effect::MoveTo { destination, .. } = &mut replacing.effect else { unreachable!("it is a move") };
        *destination = content("theirs");
        let error = ws.commit(replacing).await.unwrap_err();
        assert!(matches!(error.cause, CommitFailure::Op(OpError::Unsupported { .. })));
        assert_eq!(ws.tree(), before, "{way}");
    }
}

#[tokio::test]
async fn a_destination_that_is_created_at_any_step_wins() {
    for (way, builder) in [WAYS[0], WAYS[1], ("copy", by_copy)] {
        for step in ["resolved", "first-look", "checked"] {
            let ws = Ws::once(builder(), step, |dir| fs::write(dir.join("g"), "theirs").unwrap()).await;
            ws.write("f", "seen");
            let error = ws.commit(ws.move_to("f", content("seen"), "g")).await.unwrap_err();
            assert_bytes(&mismatch(&error), "theirs");
            assert_eq!((ws.read("f"), ws.read("g")), (b"seen".to_vec(), b"theirs".to_vec()), "{way} {step}");
            assert_eq!(ws.tree().len(), 2, "{way} {step}: {:?}", ws.tree());
        }
        let ws = Ws::with(builder()).await;
        ws.write("f", "seen");
        let done = ws.commit(ws.move_to("f", content("seen"), "g")).await.unwrap();
        assert_eq!(
            (ws.read("g"), ws.tree().len(), done.publish.copied),
            (b"seen".to_vec(), 1, way == "copy")
        );
    }
}

#[tokio::test]
async fn a_source_that_changes_at_any_step_stays_as_its_writer_left_it() {
    for (way, builder) in [WAYS[0], WAYS[1], ("copy", by_copy)] {
        for step in ["resolved", "first-look", "checked"] {
            let ws = Ws::once(builder(), step, |dir| rename_over(&dir.join("f"), "theirs")).await;
            ws.write("f", "seen");
            let error = ws.commit(ws.move_to("f", content("seen"), "a/g")).await.unwrap_err();
            assert_bytes(&mismatch(&error), "theirs");
            assert_eq!(
                (ws.read("f"), ws.tree().len()),
                (b"theirs".to_vec(), 1),
                "{way} {step}: {:?}",
                ws.tree()
            );

            let ws = Ws::once(builder(), step, |dir| fs::remove_file(dir.join("f")).unwrap()).await;
            ws.write("f", "seen");
            let error = ws.commit(ws.move_to("f", content("seen"), "a/g")).await.unwrap_err();
            assert_eq!((mismatch(&error), ws.tree().len()), (FileState::Absent, 0), "{way} {step}");
        }
    }
}

#[tokio::test]
async fn a_moved_rival_whose_name_was_taken_again_stays_and_is_reported() {
    let ws = Ws::watched(rename(), |step, dir| match step {
        "checked" => rename_over(&dir.join("f"), "newer"),
        "exposed" => fs::write(dir.join("f"), "newest").unwrap(),
        _ => {}
    })
    .await;
    ws.write("f", "seen");
    let error = ws.commit(ws.move_to("f", content("seen"), "g")).await.unwrap_err();
    assert_bytes(&mismatch(&error), "newer");
    assert_eq!((ws.read("f"), ws.read("g")), (b"newest".to_vec(), b"newer".to_vec()));
    let [Fate::Left { what }] = &error.fates[..] else { panic!("{error:?}") };
    assert!(what.starts_with(ws.target("g").as_str()), "{what}");
}

/// A second root on another filesystem.
async fn across(ws: &Ws) -> Option<(tempfile::TempDir, guard_core::port::Root)> {
    let other = tempfile::tempdir_in("/dev/shm").ok()?;
    if fs::metadata(other.path()).ok()?.dev() == fs::metadata(ws.dir.path()).ok()?.dev() {
        return None;
    }
    let root = open(&ws.local, other.path()).await.ok()?;
    Some((other, root))
}

#[tokio::test]
async fn across_filesystems_a_move_is_a_copy_and_a_removal() {
    for resolver in RESOLVERS {
        let ws = Ws::of(resolver).await;
        let Some((other, root)) = across(&ws).await else {
            skip::unmet(Need::SecondFilesystem, "across_filesystems_a_move_is_a_copy_and_a_removal");
            return;
        };
        ws.write("f", "seen");
        fs::set_permissions(ws.path("f"), fs::Permissions::from_mode(0o751)).unwrap();
        let modified = fs::metadata(ws.path("f")).unwrap().modified().unwrap();
        let to = place(&root, other.path(), "a/g");
        let effect = Effect::MoveTo { to, destination: Precondition::Absent, parents: Parents::Make };
        let done = ws.commit(ws.change("f", content("seen"), effect)).await.unwrap();
        assert!(done.publish.copied, "{resolver:?}");
        assert_eq!(done.publish.lease, Some(true));
        assert_eq!(ws.tree().len(), 0);
        let moved = fs::metadata(other.path().join("a/g")).unwrap();
        assert_eq!(fs::read(other.path().join("a/g")).unwrap(), b"seen");
        assert_eq!((moved.mode() & 0o7777, moved.modified().unwrap()), (0o751, modified));

        ws.link("nothing", "link");
        let to = place(&root, other.path(), "link");
        let effect = Effect::MoveTo { to, destination: Precondition::Absent, parents: Parents::Make };
        let mut change = ws.change("link", Precondition::Link { text: "nothing".to_owned() }, effect);
        change.place.last = Last::Itself;
        assert!(ws.commit(change).await.unwrap().publish.copied);
        assert_eq!(fs::read_link(other.path().join("link")).unwrap(), Path::new("nothing"));
        assert_eq!(ws.tree().len(), 0);
    }
}

#[tokio::test]
async fn across_filesystems_a_rival_at_either_end_wins() {
    for (end, step) in
        [("f", "staged"), ("f", "checked"), ("f", "exposed"), ("g", "staged"), ("g", "checked")]
    {
        let there = std::sync::Arc::new(std::sync::OnceLock::<std::path::PathBuf>::new());
        let at = std::sync::Arc::clone(&there);
        let ws = Ws::once(Local::builder(), step, move |dir| match end {
            "f" => rename_over(&dir.join("f"), "theirs"),
            _ => fs::write(at.get().unwrap().join("g"), "theirs").unwrap(),
        })
        .await;
        let Some((other, root)) = across(&ws).await else {
            skip::unmet(Need::SecondFilesystem, "across_filesystems_a_rival_at_either_end_wins");
            return;
        };
        there.set(other.path().to_owned()).unwrap();
        ws.write("f", "seen");
        let to = place(&root, other.path(), "g");
        let effect = Effect::MoveTo { to, destination: Precondition::Absent, parents: Parents::Make };
        let error = ws.commit(ws.change("f", content("seen"), effect)).await.unwrap_err();
        assert_bytes(&mismatch(&error), "theirs");
        let kept = if end == "f" { (&b"theirs"[..], 0) } else { (&b"seen"[..], 1) };
        assert_eq!((&ws.read("f")[..], common::tree(other.path()).len()), kept, "{end} {step}");
        assert_eq!(ws.tree().len(), 1, "{end} {step}: {:?}", ws.tree());
    }
}

#[tokio::test]
async fn a_destination_that_leads_elsewhere_is_refused_before_any_effect() {
    for resolver in RESOLVERS {
        let ws = Ws::of(resolver).await;
        ws.write("f", "seen");
        ws.mkdir("real");
        ws.link("real", "link");
        let before = ws.tree();
        let error = ws.commit(ws.move_to("f", content("seen"), "link/new/g")).await.unwrap_err();
        let CommitFailure::Elsewhere { resolved, state, destination: true } = error.cause else {
            panic!("{error:?}")
        };
        assert_eq!((resolved, state), (ws.target("real/new/g"), FileState::Absent));
        assert_eq!(ws.tree(), before, "{resolver:?}");
    }
}

#[tokio::test]
async fn a_destination_outside_every_root_is_refused() {
    let ws = Ws::new().await;
    let outside = tempfile::tempdir().unwrap();
    ws.write("f", "seen");
    ws.link(outside.path(), "out");
    let before = ws.tree();
    let error = ws.commit(ws.move_to("f", content("seen"), "out/g")).await.unwrap_err();
    assert_eq!(error.cause, CommitFailure::Op(OpError::OutsideRoot));
    let mut up = ws.move_to("f", content("seen"), "g");
    let Effect::MoveTo { to, .. } = &mut up.effect else { unreachable!("it is a move") };
    to.path = "../g".to_owned();
    assert_eq!(ws.batch(batch(vec![up])).await.unwrap_err().cause, CommitFailure::Op(OpError::OutsideRoot));
    assert_eq!(ws.tree(), before);
}

/// The unguarded way: a rename replaces what is at the destination.
#[test]
fn control_a_plain_rename_loses_what_is_at_the_destination() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("f"), "mine").unwrap();
    let to = dir.path().join("g");
    assert!(!to.exists(), "the check passes");
    fs::write(&to, "theirs").unwrap();
    fs::rename(dir.path().join("f"), &to).unwrap();
    assert_eq!(fs::read(&to).unwrap(), b"mine", "theirs is gone");
}
