//! A file that was read: its bytes on standard output, what is to be said of it on standard error.

use std::io::{self, IsTerminal as _, Write};

use guard_core::policy::Eol;
use guard_core::{FileKind, NextRead, ReadResult};

use super::text::{DIM, Line, Lines, NOTE, count, styled};

/// Prints the bytes that were delivered, and what they are.
pub(crate) fn delivered(result: &ReadResult) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if out.is_terminal() {
        // A file's content does not steer the terminal.
        write!(out, "{}", Lines(&String::from_utf8_lossy(&result.bytes)))?;
    } else {
        out.write_all(&result.bytes)?;
    }
    out.flush()?;
    summary(&mut anstream::stderr(), result)
}

fn summary(err: &mut dyn Write, result: &ReadResult) -> io::Result<()> {
    let mut facts = vec![kind(result.kind).to_owned()];
    facts.extend(result.size.map(|size| count(size, "byte", "bytes")));
    facts.extend(result.total_lines.map(|lines| count(lines, "line", "lines")));
    facts.extend(match result.eol {
        Some(Eol::Crlf) => Some("CRLF".to_owned()),
        Some(Eol::Mixed) => Some("mixed line ends".to_owned()),
        _ => None,
    });
    facts.extend(result.bom.then(|| "byte-order mark".to_owned()));
    writeln!(err, "{} {}", Line(result.resolved.as_str()), styled(DIM, format!("({})", facts.join(", "))))?;
    if let Some(digest) = &result.digest {
        writeln!(err, "{digest}")?;
    }
    let partial = match result.next {
        Some(NextRead::Offset(line)) => Some(format!(
            "lines {} to {}; go on with --offset {line}",
            result.first_line.unwrap_or_default(),
            result.last_line.unwrap_or_default()
        )),
        Some(NextRead::Bytes(window)) => {
            Some(format!("a window; go on with --bytes {}:{}", window.offset, window.length))
        }
        None => None,
    };
    if let Some(partial) = &partial {
        writeln!(err, "{} {partial}", styled(NOTE, "partial:"))?;
    }
    for cut in &result.cut {
        let (line, window) = (cut.line, cut.bytes);
        let rest = format!("line {line} was cut; its rest is --bytes {}:{}", window.offset, window.length);
        writeln!(err, "{} {rest}", styled(NOTE, "partial:"))?;
    }
    match &result.hint {
        Some(hint) if partial.is_none() && result.cut.is_empty() => writeln!(err, "{}", Lines(hint)),
        _ => Ok(()),
    }
}

const fn kind(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Text => "text",
        FileKind::Utf16 => "UTF-16 text, shown as UTF-8",
        FileKind::Bytes => "text in a legacy encoding",
        FileKind::Binary => "binary",
        FileKind::TooLarge => "too large to be read as a whole",
        FileKind::Directory => "a directory",
        FileKind::Fifo => "a FIFO",
        FileKind::Socket => "a socket",
        FileKind::Device => "a device",
        FileKind::Other => "of an unknown kind",
    }
}
