//! A target that is a folder of this machine with the paths of another place.
#![allow(clippy::disallowed_methods, reason = "the folders of a test are made by hand")]

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use guard_backends::shell::Process;
use guard_core::policy::TargetPath;

use super::{Fixture, Ground, plain};
use crate::conformance::FolderWorld;
use crate::transport::{Namespace, PathSubstituting, Wrappers};

/// Makes targets of folders of this machine: a real shell acts on a folder, and the controller knows it by a path
/// that is another directory here.
pub struct FolderFixture {
    process: Process,
    search: Option<OsString>,
}

impl FolderFixture {
    /// Takes the shell that acts on the folder.
    #[must_use]
    pub const fn new(process: Process) -> Self {
        Self { process, search: None }
    }

    /// Sets the `PATH` that the shell finds its tools on, and lets a contract stop it at them.
    #[must_use]
    pub fn tools(self, search: impl Into<OsString>) -> Self {
        Self { search: Some(search.into()), ..self }
    }
}

#[async_trait]
impl Fixture for FolderFixture {
    async fn fresh(&self) -> io::Result<Ground> {
        // The controller's place, and the folder that is the target under the same paths.
        let (here, there) = (temp()?, temp()?);
        let base = here.path().canonicalize()?;
        let folder = there.path().canonicalize()?;
        for directory in ["ws", "home"] {
            std::fs::create_dir(base.join(directory))?;
            std::fs::create_dir(folder.join(directory))?;
        }
        let path = |name: &str| target(&base.join(name));
        let (root, home) = (path("ws")?, path("home")?);
        let name = target(&base)?;
        let namespace = Namespace::new().map(name.as_str(), &folder);
        let mut process = self.process.clone().env("HOME", folder.join("home"));
        let tools = self.search.as_ref().map(Wrappers::over).transpose()?.map(Arc::new);
        if let Some(tools) = &tools {
            process = process.env("PATH", tools.path());
        }
        let transport = PathSubstituting::new(process, namespace.clone());
        Ok(Ground {
            transport: Arc::new(transport),
            world: Arc::new(FolderWorld(namespace)),
            root,
            home,
            controller: base.join("ws"),
            around: plain(),
            tools,
            keep: Box::new((here, there)),
        })
    }
}

fn temp() -> io::Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("guard-").tempdir()
}

fn target(path: &Path) -> io::Result<TargetPath> {
    let text =
        path.to_str().ok_or_else(|| io::Error::other("the temporary directory's path is not UTF-8"))?;
    TargetPath::new(text).map_err(io::Error::other)
}
