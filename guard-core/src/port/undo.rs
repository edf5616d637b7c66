//! Where the bytes are kept that commits displaced, so that they can be put back.

use async_trait::async_trait;
use guard_policy::Digest;

/// Keeps bytes by their digest, on the controller.
///
/// # Security
///
/// What it keeps is as confidential as the files that it came from: it belongs where no tool and no other user can
/// reach it.
#[async_trait]
pub trait UndoStore: Send + Sync {
    /// Returns how many bytes of one file it takes at most.
    fn largest(&self) -> u64;

    /// Returns the absolute path of the directory or file on this machine where it keeps them, if there is one.
    ///
    /// A guard of this machine's files keeps its tools away from it.
    fn place(&self) -> Option<&str>;

    /// Keeps bytes; those that are kept already are kept once.
    ///
    /// # Errors
    ///
    /// [`UndoError`]; nothing is kept then.
    async fn keep(&self, digest: Digest, bytes: Vec<u8>) -> Result<(), UndoError>;

    /// Returns bytes that were kept.
    ///
    /// # Errors
    ///
    /// [`UndoError::Gone`] for what is not there (any more), [`UndoError::Damaged`] for what is not what was kept.
    async fn fetch(&self, digest: Digest) -> Result<Vec<u8>, UndoError>;
}

/// Bytes that could not be kept or given back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UndoError {
    /// They are not there: they were never kept, or made room for others.
    #[error("the old bytes are not kept any more")]
    Gone,
    /// What is there has another digest.
    #[error("the old bytes that were kept are damaged")]
    Damaged,
    /// They are more than the store takes.
    #[error("{len} bytes are more than the store takes, {limit}")]
    TooLarge {
        /// How many they are.
        len: u64,
        /// How many it takes.
        limit: u64,
    },
    /// The store failed.
    #[error("the store of old bytes failed: {why}")]
    Failed {
        /// Why.
        why: String,
    },
}
