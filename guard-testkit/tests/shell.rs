//! The suite holds for the shell target, in each shell of this machine, and where controller and target disagree about
//! every path.

use guard_backends::shell::Process;
use guard_core::port::TargetId;
use guard_testkit::conformance::{self, ShellFixture};
use guard_testkit::rerun::{self, Body};
use guard_testkit::skip::{self, Need};
use guard_testkit::transport::{Sh, busybox_tools};

/// Runs the suite as a user whom permission bits hold back.
async fn passes(fixture: ShellFixture) {
    let report = conformance::run(&fixture).await;
    report.assert_passed();
    assert_eq!(report.skipped(), [], "{report}");
}

macro_rules! shells {
    ($($name:ident => $sh:ident,)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            let name = stringify!($name);
            if !skip::unless(Sh::$sh.need(), name) && rerun::unprivileged(name) == Body::Run {
                passes(ShellFixture::of(Sh::$sh).expect("it is there")).await;
            }
        }
    )*};
}

shells! {
    dash_keeps_every_guarantee => Dash,
    bash_keeps_every_guarantee => Bash,
    bash_in_posix_mode_keeps_every_guarantee => BashPosix,
    busyboxs_shell_keeps_every_guarantee => BusyBox,
    mksh_keeps_every_guarantee => Mksh,
    zsh_keeps_every_guarantee => Zsh,
}

#[tokio::test(flavor = "multi_thread")]
async fn every_guarantee_is_kept_where_controller_and_target_disagree_about_every_path() {
    let name = "every_guarantee_is_kept_where_controller_and_target_disagree_about_every_path";
    if !skip::unless(Need::Dash, name) && rerun::unprivileged(name) == Body::Run {
        passes(ShellFixture::of(Sh::Dash).expect("it is there").with_other_paths()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn busyboxs_tools_come_first_and_every_guarantee_is_kept() {
    let name = "busyboxs_tools_come_first_and_every_guarantee_is_kept";
    if !skip::unless(Need::BusyBox, name) && rerun::unprivileged(name) == Body::Run {
        let tools = busybox_tools().expect("it is there");
        let process = Process::shell(TargetId::new("busybox")).env("PATH", tools.directory());
        passes(ShellFixture::over(process)).await;
    }
}
