//! The table of figures, and whether the goals are met.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use super::pairs::{Pair, Spread};

const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// What was measured in one place.
pub(crate) struct Row {
    /// Where.
    pub(crate) place: &'static str,
    /// What was done.
    pub(crate) what: String,
    /// The figures.
    pub(crate) figures: Figures,
    /// What they have to come to, if anything.
    pub(crate) goal: Option<f64>,
}

/// What was measured.
pub(crate) enum Figures {
    /// The guarded and the unguarded way; the goal is the guarded time as a part of the unguarded one.
    Pairs(Vec<Pair>),
    /// The guarded way alone: milliseconds a file beside the trip; so many milliseconds in all.
    EachFile { each: Vec<f64>, all: Vec<f64> },
}

impl Row {
    fn outcome(&self) -> Option<(Spread, Option<bool>)> {
        let spread = match &self.figures {
            Figures::Pairs(pairs) => Spread::of(pairs.iter().map(Pair::ratio)),
            Figures::EachFile { each, .. } => Spread::of(each.iter().copied()),
        }?;
        Some((spread, self.goal.map(|goal| spread.middle <= goal)))
    }
}

/// Prints the rows; returns how many missed their goal.
pub(crate) fn print(rows: &[Row]) -> usize {
    let mut missed = 0;
    anstream::println!(
        "{:<14} {:<26} {:>12} {:>12} {:>22} {:>9}",
        "target",
        "work",
        "guarded",
        "unguarded",
        "ratio (least to most)",
        "goal"
    );
    for row in rows {
        let Some((spread, met)) = row.outcome() else { continue };
        let (guarded, bare, unit) = match &row.figures {
            Figures::Pairs(pairs) => {
                let middle = |of: fn(&Pair) -> f64| {
                    Spread::of(pairs.iter().map(of)).map(|spread| shown(spread.middle))
                };
                (
                    middle(|pair| pair.guarded.as_secs_f64() * 1e3),
                    middle(|pair| pair.bare.as_secs_f64() * 1e3),
                    "",
                )
            }
            Figures::EachFile { all, .. } => {
                (Spread::of(all.iter().copied()).map(|spread| shown(spread.middle)), None, " ms")
            }
        };
        let (guarded, bare) = (guarded.unwrap_or_default(), bare.unwrap_or_default());
        let figure = format!("{:.2}{unit} ({:.2} to {:.2})", spread.middle, spread.least, spread.most);
        let mut line = format!("{:<14} {:<26} {guarded:>12} {bare:>12} {figure:>22}", row.place, row.what);
        if let (Some(goal), Some(met)) = (row.goal, met) {
            let (style, word) = if met { (GOOD, "met") } else { (BAD, "not met") };
            let _ = write!(
                line,
                " {:>9} {}{word}{}",
                format!("{goal:.2}{unit}"),
                style.render(),
                style.render_reset()
            );
            missed += usize::from(!met);
        }
        anstream::println!("{line}");
    }
    anstream::println!(
        "A ratio is the guarded time as a part of the unguarded one: the median of the pairs. Of a batch it is the time a \
         file, one round trip left out."
    );
    missed
}

fn shown(milliseconds: f64) -> String {
    match milliseconds {
        ms if ms < 100.0 => format!("{ms:.2} ms"),
        ms if ms < 1e3 => format!("{ms:.0} ms"),
        ms => format!("{:.2} s", ms / 1e3),
    }
}

/// Says how busy the machine is: figures of a busy one are worse, and ratios less so.
pub(crate) fn say_load() {
    if let Ok(load) = std::fs::read_to_string("/proc/loadavg") {
        let recent = load.split_whitespace().next().unwrap_or_default();
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        anstream::eprintln!("load: {recent} on {cores} processors");
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_goal_is_met_by_the_median() {
        let pair = |guarded, bare| Pair {
            guarded: Duration::from_millis(guarded),
            bare: Duration::from_millis(bare),
        };
        let pairs = || Figures::Pairs(vec![pair(9, 10), pair(6, 10), pair(7, 10)]);
        for (goal, met) in [(Some(0.71), Some(true)), (Some(0.69), Some(false)), (None, None)] {
            let row = Row { place: "here", what: "work".to_owned(), figures: pairs(), goal };
            assert_eq!(row.outcome().and_then(|(_, met)| met), met, "{goal:?}");
            assert_eq!(print(&[row]), usize::from(met == Some(false)));
        }
        let each = Figures::EachFile { each: vec![3.0, 5.0, 4.5], all: vec![320.0] };
        let row = Row { place: "here", what: "work".to_owned(), figures: each, goal: Some(4.0) };
        assert_eq!(print(&[row]), 1);
    }
}
