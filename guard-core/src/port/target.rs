//! Which filesystem, and what it can do.

use std::fmt;

use guard_policy::{Fact, RootId, TargetPath};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Tier;

/// Which filesystem: `local`, `ssh:user@host:port`, `docker:CONTAINER-ID`.
///
/// It is given by the live [`super::FileOps`] object, never by a configured name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct TargetId(String);

impl TargetId {
    /// Names a target.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What the target's tools can do; what a directory's filesystem can do is learnt at commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Capabilities {
    /// The user's home directory on the target, free of links; `Known(None)` where the user has none.
    ///
    /// # Security
    ///
    /// A target that was not told is `Unknown`, and what is private below a home is then refused wherever a home could
    /// be. It is never `None` for want of knowledge.
    pub home: Fact<Option<TargetPath>>,
    /// The effective user id.
    pub uid: u32,
    /// The strongest tier for replacing a file that the tools allow.
    pub tier: Tier,
    /// Whether a lease can be tried.
    pub lease: LeaseSupport,
}

/// Whether a read lease (`F_SETLEASE`) can be tried on a file that is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LeaseSupport {
    /// It is tried; whether it was had is in the receipt.
    Tried,
    /// The target has none.
    No,
}

/// The directory that an integrator names as a root, as it was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootSpec {
    /// An absolute path, which may lead through links.
    pub path: TargetPath,
}

/// A root that was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Root {
    /// The handle to name it by.
    pub id: RootId,
    /// Its physical path, free of links.
    pub path: TargetPath,
    /// The directory's identity on the target (device and inode), opaque. It is of the run of the machine in which the
    /// root was opened; after a restart the directory may have another.
    pub identity: String,
}
