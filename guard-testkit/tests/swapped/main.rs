//! Containment while another process swaps what a path leads to: what was checked is what is used.
//!
//! A swapper process exchanges a directory (or a file) with a link that leads out, or moves the directory out and back,
//! in a loop, while every operation works on what is below. Afterwards the canary outside is as it was, and the
//! workspace has exactly what the calls said that they did. Every operation gets the rounds of `GUARD_RACE_ROUNDS`, 200
//! otherwise, on this machine with each resolver, and an eighth of them over each shell, over SSH and in a container,
//! where all operations together are more than those rounds; `cargo xtask soak` takes 5,000.
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "the test acts as another process does"
)]

mod approval;
mod calls;
mod controls;
mod race;
mod scene;
mod swapper;

use guard_backends::local::Resolver;
use guard_backends::shell::Feature;
use guard_core::port::Tier;
use guard_testkit::conformance::{Fixture, LocalFixture, ShellFixture};
use guard_testkit::skip;
use guard_testkit::transport::Sh;

use race::race;
use scene::Scene;
use swapper::{Swap, this};

fn rounds() -> usize {
    match std::env::var("GUARD_RACE_ROUNDS") {
        Ok(rounds) => rounds.parse().expect("GUARD_RACE_ROUNDS is a number"),
        Err(_) => 200,
    }
}

async fn races(name: &str, fixture: &dyn Fixture, tier: Tier, rounds: usize) {
    for swap in Swap::ALL {
        let scene = Scene::new(fixture.fresh().await.unwrap()).await;
        race(name, &scene, swap, this(), tier, rounds).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_this_machine_nothing_leaves_while_paths_are_swapped() {
    for resolver in [Resolver::Kernel, Resolver::Walk] {
        let fixture = LocalFixture::configured(move |builder| builder.resolver(resolver));
        races(&format!("local, {resolver:?}"), &fixture, Tier::Exchange, rounds()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_this_machine_without_exchange_nothing_leaves_while_paths_are_swapped() {
    let fixture = LocalFixture::configured(|builder| builder.danger_force_tier(Tier::Window));
    races("local, window", &fixture, Tier::Window, rounds() / 4).await;
}

macro_rules! shells {
    ($($name:ident => $sh:ident,)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            if !skip::unless(Sh::$sh.need(), stringify!($name)) {
                let fixture = ShellFixture::of(Sh::$sh).expect("it is there");
                races(stringify!($sh), &fixture, Tier::Exchange, rounds() / 8).await;
            }
        }
    )*};
}

shells! {
    over_dash_nothing_leaves_while_paths_are_swapped => Dash,
    over_bash_nothing_leaves_while_paths_are_swapped => Bash,
    over_busybox_nothing_leaves_while_paths_are_swapped => BusyBox,
    over_mksh_nothing_leaves_while_paths_are_swapped => Mksh,
}

/// Where names cannot be exchanged.
#[tokio::test(flavor = "multi_thread")]
async fn over_a_shell_without_exchange_nothing_leaves_while_paths_are_swapped() {
    if skip::unless(Sh::Dash.need(), "over_a_shell_without_exchange_nothing_leaves_while_paths_are_swapped") {
        return;
    }
    let fixture = ShellFixture::of(Sh::Dash).expect("it is there");
    let fixture = fixture.configured(|builder| builder.danger_without(Feature::Exchange));
    races("dash, window", &fixture, Tier::Window, rounds() / 8).await;
}

#[cfg(feature = "ssh")]
#[tokio::test(flavor = "multi_thread")]
async fn over_ssh_nothing_leaves_while_paths_are_swapped() {
    use guard_testkit::skip::Need;
    use guard_testkit::sshd::{Sshd, SshdFixture};
    if skip::unless(Need::Sshd, "over_ssh_nothing_leaves_while_paths_are_swapped") {
        return;
    }
    let fixture = SshdFixture::new(Sshd::start().unwrap()).await.unwrap();
    races("ssh", &fixture, Tier::Exchange, rounds() / 8).await;
}

/// A process of a container swaps on a folder that is bound into it, while a guard works in the container, and one on
/// this machine.
#[cfg(feature = "docker")]
#[tokio::test(flavor = "multi_thread")]
async fn nothing_leaves_a_folder_in_which_a_process_of_a_container_swaps() {
    use guard_backends::shell::Shell;
    use guard_core::policy::TargetPath;
    use guard_core::port::FileOps;
    use guard_testkit::docker::{DockerTarget, Image, Program};
    use guard_testkit::skip::Need;
    use std::path::PathBuf;
    use std::sync::Arc;
    let name = "nothing_leaves_a_folder_in_which_a_process_of_a_container_swaps";
    if skip::unless(Need::Docker, name) || skip::unless(Need::Root, name) {
        return;
    }
    for swap in Swap::ALL {
        for acts_in_the_container in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let here = folder.path().canonicalize().unwrap().join("ws");
            std::fs::create_dir(&here).unwrap();
            let program = Program::this().unwrap();
            let container = DockerTarget::of(Image::Gnu).bind(folder.path(), "/data");
            let container = container.bind(program.folder(), Program::AT).start().await.unwrap();
            let (ops, root): (Arc<dyn FileOps>, _) = if acts_in_the_container {
                let transport = Arc::new(container.open().await.unwrap());
                let ops = Arc::new(Shell::builder(transport).connect().await.unwrap());
                (ops, TargetPath::new("/data/ws").unwrap())
            } else {
                let ops = Arc::new(guard_backends::local::Local::builder().build().unwrap());
                (ops, TargetPath::new(here.to_str().unwrap()).unwrap())
            };
            let swapper = container.command(&program).await.unwrap();
            let mut scene = Scene::at(here, ops, root, Box::new((folder, program, container))).await;
            // The swapper knows the folder by the container's name for it.
            scene.for_the_swapper = Some(PathBuf::from("/data"));
            let place = if acts_in_the_container { "in the container" } else { "on this machine" };
            let name = format!("a container swaps, {place}");
            race(&name, &scene, swap, swapper, Tier::Exchange, rounds() / 8).await;
        }
    }
}
