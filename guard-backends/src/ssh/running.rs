//! A command on the host.

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use guard_core::port::End;

use super::master::Master;

type Remote = openssh::Child<Arc<openssh::Session>>;

/// A command on the host; it keeps the connection.
pub(super) struct Running {
    /// Comes to how it ended. Dropped, it closes the command's channel: whatever the command reads or writes then ends.
    ending: Option<Pin<Box<dyn Future<Output = String> + Send>>>,
    ended: Option<String>,
}

impl Running {
    pub(super) fn new(master: Arc<Master>, child: Remote) -> Self {
        let ending = Box::pin(async move { master.told(child.wait().await).await });
        Self { ending: Some(ending), ended: None }
    }
}

#[async_trait]
impl End for Running {
    async fn kill(&mut self) {
        if self.ending.take().is_some() {
            self.ended = Some("closed from here".to_owned());
        }
    }

    async fn status(&mut self) -> Option<String> {
        if let Some(ending) = &mut self.ending {
            self.ended = Some(ending.await);
            self.ending = None;
        }
        self.ended.clone()
    }
}
