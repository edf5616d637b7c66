//! Bytes as text: pages of lines, UTF-16, diffs.

pub(crate) mod diff;
pub(crate) mod escape;
pub(crate) mod hashes;
pub(crate) mod lines;
pub(crate) mod splice;
pub(crate) mod utf16;
