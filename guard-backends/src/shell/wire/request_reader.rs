//! Reads requests from bytes as they come.

use super::field;
use super::{Noise, Request, Verb, boot};

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestEvent {
    /// The first stage and the script, as they are.
    Boot(Vec<u8>),
    /// A request; its bodies follow.
    Request(Request),
    /// Bytes of a commit's bodies, which are not told apart: [`Request::bodies`] has their lengths.
    Bytes(Vec<u8>),
    /// The tail of a commit.
    Tail,
}

/// Reads the stream from the controller to the shell.
#[derive(Debug)]
pub struct RequestReader {
    buffer: Vec<u8>,
    state: Reading,
    nonce: String,
    last: Option<Request>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// The first stage, of this length.
    Stage(usize),
    Request,
    Bodies(u64),
    Tail,
}

impl RequestReader {
    /// Starts before a first stage of `stage` bytes: see [`super::boot_len`].
    #[must_use]
    pub fn new(stage: usize) -> Self {
        Self { buffer: Vec::new(), state: Reading::Stage(stage), nonce: String::new(), last: None }
    }

    /// Returns the session's nonce, once the first stage was read.
    #[must_use]
    pub fn nonce(&self) -> &str {
        &self.nonce
    }

    /// Takes bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Gives what can be told from the bytes so far; `None` if more are needed.
    ///
    /// # Errors
    ///
    /// [`Noise`] for what is no request.
    pub fn take(&mut self) -> Result<Option<RequestEvent>, Noise> {
        match self.state {
            Reading::Stage(len) => self.boot(len),
            Reading::Request => self.request(),
            Reading::Bodies(0) => {
                self.state = Reading::Tail;
                self.tail()
            }
            Reading::Bodies(left) => {
                let len = self.buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                if len == 0 {
                    return Ok(None);
                }
                self.state = Reading::Bodies(left - len as u64);
                Ok(Some(RequestEvent::Bytes(self.buffer.drain(..len).collect())))
            }
            Reading::Tail => self.tail(),
        }
    }

    fn boot(&mut self, len: usize) -> Result<Option<RequestEvent>, Noise> {
        let Some(first) = self.buffer.get(..len) else { return Ok(None) };
        let (nonce, script) = boot::stage(first).ok_or_else(|| Noise::new("a first stage that is none"))?;
        if self.buffer.len() < len + script {
            return Ok(None);
        }
        (self.nonce, self.state) = (nonce, Reading::Request);
        Ok(Some(RequestEvent::Boot(self.buffer.drain(..len + script).collect())))
    }

    fn request(&mut self) -> Result<Option<RequestEvent>, Noise> {
        let mut lines = Lines { buffer: &self.buffer, at: 0 };
        let Some(head) = lines.next()? else { return Ok(None) };
        let number = |nth: usize| {
            let text = head.get(nth).and_then(|field| std::str::from_utf8(field).ok());
            text.and_then(|text| text.parse::<usize>().ok()).ok_or_else(|| Noise::new("a head that is none"))
        };
        if head.first().map(Vec::as_slice) != Some(self.nonce.as_bytes()) {
            return Err(Noise::new("a head without the nonce"));
        }
        let mut rest = Vec::new();
        let options = head.get(6).map(|options| String::from_utf8_lossy(options).into_owned());
        let more = options.as_deref().map_or(0, Verb::more);
        for _ in 0..number(3)? + number(4)? + more {
            let Some(line) = lines.next()? else { return Ok(None) };
            rest.push(line);
        }
        let used = lines.at;
        let request = Request::decode(head.into_iter().skip(1).collect(), rest)?;
        self.buffer.drain(..used);
        if request.has_tail() {
            self.state = Reading::Bodies(request.bodies().iter().sum());
        }
        self.last = Some(request.clone());
        Ok(Some(RequestEvent::Request(request)))
    }

    fn tail(&mut self) -> Result<Option<RequestEvent>, Noise> {
        let expected = self.last.as_ref().map(|request| request.tail(&self.nonce)).unwrap_or_default();
        let there = self.buffer.len().min(expected.len());
        if self.buffer[..there] != expected[..there] {
            return Err(Noise::new("a tail that is none"));
        }
        if there < expected.len() {
            return Ok(None);
        }
        self.buffer.drain(..there);
        self.state = Reading::Request;
        Ok(Some(RequestEvent::Tail))
    }
}

struct Lines<'a> {
    buffer: &'a [u8],
    at: usize,
}

impl Lines<'_> {
    /// Takes a line's fields; `None` if it is not whole yet.
    fn next(&mut self) -> Result<Option<Vec<Vec<u8>>>, Noise> {
        let rest = &self.buffer[self.at..];
        let Some(len) = rest.iter().position(|byte| *byte == b'\n') else { return Ok(None) };
        self.at += len + 1;
        field::split(&rest[..len]).map(Some)
    }
}
