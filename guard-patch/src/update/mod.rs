//! One Update: its chunks are placed, in order, in the file as it was before the operation.

mod edits;
mod place;
mod shape;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use self::place::{Context, Spot, Unplaced};
use self::shape::Shape;
use crate::anchor::{self, Lost, Region};
use crate::assign::{self, Places, Span, Stuck};
use crate::diagnose::Closeness;
use crate::diagnostic::{Code, Diagnostic};
use crate::lines::{Lines, LoneCr};
use crate::note::{Note, NoteKind};
use crate::options::Options;
use crate::patch::{Chunk, LineKind};
use crate::plan::{Applied, Outcome};
use crate::search::{PatternId, Search, TooMuchWork};
use crate::splice::{Ends, splice};
use crate::tier::Tier;

/// A file after an Update.
#[derive(Debug)]
pub(crate) struct Updated {
    /// `None` if nothing changed.
    pub(crate) bytes: Option<Vec<u8>>,
    pub(crate) applied: Vec<Applied>,
    pub(crate) notes: Vec<Note>,
}

/// Applies the chunks of an Update to a file.
pub(crate) fn update(bytes: &[u8], chunks: &[Chunk], options: &Options) -> Result<Updated, Vec<Diagnostic>> {
    let lone_cr = if options.codex { LoneCr::Ends } else { LoneCr::Data };
    let lines = Lines::new(bytes, lone_cr);
    let mut search = Search::new(&lines);
    let shapes: Vec<Shape> = chunks.iter().map(|chunk| Shape::new(chunk, &mut search)).collect();
    let closeness = Closeness::new(&lines);
    let context = Context { search: &search, closeness: &closeness, options };
    let mut problems = Vec::new();
    let placed = place_all(&context, chunks, &shapes, &mut problems).unwrap_or_else(|TooMuchWork| {
        problems = vec![too_much_work(chunks)];
        Vec::new()
    });
    let mut edits = edits::Edits::default();
    for placed in &placed {
        if let Err(problem) = edits.add(&lines, &chunks[placed.chunk], &shapes[placed.chunk], placed, options)
        {
            problems.push(numbered(problem, placed.chunk));
        }
    }
    edits.check_ends(&lines, &mut problems);
    if !problems.is_empty() {
        problems.sort_by_key(|problem| problem.line);
        return Err(problems);
    }
    let mut notes = Vec::new();
    let applied = placed.iter().map(|placed| applied(placed, &chunks[placed.chunk], &mut notes)).collect();
    let ends = if options.codex { Ends::First } else { Ends::Inherited };
    let written = splice(&lines, &edits.list, &edits.inserted, ends);
    Ok(Updated { bytes: Some(written).filter(|written| written != bytes), applied, notes })
}

fn too_much_work(chunks: &[Chunk]) -> Diagnostic {
    let what = "finding the places of the chunks takes too much work: too many places look alike";
    let line = chunks.first().map_or(0, |chunk| chunk.line);
    let remedy = "use fewer chunks, with lines that the file has only once";
    Diagnostic::new(Code::TooMuchWork, line, what).remedy(remedy)
}

fn numbered(mut problem: Diagnostic, chunk: usize) -> Diagnostic {
    problem.chunk = Some(chunk + 1);
    problem
}

/// A chunk at its place.
#[derive(Debug)]
struct Placed {
    chunk: usize,
    place: usize,
    tier: Tier,
    region: Rc<Region>,
    outcome: Outcome,
    /// Whether the line number in the header decided.
    hinted: bool,
}

/// Gives every chunk its place; reports those that have none, or several.
fn place_all(
    context: &Context<'_, '_, '_>,
    chunks: &[Chunk],
    shapes: &[Shape],
    problems: &mut Vec<Diagnostic>,
) -> Result<Vec<Placed>, TooMuchWork> {
    let mut regions: HashMap<&[PatternId], Result<Rc<Region>, Lost>> = HashMap::new();
    let mut spots: Vec<Option<Spot>> = Vec::with_capacity(chunks.len());
    let mut nowhere = Vec::new();
    for (number, (chunk, shape)) in chunks.iter().zip(shapes).enumerate() {
        let region = match regions.entry(shape.anchors.as_slice()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let located = anchor::locate(context.search, &shape.anchors, context.options.ceiling)?;
                new.insert(located.map(Rc::new))
            }
        };
        spots.push(match place::spot(context, chunk, shape, region)? {
            Ok(spot) => Some(spot),
            Err(Unplaced::Refused(problem)) => {
                problems.push(numbered(*problem, number));
                None
            }
            Err(Unplaced::Nowhere) => {
                nowhere.extend(region.as_ref().ok().map(|region| (number, Rc::clone(region))));
                None
            }
        });
    }
    find_applied(context, chunks, shapes, &nowhere, &mut spots, problems)?;
    let mut spots: Vec<(usize, Spot)> =
        spots.into_iter().enumerate().filter_map(|(number, spot)| Some((number, spot?))).collect();
    let Some(places) = assign_all(context, chunks, &mut spots, problems)? else { return Ok(Vec::new()) };
    let all = spots.into_iter().zip(places).map(|((chunk, spot), place)| Placed {
        chunk,
        place,
        tier: spot.tier,
        region: spot.region,
        outcome: spot.outcome,
        hinted: spot.hinted,
    });
    Ok(all.collect())
}

/// Looks for the new lines of chunks whose old lines are nowhere; reports those that were not applied already.
fn find_applied(
    context: &Context<'_, '_, '_>,
    chunks: &[Chunk],
    shapes: &[Shape],
    nowhere: &[(usize, Rc<Region>)],
    spots: &mut [Option<Spot>],
    problems: &mut Vec<Diagnostic>,
) -> Result<(), TooMuchWork> {
    let mut search = Search::new(context.search.lines());
    let mut new_lines = Vec::with_capacity(nowhere.len());
    for (number, _) in nowhere {
        let chunk = &chunks[*number];
        let evident = place::has_evidence(chunk);
        new_lines.push(evident.then(|| search.pattern(shape::side(chunk, LineKind::Remove))));
    }
    for ((number, region), new) in nowhere.iter().zip(new_lines) {
        let (chunk, shape) = (&chunks[*number], &shapes[*number]);
        let applied = match new {
            Some(new) => place::applied_already(&search, new, chunk, shape, region)?,
            None => None,
        };
        if applied.is_none() {
            problems.push(numbered(place::not_found(context, chunk, shape, region), *number));
        }
        spots[*number] = applied;
    }
    Ok(())
}

/// The spots of chunks, as places to assign.
struct Table<'c, 's, 'f, 'p>(&'c Search<'f, 'p>, &'s [(usize, Spot)]);

impl Places for Table<'_, '_, '_, '_> {
    fn next(&self, chunk: usize, from: usize) -> Result<Option<usize>, TooMuchWork> {
        self.1[chunk].1.next(self.0, from)
    }

    fn previous(&self, chunk: usize, upto: usize) -> Result<Option<usize>, TooMuchWork> {
        self.1[chunk].1.previous(self.0, upto)
    }
}

/// A chunk with several places: its number among the spots, the first place and the last.
type Open = (usize, usize, usize);

/// Finds the one assignment that keeps the chunks in order; reports why there is none, or not one.
fn assign_all(
    context: &Context<'_, '_, '_>,
    chunks: &[Chunk],
    spots: &mut [(usize, Spot)],
    problems: &mut Vec<Diagnostic>,
) -> Result<Option<Vec<usize>>, TooMuchWork> {
    let (left, open) = match assign(context, spots)? {
        Ok(assigned) => assigned,
        Err(stuck) => {
            for stuck in &stuck {
                problems.push(out_of_place(context, chunks, spots, stuck)?);
            }
            return Ok(None);
        }
    };
    if open.is_empty() {
        return Ok(Some(left));
    }
    let mut pinned = Vec::new();
    for (chunk, _, _) in &open {
        let (number, spot) = &mut spots[*chunk];
        if let Some(place) = spot.hinted_place(context.search, &chunks[*number])? {
            spot.fixed = Some(place);
            spot.hinted = true;
            pinned.push(*chunk);
        }
    }
    let still_open = if pinned.is_empty() { Ok((left, open.clone())) } else { assign(context, spots)? };
    let open = match still_open {
        Ok((left, open)) if open.is_empty() => return Ok(Some(left)),
        Ok((_, open)) => open,
        Err(_) => {
            // Line numbers that contradict each other decide nothing.
            for chunk in pinned {
                spots[chunk].1.fixed = None;
            }
            open
        }
    };
    report_ambiguous(context, chunks, spots, &open, problems)?;
    Ok(None)
}

/// Takes the leftmost and the rightmost assignment: the places, and the chunks for which the two differ.
fn assign(
    context: &Context<'_, '_, '_>,
    spots: &[(usize, Spot)],
) -> Result<Result<(Vec<usize>, Vec<Open>), Vec<Stuck>>, TooMuchWork> {
    let spans: Vec<Span> = spots.iter().map(|(_, spot)| spot.span).collect();
    let table = Table(context.search, spots);
    let left = assign::leftmost(&spans, &table)?;
    let right = assign::rightmost(&spans, &table)?;
    let (true, Some(right)) = (left.stuck.is_empty(), right) else { return Ok(Err(left.stuck)) };
    let left: Vec<usize> = left.places.into_iter().flatten().collect();
    let differing = left.iter().zip(right).enumerate().filter(|(chunk, (left, right))| {
        // Where a chunk that changes nothing stands does not matter.
        **left != *right && spots[*chunk].1.outcome != Outcome::ContextOnly
    });
    let open = differing.map(|(chunk, (left, right))| (chunk, *left, right)).collect();
    Ok(Ok((left, open)))
}

/// How many candidates are named for all ambiguous chunks of an Update; for those behind, only the first and the last.
const CANDIDATES: usize = 4096;

fn report_ambiguous(
    context: &Context<'_, '_, '_>,
    chunks: &[Chunk],
    spots: &[(usize, Spot)],
    open: &[Open],
    problems: &mut Vec<Diagnostic>,
) -> Result<(), TooMuchWork> {
    let mut left = CANDIDATES;
    for (chunk, first, last) in open {
        let (number, spot) = &spots[*chunk];
        let candidates =
            if left == 0 { vec![*first, *last] } else { spot.all(context.search, *first, *last)? };
        left = left.saturating_sub(candidates.len());
        problems.push(numbered(place::ambiguous(&chunks[*number], &candidates), *number));
    }
    Ok(())
}

/// Says why a chunk has no place below the ones before it.
fn out_of_place(
    context: &Context<'_, '_, '_>,
    chunks: &[Chunk],
    spots: &[(usize, Spot)],
    stuck: &Stuck,
) -> Result<Diagnostic, TooMuchWork> {
    let (number, spot) = &spots[stuck.chunk];
    let candidates = spot.all(context.search, 0, usize::MAX)?;
    let (before, before_line) = match stuck.behind {
        Some((chunk, place)) => (spots[chunk].0, place),
        None => (0, 0),
    };
    let earlier = stuck.behind.map(|(chunk, place)| {
        let span = spots[chunk].1.span;
        (place + span.start, place + span.end, span.point)
    });
    let overlaps = candidates.iter().any(|place| {
        let (start, end) = (place + spot.span.start, place + spot.span.end);
        earlier.is_some_and(|(from, to, point)| {
            (start < to && from < end) || (start == to && point && spot.span.point)
        })
    });
    let (before, before_line) = (before + 1, before_line + 1);
    let (code, what, remedy) = if overlaps {
        let what =
            format!("the chunk edits what chunk {before} (at line {before_line} of the file) edits too");
        (Code::Overlap, what, "make one chunk of the two")
    } else {
        let what = format!("the chunk fits only above chunk {before} (at line {before_line} of the file)");
        (Code::OutOfOrder, what, "put the chunks in the order in which their lines stand in the file")
    };
    let problem = Diagnostic::new(code, chunks[*number].line, format!("{what}: {}", place::at(&candidates)));
    Ok(numbered(problem.remedy(remedy).candidates(candidates.iter().map(|line| line + 1)), *number))
}

/// Reports how a chunk was applied.
fn applied(placed: &Placed, chunk: &Chunk, notes: &mut Vec<Note>) -> Applied {
    let mut note = |kind| notes.push(Note { line: chunk.line, kind });
    match placed.outcome {
        Outcome::Applied => {}
        Outcome::AlreadyApplied => note(NoteKind::AlreadyApplied),
        Outcome::ContextOnly => note(NoteKind::ContextOnly),
    }
    if placed.tier.max(placed.region.tier.unwrap_or(Tier::Exact)) > Tier::Exact {
        note(NoteKind::LooseMatch);
    }
    if placed.region.prefix {
        note(NoteKind::AnchorPrefix);
    }
    if placed.hinted {
        note(NoteKind::LineNumberUsed);
    }
    let (removed, added) = match placed.outcome {
        Outcome::Applied => shape::counts(chunk),
        Outcome::AlreadyApplied | Outcome::ContextOnly => (0, 0),
    };
    Applied {
        patch_line: chunk.line,
        chunk: placed.chunk + 1,
        file_line: placed.place + 1,
        removed,
        added,
        tier: placed.tier,
        anchor_tier: placed.region.tier,
        outcome: placed.outcome,
    }
}
