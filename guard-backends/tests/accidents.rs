//! The accidents, on real files with real databases: what appears between the decision and the effect survives.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the test acts as another process does, and as an unguarded tool"
)]

mod workspace;

use guard_core::{DeleteFile, EditFile, MoveFile, ReadFile, WriteFile};
use std::path::Path;

use guard_backends::local::Resolver;
use guard_core::policy::Code;
use guard_testkit::sqlite::{Journal, count_rows, create_database, integrity_check};
use guard_testkit::wrap::Method;
use workspace::{Workspace, code, done};

#[track_caller]
fn is_whole(database: &Path, bytes: &[u8]) {
    assert_eq!(std::fs::read(database).unwrap(), bytes, "the database is byte-identical");
    assert_eq!(integrity_check(database).unwrap(), "ok");
    assert!(count_rows(database).unwrap() > 0);
}

/// Another process makes a database at the barrier, and its bytes are kept beside for comparison.
fn database_at_the_barrier(ws: &Workspace, name: &str) {
    let (database, copy) = (ws.path(name), ws.outside("copy"));
    ws.ops.once(Method::Commit, move || {
        if let Err(error) = std::fs::remove_file(&database) {
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
        }
        create_database(&database, Journal::Rollback).expect("a new database");
        std::fs::copy(&database, &copy).expect("the copy is new");
    });
}

#[tokio::test]
async fn absent_precondition_refuses_a_database_created_after_the_decision() {
    for resolver in [Resolver::Kernel, Resolver::Walk] {
        for spelling in ["app.sqlite", "./app.sqlite", "sub/../app.sqlite", "link/app.sqlite"] {
            let ws = Workspace::with(resolver, |builder| builder).await;
            std::fs::create_dir(ws.path("sub")).unwrap();
            std::os::unix::fs::symlink(".", ws.path("link")).unwrap();
            database_at_the_barrier(&ws, "app.sqlite");
            assert_eq!(
                code(ws.actor().write_file(WriteFile::new(spelling, "text\n")).await),
                Code::BinaryExists
            );
            is_whole(&ws.path("app.sqlite"), &std::fs::read(ws.outside("copy")).unwrap());
            let names = std::fs::read_dir(ws.path("")).unwrap().count();
            assert_eq!(names, 3, "no temporary file stays");
        }
    }
}

#[tokio::test]
async fn control_without_an_intruder_the_file_is_created() {
    let ws = Workspace::new().await;
    let receipt = done(ws.actor().write_file(WriteFile::new("app.sqlite", "text\n")).await);
    assert_eq!((receipt.changed, receipt.round_trips), (true, 1));
    assert_eq!(ws.content("app.sqlite"), b"text\n");
}

#[tokio::test]
async fn control_an_unguarded_write_loses_the_database() {
    let ws = Workspace::new().await;
    let database = ws.path("app.sqlite");
    let absent = !database.exists();
    create_database(&database, Journal::Rollback).unwrap();
    if absent {
        std::fs::write(&database, "text\n").unwrap();
    }
    assert!(integrity_check(&database).is_err(), "it is no database any more");
}

#[tokio::test]
async fn an_edit_does_not_replace_a_file_that_became_a_database() {
    let ws = Workspace::new().await;
    ws.put("notes", b"one\n");
    database_at_the_barrier(&ws, "notes");
    assert_eq!(code(ws.actor().edit_file(EditFile::new("notes", "one", "two")).await), Code::BinaryContent);
    is_whole(&ws.path("notes"), &std::fs::read(ws.outside("copy")).unwrap());
}

#[tokio::test]
async fn control_an_unguarded_edit_loses_the_database() {
    let ws = Workspace::new().await;
    let notes = ws.put("notes", b"one\n");
    let text = std::fs::read_to_string(&notes).unwrap();
    std::fs::remove_file(&notes).unwrap();
    create_database(&notes, Journal::Rollback).unwrap();
    std::fs::write(&notes, text.replace("one", "two")).unwrap();
    assert!(integrity_check(&notes).is_err());
}

#[tokio::test]
async fn a_move_does_not_land_on_a_database_that_appeared() {
    let ws = Workspace::new().await;
    ws.put("notes", b"one\n");
    database_at_the_barrier(&ws, "app.sqlite");
    assert_eq!(code(ws.actor().move_file(MoveFile::new("notes", "app.sqlite")).await), Code::Exists);
    is_whole(&ws.path("app.sqlite"), &std::fs::read(ws.outside("copy")).unwrap());
    assert_eq!(ws.content("notes"), b"one\n");
}

#[tokio::test]
async fn control_an_unguarded_move_loses_the_database() {
    let ws = Workspace::new().await;
    let notes = ws.put("notes", b"one\n");
    let database = ws.path("app.sqlite");
    create_database(&database, Journal::Rollback).unwrap();
    std::fs::rename(notes, &database).unwrap();
    assert!(integrity_check(&database).is_err());
}

#[tokio::test]
async fn a_patch_of_several_files_does_not_touch_a_database_that_appeared() {
    for operation in ["*** Add File: app.sqlite\n+text", "*** Update File: notes\n*** Move to: app.sqlite"] {
        let ws = Workspace::new().await;
        ws.put("notes", b"one\n");
        ws.put("other", b"one\n");
        database_at_the_barrier(&ws, "app.sqlite");
        let text =
            format!("*** Begin Patch\n*** Update File: other\n@@\n-one\n+1\n{operation}\n*** End Patch\n");
        let refused = ws.actor().apply_patch(guard_core::ApplyPatch::new(text)).await;
        assert_eq!(code(refused), Code::InvalidPatch, "{operation}");
        is_whole(&ws.path("app.sqlite"), &std::fs::read(ws.outside("copy")).unwrap());
        assert_eq!((ws.content("notes"), ws.content("other")), (b"one\n".to_vec(), b"one\n".to_vec()));
    }
}

#[tokio::test]
async fn a_deletion_spares_what_was_written_after_it_was_seen() {
    let ws = Workspace::new().await;
    ws.put("notes", b"one\n");
    let actor = ws.actor();
    actor.read_file(ReadFile::new("notes")).await.unwrap();
    database_at_the_barrier(&ws, "notes");
    assert_eq!(code(actor.delete_file(DeleteFile::new("notes")).await), Code::Stale);
    is_whole(&ws.path("notes"), &std::fs::read(ws.outside("copy")).unwrap());
}

#[tokio::test]
async fn a_stale_view_does_not_license_an_overwrite_and_control_it_would() {
    let ws = Workspace::new().await;
    let file = ws.put("a.txt", b"one\n");
    let (parent, child) = (ws.actor(), ws.actor().child("child"));
    parent.read_file(ReadFile::new("a.txt")).await.unwrap();
    std::fs::write(&file, b"two, by the user\n").unwrap();
    child.read_file(ReadFile::new("a.txt")).await.unwrap();
    assert_eq!(code(parent.write_file(WriteFile::new("a.txt", "three\n")).await), Code::Stale);
    assert_eq!(ws.content("a.txt"), b"two, by the user\n");
    // Control: a record that is shared between parent and child lets it through.
    child.write_file(WriteFile::new("a.txt", "three\n")).await.unwrap();
    assert_eq!(ws.content("a.txt"), b"three\n");
}

#[tokio::test]
async fn nothing_leaves_the_workspace_and_control_an_unguarded_write_does() {
    for resolver in [Resolver::Kernel, Resolver::Walk] {
        let ws = Workspace::with(resolver, |builder| builder).await;
        std::fs::write(ws.outside("secret"), "theirs\n").unwrap();
        let outside = ws.outside("").canonicalize().unwrap();
        std::os::unix::fs::symlink(&outside, ws.path("out")).unwrap();
        std::os::unix::fs::symlink("../outside/secret", ws.path("final")).unwrap();
        std::os::unix::fs::symlink("../outside/new", ws.path("dangling")).unwrap();
        let before = ws.digest();
        let absolute = outside.join("secret").to_str().unwrap().to_owned();
        for path in [
            "../outside/secret",
            absolute.as_str(),
            "out/secret",
            "out/new",
            "final",
            "dangling",
            "x/../../outside/secret",
        ] {
            let actor = ws.actor();
            let refused = [
                code(actor.read_file(ReadFile::new(path)).await),
                code(actor.write_file(WriteFile::new(path, "mine\n")).await),
                code(actor.edit_file(EditFile::new(path, "theirs", "mine")).await),
                code(actor.move_file(MoveFile::new("a.txt", path)).await),
            ];
            for (call, code) in ["read", "write", "edit", "move"].iter().zip(refused) {
                let name_is_free = *call == "move" && ["final", "dangling"].contains(&path);
                let missing = path.starts_with("x/") && code == Code::NotFound;
                assert!(
                    code == Code::OutsideRoot
                        || missing
                        || (name_is_free && matches!(code, Code::Exists | Code::NotFound)),
                    "{call} {path}: {code}"
                );
            }
        }
        assert_eq!(ws.digest(), before);
        std::fs::write(ws.path("out/secret"), "mine\n").unwrap();
        assert_ne!(ws.digest(), before, "the unguarded write went through the link");
    }
}

/// What is anchored at the home directory is judged by where that is, not by how it was typed.
#[tokio::test]
async fn a_home_directory_that_is_a_link_hides_no_secret() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("real")).unwrap();
    std::fs::write(directory.path().join("real/.netrc"), "machine example.com password x\n").unwrap();
    std::os::unix::fs::symlink("real", directory.path().join("home")).unwrap();
    let top = workspace::target(directory.path());
    let home = top.child("home").unwrap();
    let local =
        std::sync::Arc::new(guard_backends::local::Local::builder().home(Some(home)).build().unwrap());
    let guard = guard_core::Guard::builder(local).root(top, guard_core::policy::Access::ReadWrite);
    let actor = guard.open().await.unwrap().actor("main");
    for path in ["real/.netrc", "home/.netrc", "~/.netrc"] {
        assert_eq!(code(actor.read_file(ReadFile::new(path)).await), Code::Secret, "{path}");
    }
}

/// Who is told nothing of a home knows of none; that is another thing than a user without one.
#[tokio::test]
async fn a_home_that_nobody_told_hides_no_secret() {
    use guard_core::policy::{Access, Fact};
    use guard_core::port::FileOps as _;
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("real")).unwrap();
    std::fs::write(directory.path().join("real/.netrc"), "machine example.com password x\n").unwrap();
    std::os::unix::fs::symlink("real", directory.path().join("link")).unwrap();
    std::os::unix::fs::symlink("loop", directory.path().join("loop")).unwrap();
    let top = workspace::target(directory.path());
    let child = |name: &str| top.child(name).unwrap();
    let builder = guard_backends::local::Local::builder;
    for (builder, home, is_secret) in [
        (builder(), Fact::Unknown, true),
        (builder().home(None), Fact::Known(None), false),
        (builder().home(Some(child("real"))), Fact::Known(Some(child("real"))), true),
        (builder().home(Some(child("link"))), Fact::Known(Some(child("real"))), true),
        (builder().home(Some(child("nothing"))), Fact::Known(Some(child("nothing"))), false),
        // Where it is cannot be found out.
        (builder().home(Some(child("loop"))), Fact::Unknown, true),
    ] {
        let local = std::sync::Arc::new(builder.build().unwrap());
        assert_eq!(local.capabilities().home, home);
        let guard = guard_core::Guard::builder(local).root(top.clone(), Access::ReadWrite);
        let actor = guard.open().await.unwrap().actor("main");
        let read = actor.read_file(ReadFile::new("real/.netrc")).await;
        assert_eq!(read.is_err(), is_secret, "{home:?}");
        if is_secret {
            assert_eq!(code(read), Code::Secret, "{home:?}");
        }
    }
}
