//! What a mutating call did, or would do.

use std::io::{self, Write};

use guard_core::policy::{Precondition, Tool};
use guard_core::port::{Publish, Tier};
use guard_core::{ChangeReceipt, Conversion, Done, Plan, PlannedChange, Receipt, Undo};

use super::patch;
use super::text::{ADDED, DIM, GOOD, Line, Lines, NOTE, REMOVED, count, styled};

/// Writes what was done, or what would be.
pub(crate) fn done(out: &mut dyn Write, done: &Done) -> io::Result<()> {
    match done {
        Done::Committed(receipt) => committed(out, receipt),
        Done::Planned(plan) => planned(out, plan),
    }
}

fn committed(out: &mut dyn Write, receipt: &Receipt) -> io::Result<()> {
    if receipt.tool == Tool::ApplyPatch {
        return patch::committed(out, receipt);
    }
    for change in &receipt.changes {
        one(out, receipt.tool, change)?;
    }
    if receipt.unrestricted {
        writeln!(out, "  {} the policy does not hold paths to the roots", styled(NOTE, "note:"))?;
    }
    Ok(())
}

fn one(out: &mut dyn Write, tool: Tool, change: &ChangeReceipt) -> io::Result<()> {
    let done = change.publish.filter(|publish| publish.changed);
    let word = if done.is_some() { verb(tool, change) } else { "unchanged" };
    write!(out, "{} {}", styled(GOOD, word), Line(change.resolved.as_str()))?;
    if let Some(to) = &change.moved_to {
        write!(out, " to {}", Line(to.as_str()))?;
    }
    match change.bytes {
        Some(bytes) if change.moved_to.is_none() => writeln!(out, " ({})", count(bytes, "byte", "bytes"))?,
        _ => writeln!(out)?,
    }
    if let Some(before) = &change.before {
        writeln!(out, "  {} {before}", styled(DIM, "before"))?;
    }
    if let Some(after) = &change.after {
        writeln!(out, "  {} {after}", styled(DIM, "after "))?;
    }
    if let Some(given) = &change.given {
        writeln!(out, "  {} {given}", styled(DIM, "given "))?;
    }
    if let Some(publish) = done {
        writeln!(out, "  {} {}", styled(DIM, "by    "), published(tool, change, publish))?;
    }
    for made in &change.made {
        writeln!(out, "  made the directory {}", Line(made.as_str()))?;
    }
    let conversions = change.conversions.iter().map(|conversion| converted(*conversion).to_owned());
    let lost = change.metadata.lost.iter().map(|lost| format!("not kept: {lost}"));
    let names = (change.metadata.other_names > 0).then(|| {
        let names = count(change.metadata.other_names, "other name", "other names");
        format!("hard links: {names} still with the old bytes")
    });
    let notes = conversions.chain(lost).chain(names).chain(change.notes.iter().cloned());
    for note in notes {
        writeln!(out, "  {} {}", styled(NOTE, "note:"), Line(&note))?;
    }
    for left in &change.left {
        writeln!(out, "  {} {}", styled(NOTE, "left:"), Line(left))?;
    }
    if let Some(Undo::No { why }) = &change.undo {
        writeln!(out, "  {} it cannot be undone: {}", styled(NOTE, "note:"), Line(why))?;
    }
    Ok(())
}

fn verb(tool: Tool, change: &ChangeReceipt) -> &'static str {
    match (tool, &change.precondition) {
        (Tool::Undo, _) if change.moved_to.is_some() => "moved back",
        (Tool::Undo, _) if change.after.is_some() => "put back",
        (Tool::Undo, Precondition::Absent) if change.undo == Some(Undo::RemoveDir) => "made",
        (Tool::Undo, _) => "removed",
        (Tool::DeleteFile, _) => "deleted",
        (Tool::MoveFile, _) => "moved",
        (Tool::MakeDir, _) => "made",
        (Tool::EditFile, _) => "edited",
        (_, Precondition::Absent) => "created",
        _ => "replaced",
    }
}

fn published(tool: Tool, change: &ChangeReceipt, publish: Publish) -> String {
    let tier = match publish.tier {
        Tier::Exchange => match (&change.before, &change.after, &change.moved_to) {
            (Some(_), Some(_), None) => "an atomic exchange, judged by what came out",
            // A link has no digest before.
            (_, None, None) if tool == Tool::DeleteFile || change.before.is_some() => {
                "a rename, judged before it was gone"
            }
            _ => "an atomic no-replace primitive",
        },
        Tier::Window => "a rename after a check: a race is narrowed, not closed",
        Tier::CreatedNonatomic => "an exclusive creation: a reader could see it partial",
        Tier::InPlace => "writing in place: neither exclusive nor crash-atomic",
    };
    let lease = match publish.lease {
        Some(true) => ", with a lease",
        Some(false) => ", without a lease",
        None => "",
    };
    let copied = if publish.copied { ", copied across filesystems" } else { "" };
    format!("{tier}{lease}{copied}")
}

const fn converted(conversion: Conversion) -> &'static str {
    match conversion {
        Conversion::LfToCrlf => "line ends were written as CRLF, as they were",
        Conversion::BomKept => "the byte-order mark was kept",
        Conversion::Utf16 => "written as UTF-16, as it was",
    }
}

fn planned(out: &mut dyn Write, plan: &Plan) -> io::Result<()> {
    if plan.tool == Tool::ApplyPatch {
        patch::planned(out, plan)?;
    }
    for change in &plan.changes {
        would(out, plan, change)?;
    }
    if plan.approval_required {
        writeln!(out, "  {} an approval is required", styled(NOTE, "note:"))?;
    }
    Ok(())
}

fn would(out: &mut dyn Write, plan: &Plan, change: &PlannedChange) -> io::Result<()> {
    let summary = if plan.changed { &change.summary } else { "change nothing" };
    write!(out, "{} {}", styled(GOOD, format!("would {}:", Line(summary))), Line(change.resolved.as_str()))?;
    match &change.moved_to {
        Some(to) => writeln!(out, " to {}", Line(to.as_str()))?,
        None => writeln!(out)?,
    }
    for (name, digest) in [("before", &change.before), ("after ", &change.after)] {
        if let Some(digest) = digest {
            writeln!(out, "  {} {digest}", styled(DIM, name))?;
        }
    }
    match &change.diff {
        Some(diff) => difference(out, diff),
        None => Ok(()),
    }
}

fn difference(out: &mut dyn Write, diff: &str) -> io::Result<()> {
    for line in diff.lines() {
        let style = match line.as_bytes().first() {
            Some(b'+') => ADDED,
            Some(b'-') => REMOVED,
            _ => DIM,
        };
        writeln!(out, "{}", styled(style, Lines(line)))?;
    }
    Ok(())
}
