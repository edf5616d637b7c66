//! What is known, and what is not.

use serde::{Deserialize, Serialize};

/// Something that was established, or was not.
///
/// There is no default: code that needs the value has to say what holds when it is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Fact<T> {
    /// The target (or the caller, for its own words) reported this value.
    Known(T),
    /// Nobody asked, or nobody answered.
    Unknown,
}

impl<T> Fact<T> {
    /// Borrows the value.
    pub fn as_ref(&self) -> Fact<&T> {
        match self {
            Self::Known(value) => Fact::Known(value),
            Self::Unknown => Fact::Unknown,
        }
    }

    /// Returns the value where it is known.
    pub fn known(self) -> Option<T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unknown => None,
        }
    }
}
