//! The contracts hold over a shell of this machine that knows the workspace by other paths than the controller.
#![cfg(feature = "contracts")]

use guard_backends::shell::Process;
use guard_core::port::TargetId;
use guard_testkit::contracts::{self, FolderFixture};

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_with_other_paths_keeps_every_contract() {
    let fixture = FolderFixture::new(Process::shell(TargetId::new("elsewhere")));
    let report = contracts::run_some(&fixture, &std::env::var("ONLY").unwrap_or_default()).await;
    println!("{report}");
    report.assert_passed();
}
