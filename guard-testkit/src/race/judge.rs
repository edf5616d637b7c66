//! What a round lost: a pure function of what both writers were told and of what is there.
//!
//! The file is a register, which may be empty. The rival's writes replace whatever is there, or where they create
//! exclusively only nothing; a commit that said ok replaces exactly the content that it named, or the nothing; a commit
//! that was refused replaces nothing. Each takes effect at one moment between its begin and its end. If there is an order of these moments that ends with the content that is there, nothing was
//! lost: every version was superseded by a write that came later, or by a commit that had seen it.
//! If there is none, the least set of versions is sought without which there is one: those are lost, unless their
//! bytes are under a name that was reported.
//!
//! For example: a commit that named version 1 said ok, the rival had completed version 2 before that, and the file
//! holds the commit's bytes. No order explains that with version 2 in it.

use std::collections::HashMap;

use guard_core::policy::Digest;

/// A write that the rival completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// What it wrote.
    pub digest: Digest,
    /// What it takes the place of.
    pub over: Over,
    /// When it began.
    pub begin: u64,
    /// When it was over.
    pub end: u64,
}

/// What a write of the rival takes the place of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// Whatever is there.
    Anything,
    /// Whatever is there, which is removed first: meanwhile there is nothing.
    Removed,
    /// Nothing: it succeeds only where nothing is there.
    Nothing,
}

/// A commit of the writer under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit {
    /// The content that it named as its precondition; `None` where nothing was to be there.
    pub before: Option<Digest>,
    /// The content that it was to put there.
    pub after: Digest,
    /// When it was sent.
    pub begin: u64,
    /// When it was answered.
    pub end: u64,
    /// What it was told.
    pub outcome: Outcome,
}

/// What a commit was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Ok.
    Done,
    /// Refused: nothing was changed.
    Refused,
    /// Not known: it may have been done.
    Unknown,
}

/// A round: what each writer did, in its own order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// What was there before; `None` where there was nothing.
    pub start: Option<Digest>,
    /// The rival's writes.
    pub writes: Vec<Write>,
    /// The commits.
    pub commits: Vec<Commit>,
    /// What is there after; `None` where the name is gone.
    pub end: Option<Digest>,
    /// What is under names that were reported.
    pub kept: Vec<Digest>,
}

/// Something that was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lost {
    /// A version that the rival had completed, as an index into [`Round::writes`].
    Write(usize),
    /// A commit that said ok, as an index into [`Round::commits`].
    Commit(usize),
    /// What is at the name is no whole version that belongs there.
    End,
}

/// How far an order has come, and what is in the register then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Point {
    writes: usize,
    commits: usize,
    content: Option<Digest>,
}

/// What a commit that said ok has kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Promise {
    /// It has replaced what it named.
    Compared,
    /// It may have replaced something else in the last instant, unseen.
    Narrowed,
}

/// Tells what the round lost; empty where there is an order that explains it.
#[must_use]
pub fn judge(round: &Round) -> Vec<Lost> {
    explain(round, Promise::Compared)
}

/// Tells what the round lost that no commit which said ok can have replaced unseen: what tier `window` has to keep, for
/// whatever it saw that it had displaced it refuses, and keeps.
#[must_use]
pub fn judge_narrowed(round: &Round) -> Vec<Lost> {
    explain(round, Promise::Narrowed)
}

fn explain(round: &Round, promise: Promise) -> Vec<Lost> {
    let (writes, commits) = (round.writes.len(), round.commits.len());
    let mut best: HashMap<Point, Vec<Lost>> = HashMap::new();
    best.insert(Point { writes: 0, commits: 0, content: round.start }, Vec::new());
    // Every step goes one write or one commit further, so that points are reached before they are left.
    for done in 0..writes + commits {
        let points: Vec<(Point, Vec<Lost>)> = best
            .iter()
            .filter(|(point, _)| point.writes + point.commits == done)
            .map(|(point, lost)| (*point, lost.clone()))
            .collect();
        for (point, lost) in points {
            for (next, more) in steps(round, point, promise) {
                let mut lost: Vec<Lost> = lost.iter().copied().chain(more).collect();
                lost.sort_unstable();
                let known = best.entry(next).or_insert_with(|| lost.clone());
                if is_less(&lost, known) {
                    *known = lost;
                }
            }
        }
    }
    let ends = best.into_iter().filter(|(point, _)| (point.writes, point.commits) == (writes, commits));
    let judged = ends.map(|(point, mut lost)| {
        if round.end != point.content {
            lost.push(Lost::End);
        }
        lost
    });
    judged.reduce(|one, other| if is_less(&other, &one) { other } else { one }).unwrap_or_default()
}

/// Tells which of two explanations is the better one: the one that loses less; of two that lose the same number, the
/// one that blames the rival's versions, so that always the same is told.
fn is_less(one: &[Lost], other: &[Lost]) -> bool {
    (one.len(), one) < (other.len(), other)
}

/// Returns the points that come next, each with what would be lost on the way.
fn steps(round: &Round, point: Point, promise: Promise) -> Vec<(Point, Option<Lost>)> {
    let (write, commit) = (round.writes.get(point.writes), round.commits.get(point.commits));
    let mut next = Vec::new();
    // What was over before another began comes before it.
    if let Some(write) = write
        && commit.is_none_or(|commit| commit.end >= write.begin)
    {
        let further = Point { writes: point.writes + 1, ..point };
        let lost = (!is_kept(round, point.writes)).then_some(Lost::Write(point.writes));
        if write.over != Over::Nothing || point.content.is_none() {
            next.push((Point { content: Some(write.digest), ..further }, None));
        }
        next.push((further, lost));
    }
    if let Some(commit) = commit
        && write.is_none_or(|write| write.end >= commit.begin)
    {
        let further = Point { commits: point.commits + 1, ..point };
        let unseen = promise == Promise::Narrowed && commit.outcome == Outcome::Done;
        let saw = unseen || point.content == commit.before || saw_half(round, commit, write);
        let lost = (!round.kept.contains(&commit.after)).then_some(Lost::Commit(point.commits));
        if commit.outcome != Outcome::Refused && saw {
            next.push((Point { content: Some(commit.after), ..further }, None));
        }
        next.push((further, if commit.outcome == Outcome::Done { lost } else { None }));
    }
    next
}

/// Tells whether a write's bytes are under a reported name, or were superseded by a later write whose bytes are.
///
/// A commit that was done between the two may have been what replaced the first.
fn is_kept(round: &Round, nth: usize) -> bool {
    let write = &round.writes[nth];
    round.writes[nth..].iter().any(|later| {
        let between = |commit: &Commit| {
            commit.outcome != Outcome::Refused && commit.begin > write.end && commit.end < later.begin
        };
        round.kept.contains(&later.digest) && !round.commits.iter().any(between)
    })
}

/// Tells whether a commit may have seen the next write half done: what it named is no whole version, and that write
/// had begun. Then the commit came before that write was over.
fn saw_half(round: &Round, commit: &Commit, write: Option<&Write>) -> bool {
    let under_way = write.filter(|write| write.begin <= commit.end);
    let Some(before) = commit.before else {
        // A name that is removed before it is written anew is absent for a moment.
        return under_way.is_some_and(|write| write.over == Over::Removed);
    };
    let whole = round.start == Some(before)
        || round.writes.iter().any(|write| write.digest == before)
        || round.commits.iter().any(|other| other.after == before);
    !whole && under_way.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(name: &str) -> Digest {
        Digest::of(name.as_bytes())
    }

    fn is(name: &str) -> Option<Digest> {
        (!name.is_empty()).then(|| digest(name))
    }

    /// Reads a round: `start | writes | commits | end | kept`, a write as `NAME@BEGIN-END`, with `+` before it where it
    /// creates exclusively and `~` where it removes first; a commit as `BEFORE>AFTER@BEGIN-END` with `!` for refused and
    /// `?` for unknown. No name is nothing.
    fn round(text: &str) -> Round {
        let parts: Vec<&str> = text.split('|').map(str::trim).collect();
        let span = |text: &str| {
            let (begin, end) = text.split_once('-').unwrap();
            (begin.parse().unwrap(), end.parse().unwrap())
        };
        let write = |text: &str| {
            let over = match text.chars().next() {
                Some('+') => Over::Nothing,
                Some('~') => Over::Removed,
                _ => Over::Anything,
            };
            let (name, at) = text.trim_start_matches(['+', '~']).split_once('@').unwrap();
            let (begin, end) = span(at);
            Write { digest: digest(name), over, begin, end }
        };
        let commit = |text: &str| {
            let outcome = match text.chars().last() {
                Some('!') => Outcome::Refused,
                Some('?') => Outcome::Unknown,
                _ => Outcome::Done,
            };
            let (names, at) = text.trim_end_matches(['!', '?']).split_once('@').unwrap();
            let (before, after) = names.split_once('>').unwrap();
            let (begin, end) = span(at);
            Commit { before: is(before), after: digest(after), begin, end, outcome }
        };
        Round {
            start: is(parts[0]),
            writes: parts[1].split_whitespace().map(write).collect(),
            commits: parts[2].split_whitespace().map(commit).collect(),
            end: is(parts[3]),
            kept: parts[4].split_whitespace().map(digest).collect(),
        }
    }

    #[test]
    fn what_no_order_explains_is_lost_and_nothing_else() {
        use Lost::{Commit, End, Write};
        let cases: &[(&str, &[Lost])] = &[
            // Nothing happened.
            ("s | | | s |", &[]),
            // The rival alone: the last of its versions is there.
            ("s | a@1-2 b@3-4 | | b |", &[]),
            ("s | a@1-2 b@3-4 | | a |", &[Write(1)]),
            // A commit alone.
            ("s | | s>g@1-2 | g |", &[]),
            ("s | | s>g@1-2 | s |", &[Commit(0)]),
            ("s | | s>g@1-2! | s |", &[]),
            // A refused commit that took effect all the same.
            ("s | | s>g@1-2! | g |", &[End]),
            // Not known: either is right.
            ("s | | s>g@1-2? | g |", &[]),
            ("s | | s>g@1-2? | s |", &[]),
            // The accident: the rival was over before the commit began, and the commit had not seen it.
            ("s | a@1-2 | s>g@3-4 | g |", &[Write(0)]),
            // The same while both were at it.
            ("s | a@1-4 | s>g@2-3 | g |", &[Write(0)]),
            ("s | a@2-3 | s>g@1-4 | g |", &[Write(0)]),
            // Both were at it and the rival came last: it knew.
            ("s | a@2-3 | s>g@1-4 | a |", &[]),
            // It cannot have come last where it was over before.
            ("s | a@1-2 | s>g@3-4 | a |", &[Commit(0)]),
            // A commit that had seen the version.
            ("s | a@1-2 | a>g@3-4 | g |", &[]),
            ("s | a@1-2 b@5-6 | a>g@3-4 | b |", &[]),
            ("s | a@1-2 b@5-6 | a>g@3-4 | g |", &[Write(1)]),
            // The refused commit left the rival's bytes where they were, or not.
            ("s | a@2-3 | s>g@1-4! | a |", &[]),
            ("s | a@2-3 | s>g@1-4! | s |", &[Write(0)]),
            // What is under a reported name is not lost.
            ("s | a@2-3 | s>g@1-4 | g | a", &[]),
            ("s | a@2-3 b@4-5 | s>g@1-6 | g | a", &[Write(1)]),
            ("s | a@2-3 b@4-5 | s>g@1-6 | g | b", &[]),
            ("s | a@1-2 b@5-6 | s>g@3-4 | g | b", &[Write(0)]),
            ("s | a@1-2 b@5-6 | s>g@3-4 | b |", &[Write(0)]),
            ("s | a@2-3 | s>g@1-4 | a | g", &[]),
            // An older version of the rival came back over a newer one.
            ("s | a@1-2 b@3-4 | s>g@1-5! | a |", &[Write(1)]),
            ("s | a@1-2 b@3-4 | s>g@1-5! | a | b", &[]),
            // Commits in a chain.
            ("s | | s>g@1-2 g>h@3-4 | h |", &[]),
            ("s | | s>g@1-2 s>h@3-4 | h |", &[Commit(0)]),
            ("s | a@3-6 | s>g@1-2 g>h@4-5 | h |", &[Write(0)]),
            ("s | a@3-6 | s>g@1-2 g>h@4-5! | a |", &[]),
            ("s | a@3-6 | s>g@1-2 g>h@4-5 a>i@7-8 | i |", &[]),
            // The commit saw the next write half done, and the write was over afterwards.
            ("s | a@1-5 | half>g@2-3 | a |", &[]),
            ("s | a@1-5 | half>g@2-3 | g |", &[Write(0)]),
            // A digest that nobody ever made, with no write under way.
            ("s | a@5-6 | never>g@2-3 | a |", &[Commit(0)]),
            // A mixture, or nothing, at the name.
            ("s | a@2-3 | s>g@1-4 | mixture |", &[End]),
            ("s | a@2-3 | s>g@1-4! | |", &[End]),
            // Creations: one of the two is there, and the other one was told so.
            (" | | >g@1-2 | g |", &[]),
            (" | +a@1-2 | >g@1-2! | a |", &[]),
            (" | a@2-3 | >g@1-4! | a |", &[]),
            // Both were told that they had created it.
            (" | +a@1-4 | >g@2-3 | g |", &[Write(0)]),
            (" | +a@1-4 | >g@2-3 | a |", &[Commit(0)]),
            (" | +a@1-4 | >g@2-3 | g | a", &[]),
            // A rename over what was created came last, or was over before that.
            (" | a@2-3 | >g@1-4 | a |", &[]),
            (" | a@2-3 | >g@1-4 | g |", &[Write(0)]),
            (" | a@1-2 | >g@3-4 | a |", &[Commit(0)]),
            // Nobody's is there.
            (" | +a@1-2 | >g@1-2! | |", &[Write(0)]),
            (" | | >g@1-2 | |", &[Commit(0)]),
            // It was created in the moment between a removal and what follows it.
            ("s | ~a@1-6 | >g@2-3 | a |", &[]),
            ("s | a@1-6 | >g@2-3 | a |", &[Commit(0)]),
            ("s | ~a@4-6 | >g@2-3 | a |", &[Commit(0)]),
        ];
        for (text, expected) in cases {
            assert_eq!(judge(&round(text)), *expected, "{text}");
        }
    }

    #[test]
    fn what_a_window_may_lose_unseen_is_no_more_than_what_a_commit_that_said_ok_replaced() {
        use Lost::{Commit, End, Write};
        let cases: &[(&str, &[Lost])] = &[
            // Replaced in the last instant, and nobody saw it.
            ("s | a@2-3 | s>g@1-4 | g |", &[]),
            // What was seen is refused, and kept: under its name or another.
            ("s | a@2-3 | s>g@1-4! | s |", &[Write(0)]),
            ("s | a@2-3 | s>g@1-4! | g |", &[End]),
            ("s | a@2-3 b@4-5 | s>g@1-6! | b | a", &[]),
            // It came after the last commit.
            ("s | a@3-4 | s>g@1-2 | g |", &[Write(0)]),
            ("s | | s>g@1-2 | s |", &[Commit(0)]),
        ];
        for (text, expected) in cases {
            assert_eq!(judge_narrowed(&round(text)), *expected, "{text}");
        }
    }

    /// Any order in which the register really was written is explained: nothing is cried that was not lost.
    #[test]
    fn a_true_history_is_never_blamed() {
        // Every interleaving of three writes and three commits, taken as bits.
        for order in 0_u32..64 {
            if order.count_ones() != 3 {
                continue;
            }
            let mut content = digest("s");
            let mut history = Round {
                start: Some(content),
                writes: Vec::new(),
                commits: Vec::new(),
                end: None,
                kept: Vec::new(),
            };
            // What the committing side last read; it reads anew after each commit.
            let mut seen = content;
            for moment in 0..6_u32 {
                let at = u64::from(moment) * 10;
                if order & (1 << moment) == 0 {
                    content = digest(&format!("w{moment}"));
                    // Its span reaches into those of its neighbours.
                    let (begin, end) = (at.saturating_sub(7), at + 7);
                    history.writes.push(Write { digest: content, over: Over::Anything, begin, end });
                } else {
                    let after = digest(&format!("c{moment}"));
                    let outcome = if seen == content { Outcome::Done } else { Outcome::Refused };
                    let (begin, end) = (at.saturating_sub(7), at + 7);
                    history.commits.push(Commit { before: Some(seen), after, begin, end, outcome });
                    if outcome == Outcome::Done {
                        content = after;
                    }
                    seen = content;
                }
            }
            history.end = Some(content);
            assert_eq!(judge(&history), [], "{order:06b}");
            // And any other end is blamed, unless it is what the last commit may have left.
            history.end = Some(digest("s"));
            assert_ne!(judge(&history), [], "{order:06b}");
        }
    }
}
