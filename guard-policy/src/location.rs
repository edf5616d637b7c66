//! Where a requested path leads: the one function for location.

use serde::{Deserialize, Serialize};

use crate::{Fact, Refusal, RequestedPath, TargetPath};

/// A root that a target has opened; meaningful only to the target that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct RootId(pub u32);

/// What may be done below a root, or by an actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Access {
    /// Reading only.
    #[serde(rename = "ro")]
    ReadOnly,
    /// Reading and writing.
    #[serde(rename = "rw")]
    ReadWrite,
}

/// One opened root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootEntry {
    /// The target's handle of it.
    pub id: RootId,
    /// Its physical path on the target, free of links.
    pub physical: TargetPath,
    /// Other spellings under which a caller may name it (the path it was opened by, where that leads through a
    /// link).
    pub aliases: Vec<TargetPath>,
    /// What may be done below it.
    pub access: Access,
}

/// The roots of a guard; the first is the base of relative paths.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roots {
    pub(crate) entries: Vec<RootEntry>,
}

/// Where a requested path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// The root that the target resolves it from.
    pub root: RootId,
    /// The path below that root's directory, as the target walks it: without leading or trailing slash, `..` only
    /// after a name; empty for the root itself.
    pub path: String,
    /// Where it should arrive.
    pub expected: Expected,
}

/// Where a path should arrive, if no link is in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// The path that the target has to reach.
    Path(TargetPath),
    /// The path has `..` after a name, which only the target can resolve: stat it first.
    AskTarget,
}

impl Roots {
    /// Takes the opened roots; the first is the base of relative paths.
    #[must_use]
    pub fn new(entries: Vec<RootEntry>) -> Self {
        Self { entries }
    }

    /// Returns the entries.
    #[must_use]
    pub fn entries(&self) -> &[RootEntry] {
        &self.entries
    }

    /// Locates what a caller typed.
    ///
    /// # Errors
    ///
    /// `outside-root` where it is outside every root by its text alone; `state-unavailable` where `~` is used and
    /// the target's home is not known.
    pub fn locate(
        &self,
        requested: &RequestedPath,
        home: Fact<Option<&TargetPath>>,
    ) -> Result<Located, Refusal> {
        let _ = (requested, home);
        Ok(Located { root: RootId(0), path: String::new(), expected: Expected::AskTarget })
    }

    /// Returns the most specific root that holds `path`, by whole components of physical paths.
    #[must_use]
    pub fn holding(&self, path: &TargetPath) -> Option<&RootEntry> {
        let _ = path;
        None
    }
}
