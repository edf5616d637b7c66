//! Where a text occurs, and which EOL its replacement gets.

use std::ops::Range;

use guard_policy::Eol;
use memchr::{memchr_iter, memmem};

/// A text to look for in a file.
///
/// A text with LF line ends also matches CRLF ones, so a twin of the other kind cannot hide: both are hits. A text
/// that says CRLF is looked for as it is.
pub(super) struct Needle<'a> {
    hay: &'a [u8],
    old: &'a [u8],
}

impl<'a> Needle<'a> {
    pub(super) fn new(hay: &'a [u8], old: &'a [u8]) -> Self {
        Self { hay, old }
    }

    /// Finds the text: exactly once, or, where all are wanted, as often as it occurs without overlapping.
    pub(super) fn hits(&self, all: bool) -> Hits {
        let any_eol = self.old.contains(&b'\n') && !self.old.contains(&b'\r');
        if any_eol && memmem::find(self.hay, b"\r\n").is_some() {
            let folded = Folded::new(self.hay);
            return found(&folded.text, self.old, all, |hit| folded.raw(hit.start)..folded.raw(hit.end));
        }
        found(self.hay, self.old, all, |hit| hit)
    }
}

/// Occurrences of a text.
pub(super) enum Hits {
    /// Those to replace: none, one, or all.
    Apart(Vec<Range<usize>>),
    /// Too many: the first of them, and how many there are.
    Several { first: Vec<Range<usize>>, count: Count, overlapping: bool },
}

/// A number of occurrences, counted as far as anybody cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    Exactly(usize),
    AtLeast(usize),
}

/// Occurrences that are counted at most, and of which the places are told.
const COUNTED: usize = 1_000;
const TOLD: usize = 20;

fn found(hay: &[u8], old: &[u8], all: bool, raw: impl Fn(Range<usize>) -> Range<usize>) -> Hits {
    let hit = |start: usize| start..start + old.len();
    if all {
        let finder = memmem::Finder::new(old);
        let apart: Vec<usize> = finder.find_iter(hay).collect();
        // Another occurrence that begins inside of one of these: then it is not clear which are meant.
        let overlaps = |start: &usize| {
            let around = &hay[start + 1..(start + 2 * old.len() - 1).min(hay.len())];
            finder.find(around).is_some()
        };
        if !apart.iter().any(overlaps) {
            return Hits::Apart(apart.into_iter().map(|start| raw(hit(start))).collect());
        }
    }
    let first: Vec<usize> = starts(hay, old).take(COUNTED + 1).collect();
    if first.len() < 2 {
        return Hits::Apart(first.into_iter().map(|start| raw(hit(start))).collect());
    }
    let count = if first.len() > COUNTED { Count::AtLeast(COUNTED) } else { Count::Exactly(first.len()) };
    let first = first.into_iter().take(TOLD).map(|start| raw(hit(start))).collect();
    Hits::Several { first, count, overlapping: all }
}

/// Returns the start of every occurrence, overlapping ones too.
pub(super) fn starts<'a>(hay: &'a [u8], needle: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let finder = memmem::Finder::new(needle);
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + finder.find(hay.get(from..)?)?;
        from = at + 1;
        Some(at)
    })
}

/// A text with every CRLF folded to LF, and the way back to raw offsets.
struct Folded {
    text: Vec<u8>,
    /// Offsets in `text` of the LFs that had a CR before them.
    crs: Vec<usize>,
}

impl Folded {
    fn new(raw: &[u8]) -> Self {
        let mut text = Vec::with_capacity(raw.len());
        let mut crs = Vec::new();
        let mut from = 0;
        for at in memchr_iter(b'\r', raw) {
            if raw.get(at + 1) == Some(&b'\n') {
                text.extend_from_slice(&raw[from..at]);
                crs.push(text.len());
                from = at + 1;
            }
        }
        text.extend_from_slice(&raw[from..]);
        Self { text, crs }
    }

    /// Returns the raw offset of a folded one; of a folded CRLF that is the CR.
    fn raw(&self, at: usize) -> usize {
        at + self.crs.partition_point(|cr| *cr < at)
    }
}

/// Gives the line ends of `new` the EOL of the lines they replace: the i-th that of the i-th replaced line, further
/// ones that of the last replaced one; where none is replaced, that of the line around, else the file's only EOL.
///
/// A text that says CRLF itself is put as it is.
pub(super) fn with_eol_of(text: &[u8], hit: &Range<usize>, new: &[u8], eol: Eol) -> Vec<u8> {
    if !super::has_crlf(eol) || new.contains(&b'\r') || !new.contains(&b'\n') {
        return new.to_vec();
    }
    let mut replaced: Vec<bool> =
        memchr_iter(b'\n', &text[hit.clone()]).map(|at| is_crlf(text, hit.start + at)).collect();
    if eol == Eol::Crlf {
        // Every line end is one: there is nothing to look for.
        replaced = vec![true];
    } else if replaced.is_empty() {
        let below = memchr::memchr(b'\n', &text[hit.end..]).map(|at| hit.end + at);
        let around = below.or_else(|| memchr::memrchr(b'\n', &text[..hit.start]));
        replaced.push(around.is_some_and(|at| is_crlf(text, at)));
    }
    let mut out = Vec::with_capacity(new.len() + 8);
    for (index, line) in new.split(|byte| *byte == b'\n').enumerate() {
        if let Some(before) = index.checked_sub(1) {
            let crlf = replaced.get(before).or(replaced.last()).copied().unwrap_or(false);
            out.extend_from_slice(if crlf { b"\r\n" } else { b"\n" });
        }
        out.extend_from_slice(line);
    }
    out
}

fn is_crlf(text: &[u8], lf: usize) -> bool {
    lf.checked_sub(1).is_some_and(|before| text[before] == b'\r')
}

/// Returns the number of the line that holds the offset, from 1.
pub(super) fn line_of(text: &[u8], at: usize) -> u64 {
    1 + memchr_iter(b'\n', &text[..at]).count() as u64
}
