//! Where a chunk that was not found comes closest, for messages only.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt::Write as _;

use memchr::{memchr, memmem};

use crate::anchor::Region;
use crate::diagnostic::Closest;
use crate::lines::Lines;
use crate::tier::{self, Tier};

/// The bytes that may be looked through for the messages of one Update, beside one pass over the file.
const LEAST: usize = 1 << 20;

/// The bytes at the beginning of a region in which a line is looked for that is alike.
const ALIKE: usize = 1 << 18;

/// How many lines of a chunk are looked for, and at how many places each.
const LINES: usize = 16;
const PLACES: usize = 16;

/// Finds closest places until its work is used up.
pub(crate) struct Closeness<'f> {
    lines: &'f Lines<'f>,
    left: Cell<usize>,
}

impl<'f> Closeness<'f> {
    pub(crate) fn new(lines: &'f Lines<'f>) -> Self {
        Self { lines, left: Cell::new(LEAST + lines.bytes().len()) }
    }

    /// Returns the place at which most lines of a pattern stand, and how the first that does not differs.
    ///
    /// Among places that are alike those inside the region come first.
    pub(crate) fn closest(&self, pattern: &[&str], region: &Region) -> Option<Closest> {
        let mut votes: HashMap<usize, usize> = HashMap::new();
        // Long lines tell most.
        let mut telling: Vec<usize> = (0..pattern.len()).filter(|line| !blank(pattern[*line])).collect();
        telling.sort_by_key(|line| std::cmp::Reverse(tier::trimmed(pattern[*line].as_bytes()).len()));
        for offset in telling.iter().take(LINES) {
            for line in self.places(pattern[*offset]) {
                if let Some(start) = line.checked_sub(*offset) {
                    *votes.entry(start).or_default() += 1;
                }
            }
        }
        let most = votes
            .into_iter()
            .max_by_key(|(start, count)| (*count, region.contains(*start), std::cmp::Reverse(*start)));
        let start = if let Some((start, _)) = most {
            start
        } else {
            // No line stands anywhere: the line that is most like the first one.
            let first = *telling.iter().min()?;
            let alike = self.most_alike(pattern, first, region);
            alike.or_else(|| self.most_alike(pattern, first, &Region::whole()))?
        };
        self.compare(pattern, start)
    }

    fn spend(&self, work: usize) -> bool {
        let left = self.left.get().checked_sub(work);
        self.left.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Returns some lines of the file that fit a line of the patch when blanks are taken off.
    fn places(&self, text: &str) -> Vec<usize> {
        let bytes = self.lines.bytes();
        let finder = memmem::Finder::new(tier::trimmed(text.as_bytes()));
        let mut places = Vec::new();
        let mut from = 0;
        while places.len() < PLACES && self.spend(1) {
            let found = finder.find(&bytes[from..]);
            if !self.spend(found.unwrap_or(bytes.len() - from)) {
                break;
            }
            let Some(at) = found else { break };
            let line = self.lines.line_at(from + at);
            if line >= self.lines.len() {
                break;
            }
            if tier::equal(Tier::Indentation, self.lines.content(line), text.as_bytes()) {
                places.push(line);
            }
            from = self.lines.start(line + 1);
        }
        places
    }

    /// Returns where the pattern would begin if one of its lines were the line of the file that is most like it.
    fn most_alike(&self, pattern: &[&str], offset: usize, region: &Region) -> Option<usize> {
        let wanted = tier::trimmed(pattern[offset].as_bytes());
        let bytes = self.lines.bytes();
        // Without an index, which a large file may not have so far.
        let first = region.starts.first().map_or(0, |range| range.start);
        let start = |line: usize| self.lines.start(line.min(self.lines.len()));
        let mut at = if first == 0 { self.lines.first_start() } else { start(first + offset) };
        let end = match region.starts.last() {
            Some(last) if last.end < usize::MAX => start(last.end + offset),
            _ => bytes.len(),
        };
        let stop = end.min(at + ALIKE);
        let mut best = (0, None);
        while at < stop {
            let end = memchr(b'\n', &bytes[at..stop]).map_or(stop, |end| at + end);
            let text = tier::trimmed(bytes[at..end].strip_suffix(b"\r").unwrap_or(&bytes[at..end]));
            if !self.spend(text.len() + 8) {
                break;
            }
            let alike = alike(wanted, text);
            // At least half of the longer one.
            if alike * 2 >= wanted.len().max(text.len()) && alike > best.0 {
                best = (alike, Some(at));
            }
            at = end + 1;
        }
        let start = self.lines.line_at(best.1?).checked_sub(offset)?;
        region.contains(start).then_some(start)
    }

    fn compare(&self, pattern: &[&str], start: usize) -> Option<Closest> {
        let file = |offset: usize| {
            let line = start + offset;
            (line < self.lines.len()).then(|| self.lines.content(line))
        };
        let fits = |tier, offset, text: &str| {
            file(offset).is_some_and(|line| tier::equal(tier, line, text.as_bytes()))
        };
        let numbered = || pattern.iter().copied().enumerate();
        let fitting = numbered().filter(|(offset, text)| fits(Tier::Unicode, *offset, text)).count();
        // What no tier forgives comes before what a tier does.
        let differs = |tier| numbered().find(|(offset, text)| !fits(tier, *offset, text));
        let (offset, text) = differs(Tier::Unicode).or_else(|| differs(Tier::Exact))?;
        Some(Closest {
            file_line: start + 1,
            fitting,
            of: pattern.len(),
            differs_at: start + offset + 1,
            difference: difference(file(offset), text),
        })
    }
}

fn blank(text: &str) -> bool {
    tier::trimmed(text.as_bytes()).is_empty()
}

/// Returns how many bytes two lines share at both ends.
fn alike(one: &[u8], other: &[u8]) -> usize {
    let head = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let (one, other) = (&one[head..], &other[head..]);
    head + one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count()
}

/// Says how a line of the file differs from a line of the patch.
fn difference(file: Option<&[u8]>, patch: &str) -> String {
    let Some(file) = file else { return format!("the file ends before `{}`", visible(patch.as_bytes())) };
    let kind = Tier::ALL.into_iter().find(|tier| tier::equal(*tier, file, patch.as_bytes()));
    let kind = match kind {
        Some(Tier::Exact) => "nothing",
        Some(Tier::TrailingBlanks) => "only blanks at the end of the line",
        Some(Tier::Indentation) => "only the indentation",
        Some(Tier::Unicode) => "only the form of Unicode characters",
        None => "the text",
    };
    format!("{kind}: the file has `{}`, the patch `{}`", visible(file), visible(patch.as_bytes()))
}

/// The most characters of a line that are shown.
const SHOWN: usize = 160;

/// Makes visible what cannot be seen: blanks at both ends, tabs, a CR, what is not ASCII, what is not UTF-8.
pub(crate) fn visible(line: &[u8]) -> String {
    let mut out = String::new();
    let indentation = tier::indentation(line).len();
    let text = indentation + tier::trimmed(line).len();
    let mut at = 0;
    let mut shown = 0;
    for chunk in line.utf8_chunks() {
        for c in chunk.valid().chars() {
            if shown >= SHOWN {
                out.push('…');
                return out;
            }
            shown += 1;
            match c {
                ' ' if at < indentation || at >= text => out.push('·'),
                '\t' => out.push('→'),
                '\r' => out.push('␍'),
                ' '..='~' => out.push(c),
                c if c.is_alphanumeric() && c.len_utf8() > 1 => out.push(c),
                c => {
                    let _ = write!(out, "\\u{{{:x}}}", c as u32);
                }
            }
            at += c.len_utf8();
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
            at += 1;
            shown += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_made_visible() {
        for (line, expected) in [
            (&b"  a b \t"[..], "··a b·→"),
            ("\ta\u{2019}s\r".as_bytes(), "→a\\u{2019}s␍"),
            (b"caf\xe9", "caf\\xe9"),
            ("café e\u{301}".as_bytes(), "café e\\u{301}"),
        ] {
            assert_eq!(visible(line), expected);
        }
    }
}
