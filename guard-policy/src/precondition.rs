//! What a target has to find for a mutation to happen.

use serde::{Deserialize, Serialize};

use crate::{Digest, FileState};

/// The condition that the target enforces in the mutation itself.
///
/// Preconditions speak of the state before the batch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Precondition {
    /// Nothing has this name, not even a dangling link.
    Absent,
    /// A regular file with exactly this content.
    Content {
        /// The content's digest.
        digest: Digest,
    },
    /// A symbolic link with exactly this text.
    Link {
        /// The link's text.
        text: String,
    },
    /// A regular file with any content; only for a move, which keeps the bytes.
    Exists,
    /// Whatever is there, or nothing; the displaced bytes are kept under a reported name.
    ///
    /// # Security
    ///
    /// Per call only, never by configuration.
    DangerAny,
}

impl Precondition {
    /// Returns whether `state` satisfies the condition.
    ///
    /// A regular file of unknown digest does not satisfy `Content`.
    #[must_use]
    pub fn holds(&self, state: &FileState) -> bool {
        match self {
            Self::Absent => *state == FileState::Absent,
            Self::Content { digest } => state.digest() == Some(*digest),
            Self::Link { text } => matches!(state, FileState::Link { text: found } if found == text),
            Self::Exists => state.is_regular(),
            Self::DangerAny => matches!(state, FileState::Regular { .. } | FileState::Absent),
        }
    }
}
