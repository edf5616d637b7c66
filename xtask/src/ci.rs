//! `cargo xtask ci`: every check that a change has to pass.

use std::process::Stdio;
use std::time::Instant;

use crate::cargo::{self, GOOD, HEADING, NOTE, Outcome, cargo, tool};
use crate::{test, tidy};

/// The features of the workspace, as sets that have to build: none, each alone, all.
const FEATURE_SETS: [&[&str]; 4] = [
    &["--workspace", "--no-default-features"],
    &["--workspace", "--no-default-features", "--features", "guard-backends/ssh"],
    &["--workspace", "--no-default-features", "--features", "guard-backends/docker"],
    &["--workspace", "--all-features"],
];

/// Crates whose features are always on when the workspace is built as one: once without.
const ALONE: [&[&str]; 2] =
    [&["-p", "guard-policy", "--no-default-features"], &["-p", "guard-testkit", "--no-default-features"]];

/// Where the local target's other half has to compile.
const DARWIN: &str = "aarch64-apple-darwin";

/// A named check.
type Step = (&'static str, fn() -> Outcome);

/// The checks, the quick ones first.
const STEPS: [Step; 7] = [
    ("format", format),
    ("tidy", tidy::run),
    ("lints", lints),
    ("documentation", documentation),
    ("macOS", darwin),
    ("tests", tests),
    ("demonstration", crate::demonstrate),
];

/// Runs the checks and stops at the first that fails.
pub(crate) fn run() -> Outcome {
    let mut took = Vec::new();
    for (name, check) in STEPS {
        anstream::println!("{}== {name}{}", HEADING.render(), HEADING.render_reset());
        let started = Instant::now();
        check().map_err(|error| format!("{name}: {error}"))?;
        took.push(format!("{name} {} s", started.elapsed().as_secs()));
    }
    anstream::println!("{}Every check passed{} ({}).", GOOD.render(), GOOD.render_reset(), took.join(", "));
    Ok(())
}

fn format() -> Outcome {
    cargo::run(&mut cargo(&["fmt", "--all", "--check"]))
}

fn lints() -> Outcome {
    for set in FEATURE_SETS.iter().chain(&ALONE) {
        cargo::run(cargo(&["clippy", "--all-targets"]).args(*set).args(["--", "-D", "warnings"]))?;
    }
    Ok(())
}

fn documentation() -> Outcome {
    let mut doc = cargo(&["doc", "--workspace", "--no-deps", "--all-features"]);
    cargo::run(doc.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Checks that the local target compiles for macOS, where the toolchain can get that target's standard library.
fn darwin() -> Outcome {
    let add = tool("rustup", &["target", "add", DARWIN]).stdin(Stdio::null()).output();
    let why = match add {
        Ok(output) if output.status.success() => {
            return cargo::run(&mut cargo(&[
                "check",
                "-p",
                "guard-backends",
                "--no-default-features",
                "--target",
                DARWIN,
            ]));
        }
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => format!("rustup could not be started: {error}"),
    };
    anstream::println!(
        "{}Not checked here{}: `rustup target add {DARWIN}` did not succeed: {why}",
        NOTE.render(),
        NOTE.render_reset()
    );
    Ok(())
}

/// Runs the tests with snapshots compared and never written.
fn tests() -> Outcome {
    test::run_with(&test::Args::default(), &[("INSTA_UPDATE", "no"), ("CI", "true")])
}
