//! What a target's words mean to a caller.

use guard_core::policy::{FileState, OtherKind, TargetPath};
use guard_core::port::{CommitFailure, OpError};

use super::wire::{Failed, Noise, Problem, State};
use crate::names;

/// Takes a path that the target told.
pub(super) fn path(bytes: Vec<u8>) -> Result<TargetPath, OpError> {
    names::target_path(bytes)
}

/// Writes a path for a person.
fn shown(bytes: &[u8]) -> String {
    names::escaped(bytes)
}

/// Takes a state that the target told.
pub(super) fn state(state: State) -> FileState {
    match state {
        State::Regular { len, mode, nlink, digest } => FileState::Regular { len, mode, nlink, digest },
        State::Absent => FileState::Absent,
        State::Link(text) => FileState::Link { text: names::escaped(&text) },
        State::Directory => FileState::Directory,
        State::Other(what) => FileState::Other { what },
    }
}

fn or_unknown(found: Option<State>) -> FileState {
    found.map_or(FileState::Other { what: OtherKind::Unknown }, state)
}

/// Translates what went wrong.
pub(super) fn problem(problem: Problem) -> OpError {
    let Problem { code, path: raw, text, state: found } = problem;
    let at = shown(&raw);
    match code.as_str() {
        "not-found" => OpError::NotFound { path: at },
        "not-directory" => OpError::NotDirectory { path: at },
        "not-regular" => match path(raw) {
            Ok(path) => OpError::NotRegular { path, state: or_unknown(found) },
            Err(error) => error,
        },
        "outside" => OpError::OutsideRoot,
        "root-replaced" => match path(raw) {
            Ok(path) => OpError::RootReplaced { path },
            Err(error) => error,
        },
        "loop" => OpError::Loop,
        "name-too-long" => OpError::NameTooLong,
        "denied" => OpError::PermissionDenied { path: at },
        "torn" => OpError::Torn,
        "unstable" => OpError::UnstablePath,
        "no-space" => OpError::NoSpace,
        "read-only-filesystem" => OpError::ReadOnlyFilesystem,
        "unsupported" => OpError::Unsupported { what: text },
        "unavailable" => OpError::Unavailable { why: format!("{at}: {text}") },
        // `io`, and whatever has no variant of its own: the target's words.
        other => {
            let errno = if text.is_empty() { other.to_owned() } else { text };
            OpError::Io { what: format!("working on {at}"), errno }
        }
    }
}

/// Translates why a batch was not carried out.
pub(super) fn failure(failed: Failed) -> Result<CommitFailure, Noise> {
    let Failed { destination, problem: cause, .. } = failed;
    let resolved = || path(cause.path.clone()).map_err(|error| Noise::new(error.to_string()));
    Ok(match cause.code.as_str() {
        "precondition" => {
            CommitFailure::Precondition { resolved: resolved()?, found: or_unknown(cause.state), destination }
        }
        "elsewhere" => match path(cause.path.clone()) {
            Ok(resolved) => {
                CommitFailure::Elsewhere { resolved, state: or_unknown(cause.state), destination }
            }
            Err(error) => error.into(),
        },
        "read-only-file" => CommitFailure::ReadOnlyFile { resolved: resolved()? },
        "metadata-loss" => CommitFailure::MetadataLoss {
            resolved: resolved()?,
            lost: cause.text.split(',').map(|word| word.trim().to_owned()).collect(),
        },
        "busy-mount" => CommitFailure::BusyMount { resolved: resolved()? },
        "tier" => {
            let available =
                super::wire::tier(&cause.text).ok_or_else(|| Noise::new(format!("tier {:?}", cause.text)))?;
            CommitFailure::TierUnavailable { available }
        }
        "not-empty" => CommitFailure::NotEmpty { resolved: resolved()? },
        "content-mismatch" => CommitFailure::ContentMismatch,
        _ => problem(cause).into(),
    })
}

/// Returns the bytes of a link's text as [`names::escaped`] wrote it.
///
/// A text that reads `\xFF` can be of one byte or of four; it is taken to be of one. Where that is wrong, the target
/// finds another text than was demanded, and refuses.
pub(super) fn link_bytes(text: &str) -> Vec<u8> {
    unescaped(text.as_bytes()).unwrap_or_else(|| text.as_bytes().to_vec())
}

fn unescaped(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let (mut rest, mut raw) = (text, false);
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        match rest {
            [b'\\', after @ ..] => {
                bytes.push(b'\\');
                rest = after;
            }
            [b'x', high, low, after @ ..] => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let byte = (digit(*high)? << 4 | digit(*low)?) as u8;
                bytes.push(byte);
                raw = true;
                rest = after;
            }
            _ => return None,
        }
    }
    // Only what is not UTF-8 is ever written so.
    (raw && std::str::from_utf8(&bytes).is_err()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_link_goes_back_as_the_bytes_that_it_came_from() {
        for bytes in [&b"plain"[..], b"\xff", b"a\\b\xfe", b"back\\slash", b"\\x41", b"a\\\\b"] {
            assert_eq!(link_bytes(&names::escaped(bytes)), bytes, "{bytes:?}");
        }
    }
}
