//! The local target's ground: a temporary directory of this machine.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use guard_backends::local::{Builder, Local};
use guard_core::policy::TargetPath;

use super::{Fixture, Ground, LocalWorld};

/// Gives a fresh temporary directory and a fresh [`Local`] for each case.
///
/// Permission rows are skipped as root; run the suite as another user too.
pub struct LocalFixture {
    configure: Box<dyn Fn(Builder) -> Builder + Send + Sync>,
    parent: std::path::PathBuf,
}

impl LocalFixture {
    /// Takes the target as it is, in the system's directory for temporary files.
    #[must_use]
    pub fn new() -> Self {
        Self::configured(|builder| builder)
    }

    /// Takes the target as `configure` makes it: with another resolver, a forced tier, without a lease.
    pub fn configured(configure: impl Fn(Builder) -> Builder + Send + Sync + 'static) -> Self {
        Self { configure: Box::new(configure), parent: std::env::temp_dir() }
    }

    /// Makes the ground below `parent`, to run the suite on another filesystem.
    #[must_use]
    pub fn below(mut self, parent: impl Into<std::path::PathBuf>) -> Self {
        self.parent = parent.into();
        self
    }
}

impl Default for LocalFixture {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Fixture for LocalFixture {
    async fn fresh(&self) -> io::Result<Ground> {
        let keep = tempfile::Builder::new().prefix("guard-").tempdir_in(&self.parent)?;
        // The suite wants the physical path, and a temporary directory may be behind a link (macOS).
        let base = keep.path().canonicalize()?;
        let path = |name: &str| {
            let text = base.join(name).into_os_string().into_string();
            let text = text.map_err(|_| io::Error::other("the temporary directory's path is not UTF-8"))?;
            TargetPath::new(text).map_err(io::Error::other)
        };
        let (root, outside) = (path("ws")?, path("ws-outside")?);
        for directory in [&root, &outside] {
            std::fs::create_dir(directory.as_str())?;
        }
        let local = (self.configure)(Local::builder()).build().map_err(io::Error::other)?;
        Ok(Ground { ops: Arc::new(local), world: Arc::new(LocalWorld), root, outside, keep: Box::new(keep) })
    }
}
