//! What is printed, and whether every guarantee held.

use std::path::Path;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use guard_core::policy::Code;
use guard_core::{Done, Failure};

const HEADING: Style = AnsiColor::Cyan.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const LOST: Style = AnsiColor::Red.on_default();
const DIM: Style = Style::new().dimmed();

/// Prints the scenes and counts.
pub(crate) struct Report {
    /// The workspace's path, which is not repeated in every message.
    workspace: String,
    held: usize,
    broken: Vec<String>,
}

/// Begins a scene.
pub(crate) fn scene(title: &str) {
    anstream::println!("\n{HEADING}{title}{HEADING:#}");
}

/// Says what somebody else does meanwhile.
pub(crate) fn meanwhile(what: &str) {
    anstream::println!("  {DIM}meanwhile  {what}{DIM:#}");
}

impl Report {
    pub(crate) fn new(workspace: &Path) -> Self {
        Self { workspace: format!("{}/", workspace.display()), held: 0, broken: Vec::new() }
    }

    /// Says what an unguarded agent does to its copy.
    pub(crate) fn unguarded(&mut self, what: &str, is_lost: bool, loss: &str) {
        anstream::println!("  unguarded  {what}");
        if is_lost {
            anstream::println!("             {LOST}lost: {loss}{LOST:#}");
        } else {
            // Without the loss the scene shows nothing.
            self.judge(&format!("the unguarded agent loses: {loss}"), false);
        }
    }

    /// Shows a call that has to be refused with this code.
    pub(crate) fn refused<T>(&mut self, call: &str, result: &Result<T, Failure>, code: Code) {
        match result {
            Err(failure) if failure.refusal.code == code => {
                anstream::println!("  guard      {call:<28} {GOOD}refused{GOOD:#} [{code}]");
                anstream::println!("             {DIM}{}{DIM:#}", self.short(&failure.refusal.message));
                self.held += 1;
            }
            Err(failure) => self.judge(&format!("{call} is refused with {code}, not: {failure}"), false),
            Ok(_) => self.judge(&format!("{call} is refused with {code}; it was done"), false),
        }
    }

    /// Shows a call that has to be done.
    pub(crate) fn done(&mut self, call: &str, result: &Result<Done, Failure>) {
        match result {
            Ok(Done::Committed(receipt)) => {
                let changes = receipt.changes.iter();
                let tier = changes
                    .filter_map(|change| change.publish)
                    .map(|publish| format!("{:?}", publish.tier))
                    .next();
                let how = tier.map(|tier| {
                    format!(" (tier {}, {})", tier.to_lowercase(), requests(receipt.round_trips))
                });
                anstream::println!(
                    "  guard      {call:<28} {GOOD}done{GOOD:#}{DIM}{}{DIM:#}",
                    how.unwrap_or_default()
                );
                self.held += 1;
            }
            Ok(Done::Planned(_)) => self.judge(&format!("{call} is done, not only planned"), false),
            Err(failure) => self.judge(&format!("{call} is done, not: {failure}"), false),
        }
    }

    /// Shows whether a guarantee held.
    pub(crate) fn judge(&mut self, guarantee: &str, held: bool) {
        if held {
            self.held += 1;
            anstream::println!("             {GOOD}ok{GOOD:#} {guarantee}");
        } else {
            self.broken.push(guarantee.to_owned());
            anstream::println!("             {BAD}BROKEN{BAD:#} {guarantee}");
        }
    }

    /// Prints the sum, and fails if any guarantee did not hold.
    pub(crate) fn finish(self) -> ExitCode {
        if self.broken.is_empty() {
            anstream::println!("\n{GOOD}Every guarantee held ({} checks).{GOOD:#}", self.held);
            return ExitCode::SUCCESS;
        }
        anstream::println!("\n{BAD}{} guarantees did not hold:{BAD:#}", self.broken.len());
        for guarantee in &self.broken {
            anstream::println!("  {guarantee}");
        }
        ExitCode::FAILURE
    }

    fn short(&self, message: &str) -> String {
        message.replace(&self.workspace, "").lines().next().unwrap_or_default().to_owned()
    }
}

fn requests(trips: u32) -> String {
    format!("{trips} request{}", if trips == 1 { "" } else { "s" })
}
