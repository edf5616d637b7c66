//! The contracts hold over a shell of this machine that knows the workspace by other paths than the controller.
#![cfg(feature = "contracts")]

use guard_backends::shell::Process;
use guard_core::port::TargetId;
use guard_testkit::contracts::{self, FolderFixture};
use guard_testkit::rerun::{self, Body};
use guard_testkit::skip;
use guard_testkit::transport::Sh;

#[tokio::test(flavor = "multi_thread")]
async fn a_target_with_other_paths_keeps_every_contract() {
    if rerun::unprivileged("a_target_with_other_paths_keeps_every_contract") == Body::Run {
        let report = contracts::run(&FolderFixture::new(Process::shell(TargetId::new("elsewhere")))).await;
        report.assert_passed();
        assert_eq!(report.skipped(), [], "{report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_with_busyboxs_tools_keeps_every_contract() {
    let name = "a_target_with_busyboxs_tools_keeps_every_contract";
    if skip::unless(Sh::BusyBox.need(), name) {
        return;
    }
    let tools = guard_testkit::transport::busybox_tools().expect("it is there");
    let process = Process::shell(TargetId::new("elsewhere")).env("PATH", tools.directory());
    let report = contracts::run(&FolderFixture::new(process)).await;
    report.assert_passed();
    assert_eq!(report.skipped(), [], "{report}");
}
