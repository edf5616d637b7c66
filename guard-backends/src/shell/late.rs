//! Targets that take their time: each deadline is for what it says.

use std::time::Duration;

use guard_core::port::{End, Session, TargetId, Transport, TransportError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::time::timeout;

use super::connection::Connection;
use super::settings::Settings;
use super::wire::{Hello, Record};

/// A target that is let in late, and whose shell says hello late.
struct Late {
    target: TargetId,
    login: Duration,
    hello: Duration,
}

struct Nothing;

#[async_trait::async_trait]
impl End for Nothing {
    async fn kill(&mut self) {}

    async fn status(&mut self) -> Option<String> {
        None
    }
}

#[async_trait::async_trait]
impl Transport for Late {
    fn target(&self) -> &TargetId {
        &self.target
    }

    async fn start(&self, _: &str) -> Result<Session, TransportError> {
        after(self.login).await;
        let (input, mut asked) = tokio::io::duplex(1 << 20);
        let (output, mut told): (DuplexStream, _) = tokio::io::duplex(1 << 10);
        let late = self.hello;
        tokio::spawn(async move {
            let mut bytes = vec![0; 1 << 16];
            let len = asked.read(&mut bytes).await.unwrap();
            let text = String::from_utf8_lossy(&bytes[..len]).into_owned();
            let is_nonce = |word: &&str| word.len() == 32 && word.chars().all(|c| c.is_ascii_hexdigit());
            let nonce = text.split(|c: char| !c.is_ascii_alphanumeric()).find(is_nonce).unwrap();
            after(late).await;
            let hello = Record::Hello(Hello::default()).encode(nonce, 0);
            told.write_all(&hello).await.unwrap();
            // It stays for whoever asks.
            let _ = asked.read(&mut bytes).await;
        });
        let (input, output) = (Box::new(input), Box::new(output));
        Ok(Session { input, output, errors: None, end: Box::new(Nothing) })
    }
}

/// Lets so much of the test's own clock go by.
async fn after(time: Duration) {
    let _ = timeout(time, std::future::pending::<()>()).await;
}

/// The clock of the test stands still but for what is waited for.
#[tokio::test(start_paused = true)]
async fn opening_a_stream_and_saying_hello_have_a_deadline_each() {
    let settings =
        Settings { opening: Duration::from_secs(60), hello: Duration::from_secs(10), ..Settings::default() };
    for (login, hello, expected) in [
        (59, 9, None),
        (61, 0, Some("no stream was opened within 60 s")),
        (59, 11, Some("nothing within 10 s")),
    ] {
        let (login, hello) = (Duration::from_secs(login), Duration::from_secs(hello));
        let late = Late { target: TargetId::new("late"), login, hello };
        let said = Connection::open(&late, &settings).await.err().map(|error| error.to_string());
        match (&said, expected) {
            (None, None) => {}
            (Some(said), Some(words)) => assert!(said.contains(words), "{said}"),
            other => panic!("{login:?} {hello:?}: {other:?}"),
        }
    }
}
