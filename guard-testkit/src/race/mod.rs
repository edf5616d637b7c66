//! The race: a writer under test against a [`Rival`] on one file, and the count of what was lost.
//!
//! A round: the rival is given the word and makes a few writes; meanwhile the writer reads the file's digest and
//! commits a new content under it, over and over, until the rival is done. When all is quiet, the file, the names that
//! were left beside it and what both writers were told are judged by [`judge`].
//!
//! [`Guarded`] is any [`guard_core::port::FileOps`]; [`Unguarded`] is the negative control, which has to lose data.

mod contender;
pub mod judge;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::Path;

use guard_core::policy::Digest;
use guard_core::port::Tier;

pub use self::contender::{Contender, Guarded, Swap, Unguarded};
use self::judge::{Commit, Lost, Outcome, Round, Write};
use crate::rival::{Kind, Rival, Version, Wrote, now};

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
    /// Commits that said ok, by whether they had a lease.
    pub leases: BTreeMap<bool, u64>,
    /// Commits that said ok, by tier.
    pub tiers: BTreeMap<Tier, u64>,
}

/// Races `contender` against a rival of `kind` on `file`, which is created; its directory has to be empty.
///
/// `arguments` lead this executable to [`crate::rival::main_loop_if_asked`].
///
/// # Errors
///
/// Whatever keeps the race from going on. What is lost is no error but the report's.
#[allow(clippy::disallowed_methods, reason = "the race sets its own stage")]
pub async fn run(
    contender: &dyn Contender,
    file: &Path,
    kind: Kind,
    rounds: u64,
    arguments: &[&str],
) -> io::Result<Report> {
    let mut race = Race { contender, file, report: Report::default(), next: 1, window: 200_000 };
    std::fs::write(file, Version::ours(0).bytes())?;
    let mut rival = Rival::spawn(kind, file, arguments)?;
    for nth in 0..rounds {
        // One to three writes, spread over a commit or close together: some windows only open where two writes
        // follow each other.
        race.round(nth, &mut rival, 1 + nth % 3, 1 << (2 * (nth / 3 % 3))).await?;
    }
    Ok(race.report)
}

struct Race<'a> {
    contender: &'a dyn Contender,
    file: &'a Path,
    report: Report,
    next: u64,
    /// How long a commit takes, in nanoseconds: the rival's moments are spread over that.
    window: u64,
}

impl Race<'_> {
    async fn round(&mut self, nth: u64, rival: &mut Rival, writes: u64, closeness: u64) -> io::Result<()> {
        let start = self.content()?.unwrap_or_else(|| Digest::of(b""));
        let (mut wrote, mut commits, mut said) = (Vec::new(), Vec::new(), Vec::new());
        let mut without_lease = false;
        rival.go(writes, self.window / closeness)?;
        let mut over = false;
        while !over || commits.is_empty() {
            over = over || rival.poll(&mut wrote)?;
            let Some(before) = self.contender.read().await else {
                self.report.unread += 1;
                // Whoever makes the file unreadable may need this thread.
                tokio::task::yield_now().await;
                continue;
            };
            let version = Version::ours(self.next);
            self.next += 1;
            let begin = now();
            let swap = self.contender.swap(before, version.bytes()).await;
            let end = now();
            if swap.outcome == Outcome::Done {
                self.window = (self.window * 7 + (end - begin).min(20_000_000)) / 8;
                self.report.commits_ok += 1;
                *self.report.tiers.entry(swap.tier).or_default() += 1;
                *self.report.leases.entry(swap.lease).or_default() += 1;
                without_lease |= !swap.lease;
            } else {
                self.report.commits_refused += 1;
            }
            said.extend(swap.left);
            commits.push(Commit { before, after: version.digest(), begin, end, outcome: swap.outcome });
        }
        self.report.rounds += 1;
        self.report.writes += wrote.len() as u64;
        let kept = self.clear(&said)?;
        let writes = wrote.iter().map(|Wrote { seq, begin, end }| Write {
            digest: Version::rival(*seq).digest(),
            begin: *begin,
            end: *end,
        });
        let round = Round { start, writes: writes.collect(), commits, end: self.content()?, kept };
        let lost = judge::judge(&round).into_iter().map(|lost| (nth, lost));
        if without_lease {
            self.report.lost_without_lease.extend(lost);
        } else {
            self.report.lost.extend(lost);
        }
        Ok(())
    }

    /// Returns the digest of the file.
    fn content(&self) -> io::Result<Option<Digest>> {
        match std::fs::read(self.file) {
            Ok(bytes) => Ok(Some(Digest::of(&bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the digests of what was left under reported names, and removes all that was left.
    fn clear(&mut self, said: &[String]) -> io::Result<Vec<Digest>> {
        let directory = self.file.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let mut kept = Vec::new();
        for entry in std::fs::read_dir(directory)? {
            let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
            if path == self.file {
                continue;
            }
            let name = name.to_string_lossy().into_owned();
            if said.iter().any(|text| text.contains(&name)) {
                self.report.left += 1;
                kept.push(Digest::of(&std::fs::read(&path)?));
            } else {
                self.report.unreported.push(name);
            }
            std::fs::remove_file(&path)?;
        }
        Ok(kept)
    }
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
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rounds, writes, commits_ok, commits_refused, unread, left, .. } = self;
        write!(f, "{rounds} rounds: {writes} writes of the rival; {commits_ok} commits ok, ")?;
        write!(f, "{commits_refused} refused, {unread} reads of nothing; {left} names left and reported, ")?;
        write!(f, "{} unreported; lost {} ", self.unreported.len(), self.lost.len())?;
        write!(f, "and {} without a lease ({:.2} %)", self.lost_without_lease.len(), self.rate())
    }
}
