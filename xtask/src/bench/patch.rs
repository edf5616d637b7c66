//! How fast the patch engine is, and how its work grows.

use std::process::Stdio;

use super::Samples;
use crate::cargo::{HEADING, Outcome, cargo};

/// A measured row: its group, its function, its size, the nanoseconds.
type Row = (String, String, String, f64);

/// Runs the benchmarks and shows each row with its growth and as a multiple of one `memchr` pass.
pub(super) fn run(samples: Samples) -> Outcome {
    let mut bench = cargo(&["bench", "-p", "guard-patch", "--bench", "engine", "--"]);
    // No comparison with the last time, whose lines look alike.
    bench.arg("--discard-baseline");
    if samples == Samples::Few {
        bench.args(["--quick"]);
    }
    anstream::eprintln!("{}measuring; this takes minutes{}", HEADING.render(), HEADING.render_reset());
    let output = bench.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("the benchmarks failed ({})", output.status).into());
    }
    let rows = rows(&String::from_utf8_lossy(&output.stdout));
    if rows.is_empty() {
        return Err("the benchmarks gave no figures".into());
    }
    let mut last: Option<(&str, f64)> = None;
    anstream::println!("{:<42} {:>9} {:>12} {:>8} {:>9}", "row", "size", "time", "growth", "passes");
    for (group, _, size, time) in rows.iter().filter(|(_, function, ..)| function != "memchr") {
        let pass = rows.iter().find(|(of, with, at, _)| of == group && with == "memchr" && at == size);
        let passes = pass.map_or_else(String::new, |(.., pass)| format!("{:.1}", time / pass));
        let growth = last
            .filter(|(of, _)| of == group)
            .map_or_else(String::new, |(_, before)| format!("{:.2}x", time / before));
        anstream::println!("{group:<42} {size:>9} {:>12} {growth:>8} {passes:>9}", shown(*time));
        last = Some((group, *time));
    }
    Ok(())
}

/// Reads `GROUP/FUNCTION/SIZE  time: [LOW MIDDLE HIGH]`, where a long name has a line for itself.
fn rows(output: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut above = "";
    for line in output.lines() {
        if let Some((name, times)) = line.split_once("time:") {
            let name = if name.trim().is_empty() { above } else { name }.trim();
            let mut parts = name.rsplitn(3, '/');
            let (size, function, group) = (parts.next(), parts.next(), parts.next());
            if let (Some(size), Some(function), Some(group), Some(time)) =
                (size, function, group, middle(times))
            {
                rows.push((group.to_owned(), function.to_owned(), size.to_owned(), time));
            }
        }
        above = line;
    }
    rows
}

/// Reads the middle one of three times, as nanoseconds.
fn middle(times: &str) -> Option<f64> {
    let mut words = times.trim().trim_matches(['[', ']']).split_whitespace().skip(2);
    let (number, unit): (f64, _) = (words.next()?.parse().ok()?, words.next()?);
    let scale = match unit {
        "ps" => 1e-3,
        "ns" => 1.0,
        "µs" | "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(number * scale)
}

fn shown(nanoseconds: f64) -> String {
    match nanoseconds {
        ns if ns < 1e4 => format!("{ns:.0} ns"),
        ns if ns < 1e7 => format!("{:.1} us", ns / 1e3),
        ns => format!("{:.2} ms", ns / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read() {
        let output = "Gnuplot not found\nnot found/plan/1000  time:   [1.1 ms 1.5 ms 2 ms]\n                 thrpt: [1 2 3]\n\
                      a long name/memchr/20\n                        time:   [1 ns 2 ns 3 ns]\n";
        let row = |group: &str, function: &str, size: &str, time| {
            (group.to_owned(), function.to_owned(), size.to_owned(), time)
        };
        let expected = [row("not found", "plan", "1000", 1.5e6), row("a long name", "memchr", "20", 2.0)];
        assert_eq!(rows(output), expected);
    }
}
