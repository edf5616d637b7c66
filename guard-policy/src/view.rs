//! What an actor has seen: digests and ranges of bytes that were delivered to it.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{Digest, Fact, FileState, LineHashes, Lines, Ranges, TargetPath, TextShape};

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
        /// Hashes of the lines that were delivered, where the content is text of not too many lines.
        #[serde(default, skip_serializing_if = "LineHashes::is_empty")]
        lines: LineHashes,
    },
    /// All of a version, on the word of the host: its length and shape are not known here.
    Vouched {
        /// Its digest.
        digest: Digest,
    },
    /// A symbolic link.
    Link {
        /// Its text.
        text: String,
    },
}

impl View {
    /// Tells whether `state` is certainly what this view is of.
    #[must_use]
    pub fn is_of(&self, state: &FileState) -> bool {
        match self {
            Self::File { digest, len, .. } => {
                matches!(state, FileState::Regular { len: now, digest: Some(found), .. } if now == len && found == digest)
            }
            Self::Vouched { digest } => state.digest() == Some(*digest),
            Self::Link { text } => matches!(state, FileState::Link { text: now } if now == text),
        }
    }

    /// Tells whether both are of the same version, whatever was delivered of it.
    #[must_use]
    pub fn is_of_same_version(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::File { digest: one, .. } | Self::Vouched { digest: one },
                Self::File { digest: other, .. } | Self::Vouched { digest: other },
            ) => one == other,
            (Self::Link { text: one }, Self::Link { text: other }) => one == other,
            _ => false,
        }
    }
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
/// The stored form carries a version; reads that were under way are not stored.
///
/// # Examples
///
/// ```
/// use guard_policy::{Delivered, Digest, Fact, PathError, Seen, TargetPath, Views};
///
/// let (path, digest) = (TargetPath::new("/ws/notes.txt")?, Digest::of(b"one\ntwo\n"));
/// let page = |range: std::ops::Range<u64>| Delivered { digest, len: 8, ranges: range.into(), shape: Fact::Unknown };
///
/// let mut views = Views::new();
/// let began = views.begin();
/// views.record(&path, began, page(0..4));
/// assert_eq!(views.seen(&path), Seen::Part { digest, missing: 4..8, shape: Fact::Unknown });
///
/// // Pages of one digest add up.
/// views.record(&path, began, page(4..8));
/// assert_eq!(views.seen(&path), Seen::Whole { digest, shape: Fact::Unknown });
/// # Ok::<(), PathError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Views {
    seen: BTreeMap<TargetPath, View>,
    /// How many commits of this actor have finished.
    commits: u64,
    /// The count at which the last commit on a path finished.
    committed: BTreeMap<TargetPath, u64>,
    /// What was there where the actor was told that it is not what it has seen.
    told: BTreeMap<TargetPath, FileState>,
}

/// The stored form of [`Views`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    views: BTreeMap<TargetPath, View>,
}

const VERSION: u32 = 1;

impl From<Views> for Stored {
    fn from(views: Views) -> Self {
        Self { version: VERSION, views: views.seen }
    }
}

impl TryFrom<Stored> for Views {
    type Error = String;

    fn try_from(stored: Stored) -> Result<Self, String> {
        if stored.version != VERSION {
            return Err(format!(
                "views of version {} are not known; this is version {VERSION}",
                stored.version
            ));
        }
        Ok(Self { seen: stored.views, ..Self::default() })
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
        match self.seen.get(path) {
            None => Seen::Nothing,
            Some(View::Link { text }) => Seen::Link { text: text.clone() },
            Some(View::Vouched { digest }) => Seen::Whole { digest: *digest, shape: Fact::Unknown },
            Some(View::File { digest, len, covered, shape, .. }) => match covered.first_gap(*len) {
                Some(missing) => Seen::Part { digest: *digest, missing, shape: *shape },
                None => Seen::Whole { digest: *digest, shape: *shape },
            },
        }
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
        if self.is_late(path, began) {
            return;
        }
        let Delivered { digest, len, ranges, mut shape } = delivered;
        let mut covered = ranges.within(&(0..len));
        let mut lines = LineHashes::default();
        match self.seen.get(path) {
            Some(View::File { digest: old, covered: before, shape: known, lines: hashes, .. })
                if *old == digest =>
            {
                covered.union(before);
                lines.clone_from(hashes);
                if shape == Fact::Unknown {
                    shape = *known;
                }
            }
            Some(View::Vouched { digest: old }) if *old == digest => covered = Ranges::from(0..len),
            _ => {}
        }
        self.put(path, View::File { digest, len, covered, shape, lines });
    }

    /// Records the text of a link, under the same condition.
    pub fn record_link(&mut self, path: &TargetPath, began: Ticket, text: String) {
        if !self.is_late(path, began) {
            self.put(path, View::Link { text });
        }
    }

    /// Records a delivered absence, under the same condition: the view is dropped, so that the next write is a
    /// creation.
    pub fn record_absent(&mut self, path: &TargetPath, began: Ticket) {
        if !self.is_late(path, began) {
            self.take(path);
        }
    }

    /// Takes over a view that was stored, under the same condition, and only where nothing was seen since.
    ///
    /// The caller has established that the version is the one that is there. Tells whether what was stored is seen now:
    /// of the same version, what was delivered then and meanwhile adds up.
    pub fn restore(&mut self, path: &TargetPath, began: Ticket, view: View) -> bool {
        if self.is_late(path, began) {
            return false;
        }
        match (self.seen.get_mut(path), &view) {
            (None, _) => {
                self.put(path, view);
                true
            }
            (
                Some(View::File { digest, len, covered, lines, .. }),
                View::File { digest: old, len: old_len, covered: before, lines: hashes, .. },
            ) if digest == old && len == old_len => {
                covered.union(before);
                if lines.is_empty() {
                    lines.clone_from(hashes);
                }
                true
            }
            (Some(View::File { digest, len, covered, .. }), View::Vouched { digest: old })
                if digest == old =>
            {
                *covered = Ranges::from(0..*len);
                true
            }
            (Some(current), view) => {
                matches!(current, View::Vouched { .. } | View::Link { .. })
                    && current.is_of_same_version(view)
            }
        }
    }

    /// Returns the views of these paths alone.
    #[must_use]
    pub fn only(&self, paths: &[TargetPath]) -> Self {
        let of = |path: &TargetPath| Some((path.clone(), self.seen.get(path)?.clone()));
        Self { seen: paths.iter().filter_map(of).collect(), ..Self::default() }
    }

    /// Compares what was seen with `now`, and tells whether the actor is to be told that they differ: it is not, where
    /// it was told the same since it last saw the path.
    ///
    /// A file that is gone is not seen any more, as after [`Views::record_absent`].
    pub fn has_drifted(&mut self, path: &TargetPath, began: Ticket, now: &FileState) -> bool {
        let Some(view) = self.seen.get(path).filter(|_| !self.is_late(path, began)) else { return false };
        if view.is_of(now) {
            self.told.remove(path);
            return false;
        }
        if *now == FileState::Absent {
            self.take(path);
            return true;
        }
        self.told.insert(path.clone(), now.clone()).as_ref() != Some(now)
    }

    /// Records the actor's own whole-file write: a full view.
    pub fn wrote(&mut self, path: &TargetPath, digest: Digest, len: u64, shape: TextShape) {
        self.finish_commit([path]);
        let (covered, shape) = (Ranges::from(0..len), Fact::Known(shape));
        let view = View::File { digest, len, covered, shape, lines: LineHashes::default() };
        self.put(path, view);
    }

    /// Records the actor's own edit of `base`.
    ///
    /// Ranges outside the splices (sorted, disjoint, in offsets of the base) stay covered only if `base` was the
    /// digest already seen: else an edit would launder bytes that were never read. New bytes are covered.
    /// Splices that do not lead from the base to `len` bytes cover nothing.
    pub fn edited(
        &mut self,
        path: &TargetPath,
        base: Digest,
        splices: &[Splice],
        digest: Digest,
        len: u64,
        shape: TextShape,
    ) {
        self.finish_commit([path]);
        let nothing = Ranges::new();
        let everything = Ranges::from(0..u64::MAX);
        let (before, base_len) = match self.seen.get(path) {
            Some(View::File { digest, len, covered, .. }) if *digest == base => (covered, Some(*len)),
            Some(View::Vouched { digest }) if *digest == base => (&everything, None),
            _ => (&nothing, None),
        };
        let covered = carried(before, base_len, splices, len).unwrap_or_default();
        let (shape, lines) = (Fact::Known(shape), LineHashes::default());
        self.put(path, View::File { digest, len, covered, shape, lines });
    }

    /// Keeps hashes of the lines of `version` that were delivered, if that is what was seen of `path`.
    ///
    /// They come from the content that was recorded right before.
    pub fn note_lines(&mut self, path: &TargetPath, version: Digest, of: &Lines) {
        if let Some(View::File { digest, covered, lines, .. }) = self.seen.get_mut(path)
            && *digest == version
        {
            *lines = of.within(covered);
        }
    }

    /// Records the actor's own removal.
    pub fn removed(&mut self, path: &TargetPath) {
        self.finish_commit([path]);
        self.take(path);
    }

    /// Records the actor's own move: the view goes along if it is of the version that was moved.
    ///
    /// `digest` is that of a regular file; a link that was moved has none.
    pub fn moved(&mut self, from: &TargetPath, to: &TargetPath, digest: Option<Digest>) {
        self.finish_commit([from, to]);
        self.take(to);
        let Some(view) = self.take(from) else { return };
        let of_this_version = match &view {
            View::File { digest: seen, .. } | View::Vouched { digest: seen } => Some(*seen) == digest,
            View::Link { .. } => digest.is_none(),
        };
        if of_this_version {
            self.put(to, view);
        }
    }

    /// Records a version that the host vouches for: the actor's principal has seen all of it elsewhere.
    pub fn vouch(&mut self, path: &TargetPath, digest: Digest) {
        match self.seen.get_mut(path) {
            Some(View::File { digest: seen, len, covered, .. }) if *seen == digest => {
                *covered = Ranges::from(0..*len);
            }
            _ => {
                self.put(path, View::Vouched { digest });
            }
        }
    }

    /// Forgets what was seen of `path`, as when a host cut the result out of the conversation.
    ///
    /// A read that is under way is forgotten with it.
    pub fn forget(&mut self, path: &TargetPath) {
        self.finish_commit([path]);
        self.take(path);
    }

    fn put(&mut self, path: &TargetPath, view: View) {
        self.told.remove(path);
        self.seen.insert(path.clone(), view);
    }

    fn take(&mut self, path: &TargetPath) -> Option<View> {
        self.told.remove(path);
        self.seen.remove(path)
    }

    fn finish_commit<const N: usize>(&mut self, paths: [&TargetPath; N]) {
        self.commits += 1;
        for path in paths {
            self.committed.insert(path.clone(), self.commits);
        }
    }

    /// Tells whether a commit on `path` finished after the read began.
    fn is_late(&self, path: &TargetPath, began: Ticket) -> bool {
        self.committed.get(path).is_some_and(|commit| *commit > began.0)
    }
}

/// Carries covered ranges of the base over to what the splices made of it; `None` where the splices are not sorted
/// and disjoint, or do not lead from the one length to the other.
fn carried(before: &Ranges, base_len: Option<u64>, splices: &[Splice], len: u64) -> Option<Ranges> {
    let mut covered = Ranges::new();
    // How far the base and the new version are done.
    let (mut old, mut new) = (0_u64, 0_u64);
    for splice in splices {
        let kept = splice.old.start.checked_sub(old)?;
        splice.old.end.checked_sub(splice.old.start)?;
        covered.union(&shifted(before, old..splice.old.start, new)?);
        let start = new.checked_add(kept)?;
        new = start.checked_add(splice.new_len)?;
        covered.insert(start..new);
        old = splice.old.end;
    }
    let end = old.checked_add(len.checked_sub(new)?)?;
    if base_len.is_some_and(|base_len| base_len != end) {
        return None;
    }
    covered.union(&shifted(before, old..end, new)?);
    Some(covered)
}

/// Returns the part of `ranges` in `window`, moved so that the window begins at `start`.
fn shifted(ranges: &Ranges, window: Range<u64>, start: u64) -> Option<Ranges> {
    let mut moved = Ranges::new();
    for range in ranges.within(&window).iter() {
        let first = start.checked_add(range.start - window.start)?;
        moved.insert(first..first.checked_add(range.end - range.start)?);
    }
    Some(moved)
}

#[cfg(test)]
mod tests;
