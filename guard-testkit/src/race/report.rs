//! What came of a race, and what has to have come of it.

use std::collections::BTreeMap;
use std::fmt;

use guard_core::port::Tier;

use super::judge::Lost;

/// What came of a race.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Rounds.
    pub rounds: u64,
    /// Writes that the rival completed.
    pub writes: u64,
    /// Commits that said ok.
    pub commits_ok: u64,
    /// Commits that were refused.
    pub commits_refused: u64,
    /// Reads that found nothing to commit over (the name was absent, or the file kept changing).
    pub unread: u64,
    /// What was lost, though each commit of its round had a lease or needed none.
    pub lost: Vec<(u64, Lost)>,
    /// What was lost in rounds in which a commit said that it had no lease: a writer that keeps an old descriptor
    /// open is outside the promise there, and the receipt says so.
    pub lost_without_lease: Vec<(u64, Lost)>,
    /// Names that were left and reported.
    pub left: u64,
    /// Names that were left and nobody reported.
    pub unreported: Vec<String>,
    /// What was lost that no commit which said ok can have replaced unseen: also where a race is only narrowed, what
    /// was seen has to be kept.
    pub seen: Vec<(u64, Lost)>,
    /// Rounds at whose end nothing is at the name.
    pub absent: u64,
    /// Exclusive creations of the rival that came too late.
    pub missed: u64,
    /// Commits that said ok, by whether they had a lease.
    pub leases: BTreeMap<bool, u64>,
    /// Commits that said ok, by tier.
    pub tiers: BTreeMap<Tier, u64>,
}

impl Report {
    /// Returns lost versions for each hundred rounds.
    #[must_use]
    pub fn rate(&self) -> f64 {
        let lost = self.lost.len() + self.lost_without_lease.len();
        // Both are far below 2^52.
        #[expect(clippy::cast_precision_loss, reason = "a rate for people, of counts far below 2^52")]
        let rate = 100.0 * lost as f64 / self.rounds.max(1) as f64;
        rate
    }

    /// Panics if anything was lost under a lease, or left without being reported.
    ///
    /// # Panics
    ///
    /// With the whole report.
    pub fn assert_nothing_lost(&self) {
        assert!(self.lost.is_empty() && self.unreported.is_empty(), "{self}\n{self:#?}");
    }

    /// Panics if anything was lost, lease or not, or left without being reported.
    ///
    /// # Panics
    ///
    /// With the whole report.
    pub fn assert_nothing_lost_at_all(&self) {
        assert!(self.lost_without_lease.is_empty(), "{self}\n{self:#?}");
        self.assert_nothing_lost();
    }

    /// Panics if a receipt said another tier than `window`, if something was left without being reported, or if
    /// something was lost that the target had seen or could not have displaced.
    ///
    /// # Panics
    ///
    /// With the whole report.
    pub fn assert_window(&self) {
        let tiers: Vec<Tier> = self.tiers.keys().copied().collect();
        assert_eq!(tiers, [Tier::Window], "{self}");
        assert!(self.seen.is_empty() && self.unreported.is_empty(), "{self}\n{self:#?}");
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rounds, writes, missed, commits_ok, commits_refused, unread, left, .. } = self;
        write!(
            f,
            "{rounds} rounds: {writes} writes of the rival, {missed} too late; {commits_ok} commits ok, "
        )?;
        write!(f, "{commits_refused} refused, {unread} reads of nothing; {left} names left and reported, ")?;
        write!(f, "{} unreported; lost {} ", self.unreported.len(), self.lost.len())?;
        write!(f, "and {} without a lease ({:.2} %)", self.lost_without_lease.len(), self.rate())
    }
}
