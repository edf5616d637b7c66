//! Opening what the command line names.

mod engine;
mod named;

use std::sync::Arc;

use guard_backends::docker::Docker;
use guard_backends::local::{BuildError, Local};
use guard_backends::shell::wire::Hello;
use guard_backends::shell::{ConnectError, Shell};
use guard_backends::ssh::Ssh;
use guard_core::policy::{Code, Policy};
use guard_core::port::{FileOps, OpError, Transport, TransportError};
use guard_core::{Guard, OpenError};

use self::engine::{EngineError, Surroundings};
pub(crate) use self::named::Target;
use crate::args::GuardArgs;
use crate::config::{self, UsageError};
use crate::progress::Bar;
use crate::run::Ended;

/// A target that can be asked.
pub(crate) struct Connected {
    pub(crate) ops: Arc<dyn FileOps>,
    /// This machine, where it is the target.
    pub(crate) local: Option<Local>,
    /// What a target's shell said of itself.
    pub(crate) hello: Option<Hello>,
    ssh: Option<Arc<Ssh>>,
}

/// A target that cannot be asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TargetError {
    /// This machine's filesystem does not do what is needed.
    #[error(transparent)]
    Local(#[from] BuildError),
    /// There is no stream to it, or one without a shell that will do.
    #[error(transparent)]
    Shell(#[from] ConnectError),
    /// It is not known where the engine of its container is.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A root of it.
    #[error("{0}")]
    Root(OpenError),
}

impl TargetError {
    /// Returns the code by which programs know it.
    pub(crate) const fn code(&self) -> Code {
        match self {
            Self::Shell(
                ConnectError::Unsupported { .. } | ConnectError::Transport(TransportError::NoShell { .. }),
            )
            | Self::Root(OpenError::Root { error: OpError::Unsupported { .. }, .. }) => Code::Unsupported,
            Self::Shell(ConnectError::Transport(TransportError::TargetChanged)) => Code::TargetChanged,
            _ => Code::StateUnavailable,
        }
    }
}

/// Connects to the target, whose steps the bar sees.
pub(crate) async fn connect(args: &GuardArgs, bar: Option<&Arc<Bar>>) -> Result<Connected, TargetError> {
    match &args.target {
        Target::Local => local(bar),
        Target::Ssh(destination) => {
            let mut ssh = Ssh::to(destination.clone());
            if let Some(file) = &args.ssh_config {
                ssh = ssh.config(file);
            }
            let ssh = Arc::new(ssh.resolve().await.map_err(ConnectError::from)?);
            let connected = over(Arc::<Ssh>::clone(&ssh), bar).await;
            if connected.is_err() {
                ssh.close().await;
            }
            Ok(Connected { ssh: Some(ssh), ..connected? })
        }
        Target::Docker { container, user } => {
            let mut docker = Docker::container(Surroundings::read().engine()?, container);
            if let Some(user) = user {
                docker = docker.user(user);
            }
            over(Arc::new(docker.open().await.map_err(ConnectError::from)?), bar).await
        }
    }
}

fn local(bar: Option<&Arc<Bar>>) -> Result<Connected, TargetError> {
    let mut builder = Local::builder();
    // A builder that is told nothing does not know: what is private below a home is then refused wherever one could
    // be.
    if let Some(home) = config::home() {
        builder = builder.home(Some(home));
    }
    if let Some(bar) = bar {
        builder = builder.observer(Arc::<Bar>::clone(bar));
    }
    let local = builder.build()?;
    Ok(Connected { ops: Arc::new(local.clone()), local: Some(local), hello: None, ssh: None })
}

async fn over(transport: Arc<dyn Transport>, bar: Option<&Arc<Bar>>) -> Result<Connected, TargetError> {
    let mut builder = Shell::builder(transport);
    if let Some(bar) = bar {
        builder = builder.observer(Arc::<Bar>::clone(bar));
    }
    let shell = builder.connect().await?;
    let hello = Some(shell.hello().clone());
    Ok(Connected { ops: Arc::new(shell), local: None, hello, ssh: None })
}

impl Connected {
    /// Opens the roots of the command line under `policy`.
    pub(crate) async fn open(&self, args: &GuardArgs, policy: Policy) -> Result<Guard, Ended> {
        let roots = config::roots(args, &policy, &self.ops.capabilities().home)?;
        let mut builder = Guard::builder(Arc::clone(&self.ops)).policy(policy);
        for (root, access) in roots {
            builder = builder.root(root, access);
        }
        if let Some(dir) = &args.undo_store {
            builder = builder.undo(Arc::new(config::undo_store(dir, args.undo_bytes)?));
        }
        builder.open().await.map_err(|error| match &error {
            // The command line, or the policy, names a directory that is not there, or that cannot be used so.
            OpenError::Configured { .. }
            | OpenError::UndoInRoot { .. }
            | OpenError::Place { .. }
            | OpenError::Root { error: OpError::NotFound { .. } | OpError::NotDirectory { .. }, .. } => {
                Ended::Usage(UsageError(error.to_string()))
            }
            _ => Ended::Unavailable(TargetError::Root(error)),
        })
    }

    /// Leaves nothing of the connection behind.
    pub(crate) async fn close(self) {
        let Self { ops, ssh, .. } = self;
        drop(ops);
        if let Some(ssh) = ssh {
            ssh.close().await;
        }
    }
}
