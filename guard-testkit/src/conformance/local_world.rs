//! This machine's filesystem as another process uses it.

#![allow(clippy::disallowed_methods, reason = "this is the other process, which is not guarded")]

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
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
        let (kind, device) = match kind {
            OtherKind::Fifo => (FileType::Fifo, 0),
            OtherKind::Socket => (FileType::Socket, 0),
            // As `/dev/null` is, so that nobody is hurt who opens it. Devices are root's to make.
            OtherKind::CharDevice => (FileType::CharacterDevice, rustix::fs::makedev(1, 3)),
            _ => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(rustix::fs::mknodat(CWD, at(path), kind, Mode::from_raw_mode(0o644), device)?)
    }

    fn chmod(&self, path: &[u8], mode: u32) -> io::Result<()> {
        fs::set_permissions(at(path), fs::Permissions::from_mode(mode))
    }

    fn mode(&self, path: &[u8]) -> io::Result<u32> {
        Ok(fs::metadata(at(path))?.permissions().mode() & 0o7777)
    }

    fn chown(&self, path: &[u8], user: u32, group: u32) -> io::Result<()> {
        std::os::unix::fs::lchown(at(path), Some(user), Some(group))
    }

    fn owner(&self, path: &[u8]) -> io::Result<(u32, u32)> {
        let metadata = fs::metadata(at(path))?;
        Ok((metadata.uid(), metadata.gid()))
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
