//! Lines that begin with `***`.

use super::BLANKS;

/// A line that begins with `***`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker<'a> {
    Begin,
    End,
    EndOfFile,
    Environment(Argument<'a>),
    Add(Argument<'a>),
    Delete(Argument<'a>),
    Update(Argument<'a>),
    MoveTo(Argument<'a>),
    MoveFile(Argument<'a>),
    Unknown,
}

/// What stands after a marker's colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Argument<'a> {
    pub(crate) text: &'a str,
    /// Whether a blank stands between the colon and the text.
    pub(crate) spaced: bool,
}

/// Reads a line that begins with `***`; any other line is no marker.
pub(crate) fn read<'a>(line: &'a str) -> Option<Marker<'a>> {
    type Make<'a> = fn(Argument<'a>) -> Marker<'a>;
    let with_argument: [(&str, Make<'a>); 6] = [
        ("*** Environment ID:", Marker::Environment),
        ("*** Add File:", Marker::Add),
        ("*** Delete File:", Marker::Delete),
        ("*** Update File:", Marker::Update),
        ("*** Move to:", Marker::MoveTo),
        ("*** Move File:", Marker::MoveFile),
    ];
    if !line.starts_with("***") {
        return None;
    }
    let line = line.trim_end_matches(BLANKS);
    let marker = match line {
        "*** Begin Patch" => Marker::Begin,
        "*** End Patch" => Marker::End,
        "*** End of File" => Marker::EndOfFile,
        _ => with_argument
            .iter()
            .find_map(|(name, make)| line.strip_prefix(name).map(|rest| make(argument(rest))))
            .unwrap_or(Marker::Unknown),
    };
    Some(marker)
}

fn argument(rest: &str) -> Argument<'_> {
    Argument { text: rest.trim_matches(BLANKS), spaced: rest.is_empty() || rest.starts_with(BLANKS) }
}
