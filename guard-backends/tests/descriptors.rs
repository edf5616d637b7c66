//! A process that has no descriptor left. The limit is the whole process's, so that this test is alone in its file.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test arranges its process by itself")]

mod common;

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::sync::Mutex;

use common::{RESOLVERS, Ws};
use guard_backends::local::Local;
use guard_core::policy::Precondition;
use guard_core::port::{Change, CommitFailure, Effect, Fate, OpError, Parents};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lets no further descriptor be opened.
fn exhaust() -> Rlimit {
    let limit = getrlimit(Resource::Nofile);
    let next = File::open("/dev/null").unwrap().as_raw_fd();
    let current = Some(u64::try_from(next).unwrap());
    setrlimit(Resource::Nofile, Rlimit { current, ..limit }).unwrap();
    limit
}

#[tokio::test]
async fn a_directory_that_was_made_and_cannot_be_opened_is_removed_again() {
    let changes: [fn(&Ws) -> Change; 3] = [
        |ws| ws.put("a/b/f", Precondition::Absent, "x"),
        |ws| ws.change("a", Precondition::Absent, Effect::MakeDir { parents: Parents::Make }),
        |ws| ws.change("a/b", Precondition::Absent, Effect::MakeDir { parents: Parents::Make }),
    ];
    for resolver in RESOLVERS {
        for (number, change) in changes.iter().enumerate() {
            let limit = Mutex::new(None);
            let ws = Ws::watched(Local::builder().resolver(resolver), move |step, _| match step {
                "first-look" => *limit.lock().unwrap() = Some(exhaust()),
                "finished" => setrlimit(Resource::Nofile, limit.lock().unwrap().take().unwrap()).unwrap(),
                _ => {}
            })
            .await;
            let error = ws.commit(change(&ws)).await.unwrap_err();
            assert!(matches!(error.cause, CommitFailure::Op(OpError::Io { .. })), "{error:?}");
            assert!(ws.tree().is_empty(), "{resolver:?} {number}: {:?}", ws.tree());
            assert!(matches!(&error.fates[..], [Fate::Untouched | Fate::Restored]), "{error:?}");
        }
    }
}
