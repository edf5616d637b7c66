//! A call that was not done.

use guard_policy::Refusal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It was done.
    Done,
    /// It was refused; nothing was changed.
    Refused,
    /// Whether it was done is not known.
    Unknown,
}

impl Outcome {
    /// Returns the outcome as it is written on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
        }
    }
}

/// A call that was not done, or of which it is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{refusal}")]
pub struct Failure {
    /// [`Outcome::Refused`] or [`Outcome::Unknown`].
    pub outcome: Outcome,
    /// Why, and how to go on.
    pub refusal: Refusal,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self { outcome: Outcome::Refused, refusal }
    }
}

impl Failure {
    /// Makes the failure of a call of which nobody knows whether it was done.
    pub(crate) fn unknown(refusal: Refusal) -> Self {
        Self { outcome: Outcome::Unknown, refusal }
    }
}
