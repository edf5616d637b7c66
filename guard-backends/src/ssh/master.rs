//! The connection that all commands share: an `ssh` in the background with a control socket.

use std::error::Error as _;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use guard_core::port::{Session, TransportError};
use openssh::Stdio as RemoteStdio;
use tempfile::TempDir;
use tokio::process::{Child, ChildStdin, Command};

use super::client::{Client, Group, without_tokens};
use super::running::Running;
use super::words;

/// A connection to the host. Dropping it ends it, once no command holds it any more.
pub(super) struct Master {
    session: Arc<openssh::Session>,
    directory: Directory,
    jump: Words,
    caretaker: Mutex<Option<Caretaker>>,
}

/// A command that was not started.
pub(super) enum NotStarted {
    /// The connection has ended.
    Gone,
    /// The connection is there, and something else is wrong.
    Other(TransportError),
}

impl Master {
    /// Connects and logs in. If the future is dropped, nothing is left.
    ///
    /// `openssh` could do this too, but not so that it can be given up in time: its `ssh` would go on, and succeed
    /// when nobody knows of it any more.
    pub(super) async fn open(client: &Client) -> Result<Self, TransportError> {
        let made = private_directory(&client.control).map_err(|error| no_socket(&error))?;
        let caretaker = Caretaker::start(made.path(), &client.program).map_err(|error| no_socket(&error))?;
        // From here on it is the caretaker's.
        let directory = Directory(made.keep());
        match login(client, &directory).await {
            Ok(jump) => {
                let session = openssh::Session::resume_mux(directory.socket().into_boxed_path(), None);
                let caretaker = Mutex::new(Some(caretaker));
                Ok(Self { session: Arc::new(session), directory, jump, caretaker })
            }
            Err(error) => {
                caretaker.end().await;
                Err(error)
            }
        }
    }

    /// Starts a command line.
    pub(super) async fn start(self: &Arc<Self>, command: &str) -> Result<Session, NotStarted> {
        let mut remote = openssh::Session::to_raw_command(Arc::clone(&self.session), command);
        remote.stdin(RemoteStdio::piped()).stdout(RemoteStdio::piped()).stderr(RemoteStdio::piped());
        let mut child = remote.spawn().await.map_err(|error| not_started(&error))?;
        let (Some(input), Some(output)) = (child.stdin().take(), child.stdout().take()) else {
            let why = "a command without pipes".to_owned();
            return Err(NotStarted::Other(TransportError::Unreachable { why }));
        };
        let errors = child.stderr().take();
        Ok(Session {
            input: Box::new(input),
            output: Box::new(output),
            errors: errors.map(|errors| Box::new(errors) as _),
            end: Box::new(Running::new(Arc::clone(self), child)),
        })
    }

    /// Tells, for people, how a command ended.
    pub(super) async fn told(&self, ended: Result<ExitStatus, openssh::Error>) -> String {
        match ended {
            Ok(status) => status.to_string(),
            // `openssh` takes 127 to itself.
            Err(openssh::Error::Remote(_)) => "exit status: 127".to_owned(),
            // Nothing was told of its end. A connection that is there has lost nothing: the command was ended.
            Err(_) if self.session.check().await.is_ok() => "ended by a signal".to_owned(),
            Err(_) => match words::last(&self.directory.said()) {
                Some(words) => format!("the connection was lost: {words}"),
                None => "the connection was lost".to_owned(),
            },
        }
    }

    /// Tells why a connection ended that was opened just now.
    pub(super) fn why_gone(&self) -> TransportError {
        words::error(&self.directory.said(), &self.jump.said())
    }

    /// Ends the connection and all commands on it, and waits until nothing of it is left.
    pub(super) async fn end(&self) {
        let caretaker = self.caretaker.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(caretaker) = caretaker {
            caretaker.end().await;
        }
    }
}

fn no_socket(error: &io::Error) -> TransportError {
    TransportError::Unreachable { why: format!("a control socket: {error}") }
}

/// Runs `ssh` until it is logged in and has gone to the background; returns what the `ssh` to a jump host says.
async fn login(client: &Client, directory: &Directory) -> Result<Words, TransportError> {
    let jump = Words(tempfile::tempfile_in(&directory.0).map_err(|error| no_socket(&error))?);
    let mut ssh = client.command();
    // A log is for its own words; those of the `ssh` to a jump host come on standard error.
    ssh.arg("-E").arg(directory.log());
    ssh.stderr(jump.0.try_clone().map_err(|error| no_socket(&error))?);
    // To the background as soon as it is logged in and the socket is there; no command of its own.
    ssh.args(["-f", "-N", "-M", "-S"]).arg(without_tokens(&directory.socket()));
    ssh.arg("--").arg(client.destination.host());
    let mut child = Group(ssh.spawn().map_err(|error| client.not_run(&error))?);
    let status = child.0.wait().await.map_err(|error| client.not_run(&error))?;
    if status.success() { Ok(jump) } else { Err(words::error(&directory.said(), &jump.said())) }
}

/// A file without a name that another process writes to.
struct Words(File);

impl Words {
    fn said(&self) -> String {
        let mut bytes = vec![0; 16 * 1024];
        // Where the other process writes is not moved by this.
        let len = self.0.read_at(&mut bytes, 0).unwrap_or_default();
        String::from_utf8_lossy(&bytes[..len]).into_owned()
    }
}

fn not_started(error: &openssh::Error) -> NotStarted {
    use io::ErrorKind::{BrokenPipe, UnexpectedEof};
    if matches!(error, openssh::Error::Disconnected) {
        return NotStarted::Gone;
    }
    let source = error.source();
    let broken =
        source.and_then(|source| source.source()).and_then(|source| source.downcast_ref::<io::Error>());
    if broken.is_some_and(|error| matches!(error.kind(), BrokenPipe | UnexpectedEof)) {
        return NotStarted::Gone;
    }
    let words = source.map_or_else(|| error.to_string(), ToString::to_string);
    // A failure message of the control protocol: the host opened no channel (`mux_session_confirm` in mux.c).
    let refused = words.strip_prefix("Server refused the request: ");
    NotStarted::Other(match refused {
        Some(why) => TransportError::NoSession { why: why.trim_end_matches('.').to_owned() },
        None => TransportError::Unreachable { why: words },
    })
}

/// Makes a directory that only this user can enter.
fn private_directory(parent: &Path) -> io::Result<TempDir> {
    let private = Permissions::from_mode(0o700);
    tempfile::Builder::new().prefix("guard-ssh-").permissions(private).tempdir_in(parent)
}

/// The directory of a control socket.
struct Directory(PathBuf);

impl Directory {
    fn socket(&self) -> PathBuf {
        self.0.join("master")
    }

    fn log(&self) -> PathBuf {
        self.0.join("log")
    }

    /// Returns what `ssh` said; what cannot be read was not said.
    fn said(&self) -> String {
        std::fs::read(self.log())
            .map_or_else(|_| String::new(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// A process that ends the connection and removes its directory as soon as this process lets go of it, however it
/// comes to its end: what a destructor does is not done by a process that is killed.
struct Caretaker {
    line: ChildStdin,
    shell: Child,
}

/// Waits for the end of its input. `$1` is the directory, `$2` is `ssh`.
const CARE: &str = r#"
while read -r line; do :; done
if [ -S "$1/master" ]; then "$2" -F none -S "$1/master" -O exit guard; fi
rm -f -- "$1"/*
rmdir -- "$1"
"#;

impl Caretaker {
    fn start(directory: &Path, ssh: &Path) -> io::Result<Self> {
        let mut shell = Command::new("sh");
        shell.args(["-c", CARE, "guard-caretaker"]).arg(directory).arg(ssh);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let mut shell = shell.spawn()?;
        let line = shell.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { line, shell })
    }

    async fn end(self) {
        let Self { line, mut shell } = self;
        drop(line);
        // Whatever it could not do is not done by another.
        let _ = shell.wait().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parent() -> TempDir {
        tempfile::tempdir_in("/tmp").unwrap()
    }

    #[test]
    fn the_directory_is_private_and_its_socket_has_a_short_path() {
        let parent = parent();
        let made = private_directory(parent.path()).unwrap();
        assert_eq!(made.path().metadata().unwrap().permissions().mode() & 0o7777, 0o700);
        let socket = Directory(made.path().to_owned()).socket();
        let added = socket.strip_prefix(parent.path()).unwrap().as_os_str().len();
        // `ssh` binds a name with a dot and 16 more characters first; one byte is for the separator.
        assert!(added + 17 < 44, "{added}");
    }

    #[tokio::test]
    async fn the_caretaker_removes_what_is_there_when_it_is_let_go() {
        let parent = parent();
        let directory = Directory(private_directory(parent.path()).unwrap().keep());
        let caretaker = Caretaker::start(&directory.0, Path::new("/no/such/ssh")).unwrap();
        File::create_new(directory.log()).unwrap();
        // A socket that nobody listens to any more.
        drop(std::os::unix::net::UnixListener::bind(directory.socket()).unwrap());
        caretaker.end().await;
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
