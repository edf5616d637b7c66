//! An SSH server's ground: for the suite this machine's files, for the contracts folders with the paths of others.
#![allow(clippy::disallowed_methods, reason = "the folders of a test are made by hand")]

use std::io;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use guard_backends::shell::{Builder as Opening, Shell};
use guard_backends::ssh::Ssh;
use guard_core::policy::TargetPath;
use guard_core::port::Transport;

use super::Sshd;
use crate::conformance::{Fixture, Ground, LocalWorld};

/// Gives fresh directories of this machine, reached through a server of its own, and a fresh [`Shell`] for each case.
///
/// All cases share one connection. As a server lets in only whoever started it, permission rows are skipped as root:
/// a user without privileges has a login shell that lets nobody in.
pub struct SshdFixture {
    ssh: Arc<Ssh>,
    configure: Box<dyn Fn(Opening) -> Opening + Send + Sync>,
    _sshd: Sshd,
}

impl SshdFixture {
    /// Opens the way to a server.
    ///
    /// # Errors
    ///
    /// Where `ssh` does not know what the server's address means.
    pub async fn new(sshd: Sshd) -> io::Result<Self> {
        let ssh = Arc::new(open(&sshd).await?);
        Ok(Self { ssh, configure: Box::new(|builder| builder), _sshd: sshd })
    }

    /// Takes the shell as `configure` makes it.
    #[must_use]
    pub fn configured(mut self, configure: impl Fn(Opening) -> Opening + Send + Sync + 'static) -> Self {
        self.configure = Box::new(configure);
        self
    }
}

#[async_trait]
impl Fixture for SshdFixture {
    async fn fresh(&self) -> io::Result<Ground> {
        let keep = temp()?;
        let base = keep.path().canonicalize()?;
        for name in ["ws", "ws-outside"] {
            std::fs::create_dir(base.join(name))?;
        }
        let (root, outside) = (target(&base.join("ws"))?, target(&base.join("ws-outside"))?);
        let builder = (self.configure)(Shell::builder(Arc::<Ssh>::clone(&self.ssh) as Arc<dyn Transport>));
        let ops = Arc::new(builder.connect().await.map_err(io::Error::other)?);
        Ok(Ground { ops, world: Arc::new(LocalWorld), root, outside, keep: Box::new(keep) })
    }
}

/// Starts a server for each contract, whose user knows the workspace by paths that are other directories here.
#[cfg(feature = "contracts")]
pub struct SshdContracts {
    server: super::Builder,
}

#[cfg(feature = "contracts")]
impl SshdContracts {
    /// Takes how the servers are to be.
    #[must_use]
    pub const fn of(server: super::Builder) -> Self {
        Self { server }
    }
}

#[cfg(feature = "contracts")]
#[async_trait]
impl crate::contracts::Fixture for SshdContracts {
    async fn fresh(&self) -> io::Result<crate::contracts::Ground> {
        use crate::conformance::FolderWorld;
        use crate::transport::{Namespace, PathSubstituting, Wrappers};

        let tools = Wrappers::new()?;
        let sshd = self.server.clone().env("PATH", tools.path().to_string_lossy()).start()?;
        // The controller's place, and the folder that is the target under the same paths; the home is the server's.
        let (here, there) = (temp()?, temp()?);
        let (base, folder) = (here.path().canonicalize()?, there.path().canonicalize()?);
        std::fs::create_dir(folder.join("ws"))?;
        for name in ["ws", "home"] {
            std::fs::create_dir(base.join(name))?;
        }
        let (root, home) = (target(&base.join("ws"))?, target(&base.join("home"))?);
        let namespace =
            Namespace::new().map(target(&base)?.as_str(), &folder).map(home.as_str(), sshd.home());
        let transport = PathSubstituting::new(open(&sshd).await?, namespace.clone());
        Ok(crate::contracts::Ground {
            transport: Arc::new(transport),
            world: Arc::new(FolderWorld(namespace)),
            root,
            home,
            controller: base.join("ws"),
            around: crate::contracts::plain(),
            tools: Some(Arc::new(tools)),
            keep: Box::new((sshd, here, there)),
        })
    }
}

async fn open(sshd: &Sshd) -> io::Result<Ssh> {
    let destination = sshd.url().parse().map_err(io::Error::other)?;
    Ssh::to(destination).config(sshd.config()).resolve().await.map_err(io::Error::other)
}

fn temp() -> io::Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("guard-").tempdir()
}

fn target(path: &Path) -> io::Result<TargetPath> {
    let text =
        path.to_str().ok_or_else(|| io::Error::other("the temporary directory's path is not UTF-8"))?;
    TargetPath::new(text).map_err(io::Error::other)
}
