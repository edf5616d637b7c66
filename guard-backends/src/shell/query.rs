//! Requests that change nothing: what is asked, and what the answers say.

use std::vec::IntoIter;

use guard_core::policy::{Digest, FileState, TargetPath};
use guard_core::port::{Ask, Body, Contents, Depth, Entry, Found, Listing, OpError, Page, Want};

use super::Inner;
use super::answer;
use super::connection::Item;
use super::wire::{Look, Noise, Part, Record, Scope, Verb};
use crate::names;

/// How often what changed while it was read is read again.
pub(super) const ATTEMPTS: usize = 3;

/// Builds the record of an ask.
pub(super) fn look(inner: &Inner, ask: &Ask) -> Result<Look, OpError> {
    let (root, path) = inner.roots.place(ask.root, &ask.path)?;
    Ok(Look { root, path, last: ask.last, scope: scope(&ask.scope), max: reach(ask) })
}

/// Builds what a request reaches; in `/` is everything.
pub(super) fn scope(scope: &guard_core::port::Scope) -> Scope {
    let bytes = |directory: &TargetPath| Vec::from(directory.as_str());
    let within = scope.within.as_ref().filter(|within| !within.contains(&TargetPath::root()));
    Scope {
        roots: scope.roots.as_ref().map(|roots| roots.iter().map(|root| root.0 as usize).collect()),
        within: within.map(|within| within.iter().map(bytes).collect()),
    }
}

fn reach(ask: &Ask) -> Option<u64> {
    match ask.depth {
        Depth::State => None,
        Depth::Digest { max } => Some(max),
    }
}

/// Builds the record of a want. What is delivered whole always comes with a digest, so that it can be checked.
pub(super) fn want(inner: &Inner, want: &Want) -> Result<(Look, Part), OpError> {
    let look = look(inner, &want.ask)?;
    Ok(match want.part {
        guard_core::port::Part::Whole { max } => {
            (Look { max: Some(look.max.unwrap_or(0).max(max)), ..look }, Part::Whole(max))
        }
        guard_core::port::Part::Bytes { offset, len } => {
            (Look { max: Some(look.max.unwrap_or(u64::MAX >> 1)), ..look }, Part::Bytes(offset, len))
        }
    })
}

/// Sends what can be sent of `asks`, and puts the answers where they belong.
pub(super) async fn each<A, R, T>(
    asks: &[A],
    record: impl Fn(&A) -> Result<R, OpError>,
    request: impl AsyncFnOnce(Vec<R>) -> Result<Vec<Result<T, OpError>>, OpError>,
) -> Result<Vec<Result<T, OpError>>, OpError> {
    let mut records = Vec::new();
    let places: Vec<Result<(), OpError>> = asks
        .iter()
        .map(|ask| {
            records.push(record(ask)?);
            Ok(())
        })
        .collect();
    let answers = if records.is_empty() { Vec::new() } else { request(records).await? };
    let mut answers = answers.into_iter();
    let missing = || Err(OpError::Unavailable { why: "an answer is missing".to_owned() });
    Ok(places.into_iter().map(|place| place.and_then(|()| answers.next().unwrap_or_else(missing))).collect())
}

/// The items of a reply, from the left.
pub(super) struct Items(std::iter::Peekable<IntoIter<Item>>);

impl Items {
    pub(super) fn new(items: Vec<Item>) -> Self {
        Self(items.into_iter().peekable())
    }

    pub(super) fn record(&mut self) -> Result<Record, Noise> {
        match self.0.next() {
            Some(Item::Record(record)) => Ok(record),
            other => Err(unexpected(other.as_ref())),
        }
    }

    pub(super) fn body(&mut self) -> Option<Vec<u8>> {
        match self.0.next_if(|item| matches!(item, Item::Body(_))) {
            Some(Item::Body(bytes)) => Some(bytes),
            _ => None,
        }
    }

    pub(super) fn record_if(&mut self, is: impl Fn(&Record) -> bool) -> Option<Record> {
        match self.0.next_if(|item| matches!(item, Item::Record(record) if is(record))) {
            Some(Item::Record(record)) => Some(record),
            _ => None,
        }
    }

    pub(super) fn end(mut self) -> Result<(), Noise> {
        self.0.next().map_or(Ok(()), |item| Err(unexpected(Some(&item))))
    }

    pub(super) fn is_over(&mut self) -> bool {
        self.0.peek().is_none()
    }
}

fn unexpected(item: Option<&Item>) -> Noise {
    match item {
        Some(Item::Record(record)) => Noise::new(format!("{record:?} where it does not belong")),
        Some(Item::Body(bytes)) => Noise::new(format!("{} bytes that nobody asked for", bytes.len())),
        None => Noise::new("a reply that is too short"),
    }
}

fn here(resolved: Vec<u8>, state: FileState) -> Result<Found, OpError> {
    Ok(Found { resolved: answer::path(resolved)?, state })
}

/// Reads the answers to a stat.
pub(super) fn found(items: Vec<Item>, count: usize) -> Result<Vec<Result<Found, OpError>>, Noise> {
    let mut items = Items::new(items);
    let answers = (0..count).map(|_| one(&mut items)).collect::<Result<_, _>>()?;
    items.end()?;
    Ok(answers)
}

fn one(items: &mut Items) -> Result<Result<Found, OpError>, Noise> {
    match items.record()? {
        Record::Found { resolved, state } => Ok(here(resolved, answer::state(state))),
        Record::Problem(problem) => Ok(Err(answer::problem(problem))),
        other => Err(unexpected(Some(&Item::Record(other)))),
    }
}

/// Reads the answers to a read; a torn one is an answer of its own.
pub(super) fn contents(
    items: Vec<Item>,
    wants: &[(Look, Part)],
) -> Result<Vec<Result<Contents, OpError>>, Noise> {
    let mut items = Items::new(items);
    let answers = wants.iter().map(|want| content(&mut items, want)).collect::<Result<_, _>>()?;
    items.end()?;
    Ok(answers)
}

fn content(items: &mut Items, (_, part): &(Look, Part)) -> Result<Result<Contents, OpError>, Noise> {
    let found = match one(items)? {
        Ok(found) => found,
        Err(error) => {
            // What was delivered before it went wrong is nothing.
            let _ = items.body();
            let _ = digest_of(items);
            return Ok(Err(error));
        }
    };
    let large = items.record_if(|record| *record == Record::Large).is_some();
    let body = items.body();
    if body.is_some()
        && let Some(Record::Problem(problem)) = items.record_if(|record| matches!(record, Record::Problem(_)))
    {
        return Ok(Err(answer::problem(problem)));
    }
    let (digest, len) = digest_of(items).unwrap_or_default();
    let Found { resolved, state } = found;
    let FileState::Regular { mode, nlink, len: was, digest: told } = state else {
        return Ok(Ok(Contents { found: Found { resolved, state }, body: Body::NotRegular }));
    };
    let Some(bytes) = body else {
        if !large {
            return Err(Noise::new("a regular file without its bytes"));
        }
        let state = FileState::Regular { len: was, mode, nlink, digest: digest.or(told) };
        return Ok(Ok(Contents { found: Found { resolved, state }, body: Body::TooLarge }));
    };
    let (offset, is_whole) = match *part {
        Part::Whole(_) => (0, len == bytes.len() as u64 && digest == Some(Digest::of(&bytes))),
        Part::Bytes(offset, wanted) => {
            let offset = offset.min(len);
            (offset, bytes.len() as u64 == wanted.min(len - offset))
        }
    };
    if !is_whole || digest.is_none() {
        return Ok(Err(OpError::Torn));
    }
    let state = FileState::Regular { len, mode, nlink, digest };
    Ok(Ok(Contents { found: Found { resolved, state }, body: Body::Bytes { offset, bytes } }))
}

fn digest_of(items: &mut Items) -> Option<(Option<Digest>, u64)> {
    match items.record_if(|record| matches!(record, Record::Digest { .. })) {
        Some(Record::Digest { digest, len }) => Some((digest, len)),
        _ => None,
    }
}

/// Reads the answer to a stream, whose bytes were delivered already.
pub(super) fn streamed(items: Vec<Item>, delivered: (u64, Digest)) -> Result<Result<Found, OpError>, Noise> {
    let mut items = Items::new(items);
    let found = match one(&mut items)? {
        Ok(found) => found,
        Err(error) => return Ok(Err(error)),
    };
    let Found { resolved, state } = found;
    let FileState::Regular { mode, nlink, .. } = state else {
        return Ok(Err(OpError::NotRegular { path: resolved, state }));
    };
    let _ = items.body();
    if let Some(Record::Problem(problem)) = items.record_if(|record| matches!(record, Record::Problem(_))) {
        return Ok(Err(answer::problem(problem)));
    }
    let (digest, len) = digest_of(&mut items).ok_or_else(|| Noise::new("a stream without its digest"))?;
    items.end()?;
    if (len, digest) != (delivered.0, Some(delivered.1)) {
        return Ok(Err(OpError::Torn));
    }
    Ok(Ok(Found { resolved, state: FileState::Regular { len, mode, nlink, digest } }))
}

/// Builds the request for a page.
pub(super) fn page(inner: &Inner, ask: &Ask, page: &Page) -> Result<Verb, OpError> {
    let look = Look { max: None, ..look(inner, ask)? };
    Ok(Verb::List { look, after: page.after_name()?, limit: page.limit })
}

/// Reads a page.
pub(super) fn listing(items: Vec<Item>, limit: u64) -> Result<Result<Listing, OpError>, Noise> {
    let mut items = Items::new(items);
    let found = match one(&mut items)? {
        Ok(found) => found,
        Err(error) => return Ok(Err(error)),
    };
    let (mut entries, mut last) = (Vec::new(), Vec::new());
    while let Some(Record::Entry { name, state }) =
        items.record_if(|record| matches!(record, Record::Entry { .. }))
    {
        let addressable = std::str::from_utf8(&name).is_ok();
        entries.push(Entry { name: names::escaped(&name), addressable, state: answer::state(state) });
        last = name;
    }
    let more = items.record_if(|record| *record == Record::More).is_some();
    items.end()?;
    if entries.len() as u64 > limit {
        return Err(Noise::new("more names than were asked for"));
    }
    Ok(Ok(Listing { resolved: found.resolved, entries, next: more.then(|| Listing::cursor(&last)) }))
}
