//! Where an old text that does not occur almost occurs, with the difference made visible.
//!
//! Similarity serves messages only; nothing is ever applied by it.

use std::fmt::Write as _;

/// Lines that are compared at most, and characters of a line.
const MAX_LINES: usize = 20_000;
const MAX_CHARS: usize = 400;
/// Places that a message shows.
const SHOWN: usize = 3;
/// Lines that are compared in full: those that have most bytes in common.
const COMPARED: usize = 30;
/// How alike two lines have to be to be shown, of 1.
const ALIKE: f32 = 0.6;
/// The score of lines that are the same but for blanks and look-alikes.
const SAME: f32 = 2.0;

/// Describes the places that come closest to the first line of `old` that says something.
pub(super) fn describe(text: &[u8], old: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let old = String::from_utf8_lossy(old);
    let old_lines: Vec<&str> = old.split('\n').collect();
    let Some((skipped, wanted)) = old_lines.iter().enumerate().find(|(_, line)| !line.trim().is_empty())
    else {
        return "it is blank".to_owned();
    };
    let lines: Vec<&str> = text.split('\n').take(MAX_LINES).collect();
    let mut near: Vec<(f32, usize)> = lines
        .iter()
        .enumerate()
        .map(|(index, line)| (in_common(line, wanted), index))
        .filter(|(common, _)| *common >= ALIKE)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut scored: Vec<(f32, usize)> = near
        .into_iter()
        .take(COMPARED)
        .map(|(common, index)| (if common >= SAME { SAME } else { alike(lines[index], wanted) }, index))
        .filter(|(score, _)| *score >= ALIKE)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    // Where a line is the same but for what people do not see, lines that are merely alike are noise.
    if scored.first().is_some_and(|(score, _)| *score >= SAME) {
        scored.retain(|(score, _)| *score >= SAME);
    }
    let mut out = String::new();
    for (_, index) in scored.into_iter().take(SHOWN) {
        // The first line may be the same and a later one differ: that one is shown.
        let pairs = old_lines[skipped..].iter().zip(&lines[index..]).enumerate();
        let (offset, (want, have)) = pairs
            .into_iter()
            .find(|(_, (want, have))| want != have)
            .unwrap_or_else(|| (0, (wanted, &lines[index])));
        let _ = write!(
            out,
            "line {} differs in {}:\n  file: {}\n  old:  {}\n",
            index + offset + 1,
            difference(have, want),
            visible(have),
            visible(want)
        );
    }
    if out.is_empty() { "no line is like its first one".to_owned() } else { out }
}

/// Returns how many of their bytes two lines have in common, in any order: cheap, and at least about how alike they are.
fn in_common(line: &str, wanted: &str) -> f32 {
    // Lines of very different lengths cannot be alike; comparing long ones would cost most.
    let (short, long) = (line.len().min(wanted.len()), line.len().max(wanted.len()));
    if short * 4 < long || short == 0 {
        return 0.0;
    }
    if folded(line) == folded(wanted) {
        return SAME;
    }
    if long > MAX_CHARS {
        return 0.0;
    }
    let mut counts = [0_i16; 256];
    for byte in wanted.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let mut common = 0_u16;
    for byte in line.bytes() {
        let count = &mut counts[usize::from(byte)];
        common += u16::from(*count > 0);
        *count -= 1;
    }
    // Both are within `MAX_CHARS`.
    let both = u16::try_from(line.len() + wanted.len()).unwrap_or(u16::MAX);
    f32::from(2 * common) / f32::from(both)
}

fn alike(line: &str, wanted: &str) -> f32 {
    similar::TextDiff::from_chars(line, wanted).ratio()
}

/// Says in what two lines differ.
fn difference(have: &str, want: &str) -> &'static str {
    if have.trim_end_matches('\r') == want.trim_end_matches('\r') {
        "its line ending"
    } else if have.trim_end() == want.trim_end() {
        "blanks at its end"
    } else if have.trim() == want.trim() {
        "its indentation"
    } else if folded(have) == folded(want) {
        "look-alike characters or blanks"
    } else {
        "its text"
    }
}

/// Folds what people do not see: blanks, quotes, dashes.
fn folded(line: &str) -> String {
    line.chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, '\u{200B}'..='\u{200D}' | '\u{FEFF}'))
        .map(|c| match c {
            '\u{2018}' | '\u{2019}' | '\u{201A}' | '\u{201B}' => '\'',
            '\u{201C}'..='\u{201F}' => '"',
            '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
            other => other,
        })
        .collect()
}

/// Makes blanks, control characters and look-alikes visible.
fn visible(line: &str) -> String {
    let mut out = String::new();
    for (count, c) in line.chars().enumerate() {
        if count == MAX_CHARS {
            out.push('…');
            break;
        }
        match c {
            ' ' => out.push('·'),
            '\t' => out.push('→'),
            '\r' => out.push('␍'),
            c if c.is_control() || (!c.is_ascii() && !c.is_alphanumeric()) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}
