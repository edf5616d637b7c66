//! The suite and the contracts hold over SSH, whatever the login shell.
#![cfg(all(feature = "ssh", feature = "contracts"))]

use guard_testkit::conformance;
use guard_testkit::contracts;
use guard_testkit::skip::{self, Need};
use guard_testkit::sshd::{LoginShell, Sshd, SshdContracts, SshdFixture};

/// A server lets in only whoever started it, so that these rows are shown to users other than root alone.
const OF_PERMISSIONS: [&str; 4] = [
    "a_read_only_file_is_refused",
    "a_denied_parent_is_not_absence",
    "a_denied_directory_is_left_alone",
    "an_unreadable_file_is_not_another_version",
];

async fn keeps_every_guarantee(login: LoginShell) {
    let sshd = Sshd::builder().login_shell(login).start().expect("a server");
    let report = conformance::run(&SshdFixture::new(sshd).await.expect("a way to it")).await;
    report.assert_passed();
    let skipped: Vec<&str> = report.skipped().into_iter().map(|(name, _)| name).collect();
    let expected = if Need::Root.is_met() { &OF_PERMISSIONS[..] } else { &[] };
    assert_eq!(skipped, expected, "{report}");
}

async fn keeps_every_contract(login: LoginShell) {
    let report = contracts::run(&SshdContracts::of(Sshd::builder().login_shell(login))).await;
    report.assert_passed();
    assert_eq!(report.skipped(), [], "{report}");
}

macro_rules! logins {
    ($($name:ident => $check:ident($login:ident), $need:ident;)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            let name = stringify!($name);
            if !skip::unless(Need::Sshd, name) && !skip::unless(Need::$need, name) {
                $check(LoginShell::$login).await;
            }
        }
    )*};
}

logins! {
    every_guarantee_is_kept_over_ssh => keeps_every_guarantee(Dash), Dash;
    every_guarantee_is_kept_over_ssh_for_a_login_shell_of_busybox => keeps_every_guarantee(BusyBox), BusyBox;
    every_guarantee_is_kept_over_ssh_for_a_login_shell_of_fish => keeps_every_guarantee(Fish), Fish;
    every_contract_is_kept_over_ssh => keeps_every_contract(Account), Sshd;
    every_contract_is_kept_over_ssh_for_a_login_shell_of_busybox => keeps_every_contract(BusyBox), BusyBox;
    every_contract_is_kept_over_ssh_for_a_login_shell_of_fish => keeps_every_contract(Fish), Fish;
}
