//! The contracts hold over a shell of this machine that knows the workspace by other paths than the controller.
#![cfg(feature = "contracts")]

use std::ffi::OsStr;

use guard_backends::shell::Process;
use guard_core::port::TargetId;
use guard_testkit::contracts::{self, FolderFixture};
use guard_testkit::rerun::{self, Body};
use guard_testkit::skip;
use guard_testkit::transport::Sh;

/// The controller's own home cannot be resolved here: `~` is the target's.
#[tokio::test(flavor = "multi_thread")]
async fn a_target_with_other_paths_keeps_every_contract() {
    let name = "a_target_with_other_paths_keeps_every_contract";
    if rerun::unprivileged_with(name, &[("HOME", OsStr::new("/nowhere/at/all"))]) == Body::Run {
        let search = std::env::var_os("PATH").unwrap_or_default();
        let fixture = FolderFixture::new(Process::shell(TargetId::new("elsewhere"))).tools(search);
        let report = contracts::run(&fixture).await;
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
    let process = Process::shell(TargetId::new("elsewhere"));
    let report = contracts::run(&FolderFixture::new(process).tools(tools.directory())).await;
    report.assert_passed();
    assert_eq!(report.skipped(), [], "{report}");
}
