//! The indentation of new lines where old lines were found with another one.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::tier::{indentation, trimmed};

/// Which indentation of the file stands for an indentation of the patch.
#[derive(Debug, Default)]
pub(crate) struct Indentations<'t> {
    /// `None` where the file has several.
    known: HashMap<&'t [u8], Option<&'t [u8]>>,
    differ: bool,
}

/// A new line's indentation stands for none of the file, or for several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unclear {
    Unknown,
    Several,
}

impl<'t> Indentations<'t> {
    /// Learns from an old line and the line of the file that it fits.
    pub(crate) fn learn(&mut self, patch: &'t [u8], file: &'t [u8]) {
        if trimmed(patch).is_empty() {
            return;
        }
        let (here, there) = (indentation(patch), indentation(file));
        // A line that goes on with a blank that is no space or tab is indented by more than can be told.
        let hidden = begins_with_a_hidden_blank(file) || begins_with_a_hidden_blank(patch);
        self.differ |= here != there || hidden;
        let known = self.known.entry(here).or_insert(Some(there));
        if hidden || known.is_some_and(|known| known != there) {
            *known = None;
        }
    }

    /// Gives a new line the file's indentation.
    pub(crate) fn translate<'l>(&self, line: &'l [u8]) -> Result<Cow<'l, [u8]>, Unclear> {
        let text = trimmed(line);
        // Without a difference new lines are taken as they are, and so are blank ones.
        if !self.differ || text.is_empty() {
            return Ok(Cow::Borrowed(line));
        }
        let here = indentation(line);
        match self.known.get(here) {
            Some(Some(there)) if *there == here => Ok(Cow::Borrowed(line)),
            Some(Some(there)) => Ok(Cow::Owned([*there, &line[here.len()..]].concat())),
            Some(None) => Err(Unclear::Several),
            None => Err(Unclear::Unknown),
        }
    }
}

/// Tells whether the text of a line begins with a blank other than a space or tab (U+00A0, U+3000 and the like).
fn begins_with_a_hidden_blank(line: &[u8]) -> bool {
    let first = trimmed(line).utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    first.is_some_and(|first| !first.is_ascii() && first.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_line_gets_the_one_indentation_that_its_own_stands_for() {
        let learned = |pairs: &[(&'static str, &'static str)]| {
            let mut known = Indentations::default();
            for (patch, file) in pairs {
                known.learn(patch.as_bytes(), file.as_bytes());
            }
            known
        };
        let tabs = [("a", "\ta"), ("    b", "\t\tb"), ("  ", "")];
        for (pairs, line, expected) in [
            (&tabs[..], "    c  ", Ok("\t\tc  ")),
            (&tabs, "c", Ok("\tc")),
            (&tabs, "        c", Err(Unclear::Unknown)),
            (&tabs, "", Ok("")),
            (&tabs, "  ", Ok("  ")),
            (&[("  a", "\ta"), ("  b", "\t\tb")], "  c", Err(Unclear::Several)),
            // An ideographic space is indentation too, and what it stands for cannot be told.
            (&[("  a", " \u{3000} a"), ("  b", " \u{3000} b")], "  c", Err(Unclear::Several)),
            // The same everywhere: lines of any depth are taken as they are.
            (&[("  a", "  a")], "      c", Ok("      c")),
        ] {
            let got = learned(pairs).translate(line.as_bytes()).map(Cow::into_owned);
            assert_eq!(got, expected.map(|line| line.as_bytes().to_vec()), "{pairs:?} {line:?}");
        }
    }
}
