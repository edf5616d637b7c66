//! What an actor has seen: digests and ranges of bytes that were delivered to it.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{Digest, Fact, TargetPath, TextShape};

/// A set of byte ranges: sorted, disjoint, not touching, none empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Ranges(pub(crate) Vec<(u64, u64)>);

/// What one actor has seen of one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "seen", rename_all = "kebab-case")]
pub enum View {
    /// A version of a regular file.
    File {
        /// Its digest.
        digest: Digest,
        /// Its length in bytes.
        len: u64,
        /// The bytes of it that were delivered; none where only metadata was.
        covered: Ranges,
        /// What its whole content looked like, where that was established.
        shape: Fact<TextShape>,
    },
    /// A symbolic link.
    Link {
        /// Its text.
        text: String,
    },
}

/// What an actor has seen of one path, as [`crate::decide`] takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// Nothing.
    Nothing,
    /// A version, in part or only as metadata.
    Part {
        /// Its digest.
        digest: Digest,
        /// The first range that was not delivered.
        missing: Range<u64>,
        /// What its whole content looked like, where that was established.
        shape: Fact<TextShape>,
    },
    /// All bytes of a version.
    Whole {
        /// Its digest.
        digest: Digest,
        /// What its whole content looked like, where that was established.
        shape: Fact<TextShape>,
    },
    /// A symbolic link.
    Link {
        /// Its text.
        text: String,
    },
}

/// Bytes that are about to be delivered to the actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered {
    /// The digest of the version they are of.
    pub digest: Digest,
    /// Its length.
    pub len: u64,
    /// The byte ranges that are delivered; empty for metadata alone.
    pub ranges: Ranges,
    /// What the whole content looks like, where all of it was at hand.
    pub shape: Fact<TextShape>,
}

/// One replacement in a file: old bytes `old` became `new_len` bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// The replaced byte range, in the old version.
    pub old: Range<u64>,
    /// The length of what stands there now.
    pub new_len: u64,
}

/// The moment at which a read began, in the actor's own count of commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// What one actor has seen, by resolved path. Keys are paths of one target.
///
/// A pure state machine: no clock and no mtime decides anything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Views {
    seen: BTreeMap<TargetPath, View>,
    #[serde(skip)]
    commits: u64,
    #[serde(skip)]
    committed: BTreeMap<TargetPath, u64>,
}

impl Ranges {
    /// Returns the empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a range; overlapping and touching ranges become one.
    pub fn insert(&mut self, range: Range<u64>) {
        let _ = range;
    }

    /// Adds every range of `other`.
    pub fn union(&mut self, other: &Self) {
        let _ = other;
    }

    /// Returns the first gap of `0..len`.
    #[must_use]
    pub fn first_gap(&self, len: u64) -> Option<Range<u64>> {
        let _ = len;
        None
    }
}

impl From<Range<u64>> for Ranges {
    fn from(range: Range<u64>) -> Self {
        let mut ranges = Self::new();
        ranges.insert(range);
        ranges
    }
}

impl Views {
    /// Starts with nothing seen.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns what was seen of `path`.
    #[must_use]
    pub fn seen(&self, path: &TargetPath) -> Seen {
        let _ = path;
        Seen::Nothing
    }

    /// Returns the view of `path`.
    #[must_use]
    pub fn get(&self, path: &TargetPath) -> Option<&View> {
        self.seen.get(path)
    }

    /// Returns every view.
    pub fn iter(&self) -> impl Iterator<Item = (&TargetPath, &View)> {
        self.seen.iter()
    }

    /// Marks the beginning of a read.
    #[must_use]
    pub fn begin(&self) -> Ticket {
        Ticket(self.commits)
    }

    /// Records delivered bytes: pages of one digest add up, another digest starts anew.
    ///
    /// Nothing is recorded where a commit of this actor on that path (or one that moved it) finished since the
    /// read began: what was read may be older than what was written.
    pub fn record(&mut self, path: &TargetPath, began: Ticket, delivered: Delivered) {
        let _ = (path, began, delivered);
    }

    /// Records the text of a link, under the same condition.
    pub fn record_link(&mut self, path: &TargetPath, began: Ticket, text: String) {
        let _ = (path, began, text);
    }

    /// Records a delivered absence, under the same condition: the view is dropped, so that the next write is a
    /// creation.
    pub fn record_absent(&mut self, path: &TargetPath, began: Ticket) {
        let _ = (path, began);
    }

    /// Records the actor's own whole-file write: a full view.
    pub fn wrote(&mut self, path: &TargetPath, digest: Digest, len: u64, shape: TextShape) {
        let _ = (path, digest, len, shape);
    }

    /// Records the actor's own edit of `base`.
    ///
    /// Ranges outside the splices (sorted, disjoint, in offsets of the base) stay covered only if `base` was the
    /// digest already seen: else an edit would launder bytes that were never read. New bytes are covered.
    pub fn edited(
        &mut self,
        path: &TargetPath,
        base: Digest,
        splices: &[Splice],
        digest: Digest,
        len: u64,
        shape: TextShape,
    ) {
        let _ = (path, base, splices, digest, len, shape);
    }

    /// Records the actor's own removal.
    pub fn removed(&mut self, path: &TargetPath) {
        let _ = path;
    }

    /// Records the actor's own move: the view goes along if it is of the version that was moved.
    pub fn moved(&mut self, from: &TargetPath, to: &TargetPath, digest: Option<Digest>) {
        let _ = (from, to, digest);
    }

    /// Records a version that the host vouches for: the actor's principal has seen all of it elsewhere.
    pub fn vouch(&mut self, path: &TargetPath, digest: Digest) {
        let _ = (path, digest);
    }

    /// Forgets what was seen of `path`, as when a host cut the result out of the conversation.
    pub fn forget(&mut self, path: &TargetPath) {
        let _ = path;
    }
}
