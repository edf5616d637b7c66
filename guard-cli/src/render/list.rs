//! The names in a directory.

use std::io::{self, Write};

use guard_core::DirListing;
use guard_core::policy::FileState;

use super::text::{DIM, Line, NOTE, styled};

/// Writes one name a line: type, size, name.
pub(crate) fn listing(out: &mut dyn Write, listing: &DirListing) -> io::Result<()> {
    for entry in &listing.entries {
        let (kind, size) = match &entry.state {
            FileState::Regular { len, .. } => ("file", len.to_string()),
            FileState::Directory => ("dir", String::new()),
            FileState::Link { .. } => ("link", String::new()),
            FileState::Other { .. } => ("other", String::new()),
            FileState::Absent => ("gone", String::new()),
        };
        write!(out, "{} {size:>12}  {}", styled(DIM, format!("{kind:<5}")), Line(&entry.name))?;
        match &entry.state {
            FileState::Link { text } => write!(out, " -> {}", Line(text))?,
            FileState::Other { what } => write!(out, " ({})", what.describe())?,
            _ => {}
        }
        if !entry.addressable {
            write!(out, " {}", styled(NOTE, "(not UTF-8: no tool can name it)"))?;
        }
        writeln!(out)?;
    }
    if let Some(next) = &listing.next {
        writeln!(
            out,
            "{} go on with --after {}",
            styled(NOTE, "more:"),
            Line(&super::refusal::quoted(next))
        )?;
    }
    Ok(())
}
