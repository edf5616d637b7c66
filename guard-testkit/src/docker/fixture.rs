//! A container's ground for the conformance suite.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use guard_backends::shell::{Builder, Shell};
use guard_core::policy::TargetPath;

use super::{DockerTarget, DockerWorld};
use crate::conformance::{Fixture, Ground, World as _};

/// Gives fresh directories in one container, and a fresh [`Shell`] into it, for each case.
pub struct DockerFixture {
    target: DockerTarget,
    world: Arc<DockerWorld>,
    below: String,
    count: AtomicU32,
    configure: Box<dyn Fn(Builder) -> Builder + Send + Sync>,
}

impl DockerFixture {
    /// Makes the ground below `/tmp` of a container that runs.
    ///
    /// An engine that stores with `fuse-overlayfs` refuses names over 251 bytes there, as it marks removals by names
    /// of its own: the ground has to be on a volume or a tmpfs for `too_long_is_told` ([`Self::below`]).
    ///
    /// # Errors
    ///
    /// Where the container's files cannot be reached by another route.
    pub async fn new(target: DockerTarget) -> io::Result<Self> {
        let world = Arc::new(target.world().await?);
        let (below, count) = ("/tmp".to_owned(), AtomicU32::new(0));
        Ok(Self { target, world, below, count, configure: Box::new(|builder| builder) })
    }

    /// Makes the ground below another directory of the container, by its physical path.
    #[must_use]
    pub fn below(mut self, path: impl Into<String>) -> Self {
        self.below = path.into();
        self
    }

    /// Takes the shell as `configure` makes it.
    #[must_use]
    pub fn configured(mut self, configure: impl Fn(Builder) -> Builder + Send + Sync + 'static) -> Self {
        self.configure = Box::new(configure);
        self
    }

    /// Returns the container.
    #[must_use]
    pub fn target(&self) -> &DockerTarget {
        &self.target
    }
}

#[async_trait]
impl Fixture for DockerFixture {
    async fn fresh(&self) -> io::Result<Ground> {
        let base = format!("{}/guard-{}", self.below, self.count.fetch_add(1, Ordering::Relaxed));
        let path = |name: &str| TargetPath::new(format!("{base}{name}")).map_err(io::Error::other);
        let (root, outside) = (path("/ws")?, path("/ws-outside")?);
        for directory in [base.as_str(), root.as_str(), outside.as_str()] {
            self.world.mkdir(directory.as_bytes())?;
        }
        let transport = self.target.open().await.map_err(io::Error::other)?;
        let builder = (self.configure)(Shell::builder(Arc::new(transport)));
        let ops = Arc::new(builder.connect().await.map_err(io::Error::other)?);
        Ok(Ground { ops, world: Arc::clone(&self.world) as _, root, outside, keep: Box::new(()) })
    }
}
