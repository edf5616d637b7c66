//! Starting cargo and other tools from the workspace's root.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use anstyle::{AnsiColor, Style};

/// What a command of this tool ends with.
pub(crate) type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// The style of a heading.
pub(crate) const HEADING: Style = AnsiColor::Cyan.on_default().bold();
/// The style of good news.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// The style of bad news.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// The style of something to know.
pub(crate) const NOTE: Style = AnsiColor::Yellow.on_default().bold();

/// Returns the workspace's root.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// Prepares cargo, the one that runs this tool where cargo says so, in the workspace's root.
pub(crate) fn cargo(args: &[&str]) -> Command {
    tool(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), args)
}

/// Prepares another tool in the workspace's root.
pub(crate) fn tool(program: impl AsRef<std::ffi::OsStr>, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(root());
    command
}

/// Says what is run, runs it with this process's terminal, and fails where it fails.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let line = line(command);
    anstream::eprintln!("{}$ {line}{}", HEADING.render(), HEADING.render_reset());
    let status = command.status().map_err(|error| format!("`{line}` could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{line}` failed ({status})").into()) }
}

/// Writes a command as a person would type it: the variables it sets, the program's name, the arguments.
fn line(command: &Command) -> String {
    let set = command.get_envs().filter_map(|(name, value)| {
        let value = value?.to_string_lossy();
        let quote = if value.contains(' ') { "'" } else { "" };
        Some(format!("{}={quote}{value}{quote}", name.to_string_lossy()))
    });
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    set.chain(words.map(|word| word.to_string_lossy().into_owned())).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_it_would_be_typed() {
        let mut command = tool("/usr/bin/cargo", &["doc", "--no-deps"]);
        command.env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(line(&command), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps");
    }
}
