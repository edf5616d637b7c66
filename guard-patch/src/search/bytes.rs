//! The exact tier, over bytes, in a file whose lines all end alike.

use memchr::memmem;

use crate::lines::{Eol, Lines};

/// Returns the first place of a pattern at a line or below it.
///
/// The ends of lines are part of what is searched: the one before the pattern as well, so that it begins at a line's
/// start, and the one behind it, so that it ends with a line.
pub(super) fn next<'p>(
    lines: &Lines<'_>,
    eol: Eol,
    texts: impl ExactSizeIterator<Item = &'p str>,
    from: usize,
) -> Option<usize> {
    let count = texts.len();
    let mut needle = Vec::from(eol.bytes());
    for text in texts {
        needle.extend_from_slice(text.as_bytes());
        needle.extend_from_slice(eol.bytes());
    }
    let eol = eol.bytes().len();
    let (bytes, start) = (lines.bytes(), lines.start(from));
    // The first line has no line before it.
    if from == 0 && bytes[start..].starts_with(&needle[eol..]) {
        return Some(0);
    }
    let window = if from == 0 { start } else { start - eol };
    if let Some(at) = memmem::find(&bytes[window..], &needle) {
        return Some(lines.line_at(window + at + eol));
    }
    // The last line may have no end.
    let place = lines.len().checked_sub(count).filter(|place| *place >= from && lines.unterminated())?;
    (bytes[lines.start(place)..] == needle[eol..needle.len() - eol]).then_some(place)
}
