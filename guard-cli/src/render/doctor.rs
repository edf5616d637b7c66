//! What the target is and can do.

use std::io::{self, Write};

use guard_core::policy::{Access, Fact};
use guard_core::port::{LeaseSupport, Tier};

use super::text::{DIM, Line, NOTE, styled};
use crate::doctor::{Diagnosis, Facts, Leftovers};

/// Writes the findings, one a line.
pub(crate) fn diagnosis(out: &mut dyn Write, diagnosis: &Diagnosis) -> io::Result<()> {
    let capabilities = &diagnosis.capabilities;
    let home = match &capabilities.home {
        Fact::Known(Some(home)) => home.as_str(),
        Fact::Known(None) => "none",
        Fact::Unknown => "not known: what is private below a home is refused wherever one could be",
    };
    let replace = match capabilities.tier {
        Tier::Exchange => {
            "exchange: what is displaced is judged, and put back if it is not what was expected"
        }
        Tier::Window => "window: checked, renamed, checked again; a race is narrowed, not closed",
        Tier::CreatedNonatomic => "created-nonatomic: exclusive, but a reader can see a file partial",
        Tier::InPlace => "in-place: neither exclusive nor crash-atomic",
    };
    let lease = match capabilities.lease {
        LeaseSupport::Tried => "tried: where it is had, a file that is open for writing is noticed",
        LeaseSupport::No => "none: a writer that has a file open can be missed",
    };
    let create =
        "exclusive: what is there is never replaced; without hard links a reader can see a new file partial";
    let rows = [
        ("target", diagnosis.target.as_str()),
        ("home", home),
        ("create", create),
        ("tier", replace),
        ("lease", lease),
    ];
    for (name, value) in rows {
        writeln!(out, "{} {}", styled(DIM, format!("{name:<7}")), Line(value))?;
        if name == "target" {
            writeln!(out, "{} uid {}", styled(DIM, "user   "), capabilities.uid)?;
        }
    }
    if let Some(shell) = &diagnosis.shell {
        facts(out, shell)?;
    }
    for root in &diagnosis.roots {
        let access = if root.access == Access::ReadOnly { " (reading only)" } else { "" };
        writeln!(out, "{} {}{access}", styled(DIM, "root   "), Line(root.path.as_str()))?;
    }
    match &diagnosis.leftovers {
        Some(leftovers) => left(out, leftovers),
        None => Ok(()),
    }
}

fn facts(out: &mut dyn Write, shell: &Facts) -> io::Result<()> {
    writeln!(out, "{} {}, umask {}", styled(DIM, "shell  "), Line(&shell.name), Line(&shell.umask))?;
    let tools: Vec<_> = shell.tools.iter().map(|(name, tool)| format!("{name} {tool}")).collect();
    writeln!(out, "{} {}", styled(DIM, "tools  "), Line(&tools.join(", ")))?;
    for missing in &shell.missing {
        writeln!(out, "{} {missing}", styled(NOTE, "missing"))?;
    }
    Ok(())
}

fn left(out: &mut dyn Write, leftovers: &Leftovers) -> io::Result<()> {
    if leftovers.found.is_empty() {
        writeln!(out, "no leftovers")?;
    }
    for file in &leftovers.found {
        writeln!(
            out,
            "{} {}: {}",
            styled(NOTE, "left   "),
            Line(file.path.as_str()),
            super::stat::state(&file.state)
        )?;
        if let Some(digest) = file.state.digest() {
            writeln!(out, "        {digest}")?;
        }
    }
    for skipped in &leftovers.skipped {
        writeln!(out, "{} {}", styled(NOTE, "skipped"), Line(skipped))?;
    }
    if leftovers.incomplete {
        writeln!(out, "{} there are more names than were looked at", styled(NOTE, "partial"))?;
    }
    Ok(())
}
