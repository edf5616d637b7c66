//! A file's bytes as lines.

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

/// An index of the lines of a file; a byte order mark belongs to none of them.
#[derive(Debug)]
pub(crate) struct Lines<'f> {
    bytes: &'f [u8],
    /// Where each line starts, and where the last one ends.
    starts: Vec<usize>,
    cr_ends: bool,
    /// The end that every line with an end has, if there is only one kind.
    uniform: Option<Eol>,
    first: Option<Eol>,
    majority: Option<Eol>,
}

impl<'f> Lines<'f> {
    pub(crate) fn new(bytes: &'f [u8], lone_cr: LoneCr) -> Self {
        let start = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
        let cr = memchr(b'\r', bytes).is_some();
        let lf = memchr(b'\n', bytes).is_some();
        let cr_ends = cr && (lone_cr == LoneCr::Ends || !lf);
        let mut starts = vec![start];
        // LF, CRLF, CR.
        let mut counts = [0usize; 3];
        if cr_ends {
            for at in memchr2_iter(b'\r', b'\n', bytes) {
                if bytes[at] == b'\r' && bytes.get(at + 1) == Some(&b'\n') {
                    continue;
                }
                starts.push(at + 1);
                counts[match bytes[at] {
                    b'\r' => 2,
                    _ => usize::from(at > 0 && bytes[at - 1] == b'\r'),
                }] += 1;
            }
        } else if cr {
            for at in memchr_iter(b'\n', bytes) {
                starts.push(at + 1);
                counts[usize::from(at > 0 && bytes[at - 1] == b'\r')] += 1;
            }
        } else {
            starts.extend(memchr_iter(b'\n', bytes).map(|at| at + 1));
            counts[0] = starts.len() - 1;
        }
        if starts.last().is_some_and(|last| *last < bytes.len()) {
            starts.push(bytes.len());
        }
        let mut lines = Self { bytes, starts, cr_ends, uniform: None, first: None, majority: None };
        lines.first = if lines.is_empty() { None } else { lines.eol(0) };
        let kinds = [(Eol::Lf, counts[0]), (Eol::CrLf, counts[1]), (Eol::Cr, counts[2])];
        let most = counts.iter().max().copied().unwrap_or_default();
        if counts.iter().filter(|count| **count > 0).count() == 1 {
            lines.uniform = lines.first;
        }
        // A tie is decided by the first line.
        let first = kinds.iter().find(|(kind, count)| *count == most && Some(*kind) == lines.first);
        let found = first.or_else(|| kinds.iter().find(|(_, count)| *count == most && most > 0));
        lines.majority = found.map(|(kind, _)| *kind);
        lines
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) const fn bytes(&self) -> &'f [u8] {
        self.bytes
    }

    /// Returns where a line starts; for the line after the last: where the file ends.
    pub(crate) fn start(&self, line: usize) -> usize {
        self.starts[line]
    }

    /// Returns the line in which a byte stands.
    pub(crate) fn line_at(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start <= byte).saturating_sub(1)
    }

    fn whole(&self, line: usize) -> &'f [u8] {
        &self.bytes[self.starts[line]..self.starts[line + 1]]
    }

    /// Returns a line without its end.
    pub(crate) fn content(&self, line: usize) -> &'f [u8] {
        let whole = self.whole(line);
        &whole[..whole.len() - self.eol(line).map_or(0, |eol| eol.bytes().len())]
    }

    /// Returns the end of a line; only the last line may have none.
    pub(crate) fn eol(&self, line: usize) -> Option<Eol> {
        match self.whole(line) {
            [.., b'\r', b'\n'] => Some(Eol::CrLf),
            [.., b'\n'] => Some(Eol::Lf),
            [.., b'\r'] if self.cr_ends => Some(Eol::Cr),
            _ => None,
        }
    }

    /// Says whether the file has lines and its last one has no end.
    pub(crate) fn unterminated(&self) -> bool {
        !self.is_empty() && self.eol(self.len() - 1).is_none()
    }

    /// Returns the one end that all lines have; `None` if they differ, or none has an end.
    pub(crate) const fn uniform(&self) -> Option<Eol> {
        self.uniform
    }

    /// Returns the end of the first line.
    pub(crate) const fn first(&self) -> Option<Eol> {
        self.first
    }

    /// Returns the end that most lines have.
    pub(crate) const fn majority(&self) -> Option<Eol> {
        self.majority
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
