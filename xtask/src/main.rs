//! Drives everything: `cargo xtask COMMAND`.
#![allow(clippy::disallowed_methods, reason = "a development tool starts cargo and reads the source tree")]

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod cargo;
mod ci;
mod conformance;
mod fuzz;
mod skips;
mod soak;
mod test;
mod tidy;

/// Drives everything that is done with this repository.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Shows every guarantee on this machine, and fails if one does not hold.
    Demo,
    /// Runs every test of the workspace, and names the tests that this machine could not run.
    Test(test::Args),
    /// Runs every check that a change has to pass, the tests among them.
    Ci,
    /// Checks the layer invariants and the repository's rules.
    Tidy,
    /// Runs the patch engine over a folder of scenarios.
    Conformance(conformance::Args),
    /// Measures the patch engine, and guarded work on targets, and fails if a goal is missed.
    Bench(bench::Args),
    /// Runs the patch engine on inputs that nobody thought of.
    Fuzz(fuzz::Args),
    /// Runs the race tests with many rounds.
    Soak(soak::Args),
}

/// Builds and runs the demonstration; it is a program of its own, since only it needs the guard to be built.
fn demonstrate() -> cargo::Outcome {
    cargo::run(&mut cargo::cargo(&["run", "--quiet", "-p", "xtask", "--features", "demo", "--bin", "demo"]))
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Demo => demonstrate(),
        Command::Test(args) => test::run(&args),
        Command::Ci => ci::run(),
        Command::Tidy => tidy::run(),
        Command::Conformance(args) => conformance::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Fuzz(args) => fuzz::run(&args),
        Command::Soak(args) => soak::run(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            anstream::eprintln!("{}error{}: {failure}", cargo::BAD.render(), cargo::BAD.render_reset());
            ExitCode::FAILURE
        }
    }
}
