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

    /// Returns every occurrence, overlapping ones too, in order.
    pub(super) fn hits(&self) -> Vec<Range<usize>> {
        let len = self.old.len();
        let any_eol = self.old.contains(&b'\n') && !self.old.contains(&b'\r');
        if !any_eol || memmem::find(self.hay, b"\r\n").is_none() {
            return count_exact(self.hay, self.old).into_iter().map(|start| start..start + len).collect();
        }
        let folded = Folded::new(self.hay);
        count_exact(&folded.text, self.old)
            .into_iter()
            .map(|start| folded.raw(start)..folded.raw(start + len))
            .collect()
    }
}

/// Returns the start of every occurrence, overlapping ones too.
pub(super) fn count_exact(hay: &[u8], needle: &[u8]) -> Vec<usize> {
    let finder = memmem::Finder::new(needle);
    let mut starts = Vec::new();
    let mut from = 0;
    while let Some(at) = hay.get(from..).and_then(|rest| finder.find(rest)) {
        starts.push(from + at);
        from += at + 1;
    }
    starts
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
    if replaced.is_empty() {
        let below = memchr::memchr(b'\n', &text[hit.end..]).map(|at| hit.end + at);
        let around = below.or_else(|| memchr::memrchr(b'\n', &text[..hit.start]));
        replaced.push(around.map_or(eol == Eol::Crlf, |at| is_crlf(text, at)));
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
