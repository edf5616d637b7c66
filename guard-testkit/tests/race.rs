//! The race, in tier exchange with a lease; soak runs more rounds of it. And what it costs to be unguarded.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail the test")]
#![allow(clippy::print_stdout, reason = "the rates are what a person wants to see")]

use std::path::PathBuf;
use std::sync::Arc;

use guard_backends::local::{Lease, Local};
use guard_core::port::Tier;
use guard_testkit::race::{self, Contender, Guarded, Report, Unguarded};
use guard_testkit::rival::{self, Kind};

/// Rounds of a plain test run; `GUARD_RACE_ROUNDS` says otherwise, as `cargo xtask soak` does.
const ROUNDS: u64 = 500;
const AS_RIVAL: [&str; 4] = ["--exact", "rival_process", "--nocapture", "--test-threads=1"];

/// Not a test of its own: the process that races against the others.
#[test]
fn rival_process() {
    rival::main_loop_if_asked();
    // Asked for by nobody, it goes on here; an order that is none is an error.
    assert!("writes-politely".parse::<Kind>().is_err());
}

fn rounds() -> u64 {
    match std::env::var("GUARD_RACE_ROUNDS") {
        Ok(rounds) => rounds.parse().expect("GUARD_RACE_ROUNDS is a number"),
        Err(_) => ROUNDS,
    }
}

/// A directory in memory where there is one: a disk's `fsync` only makes the windows rarer.
fn directory() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let file = directory.path().canonicalize().unwrap().join("file");
    (directory, file)
}

async fn guarded(kind: Kind) -> Report {
    let (_directory, file) = directory();
    let local = Arc::new(Local::builder().build().unwrap());
    let contender = Guarded::open(local, &file).await.unwrap();
    let rounds = rounds();
    let report = race::run(&contender, &file, kind, rounds, &AS_RIVAL).await.unwrap();
    println!("{kind}: {report}");
    assert_eq!(report.rounds, rounds);
    assert!(report.writes > rounds && report.commits_ok > 0, "{report}");
    report.assert_nothing_lost();
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_against_a_rival_that_renames_over() {
    guarded(Kind::RenamesOver).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_against_a_rival_that_writes_in_place() {
    guarded(Kind::WritesInPlace).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_against_a_rival_that_opens_waits_and_writes() {
    guarded(Kind::OpensWaitsWrites).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_against_a_rival_that_unlinks_and_creates() {
    guarded(Kind::UnlinksAndCreates).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_against_a_rival_that_exchanges() {
    guarded(Kind::Exchanges).await;
}

async fn unguarded(kind: Kind, contender: fn(&std::path::Path) -> Unguarded) {
    let (_directory, file) = directory();
    let contender: Box<dyn Contender> = Box::new(contender(&file));
    let report = race::run(contender.as_ref(), &file, kind, ROUNDS, &AS_RIVAL).await.unwrap();
    println!("unguarded, {kind}: {report}");
    assert!(!report.lost.is_empty(), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn hash_then_rename_loses_data_against_each_rival() {
    for kind in Kind::ALL {
        unguarded(kind, Unguarded::hash_then_rename).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hash_then_write_loses_data_against_each_rival() {
    for kind in Kind::ALL {
        unguarded(kind, Unguarded::hash_then_write).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tier_window_says_so_and_its_rate_is_measured() {
    let (_directory, file) = directory();
    let local = Arc::new(Local::builder().danger_force_tier(Tier::Window).build().unwrap());
    let contender = Guarded::open(local, &file).await.unwrap();
    let report = race::run(&contender, &file, Kind::RenamesOver, rounds(), &AS_RIVAL).await.unwrap();
    println!("tier window: {report}");
    assert_eq!(report.tiers.keys().copied().collect::<Vec<_>>(), [Tier::Window]);
    // It narrows the race: what it loses is a small part of what an unguarded program loses.
    assert!(report.rate() < 20.0, "{report}");
    assert!(report.unreported.is_empty(), "{report}");
}

/// A writer that keeps an old descriptor open past the commit is outside the promise where no lease can be had.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_lease_every_receipt_says_so_and_a_late_writer_is_missed() {
    let (_directory, file) = directory();
    let local = Arc::new(Local::builder().lease(Lease::DangerNever).build().unwrap());
    let contender = Guarded::open(local, &file).await.unwrap();
    let report = race::run(&contender, &file, Kind::OpensWaitsWrites, ROUNDS, &AS_RIVAL).await.unwrap();
    println!("without a lease: {report}");
    assert_eq!(report.leases.keys().copied().collect::<Vec<_>>(), [false]);
    assert!(!report.lost_without_lease.is_empty(), "{report}");
    report.assert_nothing_lost();
}
