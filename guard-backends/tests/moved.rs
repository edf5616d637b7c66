//! Moving: nothing at the destination is replaced, and only what the precondition names moves.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::type_complexity,
    reason = "a test is the other writer"
)]

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{RESOLVERS, Ws, assert_bytes, batch, content, mismatch, open, place, rename_over};
use guard_backends::local::{Builder, Local};
use guard_core::policy::{FileState, Precondition, TargetPath};
use guard_core::port::{CommitError, CommitFailure, Effect, Fate, Last, OpError, Parents, Tier};
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

const ALL: [(&str, fn() -> Builder); 3] = [WAYS[0], WAYS[1], ("copy", by_copy)];

#[tokio::test]
async fn a_destination_that_is_created_at_any_step_wins() {
    for (way, builder) in ALL {
        for (step, precondition) in ["resolved", "first-look", "checked"]
            .into_iter()
            .flat_map(|step| [(step, content("seen")), (step, Precondition::Exists)])
        {
            let ws = Ws::once(builder(), step, |dir| fs::write(dir.join("g"), "theirs").unwrap()).await;
            ws.write("f", "seen");
            let error = ws.commit(ws.move_to("f", precondition, "g")).await.unwrap_err();
            assert_at_destination(&error, &ws.target("g"));
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

#[track_caller]
fn assert_at_destination(error: &CommitError, to: &TargetPath) {
    let CommitFailure::Precondition { resolved, destination: true, .. } = &error.cause else {
        panic!("{error:?}")
    };
    assert_eq!(resolved, to);
}

/// How another writer comes to have the destination.
const RIVALS: [(&str, fn(&Path)); 3] = [
    ("renames over", |path| rename_over(path, "theirs")),
    ("puts a link", |path| {
        fs::remove_file(path).unwrap();
        std::os::unix::fs::symlink("theirs", path).unwrap();
    }),
    ("makes a directory", |path| {
        fs::remove_file(path).unwrap();
        fs::create_dir(path).unwrap();
    }),
];

#[tokio::test]
async fn what_replaces_a_moved_file_at_its_destination_stays_and_is_not_taken_for_it() {
    for resolver in RESOLVERS {
        for (way, builder) in ALL {
            for (rival, act) in RIVALS {
                for precondition in [content("seen"), Precondition::Exists] {
                    let what = format!("{resolver:?} {way} {rival} {precondition:?}");
                    let builder = builder().resolver(resolver);
                    let ws = Ws::once(builder, "exposed", move |dir| act(&dir.join("g"))).await;
                    ws.write("f", "seen");
                    let error = ws.commit(ws.move_to("f", precondition, "g")).await.unwrap_err();
                    assert_at_destination(&error, &ws.target("g"));
                    let [Fate::Left { what: left }] = &error.fates[..] else { panic!("{what}: {error:?}") };
                    assert!(left.starts_with(ws.target("g").as_str()), "{what}: {left}");
                    let there = fs::symlink_metadata(ws.path("g")).unwrap();
                    match rival {
                        "renames over" => assert_eq!(ws.read("g"), b"theirs", "{what}"),
                        "puts a link" => assert!(there.is_symlink(), "{what}"),
                        _ => assert!(there.is_dir(), "{what}"),
                    }
                    if way == "rename" {
                        // There was one file, and its last writer replaced it: that is said.
                        assert!(left.contains("replaced what was moved there"), "{what}: {left}");
                        assert_eq!(ws.tree().len(), 1, "{what}: {:?}", ws.tree());
                    } else {
                        assert_eq!((ws.read("f"), ws.tree().len()), (b"seen".to_vec(), 2), "{what}");
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn a_moved_file_that_is_gone_from_its_destination_is_not_said_to_be_there() {
    for (way, builder) in ALL {
        for precondition in [content("seen"), Precondition::Exists] {
            let ws = Ws::once(builder(), "exposed", |dir| fs::remove_file(dir.join("g")).unwrap()).await;
            ws.write("f", "seen");
            let error = ws.commit(ws.move_to("f", precondition, "g")).await.unwrap_err();
            assert_eq!(mismatch(&error), FileState::Absent, "{way}");
            if way == "rename" {
                let [Fate::Left { what }] = &error.fates[..] else { panic!("{error:?}") };
                assert!(what.contains("is not there any more"), "{what}");
                assert!(ws.tree().is_empty());
            } else {
                assert_eq!((error.fates, ws.read("f")), (vec![Fate::Restored], b"seen".to_vec()), "{way}");
                assert_eq!(ws.tree().len(), 1, "{way}: {:?}", ws.tree());
            }
        }
    }
}

#[tokio::test]
async fn a_source_is_put_back_where_the_destination_was_replaced_while_it_was_taken_away() {
    for (way, builder) in [ALL[1], ALL[2]] {
        for precondition in [content("seen"), Precondition::Exists] {
            let exposed = AtomicUsize::new(0);
            let ws = Ws::watched(builder(), move |step, dir| {
                if step == "exposed" && exposed.fetch_add(1, Ordering::Relaxed) == 1 {
                    rename_over(&dir.join("g"), "theirs");
                }
            })
            .await;
            ws.write("f", "seen");
            let error = ws.commit(ws.move_to("f", precondition, "g")).await.unwrap_err();
            assert_at_destination(&error, &ws.target("g"));
            assert_eq!((ws.read("f"), ws.read("g")), (b"seen".to_vec(), b"theirs".to_vec()), "{way}");
            assert_eq!(ws.tree().len(), 2, "{way}: {:?}", ws.tree());
            assert!(matches!(&error.fates[..], [Fate::Left { .. }]), "{way}: {error:?}");
        }
    }
}

/// What has the temporary name of a copy, of another writer, is named also where the move itself fails.
#[tokio::test]
async fn what_has_the_temporary_name_of_a_copy_is_named_whatever_failed() {
    // The destination is replaced right after it was made, and while the source is taken away.
    for rival_at in [0, 1] {
        let exposed = AtomicUsize::new(0);
        let ws = Ws::watched(by_copy(), move |step, dir| match step {
            "staged" => {
                let mut paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
                rename_over(&paths.find(|path| path.to_str().unwrap().contains("/.guard-")).unwrap(), "junk");
            }
            "exposed" if exposed.fetch_add(1, Ordering::Relaxed) == rival_at => {
                rename_over(&dir.join("g"), "theirs");
            }
            _ => {}
        })
        .await;
        ws.write("f", "seen");
        let error = ws.commit(ws.move_to("f", content("seen"), "g")).await.unwrap_err();
        assert_at_destination(&error, &ws.target("g"));
        assert_eq!((ws.read("f"), ws.read("g")), (b"seen".to_vec(), b"theirs".to_vec()));
        let [temp] = &ws.temps()[..] else { panic!("{:?}", ws.tree()) };
        assert_eq!(ws.read(temp), b"junk");
        let [Fate::Left { what }] = &error.fates[..] else { panic!("{error:?}") };
        assert!(what.contains(temp.as_str()), "at {rival_at}: {what}");
    }
}

#[tokio::test]
async fn a_link_that_replaces_a_copied_link_is_not_taken_for_it() {
    let ws = Ws::once(by_copy(), "exposed", |dir| {
        fs::remove_file(dir.join("g")).unwrap();
        std::os::unix::fs::symlink("theirs", dir.join("g")).unwrap();
    })
    .await;
    ws.link("seen", "f");
    let mut change = ws.move_to("f", Precondition::Link { text: "seen".to_owned() }, "g");
    change.place.last = Last::Itself;
    let error = ws.commit(change).await.unwrap_err();
    assert_at_destination(&error, &ws.target("g"));
    assert_eq!(fs::read_link(ws.path("f")).unwrap(), Path::new("seen"));
    assert_eq!(fs::read_link(ws.path("g")).unwrap(), Path::new("theirs"));
    assert!(matches!(&error.fates[..], [Fate::Left { .. }]), "{error:?}");
}

#[tokio::test]
async fn a_source_that_changes_at_any_step_stays_as_its_writer_left_it() {
    for (way, builder) in ALL {
        for (step, precondition) in ["resolved", "first-look", "checked", "exposed"]
            .into_iter()
            .flat_map(|step| [(step, content("seen")), (step, Precondition::Exists)])
        {
            let what = format!("{way} {step} {precondition:?}");
            let exists = precondition == Precondition::Exists;
            if exists && matches!(step, "resolved" | "first-look") {
                // What comes before the last look is what exists.
                continue;
            }
            let ws = Ws::once(builder(), step, |dir| rename_over(&dir.join("f"), "theirs")).await;
            ws.write("f", "seen");
            let done = ws.commit(ws.move_to("f", precondition.clone(), "a/g")).await;
            if way == "rename" && step == "exposed" {
                // It was moved already: this is a new file.
                assert_eq!((ws.read("f"), ws.read("a/g")), (b"theirs".to_vec(), b"seen".to_vec()), "{what}");
                assert_bytes(&done.unwrap().after, "seen");
                continue;
            }
            assert_bytes(&mismatch(&done.expect_err(&what)), "theirs");
            assert_eq!((ws.read("f"), ws.tree().len()), (b"theirs".to_vec(), 1), "{what}: {:?}", ws.tree());
            if step == "exposed" {
                continue;
            }
            let ws = Ws::once(builder(), step, |dir| fs::remove_file(dir.join("f")).unwrap()).await;
            ws.write("f", "seen");
            let error = ws.commit(ws.move_to("f", precondition, "a/g")).await.unwrap_err();
            assert_eq!((mismatch(&error), ws.tree().len()), (FileState::Absent, 0), "{what}");
        }
    }
}

#[tokio::test]
async fn a_moved_file_that_is_written_to_in_place_goes_back_with_what_was_written() {
    for (way, builder) in WAYS {
        let ws = Ws::once(builder(), "exposed", |dir| fs::write(dir.join("g"), "theirs").unwrap()).await;
        ws.write("f", "seen");
        let error = ws.commit(ws.move_to("f", content("seen"), "g")).await.unwrap_err();
        assert_bytes(&mismatch(&error), "theirs");
        assert_eq!(error.fates, [Fate::Restored], "{way}");
        assert_eq!((ws.read("f"), ws.tree().len()), (b"theirs".to_vec(), 1), "{way}: {:?}", ws.tree());
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
        let there = Arc::new(std::sync::OnceLock::<std::path::PathBuf>::new());
        let at = Arc::clone(&there);
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

/// A writer that replaces a file whenever it finds one, until it is dropped.
#[cfg(target_os = "linux")]
struct Meanwhile(Arc<std::sync::atomic::AtomicBool>, Option<std::thread::JoinHandle<()>>);

#[cfg(target_os = "linux")]
impl Meanwhile {
    fn replaces(path: std::path::PathBuf) -> Self {
        let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let temp = path.with_extension("theirs");
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                fs::write(&temp, "theirs").unwrap();
                while !stopped.load(Ordering::Relaxed) && fs::symlink_metadata(&path).is_err() {}
                fs::rename(&temp, &path).unwrap();
            }
        });
        Self(stop, Some(thread))
    }
}

#[cfg(target_os = "linux")]
impl Drop for Meanwhile {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        if let Some(thread) = self.1.take() {
            let _ = thread.join();
        }
    }
}

/// Elsewhere nothing tells in the instant of the rename which of the two it was; see `was_moved`.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn another_writers_file_stays_at_its_own_name_at_whatever_instant_it_comes() {
    for (way, builder) in ALL {
        for (end, other, precondition) in
            [("g", "f", content("seen")), ("g", "f", Precondition::Exists), ("f", "g", content("seen"))]
        {
            let ws = Ws::with(builder()).await;
            let (mut moved, mut refused) = (0, 0);
            let rival = Meanwhile::replaces(ws.path(end));
            for round in 0..if way == "rename" { 500 } else { 100 } {
                let _ = fs::remove_file(ws.path("g"));
                rename_over(&ws.path("f"), "seen");
                let mut left = String::new();
                match ws.commit(ws.move_to("f", precondition.clone(), "g")).await {
                    Ok(done) => {
                        assert_bytes(&done.after, "seen");
                        moved += 1;
                    }
                    Err(error) => {
                        left = format!("{:?}", error.fates);
                        refused += 1;
                    }
                }
                // The rival writes at one end only: what is at the other is its content only where its own name was
                // taken again meanwhile, by itself, and then that is told.
                if let Ok(bytes) = fs::read(ws.path(other)) {
                    let told = left.contains(ws.target(other).as_str());
                    assert!(bytes == b"seen" || told, "{way} {end} {precondition:?} {round}: {left}");
                }
            }
            drop(rival);
            println!("{way}, a rival at {end}: {moved} moved, {refused} refused");
        }
    }
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
