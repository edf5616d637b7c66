//! Any text reads alike in any pieces.
#![no_main]

use guard_patch::{Event, Parser, Patch, Rejected, parse};
use libfuzzer_sys::fuzz_target;

fn read<'t>(pieces: impl Iterator<Item = &'t str>) -> (Result<Patch, Rejected>, Vec<String>) {
    let mut events = Vec::new();
    let mut listener = |event: Event<'_>| events.push(format!("{event:?}"));
    let mut parser = Parser::new();
    for piece in pieces {
        parser.push(piece, &mut listener);
    }
    let patch = parser.finish(&mut listener);
    (patch, events)
}

/// Cuts a text into pieces of about a length.
fn pieces(text: &str, length: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = (length..rest.len()).find(|end| rest.is_char_boundary(*end)).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

fuzz_target!(|input: (u8, &str)| {
    let (length, text) = input;
    let whole = read(std::iter::once(text));
    assert_eq!(read(pieces(text, usize::from(length).max(1))), whole);
    assert_eq!(read(pieces(text, 1)), whole);
    assert_eq!(parse(text), whole.0);
});
