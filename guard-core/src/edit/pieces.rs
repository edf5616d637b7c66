//! A file under edit: pieces of the old text and new ones between them.

use std::collections::VecDeque;
use std::ops::Range;

use guard_policy::Splice;

/// The old text cut into kept ranges, with new texts between them.
pub(crate) struct Pieces<'a, M> {
    base: &'a [u8],
    parts: Vec<Piece>,
    places: usize,
    measure: M,
}

#[derive(Debug, Clone)]
enum Piece {
    Kept(Range<usize>),
    New(Vec<u8>),
}

/// The result of the edits.
pub(crate) struct Edited {
    /// All bytes, as UTF-8 (or the file's raw bytes).
    pub(crate) bytes: Vec<u8>,
    /// What was replaced, in offsets of the file as it is stored.
    pub(crate) splices: Vec<Splice>,
    /// How many places were replaced.
    pub(crate) places: usize,
}

impl Piece {
    fn len(&self) -> usize {
        match self {
            Self::Kept(range) => range.len(),
            Self::New(bytes) => bytes.len(),
        }
    }

    /// Cuts the piece into what is before and what is from `at`, relative to its start.
    fn cut(self, at: usize) -> (Self, Self) {
        match self {
            Self::Kept(range) => {
                let middle = range.start + at;
                (Self::Kept(range.start..middle), Self::Kept(middle..range.end))
            }
            Self::New(mut bytes) => {
                let rest = bytes.split_off(at);
                (Self::New(bytes), Self::New(rest))
            }
        }
    }
}

impl<'a, M: Fn(&[u8]) -> u64> Pieces<'a, M> {
    pub(crate) fn new(base: &'a [u8], measure: M) -> Self {
        Self { base, parts: vec![Piece::Kept(0..base.len())], places: 0, measure }
    }

    /// Returns the text as it is now.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.parts.iter().map(Piece::len).sum());
        for piece in &self.parts {
            bytes.extend_from_slice(match piece {
                Piece::Kept(range) => &self.base[range.clone()],
                Piece::New(new) => new,
            });
        }
        bytes
    }

    /// Replaces ranges of the text as it is now: sorted and disjoint, in one pass.
    pub(crate) fn replace(&mut self, replacements: impl Iterator<Item = (Range<usize>, Vec<u8>)>) {
        let mut rest = VecDeque::from(std::mem::take(&mut self.parts));
        let mut at = 0;
        for (range, new) in replacements {
            take(&mut rest, range.start - at, |piece| self.parts.push(piece));
            take(&mut rest, range.len(), drop);
            self.parts.push(Piece::New(new));
            self.places += 1;
            at = range.end;
        }
        self.parts.extend(rest);
    }

    /// Ends the edits. `lead` is the number of stored bytes before the text (a UTF-16 BOM).
    pub(crate) fn finish(self, lead: u64) -> Edited {
        let measured = |range: Range<usize>| (self.measure)(&self.base[range]);
        let mut splices: Vec<Splice> = Vec::new();
        // Where the last kept piece ended, in the old text and as it is stored.
        let (mut end, mut stored) = (0, lead);
        let mut new_len = 0;
        let last = Piece::Kept(self.base.len()..self.base.len());
        for piece in self.parts.iter().chain([&last]) {
            match piece {
                Piece::New(new) => new_len += (self.measure)(new),
                Piece::Kept(range) => {
                    let start = stored + measured(end..range.start);
                    if new_len > 0 || start > stored {
                        splices.push(Splice { old: stored..start, new_len });
                    }
                    new_len = 0;
                    stored = start + measured(range.clone());
                    end = range.end;
                }
            }
        }
        Edited { bytes: self.bytes(), splices, places: self.places }
    }
}

/// Takes so many bytes off the front, cutting the piece that they end in.
fn take(rest: &mut VecDeque<Piece>, mut count: usize, mut each: impl FnMut(Piece)) {
    while count > 0
        && let Some(piece) = rest.pop_front()
    {
        if piece.len() <= count {
            count -= piece.len();
            each(piece);
        } else {
            let (before, after) = piece.cut(count);
            each(before);
            rest.push_front(after);
            count = 0;
        }
    }
}
