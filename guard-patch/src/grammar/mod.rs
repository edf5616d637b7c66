//! What single lines of a patch mean.

pub(crate) mod anchor;
pub(crate) mod marker;
pub(crate) mod wrapper;

/// The blanks that the grammar knows.
pub(crate) const BLANKS: [char; 2] = [' ', '\t'];

/// Says whether a line has nothing but blanks.
pub(crate) fn is_blank(line: &str) -> bool {
    line.trim_matches(BLANKS).is_empty()
}

/// Says whether a line opens or closes a code fence.
pub(crate) fn is_fence(line: &str) -> bool {
    let line = line.trim_matches(BLANKS);
    line.starts_with("```") || line.starts_with("~~~")
}
