//! Which of its places each chunk takes, so that all stand in the order of the patch.

use crate::search::TooMuchWork;

/// What a chunk edits, in lines from its own first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The first line that is edited; for an insertion: the line before which it is put.
    pub(crate) start: usize,
    /// The line below the last that is edited.
    pub(crate) end: usize,
    /// Whether lines are inserted at one point and nothing else is done.
    pub(crate) point: bool,
}

/// The places where chunks fit.
pub(crate) trait Places {
    /// Returns the first place of a chunk at a line or below it.
    fn next(&self, chunk: usize, from: usize) -> Result<Option<usize>, TooMuchWork>;
    /// Returns the last place of a chunk at a line or above it.
    fn previous(&self, chunk: usize, upto: usize) -> Result<Option<usize>, TooMuchWork>;
}

/// A chunk that has no place below the edits before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stuck {
    pub(crate) chunk: usize,
    /// The chunk before it whose edits reach furthest down, and its place.
    pub(crate) behind: Option<(usize, usize)>,
}

/// The first place of each chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Leftmost {
    /// By chunk; `None` for those that are stuck.
    pub(crate) places: Vec<Option<usize>>,
    /// The chunks for which there is no place; they do not stand in the way of those behind them.
    pub(crate) stuck: Vec<Stuck>,
}

/// Gives each chunk, in order, the first place that the ones before leave.
///
/// No assignment puts any chunk further up.
pub(crate) fn leftmost(spans: &[Span], places: &dyn Places) -> Result<Leftmost, TooMuchWork> {
    let mut left = Leftmost::default();
    let (mut bound, mut point, mut behind) = (0, false, None);
    for (chunk, span) in spans.iter().enumerate() {
        let from = (bound + usize::from(point && span.point)).saturating_sub(span.start);
        let place = places.next(chunk, from)?;
        left.places.push(place);
        let Some(place) = place else {
            left.stuck.push(Stuck { chunk, behind });
            continue;
        };
        let end = place + span.end;
        if end >= bound {
            point = span.point || (point && end == bound);
            bound = end;
            behind = Some((chunk, place));
        }
    }
    Ok(left)
}

/// Gives each chunk, from the last to the first, the last place that the ones behind it leave.
///
/// No assignment puts any chunk further down; there is one, or [`leftmost`] would have found none.
pub(crate) fn rightmost(spans: &[Span], places: &dyn Places) -> Result<Option<Vec<usize>>, TooMuchWork> {
    let mut taken = Vec::with_capacity(spans.len());
    let (mut bound, mut point) = (usize::MAX, false);
    for (chunk, span) in spans.iter().enumerate().rev() {
        let upto = bound.checked_sub(span.end + usize::from(point && span.point));
        let place = match upto {
            Some(upto) => places.previous(chunk, upto)?,
            None => None,
        };
        let Some(place) = place else { return Ok(None) };
        let start = place + span.start;
        if start <= bound {
            point = span.point || (point && start == bound);
            bound = start;
        }
        taken.push(place);
    }
    taken.reverse();
    Ok(Some(taken))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Table(Vec<Vec<usize>>);

    impl Places for Table {
        fn next(&self, chunk: usize, from: usize) -> Result<Option<usize>, TooMuchWork> {
            Ok(self.0[chunk].iter().copied().find(|place| *place >= from))
        }

        fn previous(&self, chunk: usize, upto: usize) -> Result<Option<usize>, TooMuchWork> {
            Ok(self.0[chunk].iter().copied().rev().find(|place| *place <= upto))
        }
    }

    /// Every assignment in order, by trying all.
    fn brute(spans: &[Span], table: &Table) -> Vec<Vec<usize>> {
        let mut all = vec![vec![]];
        for (chunk, span) in spans.iter().enumerate() {
            let mut longer = Vec::new();
            for taken in &all {
                for place in &table.0[chunk] {
                    let fits = taken.iter().zip(spans).all(|(before, earlier): (&usize, &Span)| {
                        let (end, start) = (before + earlier.end, place + span.start);
                        end < start || (end == start && !(earlier.point && span.point))
                    });
                    if fits {
                        longer.push(taken.iter().copied().chain([*place]).collect());
                    }
                }
            }
            all = longer;
        }
        all
    }

    fn span() -> impl Strategy<Value = Span> {
        prop_oneof![
            (0usize..3).prop_map(|at| Span { start: at, end: at, point: true }),
            (0usize..3, 1usize..3).prop_map(|(at, length)| Span {
                start: at,
                end: at + length,
                point: false
            }),
            // Context only.
            (1usize..3).prop_map(|length| Span { start: length, end: 0, point: false }),
        ]
    }

    proptest! {
        #[test]
        fn leftmost_and_rightmost_agree_with_trying_all(
            chunks in prop::collection::vec((span(), prop::collection::btree_set(0usize..12, 0..5)), 0..5),
        ) {
            let (spans, table): (Vec<Span>, Vec<_>) =
                chunks.into_iter().map(|(span, places)| (span, places.into_iter().collect())).unzip();
            let table = Table(table);
            let all = brute(&spans, &table);
            let least = |chunk: usize| all.iter().map(|taken| taken[chunk]).min();
            let most = |chunk: usize| all.iter().map(|taken| taken[chunk]).max();
            let left = leftmost(&spans, &table).unwrap();
            let right = rightmost(&spans, &table).unwrap();
            prop_assert_eq!(left.stuck.is_empty(), !all.is_empty());
            prop_assert_eq!(right.is_some(), !all.is_empty());
            if let (true, Some(right)) = (left.stuck.is_empty(), right) {
                let expected: Vec<_> = (0..spans.len()).map(|chunk| (least(chunk), most(chunk))).collect();
                let got: Vec<_> = left.places.iter().zip(&right).map(|(l, r)| (*l, Some(*r))).collect();
                prop_assert_eq!(got, expected);
            }
        }
    }
}
