//! What stands between a controller and a session: one pump in each direction.

use std::io;

use guard_core::port::Session;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// How many bytes may be on the way in one direction.
const ROOM: usize = 64 * 1024;

/// Where one direction's bytes come from.
pub(super) type From = Box<dyn AsyncRead + Send + Unpin>;
/// Where they go to. Dropping it is the stream's end.
pub(super) type To = Box<dyn AsyncWrite + Send + Unpin>;

/// Returns the session that the controller gets, the way to the shell and the way back.
pub(super) fn between(inner: Session) -> (Session, (From, To), (From, To)) {
    let (input, asked) = tokio::io::duplex(ROOM);
    let (output, told) = tokio::io::duplex(ROOM);
    let outer =
        Session { input: Box::new(input), output: Box::new(output), errors: inner.errors, end: inner.end };
    (outer, (Box::new(asked), inner.input), (inner.output, Box::new(told)))
}

/// Reads some bytes; none at the end, and where the stream is broken, which the other side sees as its end.
pub(super) async fn read(from: &mut From) -> Vec<u8> {
    let mut bytes = vec![0; ROOM];
    let len = from.read(&mut bytes).await.unwrap_or(0);
    bytes.truncate(len);
    bytes
}

/// Writes bytes and lets them go.
pub(super) async fn write(to: &mut To, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes).await?;
    to.flush().await
}

/// Lets bytes come and go nowhere, until they end.
pub(super) async fn drain(from: &mut From) {
    while !read(from).await.is_empty() {}
}
