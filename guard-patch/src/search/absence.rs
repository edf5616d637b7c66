//! Knowing without an index that a pattern is nowhere.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

use memchr::memmem;

use crate::lines::Lines;
use crate::tier::{self, Tier};

/// What is known of the file and the patterns.
#[derive(Debug, Default)]
pub(super) struct Absence {
    ascii: OnceCell<bool>,
    /// By pattern: whether the bytes of its longest line are nowhere in the file.
    absent: RefCell<HashMap<usize, bool>>,
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
        let absent = *self.absent.borrow_mut().entry(pattern).or_insert_with(|| {
            let longest = texts.map(|text| tier::trimmed(text.as_bytes())).filter(|text| text.is_ascii());
            let longest = longest.max_by_key(|text| text.len()).unwrap_or_default();
            memmem::find(lines.bytes(), longest).is_none()
        });
        absent && (tier < Tier::Unicode || *self.ascii.get_or_init(|| lines.bytes().is_ascii()))
    }
}
