//! The contracts have teeth: each broken target, a flaw around a shell that keeps them, fails the contract that is about
//! its flaw, and keeps one that is not.
#![cfg(feature = "contracts")]
#![allow(clippy::unwrap_used, reason = "a test's helpers fail the test")]
#![allow(clippy::disallowed_methods, reason = "some flaws are that this machine is asked")]

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use guard_backends::local::Local;
use guard_backends::shell::{Process, Shell};
use guard_core::policy::{FileState, Precondition, RootId, TargetPath};
use guard_core::port::{
    Ask, Batch, Body, Capabilities, CommitError, CommitFailure, CommitId, Committed, Content, Contents,
    Depth, Effect, Fate, FileOps, Found, Last, Listing, OpError, Page, Root, RootSpec, Settled, Sink,
    TargetId, Task, Want,
};
use guard_testkit::conformance::Ending;
use guard_testkit::contracts::{self, FolderFixture, Ground};

/// What is wrong, the contracts that have to say so, and one that does not.
const FLAWS: &[(Flaw, &[&str], &str)] = &[
    (
        Flaw::ProbesTheController,
        &["what_is_only_on_the_target_is_not_overwritten", "what_is_only_on_the_controller_is_no_obstacle"],
        "round_trips_are_counted",
    ),
    (
        Flaw::ReadsTheController,
        &["reading_delivers_the_targets_bytes"],
        "what_is_no_file_is_refused_and_stays",
    ),
    (
        Flaw::TakesANameForThisMachine,
        &["names_that_claim_to_be_local_change_nothing"],
        "what_is_only_on_the_target_is_not_overwritten",
    ),
    (
        Flaw::FollowsAliases,
        &["aliases_are_judged_by_what_they_lead_to"],
        "what_is_only_on_the_target_is_not_overwritten",
    ),
    (
        Flaw::TriesAgain,
        &[
            "what_fails_before_the_request_is_complete_changes_nothing",
            "a_write_cut_anywhere_is_old_or_new_and_reported_truly",
        ],
        "every_spelling_is_one_location",
    ),
    (
        Flaw::TakesALostReplyForAFailure,
        &[
            "a_write_cut_anywhere_is_old_or_new_and_reported_truly",
            "a_patch_whose_session_is_killed_is_all_or_none_or_says_what_is_uncertain",
        ],
        "every_spelling_is_one_location",
    ),
    (
        Flaw::OverwritesWhatAppears,
        &["what_appears_between_decision_and_effect_survives"],
        "round_trips_are_counted",
    ),
    (
        Flaw::CommitsOneByOne,
        &["one_stale_file_keeps_a_whole_patch_from_being_applied"],
        "what_is_only_on_the_target_is_not_overwritten",
    ),
    (
        Flaw::ChangesLineEndings,
        &["new_documents_are_created_on_the_target"],
        "what_is_only_on_the_target_is_not_overwritten",
    ),
    (Flaw::AsksFirst, &["round_trips_are_counted"], "what_is_only_on_the_target_is_not_overwritten"),
    (
        Flaw::TakesEverythingForAFile,
        &["what_is_no_file_is_refused_and_stays"],
        "what_is_only_on_the_controller_is_no_obstacle",
    ),
    (
        Flaw::ResolvesTheHomeHere,
        &["the_home_is_the_targets"],
        "what_is_only_on_the_target_is_not_overwritten",
    ),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    ProbesTheController,
    ReadsTheController,
    TakesANameForThisMachine,
    FollowsAliases,
    TriesAgain,
    TakesALostReplyForAFailure,
    OverwritesWhatAppears,
    CommitsOneByOne,
    ChangesLineEndings,
    AsksFirst,
    TakesEverythingForAFile,
    ResolvesTheHomeHere,
}

#[tokio::test(flavor = "multi_thread")]
async fn each_broken_target_fails_the_contract_that_is_about_its_flaw() {
    let contract = |name: &str| {
        let found = contracts::CONTRACTS.iter().find(|contract| contract.name == name);
        found.unwrap_or_else(|| panic!("there is no contract {name}"))
    };
    for (flaw, broken, kept) in FLAWS {
        for name in *broken {
            let ending = contracts::take(&FlawedFixture(*flaw), contract(name)).await;
            assert!(matches!(ending, Ending::Failed(_)), "{flaw:?}: {name} {ending:?}");
        }
        assert_eq!(
            contracts::take(&FlawedFixture(*flaw), contract(kept)).await,
            Ending::Passed,
            "{flaw:?}: {kept}"
        );
    }
}

/// A folder whose shell has a flaw around it.
struct FlawedFixture(Flaw);

#[async_trait]
impl contracts::Fixture for FlawedFixture {
    async fn fresh(&self) -> io::Result<Ground> {
        let search = std::env::var_os("PATH").unwrap_or_default();
        let fixture = FolderFixture::new(Process::shell(TargetId::new("elsewhere"))).tools(search);
        let ground = fixture.fresh().await?;
        let (flaw, local) = (self.0, Local::builder().build().map_err(io::Error::other)?);
        let local = Arc::new(local);
        Ok(Ground {
            around: Arc::new(move |shell| {
                Arc::new(Flawed { inner: shell, local: Arc::clone(&local), flaw, roots: Mutex::default() })
            }),
            ..ground
        })
    }
}

struct Flawed {
    inner: Shell,
    /// The controller's own files.
    local: Arc<Local>,
    flaw: Flaw,
    roots: Mutex<HashMap<RootId, TargetPath>>,
}

impl Flawed {
    /// Tells whether this machine is asked for everything, as the target's name says that it is this one.
    fn is_here(&self) -> bool {
        let name = self.inner.target().to_string();
        self.flaw == Flaw::TakesANameForThisMachine && name.contains("local")
    }

    fn path(&self, root: RootId, path: &str) -> PathBuf {
        let roots = self.roots.lock().unwrap();
        PathBuf::from(roots.get(&root).map_or("/", |root| root.as_str())).join(path)
    }

    async fn state(&self, root: RootId, path: &str) -> Option<FileState> {
        let depth = Depth::Digest { max: u64::MAX };
        let ask = Ask { root, path: path.to_owned(), last: Last::Follow, depth, scope: Arc::default() };
        Some(self.inner.stat(&[ask]).await.ok()?.pop()?.ok()?.state)
    }

    /// Says of what was found that it is where it was asked for.
    fn here(&self, ask: &Ask, found: &mut Found) {
        if self.flaw == Flaw::FollowsAliases {
            found.resolved = TargetPath::new(self.path(ask.root, &ask.path).to_str().unwrap()).unwrap();
        }
        if self.flaw == Flaw::TakesEverythingForAFile && matches!(found.state, FileState::Directory) {
            found.state = FileState::Absent;
        }
    }

    /// Commits until it says something else than that the reply was lost.
    async fn insist(&self, batch: Batch) -> Result<Committed, CommitError> {
        let outcome = self.inner.commit(batch.clone()).await;
        match (self.flaw, &outcome) {
            (
                Flaw::TriesAgain,
                Ok(Committed { settled: true, .. })
                | Err(CommitError { cause: CommitFailure::Op(OpError::Unavailable { .. }), .. }),
            ) => {
                let id = CommitId(format!("{}-again", batch.id));
                self.inner.commit(Batch { id, ..batch }).await
            }
            (Flaw::TakesALostReplyForAFailure, Ok(Committed { settled: true, .. })) => Err(CommitError {
                cause: OpError::Unavailable { why: "the line was lost".to_owned() }.into(),
                at: None,
                fates: vec![Fate::Untouched; batch.changes.len()],
            }),
            _ => outcome,
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
        // The numbers are the same, so that the controller can be asked in the target's place.
        let here = self.local.open_root(spec).await;
        let mut root = if self.is_here() { here } else { self.inner.open_root(spec).await }?;
        if self.flaw == Flaw::ResolvesTheHomeHere && root.path.as_str().ends_with("/home") {
            root.path = TargetPath::new(std::env::temp_dir().to_str().unwrap()).unwrap();
        }
        self.roots.lock().unwrap().insert(root.id, root.path.clone());
        Ok(root)
    }

    async fn stat(&self, asks: &[Ask]) -> Result<Vec<Result<Found, OpError>>, OpError> {
        if self.is_here() {
            return self.local.stat(asks).await;
        }
        let mut answers = self.inner.stat(asks).await?;
        for (ask, answer) in asks.iter().zip(&mut answers) {
            let _ = answer.as_mut().map(|found| self.here(ask, found));
        }
        Ok(answers)
    }

    async fn read(&self, wants: &[Want]) -> Result<Vec<Result<Contents, OpError>>, OpError> {
        if self.is_here() {
            return self.local.read(wants).await;
        }
        let mut answers = self.inner.read(wants).await?;
        for (want, answer) in wants.iter().zip(&mut answers) {
            let Ok(contents) = answer else { continue };
            self.here(&want.ask, &mut contents.found);
            let here = std::fs::read(self.path(want.ask.root, &want.ask.path));
            if let (Flaw::ReadsTheController, Ok(bytes)) = (self.flaw, here) {
                let digest = Some(guard_core::policy::Digest::of(&bytes));
                let len = bytes.len() as u64;
                contents.found.state = FileState::Regular { len, mode: 0o644, nlink: 1, digest };
                contents.body = Body::Bytes { offset: 0, bytes };
            }
        }
        Ok(answers)
    }

    async fn stream(&self, ask: &Ask, sink: &mut dyn Sink) -> Result<Found, OpError> {
        self.inner.stream(ask, sink).await
    }

    async fn list(&self, ask: &Ask, page: &Page) -> Result<Listing, OpError> {
        self.inner.list(ask, page).await
    }

    async fn commit(&self, mut batch: Batch) -> Result<Committed, CommitError> {
        if self.is_here() {
            return self.local.commit(batch).await;
        }
        for (at, change) in batch.changes.iter_mut().enumerate() {
            if let (Flaw::ChangesLineEndings, Effect::Put { content, .. }) = (self.flaw, &mut change.effect) {
                let mut text = String::new();
                if content.open().unwrap().read_to_string(&mut text).is_ok() {
                    *content = Content::from(text.replace("\r\n", "\n").into_bytes());
                }
            }
            if change.precondition != Precondition::Absent {
                continue;
            }
            let (root, path) = (change.place.root, change.place.path.clone());
            match self.flaw {
                Flaw::ProbesTheController if self.path(root, &path).exists() => {
                    let found = FileState::Regular { len: 1, mode: 0o644, nlink: 1, digest: None };
                    let cause = CommitFailure::Precondition {
                        resolved: change.place.expect.clone(),
                        found,
                        destination: false,
                    };
                    let fates = vec![Fate::Untouched; batch.changes.len()];
                    return Err(CommitError { cause, at: Some(at), fates });
                }
                Flaw::ProbesTheController | Flaw::OverwritesWhatAppears => {
                    change.precondition = Precondition::DangerAny;
                }
                Flaw::AsksFirst => drop(self.state(root, &path).await),
                Flaw::TakesEverythingForAFile => {
                    // As a rename over the name does.
                    let state = self.state(root, &path).await;
                    if !matches!(state, Some(FileState::Regular { .. } | FileState::Absent)) {
                        change.precondition = Precondition::DangerAny;
                    }
                }
                _ => {}
            }
        }
        if self.flaw == Flaw::CommitsOneByOne {
            let mut all = Committed { changes: Vec::new(), settled: false };
            for (nth, change) in batch.changes.clone().into_iter().enumerate() {
                let id = CommitId(format!("{}-{nth}", batch.id));
                let one = Batch { id, changes: vec![change], ..batch.clone() };
                all.changes.extend(self.inner.commit(one).await?.changes);
            }
            return Ok(all);
        }
        loop {
            let outcome = self.insist(batch.clone()).await;
            let (Flaw::FollowsAliases, Err(error)) = (self.flaw, &outcome) else { return outcome };
            let CommitFailure::Elsewhere { resolved, .. } = &error.cause else { return outcome };
            batch.changes[error.at.unwrap()].place.expect = resolved.clone();
        }
    }

    async fn settle(&self, commit: &CommitId) -> Result<Settled, OpError> {
        self.inner.settle(commit).await
    }

    fn spawn(&self, task: Task) {
        self.inner.spawn(task);
    }
}
