//! Containment, as one table: what every tool answers to every way out of a workspace, the same on every target.
//!
//! [`run`] takes the ground of a conformance [`Fixture`], puts a workspace with links, special files and strange names
//! on it, and a canary beside it that nothing may touch. Every row of [`VECTORS`] is one path; every column is one tool,
//! called by name as a model calls it. What the answers have to be is in `expected.txt` beside this file.
//!
//! After each call the canary is what it was; a refused call has changed nothing in the workspace either, an approver
//! is never asked about a call that leads out, and what a refusal says never has a word of what lies outside. Where the
//! text of a path alone leads out, the target is not asked anything.
//!
//! ```
//! use guard_testkit::conformance::MemoryFixture;
//! use guard_testkit::containment;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! containment::run(&MemoryFixture::new()).await?.assert_held();
//! # Ok::<(), std::io::Error>(())
//! # })?;
//! # Ok::<(), std::io::Error>(())
//! ```

mod column;
mod stage;
mod vector;

use std::fmt::{self, Write as _};
use std::io;

use guard_core::policy::Policy;

use self::column::Column;
use self::stage::Stage;
pub use self::vector::{VECTORS, Vector};
use crate::conformance::Fixture;

/// What has to be answered; a row for each vector.
const EXPECTED: &str = include_str!("expected.txt");

/// What was answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The table, in the form of `expected.txt`.
    pub table: String,
    /// What does not hold, each with the row and the column.
    pub broken: Vec<String>,
    /// Rows that the fixture cannot make, each with the reason.
    pub skipped: Vec<(&'static str, String)>,
}

/// Calls every tool with every vector.
///
/// # Errors
///
/// Whatever keeps the ground from being made.
pub async fn run(fixture: &dyn Fixture) -> io::Result<Report> {
    run_under(fixture, &Policy::default()).await
}

/// As [`run`], under another policy: what it lets through is broken.
///
/// # Security
///
/// Without containment the tools reach whatever the target reaches: only for a target that is made for it.
///
/// # Errors
///
/// As [`run`].
pub async fn run_under(fixture: &dyn Fixture, policy: &Policy) -> io::Result<Report> {
    let mut report = Report::default();
    let mut stage = Stage::fresh(fixture, policy).await?;
    let mut head = format!("{:<34}", "vector");
    for column in Column::ALL {
        let _ = write!(head, " {:<16}", column.name());
    }
    let _ = writeln!(report.table, "{}", head.trim_end());
    for vector in VECTORS {
        if let Some(why) = stage.lacks(vector) {
            report.skipped.push((vector.name, why));
            continue;
        }
        let mut line = format!("{:<34}", vector.name);
        for column in Column::ALL {
            let answer = stage.answer(vector, *column).await?;
            for broken in answer.broken {
                report.broken.push(format!("{}, {}: {broken}", vector.name, column.name()));
            }
            let _ = write!(line, " {:<16}", answer.word);
            if answer.changed {
                stage = Stage::fresh(fixture, policy).await?;
            }
        }
        let line = line.trim_end().to_owned();
        if !EXPECTED.lines().any(|expected| expected == line) {
            let row = |line: &&str| line.get(..34).is_some_and(|name| name.trim_end() == vector.name);
            let expected = EXPECTED.lines().find(row).unwrap_or("no such row");
            report.broken.push(format!("{}:\n  answered {line}\n  expected {expected}", vector.name));
        }
        let _ = writeln!(report.table, "{line}");
    }
    Ok(report)
}

impl Report {
    /// Panics with everything that does not hold.
    ///
    /// # Panics
    ///
    /// Where something does not hold.
    pub fn assert_held(&self) {
        assert!(self.broken.is_empty(), "{self}");
    }

    /// Returns the names of the rows that the fixture could not make.
    #[must_use]
    pub fn skipped_rows(&self) -> Vec<&'static str> {
        self.skipped.iter().map(|(name, _)| *name).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} broken, {} skipped", self.broken.len(), self.skipped.len())?;
        for broken in &self.broken {
            writeln!(f, "BROKEN  {broken}")?;
        }
        for (name, why) in &self.skipped {
            writeln!(f, "skipped {name}: {why}")?;
        }
        Ok(())
    }
}
