//! Every way out of a workspace, by every tool, on every target: one table.
#![cfg(feature = "contracts")]

use guard_core::policy::Policy;
use guard_testkit::conformance::{Fixture, MemoryFixture, ShellFixture};
use guard_testkit::containment;
use guard_testkit::skip::{self, Need};
use guard_testkit::transport::Sh;

/// What depends on a home, which these targets are not told of.
const OF_HOMES: &[&str] = &["~, which is outside"];

/// Runs the table; `skipped` are the rows that the fixture cannot make.
async fn holds(fixture: &dyn Fixture, skipped: &[&str]) {
    let report = containment::run(fixture).await.expect("ground");
    report.assert_held();
    assert_eq!(report.skipped_rows(), skipped, "{report}");
}

#[tokio::test]
async fn the_in_memory_target_answers_as_the_table_says() {
    holds(&MemoryFixture::new(), &[]).await;
}

/// The negative control: a guard that is not held to its roots goes every way out, and the table says so.
#[tokio::test]
async fn control_without_containment_the_table_finds_the_ways_out() {
    let policy = Policy { restrict: false, ..Policy::default() };
    let report = containment::run_under(&MemoryFixture::new(), &policy).await.expect("ground");
    let is_broken = |row: &str, what: &str| {
        report.broken.iter().any(|broken| broken.starts_with(row) && broken.contains(what))
    };
    for row in [
        "../sibling/file",
        "absolute, sibling with the prefix",
        "a file through a link out",
        "link to a file outside",
        "chain inside, inside, outside",
        "missing folders behind a link out",
    ] {
        assert!(is_broken(row, "the canary was touched"), "{row}: {report}");
    }
    assert!(is_broken("../sibling/file, read", "it delivers what lies outside"), "{report}");
    // What stays inside is answered as ever.
    assert!(!report.broken.iter().any(|broken| broken.starts_with("through a link inside")), "{report}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn this_machine_answers_as_the_table_says_by_either_resolver() {
    use guard_backends::local::Resolver;
    use guard_testkit::conformance::LocalFixture;
    for resolver in [Resolver::Kernel, Resolver::Walk] {
        holds(&LocalFixture::configured(move |builder| builder.resolver(resolver)), OF_HOMES).await;
    }
}

macro_rules! shells {
    ($($name:ident => $sh:ident,)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            if !skip::unless(Sh::$sh.need(), stringify!($name)) {
                holds(&ShellFixture::of(Sh::$sh).expect("it is there"), &[]).await;
            }
        }
    )*};
}

shells! {
    dash_answers_as_the_table_says => Dash,
    busyboxs_shell_answers_as_the_table_says => BusyBox,
    mksh_answers_as_the_table_says => Mksh,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_with_other_paths_answers_as_the_table_says() {
    if !skip::unless(Need::Dash, "a_target_with_other_paths_answers_as_the_table_says") {
        holds(&ShellFixture::of(Sh::Dash).expect("it is there").with_other_paths(), &[]).await;
    }
}

#[cfg(feature = "ssh")]
mod over_ssh {
    use guard_testkit::sshd::{LoginShell, Sshd, SshdFixture};

    use super::{Need, holds, skip};

    macro_rules! logins {
        ($($name:ident => $login:ident, $need:ident;)*) => {$(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                let name = stringify!($name);
                if !skip::unless(Need::Sshd, name) && !skip::unless(Need::$need, name) {
                    let sshd = Sshd::builder().login_shell(LoginShell::$login).start().expect("a server");
                    holds(&SshdFixture::new(sshd).await.expect("a way to it"), &[]).await;
                }
            }
        )*};
    }

    logins! {
        a_host_answers_as_the_table_says => Dash, Dash;
        a_host_with_busybox_answers_as_the_table_says => BusyBox, BusyBox;
    }
}

#[cfg(all(target_os = "linux", feature = "docker"))]
mod in_containers {
    use guard_testkit::docker::{DockerFixture, DockerTarget, Image};

    use super::{Need, holds, skip};

    macro_rules! images {
        ($($name:ident => $image:ident;)*) => {$(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                let name = stringify!($name);
                if !skip::unless(Need::Docker, name) && !skip::unless(Need::Root, name) {
                    let target = DockerTarget::of(Image::$image).user(1000).volume("/data").start().await;
                    let fixture = DockerFixture::new(target.expect("a container")).await.expect("its files");
                    holds(&fixture.below("/data"), &[]).await;
                }
            }
        )*};
    }

    images! {
        a_container_of_busybox_answers_as_the_table_says => BusyBox;
        a_container_of_gnu_answers_as_the_table_says => Gnu;
    }
}
