//! The shells of this machine, each as a target's.

#![allow(
    clippy::disallowed_methods,
    reason = "it writes scripts into a directory of its own, and asks BusyBox"
)]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use guard_backends::shell::Process;
use guard_core::port::TargetId;
use tempfile::TempDir;

use crate::skip::Need;

/// A shell that can be a target's `sh`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sh {
    /// Debian's `sh`.
    Dash,
    /// `bash` under its own name, where POSIX's rules do not all hold.
    Bash,
    /// `bash` under the name `sh`: its POSIX mode.
    BashPosix,
    /// BusyBox's `ash`.
    BusyBox,
    /// The MirBSD Korn shell, under the name `sh`.
    Mksh,
    /// `zsh` under the name `sh`, as it emulates it.
    Zsh,
}

impl Sh {
    /// Every one.
    pub const ALL: &'static [Self] =
        &[Self::Dash, Self::Bash, Self::BashPosix, Self::BusyBox, Self::Mksh, Self::Zsh];

    /// Returns its name in the names of tests.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dash => "dash",
            Self::Bash => "bash",
            Self::BashPosix => "bash-posix",
            Self::BusyBox => "busybox",
            Self::Mksh => "mksh",
            Self::Zsh => "zsh",
        }
    }

    /// Returns what the machine has to have.
    #[must_use]
    pub const fn need(self) -> Need {
        match self {
            Self::Dash => Need::Dash,
            Self::Bash | Self::BashPosix => Need::Bash,
            Self::BusyBox => Need::BusyBox,
            Self::Mksh => Need::Mksh,
            Self::Zsh => Need::Zsh,
        }
    }

    /// Makes a directory with this shell as its `sh`, to be put first on a target's `PATH`.
    ///
    /// # Errors
    ///
    /// `NotFound` where the machine does not have it.
    pub fn tools(self) -> io::Result<Tools> {
        let real = find(self.need().name(), &own_path())?;
        let tools = Tools::new()?;
        let sh = tools.dir.path().join("sh");
        if self == Self::Bash {
            // By its own name: a link named `sh` would be the POSIX mode. What starts it takes nothing from files or
            // variables, and leaves them to it.
            write_program(&sh, &format!("#!{} -p\nexec {0} \"$@\"\n", real.display()))?;
        } else {
            symlink(real, sh)?;
        }
        Ok(tools)
    }
}

/// A shell that a command line may be given to, as the user's login shell on an SSH host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Login {
    /// `dash`.
    Dash,
    /// `bash`.
    Bash,
    /// `bash` in its restricted mode.
    Rbash,
    /// `zsh`.
    Zsh,
    /// `mksh`.
    Mksh,
    /// `fish`, whose language is another.
    Fish,
    /// `tcsh`, whose language is another.
    Tcsh,
}

impl Login {
    /// Every one.
    pub const ALL: &'static [Self] =
        &[Self::Dash, Self::Bash, Self::Rbash, Self::Zsh, Self::Mksh, Self::Fish, Self::Tcsh];

    /// Returns its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.need().name()
    }

    /// Returns what the machine has to have.
    #[must_use]
    pub const fn need(self) -> Need {
        match self {
            Self::Dash => Need::Dash,
            Self::Bash => Need::Bash,
            Self::Rbash => Need::Rbash,
            Self::Zsh => Need::Zsh,
            Self::Mksh => Need::Mksh,
            Self::Fish => Need::Fish,
            Self::Tcsh => Need::Tcsh,
        }
    }

    /// Gives every command line to this shell, as `sshd` does.
    #[must_use]
    pub fn process(self, target: TargetId) -> Process {
        Process::program(target, self.name()).args(["-c"])
    }
}

/// A directory of tools, to be put first on a target's `PATH`. Dropping it removes it.
pub struct Tools {
    dir: TempDir,
}

impl Tools {
    fn new() -> io::Result<Self> {
        Ok(Self { dir: tempfile::Builder::new().prefix("guard-sh-").tempdir()? })
    }

    /// Returns the directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.dir.path()
    }

    /// Returns a `PATH` with the directory first, then this process's own.
    #[must_use]
    pub fn path(&self) -> OsString {
        self.before(own_path())
    }

    /// Returns a `PATH` with the directory first.
    #[must_use]
    pub fn before(&self, path: impl AsRef<OsStr>) -> OsString {
        let mut all = self.dir.path().as_os_str().to_owned();
        all.push(":");
        all.push(path);
        all
    }
}

/// Makes a directory that has BusyBox's applets under their names, `sh` among them, and nothing else.
///
/// # Errors
///
/// `NotFound` where the machine has no BusyBox.
pub fn busybox_tools() -> io::Result<Tools> {
    let busybox = find(Need::BusyBox.name(), &own_path())?;
    let tools = Tools::new()?;
    let list = Command::new(&busybox).arg("--list").output()?;
    for applet in String::from_utf8_lossy(&list.stdout).lines() {
        symlink(&busybox, tools.dir.path().join(applet))?;
    }
    Ok(tools)
}

fn own_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

/// Finds a program as a shell does.
pub(super) fn find(program: &str, path: &OsStr) -> io::Result<PathBuf> {
    let is_program = |at: &PathBuf| {
        fs::metadata(at).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let places = std::env::split_paths(path).filter(|place| place.is_absolute());
    let found = places.map(|place| place.join(program)).find(is_program);
    found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("{program} is not on PATH")))
}

/// Writes a script that can be executed.
pub(super) fn write_program(at: &Path, text: &str) -> io::Result<()> {
    // By another process: a child that another thread starts meanwhile has copies of this process's descriptors, and a
    // file that is open for writing cannot be executed.
    let mut writer = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(at)
        .stdin(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = writer.stdin.take() {
        input.write_all(text.as_bytes())?;
    }
    let status = writer.wait()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{}: {status}", at.display()))) }
}

#[cfg(test)]
mod tests {
    use guard_core::port::Transport as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;
    use crate::skip;

    /// Each directory's `sh` is that shell, in that mode.
    #[test]
    fn each_sh_is_the_shell_that_it_says() {
        let say = "exe=$(readlink /proc/$$/exe); echo \"${exe##*/}\"; case :$SHELLOPTS: in *:posix:*) echo posix;; esac";
        for sh in Sh::ALL {
            if skip::unless(sh.need(), "each_sh_is_the_shell_that_it_says") {
                continue;
            }
            let tools = sh.tools().unwrap();
            let output = Command::new("sh").args(["-c", say]).env("PATH", tools.path()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            let real = fs::canonicalize(find(sh.need().name(), &own_path()).unwrap()).unwrap();
            let name = real.file_name().unwrap().to_string_lossy().into_owned();
            let posix = if *sh == Sh::BashPosix { "posix\n" } else { "" };
            assert_eq!(said, format!("{name}\n{posix}"), "{}", sh.name());
        }
    }

    #[test]
    fn busyboxs_tools_are_applets_only() {
        if skip::unless(Need::BusyBox, "busyboxs_tools_are_applets_only") {
            return;
        }
        let tools = busybox_tools().unwrap();
        let output = Command::new("sh")
            .args(["-c", "sha256sum --help 2>&1 | head -n 1; command -v perl"])
            .env("PATH", tools.directory())
            .output()
            .unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).starts_with("BusyBox"), "{output:?}");
        assert_eq!(output.stdout.split(|byte| *byte == b'\n').count(), 2, "{output:?}");
    }

    /// One line, as in the start of a session, is the same to every login shell.
    #[tokio::test]
    async fn each_login_shell_runs_the_line_that_starts_a_session() {
        for login in Login::ALL {
            if skip::unless(login.need(), "each_login_shell_runs_the_line_that_starts_a_session") {
                continue;
            }
            let process = login.process(TargetId::new("here"));
            let stage = "read -r line; echo \"<$line>\"";
            let line = format!("sh -c 'eval \"$(dd bs=1 count={} 2>/dev/null)\"'", stage.len());
            let mut session = process.start(&line).await.unwrap();
            session.input.write_all(format!("{stage}rest of \\it\n").as_bytes()).await.unwrap();
            drop(session.input);
            let mut said = String::new();
            session.output.read_to_string(&mut said).await.unwrap();
            assert_eq!(said, "<rest of \\it>\n", "{}", login.name());
        }
    }
}
