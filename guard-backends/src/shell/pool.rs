//! The sessions of a target: taken in order, opened again when they are lost.

use std::sync::{Arc, Mutex, PoisonError};

use guard_core::port::{OpError, Transport};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection::{ConnectError, Connection, Lost};
use super::settings::Settings;
use super::settle::{self, Ledger};
use super::wire::Hello;

/// The sessions of a target.
pub(super) struct Pool {
    transport: Arc<dyn Transport>,
    settings: Settings,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
    /// Held by whoever settles: what two settle at once, they would undo to each other.
    settling: tokio::sync::Mutex<()>,
    /// What the first session said: every other one has to be of the same machine.
    first: Hello,
}

/// A session that is in use. One that is not given back is closed.
pub(super) struct Taken {
    connection: Connection,
    _permit: OwnedSemaphorePermit,
}

impl std::ops::Deref for Taken {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl std::ops::DerefMut for Taken {
    fn deref_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }
}

impl Pool {
    pub(super) fn new(transport: Arc<dyn Transport>, settings: Settings, first: Connection) -> Self {
        let permits = Arc::new(Semaphore::new(settings.pool));
        let hello = first.hello.clone();
        Self {
            transport,
            settings,
            permits,
            idle: Mutex::new(vec![first]),
            settling: tokio::sync::Mutex::default(),
            first: hello,
        }
    }

    /// Takes an idle session, or opens one; commits whose outcome is not known are looked into first.
    pub(super) async fn take(&self, ledger: &Ledger) -> Result<Taken, OpError> {
        let permit = self.permit().await?;
        if ledger.open().is_empty() {
            while let Some(mut connection) = self.pop() {
                if connection.is_quiet().await {
                    return Ok(Taken { connection, _permit: permit });
                }
                tracing::debug!("an idle session had ended");
            }
        }
        self.open(permit, ledger).await
    }

    /// Opens a session, whether or not one is idle.
    pub(super) async fn take_anew(&self, ledger: &Ledger) -> Result<Taken, OpError> {
        let permit = self.permit().await?;
        self.open(permit, ledger).await
    }

    /// Makes a session idle again.
    pub(super) fn give_back(&self, taken: Taken) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // No more than may be in use at once.
        if idle.len() < self.settings.pool {
            idle.push(taken.connection);
        }
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, OpError> {
        // It is never closed.
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        permit.map_err(|error| OpError::Unavailable { why: error.to_string() })
    }

    fn pop(&self) -> Option<Connection> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    async fn open(&self, permit: OwnedSemaphorePermit, ledger: &Ledger) -> Result<Taken, OpError> {
        let mut last = OpError::Unavailable { why: "no attempt was made".to_owned() };
        for attempt in 0..self.settings.attempts.max(1) {
            tokio::time::sleep(self.settings.pause_before(attempt)).await;
            match self.try_open(ledger).await {
                Ok(connection) => return Ok(Taken { connection, _permit: permit }),
                Err(error @ (OpError::TargetChanged | OpError::Unsupported { .. })) => return Err(error),
                Err(error) => {
                    tracing::debug!(attempt, %error, "the target could not be reached");
                    last = error;
                }
            }
        }
        Err(last)
    }

    async fn try_open(&self, ledger: &Ledger) -> Result<Connection, OpError> {
        let opened = Connection::open(&*self.transport, &self.settings).await;
        let mut connection = opened.map_err(|error: ConnectError| OpError::from(error))?;
        if !is_same_machine(&self.first, &connection.hello) {
            return Err(OpError::TargetChanged);
        }
        let _one = self.settling.lock().await;
        for pending in ledger.open() {
            match settle::settle(&mut connection, &pending).await {
                Ok((settled, fates)) => {
                    tracing::info!(commit = %pending.id, ?settled, "a commit was looked into");
                    ledger.settled(&pending.id, settled, fates);
                }
                Err(Lost::Unsent(why)) => return Err(OpError::Unavailable { why }),
                Err(Lost::Sent(why)) => {
                    ledger.failed(&pending.id);
                    return Err(OpError::Unavailable { why });
                }
                Err(Lost::Source(error)) => return Err(OpError::Unavailable { why: format!("{error:?}") }),
            }
        }
        Ok(connection)
    }
}

/// Compares what two shells said of their machine.
///
/// The root's device number may be another one after a restart; within one boot it is not.
fn is_same_machine(first: &Hello, now: &Hello) -> bool {
    let same = |name: &str| match (first.get(name), now.get(name)) {
        (Some("") | None, _) | (_, Some("") | None) => None,
        (Some(first), Some(now)) => Some(first == now),
    };
    if same("machine") == Some(false) || same("uid") == Some(false) {
        return false;
    }
    // Something has to say that it is the same.
    if same("machine").is_none() && same("rootid").is_none() {
        return false;
    }
    match same("bootid") {
        Some(false) => same("machine") == Some(true),
        _ => same("rootid") != Some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(facts: &[(&str, &str)]) -> Hello {
        let facts = facts.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
        Hello { facts: facts.collect() }
    }

    #[test]
    fn another_machine_is_told_by_what_its_shell_says() {
        let first = hello(&[("machine", "m"), ("bootid", "b"), ("rootid", "1:2"), ("uid", "0")]);
        for (now, same) in [
            (&[("machine", "m"), ("bootid", "b"), ("rootid", "1:2"), ("uid", "0")][..], true),
            (&[("machine", "m"), ("bootid", "c"), ("rootid", "9:2"), ("uid", "0")], true),
            (&[("machine", "m"), ("bootid", "b"), ("rootid", "9:2"), ("uid", "0")], false),
            (&[("machine", "n"), ("bootid", "c"), ("rootid", "1:2"), ("uid", "0")], false),
            (&[("machine", "m"), ("bootid", "b"), ("rootid", "1:2"), ("uid", "1")], false),
            (&[("machine", ""), ("bootid", ""), ("rootid", "1:2"), ("uid", "0")], true),
            (&[("machine", ""), ("bootid", ""), ("rootid", "1:3"), ("uid", "0")], false),
        ] {
            assert_eq!(is_same_machine(&first, &hello(now)), same, "{now:?}");
        }
    }
}
