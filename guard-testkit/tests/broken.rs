//! The suite has teeth: each broken implementation, a flaw around the in-memory target, fails the case that is about
//! its flaw.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail the test")]

use std::collections::HashMap;
use std::io::Read as _;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use guard_core::policy::{FileState, Precondition, TargetPath};
use guard_core::port::{
    Ask, Batch, Body, Capabilities, Change, CommitError, CommitFailure, CommitId, Committed, Content,
    Contents, Depth, Effect, FileOps, Found, Last, Listing, OpError, Page, Root, RootSpec, Settled, Sink,
    TargetId, Task, Want,
};
use guard_testkit::conformance::{self, MemoryFixture};
use guard_testkit::memory::{Memory, World};

/// What is wrong, and the case that has to say so.
const FLAWS: &[(Flaw, &[&str])] = &[
    (Flaw::TruncatesWhatIsThere, &["absent_refuses_whatever_is_there"]),
    (Flaw::CreatesThroughDanglingLinks, &["nothing_is_created_through_a_dangling_link"]),
    (Flaw::TakesErrorsForAbsence, &["a_denied_parent_is_not_absence"]),
    (Flaw::IgnoresWhatIsExpected, &["another_place_than_expected_is_told_and_left_alone"]),
    (Flaw::ComparesOnlyTheLastName, &["another_place_than_expected_is_told_and_left_alone"]),
    (Flaw::ComparesRootsAsText, &["escapes_are_refused_for_every_request"]),
    (Flaw::CommitsOneByOne, &["a_batch_is_all_or_nothing"]),
    (Flaw::ProbesTheHost, &["states_are_what_is_there"]),
    (Flaw::ChecksThenCreates, &["one_of_many_creations_wins"]),
    (Flaw::HashesThenRenames, &["one_of_many_replacements_wins", "many_additions_lose_none"]),
    (Flaw::TrustsTheSource, &["a_source_that_lies_publishes_nothing"]),
    (Flaw::ReplacesAnyVersion, &["other_bytes_are_refused"]),
    (Flaw::CachesByLength, &["a_read_is_of_now"]),
    (Flaw::AnswersInItsOwnOrder, &["many_questions_are_answered_in_order"]),
    (Flaw::SortsForPeople, &["names_are_sorted_by_bytes_and_paged"]),
    (Flaw::DropsStrangeNames, &["names_that_are_not_utf8_are_listed"]),
    (Flaw::MovesOverThings, &["a_moves_destination_has_to_be_absent"]),
    (Flaw::RemovesWhatLinksLeadTo, &["links_are_removed_as_themselves"]),
    (Flaw::EmptiesDirectories, &["only_empty_directories_are_removed"]),
    (Flaw::RewritesIdenticalBytes, &["identical_bytes_are_not_replaced"]),
    (Flaw::LosesTheMode, &["a_replacement_is_exact_and_keeps_the_mode"]),
    (Flaw::HashesOnlyTheWindow, &["windows_carry_the_digest_of_the_whole"]),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    TruncatesWhatIsThere,
    CreatesThroughDanglingLinks,
    TakesErrorsForAbsence,
    IgnoresWhatIsExpected,
    ComparesOnlyTheLastName,
    ComparesRootsAsText,
    CommitsOneByOne,
    ProbesTheHost,
    ChecksThenCreates,
    HashesThenRenames,
    TrustsTheSource,
    ReplacesAnyVersion,
    CachesByLength,
    AnswersInItsOwnOrder,
    SortsForPeople,
    DropsStrangeNames,
    MovesOverThings,
    RemovesWhatLinksLeadTo,
    EmptiesDirectories,
    RewritesIdenticalBytes,
    LosesTheMode,
    HashesOnlyTheWindow,
}

#[test]
fn each_broken_implementation_fails_the_case_that_is_about_its_flaw() {
    std::thread::scope(|scope| {
        for (flaw, cases) in FLAWS {
            scope.spawn(move || {
                // A runtime of one thread takes tasks in turn: a race that is lost once is lost every time.
                let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
                let fixture = MemoryFixture::wrapped(|memory| Arc::new(Flawed::new(memory, *flaw)));
                let report = runtime.block_on(conformance::run(&fixture));
                let failed: Vec<&str> = report.failures().into_iter().map(|(name, _)| name).collect();
                assert!(cases.iter().all(|case| failed.contains(case)), "{flaw:?} fails {failed:?}");
                // The suite says what is wrong, not only that something is.
                assert!(failed.len() < report.0.len() / 2, "{flaw:?} fails {failed:?}");
            });
        }
    });
}

#[tokio::test]
async fn a_report_names_every_failure_and_panics_with_all_of_them() {
    let fixture = MemoryFixture::wrapped(|memory| Arc::new(Flawed::new(memory, Flaw::MovesOverThings)));
    let report = conformance::run(&fixture).await;
    let text = report.to_string();
    for (name, what) in report.failures() {
        assert!(text.contains(name) && text.contains(what), "{text}");
    }
    let panic = std::panic::catch_unwind(|| report.assert_passed()).unwrap_err();
    assert_eq!(panic.downcast_ref::<String>(), Some(&text));
}

struct Flawed {
    inner: Memory,
    world: World,
    /// The controller's own filesystem.
    host: Memory,
    flaw: Flaw,
    cache: Mutex<HashMap<(String, u64), Contents>>,
}

impl Flawed {
    fn new(inner: Memory, flaw: Flaw) -> Self {
        let directory = |path: &str| TargetPath::new(path).unwrap();
        let host = Memory::builder()
            .directory(directory("/base/ws"))
            .directory(directory("/base/ws-outside"))
            .build();
        Self { world: inner.world(), inner, host, flaw, cache: Mutex::default() }
    }

    async fn state(&self, change: &Change, last: Last) -> FileState {
        let place = &change.place;
        let depth = Depth::Digest { max: u64::MAX };
        let ask = Ask { root: place.root, path: place.path.clone(), last, depth, scope: Arc::default() };
        self.inner.stat(&[ask]).await.unwrap().remove(0).map_or(FileState::Absent, |found| found.state)
    }

    /// Spoils one change before it is committed.
    async fn spoil(&self, change: &mut Change) {
        let path = change.place.expect.to_string();
        match (self.flaw, &mut change.effect, &change.precondition) {
            (Flaw::TruncatesWhatIsThere, Effect::Put { .. }, Precondition::Absent)
            | (Flaw::ReplacesAnyVersion, Effect::Put { .. }, Precondition::Content { .. }) => {
                change.precondition = Precondition::DangerAny;
            }
            (Flaw::CreatesThroughDanglingLinks, Effect::Put { content, .. }, Precondition::Absent) => {
                let mut bytes = Vec::new();
                let _ = content.open().unwrap().read_to_end(&mut bytes);
                if matches!(self.state(change, Last::Follow).await, FileState::Link { .. }) {
                    // As `open(O_CREAT)` does; where it fails, the commit goes on and fails too.
                    let _ = self.world.write(path, &bytes);
                }
            }
            (Flaw::ChecksThenCreates, Effect::Put { .. }, Precondition::Absent)
            | (Flaw::HashesThenRenames, Effect::Put { .. }, Precondition::Content { .. }) => {
                let held = change.precondition.holds(&self.state(change, Last::Itself).await);
                tokio::task::yield_now().await;
                if held {
                    change.precondition = Precondition::DangerAny;
                }
            }
            (Flaw::TrustsTheSource, Effect::Put { content, .. }, _) => {
                let mut bytes = Vec::new();
                // What came before the error is what it takes for the content.
                let _ = content.open().unwrap().read_to_end(&mut bytes);
                *content = Content::from(bytes);
            }
            (Flaw::MovesOverThings, Effect::MoveTo { to, .. }, _) => {
                let _ = self.world.unlink(to.expect.as_str());
            }
            (Flaw::RemovesWhatLinksLeadTo, Effect::Remove, Precondition::Link { .. }) => {
                let text = self.world.readlink(&path).unwrap_or_default();
                let beside =
                    [change.place.expect.parent().unwrap().as_str().as_bytes(), b"/", &text].concat();
                let _ = self.world.unlink(beside);
            }
            (Flaw::EmptiesDirectories, Effect::RemoveDir, _) => {
                for name in self.world.names(&path).unwrap_or_default() {
                    let _ = self.world.unlink([path.as_bytes(), b"/", &name].concat());
                }
            }
            _ => {}
        }
    }

    /// Spoils what was committed.
    fn after(&self, batch: &Batch, committed: &mut Committed) {
        for (change, applied) in batch.changes.iter().zip(&mut committed.changes) {
            let (path, Effect::Put { content, .. }) = (applied.resolved.as_str(), &change.effect) else {
                continue;
            };
            match self.flaw {
                // A rename over the name keeps nothing of what was there.
                Flaw::TruncatesWhatIsThere | Flaw::ChecksThenCreates | Flaw::HashesThenRenames => {
                    for left in applied.left.drain(..) {
                        self.world.unlink(left.split(": ").next().unwrap()).unwrap();
                    }
                }
                Flaw::RewritesIdenticalBytes if !applied.publish.changed => {
                    let mut bytes = Vec::new();
                    content.open().unwrap().read_to_end(&mut bytes).unwrap();
                    self.world.replace(path, &bytes).unwrap();
                }
                Flaw::LosesTheMode if applied.before.is_regular() => self.world.chmod(path, 0o644).unwrap(),
                _ => {}
            }
        }
    }
}

#[async_trait]
impl FileOps for Flawed {
    fn target(&self) -> &TargetId {
        self.inner.target()
    }

    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    async fn open_root(&self, spec: &RootSpec) -> Result<Root, OpError> {
        let root = self.inner.open_root(spec).await?;
        // The same number, so that the host can be asked in the target's place.
        let _ = self.host.open_root(&RootSpec { path: root.path.clone() }).await;
        if self.flaw == Flaw::ComparesRootsAsText {
            // Whatever begins with the root's text is inside.
            let beside = TargetPath::new(format!("{}-outside", root.path)).unwrap();
            self.inner.open_root(&RootSpec { path: beside }).await?;
        }
        Ok(root)
    }

    async fn stat(&self, asks: &[Ask]) -> Result<Vec<Result<Found, OpError>>, OpError> {
        if self.flaw == Flaw::ProbesTheHost {
            return self.host.stat(asks).await;
        }
        let mut answers = self.inner.stat(asks).await?;
        if self.flaw == Flaw::AnswersInItsOwnOrder {
            answers.reverse();
        }
        if self.flaw == Flaw::TakesErrorsForAbsence {
            for (answer, ask) in answers.iter_mut().zip(asks) {
                if matches!(answer, Err(OpError::PermissionDenied { .. })) {
                    let resolved = TargetPath::new(format!("/base/ws/{}", ask.path)).unwrap();
                    *answer = Ok(Found { resolved, state: FileState::Absent });
                }
            }
        }
        Ok(answers)
    }

    async fn read(&self, wants: &[Want]) -> Result<Vec<Result<Contents, OpError>>, OpError> {
        let mut answers = self.inner.read(wants).await?;
        for (answer, want) in answers.iter_mut().zip(wants) {
            let Ok(contents) = answer else { continue };
            let FileState::Regular { len, digest, .. } = &mut contents.found.state else { continue };
            if self.flaw == Flaw::CachesByLength {
                let key = (want.ask.path.clone(), *len);
                *contents = self.cache.lock().unwrap().entry(key).or_insert_with(|| contents.clone()).clone();
            } else if let (Flaw::HashesOnlyTheWindow, Body::Bytes { bytes, .. }) = (self.flaw, &contents.body)
            {
                *digest = Some(guard_core::policy::Digest::of(bytes));
            }
        }
        Ok(answers)
    }

    async fn stream(&self, ask: &Ask, sink: &mut dyn Sink) -> Result<Found, OpError> {
        self.inner.stream(ask, sink).await
    }

    async fn list(&self, ask: &Ask, page: &Page) -> Result<Listing, OpError> {
        let mut listing = self.inner.list(ask, page).await?;
        match self.flaw {
            Flaw::SortsForPeople => listing.entries.sort_by_key(|entry| entry.name.to_lowercase()),
            Flaw::DropsStrangeNames => listing.entries.retain(|entry| entry.addressable),
            _ => {}
        }
        Ok(listing)
    }

    async fn commit(&self, mut batch: Batch) -> Result<Committed, CommitError> {
        for change in &mut batch.changes {
            self.spoil(change).await;
        }
        if self.flaw == Flaw::CommitsOneByOne {
            let mut all = Committed { changes: Vec::new(), settled: false };
            for change in batch.changes.clone() {
                let one = Batch { changes: vec![change], ..batch.clone() };
                all.changes.extend(self.inner.commit(one).await?.changes);
            }
            return Ok(all);
        }
        let mut outcome = self.inner.commit(batch.clone()).await;
        while let (Flaw::IgnoresWhatIsExpected | Flaw::ComparesOnlyTheLastName, Err(error)) =
            (self.flaw, &outcome)
        {
            let CommitFailure::Elsewhere { resolved, destination, .. } = &error.cause else { break };
            let change = &mut batch.changes[error.at.unwrap()];
            let expect = match (&mut change.effect, destination) {
                (Effect::MoveTo { to, .. }, true) => &mut to.expect,
                _ => &mut change.place.expect,
            };
            if self.flaw == Flaw::ComparesOnlyTheLastName && expect.name() != resolved.name() {
                break;
            }
            *expect = resolved.clone();
            outcome = self.inner.commit(batch.clone()).await;
        }
        if let Ok(committed) = &mut outcome {
            self.after(&batch, committed);
        }
        outcome
    }

    async fn settle(&self, commit: &CommitId) -> Result<Settled, OpError> {
        self.inner.settle(commit).await
    }

    fn spawn(&self, task: Task) {
        self.inner.spawn(task);
    }
}
