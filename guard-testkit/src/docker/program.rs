//! This program, where nothing of what it loads is there.
#![allow(clippy::disallowed_methods, reason = "a program and what it loads are copied for a container")]

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::image;

/// The name of the copy of this program.
const NAME: &str = "program";

/// A folder with this program and the libraries that it loads, to be bound into a container.
///
/// So a test can start itself again as a process of the container, whatever image that is of.
#[derive(Debug)]
pub struct Program {
    folder: TempDir,
    loader: String,
}

impl Program {
    /// Where the folder is to be in the container.
    pub const AT: &'static str = "/opt/guard-testkit";

    /// Copies this program and what it loads.
    ///
    /// # Errors
    ///
    /// Where something cannot be copied, or the program names no loader.
    pub fn this() -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("guard-program-").tempdir()?;
        let this = std::env::current_exe()?;
        fs::copy(&this, folder.path().join(NAME))?;
        let mut loader = None;
        for library in image::libraries(&[this])? {
            let name = library.file_name().unwrap_or_default();
            fs::copy(&library, folder.path().join(name))?;
            let name = name.to_string_lossy();
            // `ld-linux-x86-64.so.2`, `ld-musl-x86_64.so.1`: the one that is run and not loaded.
            if name.starts_with("ld-") {
                loader = Some(name.into_owned());
            }
        }
        let loader = loader.ok_or_else(|| io::Error::other("this program has no loader"))?;
        Ok(Self { folder, loader })
    }

    /// Returns the folder of this machine that is to be bound to [`Self::AT`].
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Prepares a start in all namespaces of a process.
    pub(super) fn command(&self, pid: i64) -> Command {
        let at = Self::AT;
        let mut command = Command::new("nsenter");
        command.args(["--target", &pid.to_string(), "--all"]).arg(format!("{at}/{}", self.loader));
        command.args(["--library-path", at]).arg(format!("{at}/{NAME}"));
        command
    }
}
