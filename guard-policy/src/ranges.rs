//! Sets of byte ranges.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A set of byte ranges: sorted, disjoint, not touching, none empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Returns the empty set.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a range; overlapping and touching ranges become one.
    pub fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let first = self.0.partition_point(|(_, end)| *end < range.start);
        let after = self.0.partition_point(|(start, _)| *start <= range.end);
        // `first..after` are the ranges that overlap or touch the new one.
        let (mut start, mut end) = (range.start, range.end);
        if let [least, ..] = &self.0[first..after] {
            start = start.min(least.0);
        }
        if let [.., greatest] = &self.0[first..after] {
            end = end.max(greatest.1);
        }
        self.0.splice(first..after, [(start, end)]);
    }

    /// Adds every range of `other`.
    pub fn union(&mut self, other: &Self) {
        for range in other.iter() {
            self.insert(range);
        }
    }

    /// Returns the first gap of `0..len`.
    #[must_use]
    pub fn first_gap(&self, len: u64) -> Option<Range<u64>> {
        let mut ranges = self.iter();
        let (start, next) = match ranges.next() {
            Some(first) if first.start == 0 => (first.end, ranges.next()),
            first => (0, first),
        };
        let end = next.map_or(len, |next| next.start.min(len));
        (start < end).then_some(start..end)
    }

    /// Returns the ranges in order.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        self.0.iter().map(|(start, end)| *start..*end)
    }

    /// Tells whether no byte is in the set.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the part of the set that is in `window`.
    #[must_use]
    pub fn within(&self, window: &Range<u64>) -> Self {
        let cut = |range: Range<u64>| (range.start.max(window.start), range.end.min(window.end));
        Self(self.iter().map(cut).filter(|(start, end)| start < end).collect())
    }
}

impl From<Range<u64>> for Ranges {
    fn from(range: Range<u64>) -> Self {
        let mut ranges = Self::new();
        ranges.insert(range);
        ranges
    }
}

impl From<Vec<(u64, u64)>> for Ranges {
    fn from(pairs: Vec<(u64, u64)>) -> Self {
        let mut ranges = Self::new();
        for (start, end) in pairs {
            ranges.insert(start..end);
        }
        ranges
    }
}

impl From<Ranges> for Vec<(u64, u64)> {
    fn from(ranges: Ranges) -> Self {
        ranges.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SIZE: u64 = 40;

    fn model(pairs: &[(u64, u64)]) -> Vec<bool> {
        (0..SIZE).map(|byte| pairs.iter().any(|(start, end)| (*start..*end).contains(&byte))).collect()
    }

    fn pairs() -> impl Strategy<Value = Vec<(u64, u64)>> {
        prop::collection::vec((0..SIZE, 0..=SIZE), 0..12)
    }

    fn bits(ranges: &Ranges) -> Vec<bool> {
        model(&ranges.0)
    }

    proptest! {
        #[test]
        fn a_union_of_ranges_holds_the_bytes_of_both_and_no_other(left in pairs(), right in pairs()) {
            let (mut union, other) = (Ranges::from(left.clone()), Ranges::from(right.clone()));
            union.union(&other);
            let both: Vec<(u64, u64)> = left.into_iter().chain(right).collect();
            prop_assert_eq!(bits(&union), model(&both));
            prop_assert!(union.0.iter().all(|(start, end)| start < end));
            prop_assert!(union.0.windows(2).all(|pair| pair[0].1 < pair[1].0), "{:?}", union);
        }

        #[test]
        fn the_first_gap_is_the_first_run_of_bytes_that_are_missing(pairs in pairs(), len in 0..=SIZE) {
            let bits = &model(&pairs)[..usize::try_from(len).unwrap()];
            let start = bits.iter().position(|seen| !seen);
            let expected = start.map(|start| {
                let run = bits[start..].iter().take_while(|seen| !**seen).count();
                start as u64..(start + run) as u64
            });
            prop_assert_eq!(Ranges::from(pairs).first_gap(len), expected);
        }

        #[test]
        fn a_window_of_a_set_has_its_bytes_there(pairs in pairs(), start in 0..SIZE, end in 0..=SIZE) {
            let within = Ranges::from(pairs.clone()).within(&(start..end));
            let expected: Vec<bool> =
                (0..).zip(model(&pairs)).map(|(byte, seen)| seen && (start..end).contains(&byte)).collect();
            prop_assert_eq!(bits(&within), expected);
        }
    }

    #[test]
    fn a_stored_set_is_put_in_order_when_it_is_read() {
        let ranges: Ranges = serde_json::from_str("[[5,9],[0,3],[9,9],[8,4],[2,5]]").unwrap();
        assert_eq!(serde_json::to_string(&ranges).unwrap(), "[[0,9]]");
    }
}
