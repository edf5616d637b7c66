//! Lines that begin with `@@`.

use super::BLANKS;

/// What a line that begins with `@@` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Header<'a> {
    /// The anchor's text; `None` if there is none.
    pub(crate) text: Option<&'a str>,
    /// The first old line's number.
    pub(crate) hint: Option<usize>,
    /// Whether line numbers were there.
    pub(crate) numbers: bool,
    /// Whether an `@@` at the end was dropped.
    pub(crate) tail: bool,
}

/// Reads what stands after `@@`; `None` if there is neither nothing nor a blank.
pub(crate) fn read(rest: &str) -> Option<Header<'_>> {
    if rest.trim_matches(BLANKS).is_empty() {
        return Some(Header::default());
    }
    let text = rest.strip_prefix(BLANKS)?;
    if let Some((hint, after)) = numbers(text) {
        let text = after.strip_prefix(BLANKS).unwrap_or(after);
        let text = Some(text).filter(|text| !text.trim_matches(BLANKS).is_empty());
        return Some(Header { text, hint: Some(hint), numbers: true, tail: false });
    }
    // `@@ text @@`, and `@@ @@` with nothing between.
    let trimmed = text.trim_end_matches(BLANKS);
    let (text, tail) = match trimmed.strip_suffix("@@") {
        Some("") => ("", true),
        Some(before) if before.ends_with(BLANKS) => (before.trim_end_matches(BLANKS), true),
        _ => (text, false),
    };
    Some(Header { text: Some(text).filter(|text| !text.is_empty()), hint: None, numbers: false, tail })
}

/// Reads `-a,b +c,d @@` and returns `a` and what follows.
fn numbers(text: &str) -> Option<(usize, &str)> {
    let (old, rest) = range(text.strip_prefix('-')?)?;
    let (_, rest) = range(rest.strip_prefix(" +")?)?;
    let rest = rest.strip_prefix(" @@")?;
    (rest.is_empty() || rest.starts_with(BLANKS)).then_some((old, rest))
}

/// Reads `a` or `a,b` and returns `a` and what follows.
fn range(text: &str) -> Option<(usize, &str)> {
    let (start, rest) = number(text)?;
    match rest.strip_prefix(',') {
        Some(rest) => number(rest).map(|(_, rest)| (start, rest)),
        None => Some((start, rest)),
    }
}

fn number(text: &str) -> Option<(usize, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    Some((number.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read() {
        let header = |text, hint, numbers, tail| Some(Header { text, hint, numbers, tail });
        for (rest, expected) in [
            ("", header(None, None, false, false)),
            ("\t", header(None, None, false, false)),
            ("  ", header(None, None, false, false)),
            ("x", None),
            ("@@", None),
            (" def f():", header(Some("def f():"), None, false, false)),
            ("   def m():", header(Some("  def m():"), None, false, false)),
            (" P{ @@", header(Some("P{"), None, false, true)),
            (" @@", header(None, None, false, true)),
            (" a@@", header(Some("a@@"), None, false, false)),
            (" -1,2 +3,4 @@", header(None, Some(1), true, false)),
            (" -12 +3 @@ fn x()", header(Some("fn x()"), Some(12), true, false)),
            (" -12 +3 @@  y", header(Some(" y"), Some(12), true, false)),
            (" -1,2 @@", header(Some("-1,2"), None, false, true)),
            (" -99999999999999999999 +1 @@", header(Some("-99999999999999999999 +1"), None, false, true)),
        ] {
            assert_eq!(read(rest), expected, "{rest:?}");
        }
    }
}
