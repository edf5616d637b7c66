//! Knowing without an index that a pattern is nowhere, or not before a byte.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

use memchr::memmem;

use crate::lines::Lines;
use crate::tier::{self, Tier};

/// CRLF.
const LONGEST_END: usize = 2;

/// What is known of the file and the patterns.
#[derive(Debug, Default)]
pub(super) struct Absence {
    ascii: OnceCell<bool>,
    /// By pattern: where its longest line is first seen, and how many bytes the pattern may have up to its end.
    seen: RefCell<HashMap<usize, Option<(usize, usize)>>>,
}

impl Absence {
    /// Says whether a pattern is certainly nowhere at a tier; `false` says nothing.
    ///
    /// Where a line of the patch fits at a tier that only takes blanks off, its trimmed bytes stand in the file.
    /// At the Unicode tier that is so for lines of ASCII, and a file of ASCII has no others.
    pub(super) fn is_certain<'p>(
        &self,
        lines: &Lines<'_>,
        pattern: usize,
        texts: impl Iterator<Item = &'p str>,
        tier: Tier,
    ) -> bool {
        let absent = self.seen(lines, pattern, texts).is_none();
        absent && (tier < Tier::Unicode || *self.ascii.get_or_init(|| lines.bytes().is_ascii()))
    }

    /// Returns a byte before which a pattern, with the end of the line above it, certainly does not stand at the exact
    /// tier.
    pub(super) fn not_before<'p>(
        &self,
        lines: &Lines<'_>,
        pattern: usize,
        texts: impl Iterator<Item = &'p str>,
    ) -> usize {
        let Some((at, before)) = self.seen(lines, pattern, texts) else { return lines.bytes().len() };
        at.saturating_sub(before + LONGEST_END)
    }

    fn seen<'p>(
        &self,
        lines: &Lines<'_>,
        pattern: usize,
        texts: impl Iterator<Item = &'p str>,
    ) -> Option<(usize, usize)> {
        *self.seen.borrow_mut().entry(pattern).or_insert_with(|| {
            let (mut longest, mut before, mut bytes): (&[u8], usize, usize) = (&[], 0, 0);
            for text in texts {
                bytes += text.len() + LONGEST_END;
                let text = tier::trimmed(text.as_bytes());
                if text.is_ascii() && text.len() > longest.len() {
                    (longest, before) = (text, bytes);
                }
            }
            memmem::find(lines.bytes(), longest).map(|at| (at, before))
        })
    }
}
