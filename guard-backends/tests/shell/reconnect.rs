//! Reconnection, on a clock that moves only when nothing else does: pauses, attempts, and whose shell it is.

use std::time::Duration;

use guard_backends::shell::wire::Verdict;
use guard_core::policy::FileState;
use guard_core::port::{CommitFailure, Content, FileOps as _, OpError, Settled, TransportError};

use crate::peer::{FACTS, Talk, absent, settled};

fn unreachable() -> TransportError {
    TransportError::Unreachable { why: "no route".to_owned() }
}

fn millis(starts: &[tokio::time::Instant]) -> Vec<u128> {
    starts.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect()
}

/// The pauses double from the first to two seconds, and there are no more attempts than were asked for.
#[tokio::test(start_paused = true)]
async fn pauses_between_attempts_double_up_to_two_seconds_and_attempts_are_counted() {
    for (attempts, pause, expected) in [
        (9, 50, &[50, 100, 200, 400, 800, 1600, 2000, 2000][..]),
        (4, 700, &[700, 1400, 2000]),
        (3, 5000, &[2000, 2000]),
        (3, 0, &[0, 0]),
        (1, 50, &[]),
        // One is always made.
        (0, 50, &[]),
    ] {
        let Talk { user, line, starts, .. } =
            Talk::with(|builder| builder.reconnect(attempts, Duration::from_millis(pause))).await;
        // The first session is gone, and no other one is to be had.
        drop(line);
        starts.refuse(100, &unreachable());
        let began = tokio::time::Instant::now();
        let Err(OpError::Unavailable { why }) = user.stat("x").await else { panic!("it was reached") };
        assert!(why.contains("no route"), "{why}");
        let tried = starts.at().split_off(1);
        assert_eq!(tried.len(), usize::try_from(attempts.max(1)).unwrap());
        assert_eq!(tried[0], began, "there is a pause before the first attempt");
        assert_eq!(millis(&tried), expected);
    }
}

/// What the documentation of the builder says without being asked.
#[tokio::test(start_paused = true)]
async fn a_lost_connection_is_tried_four_times_unless_said_otherwise() {
    let Talk { user, line, starts, .. } = Talk::new().await;
    drop(line);
    starts.refuse(100, &unreachable());
    assert!(matches!(user.stat("x").await, Err(OpError::Unavailable { .. })));
    assert_eq!(millis(&starts.at().split_off(1)), [50, 100, 200]);
}

/// The attempt that succeeds is the last one.
#[tokio::test(start_paused = true)]
async fn an_attempt_that_succeeds_ends_the_pauses() {
    let Talk { user, line, mut calls, starts } = Talk::new().await;
    drop(line);
    starts.refuse(2, &unreachable());
    let (answer, ()) = tokio::join!(user.stat("x"), async {
        let mut next = calls.greeted().await;
        let request = next.whole().await;
        next.reply(&request, &[absent(&request)]).await;
    });
    assert_eq!(answer.unwrap().state, FileState::Absent);
    assert_eq!(millis(&starts.at().split_off(1)), [50, 100]);
}

/// A shell that does not say hello costs its deadline, once an attempt.
#[tokio::test(start_paused = true)]
async fn a_shell_that_says_nothing_is_waited_for_as_long_as_was_said() {
    let Talk { user, line, mut calls, starts } =
        Talk::with(|builder| builder.hello(Duration::from_secs(3)).reconnect(3, Duration::from_millis(100)))
            .await;
    drop(line);
    let began = tokio::time::Instant::now();
    let (answer, _silent) =
        tokio::join!(user.stat("x"), async { [calls.next().await, calls.next().await, calls.next().await] });
    let Err(OpError::Unavailable { why }) = answer else { panic!("{answer:?}") };
    assert!(why.contains("nothing within 3 s"), "{why}");
    assert_eq!(millis(&starts.at().split_off(1)), [3100, 3200]);
    assert_eq!(began.elapsed().as_millis(), 3 * 3000 + 100 + 200);
}

fn with(changes: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    let change = |&(name, value)| {
        let new = changes.iter().find(|(changed, _)| *changed == name).map(|(_, value)| *value);
        (name, new.unwrap_or(value))
    };
    FACTS.iter().map(change).collect()
}

/// Another machine, or another user, is not tried again and asked nothing.
#[tokio::test(start_paused = true)]
async fn a_shell_of_another_machine_or_user_is_refused_at_once_and_asked_nothing() {
    for changes in [
        &[("machine", "n")][..],
        &[("uid", "1000")],
        &[("rootid", "9:2")],
        &[("machine", ""), ("rootid", "")],
        // A host that was booted anew says the same as a copy of it, which has another past.
        &[("bootid", "c"), ("rootid", "9:2"), ("pid", "1"), ("start", "2")],
        &[("bootid", "c")],
    ] {
        let Talk { user, line, mut calls, starts } = Talk::new().await;
        drop(line);
        let (answer, ()) = tokio::join!(user.stat("x"), async {
            let mut other = calls.next().await;
            other.hello(&with(changes)).await;
            assert!(other.is_closed().await, "{changes:?}: it was asked");
        });
        assert_eq!(answer, Err(OpError::TargetChanged), "{changes:?}");
        assert_eq!(starts.count(), 2, "{changes:?}");
    }
}

/// A commit whose reply was lost is not settled by another machine, however it answers.
#[tokio::test(start_paused = true)]
async fn a_commit_is_settled_only_by_the_machine_that_it_was_sent_to() {
    let Talk { user, mut line, mut calls, .. } = Talk::new().await;
    let (outcome, ()) = tokio::join!(user.create("new", Content::from(b"x".to_vec())), async {
        line.whole().await;
        drop(line);
        let mut other = calls.next().await;
        other.hello(&with(&[("machine", "n")])).await;
        assert!(other.is_closed().await, "it was asked");
    });
    let CommitFailure::Op(OpError::OutcomeUnknown { commit }) = outcome.unwrap_err().cause else {
        panic!("it was told")
    };
    let (settlement, ()) = tokio::join!(user.shell.settle(&commit), async {
        let mut same = calls.greeted().await;
        let request = same.whole().await;
        same.reply(&request, &settled(Verdict::Applied)).await;
    });
    assert_eq!(settlement, Ok(Settled::APPLIED));
}
