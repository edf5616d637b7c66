//! Bytes to write, which are made as they are read, and where bytes go that are read.

use std::io::{self, Read};

use async_trait::async_trait;
use guard_core::policy::{Digest, Hasher};
use guard_core::port::{OpError, Sink, Source};

/// The bytes of one block, so many times over.
pub(crate) struct Body {
    block: Vec<u8>,
    times: u64,
}

impl Body {
    /// Makes a body of `times` MiB that no two blocks' worth of compression would make small.
    pub(crate) fn mebibytes(times: u64) -> Self {
        let mut state: u64 = 0x9E37_79B9_7F4A_7C15;
        let block = (0..1 << 20).map(|_| {
            // Knuth's generator; its upper bits are the better ones.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        });
        Self { block: block.collect(), times }
    }

    /// Takes bytes as they are.
    pub(crate) fn of(bytes: impl Into<Vec<u8>>) -> Self {
        Self { block: bytes.into(), times: 1 }
    }

    /// Returns how many bytes there are.
    pub(crate) fn len(&self) -> u64 {
        self.block.len() as u64 * self.times
    }

    /// Returns the pieces, in order.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.times).map(|_| self.block.as_slice())
    }

    /// Takes the digest of all bytes.
    pub(crate) fn digest(&self) -> Digest {
        let mut hasher = Hasher::new();
        self.pieces().for_each(|piece| hasher.update(piece));
        hasher.finish()
    }
}

impl Source for Body {
    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        Ok(Box::new(Reading { body: self, at: 0 }))
    }
}

struct Reading<'a> {
    body: &'a Body,
    at: u64,
}

impl Read for Reading<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (size, left) = (self.body.block.len() as u64, self.body.len() - self.at);
        if left == 0 {
            return Ok(0);
        }
        let rest = &self.body.block[(self.at % size) as usize..];
        let len = rest.len().min(buffer.len());
        buffer[..len].copy_from_slice(&rest[..len]);
        self.at += len as u64;
        Ok(len)
    }
}

/// Counts what it takes and keeps nothing.
#[derive(Default)]
pub(crate) struct Count(pub(crate) u64);

#[async_trait]
impl Sink for Count {
    async fn take(&mut self, bytes: &[u8]) -> Result<(), OpError> {
        self.0 += bytes.len() as u64;
        Ok(())
    }
}
