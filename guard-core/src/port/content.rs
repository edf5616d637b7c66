//! Bytes to put, which need not be in memory.

use std::fmt;
use std::io::Read;
use std::sync::Arc;

use guard_policy::Digest;

/// Opens a content's bytes, as often as needed.
pub trait Source: Send + Sync {
    /// Starts again from the first byte.
    ///
    /// # Errors
    ///
    /// Whatever keeps the source from being read.
    fn open(&self) -> std::io::Result<Box<dyn Read + Send + '_>>;
}

/// A content with its length and digest, so that a target can check what arrived before it publishes it.
#[derive(Clone)]
pub struct Content {
    len: u64,
    digest: Digest,
    source: Arc<dyn Source>,
}

impl Content {
    /// Takes a source whose length and digest are known.
    pub fn from_source(len: u64, digest: Digest, source: Arc<dyn Source>) -> Self {
        Self { len, digest, source }
    }

    /// Returns the length in bytes.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Tells whether there are no bytes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the digest.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// Opens the bytes.
    ///
    /// # Errors
    ///
    /// Whatever keeps the source from being read.
    pub fn open(&self) -> std::io::Result<Box<dyn Read + Send + '_>> {
        self.source.open()
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self { len: bytes.len() as u64, digest: Digest::of(&bytes), source: Arc::new(bytes) }
    }
}

impl Source for Vec<u8> {
    fn open(&self) -> std::io::Result<Box<dyn Read + Send + '_>> {
        Ok(Box::new(self.as_slice()))
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Content")
            .field("len", &self.len)
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}
