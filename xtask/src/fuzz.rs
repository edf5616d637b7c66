//! `cargo xtask fuzz`: the patch engine against inputs that nobody thought of.

use crate::cargo::{self, Outcome, root, tool};

/// What to fuzz, and for how long.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The target.
    target: Target,
    /// How many seconds to go on.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

/// The targets, one file each in `guard-patch/fuzz/fuzz_targets`.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Target {
    /// Any text is read, or refused with lines that it has.
    Parse,
    /// Any text reads alike in any pieces.
    Stream,
    /// Any patch is planned over any file, or refused; what is planned keeps what it does not edit.
    Plan,
}

impl Target {
    const fn name(self) -> &'static str {
        match self {
            Self::Parse => "parse",
            Self::Stream => "stream",
            Self::Plan => "plan",
        }
    }
}

/// Runs a target; needs `cargo-fuzz` and a nightly toolchain.
///
/// It begins with the corpus in the repository, and writes what it finds beside the build, not into the repository.
pub(crate) fn run(args: &Args) -> Outcome {
    let target = args.target.name();
    let found = root().join("target/fuzz").join(target);
    std::fs::create_dir_all(&found)?;
    let fuzz = root().join("guard-patch/fuzz");
    let mut command = tool("cargo", &["+nightly", "fuzz", "run", "--fuzz-dir"]);
    // The cargo that runs this tool has told its own toolchain to those below it.
    command.env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN").arg(&fuzz).arg(target);
    command.arg(&found).arg(fuzz.join("corpus").join(target)).arg("--");
    // An input that takes a second is one that does not take linear time.
    command.arg(format!("-max_total_time={}", args.seconds)).args(["-timeout=1", "-max_len=4096"]);
    cargo::run(&mut command)
}
