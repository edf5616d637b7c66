//! `cargo xtask bench`: how fast the patch engine is, and what guarded work costs on targets.

mod patch;

use clap::ValueEnum;

use crate::cargo::{self, Outcome, cargo};

/// What is measured, and how thoroughly.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to measure; everything, unless it is said.
    what: Option<What>,
    /// Take as few samples as give a figure.
    #[arg(long)]
    quick: bool,
    /// Of targets, measure only these kinds: local, ssh, docker.
    #[arg(long, value_name = "KINDS")]
    only: Option<String>,
    /// Of targets, succeed whether or not the goals are met.
    #[arg(long)]
    no_goals: bool,
}

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// The patch engine, and how its work grows.
    Patch,
    /// Guarded work on a local shell, over SSH and in a container, beside the same work without a guard.
    Targets,
}

/// How many samples are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Samples {
    /// As few as give a figure.
    Few,
    /// Enough.
    Many,
}

/// Measures what was asked for.
pub(crate) fn run(args: &Args) -> Outcome {
    if args.what != Some(What::Targets) {
        patch::run(if args.quick { Samples::Few } else { Samples::Many })?;
    }
    if args.what != Some(What::Patch) {
        targets(args)?;
    }
    Ok(())
}

/// Builds and runs the figures of targets; they are a program of their own, since only they need the backends.
fn targets(args: &Args) -> Outcome {
    let mut bench = cargo(&["run", "--quiet", "--release", "-p", "xtask", "--features", "bench-targets"]);
    bench.args(["--bin", "bench-targets", "--"]);
    bench.args(args.quick.then_some("--quick"));
    bench.args(args.only.iter().flat_map(|only| ["--only", only]));
    bench.args(args.no_goals.then_some("--no-goals"));
    cargo::run(&mut bench)
}
