//! Runs a test again as a user without rights.
//!
//! Permission bits do not hold root back, so that what is tested of them as root proves nothing. A test that needs
//! them asks [`here`] first:
//!
//! ```no_run
//! # fn a_denied_parent_is_not_absence() {
//! use guard_testkit::unprivileged;
//!
//! if !unprivileged::here("a_denied_parent_is_not_absence") {
//!     return;
//! }
//! // From here on the permission bits hold.
//! # }
//! ```

#![allow(clippy::disallowed_methods, reason = "a test starts itself again")]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::skip::{self, Need};

/// Tells whether this process is held to permission bits, so that the test goes on here.
///
/// Where it is not (root), the test is run in a process of its own, as the user 65534 without groups and
/// capabilities, from a copy of this executable that every user may run. Where even that cannot be done, the test is
/// reported as skipped (see [`skip`]).
///
/// `test` is the test's full name, as `cargo test -- --exact` takes it.
///
/// # Panics
///
/// If the test fails in the other process, or does not run there.
#[must_use]
pub fn here(test: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        return true;
    }
    if skip::unless(Need::Setpriv, test) {
        return false;
    }
    // The build directory may be below a home directory that nobody else may enter.
    let copy = tempfile::Builder::new().permissions(Permissions::from_mode(0o755)).tempdir();
    let copied = copy.and_then(|directory| {
        let to = directory.path().join("test");
        std::fs::copy(std::env::current_exe()?, &to)?;
        std::fs::set_permissions(&to, Permissions::from_mode(0o755))?;
        Ok((directory, to))
    });
    let (directory, executable) = match copied {
        Ok(copied) => copied,
        Err(error) => panic!("the test's executable could not be copied: {error}"),
    };
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"])
        .arg(&executable)
        .args(["--exact", test, "--nocapture"])
        .current_dir(directory.path())
        .output();
    match output {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let errors = String::from_utf8_lossy(&output.stderr);
            // A name that is no test's runs nothing, and succeeds.
            let ran = said.contains("1 passed");
            assert!(output.status.success() && ran, "{test}, as another user:\n{said}\n{errors}");
        }
        Err(error) => panic!("setpriv was there a moment ago: {error}"),
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_process_is_held_to_permission_bits() {
        if !here("unprivileged::tests::the_other_process_is_held_to_permission_bits") {
            return;
        }
        assert!(!rustix::process::geteuid().is_root());
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().join("closed");
        std::fs::create_dir(&at).unwrap();
        std::fs::write(at.join("file"), "bytes").unwrap();
        std::fs::set_permissions(&at, Permissions::from_mode(0o000)).unwrap();
        let denied = std::fs::read(at.join("file")).unwrap_err();
        std::fs::set_permissions(&at, Permissions::from_mode(0o755)).unwrap();
        assert_eq!(denied.kind(), std::io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_name_that_is_no_tests_is_a_failure() {
        if skip::unless(Need::Setpriv, "unprivileged::tests::a_name_that_is_no_tests_is_a_failure") {
            return;
        }
        assert!(std::panic::catch_unwind(|| here("no::such::test")).is_err());
    }
}
