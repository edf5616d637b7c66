//! What a replacement keeps of a file.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test arranges the filesystem by itself"
)]

mod common;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use common::{Ws, content};
use guard_backends::local::Local;
use guard_core::policy::FileState;
use guard_core::port::{Content, Effect, Mode, Parents, Tier};
use guard_testkit::skip::{self, Need};
use rustix::fs::{XattrFlags, getxattr, setxattr};

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn xattr(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 256];
    let len = getxattr(path, name, &mut value[..]).ok()?;
    value.truncate(len);
    Some(value)
}

/// An access ACL in the kernel's form (linux/posix_acl_xattr.h): the owner, user 4242, the group, the mask, others.
fn acl() -> Vec<u8> {
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in [
        (0x01_u16, 6_u16, u32::MAX),
        (0x02, 6, 4242),
        (0x04, 4, u32::MAX),
        (0x10, 6, u32::MAX),
        (0x20, 0, u32::MAX),
    ] {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(rights.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

/// Capability sets as the kernel stores them (linux/capability.h): version 2, `cap_net_raw` permitted.
fn capability() -> Vec<u8> {
    let words = [0x0200_0001_u32, 1 << 13, 0, 0, 0];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[tokio::test]
async fn mode_and_extended_attributes_are_kept() {
    for forced in [Tier::Exchange, Tier::Window] {
        let ws = Ws::with(Local::builder().danger_force_tier(forced)).await;
        for mode in [0o600, 0o644, 0o755, 0o666, 0o640, 0o1644] {
            ws.write("f", "old");
            chmod(&ws.path("f"), mode);
            setxattr(ws.path("f"), "user.note", b"kept", XattrFlags::empty()).unwrap();
            let done = ws.commit(ws.put("f", content("old"), "new")).await.unwrap();
            let found = fs::metadata(ws.path("f")).unwrap();
            assert_eq!(found.mode() & 0o7777, mode);
            assert!(matches!(done.after, FileState::Regular { mode: after, .. } if after == mode));
            assert_eq!(xattr(&ws.path("f"), "user.note").as_deref(), Some(&b"kept"[..]));
            assert_eq!(done.kept.lost, Vec::<String>::new());
        }
    }
}

#[tokio::test]
async fn an_acl_is_kept_and_a_default_acl_adds_none() {
    let ws = Ws::new().await;
    ws.mkdir("d");
    ws.write("d/with", "old");
    ws.write("d/without", "old");
    if setxattr(ws.path("d/with"), "system.posix_acl_access", &acl(), XattrFlags::empty()).is_err() {
        return skip::unmet(Need::Attributes, "an_acl_is_kept_and_a_default_acl_adds_none");
    }
    // From now on a new file in this directory gets an ACL by itself.
    setxattr(ws.path("d"), "system.posix_acl_default", &acl(), XattrFlags::empty()).unwrap();
    let before = ["d/with", "d/without"].map(|name| {
        (xattr(&ws.path(name), "system.posix_acl_access"), fs::metadata(ws.path(name)).unwrap().mode())
    });
    assert!(before[0].0.is_some() && before[1].0.is_none());
    for name in ["d/with", "d/without"] {
        ws.commit(ws.put(name, content("old"), "new")).await.unwrap();
    }
    let after = ["d/with", "d/without"].map(|name| {
        (xattr(&ws.path(name), "system.posix_acl_access"), fs::metadata(ws.path(name)).unwrap().mode())
    });
    assert_eq!(after, before);
    // A new file gets what any new file gets there.
    fs::write(ws.path("d/plain"), "new").unwrap();
    let new = |name: &str| {
        (xattr(&ws.path(name), "system.posix_acl_access"), fs::metadata(ws.path(name)).unwrap().mode())
    };
    ws.commit(ws.put("d/new", guard_core::policy::Precondition::Absent, "new")).await.unwrap();
    assert_eq!(new("d/new"), new("d/plain"));
    assert!(new("d/new").0.is_some());
}

#[tokio::test]
async fn rights_of_the_old_bytes_are_dropped_and_said() {
    let ws = Ws::new().await;
    for (mode, expected, said) in [
        (0o4755, 0o755, vec!["setuid"]),
        (0o2755, 0o755, vec!["setgid"]),
        (0o6755, 0o755, vec!["setuid", "setgid"]),
        // Without a group that executes it means mandatory locking (chmod(2)).
        (0o2644, 0o2644, vec![]),
    ] {
        ws.write("f", "old");
        chmod(&ws.path("f"), mode);
        let done = ws.commit(ws.put("f", content("old"), "new")).await.unwrap();
        assert_eq!(fs::metadata(ws.path("f")).unwrap().mode() & 0o7777, expected, "{mode:o}");
        assert_eq!(done.kept.lost, said, "{mode:o}");
    }
    if setxattr(ws.path("f"), "security.capability", &capability(), XattrFlags::empty()).is_err() {
        return skip::unmet(Need::Owners, "rights_of_the_old_bytes_are_dropped_and_said (file capabilities)");
    }
    let done = ws.commit(ws.put("f", content("new"), "newer")).await.unwrap();
    assert_eq!(done.kept.lost, ["file capabilities"]);
    assert_eq!(xattr(&ws.path("f"), "security.capability"), None);
}

#[tokio::test]
async fn a_mode_that_is_set_is_set_on_a_replacement_and_even_on_identical_bytes() {
    let ws = Ws::new().await;
    let put = |bytes: &str, mode| {
        let content = Content::from(bytes.as_bytes().to_vec());
        Effect::Put { content, mode, parents: Parents::Make }
    };
    ws.write("f", "old");
    for (was, bytes, mode, changed, expected) in [
        ("old", "new", Mode::Set(0o750), true, 0o750),
        ("new", "new", Mode::Set(0o750), false, 0o750),
        ("new", "new", Mode::Set(0o700), true, 0o700),
        ("new", "new", Mode::Executable, false, 0o700),
        ("new", "newer", Mode::Executable, true, 0o700),
    ] {
        let done = ws.commit(ws.change("f", content(was), put(bytes, mode))).await.unwrap();
        assert_eq!(done.publish.changed, changed, "{was} {bytes} {mode:?}");
        assert_eq!(fs::metadata(ws.path("f")).unwrap().mode() & 0o7777, expected, "{was} {bytes} {mode:?}");
    }
}

#[tokio::test]
async fn the_owner_is_kept_by_who_may_and_a_metadata_change_in_between_is_taken_over() {
    if skip::unless(
        Need::Owners,
        "the_owner_is_kept_by_who_may_and_a_metadata_change_in_between_is_taken_over",
    ) {
        return;
    }
    let ws = Ws::once(Local::builder(), "staged", |dir| {
        std::os::unix::fs::chown(dir.join("f"), Some(1234), Some(5678)).unwrap();
        chmod(&dir.join("f"), 0o604);
    })
    .await;
    ws.write("f", "old");
    ws.commit(ws.put("f", content("old"), "new")).await.unwrap();
    let found = fs::metadata(ws.path("f")).unwrap();
    assert_eq!((found.uid(), found.gid(), found.mode() & 0o7777), (1234, 5678, 0o604));
}
