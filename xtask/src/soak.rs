//! `cargo xtask soak`: the race tests, with rounds enough to meet what is rare.

use crate::cargo::{self, Outcome, cargo};
use crate::skips::Skips;

/// How long to soak.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Rounds of each race against the local target.
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Rounds of creations and of replacements on each target over SSH and in a container.
    #[arg(long, default_value_t = 2_000, value_parser = clap::value_parser!(u32).range(1..))]
    remote_rounds: u32,
    /// Rounds of every operation against a process that swaps what a path leads to, here; an eighth on other targets.
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..))]
    swaps: u32,
    /// Random paths in random trees of links, on each target of this machine.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    links: u32,
    /// Where to race, and what else to play.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Target::ALL)]
    targets: Vec<Target>,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Target {
    Local,
    Ssh,
    Docker,
    Swaps,
    Links,
}

impl Target {
    const ALL: [Self; 5] = [Self::Local, Self::Ssh, Self::Docker, Self::Swaps, Self::Links];

    /// Returns the test executable that has its races, and what is in the names of those alone.
    const fn tests(self) -> (&'static str, &'static str) {
        match self {
            Self::Local => ("race", ""),
            Self::Ssh => ("rivals", "over_ssh"),
            Self::Docker => ("rivals", "in_a_container"),
            Self::Swaps => ("swapped", ""),
            Self::Links => ("links", ""),
        }
    }

    /// Returns the variable that says how long to go on, and what it says.
    const fn length(self, args: &Args) -> (&'static str, u32) {
        match self {
            Self::Local => ("GUARD_RACE_ROUNDS", args.rounds),
            Self::Ssh | Self::Docker => ("GUARD_RACE_ROUNDS", args.remote_rounds),
            Self::Swaps => ("GUARD_RACE_ROUNDS", args.swaps),
            Self::Links => ("GUARD_LINK_CASES", args.links),
        }
    }
}

/// Runs the races one at a time, built for speed, with their output shown; all of them, also after one that failed.
pub(crate) fn run(args: &Args) -> Outcome {
    let skips = Skips::new()?;
    let mut outcome = Ok(());
    for target in &args.targets {
        let (variable, length) = target.length(args);
        let (tests, names) = target.tests();
        let mut races = cargo(&["test", "--release", "-p", "guard-testkit", "--features", "ssh,docker"]);
        races.args(["--test", tests, "--", "--nocapture", "--test-threads=1"]);
        races.args([names].into_iter().filter(|names| !names.is_empty()));
        races.env(variable, length.to_string());
        skips.listen(&mut races);
        outcome = outcome.and(cargo::run(&mut races));
    }
    skips.report(&outcome)?;
    outcome
}
