//! What a system call's error means to a caller.

use std::fmt::Display;

use guard_core::port::OpError;
use rustix::io::Errno;

/// Translates an error that a path is to blame for.
///
/// The same errno means the same whichever call gave it (errno(3)); where it does not, the caller looks at it first.
pub(super) fn at(errno: Errno, what: &str, path: impl Display) -> OpError {
    // A chain instead of a match: some of these are equal to others on some systems.
    if errno == Errno::NOENT {
        return OpError::NotFound { path: path.to_string() };
    }
    if errno == Errno::NOTDIR {
        return OpError::NotDirectory { path: path.to_string() };
    }
    // EACCES: the mode or an ACL says no. EPERM: a sticky directory, an immutable file, a security module.
    if errno == Errno::ACCESS || errno == Errno::PERM {
        return OpError::PermissionDenied { path: path.to_string() };
    }
    if errno == Errno::LOOP {
        return OpError::Loop;
    }
    if errno == Errno::NAMETOOLONG {
        return OpError::NameTooLong;
    }
    // EDQUOT: over quota; to the caller it is the same lack of space.
    if errno == Errno::NOSPC || errno == Errno::DQUOT {
        return OpError::NoSpace;
    }
    if errno == Errno::ROFS {
        return OpError::ReadOnlyFilesystem;
    }
    OpError::Io { what: format!("{what} {path}"), errno: errno.to_string() }
}

/// Translates an error of the standard library's readers and writers.
pub(super) fn io(error: &std::io::Error, what: &str, path: impl Display) -> OpError {
    match error.raw_os_error() {
        Some(raw) => at(Errno::from_raw_os_error(raw), what, path),
        None => OpError::Io { what: format!("{what} {path}"), errno: error.to_string() },
    }
}
