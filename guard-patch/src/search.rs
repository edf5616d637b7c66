//! Where in a file a sequence of lines stands.

mod absence;
mod bytes;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;

use crate::index::Index;
use crate::lines::Lines;
use crate::tier::Tier;

/// The work budget is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMuchWork;

/// A distinct sequence of lines; a number that [`Search::pattern`] gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PatternId(usize);

/// With up to this many patterns each one may cost passes of its own over the bytes.
const FEW: usize = 12;

/// How many passes over file and patch the searches of one Update may cost together.
const BUDGET_FACTOR: usize = 64;
const BUDGET_LEAST: usize = 1 << 20;

/// Searches one file for the lines of one Update.
pub(crate) struct Search<'f, 'p> {
    lines: &'f Lines<'f>,
    /// The distinct lines of the patch.
    words: Vec<&'p str>,
    known_words: HashMap<&'p str, u32>,
    patterns: Vec<Vec<u32>>,
    known_patterns: HashMap<Vec<u32>, PatternId>,
    /// By tier.
    indexes: [OnceCell<Index>; 4],
    /// By pattern and tier.
    found: RefCell<HashMap<(PatternId, Tier), Found>>,
    absence: absence::Absence,
    budget: Cell<usize>,
}

/// What is known of a pattern at a tier.
#[derive(Clone, Debug)]
enum Found {
    /// It is nowhere.
    Never,
    /// It is only here.
    Once(usize),
    /// It is at several places.
    Often {
        /// The candidates that were looked at without need.
        spent: usize,
        /// All its places, once looking at candidates has cost as much as a pass.
        all: Option<std::rc::Rc<Vec<u32>>>,
    },
}

impl<'f, 'p> Search<'f, 'p> {
    pub(crate) fn new(lines: &'f Lines<'f>) -> Self {
        Self {
            lines,
            words: Vec::new(),
            known_words: HashMap::new(),
            patterns: Vec::new(),
            known_patterns: HashMap::new(),
            indexes: std::array::from_fn(|_| OnceCell::new()),
            found: RefCell::default(),
            absence: absence::Absence::default(),
            budget: Cell::new(0),
        }
    }

    /// Adds a pattern; all are added before the first search.
    pub(crate) fn pattern(&mut self, texts: impl IntoIterator<Item = &'p str>) -> PatternId {
        let mut pattern = Vec::new();
        for text in texts {
            let next = self.words.len() as u32;
            let word = *self.known_words.entry(text).or_insert(next);
            if word == next {
                self.words.push(text);
            }
            pattern.push(word);
        }
        let patterns = &mut self.patterns;
        let id = *self.known_patterns.entry(pattern).or_insert_with_key(|pattern| {
            patterns.push(pattern.clone());
            PatternId(patterns.len() - 1)
        });
        let least = BUDGET_LEAST + BUDGET_FACTOR * self.lines.len();
        self.budget.set(self.budget.get().max(least) + BUDGET_FACTOR * self.patterns[id.0].len());
        id
    }

    pub(crate) const fn lines(&self) -> &'f Lines<'f> {
        self.lines
    }

    /// Returns the number of a pattern's lines.
    pub(crate) fn len(&self, pattern: PatternId) -> usize {
        self.patterns[pattern.0].len()
    }

    pub(crate) fn texts(&self, pattern: PatternId) -> impl ExactSizeIterator<Item = &'p str> {
        self.patterns[pattern.0].iter().map(|word| self.words[*word as usize])
    }

    /// Returns the first place of a pattern at a line or below it.
    pub(crate) fn next(
        &self,
        pattern: PatternId,
        tier: Tier,
        from: usize,
    ) -> Result<Option<usize>, TooMuchWork> {
        Ok(match self.found(pattern, tier)? {
            Found::Never => None,
            Found::Once(place) => (place >= from).then_some(place),
            Found::Often { .. } => self.look(pattern, tier, from)?,
        })
    }

    /// Returns the last place of a pattern at a line or above it.
    pub(crate) fn previous(
        &self,
        pattern: PatternId,
        tier: Tier,
        upto: usize,
    ) -> Result<Option<usize>, TooMuchWork> {
        Ok(match self.found(pattern, tier)? {
            Found::Never => None,
            Found::Once(place) => (place <= upto).then_some(place),
            Found::Often { .. } => self.look_back(pattern, tier, upto)?,
        })
    }

    /// Says whether a pattern stands at a line.
    pub(crate) fn is_at(&self, pattern: PatternId, tier: Tier, line: usize) -> Result<bool, TooMuchWork> {
        Ok(self.next(pattern, tier, line)? == Some(line))
    }

    /// Says whether a pattern is at exactly one place.
    pub(crate) fn is_once(&self, pattern: PatternId, tier: Tier) -> Result<bool, TooMuchWork> {
        Ok(matches!(self.found(pattern, tier)?, Found::Once(_)))
    }

    /// Returns every line that fits a pattern of one line.
    pub(crate) fn lines_like(&self, pattern: PatternId, tier: Tier) -> Result<Vec<usize>, TooMuchWork> {
        Ok(match self.found(pattern, tier)? {
            Found::Never => Vec::new(),
            Found::Once(line) => vec![line],
            Found::Often { .. } => {
                let index = self.index(tier);
                let places = self.patterns[pattern.0].first().map(|word| index.places(index.word(*word)));
                let places = places.unwrap_or_default();
                self.charge(places.len())?;
                places.iter().map(|line| *line as usize).collect()
            }
        })
    }

    /// Uses up some of the budget; a unit is about the work for one line.
    pub(crate) fn charge(&self, work: usize) -> Result<(), TooMuchWork> {
        self.budget.set(self.budget.get().checked_sub(work).ok_or(TooMuchWork)?);
        Ok(())
    }

    fn found(&self, pattern: PatternId, tier: Tier) -> Result<Found, TooMuchWork> {
        if let Some(found) = self.found.borrow().get(&(pattern, tier)) {
            return Ok(found.clone());
        }
        let often = Found::Often { spent: 0, all: None };
        self.found.borrow_mut().insert((pattern, tier), often.clone());
        let found = match self.look_first(pattern, tier, 0)? {
            None => Found::Never,
            Some(first) => match self.look_first(pattern, tier, first + 1)? {
                None => Found::Once(first),
                Some(_) => return Ok(often),
            },
        };
        self.found.borrow_mut().insert((pattern, tier), found.clone());
        Ok(found)
    }

    /// Looks for a pattern of which nothing is known, without an index where that can be had.
    fn look_first(&self, pattern: PatternId, tier: Tier, from: usize) -> Result<Option<usize>, TooMuchWork> {
        let count = self.len(pattern);
        if count == 0 || from + count > self.lines.len() {
            return Ok(None);
        }
        if self.patterns.len() <= FEW && self.indexes[tier as usize].get().is_none() {
            if tier == Tier::Exact
                && let Some(eol) = self.lines.uniform()
            {
                return Ok(bytes::next(self.lines, eol, self.texts(pattern), from));
            }
            if tier > Tier::Exact && self.absence.is_certain(self.lines, pattern.0, self.texts(pattern), tier)
            {
                return Ok(None);
            }
        }
        self.look(pattern, tier, from)
    }

    fn look(&self, pattern: PatternId, tier: Tier, from: usize) -> Result<Option<usize>, TooMuchWork> {
        let words = &self.patterns[pattern.0];
        let index = self.index(tier);
        if let Some(all) = self.all(pattern, tier) {
            let at = all.partition_point(|place| (*place as usize) < from);
            return Ok(all.get(at).map(|place| *place as usize));
        }
        let numbers: Vec<u32> = words.iter().map(|word| index.word(*word)).collect();
        let Some((offset, places)) = rarest(index, &numbers) else { return Ok(None) };
        let at = places.partition_point(|place| (*place as usize) < from + offset);
        let candidates = places[at..].iter().map(|place| *place as usize - offset);
        self.try_candidates(index, pattern, tier, &numbers, candidates, |all| {
            let at = all.partition_point(|place| (*place as usize) < from);
            all.get(at).map(|place| *place as usize)
        })
    }

    fn look_back(&self, pattern: PatternId, tier: Tier, upto: usize) -> Result<Option<usize>, TooMuchWork> {
        let words = &self.patterns[pattern.0];
        let index = self.index(tier);
        let before = |all: &[u32]| {
            let at = all.partition_point(|place| *place as usize <= upto);
            at.checked_sub(1).map(|at| all[at] as usize)
        };
        if let Some(all) = self.all(pattern, tier) {
            return Ok(before(&all));
        }
        let numbers: Vec<u32> = words.iter().map(|word| index.word(*word)).collect();
        let Some((offset, places)) = rarest(index, &numbers) else { return Ok(None) };
        let at = places.partition_point(|place| *place as usize <= upto.saturating_add(offset));
        let candidates = places[..at].iter().rev().filter_map(|place| (*place as usize).checked_sub(offset));
        self.try_candidates(index, pattern, tier, &numbers, candidates, before)
    }

    /// Compares candidates until one fits; where that costs more than a pass over the file, makes the pass.
    fn try_candidates(
        &self,
        index: &Index,
        pattern: PatternId,
        tier: Tier,
        numbers: &[u32],
        candidates: impl Iterator<Item = usize>,
        pick: impl Fn(&[u32]) -> Option<usize>,
    ) -> Result<Option<usize>, TooMuchWork> {
        let cost = 1 + numbers.len();
        let mut spent = match self.found.borrow().get(&(pattern, tier)) {
            Some(Found::Often { spent, .. }) => *spent,
            _ => 0,
        };
        let mut result = None;
        for candidate in candidates {
            let fits = index.lines().get(candidate..candidate + numbers.len()) == Some(numbers);
            if fits {
                result = Some(candidate);
                break;
            }
            spent += cost;
            if spent > index.lines().len() {
                self.charge(spent + index.lines().len())?;
                let all = std::rc::Rc::new(occurrences(index.lines(), numbers));
                let picked = pick(&all);
                self.found.borrow_mut().insert((pattern, tier), Found::Often { spent, all: Some(all) });
                return Ok(picked);
            }
        }
        self.charge(cost)?;
        if let Some(Found::Often { spent: known, .. }) = self.found.borrow_mut().get_mut(&(pattern, tier)) {
            *known = spent;
        }
        Ok(result)
    }

    fn all(&self, pattern: PatternId, tier: Tier) -> Option<std::rc::Rc<Vec<u32>>> {
        match self.found.borrow().get(&(pattern, tier)) {
            Some(Found::Often { all, .. }) => all.clone(),
            _ => None,
        }
    }

    fn index(&self, tier: Tier) -> &Index {
        self.indexes[tier as usize].get_or_init(|| Index::new(self.lines, &self.words, tier))
    }
}

/// Returns the line of a pattern that the file has least often: its offset and its places.
fn rarest<'i>(index: &'i Index, numbers: &[u32]) -> Option<(usize, &'i [u32])> {
    let places = numbers.iter().enumerate().map(|(offset, number)| (offset, index.places(*number)));
    places.min_by_key(|(_, places)| places.len())
}

/// Returns every place of a pattern in one pass (Knuth, Morris, Pratt).
fn occurrences(lines: &[u32], pattern: &[u32]) -> Vec<u32> {
    let mut borders = vec![0usize; pattern.len()];
    let mut border = 0;
    for at in 1..pattern.len() {
        while border > 0 && pattern[at] != pattern[border] {
            border = borders[border - 1];
        }
        border += usize::from(pattern[at] == pattern[border]);
        borders[at] = border;
    }
    let mut places = Vec::new();
    let mut matched = 0;
    for (at, line) in lines.iter().enumerate() {
        while matched > 0 && pattern[matched] != *line {
            matched = borders[matched - 1];
        }
        matched += usize::from(pattern[matched] == *line);
        if matched == pattern.len() {
            places.push((at + 1 - matched) as u32);
            matched = borders[matched - 1];
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lines::LoneCr;
    use crate::tier;

    /// Every place of a pattern, line by line.
    fn naive(lines: &Lines<'_>, pattern: &[&str], tier: Tier) -> Vec<usize> {
        let fits = |place: usize| {
            let mut texts = pattern.iter().enumerate();
            texts.all(|(offset, text)| tier::equal(tier, lines.content(place + offset), text.as_bytes()))
        };
        (0..(lines.len() + 1).saturating_sub(pattern.len())).filter(|place| fits(*place)).collect()
    }

    fn text() -> impl Strategy<Value = String> {
        prop::sample::select(vec!["a", "b", "", " a", "a ", "\u{2018}a", "'a", "x'a", "a\r", "é"])
            .prop_map(ToOwned::to_owned)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

        #[test]
        fn places_are_those_found_line_by_line(
            file in prop::collection::vec((text(), prop::sample::select(vec!["\n", "\n", "\n", "\r\n"])), 0..20),
            uniform in any::<bool>(),
            unterminated in any::<bool>(),
            // Few patterns, which are looked for in the bytes, or many.
            patterns in prop_oneof![
                prop::collection::vec(prop::collection::vec(text(), 1..4), 1..3),
                prop::collection::vec(prop::collection::vec(text(), 1..4), 16..20),
            ],
        ) {
            let file: String =
                file.iter().flat_map(|(line, end)| [line.as_str(), if uniform { "\n" } else { end }]).collect();
            let file = if unterminated { file.trim_end_matches(['\r', '\n']) } else { &file };
            let lines = Lines::new(file.as_bytes(), LoneCr::Data);
            let mut search = Search::new(&lines);
            let ids: Vec<PatternId> =
                patterns.iter().map(|pattern| search.pattern(pattern.iter().map(String::as_str))).collect();
            for (id, pattern) in ids.iter().zip(&patterns) {
                let pattern: Vec<&str> = pattern.iter().map(String::as_str).collect();
                for tier in Tier::ALL {
                    let expected = naive(&lines, &pattern, tier);
                    for line in 0..=lines.len() {
                        let next = expected.iter().copied().find(|place| *place >= line);
                        let previous = expected.iter().copied().rev().find(|place| *place <= line);
                        prop_assert_eq!(search.next(*id, tier, line).unwrap(), next);
                        prop_assert_eq!(search.previous(*id, tier, line).unwrap(), previous);
                    }
                    prop_assert_eq!(search.is_once(*id, tier).unwrap(), expected.len() == 1);
                }
            }
        }

        #[test]
        fn one_pass_finds_every_occurrence(
            lines in prop::collection::vec(1u32..3, 0..24),
            pattern in prop::collection::vec(1u32..3, 1..5),
        ) {
            let expected: Vec<u32> = (0..lines.len())
                .filter(|at| lines[*at..].starts_with(&pattern))
                .map(|at| at as u32)
                .collect();
            prop_assert_eq!(occurrences(&lines, &pattern), expected);
        }
    }
}
