//! Runs a test again in another process: as a user without privileges, or with mounts of its own.
//!
//! Permission bits do not hold root back, so that what is tested of them as root proves nothing; and a full disk needs
//! a filesystem that is nobody else's.
//!
//! ```no_run
//! # fn a_denied_parent_is_not_absence() {
//! use guard_testkit::rerun::{self, Body};
//!
//! if rerun::unprivileged("a_denied_parent_is_not_absence") == Body::Done {
//!     return;
//! }
//! // From here on the permission bits hold.
//! # }
//! ```

#![allow(clippy::disallowed_methods, reason = "it starts the test's own program, and copies it")]

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::skip::{self, Need};

/// Set in a process that has mounts of its own.
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
    unprivileged_with(name, &[])
}

/// As [`unprivileged`], with environment variables for the other process.
///
/// # Panics
///
/// If the test fails in the other process, or is not found there.
#[must_use]
pub fn unprivileged_with(name: &str, variables: &[(&str, &OsStr)]) -> Body {
    if !rustix::process::geteuid().is_root() {
        return Body::Run;
    }
    if skip::unless(Need::Setpriv, name) {
        return Body::Done;
    }
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"];
    rerun("setpriv", &user, name, variables);
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
    rerun("unshare", &["--mount", "--propagation", "private"], name, &[(INSIDE, OsStr::new("1"))]);
    Body::Done
}

fn rerun(command: &str, arguments: &[&str], name: &str, variables: &[(&str, &OsStr)]) {
    // The program may be below a directory that another user cannot enter.
    let directory = tempfile::tempdir().expect("a temporary directory");
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(directory.path(), open).expect("it is ours");
    let program = directory.path().join("test");
    // By another process: a child that another thread starts meanwhile has copies of this process's descriptors, and a
    // file that is open for writing cannot be executed.
    let copied =
        Command::new("cp").arg(std::env::current_exe().expect("a test is a program")).arg(&program).status();
    assert!(copied.is_ok_and(|status| status.success()), "the test's program could not be copied");
    let output = Command::new(command)
        .args(arguments)
        .arg(&program)
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .envs(variables.iter().copied())
        .current_dir("/")
        .output()
        .expect("the command was tried before");
    let said = String::from_utf8_lossy(&output.stdout);
    // The other process runs exactly one test; a name that is no test's runs none.
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{name} failed under {command}:\n{said}\n{}",
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
