//! A session's two streams as frames, each with the bytes that it was.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use guard_backends::shell::wire::{ReplyEvent, ReplyReader, Request, RequestEvent, RequestReader};

/// Bytes of a stream, and what they say; nothing, where they are not the protocol.
pub(super) struct Piece<E> {
    pub(super) raw: Vec<u8>,
    pub(super) event: Option<E>,
}

/// Returns readers of both streams of a session; one whose first stage has no known length is not understood.
pub(super) fn of_session(stage: Option<usize>) -> (Requests, Replies) {
    let known = Arc::new(Mutex::new(Known::default()));
    let requests = Requests {
        reader: stage.map(RequestReader::new),
        held: Vec::new(),
        last: None,
        known: Arc::clone(&known),
    };
    (requests, Replies { reader: None, held: Vec::new(), known, token: 0, is_noise: stage.is_none() })
}

/// What the requests tell that the replies are read with.
#[derive(Default)]
struct Known {
    nonce: Option<String>,
    tokens: HashMap<u64, String>,
}

fn lock(known: &Mutex<Known>) -> MutexGuard<'_, Known> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads what goes to the shell.
pub(super) struct Requests {
    /// None where the stream is no protocol any more.
    reader: Option<RequestReader>,
    /// What was taken and not given out.
    held: Vec<u8>,
    last: Option<Request>,
    known: Arc<Mutex<Known>>,
}

impl Requests {
    /// Returns the session's nonce; nothing before the first stage was read.
    pub(super) fn nonce(&self) -> String {
        lock(&self.known).nonce.clone().unwrap_or_default()
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Piece<RequestEvent>> {
        self.held.extend_from_slice(bytes);
        let mut pieces = Vec::new();
        if let Some(reader) = &mut self.reader {
            reader.push(bytes);
        }
        while let Some(reader) = &mut self.reader {
            match reader.take() {
                Ok(Some(event)) => {
                    let len = self.note(&event).min(self.held.len());
                    pieces.push(Piece { raw: self.held.drain(..len).collect(), event: Some(event) });
                }
                Ok(None) => return pieces,
                Err(_) => self.reader = None,
            }
        }
        pieces.extend(self.finish());
        pieces
    }

    /// Returns what was held back, at the stream's end.
    pub(super) fn finish(&mut self) -> Option<Piece<RequestEvent>> {
        rest(&mut self.held)
    }

    /// Returns the length of what was read: a request has one spelling.
    fn note(&mut self, event: &RequestEvent) -> usize {
        let mut known = lock(&self.known);
        match event {
            RequestEvent::Boot(bytes) => {
                known.nonce = self.reader.as_ref().map(|reader| reader.nonce().to_owned());
                bytes.len()
            }
            RequestEvent::Request(request) => {
                known.tokens.insert(request.seq, request.token.clone());
                self.last = Some(request.clone());
                request.encode(known.nonce.as_deref().unwrap_or_default()).len()
            }
            RequestEvent::Bytes(bytes) => bytes.len(),
            RequestEvent::Tail => {
                let nonce = known.nonce.as_deref().unwrap_or_default();
                self.last.as_ref().map_or(0, |request| request.tail(nonce).len())
            }
        }
    }
}

/// Reads what comes from the shell.
pub(super) struct Replies {
    /// None before the nonce is known.
    reader: Option<ReplyReader>,
    held: Vec<u8>,
    known: Arc<Mutex<Known>>,
    /// The length of the token that ends a body.
    token: usize,
    is_noise: bool,
}

impl Replies {
    /// Returns the session's nonce; nothing before the first stage was read.
    pub(super) fn nonce(&self) -> String {
        lock(&self.known).nonce.clone().unwrap_or_default()
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Piece<ReplyEvent>> {
        let mut pieces = Vec::new();
        let early = if self.reader.is_none() && !self.is_noise {
            let Some(nonce) = lock(&self.known).nonce.clone() else {
                // A banner, from before the first stage was sent; the hello comes after it.
                self.held.extend_from_slice(bytes);
                return pieces;
            };
            self.reader = Some(ReplyReader::new(&nonce));
            std::mem::take(&mut self.held)
        } else {
            Vec::new()
        };
        for bytes in [&early, bytes] {
            // A record ends with a newline, so that after each one nothing of these bytes is left over, and its raw
            // bytes are known, however it was spelt.
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                self.line(line, &mut pieces);
            }
        }
        pieces
    }

    /// Returns what was held back, at the stream's end.
    pub(super) fn finish(&mut self) -> Option<Piece<ReplyEvent>> {
        rest(&mut self.held)
    }

    fn line(&mut self, line: &[u8], pieces: &mut Vec<Piece<ReplyEvent>>) {
        self.held.extend_from_slice(line);
        if let Some(reader) = &mut self.reader {
            reader.push(line);
        }
        while let Some(reader) = &mut self.reader {
            let event = match reader.take() {
                Ok(Some(event)) => event,
                Ok(None) => return,
                Err(_) => {
                    (self.reader, self.is_noise) = (None, true);
                    break;
                }
            };
            let len = match &event {
                ReplyEvent::Noise(bytes) | ReplyEvent::Bytes(bytes) => bytes.len(),
                ReplyEvent::BodyEnd => self.token,
                ReplyEvent::Record { seq, .. } => {
                    let token = lock(&self.known).tokens.get(seq).cloned().unwrap_or_default();
                    self.token = token.len();
                    reader.expect(&token);
                    self.held.len()
                }
            };
            let len = len.min(self.held.len());
            pieces.push(Piece { raw: self.held.drain(..len).collect(), event: Some(event) });
        }
        pieces.extend(rest(&mut self.held));
    }
}

fn rest<E>(held: &mut Vec<u8>) -> Option<Piece<E>> {
    if held.is_empty() { None } else { Some(Piece { raw: std::mem::take(held), event: None }) }
}

#[cfg(test)]
mod tests {
    use guard_backends::shell::wire::{Hello, Record, Verb};

    use super::*;

    const NONCE: &str = "0123456789abcdef0123456789abcdef";
    const TOKEN: &str = "fedcba9876543210fedcba9876543210";

    fn boot() -> (usize, Vec<u8>) {
        let stage = format!("g_nonce={NONCE} g_size=7 g_without=''\nfirst");
        (stage.len(), [stage.as_bytes(), b"script\n"].concat())
    }

    fn ask(seq: u64) -> Vec<u8> {
        let verb = Verb::Open(vec![b"/a\nb|c".to_vec()]);
        Request { seq, token: TOKEN.to_owned(), roots: Vec::new(), verb }.encode(NONCE)
    }

    /// However the stream is cut into pieces, their raw bytes are the stream, and each frame has its own.
    #[test]
    fn pieces_are_the_stream_and_frames_have_their_own_bytes() {
        let (stage, boot) = boot();
        let requests = [boot.clone(), ask(1), ask(2)];
        let facts = vec![("home".to_owned(), b"/home/new\nline".to_vec())];
        let hello = Record::Hello(Hello { facts }).encode(NONCE, 0);
        let records = [
            hello.clone(),
            Record::Body.encode(NONCE, 1),
            // Another spelling than the codec's own.
            format!("{NONCE} 1 digest 0:02:10\n").into_bytes(),
            Record::End.encode(NONCE, 1),
        ];
        let [hello, body, digest, end] = &records;
        let replies =
            [b"Welcome!\nto this machine", &hello[..], body, b"bytes\nand", TOKEN.as_bytes(), digest, end]
                .concat();
        for step in [1, 2, 7, 31, 10_000] {
            let (mut to, mut from) = of_session(Some(stage));
            let sent: Vec<_> = requests.concat().chunks(step).flat_map(|part| to.push(part)).collect();
            let raw: Vec<_> = sent.iter().map(|piece| piece.raw.clone()).collect();
            assert_eq!(raw, requests, "{step}");
            assert!(sent.iter().all(|piece| piece.event.is_some()) && to.finish().is_none());

            let got: Vec<_> = replies.chunks(step).flat_map(|part| from.push(part)).collect();
            let raw: Vec<u8> = got.iter().flat_map(|piece| piece.raw.clone()).collect();
            assert_eq!(raw, replies, "{step}");
            let of_records: Vec<_> = got
                .iter()
                .filter(|piece| matches!(piece.event, Some(ReplyEvent::Record { .. })))
                .map(|piece| piece.raw.clone())
                .collect();
            assert_eq!(of_records, records, "{step}");
        }
    }

    #[test]
    fn what_is_not_the_protocol_is_passed_on() {
        let (stage, boot) = boot();
        let (mut to, mut from) = of_session(Some(stage));
        to.push(&boot);
        let pieces = to.push(b"no head\nat all");
        assert_eq!(pieces.len(), 1);
        assert_eq!((&pieces[0].raw[..], &pieces[0].event), (&b"no head\nat all"[..], &None));
        assert_eq!(to.push(&ask(1))[0].raw, ask(1));

        let hello = Record::Hello(Hello::default()).encode(NONCE, 0);
        let noise: Vec<u8> = [&hello[..], b"noise\n", b"more"].concat();
        let raw: Vec<_> = from.push(&noise).into_iter().map(|piece| piece.raw).collect();
        assert_eq!(raw, [hello, b"noise\n".to_vec(), b"more".to_vec()]);

        let (mut to, mut from) = of_session(None);
        assert_eq!(to.push(b"echo")[0].raw, b"echo");
        assert_eq!(from.push(b"hello")[0].raw, b"hello");
    }

    #[test]
    fn what_was_cut_short_comes_at_the_end() {
        let (stage, boot) = boot();
        let (mut to, _) = of_session(Some(stage));
        let whole = [boot, ask(1)].concat();
        let (first, _) = whole.split_at(whole.len() - 1);
        let sent: Vec<u8> = to.push(first).into_iter().flat_map(|piece| piece.raw).collect();
        let rest = to.finish().unwrap();
        assert!(rest.event.is_none());
        assert_eq!([sent, rest.raw].concat(), first);
    }
}
