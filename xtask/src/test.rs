//! `cargo xtask test`: every test of the workspace.

use crate::cargo::{self, Outcome, cargo};
use crate::skips::Skips;

/// What to test.
#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Arguments for `cargo test`, such as `-p guard-core` or the name of a test; by default the whole workspace.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    cargo: Vec<String>,
}

/// Runs the tests and names those that were skipped.
pub(crate) fn run_with(args: &Args, environment: &[(&str, &str)]) -> Outcome {
    let skips = Skips::new()?;
    let mut test = cargo(&["test", "--all-features"]);
    if !args.cargo.iter().any(|arg| arg.starts_with("-p") || arg.starts_with("--package")) {
        test.arg("--workspace");
    }
    test.args(&args.cargo);
    skips.listen(&mut test);
    test.envs(environment.iter().copied());
    let outcome = cargo::run(&mut test);
    skips.report(&outcome)?;
    outcome
}

/// Runs the tests as a developer does.
pub(crate) fn run(args: &Args) -> Outcome {
    run_with(args, &[])
}
