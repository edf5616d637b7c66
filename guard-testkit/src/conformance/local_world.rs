//! This machine's filesystem as another process uses it.

#![allow(clippy::disallowed_methods, reason = "this is the other process, which is not guarded")]

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use guard_core::policy::{Digest, OtherKind};
use rustix::fs::{CWD, FileType, Mode};

use super::World;
use crate::tree::digest_of_tree;

/// Acts on this machine's filesystem with plain system calls.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalWorld;

fn at(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(path))
}

impl World for LocalWorld {
    fn create(&self, path: &[u8], bytes: &[u8]) -> io::Result<()> {
        fs::OpenOptions::new().write(true).create_new(true).open(at(path))?.write_all(bytes)
    }

    fn read(&self, path: &[u8]) -> io::Result<Vec<u8>> {
        fs::read(at(path))
    }

    fn unlink(&self, path: &[u8]) -> io::Result<()> {
        fs::remove_file(at(path))
    }

    fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        fs::rename(at(from), at(to))
    }

    fn mkdir(&self, path: &[u8]) -> io::Result<()> {
        fs::create_dir(at(path))
    }

    fn symlink(&self, text: &[u8], path: &[u8]) -> io::Result<()> {
        std::os::unix::fs::symlink(at(text), at(path))
    }

    fn readlink(&self, path: &[u8]) -> io::Result<Vec<u8>> {
        fs::read_link(at(path)).map(|text| text.into_os_string().into_vec())
    }

    fn link(&self, old: &[u8], new: &[u8]) -> io::Result<()> {
        fs::hard_link(at(old), at(new))
    }

    fn mknod(&self, path: &[u8], kind: OtherKind) -> io::Result<()> {
        let kind = match kind {
            OtherKind::Fifo => FileType::Fifo,
            OtherKind::Socket => FileType::Socket,
            // Devices are root's to make, and not on every filesystem.
            _ => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(rustix::fs::mknodat(CWD, at(path), kind, Mode::from_raw_mode(0o644), 0)?)
    }

    fn chmod(&self, path: &[u8], mode: u32) -> io::Result<()> {
        fs::set_permissions(at(path), fs::Permissions::from_mode(mode))
    }

    fn mode(&self, path: &[u8]) -> io::Result<u32> {
        Ok(fs::metadata(at(path))?.permissions().mode() & 0o7777)
    }

    fn names(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        fs::read_dir(at(path))?.map(|entry| Ok(entry?.file_name().into_vec())).collect()
    }

    fn snapshot(&self, path: &[u8]) -> io::Result<Digest> {
        digest_of_tree(at(path))
    }

    fn enforces_permissions(&self) -> bool {
        !rustix::process::geteuid().is_root()
    }
}
