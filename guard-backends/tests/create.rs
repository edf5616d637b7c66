//! Creating: nothing that has the name is ever replaced.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::type_complexity,
    reason = "a test is the other writer"
)]

mod common;

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use common::{RESOLVERS, Ws, assert_bytes, batch, mismatch, mkfifo};
use guard_backends::local::{Builder, Local, Resolver};
use guard_core::policy::{Digest, FileState, OtherKind, Precondition};
use guard_core::port::{
    CommitError, CommitFailure, Content, Effect, Fate, FileOps as _, Mode, OpError, Parents, Source, Tier,
};
use guard_testkit::skip::{self, Need};

/// Every way of creating a file: what is forced, what the receipt has to say.
fn ways() -> Vec<(&'static str, fn() -> Builder, Tier)> {
    vec![
        ("unnamed", Local::builder, Tier::Exchange),
        ("rename", || Local::builder().resolver(Resolver::Walk), Tier::Exchange),
        ("link", || Local::builder().danger_force_tier(Tier::Window), Tier::Exchange),
        ("exclusive", || Local::builder().danger_force_tier(Tier::CreatedNonatomic), Tier::CreatedNonatomic),
    ]
}

#[tokio::test]
async fn an_absent_file_is_created_with_its_parents() {
    for (way, builder, tier) in ways() {
        let ws = Ws::with(builder()).await;
        let done = ws.commit(ws.put("a/b/f", Precondition::Absent, "hello")).await.unwrap();
        assert_eq!(ws.read("a/b/f"), b"hello", "{way}");
        assert_eq!(done.resolved, ws.target("a/b/f"));
        assert_eq!(done.before, FileState::Absent);
        assert_bytes(&done.after, "hello");
        assert!(matches!(done.after, FileState::Regular { len: 5, nlink: 1, .. }), "{way} {:?}", done.after);
        assert_eq!(
            (done.publish.tier, done.publish.lease, done.publish.changed),
            (tier, None, true),
            "{way}"
        );
        assert_eq!(done.made, [ws.target("a"), ws.target("a/b")]);
        assert_eq!((done.left, ws.temps()), (Vec::new(), Vec::new()), "{way}");
    }
}

#[tokio::test]
async fn what_exists_is_refused_before_any_effect() {
    for resolver in RESOLVERS {
        let ws = Ws::of(resolver).await;
        ws.write("file", "theirs");
        ws.write("empty", "");
        ws.mkdir("dir");
        ws.link("nowhere", "dangling");
        ws.link("file", "to-file");
        mkfifo(&ws.path("fifo"));
        let _socket = std::os::unix::net::UnixListener::bind(ws.path("socket")).unwrap();
        let before = ws.tree();
        for (name, is_expected) in [
            ("file", (|found| found.digest() == Some(Digest::of(b"theirs"))) as fn(&FileState) -> bool),
            ("empty", |found| found.digest() == Some(Digest::of(b""))),
            ("dir", |found| *found == FileState::Directory),
            ("dangling", |found| matches!(found, FileState::Link { text } if text == "nowhere")),
            ("fifo", |found| *found == FileState::Other { what: OtherKind::Fifo }),
            ("socket", |found| *found == FileState::Other { what: OtherKind::Socket }),
        ] {
            // Whatever the caller believes, such a thing is never replaced.
            let error = ws.commit(ws.put(name, Precondition::Absent, "mine")).await.unwrap_err();
            assert!(is_expected(&mismatch(&error)), "{name}: {error:?}");
            assert_eq!((error.at, error.fates), (Some(0), vec![Fate::Untouched]));
            if !matches!(name, "file" | "empty") {
                for precondition in [Precondition::DangerAny, common::content("theirs")] {
                    let error = ws.commit(ws.put(name, precondition, "mine")).await.unwrap_err();
                    assert!(is_expected(&mismatch(&error)), "{name}: {error:?}");
                }
            }
            assert_eq!(ws.tree(), before, "{resolver:?} {name}");
        }
    }
}

#[tokio::test]
async fn a_file_that_is_created_at_any_step_wins() {
    for (way, builder, _) in ways() {
        for step in ["resolved", "first-look", "staging", "staged", "checked"] {
            let ws = Ws::once(builder(), step, |dir| fs::write(dir.join("f"), "theirs").unwrap()).await;
            let error = ws.commit(ws.put("f", Precondition::Absent, "mine")).await.unwrap_err();
            assert_bytes(&mismatch(&error), "theirs");
            assert_eq!(ws.read("f"), b"theirs", "{way} {step}");
            assert_eq!(ws.tree().len(), 1, "{way} {step}: {:?}", ws.tree());
        }
        // Without an intruder, it is created.
        let ws = Ws::with(builder()).await;
        ws.commit(ws.put("f", Precondition::Absent, "mine")).await.unwrap();
        assert_eq!(ws.read("f"), b"mine");
    }
}

/// Makes a staged content's name another writer's: what is there cannot be removed as ours.
fn take_temp(dir: &Path) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with(".guard-") {
            let rival = dir.join("rival");
            fs::write(&rival, "junk").unwrap();
            fs::rename(rival, path).unwrap();
        }
    }
}

#[track_caller]
fn assert_temp_named(ws: &Ws, error: &CommitError) {
    let [temp] = &ws.temps()[..] else { panic!("{:?}", ws.tree()) };
    let [Fate::Left { what }] = &error.fates[..] else { panic!("{error:?}") };
    assert!(what.starts_with(ws.target(temp).as_str()), "{what}");
}

#[tokio::test]
async fn a_staged_content_that_cannot_be_removed_is_named_whatever_failed() {
    for (way, builder, _) in ways() {
        if way == "unnamed" {
            continue;
        }
        let ws = Ws::once(builder(), "checked", |dir| {
            fs::write(dir.join("f"), "theirs").unwrap();
            take_temp(dir);
        })
        .await;
        let error = ws.commit(ws.put("f", Precondition::Absent, "mine")).await.unwrap_err();
        assert_bytes(&mismatch(&error), "theirs");
        assert_temp_named(&ws, &error);

        let ws = Ws::once(builder(), "staging", take_temp).await;
        let source: Arc<dyn Source> = Arc::new(Bad(b"hel", true));
        let content = Content::from_source(5, Digest::of(b"hello"), source);
        let effect = Effect::Put { content, mode: Mode::Keep, parents: Parents::Make };
        let error = ws.commit(ws.change("f", Precondition::Absent, effect)).await.unwrap_err();
        assert!(matches!(error.cause, CommitFailure::Op(OpError::Io { .. })), "{way}: {error:?}");
        assert_temp_named(&ws, &error);
    }
}

/// In an append-only directory (ioctl_iflags(2)) names can be made and not removed.
#[tokio::test]
async fn a_second_name_of_a_new_file_that_cannot_be_removed_is_named() {
    const NAME: &str = "a_second_name_of_a_new_file_that_cannot_be_removed_is_named";
    if skip::unless(Need::Root, NAME) {
        return;
    }
    let ws = Ws::with(Local::builder().danger_force_tier(Tier::Window)).await;
    let chattr = |flag: &str| common::run("chattr", &[flag.as_ref(), ws.dir.path().as_os_str()]);
    if chattr("+a").is_err() {
        return skip::unmet(Need::Attributes, NAME);
    }
    let done = ws.commit(ws.put("f", Precondition::Absent, "mine")).await;
    let refused = ws.commit(ws.put("f", Precondition::Absent, "other")).await;
    chattr("-a").unwrap();
    let done = done.unwrap();
    let [temp] = &ws.temps()[..] else { panic!("{:?}", ws.tree()) };
    assert_eq!((ws.read("f"), ws.read(temp)), (b"mine".to_vec(), b"mine".to_vec()));
    let [left] = &done.left[..] else { panic!("{done:?}") };
    assert!(left.starts_with(ws.target(temp).as_str()), "{left}");
    // What is found before any effect leaves nothing.
    assert_eq!(refused.unwrap_err().fates, [Fate::Untouched]);
}

#[tokio::test]
async fn a_link_a_directory_or_a_fifo_that_comes_in_between_is_not_written_through() {
    for (way, builder, _) in ways() {
        for what in ["link", "directory", "fifo"] {
            let ws = Ws::once(builder(), "checked", move |dir| match what {
                "link" => std::os::unix::fs::symlink("elsewhere", dir.join("f")).unwrap(),
                "directory" => fs::create_dir(dir.join("f")).unwrap(),
                _ => mkfifo(&dir.join("f")),
            })
            .await;
            let error = ws.commit(ws.put("f", Precondition::Absent, "mine")).await.unwrap_err();
            assert!(!mismatch(&error).is_regular(), "{way} {what}");
            assert_eq!(ws.tree().len(), 1, "{way} {what}: {:?}", ws.tree());
        }
    }
}

#[tokio::test]
async fn what_replaces_the_new_file_right_after_it_was_published_stays() {
    for (way, builder, _) in ways() {
        for step in ["exposed", "published"] {
            let ws = Ws::once(builder(), step, |dir| common::rename_over(&dir.join("f"), "newer")).await;
            ws.commit(ws.put("f", Precondition::Absent, "mine")).await.unwrap();
            assert_eq!(ws.read("f"), b"newer", "{way} {step}");
            assert_eq!(ws.tree().len(), 1, "{way} {step}");
        }
    }
}

#[tokio::test]
async fn an_in_root_dangling_link_is_never_created_through() {
    for resolver in RESOLVERS {
        let ws = Ws::of(resolver).await;
        ws.link("made", "dangling");
        ws.link("no/dir", "dangling-dir");
        let before = ws.tree();
        let error = ws.commit(ws.put("dangling", Precondition::Absent, "x")).await.unwrap_err();
        assert_eq!(mismatch(&error), FileState::Link { text: "made".to_owned() });
        let error = ws.commit(ws.put("dangling-dir/f", Precondition::Absent, "x")).await.unwrap_err();
        assert!(matches!(error.cause, CommitFailure::Op(OpError::NotFound { .. })), "{error:?}");
        assert_eq!(ws.tree(), before, "{resolver:?}");
    }
}

#[tokio::test]
async fn a_path_that_leads_elsewhere_than_expected_does_nothing_and_says_where() {
    for resolver in RESOLVERS {
        let ws = Ws::of(resolver).await;
        ws.mkdir(".git/hooks");
        ws.write(".git/hooks/old", "hook");
        ws.link(".git/hooks", "docs");
        ws.link("docs/old", "to-old");
        let before = ws.tree();
        for (path, resolved, bytes) in [
            ("docs/pre-commit", ".git/hooks/pre-commit", None),
            ("docs/new/deep/f", ".git/hooks/new/deep/f", None),
            ("docs/old", ".git/hooks/old", Some("hook")),
            ("to-old", ".git/hooks/old", Some("hook")),
        ] {
            let error = ws.commit(ws.put(path, Precondition::Absent, "x")).await.unwrap_err();
            let CommitFailure::Elsewhere { resolved: at, state, destination } = error.cause else {
                panic!("{path}: {error:?}")
            };
            assert_eq!((at, destination), (ws.target(resolved), false), "{resolver:?} {path}");
            match bytes {
                Some(bytes) => assert_bytes(&state, bytes),
                None => assert_eq!(state, FileState::Absent),
            }
            assert_eq!(ws.tree(), before, "{resolver:?} {path}: not even a parent is made");
        }
        // Decided again on where it leads, it is done.
        let mut change = ws.put("docs/pre-commit", Precondition::Absent, "x");
        change.place.expect = ws.target(".git/hooks/pre-commit");
        assert_eq!(ws.commit(change).await.unwrap().resolved, ws.target(".git/hooks/pre-commit"));
    }
}

#[tokio::test]
async fn missing_parents_are_an_error_where_they_are_required() {
    let ws = Ws::new().await;
    ws.write("f", "f");
    let mut change = ws.put("a/b/f", Precondition::Absent, "x");
    let Effect::Put { parents, .. } = &mut change.effect else { unreachable!("it is a put") };
    *parents = Parents::Require;
    let error = ws.commit(change).await.unwrap_err();
    let path = ws.target("a").to_string();
    assert_eq!(error.cause, CommitFailure::Op(OpError::NotFound { path }));
    let error = ws.commit(ws.put("f/x", Precondition::Absent, "x")).await.unwrap_err();
    assert!(matches!(error.cause, CommitFailure::Op(OpError::NotDirectory { .. })));
    assert_eq!(ws.tree().len(), 1);
}

#[tokio::test]
async fn a_parent_that_becomes_a_link_is_not_entered() {
    let outside = tempfile::tempdir().unwrap();
    let to = outside.path().to_owned();
    let ws = Ws::once(Local::builder(), "first-look", move |dir| {
        std::os::unix::fs::symlink(&to, dir.join("a")).unwrap();
    })
    .await;
    let error = ws.commit(ws.put("a/f", Precondition::Absent, "x")).await.unwrap_err();
    assert_eq!(error.cause, CommitFailure::Op(OpError::UnstablePath));
    assert_eq!(common::tree(outside.path()).len(), 0);
}

#[tokio::test]
async fn a_directory_that_is_moved_away_under_the_commit_is_noticed_and_undone() {
    for resolver in RESOLVERS {
        // Before anything was made there is nothing to take back.
        for (step, fate) in
            [("first-look", Fate::Untouched), ("staged", Fate::Restored), ("exposed", Fate::Restored)]
        {
            let ws = Ws::once(Local::builder().resolver(resolver), step, |dir| {
                fs::rename(dir.join("d"), dir.join("elsewhere")).unwrap();
                fs::create_dir(dir.join("d")).unwrap();
            })
            .await;
            ws.mkdir("d");
            let error = ws.commit(ws.put("d/f", Precondition::Absent, "x")).await.unwrap_err();
            assert_eq!(error.cause, CommitFailure::Op(OpError::UnstablePath), "{resolver:?} {step}");
            assert_eq!(error.fates, [fate], "{step}");
            assert_eq!(ws.tree().len(), 2, "{step}: {:?}", ws.tree());
        }
    }
}

#[tokio::test]
async fn modes_of_new_files_are_the_umasks() {
    for (way, builder, _) in ways() {
        let ws = Ws::with(builder()).await;
        fs::write(ws.path("plain"), "").unwrap();
        let plain = fs::metadata(ws.path("plain")).unwrap().permissions().mode() & 0o777;
        for (mode, expected) in [
            (Mode::Keep, plain),
            // The umask takes the same bits of x as of r.
            (Mode::Executable, plain | ((plain & 0o444) >> 2)),
            (Mode::Set(0o640), 0o640),
            (Mode::Set(0o666), 0o666),
        ] {
            let content = Content::from(b"x".to_vec());
            let effect = Effect::Put { content, mode, parents: Parents::Make };
            let name = format!("{mode:?}");
            let done = ws.commit(ws.change(&name, Precondition::Absent, effect)).await.unwrap();
            let found = fs::metadata(ws.path(&name)).unwrap().permissions().mode() & 0o777;
            assert_eq!(found, expected, "{way} {mode:?}");
            assert!(matches!(done.after, FileState::Regular { mode, .. } if mode == expected));
        }
    }
}

/// A source that gives other bytes than were announced, or fails in the middle.
struct Bad(&'static [u8], bool);

impl Source for Bad {
    fn open(&self) -> std::io::Result<Box<dyn Read + Send + '_>> {
        if self.1 { Ok(Box::new(self.0.chain(Broken))) } else { Ok(Box::new(self.0)) }
    }
}

struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("the connection was lost"))
    }
}

#[tokio::test]
async fn a_short_long_or_other_content_is_never_published() {
    for (way, builder, _) in ways() {
        let ws = Ws::with(builder()).await;
        ws.write("old", "old");
        let before = ws.tree();
        for (source, fails) in [
            (Bad(b"hell", false), false),
            (Bad(b"hello!", false), false),
            (Bad(b"jello", false), false),
            (Bad(b"hel", true), true),
        ] {
            let source: Arc<dyn Source> = Arc::new(source);
            for (name, precondition) in [("new/f", Precondition::Absent), ("old", common::content("old"))] {
                if way == "exclusive" && name == "old" {
                    continue;
                }
                let content = Content::from_source(5, Digest::of(b"hello"), Arc::clone(&source));
                let effect = Effect::Put { content, mode: Mode::Keep, parents: Parents::Make };
                let error = ws.commit(ws.change(name, precondition, effect)).await.unwrap_err();
                let is_expected = match &error.cause {
                    CommitFailure::ContentMismatch => !fails,
                    CommitFailure::Op(OpError::Io { errno, .. }) => fails && errno.contains("lost"),
                    _ => false,
                };
                assert!(is_expected, "{way} {name}: {error:?}");
                assert_eq!(ws.tree(), before, "{way} {name}");
            }
        }
    }
}

#[tokio::test]
async fn a_requirement_refuses_weaker_tiers_before_any_effect() {
    for (forced, required, available) in [
        (Some(Tier::CreatedNonatomic), Tier::Exchange, Tier::CreatedNonatomic),
        (Some(Tier::Window), Tier::Exchange, Tier::Window),
    ] {
        let mut builder = Local::builder();
        if let Some(tier) = forced {
            builder = builder.danger_force_tier(tier);
        }
        let ws = Ws::with(builder).await;
        let mut all = batch(vec![ws.put("a/f", Precondition::Absent, "x")]);
        all.require = Some(required);
        let error = ws.local.commit(all).await.unwrap_err();
        assert_eq!(error.cause, CommitFailure::TierUnavailable { available });
        assert!(ws.tree().is_empty());
    }
}

#[tokio::test]
async fn names_of_every_kind_are_literal() {
    let ws = Ws::new().await;
    for name in
        ["new\nline", "-rf", ".hidden", "qu'o\"te", "*?[x]", "~root", "$HOME", "%2e%2e", "back\\slash", " "]
    {
        ws.commit(ws.put(name, Precondition::Absent, name)).await.unwrap();
        assert_eq!(ws.read(name), name.as_bytes());
    }
    let longest = "n".repeat(255);
    ws.commit(ws.put(&longest, Precondition::Absent, "x")).await.unwrap();
    ws.commit(ws.put(&longest, common::content("x"), "y")).await.unwrap();
    assert_eq!(ws.read(&longest), b"y", "a temporary name is never longer than the name");
    assert!(ws.temps().is_empty());
}

#[tokio::test]
async fn dropping_the_caller_does_not_stop_the_commit() {
    let (reached, at_step) = std::sync::mpsc::channel();
    let (go_on, wait) = std::sync::mpsc::channel::<()>();
    let (finished, end) = std::sync::mpsc::channel();
    let wait = std::sync::Mutex::new(wait);
    let ws = Ws::watched(Local::builder(), move |step, _| match step {
        "checked" => {
            reached.send(()).unwrap();
            wait.lock().unwrap().recv().unwrap();
        }
        "finished" => finished.send(()).unwrap(),
        _ => {}
    })
    .await;
    let local = ws.local.clone();
    let change = ws.put("f", Precondition::Absent, "hello");
    let caller = tokio::spawn(async move { local.commit(batch(vec![change])).await });
    tokio::task::spawn_blocking(move || at_step.recv().unwrap()).await.unwrap();
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    go_on.send(()).unwrap();
    tokio::task::spawn_blocking(move || end.recv().unwrap()).await.unwrap();
    assert_eq!(ws.read("f"), b"hello");
}

/// The unguarded way: look, then write.
#[test]
fn control_a_check_before_a_plain_write_loses_the_file_that_came_in_between() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data.sqlite");
    assert!(!path.exists(), "the check passes");
    fs::write(&path, "a database").unwrap();
    fs::write(&path, "mine").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine", "the database is gone");
}
