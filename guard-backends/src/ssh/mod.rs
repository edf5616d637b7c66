//! A shell on an SSH host, over the user's own `ssh`.
//!
//! [`Ssh`] is a [`Transport`]: it opens the byte stream and says which target it is; [`crate::shell::Shell`] does the
//! rest. Keys, agents, jump hosts and whatever else `~/.ssh/config` says are `ssh`'s own business.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use guard_backends::shell::Shell;
//! use guard_backends::ssh::Ssh;
//!
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
//! let there = Ssh::to("ssh://alice@example.org:2222".parse()?).resolve().await?;
//! let shell = Shell::builder(Arc::new(there)).connect().await?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod client;
mod destination;
mod master;
mod running;
mod target;
mod words;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use guard_core::port::{Session, TargetId, Transport, TransportError};

use self::client::Client;
pub use self::client::HostKeys;
pub use self::destination::{Destination, DestinationError};
use self::master::{Master, NotStarted};

/// A shell on an SSH host.
///
/// All commands go through one connection, the *master*: it is opened when the first command is started, and again
/// when it was lost. Its control socket is in a directory of its own, which is removed when the connection ends, even
/// if this process is killed.
///
/// Ending a command from here closes its input and output, and no more: SSH has no other way to end a command that is
/// not on a terminal. A command that reads its input to the end, as the shell session does, ends by itself.
///
/// # Security
///
/// The host's key has to be the one that is known ([`HostKeys::Known`]). `ssh` runs without a terminal and asks nothing;
/// forwardings, local commands and remote commands that its configuration names for the host are left out.
pub struct Ssh {
    target: TargetId,
    client: Client,
    master: Mutex<Option<Arc<Master>>>,
    /// Held while a master is opened, so that many commands that start at once share one.
    opening: tokio::sync::Mutex<()>,
}

/// Builds an [`Ssh`].
#[derive(Debug, Clone)]
pub struct Builder {
    client: Client,
}

impl Ssh {
    /// Starts with a destination; everything else is as `ssh`'s configuration says.
    #[must_use]
    pub fn to(destination: Destination) -> Builder {
        Builder { client: Client::new(destination) }
    }

    /// Ends the connection, and with it all commands on it, and waits until nothing of it is left here.
    ///
    /// A command that is started later opens another connection.
    pub async fn close(&self) {
        let _alone = self.opening.lock().await;
        let master = self.current().take();
        if let Some(master) = master {
            master.end().await;
        }
    }

    fn current(&self) -> std::sync::MutexGuard<'_, Option<Arc<Master>>> {
        self.master.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the connection that there is, or opens one.
    async fn master(&self) -> Result<(Arc<Master>, Age), TransportError> {
        if let Some(master) = &*self.current() {
            return Ok((Arc::clone(master), Age::Old));
        }
        let _alone = self.opening.lock().await;
        if let Some(master) = &*self.current() {
            return Ok((Arc::clone(master), Age::Old));
        }
        let master = Arc::new(Master::open(&self.client).await?);
        *self.current() = Some(Arc::clone(&master));
        Ok((master, Age::New))
    }

    /// Lets the next command open another connection; commands on this one go on.
    fn forget(&self, master: &Arc<Master>) {
        let mut current = self.current();
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, master)) {
            *current = None;
        }
    }

    async fn start_anywhere(&self, command: &str) -> Result<Session, TransportError> {
        let (login, within) = (self.client.login_deadline(), self.client.deadline());
        loop {
            // Whoever logs in may be asked much: names are looked up, other hosts gone through, modules loaded.
            let opened = tokio::time::timeout(login, self.master()).await;
            let (master, age) = opened.map_err(|_| client::too_late(login))??;
            let started = tokio::time::timeout(within, master.start(command)).await;
            let started = started.map_err(|_| {
                // A connection that answers nothing may be dead long before `ssh` notices.
                self.forget(&master);
                client::too_late(within)
            })?;
            match (started, age) {
                (Ok(session), _) => return Ok(session),
                (Err(NotStarted::Other(error)), _) => return Err(error),
                // It had ended since it was used last. If it ended while the command was started, the command has no
                // input any more and ends.
                (Err(NotStarted::Gone), Age::Old) => self.forget(&master),
                (Err(NotStarted::Gone), Age::New) => {
                    self.forget(&master);
                    return Err(master.why_gone());
                }
            }
        }
    }
}

/// Whether a connection was there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Age {
    Old,
    New,
}

#[async_trait]
impl Transport for Ssh {
    fn target(&self) -> &TargetId {
        &self.target
    }

    async fn start(&self, command: &str) -> Result<Session, TransportError> {
        self.start_anywhere(command).await
    }
}

impl Builder {
    /// Sets the file of the key to log in with; no other is tried then.
    #[must_use]
    pub fn identity(mut self, file: impl Into<PathBuf>) -> Self {
        self.client.identity = Some(file.into());
        self
    }

    /// Sets the file that is read instead of `~/.ssh/config` and the system's configuration.
    #[must_use]
    pub fn config(mut self, file: impl Into<PathBuf>) -> Self {
        self.client.config = Some(file.into());
        self
    }

    /// Sets the file that has the keys of hosts, instead of the user's.
    #[must_use]
    pub fn known_hosts(mut self, file: impl Into<PathBuf>) -> Self {
        self.client.known_hosts = Some(file.into());
        self
    }

    /// Sets what is done about the host's key; [`HostKeys::Known`] otherwise.
    #[must_use]
    pub const fn host_keys(mut self, host_keys: HostKeys) -> Self {
        self.client.host_keys = host_keys;
        self
    }

    /// Adds a host to connect through, after those that were added before.
    ///
    /// Keys and files for it are what `ssh`'s configuration says, not what is set here for the destination.
    #[must_use]
    pub fn jump(mut self, host: Destination) -> Self {
        self.client.jump.push(host);
        self
    }

    /// Sets how long a host may take to answer at all, in whole seconds; 8 otherwise. A command that is started on a
    /// connection that is there may take one second longer.
    #[must_use]
    pub const fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.client.connect = timeout;
        self
    }

    /// Sets how long opening a connection may take in all, until the user is logged in; a minute otherwise. It is never
    /// less than what a host may take to answer.
    #[must_use]
    pub const fn login_timeout(mut self, timeout: Duration) -> Self {
        self.client.login = timeout;
        self
    }

    /// Sets after how long without a sign of life the server is asked for one, in whole seconds; 10 otherwise. After
    /// three without an answer the connection is lost.
    #[must_use]
    pub const fn alive_interval(mut self, interval: Duration) -> Self {
        self.client.alive = interval;
        self
    }

    /// Sets where the directory of the control socket is made; `/tmp` otherwise.
    ///
    /// The path has to be short: that of a socket has at most 103 bytes, and `ssh` needs 44 for what it adds.
    #[must_use]
    pub fn control_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.client.control = directory.into();
        self
    }

    /// Sets which `ssh` is run; the one on `PATH` otherwise.
    #[must_use]
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.client.program = program.into();
        self
    }

    /// Asks `ssh` what the destination means, and names the target by it; nothing is sent to anyone.
    ///
    /// # Errors
    ///
    /// [`TransportError::Unreachable`] with `ssh`'s words: there is no `ssh`, or its configuration is broken.
    pub async fn resolve(self) -> Result<Ssh, TransportError> {
        let target = target::of(&self.client).await?;
        Ok(Ssh {
            target,
            client: self.client,
            master: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
        })
    }
}
