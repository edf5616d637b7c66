//! A competing writer, in a process of its own.
//!
//! A test executable starts itself again as the rival: [`Rival::spawn`] runs the current executable with arguments
//! that lead to a call of [`main_loop_if_asked`]. In a test harness that is a test of its own:
//!
//! ```no_run
//! use guard_testkit::rival;
//!
//! // #[test]
//! fn rival_process() {
//!     rival::main_loop_if_asked();
//! }
//!
//! # fn start() -> std::io::Result<()> {
//! let arguments = ["--exact", "rival_process", "--nocapture", "--test-threads=1"];
//! let rival = rival::Rival::spawn(rival::Kind::RenamesOver, "/tmp/dir/file".as_ref(), &arguments)?;
//! # drop(rival);
//! # Ok(())
//! # }
//! ```
//!
//! The rival waits for the word, makes a few writes at pseudo-random moments, and then tells when each began and
//! ended on the clock that all processes of a machine share (`CLOCK_MONOTONIC`). It spins until its moments and does
//! not sleep, so that it hits windows of microseconds.

mod process;
mod version;
mod write;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::Path;
use std::str::FromStr;

pub use self::process::Rival;
pub use self::version::Version;
pub(crate) use self::write::spin;

/// How a rival writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A temporary file that is renamed over the name (most editors).
    RenamesOver,
    /// The file is truncated and written (shells, scripts).
    WritesInPlace,
    /// The file is opened, and some time later truncated and written (a program that thinks in between).
    OpensWaitsWrites,
    /// The name is removed and the file created anew (`git checkout`, package managers).
    UnlinksAndCreates,
    /// A temporary file is exchanged with the name (`renameat2(RENAME_EXCHANGE)`).
    Exchanges,
    /// The file is created where there is none (`O_EXCL`), and then written.
    CreatesExclusively,
    /// A temporary file is linked to the name, where there is none.
    LinksIn,
}

impl Kind {
    /// Every kind that writes whatever is there.
    pub const ALL: [Self; 5] = [
        Self::RenamesOver,
        Self::WritesInPlace,
        Self::OpensWaitsWrites,
        Self::UnlinksAndCreates,
        Self::Exchanges,
    ];

    /// Every kind that writes where nothing is.
    pub const CREATING: [Self; 4] =
        [Self::CreatesExclusively, Self::LinksIn, Self::RenamesOver, Self::UnlinksAndCreates];

    /// Tells whether it writes only where nothing is: each of its writes may find that it came too late.
    #[must_use]
    pub const fn is_exclusive(self) -> bool {
        matches!(self, Self::CreatesExclusively | Self::LinksIn)
    }

    /// Returns the kind's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RenamesOver => "renames-over",
            Self::WritesInPlace => "writes-in-place",
            Self::OpensWaitsWrites => "opens-waits-writes",
            Self::UnlinksAndCreates => "unlinks-and-creates",
            Self::Exchanges => "exchanges",
            Self::CreatesExclusively => "creates-exclusively",
            Self::LinksIn => "links-in",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Self> {
        let known = Self::ALL.into_iter().chain(Self::CREATING).find(|kind| kind.name() == text);
        known.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, format!("no kind of rival: {text}")))
    }
}

/// A write of the rival that is over: its bytes are those of [`Version::rival`] with this number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wrote {
    /// Its number.
    pub seq: u64,
    /// The moment before its first system call.
    pub begin: u64,
    /// The moment after its last one.
    pub end: u64,
}

/// Returns the variables that make a process a rival on `file`, for one that [`Rival::of`] starts elsewhere.
#[must_use]
pub fn variables(kind: Kind, file: &Path) -> [(&'static str, OsString); 2] {
    [(process::KIND, kind.name().into()), (process::FILE, file.into())]
}

/// Returns the moment: nanoseconds of `CLOCK_MONOTONIC`, the same in every process of this machine.
#[must_use]
pub fn now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    // The clock begins at zero when the machine starts.
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// Is the rival, if this process was started as one, until its parent is gone; then the process ends.
///
/// Returns at once in any other process. Nothing that matters may come before the call.
pub fn main_loop_if_asked() {
    if let (Ok(kind), Some(file)) = (std::env::var(process::KIND), std::env::var_os(process::FILE)) {
        let ended = kind.parse().and_then(|kind| main_loop(kind, Path::new(&file)));
        std::process::exit(i32::from(ended.is_err()));
    }
}

/// Is the rival: obeys the lines on its input and tells on its output, until the input ends.
///
/// # Errors
///
/// Whatever keeps it from reading its orders or from writing.
pub fn main_loop(kind: Kind, file: &Path) -> io::Result<()> {
    process::obey(kind, file)
}
