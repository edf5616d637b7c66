//! The suite holds for the in-memory target and for this machine's, in each of its ways.

use guard_backends::local::{Lease, Resolver};
use guard_core::port::Tier;
use guard_testkit::conformance::{self, Fixture, LocalFixture, MemoryFixture};
use guard_testkit::rerun::{self, Body};
use guard_testkit::skip::{self, Need};

#[tokio::test(flavor = "multi_thread")]
async fn memory_keeps_every_guarantee_and_skips_none() {
    let report = conformance::run(&MemoryFixture::new()).await;
    report.assert_passed();
    assert_eq!(report.skipped(), []);
}

/// Runs the suite as a user whom permission bits hold back, so that no row is skipped for that.
async fn passes(fixture: impl Fixture, skipped: &[&str]) {
    let report = conformance::run(&fixture).await;
    report.assert_passed();
    let names: Vec<&str> = report.skipped().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, skipped, "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn local_keeps_every_guarantee() {
    if rerun::unprivileged("local_keeps_every_guarantee") == Body::Run {
        passes(LocalFixture::new(), &[]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn local_keeps_every_guarantee_for_root() {
    if !skip::unless(Need::Root, "local_keeps_every_guarantee_for_root") {
        let of_permissions = [
            "a_read_only_file_is_refused",
            "a_denied_parent_is_not_absence",
            "a_denied_directory_is_left_alone",
            "an_unreadable_file_is_not_another_version",
        ];
        passes(LocalFixture::new(), &of_permissions).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn local_keeps_every_guarantee_with_the_walk() {
    if rerun::unprivileged("local_keeps_every_guarantee_with_the_walk") == Body::Run {
        passes(LocalFixture::configured(|builder| builder.resolver(Resolver::Walk)), &[]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn local_keeps_every_guarantee_without_a_lease() {
    if rerun::unprivileged("local_keeps_every_guarantee_without_a_lease") == Body::Run {
        passes(LocalFixture::configured(|builder| builder.lease(Lease::DangerNever)), &[]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn local_in_tier_window_keeps_every_guarantee_but_those_of_the_exchange() {
    if rerun::unprivileged("local_in_tier_window_keeps_every_guarantee_but_those_of_the_exchange")
        == Body::Run
    {
        let of_the_exchange = ["one_of_many_replacements_wins", "many_additions_lose_none"];
        passes(LocalFixture::configured(|builder| builder.danger_force_tier(Tier::Window)), &of_the_exchange)
            .await;
    }
}
