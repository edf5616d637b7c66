//! Words and texts on a terminal.

use std::fmt::{self, Display, Write as _};

use anstyle::{AnsiColor, Style};

/// Something good.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// Something bad.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// Something to know.
pub(crate) const NOTE: Style = AnsiColor::Yellow.on_default();
/// What was taken away.
pub(crate) const REMOVED: Style = AnsiColor::Red.on_default();
/// What was added.
pub(crate) const ADDED: Style = AnsiColor::Green.on_default();
/// What is of less weight.
pub(crate) const DIM: Style = Style::new().dimmed();

/// Writes a text in a style.
pub(crate) fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// A name or text on one line: control characters are written as escapes, so that a name cannot forge output.
pub(crate) struct Line<'a>(pub(crate) &'a str);

impl Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|char| visible(f, char, false))
    }
}

/// A text of several lines: as [`Line`], but for line feeds and tabs.
pub(crate) struct Lines<'a>(pub(crate) &'a str);

impl Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|char| visible(f, char, true))
    }
}

fn visible(f: &mut fmt::Formatter<'_>, char: char, lines: bool) -> fmt::Result {
    match char {
        '\n' | '\t' if lines => f.write_char(char),
        _ if char.is_control() => write!(f, "{}", char.escape_default()),
        _ if forges(char) => write!(f, "{}", char.escape_unicode()),
        _ => f.write_char(char),
    }
}

/// Tells whether a character, written as it is, can change how the output around it looks.
pub(crate) fn forges(char: char) -> bool {
    // Marks that change the direction of what follows can make one name look like another.
    char.is_control() || matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A number with its noun.
pub(crate) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_forge_output() {
        assert_eq!(Line("a\nb\t\u{1b}[31m\u{202e}é").to_string(), r"a\nb\t\u{1b}[31m\u{202e}é");
        assert_eq!(Lines("a\n\tb\r\n\u{7f}").to_string(), "a\n\tb\\r\n\\u{7f}");
    }
}
