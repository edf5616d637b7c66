//! What permissions, mounts and full disks do. Each test runs itself again in the surroundings that it needs.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test arranges the filesystem by itself"
)]

mod common;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use common::{RESOLVERS, Ws, assert_bytes, batch, chmod, content, mismatch, mount, umount};
use guard_backends::local::Local;
use guard_core::policy::{FileState, Precondition};
use guard_core::port::{
    Change, CommitFailure, Depth, Effect, Fate, FileOps as _, InPlace, Keep, Mode, OpError, Page, Parents,
    Part, Tier, Want,
};
use guard_testkit::rerun::{self, Body};
use guard_testkit::skip::{self, Need};

#[tokio::test]
async fn a_file_that_its_mode_forbids_to_write_is_refused() {
    if rerun::unprivileged("a_file_that_its_mode_forbids_to_write_is_refused") == Body::Done {
        return;
    }
    let ws = Ws::new().await;
    ws.write("f", "old");
    chmod(&ws.path("f"), 0o444);
    let before = ws.tree();
    for precondition in [content("old"), Precondition::DangerAny] {
        let error = ws.commit(ws.put("f", precondition, "new")).await.unwrap_err();
        assert_eq!(error.cause, CommitFailure::ReadOnlyFile { resolved: ws.target("f") });
        assert_eq!(ws.tree(), before);
    }
    // Nothing would be written.
    assert!(!ws.commit(ws.put("f", content("old"), "old")).await.unwrap().publish.changed);
    assert_eq!(ws.tree(), before);
    // A move and a removal write the directory, not the file.
    ws.commit(ws.move_to("f", content("old"), "g")).await.unwrap();
    ws.commit(ws.change("g", content("old"), Effect::Remove)).await.unwrap();
    assert!(ws.tree().is_empty());
}

#[tokio::test]
async fn root_may_write_a_file_whose_mode_forbids_it_to_others() {
    if skip::unless(Need::Root, "root_may_write_a_file_whose_mode_forbids_it_to_others") {
        return;
    }
    let ws = Ws::new().await;
    ws.write("f", "old");
    chmod(&ws.path("f"), 0o444);
    ws.commit(ws.put("f", content("old"), "new")).await.unwrap();
    assert_eq!((ws.read("f"), fs::metadata(ws.path("f")).unwrap().mode() & 0o777), (b"new".to_vec(), 0o444));
}

#[tokio::test]
async fn a_permission_error_is_not_absence() {
    if rerun::unprivileged("a_permission_error_is_not_absence") == Body::Done {
        return;
    }
    for resolver in RESOLVERS {
        let ws = Ws::of(resolver).await;
        for dir in ["closed", "sealed", "blind"] {
            ws.mkdir(dir);
            ws.write(&format!("{dir}/f"), "old");
        }
        ws.write("secret", "old");
        chmod(&ws.path("secret"), 0o200);
        chmod(&ws.path("closed"), 0o600);
        chmod(&ws.path("sealed"), 0o555);
        chmod(&ws.path("blind"), 0o333);
        let before = ws.tree_of_root();

        let denied = |error: &OpError| matches!(error, OpError::PermissionDenied { .. });
        for path in ["closed/f", "closed/nothing", "secret"] {
            assert!(ws.stat(path).await.is_err_and(|error| denied(&error)), "{resolver:?} {path}");
            let want = Want { ask: ws.ask(path), part: Part::Whole { max: 100 } };
            let read = ws.local.read(&[want]).await.unwrap().remove(0);
            assert!(read.is_err_and(|error| denied(&error)), "{resolver:?} {path}");
        }
        // Its state is known all the same.
        let ask = guard_core::port::Ask { depth: Depth::State, ..ws.ask("secret") };
        assert!(ws.local.stat(&[ask]).await.unwrap().remove(0).unwrap().state.is_regular());
        for path in ["closed", "blind"] {
            let list = ws.local.list(&ws.ask(path), &Page { after: None, limit: 9 }).await;
            assert!(list.is_err_and(|error| denied(&error)), "{resolver:?} {path}");
        }
        let changes: Vec<(&str, Change)> = vec![
            ("below a closed directory", ws.put("closed/nothing", Precondition::Absent, "x")),
            ("deep below a closed directory", ws.put("closed/a/b", Precondition::Absent, "x")),
            ("in a sealed directory", ws.put("sealed/new", Precondition::Absent, "x")),
            ("deep in a sealed directory", ws.put("sealed/a/b", Precondition::Absent, "x")),
            ("over a file in a sealed directory", ws.put("sealed/f", content("old"), "x")),
            ("what cannot be read", ws.put("secret", content("old"), "x")),
            ("removing from a sealed directory", ws.change("sealed/f", content("old"), Effect::Remove)),
            ("removing what cannot be read", ws.change("secret", content("old"), Effect::Remove)),
            ("moving out of a sealed directory", ws.move_to("sealed/f", content("old"), "g")),
            (
                "making in a sealed directory",
                ws.change("sealed/d", Precondition::Absent, Effect::MakeDir { parents: Parents::Make }),
            ),
        ];
        for (what, change) in changes {
            let error = ws.commit(change).await.unwrap_err();
            assert!(matches!(&error.cause, CommitFailure::Op(error) if denied(error)), "{what}: {error:?}");
            assert_eq!(error.fates, [Fate::Untouched], "{what}");
            assert_eq!(ws.tree_of_root(), before, "{resolver:?} {what}");
        }
        // What cannot be read exists.
        let error = ws.commit(ws.put("secret", Precondition::Absent, "x")).await.unwrap_err();
        assert!(matches!(mismatch(&error), FileState::Regular { digest: None, .. }));
        // A directory that may be written and not read cannot be synced, and is written.
        ws.commit(ws.put("blind/new", Precondition::Absent, "x")).await.unwrap();
        assert_eq!(ws.read("blind/new"), b"x");
        for dir in ["closed", "sealed", "blind"] {
            chmod(&ws.path(dir), 0o700);
        }
    }
}

impl Ws {
    /// The top of the workspace, by name, mode and inode: what is below closed directories cannot be told.
    fn tree_of_root(&self) -> Vec<(String, u64, u32)> {
        let mut names: Vec<_> = fs::read_dir(self.dir.path())
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let meta = entry.metadata().unwrap();
                (entry.file_name().into_string().unwrap(), meta.ino(), meta.mode())
            })
            .collect();
        names.sort();
        let sealed = self.path("sealed");
        names.extend(fs::read_dir(sealed).unwrap().map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().ino(), 0)
        }));
        names
    }
}

#[tokio::test]
async fn a_full_disk_changes_nothing() {
    if rerun::with_mounts("a_full_disk_changes_nothing") == Body::Done {
        return;
    }
    for resolver in RESOLVERS {
        for forced in [None, Some(Tier::Window), Some(Tier::CreatedNonatomic)] {
            let dir = tempfile::tempdir().unwrap();
            mount(&["-t", "tmpfs", "-o", "size=64k", "tmpfs"], dir.path());
            let mut builder = Local::builder().resolver(resolver);
            if let Some(tier) = forced {
                builder = builder.danger_force_tier(tier);
            }
            let ws = Ws::at(dir, builder).await;
            ws.write("f", "old");
            ws.write("filler", vec![0; 40_000]);
            let before = ws.tree();
            let large = "x".repeat(40_000);
            for change in
                [ws.put("new/deep/f", Precondition::Absent, &large), ws.put("f", content("old"), &large)]
            {
                let error = ws.commit(change).await.unwrap_err();
                assert_eq!(error.cause, CommitFailure::Op(OpError::NoSpace), "{resolver:?} {forced:?}");
                assert_eq!(ws.tree(), before, "{resolver:?} {forced:?}");
            }
            umount(ws.dir.path());
        }
    }
}

/// Control: the plain way truncates first, and then there is no room.
#[test]
fn control_a_plain_write_on_a_full_disk_loses_the_old_content() {
    if rerun::with_mounts("control_a_plain_write_on_a_full_disk_loses_the_old_content") == Body::Done {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    mount(&["-t", "tmpfs", "-o", "size=64k", "tmpfs"], dir.path());
    fs::write(dir.path().join("f"), "old").unwrap();
    fs::write(dir.path().join("filler"), vec![0; 40_000]).unwrap();
    assert!(fs::write(dir.path().join("f"), vec![b'x'; 40_000]).is_err());
    assert_ne!(fs::read(dir.path().join("f")).unwrap(), b"old");
    umount(dir.path());
}

#[tokio::test]
async fn a_read_only_filesystem_is_said_to_be_one() {
    if rerun::with_mounts("a_read_only_filesystem_is_said_to_be_one") == Body::Done {
        return;
    }
    let ws = Ws::new().await;
    ws.write("f", "old");
    let path = ws.dir.path().to_str().unwrap().to_owned();
    mount(&["--bind", &path], ws.dir.path());
    mount(&["-o", "remount,ro,bind"], ws.dir.path());
    let local = Local::builder().build().unwrap();
    let root = common::open(&local, ws.dir.path()).await.unwrap();
    for mut change in [
        ws.put("g", Precondition::Absent, "x"),
        ws.put("a/b/g", Precondition::Absent, "x"),
        ws.put("f", content("old"), "x"),
        ws.change("f", content("old"), Effect::Remove),
        ws.move_to("f", content("old"), "g"),
    ] {
        change.place.root = root.id;
        let error = local.commit(batch(vec![change])).await.unwrap_err();
        assert_eq!(error.cause, CommitFailure::Op(OpError::ReadOnlyFilesystem));
    }
    umount(ws.dir.path());
    assert_eq!(ws.tree().len(), 1);
}

#[tokio::test]
async fn a_bind_mounted_file_is_busy_and_written_in_place_only_when_asked() {
    if rerun::with_mounts("a_bind_mounted_file_is_busy_and_written_in_place_only_when_asked") == Body::Done {
        return;
    }
    for forced in [Tier::Exchange, Tier::Window] {
        let ws = Ws::with(Local::builder().danger_force_tier(forced)).await;
        for name in ["outside", "f"] {
            ws.write(name, "old");
        }
        mount(&["--bind", ws.path("outside").to_str().unwrap()], &ws.path("f"));
        let before = ws.tree();
        for change in [
            ws.put("f", content("old"), "new"),
            ws.change("f", content("old"), Effect::Remove),
            ws.move_to("f", content("old"), "g"),
        ] {
            let error = ws.commit(change).await.unwrap_err();
            assert_eq!(error.cause, CommitFailure::BusyMount { resolved: ws.target("f") }, "{forced:?}");
            assert_eq!(ws.tree(), before);
        }
        let ino = fs::metadata(ws.path("f")).unwrap().ino();
        let asked = |changes| {
            let mut all = batch(changes);
            all.in_place = InPlace::DangerNotAtomic;
            all
        };
        let mut strict = asked(vec![ws.put("f", content("old"), "new!")]);
        strict.require = Some(Tier::Window);
        let error = ws.batch(strict).await.unwrap_err();
        assert_eq!(error.cause, CommitFailure::TierUnavailable { available: Tier::InPlace });
        assert_eq!(ws.tree(), before);

        let done =
            ws.batch(asked(vec![ws.put("f", content("old"), "new!")])).await.unwrap().changes.remove(0);
        assert_eq!((done.publish.tier, done.publish.lease), (Tier::InPlace, Some(false)));
        assert_bytes(&done.before, "old");
        assert_bytes(&done.after, "new!");
        assert_eq!((ws.read("f"), ws.read("outside")), (b"new!".to_vec(), b"new!".to_vec()));
        assert_eq!((fs::metadata(ws.path("f")).unwrap().ino(), ws.temps().len()), (ino, 0));

        // A shorter content, and a batch whose second change fails.
        ws.write("b", "theirs");
        let changes = vec![ws.put("f", content("new!"), "x"), ws.put("d/b", content("stale"), "y")];
        assert!(ws.batch(asked(changes)).await.is_err());
        assert_eq!(ws.read("f"), b"new!");
        let watched =
            Ws::once(Local::builder(), "published", |dir| common::rename_over(&dir.join("b"), "theirs"))
                .await;
        watched.write("f", "in place");
        watched.write("outside", "in place");
        watched.write("b", "old");
        mount(&["--bind", watched.path("outside").to_str().unwrap()], &watched.path("f"));
        chmod(&watched.path("outside"), 0o640);
        let mut first = watched.put("f", content("in place"), "x");
        if let Effect::Put { mode, .. } = &mut first.effect {
            *mode = Mode::Set(0o600);
        }
        let changes = vec![first, watched.put("b", content("old"), "y")];
        let error = watched.batch(asked(changes)).await.unwrap_err();
        assert_eq!((error.at, &error.fates[0]), (Some(1), &Fate::Restored));
        assert_eq!((watched.read("f"), watched.temps().len()), (b"in place".to_vec(), 0));
        assert_eq!(fs::metadata(watched.path("outside")).unwrap().mode() & 0o7777, 0o640);
        for ws in [ws, watched] {
            umount(&ws.path("f"));
        }
    }
}

/// A temporary name that another writer took while a file was written in place: what it has is not removed, and is named.
#[tokio::test]
async fn what_has_the_temporary_names_of_a_file_written_in_place_stays_and_is_named() {
    let name = "what_has_the_temporary_names_of_a_file_written_in_place_stays_and_is_named";
    if rerun::with_mounts(name) == Body::Done {
        return;
    }
    let ws = Ws::once(Local::builder(), "exposed", |dir| {
        let temps: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
        for temp in temps.iter().filter(|path| path.to_str().unwrap().contains("/.guard-")) {
            common::rename_over(temp, "theirs");
        }
    })
    .await;
    ws.write("outside", "old");
    ws.write("f", "");
    mount(&["--bind", ws.path("outside").to_str().unwrap()], &ws.path("f"));
    let mut change = batch(vec![ws.put("f", content("old"), "new")]);
    change.in_place = InPlace::DangerNotAtomic;
    let done = ws.batch(change).await.unwrap().changes.remove(0);
    assert_eq!((ws.read("f"), ws.temps().len()), (b"new".to_vec(), 2), "{:?}", ws.tree());
    for temp in ws.temps() {
        assert_eq!(ws.read(&temp), b"theirs");
        assert!(done.left.iter().any(|left| left.contains(&temp)), "{temp} of {:?}", done.left);
    }
    umount(&ws.path("f"));
}

#[tokio::test]
async fn a_move_between_mounts_of_one_filesystem_is_a_copy_that_is_found_out_late() {
    if rerun::with_mounts("a_move_between_mounts_of_one_filesystem_is_a_copy_that_is_found_out_late")
        == Body::Done
    {
        return;
    }
    let ws = Ws::new().await;
    ws.mkdir("real");
    ws.mkdir("mounted");
    mount(&["--bind", ws.path("real").to_str().unwrap()], &ws.path("mounted"));
    ws.write("f", "seen");
    let done = ws.commit(ws.move_to("f", content("seen"), "mounted/g")).await.unwrap();
    assert!(done.publish.copied);
    assert_eq!(ws.read("real/g"), b"seen");
    assert!(!ws.tree().contains_key("f") && ws.temps().is_empty());
    // A mount point is no empty directory.
    fs::remove_file(ws.path("real/g")).unwrap();
    let error = ws.commit(ws.change("mounted", Precondition::Absent, Effect::RemoveDir)).await.unwrap_err();
    assert_eq!(error.cause, CommitFailure::BusyMount { resolved: ws.target("mounted") });
    umount(&ws.path("mounted"));
}

#[tokio::test]
async fn what_is_mounted_over_a_root_replaces_it() {
    if rerun::with_mounts("what_is_mounted_over_a_root_replaces_it") == Body::Done {
        return;
    }
    for resolver in RESOLVERS {
        let ws = Ws::of(resolver).await;
        ws.write("f", "old");
        mount(&["-t", "tmpfs", "tmpfs"], ws.dir.path());
        assert_eq!(ws.stat("f").await, Err(OpError::RootReplaced { path: ws.root.path.clone() }));
        umount(ws.dir.path());
        assert!(ws.stat("f").await.is_ok());
    }
}

#[tokio::test]
async fn a_root_whose_path_cannot_be_looked_at_is_not_said_to_be_in_place() {
    if rerun::unprivileged("a_root_whose_path_cannot_be_looked_at_is_not_said_to_be_in_place") == Body::Done {
        return;
    }
    for resolver in RESOLVERS {
        let outer = tempfile::tempdir().unwrap();
        let dir = tempfile::tempdir_in(outer.path()).unwrap();
        let ws = Ws::at(dir, Local::builder().resolver(resolver)).await;
        ws.write("f", "old");
        chmod(outer.path(), 0o600);
        let stat = ws.stat("f").await;
        let put = ws.commit(ws.put("f", content("old"), "new")).await;
        chmod(outer.path(), 0o700);
        assert!(matches!(stat, Err(OpError::PermissionDenied { .. })), "{resolver:?}: {stat:?}");
        let error = put.unwrap_err();
        assert!(matches!(error.cause, CommitFailure::Op(OpError::PermissionDenied { .. })), "{error:?}");
        assert_eq!(ws.read("f"), b"old");
        // Once it can be looked at, it is in place.
        ws.commit(ws.put("f", content("old"), "new")).await.unwrap();
    }
}

#[tokio::test]
async fn without_proc_paths_are_resolved_by_names() {
    if rerun::with_mounts("without_proc_paths_are_resolved_by_names") == Body::Done {
        return;
    }
    mount(&["-t", "tmpfs", "tmpfs"], Path::new("/proc"));
    let ws = Ws::new().await;
    ws.mkdir("d");
    ws.link("d", "to-d");
    ws.commit(ws.put("d/f", Precondition::Absent, "1")).await.unwrap();
    ws.commit(ws.put("d/f", content("1"), "2")).await.unwrap();
    let found = ws.stat("to-d/f").await.unwrap();
    assert_eq!(found.resolved, ws.target("d/f"));
    assert_bytes(&found.state, "2");
    fs::rename(ws.dir.path(), ws.dir.path().with_extension("moved")).unwrap();
    assert_eq!(ws.stat("d/f").await, Err(OpError::RootReplaced { path: ws.root.path.clone() }));
    fs::rename(ws.dir.path().with_extension("moved"), ws.dir.path()).unwrap();
    ws.commit(ws.change("d/f", content("2"), Effect::Remove)).await.unwrap();
    assert_eq!(ws.tree().len(), 2);
}

#[tokio::test]
async fn metadata_that_cannot_be_kept_is_refused_before_any_effect_unless_that_is_accepted() {
    const SHARED: &str = "GUARD_TEST_SHARED_DIRECTORY";
    const NAME: &str = "metadata_that_cannot_be_kept_is_refused_before_any_effect_unless_that_is_accepted";
    // Somebody else's file, which all may write, in a directory of all.
    let dir = tempfile::Builder::new().prefix("guard-shared").tempdir().unwrap();
    chmod(dir.path(), 0o777);
    fs::write(dir.path().join("f"), "old").unwrap();
    chmod(&dir.path().join("f"), 0o666);
    if rerun::unprivileged_with(NAME, &[(SHARED, dir.path().as_os_str())]) == Body::Done {
        return;
    }
    let Some(top) = std::env::var_os(SHARED).map(std::path::PathBuf::from) else {
        // Nobody made it who is somebody else.
        return skip::unmet(Need::Root, NAME);
    };
    let local = Local::builder().build().unwrap();
    let root = common::open(&local, &top).await.unwrap();
    let before = common::tree(&top);
    let change = || common::put(common::place(&root, &top, "f"), content("old"), "new");
    let error = local.commit(batch(vec![change()])).await.unwrap_err();
    let CommitFailure::MetadataLoss { lost, .. } = error.cause else { panic!("{error:?}") };
    assert_eq!(lost, ["owner", "group"]);
    assert_eq!(common::tree(&top), before);
    let mut all = batch(vec![change()]);
    all.metadata = Keep::DangerLose;
    let done = local.commit(all).await.unwrap().changes.remove(0);
    assert_eq!(done.kept.lost, ["owner", "group"]);
    // Another user's file cannot be leased without the capability, and the receipt says so.
    assert_eq!(done.publish.lease, Some(false));
    assert_eq!(fs::read(top.join("f")).unwrap(), b"new");
    assert_eq!(fs::metadata(top.join("f")).unwrap().uid(), 65534);
}
