//! Opening what the command line names.

use std::sync::Arc;

use guard_backends::local::Local;
use guard_core::policy::Policy;
use guard_core::port::OpError;
use guard_core::{Guard, OpenError};

use crate::args::{GuardArgs, Target};
use crate::config::{self, UsageError};
use crate::run::Ended;

/// A guard, and the target that it stands on.
pub(crate) struct Opened {
    pub(crate) guard: Guard,
    pub(crate) local: Local,
}

/// Opens the target and its roots under `policy`.
pub(crate) async fn open(args: &GuardArgs, policy: Policy) -> Result<Opened, Ended> {
    let roots = config::roots(args)?;
    let local = match args.target {
        // A builder that is told nothing does not know: what is private below a home is then refused wherever one could
        // be.
        Target::Local => match config::home() {
            Some(home) => Local::builder().home(Some(home)).build(),
            None => Local::builder().build(),
        },
    };
    let local = local.map_err(|error| Ended::Unavailable(error.to_string()))?;
    let mut builder = Guard::builder(Arc::new(local.clone())).policy(policy);
    for (root, access) in roots {
        builder = builder.root(root, access);
    }
    let guard = builder.open().await.map_err(|error| match &error {
        // The command line names a directory that is not there.
        OpenError::Root { error: OpError::NotFound { .. } | OpError::NotDirectory { .. }, .. } => {
            Ended::Usage(UsageError(error.to_string()))
        }
        _ => Ended::Unavailable(error.to_string()),
    })?;
    Ok(Opened { guard, local })
}
