//! Names on a target: any bytes but NUL on the wire, text for people and for paths.

use std::fmt::Write as _;

use guard_core::policy::{PathError, TargetPath};
use guard_core::port::OpError;

/// Takes the bytes of an absolute, normal path.
pub(crate) fn target_path(bytes: Vec<u8>) -> Result<TargetPath, OpError> {
    let text = String::from_utf8(bytes)
        .map_err(|_| OpError::Unsupported { what: "a path with a name that is not UTF-8".to_owned() })?;
    TargetPath::new(text).map_err(|error| match error {
        PathError::TooLong(_) | PathError::NameTooLong(_) => OpError::NameTooLong,
        other => OpError::Unsupported { what: other.to_string() },
    })
}

/// Appends a name to a path.
pub(crate) fn child(path: &TargetPath, name: &str) -> Result<TargetPath, OpError> {
    path.child(name).map_err(|error| match error {
        PathError::TooLong(_) | PathError::NameTooLong(_) => OpError::NameTooLong,
        other => OpError::Unsupported { what: other.to_string() },
    })
}

/// Writes bytes as text: UTF-8 as it is; else what is not UTF-8 as `\xHH` and a backslash as `\\`.
pub(crate) fn escaped(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut text = String::with_capacity(bytes.len() * 2);
    for chunk in bytes.utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', "\\\\"));
        for byte in chunk.invalid() {
            // Writing to a String cannot fail.
            let _ = write!(text, "\\x{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_utf8_are_escaped() {
        for (bytes, expected) in [
            (&b"plain"[..], "plain"),
            (b"back\\slash", "back\\slash"),
            ("na\u{ef}ve".as_bytes(), "na\u{ef}ve"),
            (b"\xff", "\\xFF"),
            (b"a\\b\xfe", "a\\\\b\\xFE"),
        ] {
            assert_eq!(escaped(bytes), expected);
        }
    }
}
