//! The end of a request that changes something: whether it can be complete decides what a lost reply means.

use std::time::Duration;

use guard_backends::shell::wire::{Request, Verb};
use guard_core::policy::Precondition;
use guard_core::port::{CommitError, CommitFailure, Committed, Fate, FileOps as _, OpError, Settled};

use crate::common::batch;
use crate::narrow::{Gauge, Narrow, Then};
use crate::ws::{Ws, sh};

/// The length of the tail of a request with a number of one digit.
fn tail() -> u64 {
    let verb = Verb::Open(Vec::new());
    let request = Request { seq: 1, token: String::new(), roots: Vec::new(), verb };
    request.tail(&"0".repeat(32)).len() as u64
}

struct Case {
    ws: Ws,
    gauge: Gauge,
    outcome: Result<Committed, CommitError>,
    id: guard_core::port::CommitId,
    /// How many sessions were started to find out.
    looked: usize,
}

/// Creates a file over a line that takes all but so many bytes of the request.
async fn all_but(missing: u64, then: Then, is_reachable: bool) -> Case {
    let gauge = Gauge::default();
    let quick = Duration::from_secs(1);
    let ws =
        Ws::with(Narrow::new(sh(), &gauge), |builder| builder.progress(quick).reconnect(2, Duration::ZERO))
            .await;
    // Both requests are of one length.
    let before = gauge.taken();
    ws.commit(ws.put("one", Precondition::Absent, "one")).await.unwrap();
    gauge.limit(gauge.taken() - before - missing, then);
    gauge.refuses(!is_reachable);
    let one = batch(vec![ws.put("two", Precondition::Absent, "two")]);
    let (id, starts) = (one.id.clone(), gauge.starts());
    let outcome = ws.shell.commit(one).await;
    Case { looked: gauge.starts() - starts, ws, gauge, outcome, id }
}

fn refused(outcome: Result<Committed, CommitError>) -> String {
    let error = outcome.unwrap_err();
    assert_eq!(error.fates, [Fate::Untouched]);
    match error.cause {
        CommitFailure::Op(OpError::Unavailable { why }) => why,
        other => panic!("{other:?}"),
    }
}

/// Nothing of the tail has left: it was certainly not carried out, and nobody has to be asked about that.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_tail_was_not_begun_is_refused_without_a_look() {
    // The last byte of the body, the whole body, in the records, all but the first byte.
    for missing in [tail() + 1, tail() + 3, tail() + 20, u64::MAX] {
        for (then, words) in [(Then::Breaks, "broken pipe"), (Then::Stalls, "nothing moved")] {
            let missing = if missing == u64::MAX { 300 } else { missing };
            // Each stall takes its deadline.
            let both = if then == Then::Stalls { &[false][..] } else { &[true, false] };
            for &is_reachable in both {
                let Case { ws, gauge, outcome, id, looked } = all_but(missing, then, is_reachable).await;
                let why = refused(outcome);
                assert!(why.contains(words), "{missing} {then:?}: {why}");
                assert_eq!(looked, 0, "{missing} {then:?}");
                // What was staged is cleared away by the next session, whatever it is opened for.
                gauge.refuses(false);
                assert_eq!(ws.shell.settle(&id).await, Ok(Settled::NOT_APPLIED));
                assert_eq!(ws.tree().len(), 1, "{missing} {then:?}: {:?}", ws.tree());
            }
        }
    }
}

/// A part of the tail has left: the target is asked, and says that it was not carried out.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_tail_was_begun_is_looked_into() {
    for missing in [tail() - 1, tail() / 2, 1] {
        for then in [Then::Breaks, Then::Stalls] {
            let Case { ws, outcome, looked, .. } = all_but(missing, then, true).await;
            let why = refused(outcome);
            assert!(why.contains("nothing was changed"), "{missing} {then:?}: {why}");
            assert_eq!(looked, 1, "{missing} {then:?}");
            assert_eq!(ws.tree().len(), 1, "{missing} {then:?}: {:?}", ws.tree());
        }
    }
}

/// Where the target cannot be asked, it is not known; it is never said that nothing happened.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_tail_was_begun_is_unknown_while_the_target_cannot_be_reached() {
    for (missing, then) in [(tail() - 1, Then::Breaks), (1, Then::Breaks), (1, Then::Stalls)] {
        let Case { ws, gauge, outcome, id, looked } = all_but(missing, then, false).await;
        let error = outcome.unwrap_err();
        let unknown = OpError::OutcomeUnknown { commit: id.clone() };
        assert_eq!((error.cause, error.fates), (CommitFailure::Op(unknown), vec![Fate::Unknown]));
        assert_eq!(looked, 2);
        gauge.refuses(false);
        assert_eq!(ws.shell.settle(&id).await, Ok(Settled::NOT_APPLIED));
        assert_eq!(ws.tree().len(), 1, "{missing} {then:?}: {:?}", ws.tree());
    }
}

/// All of the tail has left, and then the line says that it is broken, or nothing: the target has carried it out, and
/// that is what is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_tail_has_left_is_never_told_as_if_it_had_not() {
    for (then, settled, looked) in [(Then::Breaks, false, 0), (Then::Stalls, true, 1)] {
        let case = all_but(0, then, true).await;
        let done = case.outcome.unwrap();
        assert_eq!((done.settled, case.looked), (settled, looked), "{then:?}");
        assert_eq!(case.ws.read("two"), b"two");
        assert_eq!(case.ws.tree().len(), 2, "{then:?}");
    }
}
