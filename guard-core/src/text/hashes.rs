//! Which lines of a file differ from those that were seen, by hashes.

use std::collections::HashSet;
use std::ops::Range;

use guard_policy::{Bom, Changed, ContentClass, LineHashes, LineSpan, Lines, TextShape};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::utf16;

/// How many spans of lines are named.
const SPANS: usize = 20;

/// The most work that is done to find out which lines moved; above, a line that was seen anywhere is the same.
const WORK: usize = 4_000_000;

/// Hashes the lines of a text; nothing of binary content, and of more lines than are kept.
pub(crate) fn lines(bytes: &[u8], shape: TextShape) -> Option<Lines> {
    match shape.class {
        ContentClass::Binary => None,
        ContentClass::Text | ContentClass::Bytes => Lines::of(bytes),
        ContentClass::Utf16 => {
            let text = utf16::decode(bytes)?;
            let lines = text.split_inclusive('\n').map(str::as_bytes);
            Lines::new(Bom::LEN_UTF16, lines.map(|line| (line, utf16::encoded_len(line))))
        }
    }
}

/// Completes what is said of a changed file with the lines that differ.
pub(crate) fn compare(seen: &LineHashes, now: &Lines, changed: &Changed) -> Changed {
    let (old, new): (Vec<u64>, Vec<u64>) = (seen.hashes().collect(), now.hashes().collect());
    let (different, gone) = difference(&old, &new);
    let more = different.len() > SPANS;
    let span = |lines: Range<usize>| LineSpan { first: lines.start as u64 + 1, last: lines.end as u64 };
    let lines = different.into_iter().take(SPANS).map(span).collect();
    Changed { seen: changed.seen, now: changed.now, lines, more, gone: Some(gone) }
}

/// Returns the lines of `new` that have no counterpart in `old`, and how many of `old` have none in `new`.
fn difference(old: &[u64], new: &[u64]) -> (Vec<Range<usize>>, u64) {
    let same = |pair: &(&u64, &u64)| pair.0 == pair.1;
    let start = old.iter().zip(new).take_while(same).count();
    let end = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(same).count();
    let (old, middle) = (&old[start..old.len() - end], &new[start..new.len() - end]);
    let mut different: Vec<Range<usize>> = Vec::new();
    let mut gone = 0;
    let mut note = |lines: Range<usize>| match different.last_mut() {
        Some(last) if last.end == lines.start => last.end = lines.end,
        _ if lines.is_empty() => {}
        _ => different.push(lines),
    };
    if old.len().saturating_mul(middle.len()) > WORK {
        let (known, there): (HashSet<u64>, HashSet<u64>) =
            (old.iter().copied().collect(), middle.iter().copied().collect());
        for (at, _) in middle.iter().enumerate().filter(|(_, hash)| !known.contains(hash)) {
            note(start + at..start + at + 1);
        }
        gone = old.iter().filter(|hash| !there.contains(hash)).count();
    } else {
        for op in capture_diff_slices(Algorithm::Myers, old, middle) {
            if !matches!(op, DiffOp::Equal { .. }) {
                let lines = op.new_range();
                gone += op.old_range().len().saturating_sub(lines.len());
                note(start + lines.start..start + lines.end);
            }
        }
    }
    (different, gone as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first and the last line of each, from 0, and how many are gone.
    fn spans(old: &[u64], new: &[u64]) -> (Vec<(usize, usize)>, u64) {
        let (different, gone) = difference(old, new);
        (different.into_iter().map(|lines| (lines.start, lines.end - 1)).collect(), gone)
    }

    #[test]
    fn the_lines_that_differ_are_those_without_a_counterpart() {
        assert_eq!(spans(&[1, 2, 3], &[1, 2, 3]), (vec![], 0));
        assert_eq!(spans(&[1, 2, 3], &[1, 9, 3]), (vec![(1, 1)], 0));
        assert_eq!(spans(&[1, 2, 3], &[1, 3]), (vec![], 1));
        assert_eq!(spans(&[1, 3], &[1, 2, 3]), (vec![(1, 1)], 0));
        assert_eq!(spans(&[], &[1, 2]), (vec![(0, 1)], 0));
        assert_eq!(spans(&[1, 2], &[]), (vec![], 2));
        assert_eq!(spans(&[1, 2, 3, 4, 5], &[9, 2, 3, 4, 8, 7]), (vec![(0, 0), (4, 5)], 0));
        assert_eq!(spans(&[1, 1, 1], &[1, 1]), (vec![], 1));
    }

    #[test]
    fn what_would_take_too_long_is_told_by_membership() {
        let old: Vec<u64> = (0..10_000).collect();
        let mut new: Vec<u64> = old.iter().rev().copied().collect();
        assert_eq!(spans(&old, &new), (vec![], 0), "lines that only moved were all seen");
        new[5_000] = 77_777;
        assert_eq!(spans(&old, &new), (vec![(5_000, 5000)], 1));
    }
}
