//! Where one chunk may stand.

use std::rc::Rc;

use super::shape::{Shape, ShapeKind, side};
use crate::anchor::{Lost, Region};
use crate::assign::Span;
use crate::diagnose::{Closeness, visible};
use crate::diagnostic::{Code, Diagnostic};
use crate::options::Options;
use crate::patch::{Chunk, ChunkLine, LineKind};
use crate::plan::Outcome;
use crate::search::{PatternId, Search, TooMuchWork};
use crate::tier::Tier;

/// What is the same for all chunks of an Update.
pub(super) struct Context<'c, 'f, 'p> {
    pub(super) search: &'c Search<'f, 'p>,
    pub(super) closeness: &'c Closeness<'f>,
    pub(super) options: &'c Options,
}

/// The places that a chunk may take.
#[derive(Clone, Debug)]
pub(super) struct Spot {
    pattern: PatternId,
    pub(super) tier: Tier,
    pub(super) region: Rc<Region>,
    /// The one place, if there is only one.
    pub(super) fixed: Option<usize>,
    pub(super) span: Span,
    pub(super) outcome: Outcome,
    /// Whether the line number in the header decided.
    pub(super) hinted: bool,
}

impl Spot {
    pub(super) fn next(&self, search: &Search<'_, '_>, from: usize) -> Result<Option<usize>, TooMuchWork> {
        match self.fixed {
            Some(place) => Ok((place >= from).then_some(place)),
            None => self.region.next(search, self.pattern, self.tier, from),
        }
    }

    pub(super) fn previous(
        &self,
        search: &Search<'_, '_>,
        upto: usize,
    ) -> Result<Option<usize>, TooMuchWork> {
        match self.fixed {
            Some(place) => Ok((place <= upto).then_some(place)),
            None => self.region.previous(search, self.pattern, self.tier, upto),
        }
    }

    /// Returns the places from one line to another, as many as are reported.
    pub(super) fn all(
        &self,
        search: &Search<'_, '_>,
        first: usize,
        last: usize,
    ) -> Result<Vec<usize>, TooMuchWork> {
        let mut all = Vec::new();
        let mut from = first;
        while all.len() < Diagnostic::MOST_CANDIDATES
            && let Some(place) = self.next(search, from)?.filter(|place| *place <= last)
        {
            all.push(place);
            from = place + 1;
        }
        Ok(all)
    }

    /// Returns the place that the line number in the chunk's header names exactly, if it is one.
    pub(super) fn hinted_place(
        &self,
        search: &Search<'_, '_>,
        chunk: &Chunk,
    ) -> Result<Option<usize>, TooMuchWork> {
        let Some(line) = chunk.hint.and_then(|hint| hint.checked_sub(1)) else { return Ok(None) };
        // Blank lines that were dropped may or may not have been counted.
        let mut found = None;
        for place in [line, line + chunk.blanks_dropped] {
            if found != Some(place) && self.next(search, place)? == Some(place) {
                if found.is_some() {
                    return Ok(None);
                }
                found = Some(place);
            }
        }
        Ok(found)
    }
}

/// Why a chunk has no place.
#[derive(Debug)]
pub(super) enum Unplaced {
    Refused(Box<Diagnostic>),
    /// Its old lines are nowhere at any tier: perhaps it was applied already.
    Nowhere,
}

type Found<T> = Result<Result<T, Unplaced>, TooMuchWork>;

#[expect(clippy::unnecessary_wraps, reason = "it is what the functions that refuse return")]
fn refused<T>(problem: Diagnostic) -> Found<T> {
    Ok(Err(Unplaced::Refused(Box::new(problem))))
}

/// Finds the places that a chunk may take, at the first tier at which there is one.
pub(super) fn spot(
    context: &Context<'_, '_, '_>,
    chunk: &Chunk,
    shape: &Shape,
    region: &Result<Rc<Region>, Lost>,
) -> Found<Spot> {
    let region = match region {
        Ok(region) => region,
        Err(lost) => return refused(lost_anchor(context, chunk, lost)),
    };
    let search = context.search;
    let lines = search.lines();
    let outcome = match shape.kind {
        ShapeKind::AddOnly => {
            return Ok(addition(context, chunk, shape, region)
                .map_err(|problem| Unplaced::Refused(Box::new(problem))));
        }
        ShapeKind::Edit => Outcome::Applied,
        ShapeKind::ContextOnly => Outcome::ContextOnly,
    };
    let spot = |tier: Tier, fixed: Option<usize>| Spot {
        pattern: shape.old,
        tier,
        region: Rc::clone(region),
        fixed,
        span: shape.span,
        outcome,
        hinted: false,
    };
    let at_end = AtEnd::of(chunk);
    let end = at_end.and_then(|_| lines.len().checked_sub(search.len(shape.old)));
    for tier in Tier::ALL.into_iter().filter(|tier| *tier <= context.options.ceiling) {
        let first = match (at_end, end) {
            (None, _) => region.next(search, shape.old, tier, 0)?,
            (Some(_), Some(end)) if region.contains(end) && search.is_at(shape.old, tier, end)? => Some(end),
            (Some(_), _) => None,
        };
        let Some(first) = first else { continue };
        if tier >= Tier::Indentation && !search.is_once(shape.old, tier)? {
            let everywhere =
                Spot { region: Rc::new(Region::whole()), ..spot(tier, None) }.all(search, 0, usize::MAX)?;
            return refused(not_once(chunk, tier, &everywhere));
        }
        if at_end == Some(AtEnd::Unterminated) && !lines.unterminated() {
            let what = "the chunk says that the file's last line has no end, but it has one";
            let problem = Diagnostic::new(Code::FinalNewline, chunk.line, what).candidates([lines.len()]);
            return refused(problem.remedy("leave `\\ No newline at end of file` out"));
        }
        let mut spot = spot(tier, at_end.map(|_| first));
        if region.flat && spot.fixed.is_none() && spot.next(search, first + 1)?.is_some() {
            match spot.hinted_place(search, chunk)? {
                Some(place) => {
                    spot.fixed = Some(place);
                    spot.hinted = true;
                }
                None => return refused(ambiguous(chunk, &spot.all(search, 0, usize::MAX)?)),
            }
        }
        return Ok(Ok(spot));
    }
    absent(context, chunk, shape, region, at_end)
}

/// Why a chunk has to stand at the end of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtEnd {
    /// It says so.
    Flag,
    /// The last line that it removes is said to have no end.
    Removed,
    /// Its last line of context is said to have no end.
    Unterminated,
}

impl AtEnd {
    fn of(chunk: &Chunk) -> Option<Self> {
        let marked = |line: &&ChunkLine| line.no_newline && line.kind != LineKind::Add;
        match chunk.lines.iter().find(marked).map(|line| line.kind) {
            Some(LineKind::Context) => Some(Self::Unterminated),
            Some(_) => Some(Self::Removed),
            None => chunk.end_of_file.then_some(Self::Flag),
        }
    }
}

/// Places a chunk that only adds.
fn addition(
    context: &Context<'_, '_, '_>,
    chunk: &Chunk,
    shape: &Shape,
    region: &Rc<Region>,
) -> Result<Spot, Diagnostic> {
    let lines = context.search.lines();
    let place = if chunk.end_of_file {
        lines.len()
    } else {
        match region.anchors.as_slice() {
            [] if context.options.codex => lines.len(),
            [] => {
                let what = "the chunk only adds lines and does not say where";
                return Err(Diagnostic::new(Code::NoPlace, chunk.line, what).remedy(
                    "add a line of context from the file, an anchor after `@@`, or `*** End of File` to append",
                ));
            }
            [anchor] => anchor + 1,
            several => {
                let what = format!("the chunk only adds lines, and its anchor fits {}", at(several));
                let problem = Diagnostic::new(Code::AnchorAmbiguous, chunk.line, what);
                return Err(problem
                    .remedy("add a line of context to the chunk, or an anchor above this one")
                    .candidates(several.iter().map(|line| line + 1)));
            }
        }
    };
    Ok(Spot {
        pattern: shape.old,
        tier: Tier::Exact,
        region: Rc::clone(region),
        fixed: Some(place),
        span: shape.span,
        outcome: Outcome::Applied,
        hinted: false,
    })
}

/// Says why a chunk has no place that its anchors admit.
fn absent(
    context: &Context<'_, '_, '_>,
    chunk: &Chunk,
    shape: &Shape,
    region: &Rc<Region>,
    at_end: Option<AtEnd>,
) -> Found<Spot> {
    let search = context.search;
    let whole = Rc::new(Region::whole());
    for tier in Tier::ALL {
        let anywhere = Spot {
            pattern: shape.old,
            tier,
            region: Rc::clone(&whole),
            fixed: None,
            span: shape.span,
            outcome: Outcome::Applied,
            hinted: false,
        };
        let everywhere = anywhere.all(search, 0, usize::MAX)?;
        if everywhere.is_empty() {
            continue;
        }
        let places = at(&everywhere);
        let problem = if tier > context.options.ceiling {
            let what = format!("the chunk's lines fit only at the tier `{}`: {places}", tier.as_str());
            Diagnostic::new(Code::TierNotAllowed, chunk.line, what)
                .remedy("copy the lines from the file as they are")
        } else if at_end.is_some() && everywhere.iter().any(|place| region.contains(*place)) {
            let what = format!("the chunk's lines are in the file, but not at its end: {places}");
            let remedy = match at_end {
                Some(AtEnd::Flag) => "leave `*** End of File` out, or add the lines that follow in the file",
                _ => "leave `\\ No newline at end of file` out, or add the lines that follow in the file",
            };
            Diagnostic::new(Code::NotAtEnd, chunk.line, what).remedy(remedy)
        } else {
            let anchors: Vec<usize> = region.anchors.iter().take(8).copied().collect();
            let what = format!(
                "the chunk's lines are in the file, but not in the block of its anchor ({}): {places}",
                at(&anchors)
            );
            Diagnostic::new(Code::OutsideBlock, chunk.line, what)
                .remedy("use the line above the chunk's lines as its anchor, or leave the anchor out")
        };
        return refused(problem.candidates(everywhere.iter().map(|line| line + 1)));
    }
    Ok(Err(Unplaced::Nowhere))
}

/// Says that the old lines of a chunk are nowhere, and where they come closest.
pub(super) fn not_found(
    context: &Context<'_, '_, '_>,
    chunk: &Chunk,
    shape: &Shape,
    region: &Region,
) -> Diagnostic {
    let mut what = "the chunk's lines are not in the file".to_owned();
    if !region.anchors.is_empty() {
        what = format!("the anchor is in the file ({}), but the chunk's lines are not", at(&region.anchors));
    }
    let mut problem = Diagnostic::new(Code::NotFound, chunk.line, what)
        .candidates(region.anchors.iter().map(|line| line + 1))
        .remedy("read the file again and copy the lines that are there now");
    let texts: Vec<&str> = context.search.texts(shape.old).collect();
    problem.closest = context.closeness.closest(&texts, region);
    problem
}

/// The least that a block must say before its being there counts as the chunk having been applied.
const EVIDENCE: usize = 8;

/// Says whether the new lines of a chunk say enough for their being there to mean that it was applied.
pub(super) fn has_evidence(chunk: &Chunk) -> bool {
    let said = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
    let mut added = chunk.lines.iter().filter(|line| line.kind == LineKind::Add);
    added.any(|line| said(&line.text) > 0)
        && side(chunk, LineKind::Remove).map(said).sum::<usize>() >= EVIDENCE
}

/// Finds the new lines of a chunk whose old lines are nowhere.
pub(super) fn applied_already(
    search: &Search<'_, '_>,
    new: PatternId,
    chunk: &Chunk,
    shape: &Shape,
    region: &Rc<Region>,
) -> Result<Option<Spot>, TooMuchWork> {
    let lines = search.lines();
    let (Some(span), true) = (shape.new_span, search.is_once(new, Tier::Exact)?) else { return Ok(None) };
    let unterminated = chunk.lines.iter().any(|line| line.kind == LineKind::Add && line.no_newline);
    let at_end = chunk.end_of_file || AtEnd::of(chunk).is_some() || unterminated;
    let place = region.next(search, new, Tier::Exact, 0)?.filter(|place| {
        (!at_end || place + search.len(new) == lines.len()) && (!unterminated || lines.unterminated())
    });
    Ok(place.map(|place| Spot {
        pattern: new,
        tier: Tier::Exact,
        region: Rc::clone(region),
        fixed: Some(place),
        span,
        outcome: Outcome::AlreadyApplied,
        hinted: false,
    }))
}

/// Says that a chunk fits at several places.
pub(super) fn ambiguous(chunk: &Chunk, places: &[usize]) -> Diagnostic {
    let what = format!("the chunk fits at several places: {}", at(places));
    Diagnostic::new(Code::Ambiguous, chunk.line, what)
        .remedy("add lines of context above or below, or an anchor after `@@`")
        .candidates(places.iter().map(|line| line + 1))
}

fn not_once(chunk: &Chunk, tier: Tier, places: &[usize]) -> Diagnostic {
    let what = format!(
        "the chunk fits only loosely (tier `{}`), and then at several places: {}",
        tier.as_str(),
        at(places)
    );
    Diagnostic::new(Code::Ambiguous, chunk.line, what)
        .remedy("copy the lines from the file as they are")
        .candidates(places.iter().map(|line| line + 1))
}

fn lost_anchor(context: &Context<'_, '_, '_>, chunk: &Chunk, lost: &Lost) -> Diagnostic {
    let anchor = |number: &usize| {
        let anchor = &chunk.anchors[*number];
        (anchor.line, anchor.text.as_str(), visible(anchor.text.as_bytes()))
    };
    match lost {
        Lost::NotFound(number) => {
            let (line, text, shown) = anchor(number);
            let below = if *number == 0 { "" } else { " below the one before" };
            let what = format!("the anchor `{shown}` is not in the file{below}");
            let mut problem = Diagnostic::new(Code::AnchorNotFound, line, what)
                .remedy("use a whole line of the file that stands above the chunk, or leave the anchor out");
            problem.closest = context.closeness.closest(&[text], &Region::whole());
            problem
        }
        Lost::Ambiguous(number, lines) => {
            let (line, _, shown) = anchor(number);
            let what = format!("the anchor `{shown}` is the beginning of several lines: {}", at(lines));
            Diagnostic::new(Code::AnchorAmbiguous, line, what)
                .remedy("use the whole line as the anchor")
                .candidates(lines.iter().map(|line| line + 1))
        }
        Lost::Outside(number, lines) => {
            let (line, _, shown) = anchor(number);
            let what =
                format!("the anchor `{shown}` is only outside the block of the one before: {}", at(lines));
            Diagnostic::new(Code::OutsideBlock, line, what)
                .remedy("use the anchors under which the chunk stands, or leave them out")
                .candidates(lines.iter().map(|line| line + 1))
        }
    }
}

/// Writes lines of the file, given from 0, for a message.
pub(super) fn at(places: &[usize]) -> String {
    const NAMED: usize = 12;
    let mut numbers: Vec<String> = places.iter().take(NAMED).map(|line| (line + 1).to_string()).collect();
    if places.len() > NAMED {
        numbers.push("…".to_owned());
    }
    format!("line{} {}", if places.len() == 1 { "" } else { "s" }, numbers.join(", "))
}
