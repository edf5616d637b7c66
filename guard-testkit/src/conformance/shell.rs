//! A shell of this machine as a target's ground: a temporary directory, under its own path or another one.

use std::any::Any;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use guard_backends::shell::{Builder, Process, Shell};
use guard_core::policy::TargetPath;
use guard_core::port::{TargetId, Transport};

use super::{Fixture, FolderWorld, Ground, LocalWorld, World};
use crate::transport::{Namespace, PathSubstituting, Sh, Tools};

/// What a folder is called on a target whose paths are its own.
const ELSEWHERE: &str = "/srv/elsewhere";

/// Gives a fresh temporary directory and a fresh [`Shell`] over a process of this machine for each case.
///
/// Permission rows are skipped as root; run the suite as another user too.
pub struct ShellFixture {
    process: Process,
    configure: Box<dyn Fn(Builder) -> Builder + Send + Sync>,
    paths: Paths,
    parent: PathBuf,
    _tools: Option<Tools>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Paths {
    ThisMachines,
    Substituted,
}

impl ShellFixture {
    /// Takes one of this machine's shells as the target's `sh`.
    ///
    /// # Errors
    ///
    /// `NotFound` where the machine does not have it.
    pub fn of(sh: Sh) -> io::Result<Self> {
        let tools = sh.tools()?;
        let process = Process::shell(TargetId::new(sh.name())).env("PATH", tools.path());
        Ok(Self { _tools: Some(tools), ..Self::over(process) })
    }

    /// Takes whatever a process leads to, which has to see this machine's files.
    #[must_use]
    pub fn over(process: Process) -> Self {
        Self {
            process,
            configure: Box::new(|builder| builder),
            paths: Paths::ThisMachines,
            parent: std::env::temp_dir(),
            _tools: None,
        }
    }

    /// Takes the target as `configure` makes it.
    #[must_use]
    pub fn configured(mut self, configure: impl Fn(Builder) -> Builder + Send + Sync + 'static) -> Self {
        self.configure = Box::new(configure);
        self
    }

    /// Puts a [`PathSubstituting`] between: controller and target then disagree about every path.
    #[must_use]
    pub const fn with_other_paths(mut self) -> Self {
        self.paths = Paths::Substituted;
        self
    }

    /// Makes the ground below `parent`, to run the suite on another filesystem.
    #[must_use]
    pub fn below(mut self, parent: impl Into<PathBuf>) -> Self {
        self.parent = parent.into();
        self
    }
}

#[async_trait]
impl Fixture for ShellFixture {
    async fn fresh(&self) -> io::Result<Ground> {
        let keep = tempfile::Builder::new().prefix("guard-").tempdir_in(&self.parent)?;
        let folder = keep.path().canonicalize()?;
        for name in ["ws", "ws-outside"] {
            std::fs::create_dir(folder.join(name))?;
        }
        let process = self.process.clone();
        let (transport, world, base): (Arc<dyn Transport>, Arc<dyn World>, _) = match self.paths {
            Paths::ThisMachines => (Arc::new(process), Arc::new(LocalWorld), target(&folder)?),
            Paths::Substituted => {
                let namespace = Namespace::new().map(ELSEWHERE, &folder);
                let transport = PathSubstituting::new(process, namespace.clone());
                (Arc::new(transport), Arc::new(FolderWorld(namespace)), target(Path::new(ELSEWHERE))?)
            }
        };
        let child = |name: &str| base.child(name).map_err(io::Error::other);
        let (root, outside) = (child("ws")?, child("ws-outside")?);
        let builder = (self.configure)(Shell::builder(transport));
        let ops = Arc::new(builder.connect().await.map_err(io::Error::other)?);
        let keep: Box<dyn Any + Send + Sync> = Box::new(keep);
        Ok(Ground { ops, world, root, outside, keep })
    }
}

fn target(path: &Path) -> io::Result<TargetPath> {
    let text =
        path.to_str().ok_or_else(|| io::Error::other("the temporary directory's path is not UTF-8"))?;
    TargetPath::new(text).map_err(io::Error::other)
}
