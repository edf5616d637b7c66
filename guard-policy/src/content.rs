//! One classifier of content, for reading and for writing.

use memchr::{memchr, memchr_iter};
use serde::{Deserialize, Serialize};

/// What the bytes of a file are, judged on all bytes at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ContentClass {
    /// UTF-8, with or without a BOM, and no NUL.
    Text,
    /// UTF-16 with a BOM that decodes and encodes back to the same bytes, and no NUL in what it says.
    Utf16,
    /// No NUL, not UTF-8 (a legacy encoding).
    Bytes,
    /// Holds a NUL.
    Binary,
}

impl ContentClass {
    /// Every class.
    pub const ALL: &'static [Self] = &[Self::Text, Self::Utf16, Self::Bytes, Self::Binary];
}

/// The line endings of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Eol {
    /// No line ending at all.
    None,
    /// Every line ends with LF.
    Lf,
    /// Every line ends with CRLF.
    Crlf,
    /// LF and CRLF both occur (a lone CR is data).
    Mixed,
}

/// What a whole content looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct TextShape {
    /// The class.
    pub class: ContentClass,
    /// The line endings; of UTF-16 those of the decoded text, of binary content `None`.
    pub eol: Eol,
    /// The byte-order mark that it begins with; of binary content `None`.
    pub bom: Bom,
}

/// A byte-order mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Bom {
    /// None.
    None,
    /// That of UTF-8, `EF BB BF`.
    Utf8,
    /// That of little-endian UTF-16, `FF FE`.
    Utf16Le,
    /// That of big-endian UTF-16, `FE FF`.
    Utf16Be,
}

impl Bom {
    /// The length of a UTF-16 mark in bytes.
    pub const LEN_UTF16: u64 = 2;

    /// Tells whether there is a mark.
    #[must_use]
    pub const fn is_some(self) -> bool {
        !matches!(self, Self::None)
    }

    fn of(bytes: &[u8]) -> Self {
        match bytes {
            [0xEF, 0xBB, 0xBF, ..] => Self::Utf8,
            [0xFF, 0xFE, ..] => Self::Utf16Le,
            [0xFE, 0xFF, ..] => Self::Utf16Be,
            _ => Self::None,
        }
    }
}

const UTF8_BOM: &[u8] = &[0xEF, 0xBB, 0xBF];
const UTF16_LE_BOM: &[u8] = &[0xFF, 0xFE];
const UTF16_BE_BOM: &[u8] = &[0xFE, 0xFF];

/// Classifies a whole content.
///
/// # Examples
///
/// ```
/// use guard_policy::{Bom, ContentClass, Eol, classify};
///
/// let shape = classify(b"\xEF\xBB\xBFone\r\ntwo\r\n");
/// assert_eq!((shape.class, shape.eol, shape.bom), (ContentClass::Text, Eol::Crlf, Bom::Utf8));
/// assert_eq!(classify(b"caf\xE9").class, ContentClass::Bytes);
/// assert_eq!(classify(b"SQLite format 3\0").class, ContentClass::Binary);
/// ```
#[must_use]
pub fn classify(bytes: &[u8]) -> TextShape {
    judge(bytes, Cut::No)
}

/// Classifies the beginning of a content that goes on: a character that the end of the sample cuts in two is not
/// held against it.
///
/// The class is that of the content if nothing after the sample says otherwise; only [`classify`] establishes it.
#[must_use]
pub fn classify_sample(beginning: &[u8]) -> ContentClass {
    judge(beginning, Cut::AtEnd).class
}

/// Whether the bytes are a whole content.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    No,
    AtEnd,
}

fn judge(bytes: &[u8], cut: Cut) -> TextShape {
    if let Some(eol) = utf16_eol(bytes, cut) {
        return TextShape { class: ContentClass::Utf16, eol, bom: Bom::of(bytes) };
    }
    if memchr(0, bytes).is_some() {
        return TextShape { class: ContentClass::Binary, eol: Eol::None, bom: Bom::None };
    }
    let class = match std::str::from_utf8(bytes) {
        Ok(_) => ContentClass::Text,
        // `error_len` is `None` where the input ended inside a character.
        Err(error) if cut == Cut::AtEnd && error.error_len().is_none() => ContentClass::Text,
        Err(_) => ContentClass::Bytes,
    };
    // In a legacy encoding the bytes FF FE are two characters, and no mark.
    let bom = if bytes.starts_with(UTF8_BOM) { Bom::Utf8 } else { Bom::None };
    TextShape { class, eol: eol_of(bytes), bom }
}

fn eol_of(bytes: &[u8]) -> Eol {
    let (mut lf, mut crlf) = (false, false);
    for at in memchr_iter(b'\n', bytes) {
        let after_cr = at > 0 && bytes[at - 1] == b'\r';
        crlf |= after_cr;
        lf |= !after_cr;
        if lf && crlf {
            break;
        }
    }
    Eol::of(lf, crlf)
}

impl Eol {
    const fn of(lf: bool, crlf: bool) -> Self {
        match (lf, crlf) {
            (false, false) => Self::None,
            (true, false) => Self::Lf,
            (false, true) => Self::Crlf,
            (true, true) => Self::Mixed,
        }
    }
}

/// Returns the line endings if `bytes` are UTF-16 with a BOM.
///
/// Well-formed UTF-16 encodes back to the same units, so that decoding without an error is the whole proof. A
/// decoded NUL is no text (UTF-32 LE begins with the same two bytes as UTF-16 LE, and has them everywhere).
fn utf16_eol(bytes: &[u8], cut: Cut) -> Option<Eol> {
    let unit: fn([u8; 2]) -> u16 = match bytes.get(..2)? {
        UTF16_LE_BOM => u16::from_le_bytes,
        UTF16_BE_BOM => u16::from_be_bytes,
        _ => return None,
    };
    let (pairs, odd) = bytes[2..].as_chunks::<2>();
    if !odd.is_empty() && cut == Cut::No {
        return None;
    }
    let (mut lf, mut crlf, mut before) = (false, false, '\0');
    let mut left = pairs.len();
    for decoded in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))) {
        match decoded {
            Ok('\0') => return None,
            Ok(c) => {
                left -= c.len_utf16();
                if c == '\n' {
                    crlf |= before == '\r';
                    lf |= before != '\r';
                }
                before = c;
            }
            // A high surrogate whose other half is beyond the sample.
            Err(error) if cut == Cut::AtEnd && left == 1 && error.unpaired_surrogate() < 0xDC00 => break,
            Err(_) => return None,
        }
    }
    Some(Eol::of(lf, crlf))
}

/// Tells whether `text` is a display of a file: a gutter on every non-blank line, with consecutive numbers, three
/// lines or more.
///
/// Gutters are `{n:>6}` and a tab (our own display, and that of `cat -n`), and `n|`, `n→` and `n: ` with or without
/// padding, as other tools show files; one text has one kind. Before a tab the padding is demanded, because a
/// table of tab-separated values whose first column counts from 1 is common and has none.
#[must_use]
pub fn is_tool_echo(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let Some((mark, first)) = lines.next().and_then(gutter) else { return false };
    let mut expected = first;
    let mut count = 1_u32;
    for line in lines {
        expected = expected.wrapping_add(1);
        if gutter(line) != Some((mark, expected)) {
            return false;
        }
        count = count.saturating_add(1);
    }
    count >= 3
}

/// The width to which our own display pads line numbers.
const GUTTER: usize = 6;

/// Returns the kind and the number of a line's gutter.
fn gutter(line: &str) -> Option<(char, u64)> {
    let unpadded = line.trim_start_matches(' ');
    let digits = unpadded.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = unpadded.split_at(digits);
    let mark = rest.chars().next()?;
    let width = line.len() - rest.len();
    let fits = match mark {
        '\t' => width == GUTTER.max(digits),
        '|' | '→' => true,
        ':' => rest == ":" || rest.starts_with(": "),
        _ => false,
    };
    // A line number has no leading zero.
    (fits && !number.starts_with('0')).then(|| number.parse().ok().map(|number| (mark, number)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_content_has_one_class_and_its_eol_facts() {
        use ContentClass::{Binary, Bytes, Text, Utf16};
        let utf16 = |text: &str, order: fn(u16) -> [u8; 2]| -> Vec<u8> {
            std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(order).collect()
        };
        let cases: &[(&[u8], ContentClass, Eol, bool)] = &[
            (b"", Text, Eol::None, false),
            (b"one", Text, Eol::None, false),
            (b"one\n", Text, Eol::Lf, false),
            (b"one\r\ntwo\r\n", Text, Eol::Crlf, false),
            (b"one\r\ntwo\n", Text, Eol::Mixed, false),
            (b"one\ntwo\r\n", Text, Eol::Mixed, false),
            (b"one\rtwo\r", Text, Eol::None, false),
            (b"one\rtwo\n", Text, Eol::Lf, false),
            (b"\n\r\n", Text, Eol::Mixed, false),
            (b"\r\r\n", Text, Eol::Crlf, false),
            (b"\xEF\xBB\xBF", Text, Eol::None, true),
            (b"\xEF\xBB\xBFx\n", Text, Eol::Lf, true),
            ("grün\n".as_bytes(), Text, Eol::Lf, false),
            (b"\x1b[0m\x07\n", Text, Eol::Lf, false),
            (b"gr\xFCn\r\n", Bytes, Eol::Crlf, false),
            (b"\xEF\xBB\xBFgr\xFCn", Bytes, Eol::None, true),
            // A character that ends too early is not UTF-8 when it is the whole content.
            (b"gr\xC3", Bytes, Eol::None, false),
            (b"\xED\xA0\x80", Bytes, Eol::None, false),
            (b"\0", Binary, Eol::None, false),
            (b"SQLite format 3\0\n", Binary, Eol::None, false),
            (b"\xEF\xBB\xBF\0", Binary, Eol::None, false),
            (b"\xFF\xFE", Utf16, Eol::None, true),
            (b"\xFE\xFF", Utf16, Eol::None, true),
            (&utf16("a\r\nb\r\n", u16::to_le_bytes), Utf16, Eol::Crlf, true),
            (&utf16("a\nb\r\n", u16::to_be_bytes), Utf16, Eol::Mixed, true),
            (&utf16("😀 a\rb\n", u16::to_be_bytes), Utf16, Eol::Lf, true),
            // U+0A0D and U+0D0A are no line endings.
            (&utf16("\u{0A0D}\u{0D0A}", u16::to_le_bytes), Utf16, Eol::None, true),
            // Odd length, unpaired surrogates and a NUL in the text are not UTF-16.
            (b"\xFF\xFEa", Bytes, Eol::None, false),
            (b"\xFF\xFEa\0b", Binary, Eol::None, false),
            (b"\xFF\xFE\x01\xD8", Bytes, Eol::None, false),
            (b"\xFF\xFE\x01\xDC\x01\xD8", Bytes, Eol::None, false),
            (&utf16("a\0b", u16::to_le_bytes), Binary, Eol::None, false),
            // UTF-32 LE with its BOM.
            (b"\xFF\xFE\0\0a\0\0\0", Binary, Eol::None, false),
            // UTF-16 without a BOM.
            (b"a\0b\0", Binary, Eol::None, false),
        ];
        for (bytes, class, eol, bom) in cases {
            let bom = if *bom { Bom::of(bytes) } else { Bom::None };
            let expected = TextShape { class: *class, eol: *eol, bom };
            assert_eq!(classify(bytes), expected, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_character_cut_at_a_samples_edge_is_not_held_against_it() {
        let text = "aé€😀\n".repeat(3);
        for end in 0..=text.len() {
            assert_eq!(classify_sample(&text.as_bytes()[..end]), ContentClass::Text, "UTF-8 cut at {end}");
        }
        let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
        let utf16: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
        for end in 2..=utf16.len() {
            assert_eq!(classify_sample(&utf16[..end]), ContentClass::Utf16, "UTF-16 cut at {end}");
        }
    }

    #[test]
    fn a_sample_with_a_wrong_character_inside_is_what_it_is() {
        for (sample, class) in [
            (&b"gr\xFCn"[..], ContentClass::Bytes),
            (b"gr\xC3n", ContentClass::Bytes),
            (b"\0gr\xC3", ContentClass::Binary),
            // A low surrogate cannot be the first half of a pair.
            (b"\xFF\xFE\x01\xDC", ContentClass::Bytes),
            // A high surrogate that something else follows.
            (b"\xFF\xFE\x01\xD8a\x01", ContentClass::Bytes),
            (b"\xFF\xFE\x01\xD8a\0", ContentClass::Binary),
        ] {
            assert_eq!(classify_sample(sample), class, "{}", sample.escape_ascii());
        }
    }

    #[test]
    fn a_display_of_a_file_is_recognised_and_a_table_is_not() {
        let display = |from: u64| {
            let lines: Vec<String> = (from..from + 4).map(|n| format!("{n:>6}\tlet x = {n};")).collect();
            lines.join("\n")
        };
        for (text, echo) in [
            (display(1).as_str(), true),
            (&display(98), true),
            (&display(99_998), true),
            (&display(999_998), true),
            (&display(1_000_000), true),
            ("     1\ta\r\n     2\t\r\n     3\tc\r\n", true),
            ("     1\ta\n\n     2\tb\n     3\tc", true),
            ("1|a\n2|b\n3|c\n", true),
            (" 9|a\n10|b\n11|c\n", true),
            ("1→a\n2→b\n3→c\n", true),
            ("     1→a\n     2→\n     3→c\n", true),
            ("7: a\n8:\n9: c\n", true),
            // Two lines are too few.
            ("     1\ta\n     2\tb\n", false),
            ("", false),
            ("\n\n\n", false),
            // Not consecutive, not on every line, not of one kind.
            ("     1\ta\n     3\tb\n     4\tc\n", false),
            ("     1\ta\n     1\tb\n     1\tc\n", false),
            ("     3\ta\n     2\tb\n     1\tc\n", false),
            ("     1\ta\n     2\tb\nc\n     3\td\n", false),
            ("1|a\n2: b\n3|c\n", false),
            // Tab-separated values with ids, padded to another width or not at all.
            ("1\tann\n2\tbob\n3\tcy\n", false),
            ("  1\tann\n  2\tbob\n  3\tcy\n", false),
            ("      1\tann\n      2\tbob\n      3\tcy\n", false),
            ("000001\ta\n000002\tb\n000003\tc\n", false),
            ("01|a\n02|b\n03|c\n", false),
            // Lists, times and other numbers.
            ("1. a\n2. b\n3. c\n", false),
            ("1) a\n2) b\n3) c\n", false),
            ("1:30\n2:30\n3:30\n", false),
            ("1\n2\n3\n", false),
            ("1,a\n2,b\n3,c\n", false),
            ("\t1\ta\n\t2\tb\n\t3\tc\n", false),
            ("|a\n|b\n|c\n", false),
            ("99999999999999999999|a\n1|b\n2|c\n", false),
            ("18446744073709551615|a\n0|b\n1|c\n", false),
        ] {
            assert_eq!(is_tool_echo(text), echo, "{text:?}");
        }
    }
}
