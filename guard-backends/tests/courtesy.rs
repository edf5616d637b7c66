//! Guards that share no lock in memory, as those of several processes: each addition lands, at the name.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test arranges the filesystem by itself"
)]

mod workspace;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use guard_backends::local::Local;
use guard_core::policy::OpenWriters;
use guard_core::policy::Precondition;
use guard_core::port::{
    Ask, Batch, Body, Change, CommitFailure, CommitId, Content, Depth, Displaced, Effect, FileOps as _,
    InPlace, Keep, Last, Mode, Parents, Part, Place, RootSpec, Want,
};

const WRITERS: usize = 16;
const ROUNDS: usize = 20;

/// Reads, appends and commits until nobody was faster.
async fn add_line(directory: &Path, round: usize, nth: usize) {
    let local = Local::builder().build().unwrap();
    let root = local.open_root(&RootSpec { path: workspace::target(directory) }).await.unwrap();
    for attempt in 0.. {
        let ask = Ask {
            root: root.id,
            path: "log".into(),
            last: Last::Follow,
            depth: Depth::Digest { max: 1 << 20 },
            scope: Arc::default(),
        };
        let want = Want { ask, part: Part::Whole { max: 1 << 20 } };
        let found = local.read(&[want]).await.unwrap().remove(0).unwrap();
        let (digest, Body::Bytes { bytes: mut text, .. }) = (found.found.state.digest().unwrap(), found.body)
        else {
            panic!("the log is there");
        };
        text.extend_from_slice(format!("line {nth}\n").as_bytes());
        let place = Place {
            root: root.id,
            path: "log".into(),
            expect: root.path.child("log").unwrap(),
            last: Last::Follow,
        };
        let effect =
            Effect::Put { content: Content::from(text), mode: Mode::Keep, parents: Parents::Require };
        let batch = Batch {
            id: CommitId(format!("courtesy-{round}-{nth}-{attempt}")),
            changes: vec![Change { place, precondition: Precondition::Content { digest }, effect }],
            require: None,
            displaced: Displaced::Discard,
            open_writers: OpenWriters::Refuse,
            metadata: Keep::Require,
            in_place: InPlace::Refuse,
            scope: Arc::default(),
        };
        match local.commit(batch).await {
            Ok(committed) => return assert_eq!(committed.changes[0].left, [""; 0]),
            Err(error) => assert!(
                matches!(
                    error.cause,
                    CommitFailure::Precondition { .. } | CommitFailure::OpenForWriting { .. }
                ),
                "{error:?}"
            ),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn guards_that_share_no_memory_wait_for_each_other_and_every_addition_is_at_the_name() {
    for round in 0..ROUNDS {
        let directory = Arc::new(tempfile::tempdir().unwrap());
        std::fs::write(directory.path().join("log"), "").unwrap();
        let writers: Vec<_> = (0..WRITERS)
            .map(|nth| {
                let directory = Arc::clone(&directory);
                tokio::spawn(async move { add_line(directory.path(), round, nth).await })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
        let log = std::fs::read_to_string(directory.path().join("log")).unwrap();
        let lines: BTreeSet<&str> = log.lines().collect();
        assert_eq!((lines.len(), log.lines().count()), (WRITERS, WRITERS), "round {round}:\n{log}");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "no temporary name is left");
    }
}

#[tokio::test]
async fn a_directory_that_another_program_keeps_locked_delays_a_commit_and_does_not_stop_it() {
    let ws = workspace::Workspace::new().await;
    let held = std::fs::File::open(ws.path("")).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let written = ws.actor().write_file(guard_core::WriteFile::new("a.txt", "text\n")).await;
    assert!(workspace::done(written).changed);
}
