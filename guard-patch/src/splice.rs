//! Writing a file anew with some of its lines replaced.

use std::borrow::Cow;
use std::ops::Range;

use crate::lines::{Eol, Lines};

/// Lines of a file that others replace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    /// The first line that goes; the line before which the new ones are put.
    pub(crate) at: usize,
    /// How many lines go.
    pub(crate) removed: usize,
    /// The new lines, as a range of those that are given along.
    pub(crate) inserted: Range<usize>,
    pub(crate) last: LastLine,
}

/// How the last new line ends, if it is the last of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastLine {
    /// As the file ended.
    AsBefore,
    /// With an end of line.
    Terminated,
    /// Without one.
    Unterminated,
}

/// Which ends new lines get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// Those of the lines that they replace, else of the line above, else those of most lines.
    Inherited,
    /// That of the file's first line, also for a last line without one.
    First,
}

/// Writes the file; edits are in order and apart from each other.
pub(crate) fn splice(lines: &Lines<'_>, edits: &[Edit], inserted: &[Cow<'_, [u8]>], ends: Ends) -> Vec<u8> {
    let added: usize = inserted.iter().map(|line| line.len() + 2).sum();
    let mut out =
        Out { lines, bytes: Vec::with_capacity(lines.bytes().len() + added), above: None, open: false };
    out.bytes.extend_from_slice(&lines.bytes()[..lines.first_start()]);
    let mut at = 0;
    for edit in edits {
        out.copy(at..edit.at);
        at = edit.at + edit.removed;
        let count = edit.inserted.len();
        for (number, text) in inserted[edit.inserted.clone()].iter().enumerate() {
            let last = number + 1 == count && at == lines.len();
            let unterminated = match edit.last {
                LastLine::AsBefore => ends == Ends::Inherited && lines.unterminated(),
                LastLine::Terminated => false,
                LastLine::Unterminated => true,
            };
            let eol = match ends {
                Ends::First => lines.first(),
                Ends::Inherited if number < edit.removed => lines.eol(edit.at + number),
                Ends::Inherited => None,
            };
            out.line(text, eol, last && unterminated);
        }
    }
    out.copy(at..lines.len());
    if ends == Ends::First {
        out.close(lines.first());
    }
    out.bytes
}

struct Out<'l, 'f> {
    lines: &'l Lines<'f>,
    bytes: Vec<u8>,
    /// The end of the last line that has one.
    above: Option<Eol>,
    /// Whether the last line has no end.
    open: bool,
}

impl Out<'_, '_> {
    fn copy(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        self.close(None);
        let (first, last) = (range.start, range.end - 1);
        self.bytes
            .extend_from_slice(&self.lines.bytes()[self.lines.start(first)..self.lines.start(range.end)]);
        let eol = self.lines.eol(last);
        self.open = eol.is_none();
        let above = eol.or_else(|| if last > first { self.lines.eol(last - 1) } else { None });
        self.above = above.or(self.above);
    }

    fn line(&mut self, text: &[u8], eol: Option<Eol>, unterminated: bool) {
        self.close(None);
        self.bytes.extend_from_slice(text);
        self.open = true;
        if !unterminated {
            self.close(eol);
        }
    }

    /// Ends the last line if it has no end; what it is not told it takes from the line above, else from most lines.
    fn close(&mut self, eol: Option<Eol>) {
        if std::mem::take(&mut self.open) {
            let eol = eol.or(self.above).or(self.lines.majority()).unwrap_or(Eol::Lf);
            self.bytes.extend_from_slice(eol.bytes());
            self.above = Some(eol);
        }
    }
}
