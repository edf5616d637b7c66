//! Removing: only what the precondition names goes.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::type_complexity,
    reason = "a test is the other writer"
)]

mod common;

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use common::{RESOLVERS, Ws, assert_bytes, batch, chmod, content, mismatch, rename_over};
use guard_backends::local::{Builder, Lease, Local};
use guard_core::policy::{FileState, Precondition};
use guard_core::port::{
    Applied, CommitError, CommitFailure, Displaced, Effect, Fate, Last, OpError, Parents, Tier,
};

fn exchange() -> Builder {
    Local::builder()
}

fn without_lease() -> Builder {
    Local::builder().lease(Lease::DangerNever)
}

fn weaker() -> Builder {
    Local::builder().danger_force_tier(Tier::Window)
}

const WAYS: [(&str, fn() -> Builder); 3] =
    [("exchange", exchange), ("without lease", without_lease), ("by link", weaker)];

async fn remove(ws: &Ws, name: &str, precondition: Precondition) -> Result<Applied, CommitError> {
    let mut change = ws.change(name, precondition, Effect::Remove);
    change.place.last = Last::Itself;
    ws.commit(change).await
}

fn link(text: &str) -> Precondition {
    Precondition::Link { text: text.to_owned() }
}

#[tokio::test]
async fn a_file_or_link_that_was_named_goes() {
    for resolver in RESOLVERS {
        for (way, builder) in WAYS {
            let ws = Ws::with(builder().resolver(resolver)).await;
            ws.write("f", "seen");
            ws.write("stays", "stays");
            ws.link("stays", "link");
            ws.link("nothing", "dangling");
            let done = remove(&ws, "f", content("seen")).await.unwrap();
            assert_bytes(&done.before, "seen");
            assert_eq!(
                (done.after, done.publish.lease),
                (FileState::Absent, Some(way != "without lease")),
                "{way}"
            );
            for (name, text) in [("link", "stays"), ("dangling", "nothing")] {
                let done = remove(&ws, name, link(text)).await.unwrap();
                assert_eq!(done.before, FileState::Link { text: text.to_owned() });
                assert_eq!(done.publish.lease, None);
            }
            assert_eq!(ws.tree().into_keys().collect::<Vec<_>>(), ["stays"], "{way}");
        }
    }
}

#[tokio::test]
async fn a_link_whose_text_is_not_utf8_goes_by_its_written_form() {
    let ws = Ws::new().await;
    std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(b"bad\xff"), ws.path("bad")).unwrap();
    assert!(remove(&ws, "bad", link("bad")).await.is_err());
    remove(&ws, "bad", link("bad\\xFF")).await.unwrap();
    assert!(ws.tree().is_empty());
}

#[tokio::test]
async fn what_was_not_named_stays() {
    for (way, builder) in WAYS {
        let ws = Ws::with(builder()).await;
        ws.write("f", "theirs");
        ws.mkdir("dir");
        ws.link("f", "link");
        common::mkfifo(&ws.path("fifo"));
        let before = ws.tree();
        for (name, precondition) in [
            ("f", content("seen")),
            ("f", link("f")),
            ("f", Precondition::Absent),
            ("dir", content("seen")),
            ("dir", Precondition::DangerAny),
            ("link", content("theirs")),
            ("link", link("g")),
            ("fifo", Precondition::DangerAny),
            ("nothing", content("seen")),
            ("nothing", Precondition::DangerAny),
            ("no/such/dir", Precondition::Absent),
        ] {
            let error = remove(&ws, name, precondition.clone()).await.unwrap_err();
            mismatch(&error);
            assert_eq!(error.fates, [Fate::Untouched]);
            assert_eq!(ws.tree(), before, "{way} {name} {precondition:?}");
        }
        let error = remove(&ws, "f", Precondition::Exists).await.unwrap_err();
        assert!(matches!(error.cause, CommitFailure::Op(OpError::Unsupported { .. })));
        let error = remove(&ws, "", content("seen")).await.unwrap_err();
        assert_eq!(mismatch(&error), FileState::Directory, "the root itself");
    }
}

#[tokio::test]
async fn whatever_changes_the_file_before_it_is_gone_stays() {
    for (way, builder) in WAYS {
        for step in ["resolved", "first-look", "checked"] {
            let ws = Ws::once(builder(), step, |dir| rename_over(&dir.join("f"), "theirs")).await;
            ws.write("f", "seen");
            let error = remove(&ws, "f", content("seen")).await.unwrap_err();
            assert_bytes(&mismatch(&error), "theirs");
            assert_eq!((ws.read("f"), ws.tree().len()), (b"theirs".to_vec(), 1), "{way} {step}");

            // A link to identical bytes is not the file.
            let ws = Ws::once(builder(), step, |dir| {
                fs::rename(dir.join("f"), dir.join("twin")).unwrap();
                std::os::unix::fs::symlink("twin", dir.join("f")).unwrap();
            })
            .await;
            ws.write("f", "seen");
            let error = remove(&ws, "f", content("seen")).await.unwrap_err();
            assert_eq!(mismatch(&error), FileState::Link { text: "twin".to_owned() }, "{way} {step}");
            assert_eq!(fs::read_link(ws.path("f")).unwrap(), Path::new("twin"), "{way} {step}");
            assert_eq!(ws.tree().len(), 2, "{way} {step}");
        }
        // What is created under the name once it is free is another file.
        for step in ["exposed", "published"] {
            let ws = Ws::once(builder(), step, |dir| fs::write(dir.join("f"), "new").unwrap()).await;
            ws.write("f", "seen");
            remove(&ws, "f", content("seen")).await.unwrap();
            assert_eq!((ws.read("f"), ws.tree().len()), (b"new".to_vec(), 1), "{way} {step}");
        }
    }
}

#[tokio::test]
async fn what_cannot_be_put_back_because_its_name_was_taken_stays_under_a_reported_name() {
    for (way, builder) in WAYS {
        let ws = Ws::watched(builder(), |step, dir| match step {
            "checked" => rename_over(&dir.join("f"), "newer"),
            "exposed" => fs::write(dir.join("f"), "newest").unwrap(),
            _ => {}
        })
        .await;
        ws.write("f", "seen");
        let error = remove(&ws, "f", content("seen")).await.unwrap_err();
        assert_eq!(ws.read("f"), b"newest", "{way}");
        let [temp] = &ws.temps()[..] else { panic!("{way}: {:?}", ws.tree()) };
        assert_eq!(ws.read(temp), b"newer");
        let [Fate::Left { what }] = &error.fates[..] else { panic!("{error:?}") };
        assert!(what.starts_with(ws.target(temp).as_str()), "{what}");
    }
}

#[tokio::test]
async fn displaced_bytes_come_back_or_stay_under_a_reported_name() {
    for (way, builder) in WAYS {
        let ws = Ws::with(builder()).await;
        ws.write("f", "seen");
        let mut all = batch(vec![ws.change("f", content("seen"), Effect::Remove)]);
        all.displaced = Displaced::Return { max: 100 };
        let done = ws.batch(all).await.unwrap().changes.remove(0);
        assert_eq!((done.displaced, ws.tree().len()), (Some(b"seen".to_vec()), 0), "{way}");

        ws.write("f", "unseen");
        let done = remove(&ws, "f", Precondition::DangerAny).await.unwrap();
        let [temp] = &ws.temps()[..] else { panic!("{way}: {:?}", ws.tree()) };
        assert_eq!((ws.read(temp), ws.tree().len()), (b"unseen".to_vec(), 1));
        assert!(done.left[0].starts_with(ws.target(temp).as_str()), "{:?}", done.left);
    }
}

#[tokio::test]
async fn only_an_empty_directory_is_removed() {
    for resolver in RESOLVERS {
        let ws = Ws::of(resolver).await;
        ws.mkdir("full/sub");
        ws.mkdir("empty");
        ws.write("f", "f");
        ws.link("empty", "link");
        let before = ws.tree();
        let removing = |name: &str| {
            let mut change = ws.change(name, Precondition::Absent, Effect::RemoveDir);
            change.place.last = Last::Itself;
            ws.commit(change)
        };
        assert_eq!(
            removing("full").await.unwrap_err().cause,
            CommitFailure::NotEmpty { resolved: ws.target("full") }
        );
        for (name, is_expected) in [
            ("f", (|error| matches!(error, OpError::NotDirectory { .. })) as fn(&OpError) -> bool),
            ("link", |error| matches!(error, OpError::NotDirectory { .. })),
            ("nothing", |error| matches!(error, OpError::NotFound { .. })),
        ] {
            let error = removing(name).await.unwrap_err();
            assert!(matches!(&error.cause, CommitFailure::Op(op) if is_expected(op)), "{name} {error:?}");
        }
        assert_eq!(ws.tree(), before);
        let done = removing("empty").await.unwrap();
        assert_eq!((done.before, done.after), (FileState::Directory, FileState::Absent));
        assert!(!ws.tree().contains_key("empty"));
        let top = ws.change("", Precondition::Absent, Effect::RemoveDir);
        assert_eq!(ws.commit(top).await.unwrap_err().cause, CommitFailure::Op(OpError::OutsideRoot));
    }
}

#[tokio::test]
async fn a_file_that_comes_into_a_directory_before_it_is_removed_stays() {
    for step in ["first-look", "checked"] {
        let ws = Ws::once(Local::builder(), step, |dir| fs::write(dir.join("d/f"), "theirs").unwrap()).await;
        ws.mkdir("d");
        let error = ws.commit(ws.change("d", Precondition::Absent, Effect::RemoveDir)).await.unwrap_err();
        assert_eq!(error.cause, CommitFailure::NotEmpty { resolved: ws.target("d") });
        assert_eq!(ws.read("d/f"), b"theirs");
    }
}

#[tokio::test]
async fn a_directory_goes_with_the_files_that_the_same_batch_removes() {
    for (way, builder) in WAYS {
        let ws = Ws::with(builder()).await;
        ws.mkdir("d/e");
        ws.write("d/f", "1");
        ws.write("d/e/f", "2");
        let changes = vec![
            ws.change("d/e/f", content("2"), Effect::Remove),
            ws.change("d/f", content("1"), Effect::Remove),
            ws.change("d/e", Precondition::Absent, Effect::RemoveDir),
            ws.change("d", Precondition::Absent, Effect::RemoveDir),
        ];
        let done = ws.batch(batch(changes)).await.unwrap();
        assert!(ws.tree().is_empty(), "{way}: {:?}", ws.tree());
        assert!(
            done.changes.iter().all(|applied| applied.after == FileState::Absent && applied.publish.changed)
        );

        // What comes in between stays, with its directory, and the receipt does not claim otherwise.
        let ws = Ws::watched(builder(), |step, dir| {
            if step == "published" && fs::symlink_metadata(dir.join("d/f")).is_err() {
                let _ = fs::write(dir.join("d/new"), "theirs");
            }
        })
        .await;
        ws.mkdir("d");
        ws.write("d/f", "1");
        let changes = vec![
            ws.change("d/f", content("1"), Effect::Remove),
            ws.change("d", Precondition::Absent, Effect::RemoveDir),
        ];
        let error = ws.batch(batch(changes)).await.unwrap_err();
        assert_eq!(error.cause, CommitFailure::NotEmpty { resolved: ws.target("d") });
        assert_eq!((ws.read("d/new"), ws.read("d/f")), (b"theirs".to_vec(), b"1".to_vec()), "{way}");
        assert!(ws.temps().is_empty());
    }
}

#[tokio::test]
async fn a_removed_directory_whose_name_another_writer_has_is_not_said_to_be_restored() {
    let rivals: [(&str, fn(&Path)); 3] = [
        ("file", |path| fs::write(path, "theirs").unwrap()),
        ("link", |path| std::os::unix::fs::symlink("nothing", path).unwrap()),
        ("directory", |path| fs::create_dir(path).unwrap()),
    ];
    for (rival, act) in rivals {
        let ws = Ws::once(Local::builder(), "published", move |dir| {
            act(&dir.join("d"));
            rename_over(&dir.join("last"), "theirs");
        })
        .await;
        ws.mkdir("d");
        ws.write("last", "last");
        let changes = vec![
            ws.change("d", Precondition::Absent, Effect::RemoveDir),
            ws.put("last", content("last"), "changed"),
        ];
        let error = ws.batch(batch(changes)).await.unwrap_err();
        assert_eq!(error.at, Some(1), "{rival}");
        match &error.fates[0] {
            // A directory is a directory.
            Fate::Restored => assert_eq!(rival, "directory"),
            Fate::Left { what } => {
                assert_ne!(rival, "directory");
                assert!(what.starts_with(ws.target("d").as_str()), "{what}");
            }
            other => panic!("{rival}: {other:?}"),
        }
        let there = fs::symlink_metadata(ws.path("d")).unwrap().file_type();
        assert_eq!((there.is_file(), there.is_symlink()), (rival == "file", rival == "link"));
    }
}

/// A directory that is made again gets its attributes before others know it by its name, so that none of theirs does.
#[tokio::test]
async fn another_writers_directory_does_not_get_the_attributes_of_a_removed_one() {
    for (way, builder) in WAYS {
        let ws = Ws::watched(builder(), |step, dir| match step {
            "published" if !dir.join("d").exists() => rename_over(&dir.join("last"), "theirs"),
            "put-back" if dir.join("d").exists() => {
                fs::rename(dir.join("d"), dir.join("away")).unwrap();
                fs::rename(dir.join("theirs"), dir.join("d")).unwrap();
            }
            _ => {}
        })
        .await;
        for (name, mode) in [("d", 0o750), ("theirs", 0o711)] {
            ws.mkdir(name);
            chmod(&ws.path(name), mode);
        }
        ws.write("last", "last");
        let changes = vec![
            ws.change("d", Precondition::Absent, Effect::RemoveDir),
            ws.put("last", content("last"), "changed"),
        ];
        let error = ws.batch(batch(changes)).await.unwrap_err();
        assert_eq!((error.at, &error.fates[0]), (Some(1), &Fate::Restored), "{way}");
        let modes = ["away", "d"].map(|name| fs::metadata(ws.path(name)).unwrap().mode() & 0o7777);
        assert_eq!(modes, [0o750, 0o711], "{way}");
        assert!(ws.temps().is_empty(), "{way}");
    }
}

#[tokio::test]
async fn a_directory_is_made_where_nothing_is() {
    for resolver in RESOLVERS {
        let ws = Ws::of(resolver).await;
        ws.write("f", "f");
        let make = |name: &str, parents| {
            ws.commit(ws.change(name, Precondition::Absent, Effect::MakeDir { parents }))
        };
        let done = make("a/b/c", Parents::Make).await.unwrap();
        assert_eq!((done.before, done.after), (FileState::Absent, FileState::Directory));
        assert_eq!(done.made, [ws.target("a"), ws.target("a/b")]);
        assert!(fs::symlink_metadata(ws.path("a/b/c")).unwrap().is_dir());
        let before = ws.tree();
        let error = make("x/y", Parents::Require).await.unwrap_err();
        assert!(matches!(error.cause, CommitFailure::Op(OpError::NotFound { .. })));
        assert_eq!(mismatch(&make("a/b/c", Parents::Make).await.unwrap_err()), FileState::Directory);
        assert!(mismatch(&make("f", Parents::Make).await.unwrap_err()).is_regular());
        assert_eq!(ws.tree(), before);
        let rival = Ws::once(Local::builder().resolver(resolver), "checked", |dir| {
            fs::write(dir.join("d"), "theirs").unwrap();
        });
        let ws = rival.await;
        let change = ws.change("d", Precondition::Absent, Effect::MakeDir { parents: Parents::Make });
        assert_bytes(&mismatch(&ws.commit(change).await.unwrap_err()), "theirs");
    }
}

/// The unguarded way: look, then unlink.
#[test]
fn control_an_unlink_after_a_check_loses_what_was_written_in_between() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    fs::write(&path, "seen").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"seen", "the check passes");
    rename_over(&path, "theirs");
    fs::remove_file(&path).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "theirs is gone");
}
