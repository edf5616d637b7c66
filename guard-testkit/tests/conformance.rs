//! The suite holds for the in-memory target and for this machine's, in each of its ways.

use guard_backends::local::{Lease, Resolver};
use guard_core::port::Tier;
use guard_testkit::conformance::{self, Fixture, LocalFixture, MemoryFixture};

#[tokio::test]
async fn memory_keeps_every_guarantee_and_skips_none() {
    let report = conformance::run(&MemoryFixture::new()).await;
    report.assert_passed();
    assert_eq!(report.skipped(), []);
}

async fn passes(fixture: impl Fixture) {
    let report = conformance::run(&fixture).await;
    report.assert_passed();
    // Root is held back by no permission bits: those rows are the only ones that it may skip.
    let allowed = if conformance::permissions_hold_us_back() { 0 } else { 4 };
    assert!(report.skipped().len() <= allowed, "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn local_keeps_every_guarantee() {
    passes(LocalFixture::new()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn local_keeps_every_guarantee_with_the_walk() {
    passes(LocalFixture::configured(|builder| builder.resolver(Resolver::Walk))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn local_keeps_every_guarantee_without_a_lease() {
    passes(LocalFixture::configured(|builder| builder.lease(Lease::DangerNever))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn local_in_tier_window_keeps_every_guarantee_but_those_of_the_exchange() {
    passes(LocalFixture::configured(|builder| builder.danger_force_tier(Tier::Window))).await;
}
