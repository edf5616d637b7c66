//! What is at paths.

use std::io::{self, Write};

use guard_core::policy::FileState;
use guard_core::{PathFacts, StatResult};

use super::refusal::quoted;
use super::text::{Line, NOTE, count, styled};
use crate::args::LINK;

/// Writes what is at each path.
pub(crate) fn facts(out: &mut dyn Write, result: &StatResult) -> io::Result<()> {
    result.paths.iter().try_for_each(|facts| one(out, facts))
}

fn one(out: &mut dyn Write, facts: &PathFacts) -> io::Result<()> {
    writeln!(out, "{}: {}", Line(facts.resolved.as_str()), state(&facts.state))?;
    if let Some(text) = &facts.link {
        // As `--expect` takes it.
        writeln!(out, "  {}", Line(&quoted(&format!("{LINK}{text}"))))?;
    }
    if let Some(digest) = facts.state.digest() {
        writeln!(out, "  {digest}")?;
    }
    if let Some(problem) = &facts.problem {
        writeln!(out, "  {} {}", styled(NOTE, format!("[{}]", problem.code)), Line(&problem.message))?;
    }
    Ok(())
}

/// Describes a state on one line.
pub(super) fn state(state: &FileState) -> String {
    match state {
        FileState::Regular { len, mode, nlink, .. } => {
            let names = if *nlink > 1 { format!(", {nlink} names") } else { String::new() };
            format!("{}, {}, mode {mode:04o}{names}", state.describe(), count(*len, "byte", "bytes"))
        }
        FileState::Link { text } => format!("{} to {}", state.describe(), Line(text)),
        _ => state.describe().to_owned(),
    }
}
