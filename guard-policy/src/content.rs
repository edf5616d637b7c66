//! One classifier of content, for reading and for writing.

use serde::{Deserialize, Serialize};

/// What the bytes of a file are, judged on all bytes at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ContentClass {
    /// UTF-8, with or without a BOM, and no NUL.
    Text,
    /// UTF-16 with a BOM that decodes and encodes back to the same bytes.
    Utf16,
    /// No NUL, not UTF-8 (a legacy encoding).
    Bytes,
    /// Holds a NUL.
    Binary,
}

/// The line endings of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Eol {
    /// No line ending at all.
    None,
    /// Every line ends with LF.
    Lf,
    /// Every line ends with CRLF.
    Crlf,
    /// LF and CRLF both occur (a lone CR is data).
    Mixed,
}

/// What a whole content looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct TextShape {
    /// The class.
    pub class: ContentClass,
    /// The line endings; of UTF-16 those of the decoded text, of binary content `None`.
    pub eol: Eol,
    /// Whether it begins with a byte-order mark (UTF-8 or UTF-16).
    pub bom: bool,
}

/// Classifies a whole content.
#[must_use]
pub fn classify(bytes: &[u8]) -> TextShape {
    let _ = bytes;
    TextShape { class: ContentClass::Text, eol: Eol::None, bom: false }
}

/// Tells whether `text` is a display of a file: a gutter on every non-blank line, with consecutive numbers, three
/// lines or more.
#[must_use]
pub fn is_tool_echo(text: &str) -> bool {
    let _ = text;
    false
}
