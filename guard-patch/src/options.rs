//! What a caller may choose.

use crate::tier::Tier;

/// How a patch is planned.
///
/// The default is strict where it has to be and lenient where that is safe: every tier is allowed, nothing is
/// overwritten, and a patch is planned as a whole or refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub(crate) ceiling: Tier,
    pub(crate) codex: bool,
}

impl Options {
    /// Sets the loosest tier at which a chunk or an anchor may match.
    #[must_use]
    pub const fn ceiling(mut self, ceiling: Tier) -> Self {
        self.ceiling = ceiling;
        self
    }

    /// Returns options under which a patch does what the reference engine (codex) does with it.
    ///
    /// Where the two differ: Add and the destination of a move overwrite; the operations before one that fails are
    /// kept ([`Plan::stopped`](crate::Plan::stopped)); additions without an anchor go to the end of the file; a missing
    /// final newline is added; a lone CR ends a line; and every new line takes the file's first line end.
    ///
    /// # Security
    ///
    /// A plan made under these options can destroy files that nobody has seen.
    #[must_use]
    pub const fn danger_codex() -> Self {
        Self { ceiling: Tier::Unicode, codex: true }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self { ceiling: Tier::Unicode, codex: false }
    }
}
