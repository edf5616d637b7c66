//! The files as they were read.

use std::collections::BTreeMap;

/// The files that a patch names, as they were at one moment.
pub trait Snapshot {
    /// Returns what is at a path, spelled as [`Patch::paths`](crate::Patch::paths) spells it.
    fn entry(&self, path: &str) -> Entry<'_>;
}

/// What is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// Nothing.
    Absent,
    /// A regular file with these bytes.
    File(&'a [u8]),
    /// Something that cannot be patched; the text says what, with its article, such as `a directory`.
    Other(&'a str),
}

impl Snapshot for BTreeMap<String, Vec<u8>> {
    fn entry(&self, path: &str) -> Entry<'_> {
        self.get(path).map_or(Entry::Absent, |bytes| Entry::File(bytes))
    }
}
