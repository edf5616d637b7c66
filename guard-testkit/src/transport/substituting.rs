//! A transport that gives a folder of this machine the paths of a target.

use async_trait::async_trait;
use guard_backends::shell::wire::{Effect, Pre, ReplyEvent, Request, RequestEvent, Verb, boot_len};
use guard_core::port::{Machine, Session, TargetId, Transport, TransportError};

use super::Namespace;
use super::frames::{self, Piece, Replies, Requests};
use super::line::{self, From, To};

/// A transport whose controller and shell disagree about every path.
///
/// Frames are decoded with the public codec, their paths are mapped by a [`Namespace`] (from the target's names to
/// folders in requests, back in replies), and they are encoded again. All else is the real shell's: bodies, probes,
/// outcomes, digests.
///
/// Only whole frames go on, but for the last one before a stream's end. A stream that is to be cut within a frame is
/// cut by a [`super::Faulty`] around this one (as the controller sees it) or inside (as the shell does).
pub struct PathSubstituting<T> {
    inner: T,
    namespace: Namespace,
}

impl<T: Transport> PathSubstituting<T> {
    /// Maps every path on the way to and from `inner`.
    pub const fn new(inner: T, namespace: Namespace) -> Self {
        Self { inner, namespace }
    }
}

#[async_trait]
impl<T: Transport> Transport for PathSubstituting<T> {
    fn target(&self) -> &TargetId {
        self.inner.target()
    }

    async fn start(&self, command: &str) -> Result<Session, TransportError> {
        // A stream that cannot be read would carry paths of the target to this machine.
        let Some(stage) = boot_len(command) else {
            return Err(TransportError::NoShell { why: format!("not the start of a session: {command}") });
        };
        let (session, to_shell, from_shell) = line::between(self.inner.start(command).await?);
        let (requests, replies) = frames::of_session(Some(stage));
        tokio::spawn(ask(to_shell, requests, self.namespace.clone()));
        tokio::spawn(tell(from_shell, replies, self.namespace.clone()));
        Ok(session)
    }

    async fn machine(&self) -> Result<Option<Machine>, TransportError> {
        self.inner.machine().await
    }
}

async fn ask((mut from, mut to): (From, To), mut requests: Requests, namespace: Namespace) {
    loop {
        let bytes = line::read(&mut from).await;
        let is_over = bytes.is_empty();
        let pieces = if is_over { requests.finish().into_iter().collect() } else { requests.push(&bytes) };
        for Piece { raw, event } in pieces {
            let out = match event {
                Some(RequestEvent::Request(mut request)) => {
                    substitute(&mut request, &namespace);
                    request.encode(&requests.nonce())
                }
                _ => raw,
            };
            if line::write(&mut to, &out).await.is_err() {
                return;
            }
        }
        if is_over {
            return;
        }
    }
}

async fn tell((mut from, mut to): (From, To), mut replies: Replies, namespace: Namespace) {
    loop {
        let bytes = line::read(&mut from).await;
        let is_over = bytes.is_empty();
        let pieces = if is_over { replies.finish().into_iter().collect() } else { replies.push(&bytes) };
        for Piece { raw, event } in pieces {
            let out = match event {
                Some(ReplyEvent::Record { seq, mut record }) => {
                    let nonce = replies.nonce();
                    for path in record.paths_mut() {
                        *path = namespace.to_name(path);
                    }
                    record.encode(&nonce, seq)
                }
                _ => raw,
            };
            if line::write(&mut to, &out).await.is_err() {
                return;
            }
        }
        if is_over {
            return;
        }
    }
}

/// Maps a request's paths; the texts of links are compared and not opened, and are mapped as such.
fn substitute(request: &mut Request, namespace: &Namespace) {
    let texts: Vec<_> = texts(request).into_iter().map(|text| namespace.text_to_folder(text)).collect();
    for path in request.paths_mut() {
        *path = namespace.to_folder(path);
    }
    for (place, text) in self::texts(request).into_iter().zip(texts) {
        *place = text;
    }
}

fn texts(request: &mut Request) -> Vec<&mut Vec<u8>> {
    let (Verb::Commit { changes, .. } | Verb::Settle { changes, .. }) = &mut request.verb else {
        return Vec::new();
    };
    let pres = changes.iter_mut().flat_map(|change| {
        let to = match &mut change.effect {
            Effect::Move(to) => Some(&mut to.pre),
            _ => None,
        };
        [Some(&mut change.place.pre), to]
    });
    pres.flatten()
        .filter_map(|pre| match pre {
            Pre::Link(text) => Some(text),
            _ => None,
        })
        .collect()
}
