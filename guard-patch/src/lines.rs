//! A file's bytes as lines.

use std::cell::OnceCell;

use memchr::{memchr, memchr_iter, memchr2_iter};

/// The end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Eol {
    Lf,
    CrLf,
    Cr,
}

impl Eol {
    pub(crate) const fn bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
            Self::Cr => b"\r",
        }
    }
}

/// What a CR is that no LF follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoneCr {
    /// Data, unless the file has no LF at all.
    Data,
    /// The end of a line.
    Ends,
}

const BOM: &[u8] = b"\xef\xbb\xbf";

/// The lines of a file; a byte order mark belongs to none of them.
#[derive(Debug)]
pub(crate) struct Lines<'f> {
    bytes: &'f [u8],
    /// Where the first line starts.
    start: usize,
    cr: bool,
    cr_ends: bool,
    index: OnceCell<Index>,
}

/// Where lines start and how they end; what is not found needs none.
#[derive(Debug)]
struct Index {
    /// Where each line starts, and where the last one ends.
    starts: Vec<usize>,
    /// The end that every line with an end has, if there is only one kind.
    uniform: Option<Eol>,
    majority: Option<Eol>,
}

impl<'f> Lines<'f> {
    pub(crate) fn new(bytes: &'f [u8], lone_cr: LoneCr) -> Self {
        let start = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
        let cr = memchr(b'\r', bytes).is_some();
        let cr_ends = cr && (lone_cr == LoneCr::Ends || memchr(b'\n', bytes).is_none());
        Self { bytes, start, cr, cr_ends, index: OnceCell::new() }
    }

    fn index(&self) -> &Index {
        self.index.get_or_init(|| {
            let mut starts = Vec::with_capacity(self.estimate());
            starts.push(self.start);
            // LF, CRLF, CR.
            let mut counts = [0usize; 3];
            if self.cr_ends {
                for at in memchr2_iter(b'\r', b'\n', self.bytes) {
                    let crlf = at > 0 && self.bytes[at - 1] == b'\r';
                    match self.bytes[at] {
                        b'\r' if self.bytes.get(at + 1) == Some(&b'\n') => continue,
                        b'\r' => counts[2] += 1,
                        _ => counts[usize::from(crlf)] += 1,
                    }
                    starts.push(at + 1);
                }
            } else if self.cr {
                for at in memchr_iter(b'\n', self.bytes) {
                    starts.push(at + 1);
                    counts[usize::from(at > 0 && self.bytes[at - 1] == b'\r')] += 1;
                }
            } else {
                starts.extend(memchr_iter(b'\n', self.bytes).map(|at| at + 1));
                counts[0] = starts.len() - 1;
            }
            if self.unterminated() {
                starts.push(self.bytes.len());
            }
            let kinds = [(Eol::Lf, counts[0]), (Eol::CrLf, counts[1]), (Eol::Cr, counts[2])];
            let most = counts.iter().max().copied().unwrap_or_default();
            let mut often = kinds.iter().filter(|(_, count)| *count == most && most > 0).map(|(eol, _)| *eol);
            // A tie is decided by the first line.
            let first = starts.get(1).and_then(|end| self.end_of(&self.bytes[starts[0]..*end]));
            let majority = often.clone().find(|eol| Some(*eol) == first).or_else(|| often.next());
            let uniform = majority.filter(|_| counts.iter().filter(|count| **count > 0).count() == 1);
            Index { starts, uniform, majority }
        })
    }

    /// Guesses the number of lines from the first ones, so that the index seldom grows.
    fn estimate(&self) -> usize {
        const SAMPLE: usize = 1 << 14;
        let sample = &self.bytes[..self.bytes.len().min(SAMPLE)];
        let lines = memchr_iter(b'\n', sample).count() + 2;
        lines * (self.bytes.len() / sample.len().max(1) + 1) / 7 * 8 + 8
    }

    /// Returns the end of a whole line.
    fn end_of(&self, whole: &[u8]) -> Option<Eol> {
        match whole {
            [.., b'\r', b'\n'] => Some(Eol::CrLf),
            [.., b'\n'] => Some(Eol::Lf),
            [.., b'\r'] if self.cr_ends => Some(Eol::Cr),
            _ => None,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.index().starts.len() - 1
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) const fn bytes(&self) -> &'f [u8] {
        self.bytes
    }

    /// Returns where a line starts; for the line after the last: where the file ends.
    pub(crate) fn start(&self, line: usize) -> usize {
        self.index().starts[line]
    }

    /// Returns where the first line starts, behind the byte order mark.
    pub(crate) const fn first_start(&self) -> usize {
        self.start
    }

    /// Returns the line in which a byte stands.
    pub(crate) fn line_at(&self, byte: usize) -> usize {
        self.index().starts.partition_point(|start| *start <= byte).saturating_sub(1)
    }

    fn whole(&self, line: usize) -> &'f [u8] {
        let starts = &self.index().starts;
        &self.bytes[starts[line]..starts[line + 1]]
    }

    /// Returns a line without its end.
    pub(crate) fn content(&self, line: usize) -> &'f [u8] {
        let whole = self.whole(line);
        &whole[..whole.len() - self.eol(line).map_or(0, |eol| eol.bytes().len())]
    }

    /// Returns the end of a line; only the last line may have none.
    pub(crate) fn eol(&self, line: usize) -> Option<Eol> {
        self.end_of(self.whole(line))
    }

    /// Says whether the file has lines and its last one has no end.
    pub(crate) fn unterminated(&self) -> bool {
        let ended = match self.bytes[self.start..].last() {
            Some(b'\r') => self.cr_ends,
            Some(last) => *last == b'\n',
            None => true,
        };
        !ended
    }

    /// Returns the one end that all lines have; `None` if they differ, or none has an end.
    pub(crate) fn uniform(&self) -> Option<Eol> {
        if self.cr { self.index().uniform } else { memchr(b'\n', self.bytes).map(|_| Eol::Lf) }
    }

    /// Returns the end of the first line.
    pub(crate) fn first(&self) -> Option<Eol> {
        if self.is_empty() { None } else { self.eol(0) }
    }

    /// Returns the end that most lines have.
    pub(crate) fn majority(&self) -> Option<Eol> {
        self.index().majority
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_with_their_ends() {
        use Eol::{Cr, CrLf, Lf};
        let cases: [(&[u8], LoneCr, &[(&[u8], Option<Eol>)], Option<Eol>, Option<Eol>); 12] = [
            (b"", LoneCr::Data, &[], None, None),
            (b"\xef\xbb\xbf", LoneCr::Data, &[], None, None),
            (b"a", LoneCr::Data, &[(b"a", None)], None, None),
            (b"a\n\nb", LoneCr::Data, &[(b"a", Some(Lf)), (b"", Some(Lf)), (b"b", None)], Some(Lf), Some(Lf)),
            (b"\xef\xbb\xbfa\n", LoneCr::Data, &[(b"a", Some(Lf))], Some(Lf), Some(Lf)),
            (b"a\r\nb\r\n", LoneCr::Data, &[(b"a", Some(CrLf)), (b"b", Some(CrLf))], Some(CrLf), Some(CrLf)),
            (b"a\r\nb\n", LoneCr::Data, &[(b"a", Some(CrLf)), (b"b", Some(Lf))], None, Some(CrLf)),
            (b"a\nb\r\n", LoneCr::Data, &[(b"a", Some(Lf)), (b"b", Some(CrLf))], None, Some(Lf)),
            (b"a\rb\n", LoneCr::Data, &[(b"a\rb", Some(Lf))], Some(Lf), Some(Lf)),
            (b"a\nb\r", LoneCr::Data, &[(b"a", Some(Lf)), (b"b\r", None)], Some(Lf), Some(Lf)),
            (b"a\rb", LoneCr::Data, &[(b"a", Some(Cr)), (b"b", None)], Some(Cr), Some(Cr)),
            (
                b"a\rb\r\nc\n",
                LoneCr::Ends,
                &[(b"a", Some(Cr)), (b"b", Some(CrLf)), (b"c", Some(Lf))],
                None,
                Some(Cr),
            ),
        ];
        for (bytes, lone_cr, expected, uniform, majority) in cases {
            let lines = Lines::new(bytes, lone_cr);
            let got: Vec<_> = (0..lines.len()).map(|line| (lines.content(line), lines.eol(line))).collect();
            assert_eq!(got, expected, "{bytes:?}");
            assert_eq!((lines.uniform(), lines.majority()), (uniform, majority), "{bytes:?}");
        }
    }
}
