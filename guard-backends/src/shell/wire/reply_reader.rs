//! Reads replies from bytes as they come.

use super::{Noise, Record};

/// How much noise may come before the hello.
const NOISE_MAX: usize = 64 * 1024;
/// How long a record may be.
const RECORD_MAX: usize = 256 * 1024;

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyEvent {
    /// What came before the hello: a banner, the output of a login shell's files.
    Noise(Vec<u8>),
    /// A record of the reply to a request.
    Record {
        /// Which request.
        seq: u64,
        /// The record.
        record: Record,
    },
    /// Raw bytes of a body.
    Bytes(Vec<u8>),
    /// The body is over.
    BodyEnd,
}

/// Reads the stream from the shell to the controller.
#[derive(Debug)]
pub struct ReplyReader {
    nonce: String,
    token: Vec<u8>,
    buffer: Vec<u8>,
    state: Reading,
    noise: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// The hello did not come yet.
    Noise,
    Records,
    Body,
}

impl ReplyReader {
    /// Starts before the hello of the session with this nonce.
    #[must_use]
    pub fn new(nonce: &str) -> Self {
        Self {
            nonce: nonce.to_owned(),
            token: Vec::new(),
            buffer: Vec::new(),
            state: Reading::Noise,
            noise: 0,
        }
    }

    /// Sets the token that ends bodies from now on: that of the request whose reply comes next.
    pub fn expect(&mut self, token: &str) {
        self.token = token.as_bytes().to_vec();
    }

    /// Takes bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Tells whether all bytes that were taken were also given out.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Gives what can be told from the bytes so far; `None` if more are needed.
    ///
    /// # Errors
    ///
    /// [`Noise`] for what is no reply: the session is broken.
    pub fn take(&mut self) -> Result<Option<ReplyEvent>, Noise> {
        match self.state {
            Reading::Noise => self.hello(),
            Reading::Records => self.record(),
            Reading::Body => self.body(),
        }
    }

    fn hello(&mut self) -> Result<Option<ReplyEvent>, Noise> {
        let start = format!("{} 0 ", self.nonce);
        if let Some(at) = memchr::memmem::find(&self.buffer, start.as_bytes()) {
            self.state = Reading::Records;
            if at == 0 {
                return self.record();
            }
            return Ok(Some(ReplyEvent::Noise(self.buffer.drain(..at).collect())));
        }
        if self.noise + self.buffer.len() > NOISE_MAX {
            return Err(Noise::new(format!("more than {NOISE_MAX} bytes before the hello")));
        }
        // What may be the start of the hello is kept.
        let whole = self.buffer.len().saturating_sub(start.len() - 1);
        if whole == 0 {
            return Ok(None);
        }
        self.noise += whole;
        Ok(Some(ReplyEvent::Noise(self.buffer.drain(..whole).collect())))
    }

    fn record(&mut self) -> Result<Option<ReplyEvent>, Noise> {
        let start = format!("{} ", self.nonce);
        let there = self.buffer.len().min(start.len());
        if self.buffer[..there] != start.as_bytes()[..there] {
            return Err(Noise::new(format!("{:?}", String::from_utf8_lossy(&self.buffer[..there]))));
        }
        let Some((used, seq, record)) = parse(&self.buffer, start.len())? else {
            if self.buffer.len() > RECORD_MAX {
                return Err(Noise::new(format!("a record of more than {RECORD_MAX} bytes")));
            }
            return Ok(None);
        };
        self.buffer.drain(..used);
        if record.has_body() {
            self.state = Reading::Body;
        }
        Ok(Some(ReplyEvent::Record { seq, record }))
    }

    fn body(&mut self) -> Result<Option<ReplyEvent>, Noise> {
        if self.token.is_empty() {
            return Err(Noise::new("a body that nobody asked for"));
        }
        match memchr::memmem::find(&self.buffer, &self.token) {
            Some(0) => {
                self.buffer.drain(..self.token.len());
                self.state = Reading::Records;
                Ok(Some(ReplyEvent::BodyEnd))
            }
            Some(at) => Ok(Some(ReplyEvent::Bytes(self.buffer.drain(..at).collect()))),
            None => {
                let sure = self.buffer.len().saturating_sub(self.token.len() - 1);
                if sure == 0 {
                    return Ok(None);
                }
                Ok(Some(ReplyEvent::Bytes(self.buffer.drain(..sure).collect())))
            }
        }
    }
}

/// Reads a record after the nonce: its length, the request's number and the record; `None` if it is not whole yet.
fn parse(buffer: &[u8], at: usize) -> Result<Option<(usize, u64, Record)>, Noise> {
    let Some((seq, at)) = word(buffer, at, b' ')? else { return Ok(None) };
    let seq = seq.parse().map_err(|_| Noise::new(format!("{seq:?} where a number should be")))?;
    let Some(end) = buffer[at..].iter().position(|byte| matches!(byte, b' ' | b'\n')) else {
        return short(buffer, at).map(|()| None);
    };
    let kind = String::from_utf8_lossy(&buffer[at..at + end]).into_owned();
    let mut at = at + end;
    let mut fields = Vec::new();
    if buffer[at] == b' ' {
        at += 1;
        loop {
            match buffer.get(at) {
                None => return Ok(None),
                Some(b'\n') => break,
                Some(_) => {}
            }
            let Some((len, start)) = word(buffer, at, b':')? else { return Ok(None) };
            let len: usize =
                len.parse().map_err(|_| Noise::new(format!("{len:?} where a length should be")))?;
            if len > RECORD_MAX {
                return Err(Noise::new(format!("a field of {len} bytes")));
            }
            let Some(field) = buffer.get(start..start + len) else { return Ok(None) };
            fields.push(field.to_vec());
            at = start + len;
        }
    }
    Ok(Some((at + 1, seq, Record::decode(&kind, fields)?)))
}

/// Reads a word up to `end`, and where the next thing begins.
fn word(buffer: &[u8], at: usize, end: u8) -> Result<Option<(&str, usize)>, Noise> {
    let rest = buffer.get(at..).unwrap_or_default();
    let Some(len) = rest.iter().position(|byte| *byte == end) else {
        return short(buffer, at).map(|()| None);
    };
    let text = std::str::from_utf8(&rest[..len]).map_err(|_| Noise::new("a word that is not text"))?;
    Ok(Some((text, at + len + 1)))
}

/// Refuses a word that is longer than any is.
fn short(buffer: &[u8], at: usize) -> Result<(), Noise> {
    if buffer.len().saturating_sub(at) > 64 { Err(Noise::new("a word without an end")) } else { Ok(()) }
}
