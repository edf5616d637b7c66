//! How alike two lines have to be.

use unicode_normalization::UnicodeNormalization;

/// How well a line of the patch fits a line of the file; each tier also accepts what the ones before it accept.
///
/// The end of a line (LF, CRLF) is never compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// The bytes are equal.
    Exact,
    /// Equal but for blanks (spaces and tabs) at the end of the line.
    TrailingBlanks,
    /// Equal but for blanks at both ends of the line.
    /// The old lines have to be in the file exactly once, and new lines get the file's indentation.
    Indentation,
    /// As [`Tier::Indentation`], and equal after Unicode normalisation (NFC), with typographic dashes, quotes, ellipses
    /// and spaces read as their ASCII forms.
    /// The old lines have to be in the file exactly once.
    Unicode,
}

impl Tier {
    /// Every tier, the strictest first.
    pub const ALL: [Self; 4] = [Self::Exact, Self::TrailingBlanks, Self::Indentation, Self::Unicode];

    /// Returns the next stricter tier.
    pub(crate) const fn stricter(self) -> Option<Self> {
        match self {
            Self::Exact => None,
            Self::TrailingBlanks => Some(Self::Exact),
            Self::Indentation => Some(Self::TrailingBlanks),
            Self::Unicode => Some(Self::Indentation),
        }
    }

    /// Returns a stable kebab-case name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::TrailingBlanks => "trailing-blanks",
            Self::Indentation => "indentation",
            Self::Unicode => "unicode",
        }
    }
}

/// Returns a line as a tier compares it; `None` if no line of a patch can be equal to it.
///
/// Each tier's key is a function of the key before, so that what is equal at one tier is equal at all looser ones.
pub(crate) fn key<'l>(tier: Tier, line: &'l [u8], scratch: &'l mut Vec<u8>) -> Option<&'l [u8]> {
    match tier {
        Tier::Exact => Some(line),
        Tier::TrailingBlanks => Some(without_trailing(line)),
        Tier::Indentation => Some(trimmed(line)),
        Tier::Unicode => unicode(trimmed(line), scratch),
    }
}

/// Says whether two lines are equal at a tier.
pub(crate) fn equal(tier: Tier, one: &[u8], other: &[u8]) -> bool {
    let (mut here, mut there) = (Vec::new(), Vec::new());
    match (key(tier, one, &mut here), key(tier, other, &mut there)) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

/// Says whether a line's key at a tier certainly is its key at the stricter tier.
pub(crate) const fn is_same(tier: Tier, line: &[u8]) -> bool {
    match (tier, line) {
        (Tier::TrailingBlanks, [.., edge]) | (Tier::Indentation, [edge, ..]) => !is_blank(*edge),
        (Tier::Exact, _) | (Tier::TrailingBlanks | Tier::Indentation, []) => true,
        (Tier::Unicode, line) => line.is_ascii(),
    }
}

const fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn without_trailing(mut line: &[u8]) -> &[u8] {
    while let [rest @ .., last] = line
        && is_blank(*last)
    {
        line = rest;
    }
    line
}

/// Returns the blanks at the beginning of a line.
pub(crate) fn indentation(line: &[u8]) -> &[u8] {
    let blanks = line.iter().take_while(|byte| is_blank(**byte)).count();
    &line[..blanks]
}

/// Takes the blanks off both ends of a line.
pub(crate) fn trimmed(line: &[u8]) -> &[u8] {
    let line = without_trailing(line);
    &line[indentation(line).len()..]
}

fn unicode<'l>(line: &'l [u8], scratch: &'l mut Vec<u8>) -> Option<&'l [u8]> {
    if line.is_ascii() {
        return Some(line);
    }
    // A line of a patch is UTF-8, so what is none equals no line of a patch.
    let text = std::str::from_utf8(line).ok()?;
    scratch.clear();
    let mut buffer = [0; 4];
    for c in text.nfc() {
        match c {
            '\u{2010}'..='\u{2015}' | '\u{2212}' => scratch.push(b'-'),
            '\u{2018}'..='\u{201b}' => scratch.push(b'\''),
            '\u{201c}'..='\u{201f}' => scratch.push(b'"'),
            '\u{2026}' => scratch.extend_from_slice(b"..."),
            '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => scratch.push(b' '),
            c => scratch.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes()),
        }
    }
    Some(trimmed(scratch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_tier_at_which_lines_are_equal() {
        for (one, other, expected) in [
            ("a", "a", Some(Tier::Exact)),
            ("a \t", "a", Some(Tier::TrailingBlanks)),
            (" a", "\ta ", Some(Tier::Indentation)),
            ("", "  ", Some(Tier::TrailingBlanks)),
            ("e\u{301}", "\u{e9}", Some(Tier::Unicode)),
            ("a \u{2013} b", "a - b", Some(Tier::Unicode)),
            ("\u{201c}a\u{201d}\u{2026}", "\"a\"...", Some(Tier::Unicode)),
            ("it\u{2019}s", "it's", Some(Tier::Unicode)),
            ("\u{a0}a\u{3000}b", "a b", Some(Tier::Unicode)),
            ("a b", "a  b", None),
            ("a", "A", None),
            ("a\r", "a", None),
        ] {
            let tier = Tier::ALL.into_iter().find(|tier| equal(*tier, one.as_bytes(), other.as_bytes()));
            assert_eq!(tier, expected, "{one:?} {other:?}");
        }
        assert!(!equal(Tier::Unicode, b"caf\xe9", "café".as_bytes()));
    }
}
