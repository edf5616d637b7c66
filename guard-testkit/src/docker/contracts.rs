//! A container's ground for the contracts.
#![allow(clippy::disallowed_methods, reason = "the controller's directories are made by hand")]

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use guard_core::policy::TargetPath;

use super::Builder;
use crate::conformance::World as _;
use crate::contracts::{Fixture, Ground, plain};

/// Where the workspace's parent is in the container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In a volume.
    Volume,
    /// In a folder of this machine, which is bound there under the path of another folder of this machine.
    Bind,
    /// In the container's own filesystem.
    Container,
}

/// Starts a container for each contract, with the workspace under a path that is another directory here.
///
/// Its user is 1000, whose home is empty in a fresh container.
pub struct DockerContracts {
    container: Builder,
    place: Place,
}

impl DockerContracts {
    /// Takes how the containers are to be, and where in them the workspace is.
    #[must_use]
    pub const fn of(container: Builder, place: Place) -> Self {
        Self { container, place }
    }
}

#[async_trait]
impl Fixture for DockerContracts {
    async fn fresh(&self) -> io::Result<Ground> {
        let (here, there) = (temp()?, temp()?);
        let base = here.path().canonicalize()?;
        let text = base.to_str().ok_or_else(|| io::Error::other("a temporary path that is not UTF-8"))?;
        std::fs::create_dir(base.join("ws"))?;
        let container = self.container.clone().renamed().user(1000);
        let container = match self.place {
            Place::Volume => container.volume(text),
            Place::Bind => container.bind(&there.path().canonicalize()?, text),
            Place::Container => container,
        };
        let container = container.start().await?;
        let world = Arc::new(container.world().await?);
        match world.mkdir(text.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
        // What is mounted is root's, or only for its owner to enter.
        world.chmod(text.as_bytes(), 0o755)?;
        let root = TargetPath::new(format!("{text}/ws")).map_err(io::Error::other)?;
        world.mkdir(root.as_str().as_bytes())?;
        let transport = container.open().await.map_err(io::Error::other)?;
        Ok(Ground {
            transport: Arc::new(transport),
            world,
            root,
            home: TargetPath::new("/home/guard").map_err(io::Error::other)?,
            controller: base.join("ws"),
            around: plain(),
            tools: None,
            keep: Box::new((container, here, there)),
        })
    }
}

fn temp() -> io::Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("guard-").tempdir()
}
