//! What is printed, and whether every guarantee held.

use std::path::Path;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use guard_core::policy::{Code, TargetPath};
use guard_core::{Done, Failure};

use crate::place::Missing;

const HEADING: Style = AnsiColor::Cyan.on_default().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const NOTE: Style = AnsiColor::Yellow.on_default();
const LOST: Style = AnsiColor::Red.on_default();
const DIM: Style = Style::new().dimmed();

/// Prints the scenes and counts.
pub(crate) struct Report {
    /// The workspace's path, which is not repeated in every message.
    workspace: String,
    /// How many guarantees held in each place.
    held: Vec<(&'static str, usize)>,
    not_shown: Vec<String>,
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
        Self {
            workspace: format!("{}/", workspace.display()),
            held: vec![("on this machine", 0)],
            not_shown: Vec::new(),
            broken: Vec::new(),
        }
    }

    /// Goes on in another place, with another workspace.
    pub(crate) fn on(&mut self, place: &'static str, workspace: &TargetPath) {
        self.workspace = format!("{workspace}/");
        self.held.push((place, 0));
    }

    /// Says which place this machine does not have; where it has to have it, that is a failure.
    pub(crate) fn not_shown(&mut self, missing: &Missing) {
        let Missing { name, need, why } = missing;
        scene(&format!("The same {name}"));
        anstream::println!("  {NOTE}not shown{NOTE:#}  {why}");
        self.not_shown.push(format!("{name}: {why}"));
        let required = std::env::var("GUARD_REQUIRE").unwrap_or_default();
        if required.split(',').any(|name| name.trim() == need.name()) {
            self.broken.push(format!("GUARD_REQUIRE names {}, and it was not shown", need.name()));
        }
    }

    fn hold(&mut self) {
        if let Some((_, held)) = self.held.last_mut() {
            *held += 1;
        }
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
                self.hold();
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
                self.hold();
            }
            Ok(Done::Planned(_)) => self.judge(&format!("{call} is done, not only planned"), false),
            Err(failure) => self.judge(&format!("{call} is done, not: {failure}"), false),
        }
    }

    /// Shows whether a guarantee held.
    pub(crate) fn judge(&mut self, guarantee: &str, held: bool) {
        if held {
            self.hold();
            anstream::println!("             {GOOD}ok{GOOD:#} {guarantee}");
        } else {
            self.broken.push(guarantee.to_owned());
            anstream::println!("             {BAD}BROKEN{BAD:#} {guarantee}");
        }
    }

    /// Prints the sum, and fails if any guarantee did not hold.
    pub(crate) fn finish(self) -> ExitCode {
        anstream::println!("\n{HEADING}What was shown{HEADING:#}");
        for (place, held) in &self.held {
            anstream::println!("  {held:>3} checks held {place}");
        }
        for missing in &self.not_shown {
            anstream::println!("  {NOTE}not shown{NOTE:#} {missing}");
        }
        if self.broken.is_empty() {
            let held: usize = self.held.iter().map(|(_, held)| held).sum();
            let shown = if self.not_shown.is_empty() { "" } else { " that was shown" };
            anstream::println!("\n{GOOD}Every guarantee{shown} held ({held} checks).{GOOD:#}");
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
