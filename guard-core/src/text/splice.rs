//! What was replaced between two versions of a file.

use guard_policy::Splice;
use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};

/// Returns the replaced ranges, in offsets of the old version, by whole lines.
///
/// Lines that are kept are the same bytes in both, so what is outside the splices was not touched, however the lines
/// are paired.
pub(crate) fn between(old: &[u8], new: &[u8]) -> Vec<Splice> {
    let (old_lines, new_lines) = (lines(old), lines(new));
    // A pairing that is cut short is a coarser one, and as true.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(1);
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old_lines, &new_lines, Some(deadline));
    let (old_at, new_at) = (offsets(&old_lines), offsets(&new_lines));
    ops.iter()
        .filter(|op| op.tag() != DiffTag::Equal)
        .map(|op| {
            let (from, to) = (op.old_range(), op.new_range());
            Splice { old: old_at[from.start]..old_at[from.end], new_len: new_at[to.end] - new_at[to.start] }
        })
        .collect()
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

fn offsets(lines: &[&[u8]]) -> Vec<u64> {
    let ends = lines.iter().scan(0, |at, line| {
        *at += line.len() as u64;
        Some(*at)
    });
    std::iter::once(0).chain(ends).collect()
}
