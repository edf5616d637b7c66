//! The shells that accounts have.
#![allow(clippy::disallowed_methods, reason = "what a machine has is found out by trying it")]

use std::process::{Command, Stdio};

/// The shell that the server gives a command line to.
///
/// An account's own shell cannot be changed by a test, so that a forced command stands between: it runs
/// `SHELL -c COMMAND` as the server itself would.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LoginShell {
    /// The account's own, with nothing between.
    #[default]
    Account,
    /// `dash`.
    Dash,
    /// `bash`.
    Bash,
    /// `bash` that is restricted: no path in a command, no redirection, no `exec`.
    RestrictedBash,
    /// BusyBox's `sh`.
    BusyBox,
    /// `fish`.
    Fish,
    /// `tcsh`.
    Tcsh,
    /// `mksh`.
    Mksh,
    /// `zsh`.
    Zsh,
}

impl LoginShell {
    /// Every shell.
    pub const ALL: &'static [Self] = &[
        Self::Account,
        Self::Dash,
        Self::Bash,
        Self::RestrictedBash,
        Self::BusyBox,
        Self::Fish,
        Self::Tcsh,
        Self::Mksh,
        Self::Zsh,
    ];

    /// Returns the words that run it, before `-c`.
    #[must_use]
    pub const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Account => &[],
            Self::Dash => &["dash"],
            Self::Bash => &["bash"],
            Self::RestrictedBash => &["bash", "-r"],
            Self::BusyBox => &["busybox", "sh"],
            Self::Fish => &["fish"],
            Self::Tcsh => &["tcsh"],
            Self::Mksh => &["mksh"],
            Self::Zsh => &["zsh"],
        }
    }

    /// Returns Debian's package that has it.
    #[must_use]
    pub const fn package(self) -> Option<&'static str> {
        match self {
            Self::Account | Self::Dash | Self::Bash | Self::RestrictedBash => None,
            Self::BusyBox => Some("busybox"),
            Self::Fish => Some("fish"),
            Self::Tcsh => Some("tcsh"),
            Self::Mksh => Some("mksh"),
            Self::Zsh => Some("zsh"),
        }
    }

    /// Tells whether this machine has it.
    #[must_use]
    pub fn is_there(self) -> bool {
        let Some((program, first)) = self.words().split_first() else { return true };
        let tried = Command::new(program)
            .args(first)
            .args(["-c", "true"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        tried.is_ok_and(|status| status.success())
    }
}
