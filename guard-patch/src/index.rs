//! Where in a file the lines of a patch stand, at one tier.

use std::collections::HashMap;

use crate::hash::Seed;
use crate::lines::Lines;
use crate::tier::{self, Tier};

/// The file's lines as numbers: lines that are equal at the tier have one number, lines that the patch has not have 0.
#[derive(Debug)]
pub(crate) struct Index {
    /// The number of each word of the patch.
    words: Vec<u32>,
    /// The number of each line of the file.
    lines: Vec<u32>,
    /// Where the places of each number begin in `places`, and where the last ones end.
    starts: Vec<u32>,
    /// The lines of each number in order, number after number.
    places: Vec<u32>,
}

impl Index {
    pub(crate) fn new(lines: &Lines<'_>, words: &[&str], tier: Tier, seed: Seed) -> Self {
        let vocabulary = Vocabulary::new(words, tier, seed);
        let mut scratch = Vec::new();
        // Where lines look alike, the next one is often the same.
        let mut last: (&[u8], u32) = (b"\n", 0);
        let number = |line| {
            let content = lines.content(line);
            if content != last.0 {
                last = (content, vocabulary.number(tier, content, &mut scratch));
            }
            last.1
        };
        let numbers: Vec<u32> = (0..lines.len()).map(number).collect();
        let mut starts = vec![0u32; vocabulary.numbers.len() + 2];
        for number in &numbers {
            starts[*number as usize + 1] += 1;
        }
        // Lines that the patch has not are in no list.
        starts[1] = 0;
        for number in 1..starts.len() {
            starts[number] += starts[number - 1];
        }
        let mut next = starts.clone();
        let mut places = vec![0u32; starts.last().map_or(0, |end| *end as usize)];
        for (line, number) in numbers.iter().enumerate().filter(|(_, number)| **number > 0) {
            let slot = &mut next[*number as usize];
            places[*slot as usize] = line as u32;
            *slot += 1;
        }
        Self { words: vocabulary.words, lines: numbers, starts, places }
    }

    /// Returns the numbers of all lines of the file.
    pub(crate) fn lines(&self) -> &[u32] {
        &self.lines
    }

    /// Returns the number of a word; never 0.
    pub(crate) fn word(&self, word: u32) -> u32 {
        self.words[word as usize]
    }

    /// Returns the lines that have a number, in order.
    pub(crate) fn places(&self, number: u32) -> &[u32] {
        let number = number as usize;
        &self.places[self.starts[number] as usize..self.starts[number + 1] as usize]
    }
}

/// The keys of a patch's words at one tier.
struct Vocabulary {
    words: Vec<u32>,
    numbers: HashMap<Vec<u8>, u32, Seed>,
    /// Which lengths (up to 511 exactly) there are, so that most lines need no hash.
    lengths: [u64; 8],
}

impl Vocabulary {
    fn new(words: &[&str], tier: Tier, seed: Seed) -> Self {
        let mut vocabulary = Self {
            words: Vec::with_capacity(words.len()),
            numbers: HashMap::with_capacity_and_hasher(words.len(), seed),
            lengths: [0; 8],
        };
        let mut scratch = Vec::new();
        for word in words {
            let key = tier::key(tier, word.as_bytes(), &mut scratch).unwrap_or_default();
            let number = vocabulary.add(key);
            vocabulary.words.push(number);
        }
        vocabulary
    }

    fn add(&mut self, key: &[u8]) -> u32 {
        if let Some(number) = self.numbers.get(key) {
            return *number;
        }
        let number = self.numbers.len() as u32 + 1;
        self.numbers.insert(key.to_owned(), number);
        let (word, bit) = length_bit(key.len());
        self.lengths[word] |= bit;
        number
    }

    fn number(&self, tier: Tier, line: &[u8], scratch: &mut Vec<u8>) -> u32 {
        let Some(key) = tier::key(tier, line, scratch) else { return 0 };
        let (word, bit) = length_bit(key.len());
        if self.lengths[word] & bit == 0 {
            return 0;
        }
        self.numbers.get(key).copied().unwrap_or(0)
    }
}

fn length_bit(length: usize) -> (usize, u64) {
    let length = length.min(511);
    (length / 64, 1 << (length % 64))
}
