//! Unified diffs, for approvers and dry runs.

use guard_policy::{ContentClass, classify};
use similar::TextDiff;

use super::utf16;

/// Content above this size is not diffed.
const MAX: usize = 4 << 20;

/// Returns a unified diff with three lines of context; nothing where a side is binary, or too large for a person.
///
/// Bytes that are not UTF-8 are shown as U+FFFD.
pub(crate) fn unified(old: &[u8], new: &[u8]) -> Option<String> {
    if old.len().max(new.len()) > MAX {
        return None;
    }
    let (old, new) = (text(old)?, text(new)?);
    let diff = TextDiff::configure().timeout(std::time::Duration::from_secs(2)).diff_lines(&old, &new);
    Some(diff.unified_diff().context_radius(3).to_string())
}

fn text(bytes: &[u8]) -> Option<String> {
    match classify(bytes).class {
        ContentClass::Text | ContentClass::Bytes => Some(String::from_utf8_lossy(bytes).into_owned()),
        ContentClass::Utf16 => utf16::decode(bytes),
        ContentClass::Binary => None,
    }
}
