//! `cargo xtask soak`: the race tests, with rounds enough to meet what is rare.

use crate::cargo::{self, Outcome, cargo};
use crate::skips::Skips;

/// How long to soak.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Rounds of each race.
    #[arg(long, default_value_t = 20_000)]
    rounds: u32,
}

/// Runs the tests whose names say `race`, one at a time, built for speed, with their output shown.
pub(crate) fn run(args: &Args) -> Outcome {
    let skips = Skips::new()?;
    let mut races = cargo(&["test", "--release", "-p", "guard-testkit", "--test", "race", "--"]);
    races.args(["--nocapture", "--test-threads=1"]).env("GUARD_RACE_ROUNDS", args.rounds.to_string());
    skips.listen(&mut races);
    let outcome = cargo::run(&mut races);
    skips.report(&outcome)?;
    outcome
}
