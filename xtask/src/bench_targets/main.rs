//! What guarded work costs on a target, beside the same work without a guard.
//!
//! Every figure is a pair: the guard over its open session, and one exec of the plain tool through the same library
//! (`openssh`, `bollard`, a process of this machine), in turns, so that whatever else the machine does falls on both.
#![allow(clippy::disallowed_methods, reason = "it plays the unguarded tools, and prepares their files")]

mod bare;
mod body;
mod large;
mod pairs;
mod place;
mod small;
mod table;

use std::error::Error;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use place::Place;
use table::Row;

/// What a measurement ends with: an error is of the measurement, not of a goal that was missed.
type Measured<T> = Result<T, Box<dyn Error>>;

/// Measures guarded work on targets beside the same work without a guard.
#[derive(Parser)]
#[command(bin_name = "cargo xtask bench targets")]
struct Options {
    /// Take as few samples as give a figure.
    #[arg(long)]
    quick: bool,
    /// Only these kinds of targets.
    #[arg(long, value_delimiter = ',', value_name = "KINDS")]
    only: Vec<Kind>,
    /// Succeed whether or not the goals are met.
    #[arg(long)]
    no_goals: bool,
}

/// A kind of target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A shell of this machine, over pipes.
    Local,
    /// An SSH server of this machine, on the loopback and 20 ms away.
    Ssh,
    /// A container of this machine's engine.
    Docker,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let measured = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Into::into)
        .and_then(|runtime| runtime.block_on(measure(&options)));
    let rows = match measured {
        Ok(rows) => rows,
        Err(error) => {
            anstream::eprintln!("error: the targets could not be measured: {error}");
            return ExitCode::FAILURE;
        }
    };
    if rows.is_empty() {
        anstream::eprintln!("error: nothing could be measured here");
        return ExitCode::FAILURE;
    }
    let missed = table::print(&rows);
    if missed > 0 && !options.no_goals {
        anstream::eprintln!("error: {missed} goals were missed");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

async fn measure(options: &Options) -> Measured<Vec<Row>> {
    let mut rows = Vec::new();
    table::say_load();
    for kind in [Kind::Local, Kind::Ssh, Kind::Docker] {
        if !options.only.is_empty() && !options.only.contains(&kind) {
            continue;
        }
        for place in Place::of(kind).await? {
            anstream::eprintln!("measuring: {}", place.name);
            rows.extend(small::measure(&place, options.quick).await?);
            rows.extend(large::measure(&place, options.quick).await?);
        }
    }
    table::say_load();
    Ok(rows)
}
