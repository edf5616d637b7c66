//! Refusals: a stable code, one sentence, and the next call.

use serde::{Deserialize, Serialize};

use crate::Code;

/// A call that was not made, why, and how to go on.
///
/// Nothing was changed, unless `left` says what was left behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[error("{message}")]
pub struct Refusal {
    /// Stable code.
    pub code: Code,
    /// One sentence for the model, naming the path as it was requested.
    pub message: String,
    /// How to go on, where there is a way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<Remedy>,
    /// Names under which bytes were kept or left on the target, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
}

/// How to go on after a refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Remedy {
    /// One sentence.
    pub sentence: String,
    /// The call that settles it, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<RemedyCall>,
}

/// A tool call, as data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct RemedyCall {
    /// The tool's name.
    pub tool: crate::Tool,
    /// Its arguments: `path`, and where needed `offset`, `limit`, `bytes`.
    pub arguments: std::collections::BTreeMap<String, Argument>,
}

/// An argument of a [`RemedyCall`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Argument {
    /// A whole number.
    Number(u64),
    /// A text.
    Text(String),
    /// Several texts.
    Texts(Vec<String>),
    /// A window of bytes.
    Window {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u64,
    },
}
