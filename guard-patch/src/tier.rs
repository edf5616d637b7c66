//! How alike two lines have to be.

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
