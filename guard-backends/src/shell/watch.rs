//! Telling an observer what this side of a session sees: bytes that leave, bytes that arrive, what a reply says.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use guard_core::policy::TargetPath;
use guard_core::port::{Committed, Observer, Step};

use super::answer;
use super::wire::{Change, Effect, Part, Record, State, Verb};

/// Whoever sees the steps, if anybody does. One that panicked is not asked again: the work goes on without it.
#[derive(Clone, Default)]
pub(super) struct Watch {
    observer: Option<Arc<dyn Observer>>,
    panicked: Arc<AtomicBool>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("panicked", &self.panicked).finish_non_exhaustive()
    }
}

impl Watch {
    pub(super) fn of(observer: Arc<dyn Observer>) -> Self {
        Self { observer: Some(observer), ..Self::default() }
    }

    fn step(&self, step: Step<'_>) {
        let Some(observer) = &self.observer else { return };
        if self.panicked.load(Ordering::Relaxed) {
            return;
        }
        // Nothing of the session is in its hands, so that nothing of it can be left half done.
        if catch_unwind(AssertUnwindSafe(|| observer.step(step))).is_err() {
            self.panicked.store(true, Ordering::Relaxed);
            tracing::error!("an observer panicked, and is not asked any more");
        }
    }

    /// Tells of a commit that is over.
    pub(super) fn over(&self, committed: Option<&Committed>) {
        for applied in committed.into_iter().flat_map(|committed| &committed.changes) {
            self.step(Step::Published(&applied.resolved));
        }
        self.step(Step::Finished);
    }
}

/// The contents that a request sends, from the one that leaves now.
pub(super) struct Leaving<'a> {
    watch: &'a Watch,
    contents: VecDeque<(TargetPath, u64)>,
    /// How much of the first one has left.
    left: u64,
}

impl<'a> Leaving<'a> {
    /// Announces what a request is going to send.
    pub(super) fn of(verb: &Verb, watch: &'a Watch) -> Self {
        let mut contents = VecDeque::new();
        if let (Verb::Commit { changes, .. }, true) = (verb, watch.observer.is_some()) {
            contents.extend(changes.iter().filter_map(content));
        }
        for (path, len) in &contents {
            watch.step(Step::ToStage(path, *len));
        }
        let mut leaving = Self { watch, contents, left: 0 };
        leaving.skip_empty();
        leaving
    }

    /// So many bytes more have left; no piece is of two contents.
    pub(super) fn left(&mut self, bytes: usize) {
        let Some((path, len)) = self.contents.front() else { return };
        self.left += bytes as u64;
        self.watch.step(Step::Staging(path, self.left));
        if self.left >= *len {
            self.left = 0;
            self.contents.pop_front();
            self.skip_empty();
        }
    }

    fn skip_empty(&mut self) {
        while let Some((path, 0)) = self.contents.front() {
            self.watch.step(Step::Staging(path, 0));
            self.contents.pop_front();
        }
    }
}

fn content(change: &Change) -> Option<(TargetPath, u64)> {
    match change.effect {
        Effect::Put { len, .. } => Some((answer::path(change.place.expect.clone()).ok()?, len)),
        _ => None,
    }
}

/// The contents that a reply brings.
pub(super) struct Arriving<'a> {
    watch: &'a Watch,
    /// What is asked for of the files that were not found yet.
    parts: VecDeque<Part>,
    /// The file that was found, and how many bytes of it are to come.
    file: Option<(TargetPath, u64)>,
    /// How many of them have come, once its bytes have begun.
    arrived: Option<u64>,
    /// Whether a problem that is told next is with the file whose bytes have just come.
    came: bool,
}

impl<'a> Arriving<'a> {
    pub(super) fn of(verb: &Verb, watch: &'a Watch) -> Self {
        let parts = match verb {
            _ if watch.observer.is_none() => VecDeque::new(),
            Verb::Read(wants) => wants.iter().map(|(_, part)| *part).collect(),
            Verb::Stream(_) => VecDeque::from([Part::Whole(u64::MAX)]),
            _ => VecDeque::new(),
        };
        Self { watch, parts, file: None, arrived: None, came: false }
    }

    pub(super) fn record(&mut self, record: &Record) {
        let came = std::mem::take(&mut self.came);
        match record {
            Record::Found { resolved, state } => {
                self.file = self.parts.pop_front().and_then(|part| {
                    let State::Regular { len, .. } = state else { return None };
                    let wanted = match part {
                        Part::Whole(_) => *len,
                        Part::Bytes(offset, wanted) => wanted.min(len.saturating_sub(offset)),
                    };
                    Some((answer::path(resolved.clone()).ok()?, wanted))
                });
            }
            Record::Problem(_) if !came => {
                self.parts.pop_front();
                self.file = None;
            }
            Record::Body => {
                if let Some((path, len)) = &self.file {
                    self.watch.step(Step::ToRead(path, *len));
                    self.arrived = Some(0);
                }
            }
            _ => {}
        }
    }

    pub(super) fn bytes(&mut self, len: usize) {
        if let (Some((path, _)), Some(arrived)) = (&self.file, &mut self.arrived) {
            *arrived += len as u64;
            self.watch.step(Step::Reading(path, *arrived));
        }
    }

    pub(super) fn end(&mut self) {
        if let (Some((path, _)), Some(arrived)) = (self.file.take(), self.arrived.take()) {
            if arrived == 0 {
                self.watch.step(Step::Reading(&path, 0));
            }
            self.came = true;
        }
    }
}
