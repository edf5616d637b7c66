//! The roots that were opened, as the controller knows them: every request names them anew.

use std::sync::{PoisonError, RwLock};

use guard_core::policy::{NAME_MAX, PATH_MAX, RootId, TargetPath};
use guard_core::port::{OpError, Root};

use super::wire::RootRef;

/// What no directory has: the root is not what was opened, and is refused until it is opened anew.
const LOST: &str = "lost";

/// The roots that were opened.
#[derive(Debug, Default)]
pub(super) struct Roots(RwLock<Known>);

#[derive(Debug, Default)]
struct Known {
    /// How often the machine was found to have been started again.
    run: u64,
    roots: Vec<Opened>,
}

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
        let roots = &mut self.0.write().unwrap_or_else(PoisonError::into_inner).roots;
        let at = roots.iter().position(|known| *known == root).unwrap_or_else(|| {
            roots.push(root.clone());
            roots.len() - 1
        });
        Root { id: RootId(at as u32), path: root.physical, identity: root.identity }
    }

    /// Returns the roots as a request names them.
    pub(super) fn refs(&self) -> Vec<RootRef> {
        self.now().1
    }

    /// Returns which run of the machine it is, and the roots as a request names them in it.
    pub(super) fn now(&self) -> (u64, Vec<RootRef>) {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let root = |root: &Opened| RootRef {
            path: root.physical.as_str().into(),
            identity: root.identity.clone(),
            spelling: root.spelling.as_str().into(),
        };
        (known.run, known.roots.iter().map(root).collect())
    }

    /// Takes what is at the roots' paths in another run of the machine. A root that is not kept is lost.
    pub(super) fn renew(
        &self,
        found: Vec<Option<(TargetPath, String)>>,
        is_kept: impl Fn(&str, &str) -> bool,
    ) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.run += 1;
        for (root, found) in known.roots.iter_mut().zip(found) {
            root.identity = match found {
                Some((path, now)) if path == root.physical && is_kept(&root.identity, &now) => now,
                _ => LOST.to_owned(),
            };
        }
    }

    /// Returns a root's index, and the path below it as it goes over the wire.
    pub(super) fn place(&self, root: RootId, path: &str) -> Result<(usize, Vec<u8>), OpError> {
        let count = self.0.read().unwrap_or_else(PoisonError::into_inner).roots.len();
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
