//! Tests that this machine could not run.
//!
//! Cargo swallows what a passing test prints, so `guard_testkit::skip` also appends to the file that
//! `GUARD_SKIP_LOG` names, one line a skip: `SKIPPED name: reason; what to install`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::cargo::{NOTE, Outcome};

/// The file in which the tests of one run say what they skip.
pub(crate) struct Skips {
    dir: TempDir,
}

impl Skips {
    /// Makes an empty log.
    pub(crate) fn new() -> Outcome<Self> {
        Ok(Self { dir: tempfile::Builder::new().prefix("guard-skips-").tempdir()? })
    }

    /// Makes the tests that `command` runs write to this log.
    pub(crate) fn listen(&self, command: &mut Command) {
        command.env("GUARD_SKIP_LOG", self.path());
    }

    /// Prints what was skipped, by name; that nothing was, only where the tests came to their end.
    pub(crate) fn report(&self, tested: &Outcome) -> Outcome {
        let log = match std::fs::read_to_string(self.path()) {
            Ok(log) => log,
            // No test had anything to say.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(format!("{}: {error}", self.path().display()).into()),
        };
        let skipped = by_name(&log);
        if skipped.is_empty() {
            if tested.is_ok() {
                anstream::println!("No test was skipped.");
            }
        } else {
            anstream::println!("{}Skipped on this machine:{}", NOTE.render(), NOTE.render_reset());
            for line in skipped {
                anstream::println!("  {line}");
            }
        }
        Ok(())
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("log")
    }
}

/// Returns the skips of a log, sorted by the test's name, each once.
fn by_name(log: &str) -> BTreeSet<&str> {
    log.lines().filter_map(|line| line.strip_prefix("SKIPPED ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skips_are_listed_by_name_and_each_once() {
        let log = "SKIPPED b: needs root; run as root\nnoise\nSKIPPED a: needs setpriv; apt-get install util-linux\n\
                   SKIPPED b: needs root; run as root\n";
        let listed: Vec<_> = by_name(log).into_iter().collect();
        assert_eq!(listed, ["a: needs setpriv; apt-get install util-linux", "b: needs root; run as root"]);
    }
}
