//! Files that are mount points, and are written in place where that was asked for.

use std::os::unix::fs::MetadataExt as _;

use guard_core::policy::Precondition;
use guard_core::port::{Batch, Change, CommitFailure, Fate, FileOps as _, InPlace, Publish, Tier};
use guard_testkit::rerun::{self, Body};
use guard_testkit::transport::{Call, Deed};

use crate::common::{assert_bytes, batch, chmod, mount, umount};
use crate::repairs::{Target, targets, with_mode};
use crate::ws::{Ws, is};

/// A workspace in which `f` is a file that is mounted from outside.
struct Mounted {
    ws: Ws,
    _outside: tempfile::TempDir,
    original: std::path::PathBuf,
}

impl Mounted {
    async fn over(target: &Target) -> Self {
        let ws = Ws::over(target.process()).await;
        let outside = tempfile::tempdir().unwrap();
        let original = outside.path().join("original");
        std::fs::write(&original, "old").unwrap();
        chmod(&original, 0o640);
        ws.write("f", "");
        mount(&["--bind", original.to_str().unwrap()], &ws.path("f"));
        Self { ws, _outside: outside, original }
    }

    fn original(&self) -> (Vec<u8>, u32) {
        (std::fs::read(&self.original).unwrap(), self.original.metadata().unwrap().mode() & 0o7777)
    }
}

fn asked(changes: Vec<Change>) -> Batch {
    Batch { in_place: InPlace::DangerNotAtomic, ..batch(changes) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_file_is_busy_and_is_written_in_place_only_when_asked() {
    let test = "in_place::a_bound_file_is_busy_and_is_written_in_place_only_when_asked";
    if rerun::with_mounts(test) == Body::Done {
        return;
    }
    for target in targets(test, &[]) {
        let name = target.name;
        let mounted = Mounted::over(&target).await;
        let ws = &mounted.ws;
        for change in
            [ws.put("f", is("old"), "new"), ws.remove("f", is("old")), ws.move_to("f", is("old"), "g")]
        {
            let error = ws.commit(change).await.unwrap_err();
            assert_eq!(error.cause, CommitFailure::BusyMount { resolved: ws.target("f") }, "{name}");
        }
        let strict = Batch { require: Some(Tier::Window), ..asked(vec![ws.put("f", is("old"), "new")]) };
        let error = ws.shell.commit(strict).await.unwrap_err();
        assert_eq!(error.cause, CommitFailure::TierUnavailable { available: Tier::InPlace }, "{name}");
        let stale = ws.shell.commit(asked(vec![ws.put("f", is("older"), "new")])).await.unwrap_err();
        assert!(matches!(stale.cause, CommitFailure::Precondition { .. }), "{name}: {stale:?}");
        assert_eq!((mounted.original(), ws.temps().len()), ((b"old".to_vec(), 0o640), 0), "{name}");

        let inode = mounted.original.metadata().unwrap().ino();
        for (was, bytes, mode) in [("old", "a longer content", 0o600), ("a longer content", "x", 0o604)] {
            let change = with_mode(ws.put("f", is(was), bytes), mode);
            let done = ws.shell.commit(asked(vec![change])).await.unwrap().changes.remove(0);
            let expected = Publish { tier: Tier::InPlace, lease: Some(false), changed: true, copied: false };
            assert_eq!(done.publish, expected, "{name}");
            assert_bytes(&done.before, was);
            assert_bytes(&done.after, bytes);
            assert_eq!(mounted.original(), (bytes.as_bytes().to_vec(), mode), "{name}");
            assert!(done.left.is_empty() && ws.temps().is_empty(), "{name}: {done:?}");
        }
        assert_eq!(mounted.original.metadata().unwrap().ino(), inode, "{name}");
        umount(&ws.path("f"));
    }
}

/// The bytes and the mode are what they were where a later change of the batch fails.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_in_place_is_taken_back_with_its_mode() {
    let test = "in_place::what_was_written_in_place_is_taken_back_with_its_mode";
    if rerun::with_mounts(test) == Body::Done {
        return;
    }
    for target in targets(test, &["link"]) {
        let name = target.name;
        let mounted = Mounted::over(&target).await;
        let ws = &mounted.ws;
        let taken = Deed::Run("echo theirs > last".to_owned());
        target.wrappers.plan(Call::of("link").with("*./last"), taken).unwrap();
        let changes = vec![
            with_mode(ws.put("f", is("old"), "new"), 0o600),
            ws.put("last", Precondition::Absent, "ours"),
        ];
        let error = ws.shell.commit(asked(changes)).await.unwrap_err();
        assert_eq!((error.at, &error.fates[0]), (Some(1), &Fate::Restored), "{name}: {error:?}");
        assert_eq!((mounted.original(), ws.temps().len()), ((b"old".to_vec(), 0o640), 0), "{name}");
        umount(&ws.path("f"));
    }
}

/// What is written goes into what was found at the name, whatever the name leads to by then.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_becomes_a_link_while_it_is_written_in_place_changes_nothing_outside() {
    let test = "in_place::a_name_that_becomes_a_link_while_it_is_written_in_place_changes_nothing_outside";
    if rerun::with_mounts(test) == Body::Done {
        return;
    }
    // Before the bytes, before the mode, and before the bytes are written back.
    for (tool, pattern, nth) in [("dd", "*of=*", 1), ("chmod", "604 *", 2), ("dd", "*of=*", 2)] {
        for target in targets(test, &["dd", "chmod", "link"]) {
            let what = format!("{}, {tool} {nth}", target.name);
            let mounted = Mounted::over(&target).await;
            let ws = &mounted.ws;
            let canary = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(canary.path(), "theirs").unwrap();
            chmod(canary.path(), 0o600);
            let swap = format!("/bin/umount -l ./f; rm ./f; ln -s {} ./f", canary.path().display());
            target.wrappers.plan(Call::of(tool).with(pattern).nth(nth), Deed::Run(swap)).unwrap();
            let taken = Deed::Run("echo theirs > last".to_owned());
            target.wrappers.plan(Call::of("link").with("*./last"), taken).unwrap();
            let changes = vec![
                with_mode(ws.put("f", is("old"), "new"), 0o604),
                ws.put("last", Precondition::Absent, "ours"),
            ];
            let error = ws.shell.commit(asked(changes)).await.unwrap_err();
            assert!(ws.path("f").is_symlink(), "{what}: it was not swapped: {error:?}");
            let mode = canary.path().metadata().unwrap().mode() & 0o7777;
            let bytes = std::fs::read(canary.path()).unwrap();
            assert_eq!((bytes, mode), (b"theirs".to_vec(), 0o600), "{what}: {error:?}");
            // The old bytes are in a file of their own, which is named.
            let told = format!("{:?}", error.fates[0]);
            let temps = ws.temps();
            assert_eq!(temps.len(), 1, "{what}: {temps:?}, {error:?}");
            assert_eq!(ws.read(&temps[0]), b"old", "{what}");
            assert!(told.contains(&temps[0]), "{what}: {told}, not {temps:?}");
        }
    }
}
