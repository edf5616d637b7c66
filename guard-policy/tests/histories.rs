//! What an actor has seen, over every small history: reads that are slow, commits, other writers, restarts.
//!
//! Each history is played on [`Views`] and on a model that knows nothing of its rules: a list of the bytes that reached
//! the actor, with the moment at which they were on disk. What is licensed has to be the same.

use std::collections::BTreeMap;

use guard_policy::{
    Bom, ContentClass, Delivered, Digest, Eol, Fact, FileState, Ranges, Seen, Splice, TargetPath, TextShape,
    Ticket, Views,
};

/// Versions of a file: two bytes, of which either can be delivered alone. The first two begin alike.
const VERSIONS: [&[u8; 2]; 3] = [b"aa", b"ab", b"ba"];

/// What happens, to which of the paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Event {
    /// Another writer puts a version there, or removes the file.
    Other(usize, Option<usize>),
    /// The actor's read looks at the file; what it delivers comes later.
    Look(usize),
    /// What the last look found is delivered: a byte, or both.
    Deliver(usize, Part),
    /// The digest is delivered, and no byte.
    Stat(usize),
    /// A whole-file write of this version, if it is licensed.
    Write(usize, usize),
    /// The second byte is replaced in what is there.
    Edit(usize),
    /// The file is removed, if the version that is there was seen.
    Remove(usize),
    /// The file is moved to the other path, if nothing is there.
    Move(usize),
    Forget(usize),
    /// The process ends: what was seen is stored and taken over.
    Restart,
    /// The actor asks what changed.
    Drift,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    First,
    Second,
    Whole,
}

impl Part {
    fn bytes(self) -> &'static [usize] {
        match self {
            Self::First => &[0],
            Self::Second => &[1],
            Self::Whole => &[0, 1],
        }
    }
}

type Bytes = [u8; 2];

/// A read that has looked and not delivered yet.
#[derive(Debug, Clone)]
struct Looked {
    ticket: Ticket,
    at: u64,
    found: Option<Bytes>,
}

/// What the model keeps of a path: the version that the actor knows, and which of its bytes.
#[derive(Debug, Clone, PartialEq)]
struct Known {
    version: Bytes,
    bytes: [bool; 2],
}

#[derive(Clone)]
struct State {
    now: u64,
    disk: Vec<Option<Bytes>>,
    looks: Vec<Option<Looked>>,
    views: Views,
    known: Vec<Option<Known>>,
    /// When the last commit (or forgetting) of the actor on a path ended.
    settled: Vec<u64>,
}

/// A way in which the views could be wrong, for the negative controls.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    /// Reads are recorded whatever was committed since they began.
    LateReads,
    /// An edit is recorded as if all of what it was based on had been read.
    Laundering,
    /// A restart trusts what was stored.
    TrustsStored,
}

fn path(index: usize) -> TargetPath {
    TargetPath::new(["/ws/a", "/ws/b"][index]).expect("it is normal")
}

const SHAPE: TextShape = TextShape { class: ContentClass::Text, eol: Eol::None, bom: Bom::None };

impl State {
    fn new(paths: usize) -> Self {
        Self {
            now: 0,
            disk: vec![Some(*VERSIONS[0]); paths],
            looks: vec![None; paths],
            views: Views::new(),
            known: vec![None; paths],
            settled: vec![0; paths],
        }
    }

    fn state(&self, path: usize) -> FileState {
        match self.disk[path] {
            None => FileState::Absent,
            Some(bytes) => {
                FileState::Regular { len: 2, mode: 0o644, nlink: 1, digest: Some(Digest::of(&bytes)) }
            }
        }
    }

    /// Plays an event; `false` where it cannot happen.
    fn play(&mut self, event: Event, flaw: Flaw) -> bool {
        self.now += 1;
        match event {
            Event::Other(path, version) => {
                let new = version.map(|version| *VERSIONS[version]);
                if self.disk[path] == new {
                    return false;
                }
                self.disk[path] = new;
            }
            Event::Look(at) => {
                let ticket = self.views.begin();
                self.looks[at] = Some(Looked { ticket, at: self.now, found: self.disk[at] });
            }
            Event::Deliver(at, part) => {
                let Some(looked) = self.looks[at].take() else { return false };
                self.deliver(at, &looked, part.bytes(), flaw);
            }
            Event::Stat(at) => {
                let looked = Looked { ticket: self.views.begin(), at: self.now, found: self.disk[at] };
                self.deliver(at, &looked, &[], flaw);
            }
            Event::Write(at, version) => {
                let licensed = match self.views.seen(&path(at)) {
                    Seen::Whole { digest, .. } => {
                        self.disk[at].is_some_and(|bytes| Digest::of(&bytes) == digest)
                    }
                    Seen::Nothing => self.disk[at].is_none(),
                    _ => false,
                };
                if !licensed {
                    return false;
                }
                let new = *VERSIONS[version];
                self.disk[at] = Some(new);
                self.views.wrote(&path(at), Digest::of(&new), 2, SHAPE);
                self.known[at] = Some(Known { version: new, bytes: [true, true] });
                self.settled[at] = self.now;
            }
            Event::Edit(at) => {
                let Some(base) = self.disk[at] else { return false };
                let new = [base[0], b'b'];
                if new == base {
                    return false;
                }
                self.disk[at] = Some(new);
                let mut from = Digest::of(&base);
                if let (Flaw::Laundering, Seen::Whole { digest, .. }) = (flaw, self.views.seen(&path(at))) {
                    from = digest;
                }
                let splices = [Splice { old: 1..2, new_len: 1 }];
                self.views.edited(&path(at), from, &splices, Digest::of(&new), 2, SHAPE);
                let first =
                    self.known[at].as_ref().is_some_and(|known| known.version == base && known.bytes[0]);
                self.known[at] = Some(Known { version: new, bytes: [first, true] });
                self.settled[at] = self.now;
            }
            Event::Remove(at) => {
                let seen = self.views.get(&path(at)).is_some_and(|view| view.is_of(&self.state(at)));
                if self.disk[at].is_none() || !seen {
                    return false;
                }
                self.disk[at] = None;
                self.views.removed(&path(at));
                (self.known[at], self.settled[at]) = (None, self.now);
            }
            Event::Move(from) => {
                let to = 1 - from;
                let (Some(moved), None) = (self.disk[from], self.disk[to]) else { return false };
                if self.views.get(&path(from)).is_some_and(|view| !view.is_of(&self.state(from))) {
                    return false;
                }
                (self.disk[from], self.disk[to]) = (None, Some(moved));
                self.views.moved(&path(from), &path(to), Some(Digest::of(&moved)));
                self.known[to] = self.known[from].take().filter(|known| known.version == moved);
                (self.settled[from], self.settled[to]) = (self.now, self.now);
            }
            Event::Forget(at) => {
                self.views.forget(&path(at));
                (self.known[at], self.settled[at]) = (None, self.now);
            }
            Event::Restart => self.restart(flaw),
            Event::Drift => self.drift(),
        }
        true
    }

    fn deliver(&mut self, at: usize, looked: &Looked, bytes: &[usize], flaw: Flaw) {
        let ticket = if flaw == Flaw::LateReads { self.views.begin() } else { looked.ticket };
        match looked.found {
            None => self.views.record_absent(&path(at), ticket),
            Some(found) => {
                let mut ranges = Ranges::new();
                for byte in bytes {
                    ranges.insert(*byte as u64..*byte as u64 + 1);
                }
                let delivered =
                    Delivered { digest: Digest::of(&found), len: 2, ranges, shape: Fact::Unknown };
                self.views.record(&path(at), ticket, delivered);
            }
        }
        // The model: what was on disk before the actor's own last commit is older than what the actor knows.
        if looked.at <= self.settled[at] {
            return;
        }
        self.known[at] = looked.found.map(|version| {
            let mut known = self.known[at].take().filter(|known| known.version == version);
            let known = known.get_or_insert(Known { version, bytes: [false; 2] });
            for byte in bytes {
                known.bytes[*byte] = true;
            }
            known.clone()
        });
    }

    fn restart(&mut self, flaw: Flaw) {
        let stored = serde_json::to_string(&self.views).expect("views are plain data");
        let stored: Views = serde_json::from_str(&stored).expect("they come back");
        self.views = Views::new();
        let began = self.views.begin();
        for at in 0..self.disk.len() {
            // A read that was under way is gone with the process.
            (self.looks[at], self.settled[at]) = (None, self.now);
            let Some(view) = stored.get(&path(at)) else { continue };
            if view.is_of(&self.state(at)) || flaw == Flaw::TrustsStored {
                self.views.restore(&path(at), began, view.clone());
            }
            self.known[at] = self.known[at].take().filter(|known| Some(known.version) == self.disk[at]);
        }
    }

    fn drift(&mut self) {
        let began = self.views.begin();
        for at in 0..self.disk.len() {
            let (state, before) = (self.state(at), self.views.get(&path(at)).cloned());
            let told = self.views.has_drifted(&path(at), began, &state);
            // It is told only of what differs, and never twice the same.
            assert!(!told || before.is_some_and(|view| !view.is_of(&state)));
            assert!(!self.views.has_drifted(&path(at), began, &state));
            if self.disk[at].is_none() {
                self.known[at] = None;
            }
        }
    }

    /// Says how what is licensed differs from what the model knows.
    fn wrong(&self) -> Option<String> {
        for (at, known) in self.known.iter().enumerate() {
            let expected = match known {
                None => Seen::Nothing,
                Some(Known { version, bytes: [true, true] }) => {
                    Seen::Whole { digest: Digest::of(version), shape: Fact::Unknown }
                }
                Some(Known { version, bytes }) => {
                    let first = u64::from(bytes[0]);
                    let end = if bytes[1] { 1 } else { 2 };
                    Seen::Part { digest: Digest::of(version), missing: first..end, shape: Fact::Unknown }
                }
            };
            let seen = match self.views.seen(&path(at)) {
                Seen::Whole { digest, .. } => Seen::Whole { digest, shape: Fact::Unknown },
                Seen::Part { digest, missing, .. } => Seen::Part { digest, missing, shape: Fact::Unknown },
                other => other,
            };
            if seen != expected {
                return Some(format!("{}: {seen:?}, and the model says {expected:?}", path(at)));
            }
        }
        None
    }
}

/// Plays every history of these events up to a length; returns how many there were, or the first that goes wrong.
fn every_history(paths: usize, events: &[Event], length: usize, flaw: Flaw) -> Result<u64, String> {
    fn go(
        state: &State,
        events: &[Event],
        history: &mut Vec<Event>,
        left: usize,
        flaw: Flaw,
    ) -> Result<u64, String> {
        let mut count = 1;
        if left == 0 {
            return Ok(count);
        }
        for event in events {
            let mut next = state.clone();
            if !next.play(*event, flaw) {
                continue;
            }
            history.push(*event);
            if let Some(wrong) = next.wrong() {
                return Err(format!("{history:?}: {wrong}"));
            }
            count += go(&next, events, history, left - 1, flaw)?;
            history.pop();
        }
        Ok(count)
    }
    go(&State::new(paths), events, &mut Vec::new(), length, flaw)
}

/// Everything that can happen to one file.
const ONE_FILE: &[Event] = &[
    Event::Other(0, Some(1)),
    Event::Other(0, Some(2)),
    Event::Other(0, None),
    Event::Look(0),
    Event::Deliver(0, Part::First),
    Event::Deliver(0, Part::Second),
    Event::Deliver(0, Part::Whole),
    Event::Stat(0),
    Event::Write(0, 0),
    Event::Write(0, 2),
    Event::Edit(0),
    Event::Remove(0),
    Event::Forget(0),
    Event::Restart,
    Event::Drift,
];

/// Two files, and moves between them.
const TWO_FILES: &[Event] = &[
    Event::Other(0, Some(1)),
    Event::Other(1, None),
    Event::Look(0),
    Event::Look(1),
    Event::Deliver(0, Part::Whole),
    Event::Deliver(1, Part::Whole),
    Event::Write(0, 2),
    Event::Edit(1),
    Event::Remove(1),
    Event::Move(0),
    Event::Move(1),
    Event::Restart,
];

#[test]
fn every_small_history_licenses_exactly_what_reached_the_actor() {
    let one = every_history(1, ONE_FILE, 6, Flaw::None).unwrap();
    let two = every_history(2, TWO_FILES, 6, Flaw::None).unwrap();
    // So many that none of the rules was left out.
    assert!(one > 700_000 && two > 60_000, "{one} and {two} histories");
}

#[test]
fn control_views_that_are_wrong_in_one_way_are_found_out() {
    let found: BTreeMap<&str, bool> = [
        ("late reads", Flaw::LateReads),
        ("laundering", Flaw::Laundering),
        ("trusts what was stored", Flaw::TrustsStored),
    ]
    .into_iter()
    .map(|(name, flaw)| (name, every_history(1, ONE_FILE, 5, flaw).is_err()))
    .collect();
    assert!(found.values().all(|found| *found), "{found:?}");
}
