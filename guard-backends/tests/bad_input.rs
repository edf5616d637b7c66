//! Bad input gets a clear typed refusal and changes nothing: one table, for every tool.
#![allow(clippy::disallowed_methods, reason = "the test prepares what is there")]
#![allow(clippy::unwrap_used, reason = "what a test prepares is there, or the test fails")]

mod workspace;

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use guard_backends::local::{Local, Resolver};
use guard_core::policy::{Access, Code, TargetPath};
use guard_core::{
    DeleteFile, Done, EditFile, Failure, FileKind, Guard, ListDir, MakeDir, MoveFile, OpenError, ReadFile,
    StatPaths, WriteFile,
};
use guard_testkit::rerun::{self, Body};
use workspace::{Workspace, code, done};

fn answer<T>(result: &Result<T, Failure>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(failure) => failure.refusal.code.to_string(),
    }
}

/// Makes every call on `path` and returns one line of the table. Nothing may be changed by a call that is refused,
/// and none of these calls may succeed in changing something.
async fn row(ws: &Workspace, case: &str, path: &str) -> String {
    let actor = || ws.actor();
    let before = ws.digest();
    let mut cells = Vec::new();
    cells.push(answer(&actor().read_file(ReadFile::new(path)).await));
    cells.push(answer(&actor().write_file(WriteFile::new(path, "mine\n")).await));
    cells.push(answer(&actor().edit_file(EditFile::new(path, "theirs", "mine")).await));
    cells.push(answer(&actor().delete_file(DeleteFile::new(path)).await));
    cells.push(answer(&actor().move_file(MoveFile::new(path, "moved")).await));
    cells.push(answer(&actor().move_file(MoveFile::new("there.txt", path)).await));
    cells.push(answer(&actor().make_dir(MakeDir { path: path.into(), dry_run: false }).await));
    cells.push(answer(&actor().list_dir(ListDir { path: Some(path.into()), ..ListDir::default() }).await));
    cells.push(answer(&actor().stat(StatPaths::new(path)).await));
    assert_eq!(ws.digest(), before, "{case}: nothing was changed");
    let mut line = format!("{case:<28}");
    for cell in cells {
        let _ = write!(line, " {cell:<17}");
    }
    line.trim_end().to_owned()
}

const HEAD: &str = "case                         read              write             edit              delete            \
                    move from         move to           make_dir          list_dir          stat";

#[tokio::test]
async fn every_bad_path_has_its_code_and_changes_nothing() {
    let mut tables = Vec::new();
    for resolver in [Resolver::Kernel, Resolver::Walk] {
        let ws = Workspace::with(resolver, |builder| builder).await;
        ws.put("there.txt", b"theirs\n");
        std::fs::create_dir(ws.path("dir")).unwrap();
        ws.put("dir/inner.txt", b"theirs\n");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            ws.path("fifo"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o644),
            0,
        )
        .unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(ws.path("socket")).unwrap();
        symlink("nowhere", ws.path("dangling")).unwrap();
        symlink("loop", ws.path("loop")).unwrap();
        symlink("/etc", ws.path("out")).unwrap();
        ws.put("legacy.txt", b"theirs caf\xE9\n");
        ws.put("binary", b"\0theirs\n");
        let long = "d/".repeat(2048) + "x";
        let component = format!("dir/{}", "n".repeat(256));
        let cases: &[(&str, &str)] = &[
            ("empty", ""),
            ("NUL", "a\0b"),
            ("4097 bytes", &long),
            ("component of 256 bytes", &component),
            ("trailing slash", "there.txt/"),
            ("trailing /.", "there.txt/."),
            ("file as a directory", "there.txt/x"),
            ("..", "../x"),
            (".. after a name", "dir/../../x"),
            (".. after an absent name", "absent/../x"),
            ("absolute, outside", "/etc/passwd"),
            ("through a link, outside", "out/passwd"),
            ("the root itself", "."),
            ("directory", "dir"),
            ("FIFO", "fifo"),
            ("socket", "socket"),
            ("dangling link", "dangling"),
            ("loop of links", "loop"),
            ("invalid UTF-8", "legacy.txt"),
            ("NUL in the content", "binary"),
            ("office document, absent", "new.docx"),
            ("SQLite sidecar, absent", "x.db-wal"),
            ("secret, absent", ".env"),
            ("~/.ssh", "~/.ssh/id_ed25519"),
        ];
        let mut table = HEAD.to_owned();
        for (case, path) in cases {
            // These go through where they are bad for other tools; each has a test of its own below.
            let moves = matches!(
                *case,
                "1 TiB sparse file"
                    | "invalid UTF-8"
                    | "NUL in the content"
                    | "dangling link"
                    | "loop of links"
                    | "FIFO"
                    | "socket"
                    | "office document, absent"
                    | "SQLite sidecar, absent"
                    | "secret, absent"
                    | "~/.ssh"
                    | ".. after an absent name"
            );
            let line =
                if moves { row_without_moves(&ws, case, path).await } else { row(&ws, case, path).await };
            table.push('\n');
            table.push_str(&line);
        }
        table.push('\n');
        table.push_str(&sparse_row(resolver).await);
        tables.push(table);
    }
    assert_eq!(tables[0], tables[1], "the kernel's resolver and the walk agree");
    insta::assert_snapshot!(tables[0]);
}

/// As [`row_without_moves`], for a file whose bytes take long to hash: its inode and times are the proof.
async fn sparse_row(resolver: Resolver) -> String {
    use std::os::unix::fs::MetadataExt as _;
    let ws = Workspace::with(resolver, |builder| builder).await;
    std::fs::File::create(ws.path("sparse.txt")).unwrap().set_len(1 << 40).unwrap();
    let facts = || {
        let meta = std::fs::metadata(ws.path("sparse.txt")).unwrap();
        (meta.ino(), meta.len(), meta.blocks(), meta.mtime_nsec(), meta.ctime_nsec())
    };
    let before = facts();
    let line = cells_without_moves(&ws, "1 TiB sparse file", "sparse.txt").await;
    assert_eq!(facts(), before, "nothing was changed");
    assert_eq!(std::fs::read_dir(ws.path("")).unwrap().count(), 1);
    line
}

/// As [`row`], with the calls left out that are right for this path.
async fn row_without_moves(ws: &Workspace, case: &str, path: &str) -> String {
    let before = ws.digest();
    let line = cells_without_moves(ws, case, path).await;
    assert_eq!(ws.digest(), before, "{case}: nothing was changed");
    line
}

async fn cells_without_moves(ws: &Workspace, case: &str, path: &str) -> String {
    let mut line = format!("{case:<28}");
    let cells = [
        answer(&ws.actor().read_file(ReadFile::new(path)).await),
        answer(&ws.actor().write_file(WriteFile::new(path, "mine\n")).await),
        answer(&ws.actor().edit_file(EditFile::new(path, "absent text", "mine")).await),
        answer(&ws.actor().delete_file(DeleteFile::new(path)).await),
        String::new(),
        String::new(),
        String::new(),
        answer(&ws.actor().list_dir(ListDir { path: Some(path.into()), ..ListDir::default() }).await),
        answer(&ws.actor().stat(StatPaths::new(path)).await),
    ];
    for cell in cells {
        let _ = write!(line, " {:<17}", if cell.is_empty() { "." } else { &cell });
    }
    line.trim_end().to_owned()
}

#[tokio::test]
async fn strange_names_are_names() {
    for resolver in [Resolver::Kernel, Resolver::Walk] {
        let ws = Workspace::with(resolver, |builder| builder).await;
        let component = "n".repeat(255);
        for name in [
            "~root",
            "$HOME",
            "%2e%2e",
            "-rf",
            "--",
            "a\nb",
            "tab\t",
            "\x1b[0m",
            "'quoted'",
            "\"double\"",
            "`tick`",
            "$(x)",
            "*",
            "?",
            "[a]",
            "a b",
            " ",
            "...",
            "naïve",
            "nai\u{308}ve",
            &component,
            "C:\\x",
        ] {
            let before = ws.digest();
            let actor = ws.actor();
            let receipt = done(actor.write_file(WriteFile::new(name, "text\n")).await);
            assert_eq!(receipt.changes[0].resolved.name(), name);
            let names: Vec<_> =
                std::fs::read_dir(ws.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!(names.iter().map(|name| name.as_bytes()).collect::<Vec<_>>(), [name.as_bytes()]);
            assert_eq!(actor.read_file(ReadFile::new(name)).await.unwrap().bytes, b"text\n");
            done(actor.edit_file(EditFile::new(name, "text", "other")).await);
            done(actor.move_file(MoveFile::new(name, "sub/moved")).await);
            done(actor.move_file(MoveFile::new("sub/moved", name)).await);
            done(actor.delete_file(DeleteFile::new(name)).await);
            std::fs::remove_dir(ws.path("sub")).unwrap();
            assert_eq!(ws.digest(), before, "{name:?}");
        }
    }
}

#[tokio::test]
async fn names_that_are_not_utf8_are_listed_escaped_and_marked() {
    let ws = Workspace::new().await;
    std::fs::write(ws.path("").join(std::ffi::OsStr::from_bytes(b"caf\xE9\\")), "x").unwrap();
    ws.put("plain", b"x");
    let listing = ws.actor().list_dir(ListDir::default()).await.unwrap();
    let names: Vec<_> =
        listing.entries.iter().map(|entry| (entry.name.as_str(), entry.addressable)).collect();
    assert_eq!(names, [(r"caf\xE9\\", false), ("plain", true)]);
}

#[tokio::test]
async fn a_root_that_is_missing_or_no_directory_is_an_error() {
    let ws = Workspace::new().await;
    ws.put("file", b"x");
    for (name, expected) in [("missing", "not found"), ("file", "not a directory")] {
        let root = workspace::target(&ws.path("")).child(name).unwrap();
        let local = std::sync::Arc::new(Local::builder().build().unwrap());
        let opened = Guard::builder(local).root(root, Access::ReadWrite).open().await;
        let error = opened.err().expect("it is no directory");
        assert!(matches!(error, OpenError::Root { .. }));
        assert!(error.to_string().contains(expected), "{error}");
    }
    let local = std::sync::Arc::new(Local::builder().build().unwrap());
    assert_eq!(Guard::builder(local).open().await.err(), Some(OpenError::NoRoot));
    assert!(TargetPath::new("relative").is_err() && TargetPath::new("").is_err());
}

#[tokio::test]
async fn content_that_is_no_utf8_keeps_every_byte() {
    let ws = Workspace::new().await;
    ws.put("legacy.txt", b"caf\xE9\r\nb\r\n");
    let actor = ws.actor();
    assert_eq!(actor.read_file(ReadFile::new("legacy.txt")).await.unwrap().kind, FileKind::Bytes);
    assert_eq!(code(actor.write_file(WriteFile::new("legacy.txt", "x\n")).await), Code::NotUtf8);
    done(actor.edit_file(EditFile::new("legacy.txt", "b", "B\nC")).await);
    assert_eq!(ws.content("legacy.txt"), b"caf\xE9\r\nB\r\nC\r\n");
}

#[tokio::test]
async fn a_file_of_1_gib_is_told_and_neither_read_nor_changed() {
    let ws = Workspace::new().await;
    std::fs::File::create(ws.path("sparse.txt")).unwrap().set_len(1 << 30).unwrap();
    let actor = ws.actor();
    let result = actor.read_file(ReadFile::new("sparse.txt")).await.unwrap();
    assert_eq!((result.kind, result.size, result.digest), (FileKind::TooLarge, Some(1 << 30), None));
    assert_eq!(code(actor.edit_file(EditFile::new("sparse.txt", "x", "y")).await), Code::TooLarge);
    assert_eq!(code(actor.delete_file(DeleteFile::new("sparse.txt")).await), Code::TooLarge);
    // A move keeps the bytes, and needs no digest.
    done(actor.move_file(MoveFile::new("sparse.txt", "moved.txt")).await);
}

/// Root may read and write anything, so these rows run as a user who may not, whoever runs the tests.
#[test]
fn what_permissions_forbid_is_refused_for_a_user_without_privileges() {
    let name = "what_permissions_forbid_is_refused_for_a_user_without_privileges";
    if rerun::unprivileged(name) == Body::Done {
        return;
    }
    run(async {
        let ws = Workspace::new().await;
        ws.put("unreadable", b"theirs\n");
        std::fs::set_permissions(ws.path("unreadable"), std::fs::Permissions::from_mode(0o000)).unwrap();
        ws.put("read-only", b"theirs\n");
        std::fs::set_permissions(ws.path("read-only"), std::fs::Permissions::from_mode(0o444)).unwrap();
        std::fs::create_dir(ws.path("locked")).unwrap();
        ws.put("locked/there", b"theirs\n");
        std::fs::create_dir(ws.path("hidden")).unwrap();
        ws.put("hidden/there", b"theirs\n");
        let close = |name: &str, mode| {
            std::fs::set_permissions(ws.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
        };
        close("locked", 0o555);
        close("hidden", 0o000);
        let actor = ws.actor();
        assert_eq!(code(actor.read_file(ReadFile::new("unreadable")).await), Code::PermissionDenied);
        assert_eq!(
            code(actor.edit_file(EditFile::new("unreadable", "x", "y")).await),
            Code::PermissionDenied
        );
        assert_eq!(code(actor.write_file(WriteFile::new("unreadable", "mine\n")).await), Code::NotRead);
        // A permission error on a parent is not absence.
        for name in ["hidden/there", "hidden/absent"] {
            assert_eq!(code(actor.read_file(ReadFile::new(name)).await), Code::PermissionDenied, "{name}");
            assert_eq!(
                code(actor.write_file(WriteFile::new(name, "mine\n")).await),
                Code::PermissionDenied,
                "{name}"
            );
        }
        assert_eq!(
            code(actor.write_file(WriteFile::new("locked/new", "mine\n")).await),
            Code::PermissionDenied
        );
        for name in ["locked/there", "read-only"] {
            actor.read_file(ReadFile::new(name)).await.unwrap();
        }
        assert_eq!(
            code(actor.write_file(WriteFile::new("locked/there", "mine\n")).await),
            Code::PermissionDenied
        );
        assert_eq!(code(actor.delete_file(DeleteFile::new("locked/there")).await), Code::PermissionDenied);
        assert_eq!(code(actor.write_file(WriteFile::new("read-only", "mine\n")).await), Code::ReadOnlyFile);
        assert_eq!(
            code(actor.edit_file(EditFile::new("read-only", "theirs", "mine")).await),
            Code::ReadOnlyFile
        );
        close("locked", 0o755);
        close("hidden", 0o755);
        for name in ["locked/there", "hidden/there", "read-only"] {
            assert_eq!(ws.content(name), b"theirs\n", "{name}");
        }
        assert_eq!(std::fs::read_dir(ws.path("locked")).unwrap().count(), 1);
        assert_eq!(std::fs::read_dir(ws.path("hidden")).unwrap().count(), 1);
    });
}

#[test]
fn root_may_do_what_permissions_forbid_to_others() {
    if guard_testkit::skip::unless(
        guard_testkit::skip::Need::Root,
        "root_may_do_what_permissions_forbid_to_others",
    ) {
        return;
    }
    run(async {
        let ws = Workspace::new().await;
        ws.put("unreadable", b"theirs\n");
        std::fs::set_permissions(ws.path("unreadable"), std::fs::Permissions::from_mode(0o000)).unwrap();
        let actor = ws.actor();
        actor.read_file(ReadFile::new("unreadable")).await.unwrap();
        done(actor.write_file(WriteFile::new("unreadable", "mine\n")).await);
        assert_eq!(std::fs::metadata(ws.path("unreadable")).unwrap().permissions().mode() & 0o777, 0);
    });
}

#[test]
fn a_full_disk_changes_nothing() {
    if rerun::with_mounts("a_full_disk_changes_nothing") == Body::Done {
        return;
    }
    run(async {
        let ws = Workspace::new().await;
        std::fs::create_dir(ws.path("small")).unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
            .arg(ws.path("small"))
            .status()
            .unwrap();
        assert!(mounted.success());
        ws.put("small/there.txt", b"theirs\n");
        let actor = ws.actor();
        actor.read_file(ReadFile::new("small/there.txt")).await.unwrap();
        let before = ws.digest();
        let large = "0123456789abcdef".repeat(8 << 10);
        assert_eq!(code(actor.write_file(WriteFile::new("small/new.txt", &large)).await), Code::NoSpace);
        assert_eq!(code(actor.write_file(WriteFile::new("small/sub/new.txt", &large)).await), Code::NoSpace);
        assert_eq!(code(actor.write_file(WriteFile::new("small/there.txt", &large)).await), Code::NoSpace);
        assert_eq!(
            code(actor.edit_file(EditFile::new("small/there.txt", "theirs", &large)).await),
            Code::NoSpace
        );
        assert_eq!(ws.digest(), before);
        // A move onto the full filesystem is a copy and a removal: neither is made.
        ws.put("large.txt", large.as_bytes());
        let before = ws.digest();
        assert_eq!(code(actor.move_file(MoveFile::new("large.txt", "small/moved.txt")).await), Code::NoSpace);
        assert_eq!(ws.digest(), before);
        let remounted = std::process::Command::new("mount")
            .args(["-o", "remount,ro"])
            .arg(ws.path("small"))
            .status()
            .unwrap();
        assert!(remounted.success());
        assert_eq!(
            code(actor.write_file(WriteFile::new("small/new.txt", "x")).await),
            Code::ReadOnlyFilesystem
        );
        assert_eq!(
            code(actor.write_file(WriteFile::new("small/there.txt", "x")).await),
            Code::ReadOnlyFilesystem
        );
        assert_eq!(ws.digest(), before);
        let unmounted = std::process::Command::new("umount").arg(ws.path("small")).status().unwrap();
        assert!(unmounted.success());
    });
}

#[tokio::test]
async fn an_executable_is_made_and_an_old_mode_is_kept() {
    let ws = Workspace::new().await;
    let actor = ws.actor();
    let mode = |name: &str| std::fs::metadata(ws.path(name)).unwrap().permissions().mode() & 0o7777;
    let script = WriteFile { executable: true, ..WriteFile::new("run.sh", "#!/bin/sh\n") };
    let Done::Committed(_) = actor.write_file(script).await.unwrap() else { panic!("it was no dry run") };
    done(actor.write_file(WriteFile::new("plain.txt", "x\n")).await);
    assert_eq!(mode("run.sh"), mode("plain.txt") | 0o111 & !umask());
    std::fs::set_permissions(ws.path("plain.txt"), std::fs::Permissions::from_mode(0o640)).unwrap();
    done(actor.write_file(WriteFile::new("plain.txt", "y\n")).await);
    assert_eq!(mode("plain.txt"), 0o640);
}

fn umask() -> u32 {
    let old = rustix::process::umask(rustix::fs::Mode::empty());
    rustix::process::umask(old);
    old.bits()
}

fn run(body: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread().build().expect("a runtime").block_on(body);
}
