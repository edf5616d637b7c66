//! Bytes that say themselves whose they are.

use std::fmt;

use guard_core::policy::Digest;

/// A content that one writer made: who, and the how-manieth.
///
/// Its bytes are derived from that alone, unique, and between 200 bytes and 8 KiB long; none is a prefix of another,
/// so that a file that is only half written is told from every version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    who: Who,
    seq: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Who {
    Rival,
    Ours,
}

impl Version {
    /// Names a content of the rival.
    #[must_use]
    pub const fn rival(seq: u64) -> Self {
        Self { who: Who::Rival, seq }
    }

    /// Names a content of the writer under test.
    #[must_use]
    pub const fn ours(seq: u64) -> Self {
        Self { who: Who::Ours, seq }
    }

    /// Returns its bytes.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        // Fibonacci hashing: sizes are spread, and a bigger number is as often shorter as longer.
        let size = 200 + (self.seq.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 51) as usize;
        let mut bytes = format!("{self}\n").into_bytes();
        let line = format!("{self} ");
        while bytes.len() + line.len() < size {
            bytes.extend_from_slice(line.as_bytes());
        }
        let sum = Digest::of(&bytes);
        bytes.extend_from_slice(format!("\n{sum}\n").as_bytes());
        bytes
    }

    /// Returns the digest of its bytes.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&self.bytes())
    }

    /// Tells which version these bytes are: whole, or `None`.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let line = bytes.split(|byte| *byte == b'\n').next()?;
        let (who, seq) = std::str::from_utf8(line).ok()?.split_once(' ')?;
        let who = [Who::Rival, Who::Ours].into_iter().find(|known| known.name() == who)?;
        let version = Self { who, seq: seq.parse().ok()? };
        (version.bytes() == bytes).then_some(version)
    }
}

impl Who {
    const fn name(self) -> &'static str {
        match self {
            Self::Rival => "rival",
            Self::Ours => "ours",
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.who.name(), self.seq)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn versions_are_unique_and_told_only_when_they_are_whole() {
        let versions = (0..300).flat_map(|seq| [Version::rival(seq), Version::ours(seq)]);
        let mut all = BTreeSet::new();
        for version in versions {
            let bytes = version.bytes();
            assert!((200..9000).contains(&bytes.len()), "{}", bytes.len());
            assert_eq!(Version::parse(&bytes), Some(version));
            for cut in [0, 1, 7, bytes.len() / 2, bytes.len() - 1] {
                assert_eq!(Version::parse(&bytes[..cut]), None);
            }
            let mut flipped = bytes.clone();
            flipped[100] ^= 1;
            assert_eq!(Version::parse(&flipped), None);
            assert!(all.insert(bytes));
        }
        assert_eq!(Version::parse(b"rival x\n"), None);
    }
}
