//! Where in a file a sequence of lines stands.

mod absence;
mod bytes;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use crate::hash::Seed;
use crate::index::Index;
use crate::lines::Lines;
use crate::tier::{self, Tier};

/// The work budget is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMuchWork;

/// A distinct sequence of lines; a number that [`Search::pattern`] gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PatternId(usize);

/// With up to this many patterns each one may cost passes of its own over the bytes.
const FEW: usize = 12;

/// How many passes over file and patch the searches of one Update may cost together.
const BUDGET_FACTOR: usize = 32;
const BUDGET_LEAST: usize = 1 << 20;

/// Searches one file for the lines of one Update.
pub(crate) struct Search<'f, 'p> {
    lines: &'f Lines<'f>,
    seed: Seed,
    /// The distinct lines of the patch.
    words: Vec<&'p str>,
    known_words: HashMap<&'p str, u32, Seed>,
    patterns: Vec<Rc<[u32]>>,
    known_patterns: HashMap<Rc<[u32]>, PatternId, Seed>,
    /// By tier.
    indexes: [OnceCell<Index>; 4],
    /// By tier: whether it is the same as the stricter one.
    alike: [OnceCell<bool>; 4],
    /// By pattern, then by tier.
    found: RefCell<Vec<[Option<Found>; 4]>>,
    absence: absence::Absence,
    /// What the patterns allow to be spent, beside what the file does.
    budget: Cell<usize>,
    spent: Cell<usize>,
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
        /// The work that comparing candidates has cost.
        spent: usize,
        /// The numbers of its lines.
        numbers: Option<Rc<[u32]>>,
        /// All its places, once comparing has cost as much as a pass.
        all: Option<Rc<Vec<u32>>>,
    },
}

impl<'f, 'p> Search<'f, 'p> {
    pub(crate) fn new(lines: &'f Lines<'f>) -> Self {
        let seed = Seed::random();
        Self {
            lines,
            seed,
            words: Vec::new(),
            known_words: HashMap::with_hasher(seed),
            patterns: Vec::new(),
            known_patterns: HashMap::with_hasher(seed),
            indexes: std::array::from_fn(|_| OnceCell::new()),
            alike: std::array::from_fn(|_| OnceCell::new()),
            found: RefCell::default(),
            absence: absence::Absence::default(),
            budget: Cell::new(0),
            spent: Cell::new(0),
        }
    }

    /// Adds a pattern; all are added before the first search.
    pub(crate) fn pattern(&mut self, texts: impl IntoIterator<Item = &'p str>) -> PatternId {
        let mut pattern = Vec::new();
        let mut last: Option<&str> = None;
        for text in texts {
            // Where lines look alike, the next one is often the same.
            if last == Some(text) {
                pattern.extend_from_within(pattern.len() - 1..);
                continue;
            }
            last = Some(text);
            let next = self.words.len() as u32;
            let word = *self.known_words.entry(text).or_insert(next);
            if word == next {
                self.words.push(text);
            }
            pattern.push(word);
        }
        let next = PatternId(self.patterns.len());
        let id = match self.known_patterns.entry(pattern.into()) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                self.patterns.push(Rc::clone(new.key()));
                self.found.get_mut().push([const { None }; 4]);
                *new.insert(next)
            }
        };
        self.budget.set(self.budget.get() + BUDGET_FACTOR * (self.len(id) + 1));
        id
    }

    /// Uses up some of the budget; a unit is about the work for one line.
    pub(crate) fn charge(&self, work: usize) -> Result<(), TooMuchWork> {
        let spent = self.spent.get() + work;
        self.spent.set(spent);
        if spent <= BUDGET_LEAST || spent <= self.budget.get() + BUDGET_FACTOR * self.lines.len() {
            Ok(())
        } else {
            Err(TooMuchWork)
        }
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

    fn found(&self, pattern: PatternId, tier: Tier) -> Result<Found, TooMuchWork> {
        if let Some(found) = self.known(pattern, tier) {
            return Ok(found);
        }
        if let Some(stricter) = tier.stricter()
            && self.alike(tier)
        {
            let found = self.found(pattern, stricter)?;
            self.set(pattern, tier, found.clone());
            return Ok(found);
        }
        // Until both looks are done.
        let often = Found::Often { spent: 0, numbers: None, all: None };
        self.set(pattern, tier, often.clone());
        let found = match self.look_first(pattern, tier, 0)? {
            None => Found::Never,
            Some(first) => match self.look_first(pattern, tier, first + 1)? {
                None => Found::Once(first),
                Some(_) => return Ok(often),
            },
        };
        self.set(pattern, tier, found.clone());
        Ok(found)
    }

    fn known(&self, pattern: PatternId, tier: Tier) -> Option<Found> {
        self.found.borrow()[pattern.0][tier as usize].clone()
    }

    fn set(&self, pattern: PatternId, tier: Tier, found: Found) {
        self.found.borrow_mut()[pattern.0][tier as usize] = Some(found);
    }

    /// Looks for a pattern of which nothing is known, without an index where that can be had.
    fn look_first(&self, pattern: PatternId, tier: Tier, from: usize) -> Result<Option<usize>, TooMuchWork> {
        if self.patterns[pattern.0].is_empty() {
            return Ok(None);
        }
        if self.patterns.len() <= FEW && self.indexes[tier as usize].get().is_none() {
            if self.absence.is_certain(self.lines, pattern.0, self.texts(pattern), tier) {
                return Ok(None);
            }
            if tier == Tier::Exact
                && let Some(eol) = self.lines.uniform()
            {
                let from = match from {
                    0 => {
                        bytes::From::Top(self.absence.not_before(self.lines, pattern.0, self.texts(pattern)))
                    }
                    line if line >= self.lines.len() => return Ok(None),
                    line => bytes::From::Line(line),
                };
                return Ok(bytes::next(self.lines, eol, self.texts(pattern), from));
            }
        }
        self.look(pattern, tier, from)
    }

    fn look(&self, pattern: PatternId, tier: Tier, from: usize) -> Result<Option<usize>, TooMuchWork> {
        let index = self.index(tier);
        self.try_candidates(
            index,
            pattern,
            tier,
            |offset, places| {
                let at = places.partition_point(|place| (*place as usize) < from + offset);
                places[at..].iter().map(move |place| *place as usize - offset)
            },
            |all| {
                let at = all.partition_point(|place| (*place as usize) < from);
                all.get(at).map(|place| *place as usize)
            },
        )
    }

    fn look_back(&self, pattern: PatternId, tier: Tier, upto: usize) -> Result<Option<usize>, TooMuchWork> {
        let index = self.index(tier);
        self.try_candidates(
            index,
            pattern,
            tier,
            |offset, places| {
                let at = places.partition_point(|place| *place as usize <= upto.saturating_add(offset));
                places[..at].iter().rev().filter_map(move |place| (*place as usize).checked_sub(offset))
            },
            |all| {
                let at = all.partition_point(|place| *place as usize <= upto);
                at.checked_sub(1).map(|at| all[at] as usize)
            },
        )
    }

    /// Compares candidates until one fits; where that has cost more than a pass over the file, makes the pass.
    ///
    /// Candidates come from the places of the pattern's rarest line, which is at an offset in it.
    fn try_candidates<'i, C: Iterator<Item = usize>>(
        &self,
        index: &'i Index,
        pattern: PatternId,
        tier: Tier,
        candidates: impl FnOnce(usize, &'i [u32]) -> C,
        pick: impl Fn(&[u32]) -> Option<usize>,
    ) -> Result<Option<usize>, TooMuchWork> {
        let (mut spent, numbers) = match self.known(pattern, tier) {
            Some(Found::Often { all: Some(all), .. }) => {
                self.charge(1)?;
                return Ok(pick(&all));
            }
            Some(Found::Often { spent, numbers, .. }) => (spent, numbers),
            _ => (0, None),
        };
        let numbers = numbers
            .unwrap_or_else(|| self.patterns[pattern.0].iter().map(|word| index.word(*word)).collect());
        let Some((offset, places)) = rarest(index, &numbers) else { return Ok(None) };
        let before = spent;
        let mut result = None;
        for candidate in candidates(offset, places) {
            spent += 1 + numbers.len() / 8;
            if index.lines().get(candidate..candidate + numbers.len()) == Some(&*numbers) {
                result = Some(candidate);
                break;
            }
            if spent > index.lines().len() {
                break;
            }
        }
        self.charge(1 + spent - before)?;
        let mut all = None;
        if spent > index.lines().len() {
            self.charge(index.lines().len())?;
            let every = Rc::new(occurrences(index.lines(), &numbers));
            result = pick(&every);
            all = Some(every);
        }
        self.set(pattern, tier, Found::Often { spent, numbers: Some(numbers), all });
        Ok(result)
    }

    /// Says whether a tier and the stricter one are the same for this file and these words.
    ///
    /// It is asked only where the stricter one has an index: where lines look alike, one tier after another is tried.
    fn alike(&self, tier: Tier) -> bool {
        let indexed = tier.stricter().is_some_and(|stricter| self.indexes[stricter as usize].get().is_some());
        let alike = || {
            let mut words = self.words.iter().map(|word| word.as_bytes());
            let mut lines = (0..self.lines.len()).map(|line| self.lines.content(line));
            words.all(|word| tier::is_same(tier, word)) && lines.all(|line| tier::is_same(tier, line))
        };
        indexed && *self.alike[tier as usize].get_or_init(alike)
    }

    /// Returns the index of a tier, or of a stricter one that is the same.
    fn index(&self, tier: Tier) -> &Index {
        if let Some(stricter) = tier.stricter()
            && self.alike(tier)
        {
            return self.index(stricter);
        }
        self.indexes[tier as usize].get_or_init(|| Index::new(self.lines, &self.words, tier, self.seed))
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
