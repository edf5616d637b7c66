//! `cargo xtask bench`: how fast the patch engine is, and how its work grows.

use std::process::Stdio;

use crate::cargo::{self, HEADING, Outcome, cargo};

/// How thorough to be.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Take as few samples as give a figure.
    #[arg(long)]
    quick: bool,
}

/// A measured row: its group, its function, its size, the nanoseconds.
type Row = (String, String, String, f64);

/// Runs the benchmarks and shows each row with its growth and as a multiple of one `memchr` pass.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut bench = cargo(&["bench", "-p", "guard-patch", "--bench", "engine", "--"]);
    // One line for each row: `test NAME ... bench: N ns/iter (+/- N)`.
    bench.args(["--output-format", "bencher"]);
    if args.quick {
        bench.args(["--quick"]);
    }
    anstream::eprintln!("{}measuring; this takes minutes{}", HEADING.render(), HEADING.render_reset());
    let output = bench.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("the benchmarks failed ({})", output.status).into());
    }
    let rows: Vec<Row> = String::from_utf8_lossy(&output.stdout).lines().filter_map(row).collect();
    if rows.is_empty() {
        return Err("the benchmarks gave no figures".into());
    }
    let mut last: Option<(&str, f64)> = None;
    anstream::println!("{:<42} {:>9} {:>12} {:>8} {:>9}", "row", "size", "time", "growth", "passes");
    for (group, function, size, time) in rows.iter().filter(|(_, function, ..)| function != "memchr") {
        let pass = rows.iter().find(|(of, with, at, _)| of == group && with == "memchr" && at == size);
        let passes = pass.map_or_else(String::new, |(.., pass)| format!("{:.1}", time / pass));
        let growth = last
            .filter(|(of, _)| of == group)
            .map_or_else(String::new, |(_, before)| format!("{:.2}x", time / before));
        anstream::println!("{group:<42} {size:>9} {:>12} {growth:>8} {passes:>9}", shown(*time));
        last = Some((group, *time));
        let _ = function;
    }
    Ok(())
}

/// Reads `test GROUP/FUNCTION/SIZE ... bench: 1,234 ns/iter (+/- 5)`.
fn row(line: &str) -> Option<Row> {
    let (name, measured) = line.strip_prefix("test ")?.split_once(" ... bench:")?;
    let mut parts = name.rsplitn(3, '/');
    let (size, function, group) = (parts.next()?, parts.next()?, parts.next()?);
    let time = measured.split_once("ns/iter")?.0.trim().replace(',', "").parse().ok()?;
    Some((group.to_owned(), function.to_owned(), size.to_owned(), time))
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
    fn a_row_is_read() {
        let line = "test not found/plan/1000000 ... bench:  12,345,678 ns/iter (+/- 12)";
        let expected = ("not found".to_owned(), "plan".to_owned(), "1000000".to_owned(), 12_345_678.0);
        assert_eq!(row(line), Some(expected));
        assert_eq!(row("Gnuplot not found"), None);
    }
}
