//! The sessions of a target: taken in order, opened again when they are lost.

use std::sync::{Arc, Mutex, PoisonError};

use guard_core::port::{OpError, Transport};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection::{Connection, Item, Lost, Sink};
use super::identity::{Meeting, Met, keeps, meet};
use super::query::Items;
use super::roots::Roots;
use super::settings::Settings;
use super::settle::{self, Ledger};
use super::wire::Verb;

/// The sessions of a target.
pub(super) struct Pool {
    transport: Arc<dyn Transport>,
    settings: Settings,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
    /// Held by whoever settles: what two settle at once, they would undo to each other.
    settling: tokio::sync::Mutex<()>,
    /// The roots that were opened; a machine that was started again may have other numbers for them.
    roots: Arc<Roots>,
    /// What the last session was on: every other one has to be on the same machine.
    met: Mutex<Met>,
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
    pub(super) fn new(
        transport: Arc<dyn Transport>,
        settings: Settings,
        (first, met): (Connection, Met),
        roots: Arc<Roots>,
    ) -> Self {
        let permits = Arc::new(Semaphore::new(settings.pool));
        Self {
            transport,
            settings,
            permits,
            idle: Mutex::new(vec![first]),
            settling: tokio::sync::Mutex::default(),
            roots,
            met: Mutex::new(met),
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
        let (mut connection, now) = meet(&*self.transport, &self.settings).await?;
        let _one = self.settling.lock().await;
        let meeting = self.met.lock().unwrap_or_else(PoisonError::into_inner).meets(&now);
        match meeting {
            Meeting::Same => {}
            Meeting::Restarted => {
                tracing::info!("the machine was started again");
                self.renew(&mut connection).await?;
                *self.met.lock().unwrap_or_else(PoisonError::into_inner) = now;
            }
            Meeting::Another => return Err(OpError::TargetChanged),
        }
        for pending in ledger.open() {
            match settle::settle(&mut connection, &pending, &self.roots).await {
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

    /// Opens the roots by their paths on a machine that was started again, before anything else is asked.
    async fn renew(&self, connection: &mut Connection) -> Result<(), OpError> {
        let paths: Vec<Vec<u8>> = self.roots.refs().into_iter().map(|root| root.path).collect();
        let mut found = Vec::with_capacity(paths.len());
        if !paths.is_empty() {
            let reply = connection.request(Vec::new(), Verb::Open(paths.clone()), None, Sink::Items(0)).await;
            let items: Vec<Item> = reply.map_err(super::unavailable)?;
            let mut items = Items::new(items);
            let noise = |noise: super::Noise| OpError::Unavailable { why: noise.to_string() };
            for _ in &paths {
                found.push(super::root(&mut items).map_err(noise)?.ok());
            }
            items.end().map_err(noise)?;
        }
        self.roots.renew(found, keeps);
        Ok(())
    }
}
