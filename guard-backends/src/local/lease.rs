//! Read leases: how a replacement notices a writer that is late.
//!
//! A process that holds a read lease on a file is told before anybody can open the file for writing or truncate it:
//! that open waits until the lease is gone (fcntl(2), "Leases"). So while a lease is held and not being broken, the
//! bytes of the inode are what they were when they were hashed.

#![allow(
    unsafe_code,
    reason = "`fcntl` with F_SETSIG, F_SETLEASE, F_GETLEASE and F_SETOWN has no safe wrapper; it takes and returns \
              integers, and the descriptor is borrowed for the call, so that no memory is at stake"
)]

use std::os::fd::{AsFd, AsRawFd as _};
use std::time::Duration;

/// What came of asking for a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// It is held until it is released or the descriptor is closed.
    Held,
    /// Somebody has the file open for writing (EAGAIN).
    OpenForWriting,
    /// There is none to be had: another user's file (EACCES), a filesystem without leases (EINVAL), another system.
    Unavailable,
}

#[cfg(target_os = "linux")]
fn fcntl(file: impl AsFd, command: libc::c_int, argument: libc::c_int) -> std::io::Result<libc::c_int> {
    // SAFETY: the descriptor is open for the call, and these commands take an integer and touch no memory of ours.
    let result = unsafe { libc::fcntl(file.as_fd().as_raw_fd(), command, argument) };
    if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(result) }
}

/// Sets which signal tells of a broken lease: `F_SETSIG` of Linux's `asm-generic/fcntl.h`, which `libc` lacks.
#[cfg(target_os = "linux")]
const F_SETSIG: libc::c_int = 10;

/// Asks for a read lease on a file that is open for reading only.
#[cfg(target_os = "linux")]
fn take(file: impl AsFd) -> Taken {
    // A broken lease is signalled to whoever owns the descriptor, with SIGIO unless told otherwise, and SIGIO kills.
    // So: first a signal that is ignored by default (signal(7)), then the lease, whose call makes this process the
    // owner, then no owner. The lease is looked at instead.
    if fcntl(&file, F_SETSIG, libc::SIGURG).is_err() {
        return Taken::Unavailable;
    }
    match fcntl(&file, libc::F_SETLEASE, libc::F_RDLCK) {
        Ok(_) => {
            let _ = fcntl(&file, libc::F_SETOWN, 0);
            Taken::Held
        }
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Taken::OpenForWriting,
        Err(_) => Taken::Unavailable,
    }
}

/// Asks for a read lease, and again while a writer may be just about to close the file.
///
/// A process that is being started has copies of this one's descriptors until it executes its program, so that a file
/// which was written here a moment ago can be open for writing there. That is over in less than a millisecond, and
/// what such a writer wrote is seen by the digest, which is taken afterwards.
pub(super) fn take_soon(file: impl AsFd) -> Taken {
    for pause in PAUSES {
        match take(&file) {
            Taken::OpenForWriting => std::thread::sleep(pause),
            taken => return taken,
        }
    }
    take(file)
}

/// How long a writer gets to close the file: 15 milliseconds in all.
const PAUSES: [Duration; 4] =
    [Duration::from_millis(1), Duration::from_millis(2), Duration::from_millis(4), Duration::from_millis(8)];

/// Tells whether the lease is held and nobody waits for it to go: a lease that is being broken reads as what it is
/// going to be.
#[cfg(target_os = "linux")]
pub(super) fn is_whole(file: impl AsFd) -> bool {
    fcntl(&file, libc::F_GETLEASE, 0).is_ok_and(|kind| kind == libc::F_RDLCK)
}

/// Lets whoever waits go on.
#[cfg(target_os = "linux")]
pub(super) fn release(file: impl AsFd) {
    let _ = fcntl(&file, libc::F_SETLEASE, libc::F_UNLCK);
}

/// There are no leases on this system.
#[cfg(not(target_os = "linux"))]
fn take(file: impl AsFd) -> Taken {
    let _ = file.as_fd().as_raw_fd();
    Taken::Unavailable
}

/// There are no leases on this system.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_whole(_file: impl AsFd) -> bool {
    false
}

/// There are no leases on this system.
#[cfg(not(target_os = "linux"))]
pub(super) fn release(_file: impl AsFd) {}
