//! A program of this machine that leads to a shell: the shell itself, `ssh`, `kubectl exec`, a sandbox.

use std::ffi::OsString;
use std::io;
use std::process::Stdio;

use async_trait::async_trait;
use guard_core::port::{End, Session, TargetId, Transport, TransportError};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// Starts a program of this machine and gives it the command line as its last argument.
///
/// The program has pipes, no terminal, and a process group of its own: a key pressed in a terminal does not end it in
/// the middle of a commit, and ending the command ends all that it started here. A program that asks for a password
/// on the terminal therefore gets none; `ssh` has to find a key.
///
/// # Security
///
/// Which target the program leads to is what the caller says; nothing is derived from the program's name.
///
/// # Examples
///
/// ```
/// use guard_backends::shell::Process;
/// use guard_core::port::TargetId;
///
/// let here = Process::shell(TargetId::new("local-shell"));
/// let pod = Process::program(TargetId::new("pod:web-0"), "kubectl")
///     .args(["exec", "-i", "web-0", "--", "sh", "-c"]);
/// ```
#[derive(Clone)]
pub struct Process {
    target: TargetId,
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    clear: bool,
    is_shell: bool,
}

impl Process {
    /// Starts this machine's shell: `sh -c`.
    #[must_use]
    pub fn shell(target: TargetId) -> Self {
        Self { is_shell: true, ..Self::program(target, "sh").args(["-c"]) }
    }

    /// Starts a program that takes a command line for a shell as its last argument.
    #[must_use]
    pub fn program(target: TargetId, program: impl Into<OsString>) -> Self {
        Self {
            target,
            program: program.into(),
            args: Vec::new(),
            env: Vec::new(),
            clear: false,
            is_shell: false,
        }
    }

    /// Adds arguments before the command line.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable of the program's environment; `PATH` is also where the program is looked for.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Starts the program without this process's environment: only what [`Self::env`] sets.
    #[must_use]
    pub const fn env_clear(mut self) -> Self {
        self.clear = true;
        self
    }

    fn refused(&self, error: &io::Error) -> TransportError {
        let why = format!("{}: {error}", self.program.display());
        match error.kind() {
            // Of another program that is not there it is not known what would have been behind it.
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied if self.is_shell => {
                TransportError::NoShell { why }
            }
            _ => TransportError::Unreachable { why },
        }
    }
}

#[async_trait]
impl Transport for Process {
    fn target(&self) -> &TargetId {
        &self.target
    }

    async fn start(&self, command: &str) -> Result<Session, TransportError> {
        let mut program = Command::new(&self.program);
        if self.clear {
            program.env_clear();
        }
        program
            .args(&self.args)
            .arg(command)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = program.spawn().map_err(|error| self.refused(&error))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(TransportError::Unreachable { why: "a program without pipes".to_owned() });
        };
        let errors = child.stderr.take();
        Ok(Session {
            input: Box::new(input),
            output: Box::new(output),
            errors: errors.map(|errors| Box::new(errors) as _),
            end: Box::new(Running(child)),
        })
    }
}

struct Running(Child);

impl Running {
    /// Kills the program's process group.
    fn kill_group(&self) {
        // A process that was waited for has no number any more, and its group's may be another's.
        let leader = self.0.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(leader) = leader {
            // ESRCH is a group that is gone already; no other error is possible for processes of one's own but those
            // that became another user's (EPERM), which cannot be ended from here.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

#[async_trait]
impl End for Running {
    async fn kill(&mut self) {
        self.kill_group();
        // An error is a child that somebody else waited for: it is over.
        let _ = self.0.wait().await;
    }

    async fn status(&mut self) -> Option<String> {
        self.0.wait().await.ok().map(|status| status.to_string())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill_group();
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    fn target() -> TargetId {
        TargetId::new("test")
    }

    async fn text(mut stream: impl tokio::io::AsyncRead + Unpin) -> String {
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    }

    #[tokio::test]
    async fn the_streams_are_apart_and_the_status_is_told() {
        let mut session = Process::shell(target()).start("cat; echo 'it is' said >&2; exit 3").await.unwrap();
        session.input.write_all(b"any\0bytes\n").await.unwrap();
        drop(session.input);
        assert_eq!(text(session.output).await, "any\0bytes\n");
        assert_eq!(text(session.errors.unwrap()).await, "it is said\n");
        assert_eq!(session.end.status().await.as_deref(), Some("exit status: 3"));
    }

    #[tokio::test]
    async fn the_command_line_is_the_last_argument_whatever_is_in_it() {
        let printf = Process::program(target(), "printf").args(["<%s>", "first"]);
        let session = printf.start("$HOME 'and' \"more\" \\").await.unwrap();
        assert_eq!(text(session.output).await, "<first><$HOME 'and' \"more\" \\>");
    }

    #[tokio::test]
    async fn the_environment_is_this_processs_unless_it_is_cleared() {
        let say = "echo \"${CARGO_PKG_NAME-none} ${GUARD_A-none}\"";
        let with = Process::shell(target()).env("GUARD_A", "a");
        assert_eq!(text(with.start(say).await.unwrap().output).await, "guard-backends a\n");
        let path = ["/usr/local/bin", "/usr/bin", "/bin"].join(":");
        let cleared = Process::shell(target()).env_clear().env("PATH", path).env("GUARD_A", "b");
        assert_eq!(text(cleared.start(say).await.unwrap().output).await, "none b\n");
    }

    #[tokio::test]
    async fn what_is_not_there_is_told() {
        let nowhere = Process::shell(target()).env("PATH", "/nowhere");
        assert!(matches!(nowhere.start("true").await, Err(TransportError::NoShell { .. })));
        let no_program = Process::program(target(), "guard-no-such-program").args(["host"]);
        match no_program.start("true").await {
            Err(TransportError::Unreachable { why }) => {
                assert!(why.contains("guard-no-such-program"), "{why}");
            }
            Err(other) => panic!("{other:?}"),
            Ok(_) => panic!("it was started"),
        }
    }

    /// The output is over when nobody holds it any more: the command's children neither.
    #[tokio::test]
    async fn killing_or_dropping_ends_all_that_was_started() {
        let tail = "tail -f /dev/null & echo started; wait";
        for drops in [false, true] {
            let mut session = Process::shell(target()).start(tail).await.unwrap();
            let mut started = [0; 8];
            session.output.read_exact(&mut started).await.unwrap();
            if drops {
                drop(session.end);
            } else {
                session.end.kill().await;
                assert_eq!(session.end.status().await.as_deref(), Some("signal: 9 (SIGKILL)"));
            }
            assert_eq!(text(session.output).await, "");
        }
    }
}
