//! The exact tier, over bytes, in a file whose lines all end alike.

use memchr::memmem;

use crate::lines::{Eol, Lines};

/// Where a search begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// At the file's first line; nothing is known to fit before a byte.
    Top(usize),
    /// At a line that has one above it.
    Line(usize),
}

/// Returns the first place of a pattern.
///
/// The ends of lines are part of what is searched: the one before the pattern as well, so that it begins at a line's
/// start, and the one behind it, so that it ends with a line.
pub(super) fn next<'p>(
    lines: &Lines<'_>,
    eol: Eol,
    texts: impl Iterator<Item = &'p str>,
    from: From,
) -> Option<usize> {
    let mut needle = Vec::from(eol.bytes());
    for text in texts {
        needle.extend_from_slice(text.as_bytes());
        needle.extend_from_slice(eol.bytes());
    }
    let eol = eol.bytes().len();
    let (bytes, first) = (lines.bytes(), lines.first_start());
    let window = match from {
        // The first line has no line before it.
        From::Top(_) if bytes[first..].starts_with(&needle[eol..]) => return Some(0),
        From::Top(byte) => byte.max(first),
        From::Line(line) => lines.start(line) - eol,
    };
    if let Some(at) = memmem::find(&bytes[window..], &needle) {
        return Some(lines.line_at(window + at + eol));
    }
    // The last line may have no end; it is not empty then.
    let open = &needle[eol..needle.len() - eol];
    if open.is_empty() || !lines.unterminated() {
        return None;
    }
    let start =
        bytes.len().checked_sub(open.len()).filter(|start| *start >= first && bytes.ends_with(open))?;
    let line = lines.line_at(start);
    let admitted = match from {
        From::Top(_) => true,
        From::Line(from) => line >= from,
    };
    (lines.start(line) == start && admitted).then_some(line)
}
