//! Refusals: a stable code, one sentence, and the next call.

use serde::{Deserialize, Serialize};

use crate::{Code, Digest};

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
    /// Of a `stale` file: what changed since it was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<Box<Changed>>,
}

/// What changed of a file since an actor saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Changed {
    /// The version that was seen.
    pub seen: Digest,
    /// The version that is there.
    pub now: Digest,
    /// Lines of the file as it is now that are not as they were seen, or were never seen, in order; empty where that
    /// is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<LineSpan>,
    /// Whether there are more such lines behind those.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// How many of the lines that were seen are not there any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<u64>,
}

/// Lines that follow each other, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct LineSpan {
    /// The first.
    pub first: u64,
    /// The last.
    pub last: u64,
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
