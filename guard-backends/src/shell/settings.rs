//! How a shell session is held.

use std::time::Duration;

use super::watch::Watch;

/// What a target is taken to be without, to test and to measure weaker ways.
///
/// # Security
///
/// It only weakens: the guarantees of what is left hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Feature {
    /// A tool that exchanges two names.
    Exchange,
    /// Hard links.
    HardLinks,
    /// `/proc`.
    Proc,
}

impl Feature {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Exchange => "exchange",
            Self::HardLinks => "link",
            Self::Proc => "proc",
        }
    }
}

/// How long is waited for what, and how often is tried again.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// How long nothing may move in either direction before a session is given up.
    pub(super) progress: Duration,
    /// How long a transport may take to open a stream.
    pub(super) opening: Duration,
    /// How long a shell may take to say hello on it.
    pub(super) hello: Duration,
    /// How often a lost connection is opened again before the target is unavailable.
    pub(super) attempts: u32,
    /// The pause before the second attempt; it doubles each time, up to two seconds.
    pub(super) pause: Duration,
    /// How many sessions there may be at once.
    pub(super) pool: usize,
    /// What the target is taken to be without.
    pub(super) without: Vec<Feature>,
    /// Who sees what moves.
    pub(super) watch: Watch,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            progress: Duration::from_secs(60),
            opening: Duration::from_secs(90),
            hello: Duration::from_secs(10),
            attempts: 4,
            pause: Duration::from_millis(50),
            pool: 1,
            without: Vec::new(),
            watch: Watch::default(),
        }
    }
}

impl Settings {
    /// Returns the pause before the attempt of this number, from 0.
    pub(super) fn pause_before(&self, attempt: u32) -> Duration {
        match attempt {
            0 => Duration::ZERO,
            more => self.pause.saturating_mul(1 << (more - 1).min(16)).min(Duration::from_secs(2)),
        }
    }
}
