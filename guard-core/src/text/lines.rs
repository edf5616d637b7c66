//! Pages of lines over bytes.

use std::ops::Range;

use memchr::memchr_iter;

use super::escape::cut_at;

/// What one page may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    /// First line, from 1.
    pub(crate) first: u64,
    /// Lines at most.
    pub(crate) lines: u64,
    /// Bytes at most; one line is delivered all the same.
    pub(crate) bytes: u64,
    /// Bytes of one line at most.
    pub(crate) line_bytes: u64,
}

/// One line of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// Its number, from 1.
    pub(crate) number: u64,
    /// Its bytes as far as they are delivered, with the EOL unless it was cut.
    pub(crate) shown: Range<usize>,
    /// What was cut off, the EOL included; empty where nothing was.
    pub(crate) cut: Range<usize>,
}

/// A page of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Paged {
    /// Its lines.
    pub(crate) lines: Vec<Line>,
    /// Lines of the whole text; the empty text has none.
    pub(crate) total: u64,
}

/// Cuts a page out of a text.
pub(crate) fn page(text: &[u8], window: Window) -> Paged {
    let mut paged = Paged { lines: Vec::new(), total: 0 };
    let mut room = window.bytes;
    let mut full = false;
    let mut start = 0;
    let ends = memchr_iter(b'\n', text).map(|at| at + 1);
    let unterminated = (!text.is_empty() && !text.ends_with(b"\n")).then_some(text.len());
    for end in ends.chain(unterminated) {
        paged.total += 1;
        let wanted = paged.total >= window.first && (paged.lines.len() as u64) < window.lines;
        if wanted && !full {
            let line = &text[start..end];
            let shown = if line.len() as u64 > window.line_bytes {
                cut_at(line, window.line_bytes as usize)
            } else {
                line.len()
            };
            full = shown as u64 > room && !paged.lines.is_empty();
            if !full {
                room = room.saturating_sub(shown as u64);
                let middle = start + shown;
                paged.lines.push(Line { number: paged.total, shown: start..middle, cut: middle..end });
            }
        }
        start = end;
    }
    paged
}
