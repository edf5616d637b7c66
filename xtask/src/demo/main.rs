//! The demonstration: three accidents, what an unguarded write does to a copy, and what the guard does.
//!
//! Everything happens on real files in a temporary directory, on an SSH server and in a container that are made for it
//! where this machine can; the process fails if any guarantee did not hold.
#![allow(clippy::disallowed_methods, reason = "it plays the unguarded agent and the other processes")]

mod elsewhere;
mod escape;
mod namespace;
mod ordinary;
mod place;
mod report;
mod scenery;
mod update;

use std::error::Error;
use std::process::ExitCode;

use place::Place;
use report::Report;
use scenery::Scenery;

/// What a scene ends with: an error is of the scenery, not of the guard.
type Played = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    match play() {
        Ok(code) => code,
        Err(error) => {
            anstream::eprintln!("error: the demonstration could not be played: {error}");
            ExitCode::FAILURE
        }
    }
}

fn play() -> Result<ExitCode, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let scenery = Scenery::build()?;
    let mut report = Report::new(&scenery.workspace());
    scenery.describe();
    runtime.block_on(async {
        namespace::play(&scenery, &mut report).await?;
        update::play(&scenery, &mut report).await?;
        escape::play(&scenery, &mut report).await?;
        ordinary::play(&scenery, &mut report).await?;
        scenery.inspect(&mut report)
    })?;
    for place in [Place::host as fn(&Scenery) -> _, Place::container] {
        match place(&scenery) {
            Ok(place) => runtime.block_on(elsewhere::play(&scenery, &place, &mut report))?,
            Err(missing) => report.not_shown(&missing),
        }
    }
    Ok(report.finish())
}
