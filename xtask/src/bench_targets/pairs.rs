//! Figures that are taken in pairs.

use std::time::{Duration, Instant};

use super::Measured;

/// One measurement of the guarded and of the unguarded way, one right after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pair {
    /// What the guarded way took.
    pub(crate) guarded: Duration,
    /// What the unguarded way took.
    pub(crate) bare: Duration,
}

impl Pair {
    /// Returns the guarded time as a part of the unguarded one.
    pub(crate) fn ratio(&self) -> f64 {
        self.guarded.as_secs_f64() / self.bare.as_secs_f64()
    }
}

/// How many measurements of one way are taken in a row.
///
/// What the other way leaves to be done (an engine clears up after each command) is over by then: the first of a row
/// does not count.
const ROW: usize = 6;

/// Takes pairs: a row of the guarded way, a row of the unguarded one, over and over, so that what else the machine does
/// comes to both.
///
/// Both ways get a number that rises, and say how long the part took that counts.
pub(crate) async fn take(
    count: usize,
    guarded: impl AsyncFn(usize) -> Measured<Duration>,
    bare: impl AsyncFn(usize) -> Measured<Duration>,
) -> Measured<Vec<Pair>> {
    let mut pairs = Vec::with_capacity(count);
    let mut nth = 0;
    while pairs.len() < count {
        let row = ROW.min(count - pairs.len());
        let mut took = (Vec::with_capacity(row), Vec::with_capacity(row));
        for at in 0..=row {
            let time = guarded(nth + at).await?;
            took.0.extend((at > 0).then_some(time));
        }
        for at in 0..=row {
            let time = bare(nth + at).await?;
            took.1.extend((at > 0).then_some(time));
        }
        nth += row + 1;
        pairs.extend(took.0.into_iter().zip(took.1).map(|(guarded, bare)| Pair { guarded, bare }));
    }
    Ok(pairs)
}

/// Tells how long something takes.
pub(crate) async fn timed<T, E>(work: impl Future<Output = Result<T, E>>) -> Result<(T, Duration), E> {
    let began = Instant::now();
    let done = work.await?;
    Ok((done, began.elapsed()))
}

/// The middle of some figures, the least and the largest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    /// The median.
    pub(crate) middle: f64,
    /// The least.
    pub(crate) least: f64,
    /// The largest.
    pub(crate) most: f64,
}

impl Spread {
    /// Takes at least one figure.
    pub(crate) fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut figures: Vec<f64> = figures.into_iter().collect();
        figures.sort_by(f64::total_cmp);
        let (least, most) = (*figures.first()?, *figures.last()?);
        let half = figures.len() / 2;
        let middle = if figures.len() % 2 == 1 {
            figures[half]
        } else {
            f64::midpoint(figures[half - 1], figures[half])
        };
        Some(Self { middle, least, most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let spread = |middle, least, most| Some(Spread { middle, least, most });
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), spread(2.0, 1.0, 3.0));
        assert_eq!(Spread::of([4.0, 1.0, 2.0, 3.0]), spread(2.5, 1.0, 4.0));
        assert_eq!(Spread::of([]), None);
    }
}
