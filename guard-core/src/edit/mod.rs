//! The edit engine: byte-exact replacement of texts that occur exactly once, or a refusal that shows where to look.
//!
//! It is pure. Bytes outside the replaced spans are identical, whatever their encoding.

mod closest;
mod find;
mod pieces;
mod refused;

pub(crate) use find::Count;
pub(crate) use pieces::{Edited, Pieces};
pub(crate) use refused::Refused;

use guard_policy::{Eol, TextShape};

use crate::Edit;
use find::{Hits, Needle, line_of, starts};

/// Applies the edits in order, each in the result of those before it.
///
/// `measure` gives the length that UTF-8 bytes have in the file, which differs where the file is encoded otherwise.
pub(crate) fn apply<'a, M: Fn(&[u8]) -> u64>(
    base: &'a [u8],
    shape: TextShape,
    edits: &[Edit],
    measure: M,
) -> Result<Pieces<'a, M>, Refused> {
    let mut pieces = Pieces::new(base, measure);
    for (index, edit) in edits.iter().enumerate() {
        let text = pieces.bytes();
        let needle = Needle::new(&text, edit.old.as_bytes());
        let numbered = (edits.len() > 1).then_some(index + 1);
        let hits = match needle.hits(edit.replace_all) {
            Hits::Apart(hits) if hits.is_empty() => return Err(missing(&text, edit, numbered)),
            Hits::Apart(hits) => hits,
            Hits::Several { first, count, overlapping } => {
                let lines = first.iter().map(|hit| line_of(&text, hit.start)).collect();
                return Err(Refused::Ambiguous { edit: numbered, lines, count, overlapping });
            }
        };
        let replacements = hits
            .into_iter()
            .map(|hit| (hit.clone(), find::with_eol_of(&text, &hit, edit.new.as_bytes(), shape.eol)));
        pieces.replace(replacements);
    }
    Ok(pieces)
}

fn missing(text: &[u8], edit: &Edit, numbered: Option<usize>) -> Refused {
    if !edit.new.is_empty()
        && let [at] = starts(text, edit.new.as_bytes()).take(2).collect::<Vec<_>>().as_slice()
    {
        return Refused::AlreadyApplied { edit: numbered, line: line_of(text, *at) };
    }
    Refused::NoMatch { edit: numbered, closest: closest::describe(text, edit.old.as_bytes()) }
}

/// Tells whether lines of this file end with CRLF at least somewhere.
fn has_crlf(eol: Eol) -> bool {
    matches!(eol, Eol::Crlf | Eol::Mixed)
}

#[cfg(test)]
mod tests;
