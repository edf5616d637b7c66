//! A workspace in a temporary directory, and the built binary run in it.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use guard_testkit::tree::Snapshot;
use tempfile::TempDir;

/// A workspace, with a home directory beside it.
pub(crate) struct Bench {
    dir: TempDir,
}

/// What one run of the binary came to.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let bench = Self { dir: tempfile::tempdir().unwrap() };
        std::fs::create_dir(bench.root()).unwrap();
        std::fs::create_dir(bench.dir.path().join("home")).unwrap();
        bench
    }

    /// Returns the workspace, free of links.
    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("ws")
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn get(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    /// Prepares the binary, started in the workspace.
    pub(crate) fn command(&self, args: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_guard"));
        command.args(args).current_dir(self.root()).env_clear().env("HOME", self.dir.path().join("home"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Lets other users into the directory of the workspace.
    pub(crate) fn open_to_all(&self) {
        std::fs::set_permissions(self.dir.path(), Permissions::from_mode(0o755)).unwrap();
    }

    /// As [`Bench::command`], run by root as another user.
    pub(crate) fn command_as(&self, uid: u32, args: &[impl AsRef<OsStr>]) -> Command {
        // The build may be below a directory that another user cannot enter. It is copied by another process: a child
        // that another thread starts meanwhile has copies of this process's descriptors, and a file that is open for
        // writing cannot be executed.
        let program = self.dir.path().join("guard");
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_guard")).arg(&program).status().unwrap();
        assert!(copied.success());
        let mut command = Command::new("setpriv");
        command.arg(format!("--reuid={uid}")).arg("--clear-groups").arg(program).args(args);
        command.current_dir(self.root()).env_clear().stdin(Stdio::null());
        command
    }

    pub(crate) fn guard(&self, args: &[impl AsRef<OsStr>]) -> Run {
        self.guard_with(args, b"")
    }

    pub(crate) fn guard_with(&self, args: &[impl AsRef<OsStr>], stdin: &[u8]) -> Run {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        // A command that does not read its input may be gone already.
        let _ = child.stdin.take().unwrap().write_all(stdin);
        Run::of(child.wait_with_output().unwrap())
    }

    /// Runs a line in a shell, where `$GUARD` is the binary.
    pub(crate) fn shell(&self, line: &str) -> Run {
        let mut command = Command::new("bash");
        command.args(["-c", line]).current_dir(self.root()).env_clear().stdin(Stdio::null());
        command.env("GUARD", env!("CARGO_BIN_EXE_guard")).env("HOME", self.dir.path().join("home"));
        Run::of(command.output().unwrap())
    }

    /// Looks at the whole workspace: equal where nothing changed.
    pub(crate) fn state(&self) -> Snapshot {
        Snapshot::of(&self.root()).unwrap()
    }

    /// Replaces what differs from run to run.
    pub(crate) fn plain(&self, text: &str) -> String {
        let text = text.replace(self.root().to_str().unwrap(), "[ws]");
        text.replace(self.dir.path().canonicalize().unwrap().to_str().unwrap(), "[dir]")
            .replace(", with a lease", ", [lease]")
            .replace(", without a lease", ", [lease]")
            .replace(&format!("uid {}", self.dir.path().metadata().unwrap().uid()), "uid [uid]")
    }
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap(),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub(crate) fn out(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}
