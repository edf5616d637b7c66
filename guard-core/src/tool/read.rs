//! `read_file`: pages of lines, windows of bytes, and typed results for what is no text.

use std::fmt::Write as _;

use guard_policy::{
    Act, Bom, Code, ContentClass, Delivered, Digest, Eol, Fact, FileState, OtherKind, Ranges, Refusal,
    TargetPath, TextShape, Ticket, classify, classify_sample,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::port::{Body, Contents, Last, Part};
use crate::request::{Asked, Known, Request, Site};
use crate::text::{escape, hashes, lines, utf16};
use crate::{ByteWindow, Display, Failure, ReadFile};

/// What a read delivers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReadResult {
    /// The path as it was requested.
    pub path: String,
    /// Where it is on the target.
    pub resolved: TargetPath,
    /// What it is.
    pub kind: FileKind,
    /// The digest of the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The length of the whole file in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The line endings of the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eol: Option<Eol>,
    /// Whether the file begins with a byte-order mark.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bom: bool,
    /// The text that is delivered; of a file in a legacy encoding with `\xHH` for bytes that are not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The first line that is delivered, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_line: Option<u64>,
    /// The last line that is delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_line: Option<u64>,
    /// Lines of the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_lines: Option<u64>,
    /// Whether the last line of the whole file ends with a line ending, which a display by lines does not show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_newline: Option<bool>,
    /// Lines that were cut as too long, each with the read that shows the rest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<CutLine>,
    /// The read that goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<NextRead>,
    /// How to go on, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Requests to the target that the call took.
    pub round_trips: u32,
    /// The raw bytes that were delivered, in order, for hosts.
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

/// What a path that was read is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    /// UTF-8 text.
    Text,
    /// UTF-16 text, decoded.
    Utf16,
    /// Text in a legacy encoding.
    Bytes,
    /// Binary content; no byte is delivered.
    Binary,
    /// A file over the limit of what is read as a whole; windows of bytes can be read.
    TooLarge,
    /// A directory.
    Directory,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character or block device.
    Device,
    /// Anything else.
    Other,
}

/// A line that was cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CutLine {
    /// Its number.
    pub line: u64,
    /// The bytes that were not delivered, as the argument of the read that shows them.
    pub bytes: ByteWindow,
}

/// The arguments of the read that goes on, besides the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NextRead {
    /// From this line.
    Offset(u64),
    /// From this window.
    Bytes(ByteWindow),
}

pub(crate) async fn read_file(mut request: Request, args: ReadFile) -> Result<ReadResult, Failure> {
    if args.bytes.is_some() && (args.offset.is_some() || args.limit.is_some()) {
        let detail = "give either bytes, or offset and limit";
        return Err(Refusal::new(Code::InvalidArguments, &args.path, detail).into());
    }
    if args.offset == Some(0) || args.limit == Some(0) || args.bytes.is_some_and(|window| window.length == 0)
    {
        let detail = "lines are counted from 1, and at least one line or byte is read";
        return Err(Refusal::new(Code::InvalidArguments, &args.path, detail).into());
    }
    let mut site = request.locate(&args.path, Last::Follow).await?;
    request.judge(&site, Asked::plain(Act::Read), Known::NOTHING)?;
    let began = request.actor.views().begin();
    let mut contents = request.read_whole(&site).await?;
    if let (Body::TooLarge, Some(window)) = (&contents.body, args.bytes) {
        let len = window.length.min(request.guard().policy.limits.read_bytes.max(1));
        contents = request.read_part(&site, Part::Bytes { offset: window.offset, len }).await?;
    }
    if contents.found.resolved != site.expect {
        site.redirect(contents.found.resolved.clone())?;
    }
    let known = Known { state: Fact::Known(&contents.found.state), class: Fact::Unknown };
    if contents.found.state == FileState::Absent && request.records() {
        request.actor.views().record_absent(&site.expect, began);
    }
    request.judge(&site, Asked::plain(Act::Read), known)?;
    deliver(&request, &args, &site, contents, began)
}

/// Makes the result, and as the last step records what it delivers.
fn deliver(
    request: &Request,
    args: &ReadFile,
    site: &Site,
    contents: Contents,
    began: Ticket,
) -> Result<ReadResult, Failure> {
    let state = contents.found.state;
    let mut result = ReadResult {
        path: site.requested.clone(),
        resolved: site.expect.clone(),
        kind: FileKind::Other,
        digest: state.digest(),
        size: None,
        eol: None,
        bom: false,
        content: None,
        first_line: None,
        last_line: None,
        total_lines: None,
        final_newline: None,
        cut: Vec::new(),
        next: None,
        hint: None,
        round_trips: request.trips,
        bytes: Vec::new(),
    };
    let len = match state {
        FileState::Regular { len, .. } => len,
        FileState::Absent | FileState::Link { .. } => {
            // The policy refuses these; a state that it let through is not delivered as anything else.
            return Err(Refusal::new(Code::NotFound, &site.requested, "").into());
        }
        FileState::Directory => {
            result.kind = FileKind::Directory;
            result.hint = Some("It is a directory; list_dir shows what is in it.".to_owned());
            return Ok(result);
        }
        FileState::Other { what } => {
            result.kind = match what {
                OtherKind::Fifo => FileKind::Fifo,
                OtherKind::Socket => FileKind::Socket,
                OtherKind::CharDevice | OtherKind::BlockDevice => FileKind::Device,
                OtherKind::Unknown => FileKind::Other,
            };
            result.hint = Some(format!("It is {}, which is not read.", what.describe()));
            return Ok(result);
        }
    };
    result.size = Some(len);
    let (ranges, shape, lines) = match contents.body {
        Body::NotRegular | Body::TooLarge => {
            result.kind = FileKind::TooLarge;
            let limit = request.guard().policy.limits.file_bytes;
            result.hint = Some(format!(
                "Its {len} bytes are over the limit of {limit} for reading by lines; read it by windows of bytes."
            ));
            (Ranges::new(), Fact::Unknown, None)
        }
        Body::Bytes { offset, bytes } => {
            let whole = offset == 0 && bytes.len() as u64 == len;
            let shape = if whole { classify(&bytes) } else { sampled(&bytes) };
            result.kind = match shape.class {
                ContentClass::Text => FileKind::Text,
                ContentClass::Utf16 => FileKind::Utf16,
                ContentClass::Bytes => FileKind::Bytes,
                ContentClass::Binary => FileKind::Binary,
            };
            let shown = match (shape.class, args.bytes) {
                (ContentClass::Binary, _) => {
                    result.hint = Some("Its content is binary; no byte of it is shown.".to_owned());
                    Ranges::new()
                }
                (_, Some(window)) => show_window(request, &mut result, (offset, &bytes, len), window, shape),
                (_, None) => show_lines(request, &mut result, &bytes, shape, args),
            };
            if whole {
                result.eol = (shape.class != ContentClass::Binary).then_some(shape.eol);
                result.bom = shape.bom.is_some();
            }
            let lines = if whole && request.records() { hashes::lines(&bytes, shape) } else { None };
            (shown, if whole { Fact::Known(shape) } else { Fact::Unknown }, lines)
        }
    };
    if request.records()
        && let Some(digest) = result.digest
    {
        let delivered = Delivered { digest, len, ranges, shape };
        let mut views = request.actor.views();
        views.record(&site.expect, began, delivered);
        if let Some(lines) = &lines {
            views.note_lines(&site.expect, digest, lines);
        }
    }
    Ok(result)
}

/// Judges a window of a file that is too large to be at hand as a whole. A character that either edge cuts is not
/// held against it.
fn sampled(window: &[u8]) -> TextShape {
    let cut = window.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
    TextShape { class: classify_sample(&window[cut..]), eol: Eol::Mixed, bom: Bom::None }
}

/// Shows a page of lines and returns the stored bytes that it delivers.
fn show_lines(
    request: &Request,
    result: &mut ReadResult,
    bytes: &[u8],
    shape: TextShape,
    args: &ReadFile,
) -> Ranges {
    let decoded = if shape.class == ContentClass::Utf16 { utf16::decode(bytes) } else { None };
    let text = decoded.as_deref().map_or(bytes, str::as_bytes);
    let limits = &request.guard().policy.limits;
    let window = lines::Window {
        first: args.offset.unwrap_or(1),
        lines: args.limit.unwrap_or(limits.read_lines).min(limits.read_lines).max(1),
        bytes: limits.read_bytes,
        line_bytes: limits.line_bytes.max(1),
    };
    let paged = lines::page(text, window);
    let mut stored = Stored::new(text, decoded.is_some());
    let mut content = String::new();
    let mut ranges = Ranges::new();
    if window.first == 1 {
        // A BOM is delivered with line 1: the result says that it is there.
        ranges.insert(0..stored.offset(0));
    }
    for line in &paged.lines {
        let shown = &text[line.shown.clone()];
        let cut = line.cut.len();
        match args.display {
            Display::Plain => content.push_str(&escape::shown(shown)),
            Display::Numbered => {
                let body = shown.strip_suffix(b"\n").unwrap_or(shown);
                // Where every line ends with CRLF the result says so once, and no line shows it.
                let body =
                    if shape.eol == Eol::Crlf { body.strip_suffix(b"\r").unwrap_or(body) } else { body };
                let body =
                    if line.number == 1 { body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body) } else { body };
                let _ = write!(content, "{:>6}\t{}", line.number, escape::shown(body));
                if cut > 0 {
                    let _ = write!(content, "… [{cut} bytes of this line are not shown]");
                }
                content.push('\n');
            }
        }
        let (start, end) = (stored.offset(line.shown.start), stored.offset(line.shown.end));
        ranges.insert(start..end);
        result.bytes.extend_from_slice(shown);
        if cut > 0 {
            let from = end;
            let length = stored.offset(line.cut.end) - from;
            result.cut.push(CutLine { line: line.number, bytes: ByteWindow { offset: from, length } });
        }
    }
    result.total_lines = Some(paged.total);
    result.final_newline = (!text.is_empty()).then(|| text.ends_with(b"\n"));
    result.first_line = paged.lines.first().map(|line| line.number);
    result.last_line = paged.lines.last().map(|line| line.number);
    result.content = Some(content);
    let mut hints = Vec::new();
    match result.last_line {
        Some(last) if last < paged.total => {
            result.next = Some(NextRead::Offset(last + 1));
            hints.push(format!(
                "Lines {} to {last} of {} are shown; go on with offset {}.",
                window.first,
                paged.total,
                last + 1
            ));
        }
        None if paged.total > 0 => {
            hints.push(format!(
                "The file has {} lines; offset {} is behind its end.",
                paged.total, window.first
            ));
        }
        _ => {}
    }
    if result.final_newline == Some(false) && result.last_line == Some(paged.total) {
        hints.push("The last line has no line ending.".to_owned());
    }
    if let Some(cut) = result.cut.first() {
        hints.push(format!(
            "Line {} was cut; read bytes {{offset: {}, length: {}}} for its rest.",
            cut.line, cut.bytes.offset, cut.bytes.length
        ));
    }
    result.hint = (!hints.is_empty()).then(|| hints.join(" "));
    ranges
}

/// Shows a window of bytes and returns the stored bytes that it delivers.
fn show_window(
    request: &Request,
    result: &mut ReadResult,
    (start, bytes, len): (u64, &[u8], u64),
    window: ByteWindow,
    shape: TextShape,
) -> Ranges {
    let limit = request.guard().policy.limits.read_bytes.max(1);
    let from = (window.offset.max(start) - start).min(bytes.len() as u64) as usize;
    let wanted = window.length.min(limit).min((bytes.len() - from) as u64) as usize;
    let asked = &bytes[from..from + wanted];
    let (shown, content) = if shape.class == ContentClass::Utf16 {
        utf16_window(bytes, from, asked)
    } else {
        // A character that the window's end cuts comes with the next window, unless nothing else is in this one.
        let at_end = from + wanted == bytes.len();
        let cut = if at_end { asked.len() } else { whole_characters(asked) };
        let cut = if cut == 0 { asked.len() } else { cut };
        (cut, escape::shown(&asked[..cut]))
    };
    result.content = Some(content);
    result.bytes.extend_from_slice(&asked[..shown]);
    let end = start + (from + shown) as u64;
    if end < len && shown > 0 {
        let length = window.offset.saturating_add(window.length).saturating_sub(end);
        let next =
            ByteWindow { offset: end, length: if length == 0 { limit } else { length }.min(len - end) };
        result.next = Some(NextRead::Bytes(next));
        result.hint = Some(format!("Bytes {} to {end} of {len} are shown.", start + from as u64));
    }
    Ranges::from(start + from as u64..end)
}

/// Returns how many bytes of the window are whole UTF-8 characters (or no UTF-8 at all).
fn whole_characters(window: &[u8]) -> usize {
    match std::str::from_utf8(window) {
        // Only the last character is not whole: the bytes may be its beginning.
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => window.len(),
    }
}

/// Decodes a window of UTF-16, by whole units of two bytes and whole pairs of surrogates.
fn utf16_window(bytes: &[u8], from: usize, asked: &[u8]) -> (usize, String) {
    let little = bytes.starts_with(&[0xFF, 0xFE]);
    let unit = |pair: &[u8]| {
        if little { u16::from_le_bytes([pair[0], pair[1]]) } else { u16::from_be_bytes([pair[0], pair[1]]) }
    };
    let odd = from % 2;
    let units: Vec<u16> = asked.get(odd..).unwrap_or_default().chunks_exact(2).map(unit).collect();
    let cut_pair = units.last().is_some_and(|last| (0xD800..0xDC00).contains(last));
    let at_end = from + asked.len() == bytes.len();
    let count = units.len() - usize::from(cut_pair && !at_end && units.len() > 1);
    let text: String = char::decode_utf16(units[..count].iter().copied())
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
        .filter(|c| *c != '\u{FEFF}')
        .collect();
    let shown = odd + 2 * count;
    // A window of one byte shows no unit; it is delivered all the same, so that reading always goes on.
    (if shown == 0 || asked.len() < 2 { asked.len() } else { shown }, text)
}

/// Where the bytes of a shown text are in the file as it is stored: asked from its beginning to its end.
struct Stored<'a> {
    text: &'a [u8],
    utf16: bool,
    /// The last offset that was asked for, and where it is stored.
    last: (usize, u64),
}

impl<'a> Stored<'a> {
    fn new(text: &'a [u8], utf16: bool) -> Self {
        Self { text, utf16, last: (0, if utf16 { Bom::LEN_UTF16 } else { 0 }) }
    }

    /// Returns where an offset is stored that is not before the last one.
    fn offset(&mut self, at: usize) -> u64 {
        let (from, stored) = self.last;
        let between = &self.text[from..at];
        let stored = stored + if self.utf16 { utf16::encoded_len(between) } else { between.len() as u64 };
        self.last = (at, stored);
        stored
    }
}
