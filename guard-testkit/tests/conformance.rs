//! The suite holds for the in-memory target, and tells broken implementations.

use guard_testkit::conformance::{self, MemoryFixture};

#[tokio::test]
async fn memory_keeps_every_guarantee_and_skips_none() {
    let report = conformance::run(&MemoryFixture::new()).await;
    report.assert_passed();
    assert_eq!(report.skipped(), []);
}
