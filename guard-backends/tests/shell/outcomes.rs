//! Outcomes that must stay apart.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use guard_backends::shell::{ConnectError, Feature, Shell};
use guard_core::policy::{FileState, OtherKind, Precondition};
use guard_core::port::{CommitFailure, Depth, FileOps as _, Last, OpError, Part, Tier, Want};
use guard_testkit::rerun::{self, Body};
use guard_testkit::skip::{self, Need};

use crate::common::{batch, chmod, make_node, mismatch, mkfifo, mount, run, umount};
use crate::ws::{Ws, is, regular, sh};

#[tokio::test]
async fn every_kind_of_thing_is_told_apart() {
    let ws = Ws::new().await;
    ws.write("file", "bytes");
    chmod(&ws.path("file"), 0o644);
    ws.mkdir("directory");
    mkfifo(&ws.path("fifo"));
    let _socket = std::os::unix::net::UnixListener::bind(ws.path("socket")).unwrap();
    ws.link("file", "inside");
    ws.link("/etc/passwd", "outside");
    ws.link("nowhere", "dangling");
    ws.link("loop", "loop");
    let other = |what| FileState::Other { what };
    for (path, expected) in [
        ("file", Ok(regular(b"bytes", 0o644))),
        ("none", Ok(FileState::Absent)),
        ("directory", Ok(FileState::Directory)),
        ("fifo", Ok(other(OtherKind::Fifo))),
        ("socket", Ok(other(OtherKind::Socket))),
        ("inside", Ok(regular(b"bytes", 0o644))),
        ("outside", Err(OpError::OutsideRoot)),
        ("dangling", Ok(FileState::Link { text: "nowhere".to_owned() })),
        ("loop", Err(OpError::Loop)),
        ("file/below", Err(OpError::NotDirectory { path: ws.target("file").to_string() })),
        ("none/below", Ok(FileState::Absent)),
        (&"n".repeat(256), Err(OpError::NameTooLong)),
    ] {
        assert_eq!(ws.stat(path).await.map(|found| found.state), expected, "{path}");
    }
    if !skip::unless(Need::Devices, "outcomes::every_kind_of_thing_is_told_apart") {
        make_node(&ws.path("null"), rustix::fs::FileType::CharacterDevice, rustix::fs::makedev(1, 3))
            .unwrap();
        assert_eq!(ws.stat("null").await.unwrap().state, other(OtherKind::CharDevice));
        make_node(&ws.path("disk"), rustix::fs::FileType::BlockDevice, rustix::fs::makedev(7, 0)).unwrap();
        assert_eq!(ws.stat("disk").await.unwrap().state, other(OtherKind::BlockDevice));
    }
}

#[tokio::test]
async fn permission_denied_on_a_name_or_a_parent_is_never_absence() {
    if rerun::unprivileged("outcomes::permission_denied_on_a_name_or_a_parent_is_never_absence") == Body::Done
    {
        return;
    }
    let ws = Ws::new().await;
    ws.mkdir("closed/deep");
    ws.write("closed/file", "bytes");
    ws.write("secret", "bytes");
    chmod(&ws.path("secret"), 0);
    chmod(&ws.path("closed"), 0);
    for (path, blamed) in [
        ("closed/file", "closed"),
        ("closed/none", "closed"),
        ("closed/deep/none", "closed"),
        ("secret", "secret"),
    ] {
        let Err(OpError::PermissionDenied { path: got }) = ws.stat(path).await else {
            panic!("{path}: {:?}", ws.stat(path).await)
        };
        assert!(got.starts_with(ws.target(blamed).as_str()), "{path}: {got}");
        assert!(matches!(ws.contents(path).await, Err(OpError::PermissionDenied { .. })), "{path}");
    }
    // Its state needs no permission on it.
    let ask = guard_core::port::Ask { depth: Depth::State, last: Last::Itself, ..ws.ask("secret") };
    assert!(ws.shell.stat(&[ask]).await.unwrap().remove(0).unwrap().state.is_regular());
    for change in [
        ws.put("closed/new", Precondition::Absent, "x"),
        ws.put("closed/file", Precondition::Absent, "x"),
        ws.put("secret", is("bytes"), "x"),
        ws.remove("closed/file", is("bytes")),
    ] {
        let error = ws.commit(change).await.unwrap_err();
        assert!(matches!(error.cause, CommitFailure::Op(OpError::PermissionDenied { .. })), "{error:?}");
    }
    chmod(&ws.path("closed"), 0o755);
    assert_eq!(ws.read("closed/file"), b"bytes");
}

#[tokio::test]
async fn a_read_only_filesystem_and_a_full_one_are_told_and_leave_nothing() {
    let name = "outcomes::a_read_only_filesystem_and_a_full_one_are_told_and_leave_nothing";
    if rerun::with_mounts(name) == Body::Done {
        return;
    }
    let ws = Ws::new().await;
    ws.mkdir("fixed");
    ws.mkdir("small");
    let (fixed, small) = (ws.path("fixed"), ws.path("small"));
    mount(&["-t", "tmpfs", "-o", "size=64k", "tmpfs"], &fixed);
    mount(&["-t", "tmpfs", "-o", "size=64k,nr_inodes=20", "tmpfs"], &small);
    for at in ["fixed/old", "small/old"] {
        ws.write(at, "old");
    }
    mount(&["-o", "remount,ro"], &fixed);
    let big = vec![b'x'; 1 << 20];
    for (change, expected) in [
        (ws.put("fixed/new", Precondition::Absent, "x"), OpError::ReadOnlyFilesystem),
        (ws.put("fixed/a/b", Precondition::Absent, "x"), OpError::ReadOnlyFilesystem),
        (ws.put("fixed/old", is("old"), "x"), OpError::ReadOnlyFilesystem),
        (ws.remove("fixed/old", is("old")), OpError::ReadOnlyFilesystem),
        (ws.move_to("fixed/old", is("old"), "moved"), OpError::ReadOnlyFilesystem),
        (ws.put("small/new", Precondition::Absent, big.clone()), OpError::NoSpace),
        (ws.put("small/old", is("old"), vec![b'y'; 3 << 20]), OpError::NoSpace),
    ] {
        let what = format!("{:?}", change.place.path);
        let before = (ws.tree(), ws.temps());
        let error = ws.commit(change).await.unwrap_err();
        assert_eq!(error.cause, CommitFailure::Op(expected), "{what}");
        assert_eq!((ws.tree(), ws.temps()), before, "{what}");
    }
    // The session goes on: what was left of a body was read as a body.
    ws.commit(ws.put("small/new", Precondition::Absent, "fits")).await.unwrap();
    assert_eq!(ws.read("small/new"), b"fits");
    umount(&fixed);
    umount(&small);
}

#[tokio::test]
async fn a_name_that_is_too_long_for_the_filesystem_is_told() {
    let ws = Ws::new().await;
    let fits = "f".repeat(255);
    ws.commit(ws.put(&fits, Precondition::Absent, "one")).await.unwrap();
    ws.commit(ws.put(&fits, is("one"), "two")).await.unwrap();
    assert_eq!(ws.read(&fits), b"two");
    ws.commit(ws.remove(&fits, is("two"))).await.unwrap();
    assert!(ws.tree().is_empty());
}

/// What a target has at least, and what these tests need themselves.
const TOOLS: &[&str] = &[
    "sh",
    "dd",
    "cat",
    "stat",
    "readlink",
    "mkdir",
    "rmdir",
    "rm",
    "mv",
    "cp",
    "chmod",
    "chown",
    "ln",
    "link",
    "head",
    "sync",
    "id",
    "uname",
    "pwd",
    "sha256sum",
    "mount",
    "umount",
];

#[tokio::test]
async fn a_tool_that_is_missing_is_unsupported_with_a_sentence() {
    if rerun::with_mounts("outcomes::a_tool_that_is_missing_is_unsupported_with_a_sentence") == Body::Done {
        return;
    }
    for (missing, words) in [
        (&[][..], None),
        (&["link"], None),
        (&["ln"], None),
        (&["sha256sum"], Some("SHA-256")),
        (&["link", "ln"], Some("hard link")),
        (&["stat"], Some("stat")),
        (&["mv"], Some("mv")),
    ] {
        let tools = tempfile::tempdir().unwrap();
        for tool in TOOLS.iter().filter(|tool| !missing.contains(tool)) {
            fs::copy(format!("/usr/bin/{tool}"), tools.path().join(tool)).unwrap();
        }
        // Where every other directory of tools is empty, these are all that there is.
        let nothing = tempfile::tempdir().unwrap();
        let bin = tools.path().as_os_str();
        for hidden in ["/usr/local/bin", "/usr/sbin", "/usr/local/sbin"] {
            run("mount", &[OsStr::new("--bind"), nothing.path().as_os_str(), OsStr::new(hidden)]).unwrap();
        }
        run("mount", &[OsStr::new("--bind"), bin, OsStr::new("/usr/bin")]).unwrap();
        let connected = Shell::builder(Arc::new(sh().env("PATH", "/usr/bin"))).connect().await;
        for hidden in ["/usr/bin", "/usr/local/bin", "/usr/sbin", "/usr/local/sbin"] {
            umount(Path::new(hidden));
        }
        match (connected, words) {
            (Ok(shell), None) => assert_ne!(shell.hello().get("link"), None),
            (Err(ConnectError::Unsupported { what }), Some(words)) => {
                assert!(what.contains(words), "{missing:?}: {what}");
            }
            (other, _) => panic!("{missing:?}: {:?}", other.map(|shell| shell.hello().clone())),
        }
    }
}

#[tokio::test]
async fn what_is_there_is_never_created_over() {
    let ws = Ws::new().await;
    ws.mkdir("directory");
    mkfifo(&ws.path("fifo"));
    let _socket = std::os::unix::net::UnixListener::bind(ws.path("socket")).unwrap();
    ws.link("nowhere", "dangling");
    ws.write("file", "bytes");
    for name in ["directory", "fifo", "socket", "file"] {
        let before = ws.tree();
        let error = ws.commit(ws.put(name, Precondition::Absent, "new")).await.unwrap_err();
        assert_ne!(mismatch(&error), FileState::Absent, "{name}");
        assert_eq!(ws.tree(), before, "{name}");
    }
    let mut change = ws.put("dangling", Precondition::Absent, "new");
    change.place.last = Last::Itself;
    let error = ws.commit(change).await.unwrap_err();
    assert_eq!(mismatch(&error), FileState::Link { text: "nowhere".to_owned() });
}

#[tokio::test]
async fn a_read_is_no_larger_than_was_asked_for() {
    let ws = Ws::new().await;
    ws.write("file", "12345");
    for (max, is_delivered) in [(5, true), (4, false), (0, false)] {
        let want = Want { ask: ws.ask("file"), part: Part::Whole { max } };
        let contents = ws.shell.read(&[want]).await.unwrap().remove(0).unwrap();
        let delivered = matches!(contents.body, guard_core::port::Body::Bytes { .. });
        assert_eq!(delivered, is_delivered, "{max}");
        // It is within the digest limit all the same.
        assert_eq!(contents.found.state.digest(), regular(b"12345", 0).digest(), "{max}");
    }
}

#[tokio::test]
async fn without_hard_links_a_creation_is_exclusive_and_says_so_unless_more_is_required() {
    let ws = Ws::with(sh(), |builder| builder.danger_without(Feature::HardLinks)).await;
    let done = ws.commit(ws.put("d/new", Precondition::Absent, "new")).await.unwrap();
    assert_eq!((done.publish.tier, ws.read("d/new")), (Tier::CreatedNonatomic, b"new".to_vec()));
    let error = ws.commit(ws.put("d/new", Precondition::Absent, "other")).await.unwrap_err();
    assert!(mismatch(&error).is_regular());
    for required in [Tier::Window, Tier::Exchange] {
        let mut strict = batch(vec![ws.put("strict", Precondition::Absent, "x")]);
        strict.require = Some(required);
        let error = ws.shell.commit(strict).await.unwrap_err();
        assert_eq!(error.cause, CommitFailure::TierUnavailable { available: Tier::CreatedNonatomic });
        assert!(!ws.path("strict").exists());
    }
    assert!(ws.temps().is_empty());
}

#[tokio::test]
async fn without_an_exchange_a_replacement_is_of_tier_window_and_says_so_unless_more_is_required() {
    let ws = Ws::with(sh(), |builder| builder.danger_without(Feature::Exchange)).await;
    assert_eq!(ws.shell.capabilities().tier, Tier::Window);
    ws.write("file", "old");
    let mut strict = batch(vec![ws.put("file", is("old"), "new")]);
    strict.require = Some(Tier::Exchange);
    let error = ws.shell.commit(strict).await.unwrap_err();
    assert_eq!(error.cause, CommitFailure::TierUnavailable { available: Tier::Window });
    assert_eq!(ws.read("file"), b"old");
    let done = ws.commit(ws.put("file", is("old"), "new")).await.unwrap();
    assert_eq!((done.publish.tier, done.publish.lease), (Tier::Window, Some(false)));
    assert_eq!(ws.read("file"), b"new");
    let error = ws.commit(ws.put("file", is("old"), "newer")).await.unwrap_err();
    assert_eq!(mismatch(&error).digest(), regular(b"new", 0).digest());
    assert!(ws.temps().is_empty());
}

#[tokio::test]
async fn without_proc_everything_is_done_by_tools() {
    let ws = Ws::with(sh(), |builder| builder.danger_without(Feature::Proc)).await;
    ws.commit(ws.put("d/new", Precondition::Absent, "one")).await.unwrap();
    ws.commit(ws.put("d/new", is("one"), "two")).await.unwrap();
    assert_eq!(ws.bytes("d/new").await, b"two");
    ws.commit(ws.move_to("d/new", is("two"), "e/moved")).await.unwrap();
    ws.commit(ws.remove("e/moved", is("two"))).await.unwrap();
    assert_eq!(ws.stat("e/moved").await.unwrap().state, FileState::Absent);
    ws.link("/etc", "out");
    assert_eq!(ws.stat("out/passwd").await.map(|found| found.state), Err(OpError::OutsideRoot));
    assert!(ws.temps().is_empty());
}
