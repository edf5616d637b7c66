//! Bytes that are no text, shown.

use std::fmt::Write as _;

/// Returns the bytes as text; what is not UTF-8 as `\xHH`.
///
/// For people and models to read: a backslash stays as it is, so that a text that is copied from it is found again by
/// an edit, and a file that has `\xHH` in it looks the same.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02X}");
        }
    }
    out
}

/// Cuts a text at most at `max` bytes, before a character that would not be whole.
pub(crate) fn cut_at(bytes: &[u8], max: usize) -> usize {
    if bytes.len() <= max {
        return bytes.len();
    }
    // A UTF-8 character has at most three bytes after its first.
    (max.saturating_sub(3)..=max).rev().find(|at| bytes[*at] & 0xC0 != 0x80).unwrap_or(max)
}
