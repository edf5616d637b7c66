//! A byte stream to a shell on a target: all that the shell backend needs of SSH, Docker or a sandbox.

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};

use super::TargetId;

/// Opens byte streams to shells on one target.
///
/// An integrator with a sandbox of their own implements this and gets every guarantee of the shell backend.
///
/// # Security
///
/// Every stream has to lead to the target that [`Transport::target`] names. The shell backend compares what the
/// transport knows of the machine ([`Transport::machine`]) and what the machine says of itself, and refuses another one
/// after a reconnection.
#[async_trait]
pub trait Transport: Send + Sync + 'static {
    /// Names the target.
    fn target(&self) -> &TargetId;

    /// Starts a command line on the target and gives the streams to it.
    ///
    /// The command is one line that every login shell reads alike; there has to be no terminal, and no byte may be
    /// changed on the way.
    ///
    /// # Errors
    ///
    /// [`TransportError`] says what stood in the way; nothing was started.
    async fn start(&self, command: &str) -> Result<Session, TransportError>;

    /// Tells which machine the target is, and which of its runs this is, where the transport knows that for certain
    /// and not from a name: then a machine that was started again is still the same one, though its filesystems have
    /// other numbers.
    ///
    /// It is asked after a session has said that it is there, and speaks of the machine that this session is on. A
    /// transport around another one passes it on. A transport that knows nothing, as most, says so: then only what a
    /// shell on the machine says counts.
    ///
    /// # Errors
    ///
    /// [`TransportError`] says why it cannot be told at the moment.
    async fn machine(&self) -> Result<Option<Machine>, TransportError> {
        Ok(None)
    }
}

/// A machine, as whoever started it knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Which machine it is, as long as there is one: a container's identifier.
    pub id: String,
    /// Which of its runs this is: another one after every start. Within one run the numbers of its filesystems and
    /// directories mean the same.
    pub run: String,
}

/// The streams to a command that was started on a target.
pub struct Session {
    /// The command's standard input.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// The command's standard output.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// The command's standard error, where it is apart: words for people, never a result.
    pub errors: Option<Box<dyn AsyncRead + Send + Unpin>>,
    /// The command's end.
    pub end: Box<dyn End>,
}

/// The end of a command on a target. Dropping it ends the command, as far as that can be done from here.
#[async_trait]
pub trait End: Send {
    /// Ends the command, as far as that can be done from here.
    async fn kill(&mut self);

    /// Tells, for people, how the command ended: a hint, never a result.
    async fn status(&mut self) -> Option<String>;
}

/// A command that could not be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The target could not be found or reached, or is not running.
    #[error("the target cannot be reached: {why}")]
    Unreachable {
        /// Why.
        why: String,
    },
    /// The target's name leads nowhere: it could not be resolved.
    #[error("the target's name cannot be resolved: {why}")]
    Unresolved {
        /// Why.
        why: String,
    },
    /// The host showed another key than the one that is known, or one that is not known.
    #[error("the host's key is not the known one: {why}")]
    HostKey {
        /// Why.
        why: String,
    },
    /// The target refused the user.
    #[error("the target refused to let the user in: {why}")]
    Refused {
        /// Why.
        why: String,
    },
    /// The target let the user in, and opens no session, or no further one: a limit is reached.
    #[error("the target opens no further session: {why}")]
    NoSession {
        /// Why.
        why: String,
    },
    /// The target has no shell that could be started.
    #[error("there is no shell on the target: {why}")]
    NoShell {
        /// Why.
        why: String,
    },
    /// What has the target's name now is another target.
    #[error("the target is another one than the one that was opened")]
    TargetChanged,
}
