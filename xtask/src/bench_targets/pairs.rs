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

/// Takes pairs, and turns the order round each time; the first pair warms up and does not count.
///
/// Both ways get the number of the pair, and say how long the part took that counts.
pub(crate) async fn take(
    count: usize,
    guarded: impl AsyncFn(usize) -> Measured<Duration>,
    bare: impl AsyncFn(usize) -> Measured<Duration>,
) -> Measured<Vec<Pair>> {
    let mut pairs = Vec::with_capacity(count);
    for nth in 0..=count {
        let pair = if nth % 2 == 0 {
            let guarded = guarded(nth).await?;
            Pair { guarded, bare: bare(nth).await? }
        } else {
            let bare = bare(nth).await?;
            Pair { guarded: guarded(nth).await?, bare }
        };
        if nth > 0 {
            pairs.push(pair);
        }
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
