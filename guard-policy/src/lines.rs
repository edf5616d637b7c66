//! Hashes of lines: they tell which lines of a file differ from what was seen, and hold nothing of its content.

use std::fmt::Write as _;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{Digest, Ranges};

/// The lines of one version, each with where it ends and a hash of its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lines(Vec<Line>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line {
    end: u64,
    hash: u64,
}

impl Lines {
    /// A version with more lines has only its digest.
    pub const MAX: usize = 50_000;

    /// Takes the lines of a version: for each the bytes that are hashed, and how many bytes of the file they are.
    ///
    /// `first` is where the first line begins. Returns nothing where there are more than [`Lines::MAX`].
    pub fn new<'a>(first: u64, lines: impl IntoIterator<Item = (&'a [u8], u64)>) -> Option<Self> {
        let mut end = first;
        let mut all = Vec::new();
        for (bytes, len) in lines {
            if all.len() == Self::MAX {
                return None;
            }
            end += len;
            all.push(Line { end, hash: hash(bytes) });
        }
        Some(Self(all))
    }

    /// Takes the lines of a text, each with its line ending.
    #[must_use]
    pub fn of(text: &[u8]) -> Option<Self> {
        Self::new(0, text.split_inclusive(|byte| *byte == b'\n').map(|line| (line, line.len() as u64)))
    }

    /// Returns the hashes in order.
    #[must_use]
    pub fn hashes(&self) -> impl ExactSizeIterator<Item = u64> {
        self.0.iter().map(|line| line.hash)
    }

    /// Returns the hashes of the lines of which every byte is in `covered`.
    #[must_use]
    pub fn within(&self, covered: &Ranges) -> LineHashes {
        let mut hashes = LineHashes::default();
        let mut ranges = covered.iter();
        let mut range = ranges.next();
        let mut start = 0;
        for (number, line) in (1..).zip(&self.0) {
            while range.as_ref().is_some_and(|range| range.end < line.end) {
                range = ranges.next();
            }
            if range.as_ref().is_some_and(|range| range.start <= start) {
                hashes.push(number, line.hash);
            }
            start = line.end;
        }
        hashes
    }
}

/// Hashes of the lines of one version that were delivered, by line number: 64 bits of the SHA-256 of each line.
///
/// They describe a difference and decide nothing. Their stored form is a list of runs: the number of the first line, and
/// the hashes in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(try_from = "Vec<(u64, String)>", into = "Vec<(u64, String)>")]
pub struct LineHashes(Vec<Run>);

/// Lines that follow each other.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Run {
    first: u64,
    hashes: Vec<u64>,
}

impl LineHashes {
    /// Tells whether no line is known.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the hashes of the known lines, in order.
    pub fn hashes(&self) -> impl Iterator<Item = u64> {
        self.0.iter().flat_map(|run| run.hashes.iter().copied())
    }

    /// Returns the runs of known lines, by line number.
    pub fn runs(&self) -> impl Iterator<Item = Range<u64>> {
        self.0.iter().map(|run| run.first..run.first + run.hashes.len() as u64)
    }

    fn push(&mut self, number: u64, hash: u64) {
        match self.0.last_mut() {
            Some(run) if run.first + run.hashes.len() as u64 == number => run.hashes.push(hash),
            _ => self.0.push(Run { first: number, hashes: vec![hash] }),
        }
    }
}

impl From<LineHashes> for Vec<(u64, String)> {
    fn from(hashes: LineHashes) -> Self {
        let hex = |hashes: Vec<u64>| {
            hashes.into_iter().fold(String::new(), |mut text, hash| {
                // Writing into a text does not fail.
                let _ = write!(text, "{hash:016x}");
                text
            })
        };
        hashes.0.into_iter().map(|run| (run.first, hex(run.hashes))).collect()
    }
}

impl TryFrom<Vec<(u64, String)>> for LineHashes {
    type Error = String;

    fn try_from(runs: Vec<(u64, String)>) -> Result<Self, String> {
        let mut hashes = Self::default();
        let mut next = 1;
        for (first, hex) in runs {
            if first < next || first > u64::MAX / 2 {
                return Err(format!("line {first} is not behind the lines before it"));
            }
            next = first;
            for chunk in hex.as_bytes().chunks(16) {
                let hash = std::str::from_utf8(chunk).ok().filter(|text| text.len() == 16);
                let hash = hash.and_then(|text| u64::from_str_radix(text, 16).ok());
                hashes.push(next, hash.ok_or_else(|| format!("{hex:?} is no list of hashes"))?);
                next += 1;
            }
        }
        Ok(hashes)
    }
}

fn hash(line: &[u8]) -> u64 {
    let digest = Digest::of(line);
    digest.raw().iter().take(8).fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranges(parts: &[(u64, u64)]) -> Ranges {
        let mut ranges = Ranges::new();
        for (start, end) in parts {
            ranges.insert(*start..*end);
        }
        ranges
    }

    #[test]
    fn only_lines_that_were_delivered_as_a_whole_are_known() {
        let lines = Lines::of(b"a\nbb\nccc\nd").unwrap();
        let known = |parts: &[(u64, u64)]| {
            lines.within(&ranges(parts)).runs().map(|run| (run.start, run.end)).collect::<Vec<_>>()
        };
        assert_eq!(known(&[(0, 10)]), [(1, 5)]);
        assert_eq!(known(&[(0, 2)]), [(1, 2)]);
        assert_eq!(known(&[(0, 4)]), [(1, 2)], "a part of a line is no line");
        assert_eq!(known(&[(1, 5)]), [(2, 3)]);
        assert_eq!(known(&[(0, 2), (5, 10)]), [(1, 2), (3, 5)]);
        assert_eq!(known(&[(0, 1), (1, 2)]), [(1, 2)], "windows that add up to a line are one");
        assert_eq!(known(&[]), []);
        let whole: Vec<u64> = lines.hashes().collect();
        assert_eq!(lines.within(&ranges(&[(5, 10)])).hashes().collect::<Vec<_>>(), whole[2..]);
        assert_eq!(Lines::of(b"").unwrap().within(&ranges(&[(0, 1)])), LineHashes::default());
    }

    #[test]
    fn more_lines_than_the_limit_have_only_their_digest() {
        let limit = "\n".repeat(Lines::MAX);
        assert_eq!(Lines::of(limit.as_bytes()).unwrap().hashes().len(), Lines::MAX);
        assert_eq!(Lines::of(format!("{limit}\n").as_bytes()), None);
    }

    #[test]
    fn the_stored_form_is_read_again_and_a_wrong_one_refused() {
        let lines = Lines::of(b"a\nbb\nccc\nd").unwrap();
        let known = lines.within(&ranges(&[(0, 2), (5, 10)]));
        let json = serde_json::to_string(&known).unwrap();
        assert_eq!(serde_json::from_str::<LineHashes>(&json).unwrap(), known);
        assert!(!json.contains("ccc"));
        for wrong in [
            r#"[[0,"0000000000000001"]]"#,
            r#"[[2,"0000000000000001"],[2,"0000000000000001"]]"#,
            r#"[[1,"000000000000001"]]"#,
            r#"[[1,"000000000000000g"]]"#,
            r#"[[18446744073709551615,"00000000000000010000000000000001"]]"#,
        ] {
            assert!(serde_json::from_str::<LineHashes>(wrong).is_err(), "{wrong}");
        }
    }
}
