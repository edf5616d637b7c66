//! A target in a Docker container: one exec holds the byte stream of the shell session.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use guard_backends::docker::{Docker, Endpoint};
//! use guard_backends::shell::Shell;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let container = Docker::container(Endpoint::unix(Endpoint::USUAL_SOCKET), "web").user("app").open().await?;
//! let shell = Shell::builder(Arc::new(container)).connect().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Files are never touched through the engine's archive API: it resolves links as root of the engine's machine, so
//! that nothing could be said of where a path leads. A container without a shell is therefore no target.

mod endpoint;
mod session;
mod words;

use std::time::Duration;

use async_trait::async_trait;
use bollard::container::LogOutput;
use bollard::errors::Error;
use bollard::exec::{StartExecOptions, StartExecResults};
use bollard::models::{ContainerInspectResponse, ExecConfig};
use guard_core::port::{Machine, Session, TargetId, Transport, TransportError};
use tokio::time::timeout;

use self::endpoint::Kind;
pub use self::endpoint::{Certificates, Endpoint, EndpointError};
use self::session::{Frame, Frames};

/// How long the engine may take, unless told otherwise: less than a shell waits for a stream, so that it is said here
/// what did not answer.
const DEADLINE: Duration = Duration::from_secs(20);
/// How many bytes are taken from the engine at a time.
const PIECE: usize = 64 * 1024;
/// What the container's shell says before it runs the command: from then on what comes is the command's. A failure
/// to start arrives as text on the same stream, and the engine tells of it nowhere else in time.
const READY: &[u8] = b"guard: a shell is there\n";
/// The argument of `sh -c` that says [`READY`]; the command is its first parameter.
const GREETING: &str = "echo 'guard: a shell is there'; eval \"$1\"";
/// How much may come before it.
const NOISE_MAX: usize = 64 * 1024;
/// How much of something else is kept for people.
const SAID_MAX: usize = 1024;

/// A container, by the identifier that it had when it was opened.
///
/// A name leads to a container once. One that is made anew under the same name is another target:
/// [`TransportError::TargetChanged`], until it is opened anew. One that is restarted is the same, in another run
/// ([`Transport::machine`]).
///
/// The container's own working directory and user are kept, its `HOME` and `PATH` too. Commands get no terminal.
///
/// # Security
///
/// Whoever may start an exec is root in the container, and mostly on the engine's machine. Nothing is read from the
/// environment: where the engine is and which user acts is what the caller says.
#[derive(Clone)]
pub struct Docker {
    api: bollard::Docker,
    target: TargetId,
    id: String,
    asked: String,
    user: Option<String>,
    deadline: Duration,
}

/// A container that is not opened yet.
#[derive(Debug, Clone)]
#[must_use]
pub struct Builder {
    endpoint: Endpoint,
    container: String,
    user: Option<String>,
    deadline: Duration,
}

impl Docker {
    /// Starts with a container's name or identifier on an engine.
    pub fn container(endpoint: Endpoint, name: impl Into<String>) -> Builder {
        Builder { endpoint, container: name.into(), user: None, deadline: DEADLINE }
    }

    /// Returns the container's whole identifier.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl Builder {
    /// Acts as another user than the container's: `NAME`, `UID`, `NAME:GROUP` or `UID:GID`.
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// Sets how long the engine may take to answer, and to start something; 20 seconds otherwise.
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Asks the engine which container it is. It need not be running yet.
    ///
    /// # Errors
    ///
    /// [`TransportError::Unreachable`] if there is no such container, or the engine does not answer in time.
    ///
    /// # Panics
    ///
    /// With [`Endpoint::tls`], if another crate of the program gives rustls a second source of cryptography and
    /// nobody chose one.
    pub async fn open(self) -> Result<Docker, TransportError> {
        let Self { endpoint, container, user, deadline } = self;
        // A name becomes a part of a URL.
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        if !container.starts_with(|c: char| c.is_ascii_alphanumeric()) || !container.chars().all(is_name) {
            return Err(unreachable(format!("no container can have the name {container:?}")));
        }
        let api = connect(&endpoint, deadline).map_err(|error| unreachable(words::of(&error)))?;
        let found = match timeout(deadline, api.inspect_container(&container, None)).await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) if is_absent(&error) => {
                return Err(unreachable(format!("there is no container {container:?}")));
            }
            Ok(Err(error)) => return Err(unreachable(words::of(&error))),
            Err(_) => return Err(late(deadline)),
        };
        let id = found.id.filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| unreachable("the Docker engine told no identifier".to_owned()))?;
        Ok(Docker {
            target: TargetId::new(format!("docker:{id}")),
            api,
            id,
            asked: container,
            user,
            deadline,
        })
    }
}

fn connect(endpoint: &Endpoint, deadline: Duration) -> Result<bollard::Docker, Error> {
    // The library's own deadline is in whole seconds and covers only the head of a response: ours comes first.
    let seconds = deadline.as_secs() + 1;
    let version = bollard::API_DEFAULT_VERSION;
    match &endpoint.0 {
        Kind::Unix(path) => bollard::Docker::connect_with_unix(path, seconds, version),
        Kind::Tcp(address) => bollard::Docker::connect_with_http(address, seconds, version),
        Kind::Tls(address, Certificates { ca, cert, key }) => {
            bollard::Docker::connect_with_ssl(address, key, cert, ca, seconds, version)
        }
    }
}

#[async_trait]
impl Transport for Docker {
    fn target(&self) -> &TargetId {
        &self.target
    }

    async fn start(&self, command: &str) -> Result<Session, TransportError> {
        timeout(self.deadline, self.begin(command)).await.unwrap_or_else(|_| Err(late(self.deadline)))
    }

    /// The engine knows a container by its identifier, and the run by when it was started.
    async fn machine(&self) -> Result<Option<Machine>, TransportError> {
        let asked = timeout(self.deadline, self.api.inspect_container(&self.id, None)).await;
        let found = match asked.map_err(|_| late(self.deadline))? {
            Ok(found) => found,
            Err(error) => return Err(self.refused(words::of(&error)).await),
        };
        let run = found.state.and_then(|state| state.started_at).filter(|run| !run.is_empty());
        let run = run.ok_or_else(|| unreachable("the Docker engine told no start of it".to_owned()))?;
        Ok(Some(Machine { id: self.id.clone(), run }))
    }
}

impl Docker {
    async fn begin(&self, command: &str) -> Result<Session, TransportError> {
        let argv = ["sh", "-c", GREETING, "sh", command];
        let config = ExecConfig {
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            tty: Some(false),
            user: self.user.clone(),
            cmd: Some(argv.map(str::to_owned).to_vec()),
            ..Default::default()
        };
        let exec = match self.api.create_exec(&self.id, config).await {
            Ok(exec) => exec.id,
            Err(error) => return Err(self.refused(words::of(&error)).await),
        };
        let options = StartExecOptions { detach: false, tty: false, output_capacity: Some(PIECE) };
        let (mut frames, input) = match self.api.start_exec(&exec, Some(options)).await {
            Ok(StartExecResults::Attached { output, input }) => (output, input),
            Ok(StartExecResults::Detached) => {
                return Err(unreachable("the Docker engine gave no streams".to_owned()));
            }
            Err(error) => return Err(self.refused(words::of(&error)).await),
        };
        match greeting(&mut frames).await {
            Ok(first) => Ok(session::join(self.api.clone(), exec, self.deadline, (frames, input), first)),
            Err(said) => Err(self.not_started(&exec, said).await),
        }
    }

    /// Finds out why an exec did not become a shell.
    async fn not_started(&self, exec: &str, said: String) -> TransportError {
        let exec = self.api.inspect_exec(exec).await.unwrap_or_default();
        // 126 and 127 are the engine's own where no process was ever there.
        if matches!(exec.exit_code, Some(126 | 127)) && exec.pid.unwrap_or_default() == 0 {
            return self.refused(said).await;
        }
        if let Some(trouble) = self.trouble().await {
            return trouble;
        }
        let status = exec.exit_code.map(|code| format!(" and ended with status {code}")).unwrap_or_default();
        TransportError::NoShell { why: format!("`sh` of container {:?} said {said:?}{status}", self.asked) }
    }

    /// Sorts what the engine said where it could not start something.
    async fn refused(&self, said: String) -> TransportError {
        if let Some(trouble) = self.trouble().await {
            return trouble;
        }
        let why = format!("container {:?}: {said}", self.asked);
        if said.contains("unable to find user") || said.contains("unable to find group") {
            TransportError::Refused { why }
        } else if said.contains("exec: \"sh\"") {
            TransportError::NoShell { why }
        } else {
            unreachable(why)
        }
    }

    /// Looks whether the container is in a state in which nothing can be started.
    async fn trouble(&self) -> Option<TransportError> {
        match self.api.inspect_container(&self.id, None).await {
            Ok(ContainerInspectResponse { state: Some(state), .. }) => words::not_running(&state)
                .map(|is| unreachable(format!("the container {:?} {is}", self.asked))),
            Ok(_) => None,
            Err(error) if is_absent(&error) => {
                Some(match self.api.inspect_container(&self.asked, None).await {
                    Ok(_) => TransportError::TargetChanged,
                    Err(_) => unreachable(format!("the container {:?} was removed", self.asked)),
                })
            }
            Err(error) => Some(unreachable(words::of(&error))),
        }
    }
}

/// Waits for the shell to say that it is there. What came in the same breath belongs to the command.
async fn greeting(frames: &mut Frames) -> Result<(Option<LogOutput>, usize, Vec<LogOutput>), String> {
    let (mut said, mut errors) = (Vec::new(), Vec::new());
    loop {
        match session::next(frames).await {
            Ok(Some(Frame::Output(frame))) => {
                let before = said.len();
                said.extend_from_slice(frame.as_ref());
                if let Some(at) = memchr::memmem::find(&said, READY) {
                    return Ok((Some(frame), at + READY.len() - before, errors));
                }
                if said.len() > NOISE_MAX {
                    break;
                }
            }
            Ok(Some(Frame::Words(frame))) => errors.push(frame),
            Ok(None) => break,
            Err(error) => {
                said.extend_from_slice(error.to_string().as_bytes());
                break;
            }
        }
    }
    said.extend(errors.iter().flat_map(AsRef::as_ref));
    said.truncate(SAID_MAX);
    Err(String::from_utf8_lossy(&said).trim().to_owned())
}

fn is_absent(error: &Error) -> bool {
    matches!(error, Error::DockerResponseServerError { status_code: 404, .. })
}

fn late(deadline: Duration) -> TransportError {
    unreachable(format!("the Docker engine and the container did not answer within {deadline:?}"))
}

fn unreachable(why: String) -> TransportError {
    TransportError::Unreachable { why }
}
