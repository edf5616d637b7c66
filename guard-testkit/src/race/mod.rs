//! The race: a writer under test against a [`Rival`] on one file, and the count of what was lost.
//!
//! A round: the rival is given the word and makes a few writes; meanwhile the writer reads the file's digest and
//! commits a new content under it, over and over, until the rival is done. When all is quiet, the file, the names that
//! were left beside it and what both writers were told are judged by [`judge`].
//!
//! In a race of creations nothing is there at first, and the writer commits that nothing is there, over and over.
//!
//! [`Guarded`] is any [`guard_core::port::FileOps`]; [`Unguarded`] and [`UnguardedShell`] are the negative controls,
//! which have to lose data. The rival is a process of this machine or, with [`Rival::of`], of another place that has the
//! same files; the race itself sees them through a [`World`].

mod contender;
pub mod judge;
mod report;
mod unguarded_shell;

use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use guard_core::policy::Digest;

pub use self::contender::{Contender, Guarded, Swap, Unguarded};
use self::judge::{Commit, Outcome, Over, Round, Write};
pub use self::report::Report;
pub use self::unguarded_shell::UnguardedShell;
use crate::conformance::{LocalWorld, World};
use crate::rival::{Kind, Rival, Version, Wrote, now};

/// Races `contender` against a rival of `kind` on `file`, which is created; its directory has to be empty.
///
/// `arguments` lead this executable to [`crate::rival::main_loop_if_asked`].
///
/// # Errors
///
/// Whatever keeps the race from going on. What is lost is no error but the report's.
pub async fn run(
    contender: &dyn Contender,
    file: &Path,
    kind: Kind,
    rounds: u64,
    arguments: &[&str],
) -> io::Result<Report> {
    let mut rival = Rival::spawn(kind, file, arguments)?;
    let stage = Stage { world: &LocalWorld, file: file.as_os_str().as_bytes() };
    run_on(stage, What::Replaces, contender, &mut rival, rounds).await
}

/// A commit that took longer was held up by something else than its own work, in nanoseconds.
const WINDOW_MAX: u64 = 200_000_000;

/// Where a race is.
#[derive(Clone, Copy)]
pub struct Stage<'a> {
    /// The way by which the race itself sees the files.
    pub world: &'a dyn World,
    /// The file, as the world names it; its directory has to be empty.
    pub file: &'a [u8],
}

/// What the writer under test does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// It replaces what it has read.
    Replaces,
    /// It creates where nothing is; the name is cleared before each round.
    Creates,
}

/// Races `contender` against a rival on a stage.
///
/// # Errors
///
/// As [`run`].
pub async fn run_on(
    stage: Stage<'_>,
    what: What,
    contender: &dyn Contender,
    rival: &mut Rival,
    rounds: u64,
) -> io::Result<Report> {
    let mut race = Race { stage, what, contender, report: Report::default(), next: 1, window: 200_000 };
    if what == What::Replaces {
        stage.world.create(stage.file, &Version::ours(0).bytes())?;
    }
    race.measure().await?;
    let missed = rival.missed();
    for nth in 0..rounds {
        // One to three writes, spread over a commit or close together: some windows only open where two writes
        // follow each other. Of exclusive creations only the first can do anything, and creations are a matter of who
        // comes first.
        let writes = if rival.kind().is_exclusive() { 1 } else { 1 + nth % 3 };
        let closeness = if what == What::Creates { 1 } else { 1 << (2 * (nth / 3 % 3)) };
        race.round(nth, rival, writes, closeness).await?;
    }
    race.report.missed = rival.missed() - missed;
    Ok(race.report)
}

struct Race<'a> {
    stage: Stage<'a>,
    what: What,
    contender: &'a dyn Contender,
    report: Report,
    next: u64,
    /// How long a commit takes, in nanoseconds: the rival's moments are spread over that.
    ///
    /// Of creations, one whose moment is spread over it comes as often too late as in time.
    window: u64,
}

impl Race<'_> {
    /// Finds out how long a commit takes that nobody races against.
    async fn measure(&mut self) -> io::Result<()> {
        let before = match self.what {
            What::Creates => None,
            What::Replaces => self.contender.read().await,
        };
        let begin = now();
        let swap = self.contender.swap(before, Version::ours(self.next).bytes()).await;
        self.next += 1;
        if swap.outcome != Outcome::Done {
            return Err(io::Error::other(format!("a commit without a rival: {swap:?}")));
        }
        self.window = (now() - begin).min(WINDOW_MAX);
        Ok(())
    }

    async fn round(&mut self, nth: u64, rival: &mut Rival, writes: u64, closeness: u64) -> io::Result<()> {
        if self.what == What::Creates && self.content()?.is_some() {
            self.stage.world.unlink(self.stage.file)?;
        }
        let start = self.content()?;
        let (mut wrote, mut commits, mut said) = (Vec::new(), Vec::new(), Vec::new());
        let mut without_lease = false;
        rival.go(writes, self.window / closeness)?;
        let mut over = false;
        while !over || commits.is_empty() {
            over = over || rival.poll(&mut wrote)?;
            let before = match self.what {
                What::Creates => None,
                What::Replaces => self.contender.read().await,
            };
            if before.is_none() && self.what == What::Replaces {
                self.report.unread += 1;
                // Whoever makes the file unreadable may need this thread.
                tokio::task::yield_now().await;
                continue;
            }
            let version = Version::ours(self.next);
            self.next += 1;
            let begin = now();
            let swap = self.contender.swap(before, version.bytes()).await;
            let end = now();
            let first = commits.is_empty();
            if swap.outcome == Outcome::Done {
                if self.what == What::Replaces {
                    self.window = (self.window * 7 + (end - begin).min(WINDOW_MAX)) / 8;
                } else if first {
                    // It came first; the next time the rival may be earlier.
                    self.window -= self.window / 5;
                }
                self.report.commits_ok += 1;
                *self.report.tiers.entry(swap.tier).or_default() += 1;
                *self.report.leases.entry(swap.lease).or_default() += 1;
                without_lease |= !swap.lease;
            } else {
                self.report.commits_refused += 1;
                if first && self.what == What::Creates {
                    self.window = (self.window + self.window / 4 + 1).min(WINDOW_MAX);
                }
            }
            said.extend(swap.left);
            commits.push(Commit { before, after: version.digest(), begin, end, outcome: swap.outcome });
        }
        self.report.rounds += 1;
        self.report.writes += wrote.len() as u64;
        let kept = self.clear(&said)?;
        let over = match rival.kind() {
            Kind::CreatesExclusively | Kind::LinksIn => Over::Nothing,
            Kind::UnlinksAndCreates => Over::Removed,
            _ => Over::Anything,
        };
        let writes = wrote.iter().map(|Wrote { seq, begin, end }| Write {
            digest: Version::rival(*seq).digest(),
            over,
            begin: *begin,
            end: *end,
        });
        let round = Round { start, writes: writes.collect(), commits, end: self.content()?, kept };
        self.report.absent += u64::from(round.end.is_none());
        self.report.seen.extend(judge::judge_narrowed(&round).into_iter().map(|lost| (nth, lost)));
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
        match self.stage.world.read(self.stage.file) {
            Ok(bytes) => Ok(Some(Digest::of(&bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the digests of what was left under reported names, and removes all that was left.
    fn clear(&mut self, said: &[String]) -> io::Result<Vec<Digest>> {
        let Stage { world, file } = self.stage;
        let slash = file.iter().rposition(|byte| *byte == b'/').ok_or(io::ErrorKind::InvalidInput)?;
        let (directory, own) = (&file[..slash], &file[slash + 1..]);
        let mut kept = Vec::new();
        for entry in world.names(directory)?.into_iter().filter(|name| name != own) {
            let path = [directory, b"/", &entry].concat();
            let name = String::from_utf8_lossy(&entry).into_owned();
            if said.iter().any(|text| text.contains(&name)) {
                self.report.left += 1;
                kept.push(Digest::of(&world.read(&path)?));
            } else {
                self.report.unreported.push(name);
            }
            world.unlink(&path)?;
        }
        Ok(kept)
    }
}
