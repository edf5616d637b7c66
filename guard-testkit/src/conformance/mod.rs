//! The guarantees of [`FileOps`], as a suite that any implementer runs.
//!
//! An implementer writes a [`Fixture`]: it gives a fresh directory on the target, the [`FileOps`] under test, and a
//! [`World`] that acts on the same target by another route. [`run`] then takes every case of [`CASES`] on fresh
//! ground; [`Report::assert_passed`] panics with all that failed. What a fixture cannot make (a socket, a denied
//! directory for root) is skipped with its reason, and the report says so.
//!
//! ```
//! use guard_testkit::conformance::{self, MemoryFixture};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! let report = conformance::run(&MemoryFixture::new()).await;
//! report.assert_passed();
//! assert!(report.skipped().is_empty());
//! # });
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The suite is deterministic: it does not sleep, and no case depends on another. A case that takes longer than
//! [`DEADLINE`] has failed (a FIFO that was opened for reading hangs).

mod cases;
mod folder_world;
mod local;
mod local_world;
mod memory;
mod shell;
mod site;

use std::any::Any;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use guard_core::policy::{Digest, OtherKind, TargetPath};
use guard_core::port::FileOps;

pub use self::cases::CASES;
pub use self::folder_world::FolderWorld;
pub use self::local::LocalFixture;
pub use self::local_world::LocalWorld;
pub use self::memory::MemoryFixture;
pub use self::shell::ShellFixture;
pub(crate) use self::site::Broken;
use self::site::Site;
#[cfg(feature = "contracts")]
pub(crate) use self::site::{broken, ensure, same, same_bytes};

/// How long a case may take.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Gives the suite something to work on.
#[async_trait]
pub trait Fixture: Send + Sync {
    /// Makes fresh ground for one case.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being made; the case has then failed.
    async fn fresh(&self) -> io::Result<Ground>;
}

/// Fresh ground on a target.
pub struct Ground {
    /// The implementation under test, without any root opened.
    pub ops: Arc<dyn FileOps>,
    /// Another route to the same target.
    pub world: Arc<dyn World>,
    /// An empty directory's physical path: the case opens it as its root.
    pub root: TargetPath,
    /// Another empty directory, beside the root and not in it. Its path is the root's with something appended to
    /// the last name (`/base/ws` and `/base/ws-outside`), so that a check by string prefix takes it for inside.
    pub outside: TargetPath,
    /// Whatever has to live as long as the ground (a temporary directory).
    pub keep: Box<dyn Any + Send + Sync>,
}

/// Acts on the target by another route than the implementation under test, as another process would.
///
/// Paths are absolute, any bytes but NUL, and are taken as the system takes them. What a fixture cannot do is
/// [`io::ErrorKind::Unsupported`]: the case (or that part of it) is skipped.
pub trait World: Send + Sync {
    /// Creates a file; an error if the name is taken.
    ///
    /// # Errors
    ///
    /// The system's.
    fn create(&self, path: &[u8], bytes: &[u8]) -> io::Result<()>;

    /// Reads a file, through links.
    ///
    /// # Errors
    ///
    /// The system's.
    fn read(&self, path: &[u8]) -> io::Result<Vec<u8>>;

    /// Removes a name that is no directory's.
    ///
    /// # Errors
    ///
    /// The system's.
    fn unlink(&self, path: &[u8]) -> io::Result<()>;

    /// Renames.
    ///
    /// # Errors
    ///
    /// The system's.
    fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<()>;

    /// Makes a directory.
    ///
    /// # Errors
    ///
    /// The system's.
    fn mkdir(&self, path: &[u8]) -> io::Result<()>;

    /// Makes a symbolic link.
    ///
    /// # Errors
    ///
    /// The system's.
    fn symlink(&self, text: &[u8], path: &[u8]) -> io::Result<()>;

    /// Reads a link's text.
    ///
    /// # Errors
    ///
    /// The system's.
    fn readlink(&self, path: &[u8]) -> io::Result<Vec<u8>>;

    /// Gives a file another name.
    ///
    /// # Errors
    ///
    /// The system's.
    fn link(&self, old: &[u8], new: &[u8]) -> io::Result<()>;

    /// Makes a FIFO, a socket or a device.
    ///
    /// # Errors
    ///
    /// The system's; `Unsupported` for a kind that this fixture cannot make.
    fn mknod(&self, path: &[u8], kind: OtherKind) -> io::Result<()>;

    /// Sets permission bits.
    ///
    /// # Errors
    ///
    /// The system's.
    fn chmod(&self, path: &[u8], mode: u32) -> io::Result<()>;

    /// Returns permission bits, through links.
    ///
    /// # Errors
    ///
    /// The system's.
    fn mode(&self, path: &[u8]) -> io::Result<u32>;

    /// Gives a name's own inode to another user and group, by number.
    ///
    /// # Errors
    ///
    /// The system's: owners are for root to change. `Unsupported` for a fixture that has none.
    fn chown(&self, path: &[u8], user: u32, group: u32) -> io::Result<()> {
        let _ = (path, user, group);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns the user and the group that own what a path leads to, by number.
    ///
    /// # Errors
    ///
    /// The system's; `Unsupported` for a fixture that has no owners.
    fn owner(&self, path: &[u8]) -> io::Result<(u32, u32)> {
        let _ = path;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Returns a directory's names.
    ///
    /// # Errors
    ///
    /// The system's.
    fn names(&self, path: &[u8]) -> io::Result<Vec<Vec<u8>>>;

    /// Digests everything below a directory: names, types, modes, link texts and contents.
    ///
    /// # Errors
    ///
    /// The system's.
    fn snapshot(&self, path: &[u8]) -> io::Result<Digest>;

    /// Tells whether the implementation under test is held to permission bits: it is not where it runs as root.
    fn enforces_permissions(&self) -> bool;
}

/// One guarantee.
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// What is guaranteed, in one sentence.
    pub guarantee: &'static str,
    run: fn(Site) -> Running,
}

type Running = Pin<Box<dyn Future<Output = Result<(), Broken>> + Send>>;

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The guarantee holds.
    Passed,
    /// This fixture cannot show it: why.
    Skipped(String),
    /// It does not hold: what was seen.
    Failed(String),
}

/// How the cases ended, in the order of [`CASES`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report(pub Vec<(&'static str, Ending)>);

/// Takes every case on fresh ground.
pub async fn run(fixture: &dyn Fixture) -> Report {
    let mut report = Report::default();
    for case in CASES {
        report.0.push((case.name, take(fixture, case).await));
    }
    report
}

/// Takes one case.
pub async fn take(fixture: &dyn Fixture, case: &Case) -> Ending {
    let site = match fixture.fresh().await {
        Ok(ground) => Site::open(ground).await,
        Err(error) => return Ending::Failed(format!("no fresh ground: {error}")),
    };
    let site = match site {
        Ok(site) => site,
        Err(error) => return Ending::Failed(format!("the root could not be opened: {error}")),
    };
    // A task of its own, so that an implementation that panics fails one case and not the suite.
    let running = tokio::spawn(tokio::time::timeout(DEADLINE, (case.run)(site)));
    match running.await {
        Err(error) => Ending::Failed(format!("a panic: {error}")),
        Ok(Err(_)) => Ending::Failed(format!("not over after {} s", DEADLINE.as_secs())),
        Ok(Ok(Err(Broken::Failed(what)))) => Ending::Failed(what),
        Ok(Ok(Err(Broken::Skipped(why)))) => Ending::Skipped(why),
        Ok(Ok(Ok(()))) => Ending::Passed,
    }
}

impl Report {
    /// Returns the cases that failed, with what was seen.
    #[must_use]
    pub fn failures(&self) -> Vec<(&'static str, &str)> {
        let failed = self.0.iter().filter(|(_, ending)| matches!(ending, Ending::Failed(_)));
        failed.map(|(name, ending)| (*name, ending.text())).collect()
    }

    /// Returns the cases that this fixture could not show, each with the reason.
    #[must_use]
    pub fn skipped(&self) -> Vec<(&'static str, &str)> {
        let skipped = self.0.iter().filter(|(_, ending)| matches!(ending, Ending::Skipped(_)));
        skipped.map(|(name, ending)| (*name, ending.text())).collect()
    }

    /// Panics with every failure, if there is one.
    ///
    /// # Panics
    ///
    /// Where a guarantee does not hold.
    pub fn assert_passed(&self) {
        assert!(self.failures().is_empty(), "{self}");
    }
}

impl Ending {
    fn text(&self) -> &str {
        match self {
            Self::Passed => "",
            Self::Skipped(text) | Self::Failed(text) => text,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (failed, skipped) = (self.failures(), self.skipped());
        let passed = self.0.len() - failed.len() - skipped.len();
        writeln!(f, "{passed} passed, {} failed, {} skipped", failed.len(), skipped.len())?;
        for (name, what) in failed {
            let guarantee = CASES.iter().find(|case| case.name == name).map_or("", |case| case.guarantee);
            writeln!(f, "FAILED  {name}: {guarantee}\n        {what}")?;
        }
        for (name, why) in skipped {
            writeln!(f, "skipped {name}: {why}")?;
        }
        Ok(())
    }
}
