//! Names of temporary files: `.guard-` and eight characters, derived from the commit, so that a controller knows
//! them without asking.

use guard_core::policy::Digest;
use guard_core::port::CommitId;

/// The beginning of every temporary name.
const PREFIX: &str = ".guard-";
/// Lower case only, for filesystems that fold case: RFC 4648's base 32.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
const LETTERS: usize = 8;

/// What a temporary name is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// The new content before it is published; after an exchange, the old content.
    Stage,
    /// The old content where it is linked or copied aside, or renamed away.
    Aside,
    /// What an undo takes away from the name, and a directory that it makes again.
    Undo,
    /// A file to find out what the filesystem can do.
    Probe,
}

/// Derives the name of one temporary file of one change.
///
/// It is short (15 bytes) so that it fits wherever the file's own name does not leave room for a suffix.
pub(crate) fn name(commit: &CommitId, change: usize, role: Role) -> String {
    let digest = Digest::of(format!("{commit}\0{change}\0{role:?}").as_bytes());
    let mut name = PREFIX.to_owned();
    name.extend(digest.raw().iter().take(LETTERS).map(|byte| char::from(ALPHABET[usize::from(byte % 32)])));
    name
}

/// Tells whether a name is of this form.
pub(crate) fn is_temp(name: &[u8]) -> bool {
    name.strip_prefix(PREFIX.as_bytes())
        .is_some_and(|rest| rest.len() == LETTERS && rest.iter().all(|byte| ALPHABET.contains(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_derived_from_commit_change_and_role() {
        let id = CommitId("one".to_owned());
        let stage = name(&id, 0, Role::Stage);
        assert_eq!(stage, name(&id, 0, Role::Stage));
        assert!(is_temp(stage.as_bytes()), "{stage}");
        for other in [
            name(&id, 1, Role::Stage),
            name(&id, 0, Role::Aside),
            name(&CommitId("two".to_owned()), 0, Role::Stage),
        ] {
            assert_ne!(stage, other);
        }
        for text in [".guard-", ".guard-ABCDEFGH", ".guard-abcdefghi", "guard-abcdefgh", ".guard-abcdefg1"] {
            assert!(!is_temp(text.as_bytes()), "{text}");
        }
    }
}
