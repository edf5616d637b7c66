//! Replacing: no content that another writer completed is lost.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::type_complexity,
    reason = "a test is the other writer"
)]

mod common;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{RESOLVERS, Ws, assert_bytes, batch, content, mismatch, rename_over};
use guard_backends::local::{Builder, Lease, Local};
use guard_core::policy::{FileState, OpenWriters, Precondition};
use guard_core::port::{CommitError, CommitFailure, Displaced, Fate, Tier};

fn exchange() -> Builder {
    Local::builder()
}

fn without_lease() -> Builder {
    Local::builder().lease(Lease::DangerNever)
}

fn window() -> Builder {
    Local::builder().danger_force_tier(Tier::Window)
}

fn window_without_lease() -> Builder {
    window().lease(Lease::DangerNever)
}

/// Every way of replacing a file.
const WAYS: [(&str, fn() -> Builder); 4] = [
    ("exchange", exchange),
    ("exchange without lease", without_lease),
    ("window", window),
    ("window without lease", window_without_lease),
];

fn in_place(path: &Path, bytes: &str) {
    fs::write(path, bytes).unwrap();
}

fn unlink_and_create(path: &Path, bytes: &str) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Returns the one path that a fate names, and what is in it.
fn left_over(ws: &Ws, error: &CommitError) -> (String, Vec<u8>) {
    let [Fate::Left { what }] = &error.fates[..] else { panic!("{error:?}") };
    let path = what.split(": ").next().unwrap();
    let name = path.strip_prefix(ws.dir.path().to_str().unwrap()).unwrap().trim_start_matches('/');
    (name.to_owned(), ws.read(name))
}

/// The one staged content in a directory.
fn staged(dir: &Path) -> std::path::PathBuf {
    let mut paths = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    paths.find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(".guard-")).unwrap()
}

#[tokio::test]
async fn a_staged_content_that_cannot_be_removed_is_named_whatever_failed() {
    for (way, builder) in WAYS {
        let ws = Ws::once(builder(), "checked", |dir| {
            fs::remove_file(dir.join("f")).unwrap();
            rename_over(&staged(dir), "junk");
        })
        .await;
        ws.write("f", "old");
        let error = ws.commit(ws.put("f", content("old"), "new")).await.unwrap_err();
        assert_eq!(mismatch(&error), FileState::Absent, "{way}");
        assert_eq!(left_over(&ws, &error).1, b"junk", "{way}");
    }
    for builder in [window, window_without_lease] {
        let ws = Ws::once(builder(), "checked", |dir| {
            let staged = staged(dir);
            fs::remove_file(&staged).unwrap();
            fs::create_dir(staged).unwrap();
        })
        .await;
        ws.write("f", "old");
        let error = ws.commit(ws.put("f", content("old"), "new")).await.unwrap_err();
        assert!(matches!(error.cause, CommitFailure::Op(_)), "{error:?}");
        let [Fate::Left { what }] = &error.fates[..] else { panic!("{error:?}") };
        let [temp] = &ws.temps()[..] else { panic!("{:?}", ws.tree()) };
        assert!(what.starts_with(ws.target(temp).as_str()), "{what}");
        assert_eq!(ws.read("f"), b"old");
    }
}

#[tokio::test]
async fn a_file_is_replaced_and_the_receipt_says_how() {
    for resolver in RESOLVERS {
        for (way, builder) in WAYS {
            let ws = Ws::with(builder().resolver(resolver)).await;
            ws.write("f", "old");
            let old = fs::metadata(ws.path("f")).unwrap();
            let done = ws.commit(ws.put("f", content("old"), "new!")).await.unwrap();
            assert_eq!(ws.read("f"), b"new!");
            assert_ne!(fs::metadata(ws.path("f")).unwrap().ino(), old.ino());
            assert_bytes(&done.before, "old");
            assert_bytes(&done.after, "new!");
            for state in [&done.before, &done.after] {
                assert!(
                    matches!(state, FileState::Regular { mode, nlink: 1, .. } if *mode == old.mode() & 0o7777),
                    "{way}: {state:?}"
                );
            }
            let tier = if way.starts_with("window") { Tier::Window } else { Tier::Exchange };
            let leased = !way.ends_with("without lease");
            assert_eq!((done.publish.tier, done.publish.lease), (tier, Some(leased)), "{way}");
            assert!(done.publish.changed && !done.publish.copied);
            assert_eq!((done.left.len(), done.displaced, ws.temps().len()), (0, None, 0), "{way}");
        }
    }
}

#[tokio::test]
async fn another_content_or_none_is_refused_before_any_effect() {
    for (way, builder) in WAYS {
        let ws = Ws::with(builder()).await;
        ws.write("f", "theirs");
        let before = ws.tree();
        let error = ws.commit(ws.put("f", content("seen"), "mine")).await.unwrap_err();
        assert_bytes(&mismatch(&error), "theirs");
        let error = ws.commit(ws.put("nothing", content("seen"), "mine")).await.unwrap_err();
        assert_eq!(mismatch(&error), FileState::Absent);
        let error = ws.commit(ws.put("no/dir/f", content("seen"), "mine")).await.unwrap_err();
        assert_eq!(mismatch(&error), FileState::Absent);
        assert_eq!(error.fates, [Fate::Untouched]);
        assert_eq!(ws.tree(), before, "{way}");
    }
}

#[tokio::test]
async fn identical_bytes_are_verified_and_not_replaced() {
    for (way, builder) in WAYS {
        let ws = Ws::with(builder()).await;
        ws.write("f", "same");
        let before = (ws.tree(), fs::metadata(ws.path("f")).unwrap().modified().unwrap());
        for precondition in [content("same"), Precondition::DangerAny] {
            let done = ws.commit(ws.put("f", precondition, "same")).await.unwrap();
            assert!(!done.publish.changed, "{way}");
            assert_bytes(&done.before, "same");
            assert_eq!(done.after, done.before);
            assert!(done.left.is_empty());
        }
        assert_eq!((ws.tree(), fs::metadata(ws.path("f")).unwrap().modified().unwrap()), before, "{way}");
        // They are verified: what changes in between is noticed.
        let ws = Ws::once(builder(), "staged", |_| panic!("nothing is staged")).await;
        ws.write("f", "same");
        ws.commit(ws.put("f", content("same"), "same")).await.unwrap();
        let ws = Ws::once(builder(), "first-look", |dir| rename_over(&dir.join("f"), "other")).await;
        ws.write("f", "same");
        let error = ws.commit(ws.put("f", content("same"), "same")).await.unwrap_err();
        assert_bytes(&mismatch(&error), "other");
        let ws = Ws::once(builder(), "first-look", |dir| rename_over(&dir.join("f"), "other")).await;
        ws.write("f", "same");
        let done = ws.commit(ws.put("f", Precondition::DangerAny, "same")).await.unwrap();
        assert!(done.publish.changed && ws.read("f") == b"same" && done.left.len() == 1, "{way}");
        assert_eq!(ws.read(&ws.temps()[0]), b"other");
    }
}

#[tokio::test]
async fn whatever_changes_the_file_before_it_is_published_wins() {
    let rivals: [(&str, fn(&Path, &str)); 3] = [
        ("renames over", rename_over),
        ("writes in place", in_place),
        ("unlinks and creates", unlink_and_create),
    ];
    for (way, builder) in WAYS {
        for (rival, act) in rivals {
            for step in ["resolved", "first-look", "staging", "staged", "leased", "checked"] {
                let leased = !way.ends_with("without lease");
                // Under a lease a writer in place waits: see the tests of leases.
                let is_held_off =
                    leased && rival == "writes in place" && matches!(step, "leased" | "checked");
                if is_held_off || (step == "leased" && !leased) {
                    continue;
                }
                let ws = Ws::once(builder(), step, move |dir| act(&dir.join("f"), "theirs")).await;
                ws.write("f", "seen");
                let error = ws.commit(ws.put("f", content("seen"), "mine")).await.unwrap_err();
                assert_bytes(&mismatch(&error), "theirs");
                assert_eq!(ws.read("f"), b"theirs", "{way}, {rival} at {step}");
                assert!(ws.temps().is_empty(), "{way}, {rival} at {step}: {:?}", ws.tree());
            }
        }
        for step in ["first-look", "staged", "checked"] {
            let ws = Ws::once(builder(), step, |dir| fs::remove_file(dir.join("f")).unwrap()).await;
            ws.write("f", "seen");
            let error = ws.commit(ws.put("f", content("seen"), "mine")).await.unwrap_err();
            assert_eq!(mismatch(&error), FileState::Absent, "{way}, removed at {step}");
            assert!(ws.tree().is_empty(), "{way}, removed at {step}: {:?}", ws.tree());
        }
    }
}

#[tokio::test]
async fn what_changes_the_new_file_after_it_was_judged_stays() {
    for (way, builder) in WAYS {
        for step in ["judged", "published"] {
            for act in [rename_over as fn(&Path, &str), in_place, unlink_and_create] {
                let ws = Ws::once(builder(), step, move |dir| act(&dir.join("f"), "newer")).await;
                ws.write("f", "seen");
                ws.commit(ws.put("f", content("seen"), "mine")).await.unwrap();
                assert_eq!(ws.read("f"), b"newer", "{way} {step}");
                assert!(ws.temps().is_empty(), "{way} {step}");
            }
        }
    }
}

#[tokio::test]
async fn a_rival_that_writes_in_place_into_our_exposed_inode_is_not_lost() {
    let ws = Ws::watched(exchange(), |step, dir| match step {
        "checked" => rename_over(&dir.join("f"), "newer"),
        // At this moment the name has our inode, which is going to be taken back.
        "exposed" => in_place(&dir.join("f"), "newest"),
        _ => {}
    })
    .await;
    ws.write("f", "seen");
    let error = ws.commit(ws.put("f", content("seen"), "mine")).await.unwrap_err();
    assert_bytes(&mismatch(&error), "newest");
    assert_eq!(ws.read("f"), b"newest");
    assert_eq!(left_over(&ws, &error).1, b"newer");
}

#[tokio::test]
async fn a_newer_rename_that_lands_before_the_swap_back_is_at_the_name() {
    let ws = Ws::watched(exchange(), |step, dir| match step {
        "checked" => rename_over(&dir.join("f"), "newer"),
        "judged" => rename_over(&dir.join("f"), "newest"),
        _ => {}
    })
    .await;
    ws.write("f", "seen");
    let error = ws.commit(ws.put("f", content("seen"), "mine")).await.unwrap_err();
    assert_bytes(&mismatch(&error), "newest");
    assert_eq!(ws.read("f"), b"newest");
    assert_eq!(left_over(&ws, &error).1, b"newer");
}

#[tokio::test]
async fn a_name_that_keeps_changing_is_left_and_reported() {
    let written = std::sync::Arc::new(AtomicUsize::new(0));
    let count = std::sync::Arc::clone(&written);
    let ws = Ws::watched(exchange(), move |step, dir| {
        if matches!(step, "checked" | "exposed" | "put-back") {
            let number = count.fetch_add(1, Ordering::Relaxed);
            rename_over(&dir.join("f"), &format!("version {number}"));
        }
    })
    .await;
    ws.write("f", "seen");
    let error = ws.commit(ws.put("f", content("seen"), "mine")).await.unwrap_err();
    let last = written.load(Ordering::Relaxed) - 1;
    assert_eq!(last, 8, "eight exchanges, and the write before them");
    // The last one was written after the last exchange, so that it is at the name.
    assert_eq!(ws.read("f"), format!("version {last}").as_bytes());
    let (_, bytes) = left_over(&ws, &error);
    assert_eq!(bytes, format!("version {}", last - 1).as_bytes());
    assert_bytes(&mismatch(&error), &format!("version {last}"));
}

#[tokio::test]
async fn a_name_that_is_removed_while_its_content_is_displaced_leaves_that_under_a_reported_name() {
    let ws = Ws::watched(exchange(), |step, dir| match step {
        "checked" => rename_over(&dir.join("f"), "newer"),
        "judged" => fs::remove_file(dir.join("f")).unwrap(),
        _ => {}
    })
    .await;
    ws.write("f", "seen");
    let error = ws.commit(ws.put("f", content("seen"), "mine")).await.unwrap_err();
    assert_eq!(mismatch(&error), FileState::Absent);
    assert_eq!(left_over(&ws, &error).1, b"newer");
    assert_eq!(ws.tree().len(), 1);
}

#[tokio::test]
async fn what_comes_out_is_judged_by_type_before_its_bytes() {
    for (way, builder) in WAYS {
        let ws = Ws::once(builder(), "checked", |dir| {
            fs::write(dir.join("twin"), "seen").unwrap();
            std::os::unix::fs::symlink("twin", dir.join("link")).unwrap();
            fs::rename(dir.join("link"), dir.join("f")).unwrap();
        })
        .await;
        ws.write("f", "seen");
        let error = ws.commit(ws.put("f", content("seen"), "mine")).await.unwrap_err();
        assert_eq!(mismatch(&error), FileState::Link { text: "twin".to_owned() }, "{way}");
        assert_eq!(fs::read_link(ws.path("f")).unwrap(), Path::new("twin"));
        assert_eq!((ws.read("twin"), ws.temps().len()), (b"seen".to_vec(), 0), "{way}");

        let ws = Ws::once(builder(), "checked", |dir| {
            fs::remove_file(dir.join("f")).unwrap();
            fs::create_dir(dir.join("f")).unwrap();
            fs::write(dir.join("f/inside"), "kept").unwrap();
        })
        .await;
        ws.write("f", "seen");
        let error = ws.commit(ws.put("f", content("seen"), "mine")).await.unwrap_err();
        assert_eq!(mismatch(&error), FileState::Directory, "{way}");
        assert_eq!((ws.read("f/inside"), ws.temps().len()), (b"kept".to_vec(), 0), "{way}");
    }
}

#[tokio::test]
async fn identical_bytes_in_a_new_inode_are_what_the_precondition_named() {
    for (way, builder) in WAYS {
        let ws = Ws::once(builder(), "first-look", |dir| rename_over(&dir.join("f"), "seen")).await;
        ws.write("f", "seen");
        ws.commit(ws.put("f", content("seen"), "mine")).await.unwrap();
        assert_eq!((ws.read("f"), ws.temps().len()), (b"mine".to_vec(), 0), "{way}");
    }
    // The lease is on the inode that was there before, and the receipt does not claim more.
    let ws = Ws::once(exchange(), "checked", |dir| rename_over(&dir.join("f"), "seen")).await;
    ws.write("f", "seen");
    let done = ws.commit(ws.put("f", content("seen"), "mine")).await.unwrap();
    assert_eq!(done.publish.lease, Some(false));
}

#[tokio::test]
async fn a_file_that_is_open_for_writing_is_refused_unless_that_is_allowed() {
    for builder in [exchange as fn() -> Builder, window] {
        let ws = Ws::with(builder()).await;
        ws.write("f", "seen");
        let before = ws.tree();
        let writer = fs::OpenOptions::new().append(true).open(ws.path("f")).unwrap();
        let error = ws.commit(ws.put("f", content("seen"), "mine")).await.unwrap_err();
        assert_eq!(error.cause, CommitFailure::OpenForWriting { resolved: ws.target("f") });
        let error =
            ws.commit(ws.change("f", content("seen"), guard_core::port::Effect::Remove)).await.unwrap_err();
        assert_eq!(error.cause, CommitFailure::OpenForWriting { resolved: ws.target("f") });
        assert_eq!(ws.tree(), before);

        let mut all = batch(vec![ws.put("f", content("seen"), "mine")]);
        all.open_writers = OpenWriters::Allow;
        let done = ws.batch(all).await.unwrap().changes.remove(0);
        assert_eq!((ws.read("f"), done.publish.lease), (b"mine".to_vec(), Some(false)));
        drop(writer);
        // Reading it is no hindrance.
        let reader = fs::File::open(ws.path("f")).unwrap();
        ws.commit(ws.put("f", content("mine"), "again")).await.unwrap();
        drop(reader);
    }
}

/// Waits until an open for writing waits for a lease on this file: proc(5), `/proc/locks`.
fn wait_for_a_break(path: &Path) {
    let inode = format!(":{} ", fs::metadata(path).unwrap().ino());
    loop {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        if locks
            .lines()
            .any(|line| line.contains("LEASE") && line.contains("BREAKING") && line.contains(&inode))
        {
            return;
        }
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn a_writer_that_waits_for_the_lease_has_the_last_word() {
    for builder in [exchange as fn() -> Builder, window] {
        for step in ["leased", "checked"] {
            let writer = std::sync::Arc::new(Mutex::new(None));
            let slot = std::sync::Arc::clone(&writer);
            let ws = Ws::once(builder(), step, move |dir| {
                let path = dir.join("f");
                let rival = {
                    let path = path.clone();
                    // Waits in `open` until the lease is released.
                    std::thread::spawn(move || in_place(&path, "theirs"))
                };
                wait_for_a_break(&path);
                *slot.lock().unwrap() = Some(rival);
            })
            .await;
            ws.write("f", "seen");
            let error = ws.commit(ws.put("f", content("seen"), "mine")).await.unwrap_err();
            assert_eq!(error.cause, CommitFailure::OpenForWriting { resolved: ws.target("f") }, "{step}");
            assert_eq!(error.fates, [Fate::Restored]);
            writer.lock().unwrap().take().unwrap().join().unwrap();
            assert_eq!(ws.read("f"), b"theirs", "{step}");
            assert!(ws.temps().is_empty());
        }
    }
}

#[tokio::test]
async fn without_a_lease_a_late_write_to_the_displaced_inode_is_kept_and_reported() {
    for builder in [without_lease as fn() -> Builder, window_without_lease] {
        let writer = Mutex::new(None::<fs::File>);
        let writer = std::sync::Arc::new(writer);
        let late = std::sync::Arc::clone(&writer);
        let ws = Ws::watched(builder(), move |step, _| {
            if step == "published"
                && let Some(mut file) = late.lock().unwrap().take()
            {
                file.write_all(b" and late").unwrap();
            }
        })
        .await;
        ws.write("f", "seen");
        *writer.lock().unwrap() = Some(fs::OpenOptions::new().append(true).open(ws.path("f")).unwrap());
        let done = ws.commit(ws.put("f", content("seen"), "mine")).await.unwrap();
        assert_eq!((ws.read("f"), done.publish.lease), (b"mine".to_vec(), Some(false)));
        let [temp] = &ws.temps()[..] else { panic!("{:?}", ws.tree()) };
        assert_eq!(ws.read(temp), b"seen and late");
        assert!(done.left[0].starts_with(ws.target(temp).as_str()), "{:?}", done.left);
    }
}

#[tokio::test]
async fn the_window_restores_a_file_that_was_written_to_until_the_last_instant() {
    let writer = std::sync::Arc::new(Mutex::new(None::<fs::File>));
    let late = std::sync::Arc::clone(&writer);
    let ws = Ws::watched(window_without_lease(), move |step, _| {
        if step == "exposed"
            && let Some(mut file) = late.lock().unwrap().take()
        {
            file.write_all(b" and late").unwrap();
        }
    })
    .await;
    ws.write("f", "seen");
    *writer.lock().unwrap() = Some(fs::OpenOptions::new().append(true).open(ws.path("f")).unwrap());
    let error = ws.commit(ws.put("f", content("seen"), "mine")).await.unwrap_err();
    assert_bytes(&mismatch(&error), "seen and late");
    assert_eq!((ws.read("f"), ws.temps().len()), (b"seen and late".to_vec(), 0));
    assert_eq!(error.fates, [Fate::Restored]);
}

#[tokio::test]
async fn danger_any_replaces_whatever_file_is_there_and_keeps_it_under_a_reported_name() {
    for (way, builder) in WAYS {
        let ws = Ws::with(builder()).await;
        let created = ws.commit(ws.put("f", Precondition::DangerAny, "first")).await.unwrap();
        assert_eq!((created.before, created.left.len()), (FileState::Absent, 0));
        let done = ws.commit(ws.put("f", Precondition::DangerAny, "second")).await.unwrap();
        assert_bytes(&done.before, "first");
        let [temp] = &ws.temps()[..] else { panic!("{:?}", ws.tree()) };
        assert_eq!((ws.read("f"), ws.read(temp)), (b"second".to_vec(), b"first".to_vec()), "{way}");
        assert!(done.left[0].starts_with(ws.target(temp).as_str()), "{:?}", done.left);
    }
}

#[tokio::test]
async fn displaced_bytes_come_back_where_they_were_asked_for() {
    for (way, builder) in WAYS {
        let ws = Ws::with(builder()).await;
        for (max, expected) in [(3, Some(b"old".to_vec())), (2, None)] {
            ws.write("f", "old");
            let mut all = batch(vec![ws.put("f", content("old"), "new")]);
            all.displaced = Displaced::Return { max };
            let done = ws.batch(all).await.unwrap().changes.remove(0);
            assert_eq!(done.displaced, expected, "{way} {max}");
        }
    }
}

#[tokio::test]
async fn other_names_of_the_file_keep_the_old_bytes() {
    for (way, builder) in WAYS {
        let ws = Ws::with(builder()).await;
        ws.write("f", "old");
        fs::hard_link(ws.path("f"), ws.path("twin")).unwrap();
        let done = ws.commit(ws.put("f", content("old"), "new")).await.unwrap();
        assert_eq!(done.kept.other_names, 1, "{way}");
        assert!(matches!(done.before, FileState::Regular { nlink: 2, .. }), "{way}: {:?}", done.before);
        assert_eq!((ws.read("f"), ws.read("twin"), ws.temps().len()), (b"new".to_vec(), b"old".to_vec(), 0));
    }
}

#[tokio::test]
async fn a_window_is_enough_where_no_more_is_required() {
    let ws = Ws::with(window()).await;
    ws.write("f", "old");
    let before = ws.tree();
    for (required, is_done) in [(Tier::Exchange, false), (Tier::Window, true)] {
        let mut all = batch(vec![ws.put("f", content("old"), "new")]);
        all.require = Some(required);
        match ws.batch(all).await {
            Ok(done) => assert!(is_done && done.changes[0].publish.tier == Tier::Window),
            Err(error) => {
                assert_eq!(error.cause, CommitFailure::TierUnavailable { available: Tier::Window });
                assert!(!is_done && ws.tree() == before);
            }
        }
    }
}

/// The unguarded way: read, decide, write.
#[test]
fn control_a_plain_write_after_a_read_loses_what_was_written_in_between() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    fs::write(&path, "seen").unwrap();
    let seen = fs::read_to_string(&path).unwrap();
    rename_over(&path, "theirs");
    fs::write(&path, seen + " and edited").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "seen and edited", "theirs is gone");
}

/// The half-guarded way: hash, then rename.
#[test]
fn control_a_rename_after_a_check_loses_what_was_written_in_between() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    fs::write(&path, "seen").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"seen", "the check passes");
    let mut rival = fs::OpenOptions::new().append(true).open(&path).unwrap();
    rename_over(&path, "mine");
    rival.write_all(b" and theirs").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"mine", "theirs is in an inode without a name");
}
