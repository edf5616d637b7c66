//! A quick hash of lines.
//!
//! It only sorts lines into buckets; what decides is always the comparison of the bytes.

use std::hash::{BuildHasher, Hasher};

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hashes a line.
pub(crate) fn line(bytes: &[u8]) -> u64 {
    let mut hash = bytes.len() as u64;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        hash = mix(hash ^ u64::from_le_bytes(*word));
    }
    if !rest.is_empty() {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        hash = mix(hash ^ u64::from_le_bytes(word));
    }
    hash
}

/// Multiplies in 128 bits and folds, so that every bit of the input reaches every bit of the output.
const fn mix(word: u64) -> u64 {
    let product = (word ^ 0xd1b5_4a32_d192_ed03) as u128 * FACTOR as u128;
    (product as u64) ^ ((product >> 64) as u64)
}

/// Takes a hash that is one already.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = line(bytes);
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Makes [`Hashed`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BuildHashed;

impl BuildHasher for BuildHashed {
    type Hasher = Hashed;

    fn build_hasher(&self) -> Hashed {
        Hashed::default()
    }
}
