//! What a patch did: a letter and a path for each file.

use std::io::{self, Write};

use guard_core::policy::{Precondition, TargetPath};
use guard_core::{Plan, Receipt};

use super::text::{BAD, GOOD, Line, Lines, NOTE, styled};

/// Writes a letter and a path for each file that was changed, and what there is to say of it.
pub(crate) fn committed(out: &mut dyn Write, receipt: &Receipt) -> io::Result<()> {
    if receipt.changes.is_empty() {
        writeln!(out, "{}", styled(GOOD, "unchanged"))?;
    }
    for change in &receipt.changes {
        let to = change.moved_to.as_ref().map(TargetPath::as_str);
        letter(out, &change.precondition, change.after.is_some(), change.resolved.as_str(), to)?;
        let lost = change.metadata.lost.iter().map(|lost| format!("not kept: {lost}"));
        for note in change.notes.iter().cloned().chain(lost) {
            writeln!(out, "  {} {}", styled(NOTE, "note:"), Line(&note))?;
        }
        for left in &change.left {
            writeln!(out, "  {} {}", styled(NOTE, "left:"), Line(left))?;
        }
    }
    notes(out, &receipt.notes, receipt.stopped.as_deref())?;
    if receipt.unrestricted {
        writeln!(out, "  {} the policy does not hold paths to the roots", styled(NOTE, "note:"))?;
    }
    Ok(())
}

/// Writes a letter and a path for each file that would be changed; the differences follow.
pub(crate) fn planned(out: &mut dyn Write, plan: &Plan) -> io::Result<()> {
    for change in &plan.changes {
        let to = change.moved_to.as_ref().map(TargetPath::as_str);
        letter(out, &change.precondition, change.after.is_some(), change.resolved.as_str(), to)?;
    }
    notes(out, &plan.notes, plan.stopped.as_deref())
}

fn notes(out: &mut dyn Write, notes: &[String], stopped: Option<&str>) -> io::Result<()> {
    for note in notes {
        writeln!(out, "  {} {}", styled(NOTE, "note:"), Line(note))?;
    }
    match stopped {
        Some(why) => {
            writeln!(out, "{}\n{}", styled(BAD, "stopped before the operation that failed"), Lines(why))
        }
        None => Ok(()),
    }
}

fn letter(
    out: &mut dyn Write,
    precondition: &Precondition,
    is_there: bool,
    path: &str,
    to: Option<&str>,
) -> io::Result<()> {
    let letter = match (precondition, to, is_there) {
        (_, Some(_), _) => "R",
        (Precondition::Absent, ..) => "A",
        (_, None, true) => "M",
        (_, None, false) => "D",
    };
    write!(out, "{} {}", styled(GOOD, letter), Line(path))?;
    match to {
        Some(to) => writeln!(out, " -> {}", Line(to)),
        None => writeln!(out),
    }
}
