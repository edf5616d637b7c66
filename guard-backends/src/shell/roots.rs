//! The roots that were opened, as the controller knows them: every request names them anew.

use std::sync::{PoisonError, RwLock};

use guard_core::policy::{NAME_MAX, PATH_MAX, RootId, TargetPath};
use guard_core::port::{OpError, Root};

use super::wire::RootRef;

/// The roots that were opened.
#[derive(Debug, Default)]
pub(super) struct Roots(RwLock<Vec<Opened>>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Opened {
    physical: TargetPath,
    identity: String,
    spelling: TargetPath,
}

impl Roots {
    /// Remembers a root; the same directory by the same spelling is the same root.
    pub(super) fn add(&self, physical: TargetPath, identity: String, spelling: TargetPath) -> Root {
        let root = Opened { physical, identity, spelling };
        let mut roots = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let at = roots.iter().position(|known| *known == root).unwrap_or_else(|| {
            roots.push(root.clone());
            roots.len() - 1
        });
        Root { id: RootId(at as u32), path: root.physical, identity: root.identity }
    }

    /// Returns the roots as a request names them.
    pub(super) fn refs(&self) -> Vec<RootRef> {
        let roots = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let root = |root: &Opened| RootRef {
            path: root.physical.as_str().into(),
            identity: root.identity.clone(),
            spelling: root.spelling.as_str().into(),
        };
        roots.iter().map(root).collect()
    }

    /// Returns a root's index, and the path below it as it goes over the wire.
    pub(super) fn place(&self, root: RootId, path: &str) -> Result<(usize, Vec<u8>), OpError> {
        let count = self.0.read().unwrap_or_else(PoisonError::into_inner).len();
        let index = root.0 as usize;
        if index >= count {
            return Err(OpError::NotFound { path: format!("root {}", root.0) });
        }
        if path.starts_with('/') {
            return Err(OpError::OutsideRoot);
        }
        if path.contains('\0') {
            return Err(OpError::Unsupported { what: "a NUL in a path".to_owned() });
        }
        if path.len() > PATH_MAX {
            return Err(OpError::NameTooLong);
        }
        let names: Vec<&str> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        if names.iter().any(|name| name.len() > NAME_MAX) {
            return Err(OpError::NameTooLong);
        }
        Ok((index, names.join("/").into_bytes()))
    }
}
