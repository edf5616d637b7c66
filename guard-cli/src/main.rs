//! `guard`: the file tools on the command line.
//!
//! The binary reads what libraries may not: its arguments, the environment, the terminal, a policy file.

mod args;
mod config;
mod doctor;
mod exit;
mod progress;
mod render;
mod roots;
mod run;
mod target;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    exit::guarded(|| match args::Cli::try_parse() {
        Ok(cli) => run::run(&cli),
        Err(error) => run::misused(&error),
    })
    .into()
}
