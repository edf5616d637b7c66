//! A quick hash of lines.
//!
//! It only sorts lines into buckets; what decides is always the comparison of the bytes.
//! It is seeded at random, so that no patch can be made whose lines all fall into one bucket.

use std::hash::{BuildHasher, Hasher, RandomState};

const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Makes hashers with one seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seed(u64);

impl Seed {
    pub(crate) fn random() -> Self {
        Self(RandomState::new().build_hasher().finish())
    }

    /// Hashes a line.
    pub(crate) fn line(self, bytes: &[u8]) -> u64 {
        let mut hash = self.0 ^ bytes.len() as u64;
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
}

/// Multiplies in 128 bits and folds, so that every bit of the input reaches every bit of the output.
const fn mix(word: u64) -> u64 {
    let product = (word ^ 0xd1b5_4a32_d192_ed03) as u128 * FACTOR as u128;
    (product as u64) ^ ((product >> 64) as u64)
}

impl BuildHasher for Seed {
    type Hasher = Seeded;

    fn build_hasher(&self) -> Seeded {
        Seeded(self.0)
    }
}

/// Hashes what consists of few parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeded(u64);

impl Hasher for Seeded {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = Seed(self.0).line(bytes);
    }

    fn write_u8(&mut self, byte: u8) {
        self.write_u64(u64::from(byte));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = mix(self.0 ^ word);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}
