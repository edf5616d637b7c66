//! What a replacement keeps of the old file: mode, owner, ACL and extended attributes.
//!
//! On macOS the ACL is no extended attribute and is not carried over.

use std::fs::File;
use std::os::fd::AsFd;

use guard_core::port::{CommitFailure, Keep, Kept, Mode};
use rustix::fs::{Gid, Uid, XattrFlags};
use rustix::io::Errno;

use super::plan::Site;
use super::{Cx, fail};
use crate::local::sys::{self, Meta};

const SETUID: u32 = 0o4000;
const SETGID: u32 = 0o2000;
const GROUP_EXECUTES: u32 = 0o010;

/// File capabilities (capabilities(7)): rights of the old bytes, which new bytes do not inherit.
const CAPABILITIES: &[u8] = b"security.capability";
/// The access ACL (acl(5)).
const ACL: &[u8] = b"system.posix_acl_access";
/// Signatures of the old bytes, which the kernel makes anew (IMA and EVM).
const SIGNATURES: [&[u8]; 2] = [b"security.ima", b"security.evm"];

/// Gives a new file what the old one has, and says what could not be kept.
///
/// A loss is a failure unless the batch takes it; what new bytes must not inherit is dropped and said.
pub(super) fn keep(
    cx: &Cx<'_>,
    site: &Site,
    (old, meta): (Option<&File>, &Meta),
    new: &File,
    mode: Mode,
) -> Result<Kept, CommitFailure> {
    let mut lost = Vec::new();
    let mut dropped = Vec::new();
    let there = sys::meta(new).map_err(|errno| fail(errno, "looking at the content of", site))?;
    // The owner first: a change of it clears setuid and setgid (chown(2)), and the ACL names are relative to it.
    own(new, meta, &there, &mut lost);
    match old {
        Some(old) => attributes(old, new, &mut lost, &mut dropped)
            .map_err(|errno| fail(errno, "reading the attributes of", site))?,
        // What cannot be read is replaced only with `danger: any`; its attributes cannot be read either.
        None => lost.push("extended attributes".to_owned()),
    }
    let bits = match mode {
        Mode::Set(mode) => mode & 0o7777,
        Mode::Keep | Mode::Executable => meta.mode & !inherited(meta.mode, &mut dropped),
    };
    rustix::fs::fchmod(new, sys::mode_bits(bits))
        .map_err(|errno| fail(errno, "setting the mode of the content of", site))?;
    let mut kept = lose(cx, site, lost)?;
    kept.lost.extend(dropped);
    Ok(kept)
}

/// Gives a directory that is made again what the removed one had, as far as that is allowed.
pub(super) fn restore(old: impl AsFd, meta: &Meta, new: impl AsFd) {
    let (mut lost, mut dropped) = (Vec::new(), Vec::new());
    if let Ok(there) = sys::meta(&new) {
        own(&new, meta, &there, &mut lost);
    }
    let _ = attributes(&old, &new, &mut lost, &mut dropped);
    let _ = rustix::fs::fchmod(new, sys::mode_bits(meta.mode));
}

/// Accepts a loss, or refuses it.
fn lose(cx: &Cx<'_>, site: &Site, lost: Vec<String>) -> Result<Kept, CommitFailure> {
    if cx.batch.metadata == Keep::Require && !lost.is_empty() {
        return Err(CommitFailure::MetadataLoss { resolved: site.path.clone(), lost });
    }
    Ok(Kept { lost, other_names: 0 })
}

/// Returns the bits that new bytes do not inherit: setuid, and setgid of what the group may execute (without that it
/// means mandatory locking: chmod(2)).
fn inherited(mode: u32, dropped: &mut Vec<String>) -> u32 {
    let mut bits = 0;
    if mode & SETUID != 0 {
        bits |= SETUID;
        dropped.push("setuid".to_owned());
    }
    if mode & SETGID != 0 && mode & GROUP_EXECUTES != 0 {
        bits |= SETGID;
        dropped.push("setgid".to_owned());
    }
    bits
}

fn own(new: impl AsFd, old: &Meta, there: &Meta, lost: &mut Vec<String>) {
    let uid = (old.uid != there.uid).then(|| Uid::from_raw(old.uid));
    let gid = (old.gid != there.gid).then(|| Gid::from_raw(old.gid));
    if uid.is_none() && gid.is_none() || rustix::fs::fchown(&new, uid, gid).is_ok() {
        return;
    }
    // EPERM: giving a file away needs CAP_CHOWN; a group of our own does not.
    if uid.is_some() {
        lost.push("owner".to_owned());
    }
    if gid.is_some() && (uid.is_none() || rustix::fs::fchown(new, None, gid).is_err()) {
        lost.push("group".to_owned());
    }
}

fn attributes(
    old: impl AsFd,
    new: impl AsFd,
    lost: &mut Vec<String>,
    dropped: &mut Vec<String>,
) -> rustix::io::Result<()> {
    let names = list(&old)?;
    let inherited = list(&new)?;
    for name in &names {
        if name == CAPABILITIES {
            dropped.push("file capabilities".to_owned());
            continue;
        }
        if SIGNATURES.contains(&name.as_slice()) {
            continue;
        }
        let value = get(&old, name)?;
        // What the kernel gave the new file by itself (a label of the directory's) need not be set.
        let is_there = inherited.contains(name) && get(&new, name).is_ok_and(|there| there == value);
        let Some(value) = value.filter(|_| !is_there) else { continue };
        if rustix::fs::fsetxattr(&new, name.as_slice(), &value, XattrFlags::empty()).is_err() {
            lost.push(describe(name));
        }
    }
    // A default ACL of the directory gave the new file an ACL that the old one does not have.
    for name in inherited {
        let is_ours = name == ACL || name.starts_with(b"user.");
        if is_ours && !names.contains(&name) && rustix::fs::fremovexattr(&new, name.as_slice()).is_err() {
            lost.push(format!("absence of {}", describe(&name)));
        }
    }
    Ok(())
}

fn describe(name: &[u8]) -> String {
    if name == ACL { "ACL".to_owned() } else { format!("xattr {}", String::from_utf8_lossy(name)) }
}

/// Lists the names of a file's attributes; none where the filesystem has none.
fn list(file: impl AsFd) -> rustix::io::Result<Vec<Vec<u8>>> {
    loop {
        let size = match rustix::fs::flistxattr_query(&file) {
            Ok(size) => size,
            Err(errno) if sys::is_unsupported(errno) => return Ok(Vec::new()),
            Err(errno) => return Err(errno),
        };
        let mut names = vec![0_u8; size];
        if size > 0 {
            match rustix::fs::flistxattr(&file, &mut names[..]) {
                Ok(size) => names.truncate(size),
                // More came to be there since.
                Err(Errno::RANGE) => continue,
                Err(errno) => return Err(errno),
            }
        }
        return Ok(names
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty())
            .map(<[u8]>::to_vec)
            .collect());
    }
}

/// Reads an attribute; `None` where it is gone since.
fn get(file: impl AsFd, name: &[u8]) -> rustix::io::Result<Option<Vec<u8>>> {
    loop {
        let size = match rustix::fs::fgetxattr_query(&file, name) {
            Ok(size) => size,
            // ENODATA (ENOATTR on macOS).
            Err(errno) if is_gone(errno) => return Ok(None),
            Err(errno) => return Err(errno),
        };
        let mut value = vec![0_u8; size];
        if size > 0 {
            match rustix::fs::fgetxattr(&file, name, &mut value[..]) {
                Ok(size) => value.truncate(size),
                Err(Errno::RANGE) => continue,
                Err(errno) if is_gone(errno) => return Ok(None),
                Err(errno) => return Err(errno),
            }
        }
        return Ok(Some(value));
    }
}

#[cfg(target_vendor = "apple")]
fn is_gone(errno: Errno) -> bool {
    errno == Errno::NOATTR
}

#[cfg(not(target_vendor = "apple"))]
fn is_gone(errno: Errno) -> bool {
    errno == Errno::NODATA
}
