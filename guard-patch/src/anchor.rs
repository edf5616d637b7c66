//! Where anchors let a chunk stand.

use std::ops::Range;

use memchr::memmem;

use crate::lines::Lines;
use crate::search::{PatternId, Search, TooMuchWork};
use crate::tier::{self, Tier};

/// The places that the anchors of a chunk admit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    /// The lines at which the chunk may begin: in order, apart from each other.
    pub(crate) starts: Vec<Range<usize>>,
    /// Whether a matching line has no block, so that the chunk must fit only once.
    pub(crate) flat: bool,
    /// The lines that the last anchor fits; none without an anchor.
    pub(crate) anchors: Vec<usize>,
    /// The loosest tier at which an anchor fits; `None` without an anchor.
    pub(crate) tier: Option<Tier>,
    /// Whether an anchor is only the beginning of its line.
    pub(crate) prefix: bool,
}

/// The work of leaving one interval of a region for another.
const JUMP: usize = 8;

/// The bytes through which a text is sought with the work of looking at one line.
const BYTES_OF_A_UNIT: usize = 256;

/// Why anchors admit nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// An anchor, by its number, is nowhere below the one before.
    NotFound(usize),
    /// An anchor is the beginning of several lines.
    Ambiguous(usize, Vec<usize>),
    /// An anchor is only at these lines, outside the block of the one before.
    Outside(usize, Vec<usize>),
}

impl Region {
    /// Returns the region of a chunk without anchors.
    pub(crate) fn whole() -> Self {
        let all = Range { start: 0, end: usize::MAX };
        Self { starts: vec![all], flat: false, anchors: Vec::new(), tier: None, prefix: false }
    }

    pub(crate) fn contains(&self, line: usize) -> bool {
        let at = self.starts.partition_point(|range| range.end <= line);
        self.starts.get(at).is_some_and(|range| range.contains(&line))
    }

    /// Returns the first place of a pattern in the region, at a line or below it.
    pub(crate) fn next(
        &self,
        search: &Search<'_, '_>,
        pattern: PatternId,
        tier: Tier,
        from: usize,
    ) -> Result<Option<usize>, TooMuchWork> {
        let mut from = from;
        loop {
            let at = self.starts.partition_point(|range| range.end <= from);
            let Some(range) = self.starts.get(at) else { return Ok(None) };
            from = from.max(range.start);
            let Some(place) = search.next(pattern, tier, from)? else { return Ok(None) };
            if place < range.end {
                return Ok(Some(place));
            }
            from = place;
            search.charge(JUMP)?;
        }
    }

    /// Returns the last place of a pattern in the region, at a line or above it.
    pub(crate) fn previous(
        &self,
        search: &Search<'_, '_>,
        pattern: PatternId,
        tier: Tier,
        upto: usize,
    ) -> Result<Option<usize>, TooMuchWork> {
        let mut upto = upto;
        loop {
            let after = self.starts.partition_point(|range| range.start <= upto);
            let Some(range) = after.checked_sub(1).map(|at| &self.starts[at]) else { return Ok(None) };
            upto = upto.min(range.end - 1);
            let Some(place) = search.previous(pattern, tier, upto)? else { return Ok(None) };
            if place >= range.start {
                return Ok(Some(place));
            }
            upto = place;
            search.charge(JUMP)?;
        }
    }
}

/// Finds the region that anchors admit, each below the one before.
pub(crate) fn locate(
    search: &Search<'_, '_>,
    anchors: &[PatternId],
    ceiling: Tier,
) -> Result<Result<Region, Lost>, TooMuchWork> {
    let lines = search.lines();
    let mut region = Region::whole();
    for (number, anchor) in anchors.iter().enumerate() {
        let above = region.anchors.first().map(|first| {
            let depth =
                region.anchors.iter().map(|line| depth(lines.content(*line))).min().unwrap_or_default();
            (*first, depth)
        });
        // A line inside the blocks of the anchor before; the anchor's own line is not below it.
        let mut found = find(search, *anchor, ceiling, |line| {
            region.contains(line) && region.anchors.binary_search(&line).is_err()
        })?;
        if let (Hits::None, Some((first, limit))) = (&found, above) {
            // Else a sibling of the anchor before, which no other block hides.
            found =
                find(search, *anchor, ceiling, |line| line > first && depth(lines.content(line)) <= limit)?;
            if let Hits::None = found
                && let Hits::At { lines, .. } | Hits::Several(lines) =
                    find(search, *anchor, ceiling, |line| line > first)?
            {
                return Ok(Err(Lost::Outside(number, lines)));
            }
        }
        let (hits, tier, prefix) = match found {
            Hits::None => return Ok(Err(Lost::NotFound(number))),
            Hits::Several(lines) => return Ok(Err(Lost::Ambiguous(number, lines))),
            Hits::At { lines, tier, prefix } => (lines, tier, prefix),
        };
        let (starts, flat) = blocks(search, &hits)?;
        region = Region {
            starts,
            flat,
            anchors: hits,
            tier: region.tier.max(Some(tier)),
            prefix: region.prefix || prefix,
        };
    }
    Ok(Ok(region))
}

enum Hits {
    None,
    At {
        lines: Vec<usize>,
        tier: Tier,
        prefix: bool,
    },
    /// Only as the beginning of several lines.
    Several(Vec<usize>),
}

/// Finds the lines that an anchor fits: by tier, else as a unique beginning.
fn find(
    search: &Search<'_, '_>,
    anchor: PatternId,
    ceiling: Tier,
    admits: impl Fn(usize) -> bool,
) -> Result<Hits, TooMuchWork> {
    for tier in Tier::ALL.into_iter().filter(|tier| *tier <= ceiling) {
        let mut hits = search.lines_like(anchor, tier)?;
        hits.retain(|line| admits(*line));
        if !hits.is_empty() {
            return Ok(Hits::At { lines: hits, tier, prefix: false });
        }
    }
    let text = search.texts(anchor).next().unwrap_or_default();
    for tier in Tier::ALL.into_iter().filter(|tier| *tier <= ceiling) {
        let bytes = search.lines().bytes();
        if tier == Tier::Unicode {
            if text.is_ascii() && bytes.is_ascii() {
                // It is the tier before.
                break;
            }
            search.charge(search.lines().len())?;
        }
        search.charge(bytes.len() / BYTES_OF_A_UNIT)?;
        let mut hits = beginnings(search.lines(), text, tier);
        hits.retain(|line| admits(*line));
        match hits.len() {
            0 => {}
            1 => return Ok(Hits::At { lines: hits, tier, prefix: true }),
            _ => return Ok(Hits::Several(hits)),
        }
    }
    Ok(Hits::None)
}

/// Returns the lines that begin with a text which ends there at a word's boundary.
fn beginnings(lines: &Lines<'_>, text: &str, tier: Tier) -> Vec<usize> {
    let mut scratch = Vec::new();
    let Some(beginning) = tier::key(tier, text.as_bytes(), &mut scratch).map(<[u8]>::to_vec) else {
        return Vec::new();
    };
    if beginning.is_empty() {
        return Vec::new();
    }
    let mut hits = Vec::new();
    let begins = |line: usize, hits: &mut Vec<usize>, scratch: &mut Vec<u8>| {
        let rest =
            tier::key(tier, lines.content(line), scratch).and_then(|key| key.strip_prefix(&*beginning));
        if rest.is_some_and(|rest| ends_word(&beginning, rest)) {
            hits.push(line);
        }
    };
    if tier == Tier::Unicode {
        for line in 0..lines.len() {
            begins(line, &mut hits, &mut scratch);
        }
        return hits;
    }
    let finder = memmem::Finder::new(&beginning);
    let mut from = 0;
    while let Some(at) = finder.find(&lines.bytes()[from..]) {
        let line = lines.line_at(from + at);
        if line >= lines.len() {
            break;
        }
        begins(line, &mut hits, &mut scratch);
        from = lines.start(line + 1);
    }
    hits
}

/// Says whether no word goes on from the end of one text to the beginning of another.
fn ends_word(before: &[u8], after: &[u8]) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == char::REPLACEMENT_CHARACTER;
    // Four bytes hold any character; what is cut in two on the far side does not matter.
    let last = String::from_utf8_lossy(&before[before.len().saturating_sub(4)..]).chars().next_back();
    let first = String::from_utf8_lossy(&after[..after.len().min(4)]).chars().next();
    !(last.is_some_and(is_word) && first.is_some_and(is_word))
}

/// Returns the lines of the blocks that lines open, and whether one of them opens none.
fn blocks(search: &Search<'_, '_>, anchors: &[usize]) -> Result<(Vec<Range<usize>>, bool), TooMuchWork> {
    let lines = search.lines();
    let mut starts: Vec<Range<usize>> = Vec::new();
    let mut flat = false;
    // How far the block reaches that reaches furthest so far, and how deep its anchor is.
    let mut open: Option<(usize, usize)> = None;
    for anchor in anchors {
        let own = depth(lines.content(*anchor));
        if let Some((end, outer)) = open
            && *anchor < end
            && own >= outer
        {
            // The line that ends the outer block ends this one too: it adds nothing, unless it is empty.
            let (empty, below) = is_empty(lines, *anchor, own);
            search.charge(below - anchor)?;
            if !empty {
                continue;
            }
        }
        let end = block_end(lines, *anchor);
        flat = end.is_none();
        let stop = end.unwrap_or(lines.len());
        search.charge(stop - anchor)?;
        match starts.last_mut() {
            Some(last) if last.end >= *anchor => last.end = last.end.max(stop),
            _ => starts.push(*anchor..stop),
        }
        if flat {
            // Everything below is admitted.
            break;
        }
        if open.is_none_or(|(end, _)| stop >= end) {
            open = Some((stop, own));
        }
    }
    Ok((starts, flat))
}

/// Tells whether the block of a line is empty, and the line that says so.
fn is_empty(lines: &Lines<'_>, anchor: usize, own: usize) -> (bool, usize) {
    for line in anchor + 1..lines.len() {
        let content = lines.content(line);
        match tier::trimmed(content).first() {
            None => {}
            Some(b')' | b']' | b'}') => return (false, line),
            Some(_) => return (depth(content) <= own, line),
        }
    }
    (true, lines.len())
}

/// Returns the line below the block of a line; `None` if its block is empty.
fn block_end(lines: &Lines<'_>, anchor: usize) -> Option<usize> {
    let own = depth(lines.content(anchor));
    let mut empty = true;
    for line in anchor + 1..lines.len() {
        let content = lines.content(line);
        let text = tier::trimmed(content);
        match text.first() {
            None => {}
            Some(b')' | b']' | b'}') => empty = false,
            Some(_) if depth(content) <= own => return (!empty).then_some(line),
            Some(_) => empty = false,
        }
    }
    (!empty).then_some(lines.len())
}

/// Returns how far a line is indented, in columns; a tab goes to the next multiple of eight.
fn depth(line: &[u8]) -> usize {
    tier::indentation(line).iter().fold(0, |column, blank| match blank {
        b'\t' => (column / 8 + 1) * 8,
        _ => column + 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::LoneCr;

    #[test]
    fn a_block_ends_at_the_next_line_that_is_indented_no_deeper() {
        for (file, anchor, expected) in [
            ("fn x() {\n}\nz\n", 0, Some(2)),
            ("class A:\n  a\n\n  b\n\nclass B:\n", 0, Some(5)),
            ("f(\n  a\n):\n  b\nc\n", 0, Some(4)),
            ("\tif a:\n\t\tb\n        c\n", 0, Some(2)),
            ("a\nb\n", 0, None),
            ("a\n\n\n", 0, None),
            ("int f()\n{\n  x\n}\n", 0, None),
            ("a:\n  b", 0, Some(2)),
        ] {
            let lines = Lines::new(file.as_bytes(), LoneCr::Data);
            assert_eq!(block_end(&lines, anchor), expected, "{file:?}");
        }
    }

    #[test]
    fn a_beginning_ends_at_a_word() {
        let file = "class Base:\nclass B:\n  class B(x):\nclass B\u{e9}:\n";
        let lines = Lines::new(file.as_bytes(), LoneCr::Data);
        assert_eq!(beginnings(&lines, "class B", Tier::Exact), [1]);
        assert_eq!(beginnings(&lines, "class B", Tier::Indentation), [1, 2]);
        assert_eq!(beginnings(&lines, "class B\u{e9}", Tier::Unicode), [3]);
    }
}
