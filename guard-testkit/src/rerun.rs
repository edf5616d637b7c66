//! Runs a test again in another process: as a user without privileges, or with mounts of its own.
//!
//! Rows about permissions prove nothing as root, and a full disk needs a filesystem that is nobody else's.

#![allow(clippy::disallowed_methods, reason = "it starts the test's own program, and copies it")]

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::skip::{self, Need};

/// Set in the process that is to run the body.
const INSIDE: &str = "GUARD_RERUN";

/// What the calling test has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// Run: this process is as the test wants it.
    Run,
    /// Return: it was run in another process and passed, or was reported as skipped.
    Done,
}

/// Makes sure that the body of the test `name` runs as a user without privileges.
///
/// `name` is the test's full path in its test binary.
///
/// # Panics
///
/// If the test fails in the other process, or is not found there.
#[must_use]
pub fn unprivileged(name: &str) -> Body {
    if std::env::var_os(INSIDE).is_some() || !Need::Root.is_met() {
        return Body::Run;
    }
    if skip::unless(Need::Setpriv, name) {
        return Body::Done;
    }
    let command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"];
    rerun(&command, name);
    Body::Done
}

/// Makes sure that the body of the test `name` runs in a mount namespace of its own, as root.
///
/// # Panics
///
/// If the test fails in the other process, or is not found there.
#[must_use]
pub fn with_mounts(name: &str) -> Body {
    if std::env::var_os(INSIDE).is_some() {
        return Body::Run;
    }
    if skip::unless(Need::Mounts, name) {
        return Body::Done;
    }
    rerun(&["unshare", "--mount", "--propagation", "private"], name);
    Body::Done
}

fn rerun(command: &[&str], name: &str) {
    // The program may be below a directory that another user cannot enter.
    let directory = tempfile::tempdir().expect("a temporary directory");
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(directory.path(), open.clone()).expect("it is ours");
    let program = directory.path().join("test");
    let own = std::env::current_exe().expect("a test is a program");
    // Not by this process: another thread that starts a program meanwhile would inherit the copy open for writing, and
    // for as long as it has it the copy cannot be run (ETXTBSY, execve(2)).
    let copied = Command::new("cp").arg(own).arg(&program).status().expect("cp is POSIX");
    assert!(copied.success(), "the test's program could not be copied: {copied}");
    std::fs::set_permissions(&program, open).expect("it is ours");
    let output = Command::new(command[0])
        .args(&command[1..])
        .arg(&program)
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1")
        .current_dir("/")
        .output()
        .expect("the command was tried before");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{name} failed under {}:\n{said}\n{}",
        command[0],
        String::from_utf8_lossy(&output.stderr)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_process_is_held_to_permission_bits() {
        if unprivileged("rerun::tests::the_other_process_is_held_to_permission_bits") == Body::Done {
            return;
        }
        assert!(!rustix::process::geteuid().is_root());
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().join("closed");
        std::fs::create_dir(&at).unwrap();
        std::fs::write(at.join("file"), "bytes").unwrap();
        std::fs::set_permissions(&at, std::fs::Permissions::from_mode(0o000)).unwrap();
        let denied = std::fs::read(at.join("file")).unwrap_err();
        std::fs::set_permissions(&at, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(denied.kind(), std::io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_name_that_is_no_tests_is_a_failure() {
        if skip::unless(Need::Setpriv, "rerun::tests::a_name_that_is_no_tests_is_a_failure") {
            return;
        }
        assert!(std::panic::catch_unwind(|| unprivileged("no::such::test")).is_err());
    }
}
