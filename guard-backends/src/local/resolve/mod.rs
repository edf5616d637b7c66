//! Where a path leads: names in, a held directory out.
//!
//! Two resolvers agree on every path: the kernel's (`openat2`), which answers the common case in one call, and the
//! walk, which has the last word on whatever the kernel declines.

#[cfg(target_os = "linux")]
mod beneath;
mod walk;

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use guard_core::policy::{NAME_MAX, PATH_MAX, RootId, TargetPath};
use guard_core::port::{Last, OpError, Scope};

use super::Inner;
use super::errno;
use super::root::{self, Position, RootDir};
use super::sys::{self, Kind, Meta};
use crate::names;

#[cfg(target_os = "linux")]
pub(super) use beneath::is_supported;

/// How often a path that kept leading elsewhere is followed again.
pub(super) const ATTEMPTS: usize = 8;

/// Where a path led. The directory is held for the request.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    /// The deepest directory on the way that exists.
    pub(super) dir: Arc<OwnedFd>,
    /// That directory's path.
    pub(super) dir_path: TargetPath,
    /// Directories on the way that do not exist, outermost first.
    pub(super) missing: Vec<String>,
    /// The name at the end; `None` for the root's own directory.
    pub(super) name: Option<String>,
    /// What had that name when it was resolved.
    pub(super) meta: Option<Meta>,
    /// The whole path.
    pub(super) path: TargetPath,
}

impl Spot {
    fn new(
        dir: Arc<OwnedFd>,
        dir_path: TargetPath,
        names: (Vec<String>, String),
        meta: Option<Meta>,
    ) -> Result<Self, OpError> {
        let (missing, name) = names;
        let above = missing.iter().try_fold(dir_path.clone(), |path, name| names::child(&path, name))?;
        let path = names::child(&above, &name)?;
        Ok(Self { dir, dir_path, missing, name: Some(name), meta, path })
    }

    fn of_root(root: &RootDir) -> Result<Self, OpError> {
        let path = root.physical.clone();
        let meta = sys::meta(&root.fd).map_err(|errno| errno::at(errno, "looking at", &path))?;
        let dir = Arc::clone(&root.fd);
        Ok(Self { dir, dir_path: path.clone(), missing: Vec::new(), name: None, meta: Some(meta), path })
    }

    /// Tells whether the directory is still at its path.
    pub(super) fn is_where_it_was(&self, position: Position) -> Result<bool, OpError> {
        root::is_at(&self.dir, &self.dir_path, position)
    }

    /// Tells whether what was opened by the name has the path of the spot.
    ///
    /// Linux tells the path of what is open in one look. Elsewhere (macOS tells any of a file's names) the directory has
    /// to be at its path, and the name has to lead to what is open.
    pub(super) fn is_of(&self, open: impl AsFd, position: Position) -> Result<bool, OpError> {
        if cfg!(target_os = "linux") && position == Position::Kernel {
            return root::is_at(open, &self.path, position);
        }
        let shown = &self.path;
        let opened = sys::meta(open).map_err(|errno| errno::at(errno, "looking at", shown))?;
        let named =
            sys::lstat(&self.dir, self.at()).map_err(|errno| errno::at(errno, "looking at", shown))?;
        Ok(named.is_some_and(|named| named.id == opened.id) && self.is_where_it_was(position)?)
    }

    /// Returns the name at the end as it is given to the system; the root's own directory is `.` to itself.
    pub(super) fn at(&self) -> &[u8] {
        self.name.as_deref().unwrap_or(".").as_bytes()
    }
}

/// Tells whether a directory's path is that of names below a root, through no link.
#[cfg(target_os = "linux")]
fn is_below(root: &RootDir, names: &[&str], path: &TargetPath) -> bool {
    root.physical.components().chain(names.iter().copied()).eq(path.components())
}

/// Resolves a path from a root.
///
/// What no directory of the scope holds is outside, whatever is there.
pub(super) fn resolve(
    local: &Inner,
    (root, path): (RootId, &str),
    last: Last,
    scope: &Scope,
) -> Result<Spot, OpError> {
    if path.starts_with('/') {
        return Err(OpError::OutsideRoot);
    }
    if path.contains('\0') {
        return Err(OpError::Unsupported { what: "a NUL in a path".to_owned() });
    }
    if path.len() > PATH_MAX {
        return Err(OpError::NameTooLong);
    }
    let root = local.roots.get(root, local.position)?;
    let names: Vec<&str> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    if names.iter().any(|name| name.len() > NAME_MAX) {
        return Err(OpError::NameTooLong);
    }
    let held = |spot: Spot| if scope.holds(&spot.path) { Ok(spot) } else { Err(OpError::OutsideRoot) };
    let Some((name, parents)) = names.split_last() else { return Spot::of_root(&root).and_then(held) };
    #[cfg(target_os = "linux")]
    if local.openat2
        && *name != ".."
        && let Some((dir, dir_path)) = beneath::directory(&root, parents)
        // The kernel does not tell what it went through.
        && (scope.within.is_none() || is_below(&root, parents, &dir_path))
    {
        match sys::lstat(&dir, name.as_bytes()) {
            Ok(Some(meta)) if meta.kind == Kind::Link && last == Last::Follow => {}
            Ok(meta) => {
                return Spot::new(dir, dir_path, (Vec::new(), (*name).to_owned()), meta).and_then(held);
            }
            Err(errno) => return Err(errno::at(errno, "looking at", format!("{dir_path}/{name}"))),
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (name, parents, Kind::Link, local.openat2);
    for _ in 0..ATTEMPTS {
        let spot = walk::resolve(local, Arc::clone(&root), &names, (last, scope))?;
        // The walk knows the names that it went through, and each of their directories can be elsewhere by now.
        if spot.is_where_it_was(local.position)? {
            return held(spot);
        }
    }
    Err(OpError::UnstablePath)
}
