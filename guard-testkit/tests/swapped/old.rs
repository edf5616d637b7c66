//! Containment while another process swaps what a path leads to: what was checked is what is used.
//!
//! A swapper process exchanges a directory (or a file) with a link that leads out, or moves the directory out and back,
//! in a loop, while every tool works on what is below. The rounds are those of `GUARD_RACE_ROUNDS`, 200 otherwise;
//! `cargo xtask soak` runs 5,000.
#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "the test acts as another process does"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use async_trait::async_trait;
use guard_backends::local::Resolver;
use guard_core::policy::{Access, Code, Digest, TargetPath};
use guard_core::port::FileOps;
use guard_core::{
    Actor, Answer, Approver, EditFile, Failure, Guard, ListDir, MakeDir, MoveFile, Proposal, ReadFile,
    StatPaths, WriteFile,
};
use guard_testkit::conformance::{Fixture, Ground, LocalFixture, ShellFixture};
use guard_testkit::skip::{self, Need};
use guard_testkit::transport::Sh;
use guard_testkit::tree::digest_of_tree;
use rustix::fs::{CWD, RenameFlags, rename, renameat_with};

const AS_SWAPPER: [&str; 4] = ["--exact", "swapper_process", "--nocapture", "--test-threads=1"];
/// A word that is outside and nowhere else.
const MARKER: &str = "canary";

/// Not a test of its own: the process that swaps until it is killed.
#[test]
fn swapper_process() {
    let Ok(swap) = std::env::var("GUARD_SWAPPER") else { return };
    let words: Vec<&str> = swap.split('\n').collect();
    let [how, one, other] = words[..] else { panic!("{swap:?}") };
    println!("ready");
    loop {
        // Whoever is in the way for an instant is the guard.
        let _ = match how {
            "exchange" => renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE),
            _ => rename(one, other).and_then(|()| rename(other, one)),
        };
    }
}

fn rounds() -> usize {
    match std::env::var("GUARD_RACE_ROUNDS") {
        Ok(rounds) => rounds.parse().expect("GUARD_RACE_ROUNDS is a number"),
        Err(_) => 200,
    }
}

/// The process that swaps, until it is dropped.
struct Swapper(Child);

impl Swapper {
    fn start(mut command: Command, how: &str, one: &Path, other: &Path) -> Self {
        let swap = format!("{how}\n{}\n{}", one.display(), other.display());
        command.args(AS_SWAPPER).env("GUARD_SWAPPER", swap).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It swaps when it has said so.
        let mut said = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("ready") {
            line.clear();
            assert!(
                std::io::BufRead::read_line(&mut said, &mut line).unwrap() > 0,
                "the swapper did not start"
            );
        }
        Self(child)
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What is swapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Swap {
    /// The directory `d` and a link to the canary.
    Parent,
    /// The file `d/f` and a link to a file of the canary.
    File,
    /// The directory `d` is moved out of the root and back.
    MovedOut,
}

/// A workspace, a canary and a place beside both; the paths of this machine, and the guard on the target.
struct Scene {
    here: PathBuf,
    guard: Guard,
    canary: Digest,
    /// What the base is called where the swapper is, if it is not here.
    for_the_swapper: Option<PathBuf>,
    _keep: Box<dyn std::any::Any + Send + Sync>,
}

impl Scene {
    /// Makes it of a ground whose paths are those of this machine.
    async fn new(ground: Ground) -> Self {
        let here = PathBuf::from(ground.root.as_str());
        Self::at(here, ground.ops, ground.root, ground.keep).await
    }

    async fn at(
        here: PathBuf,
        ops: Arc<dyn FileOps>,
        root: TargetPath,
        keep: Box<dyn std::any::Any + Send + Sync>,
    ) -> Self {
        let base = here.parent().unwrap().to_owned();
        for directory in [here.join("d"), base.join(MARKER), base.join("away")] {
            std::fs::create_dir(directory).unwrap();
        }
        for name in ["f", "inner.txt"] {
            std::fs::write(base.join(MARKER).join(name), "canary, theirs\n").unwrap();
        }
        std::fs::write(here.join("d/f"), "theirs\n").unwrap();
        // The same text leads there for this machine and for a target that has the folders elsewhere.
        std::os::unix::fs::symlink(format!("../{MARKER}"), here.join("link")).unwrap();
        std::os::unix::fs::symlink(format!("../../{MARKER}/f"), here.join("d/l")).unwrap();
        let guard = Guard::builder(ops).root(root, Access::ReadWrite).open().await.unwrap();
        let canary = digest_of_tree(&base.join(MARKER)).unwrap();
        Self { here, guard, canary, for_the_swapper: None, _keep: keep }
    }

    fn base(&self) -> &Path {
        self.here.parent().unwrap()
    }

    fn pair(&self, swap: Swap) -> (&'static str, PathBuf, PathBuf) {
        let base = self.for_the_swapper.as_deref().unwrap_or(self.base());
        match swap {
            Swap::Parent => ("exchange", base.join("ws/d"), base.join("ws/link")),
            Swap::File => ("exchange", base.join("ws/d/f"), base.join("ws/d/l")),
            Swap::MovedOut => ("away", base.join("ws/d"), base.join("away/d")),
        }
    }

    fn assert_canary(&self, what: &str) {
        assert_eq!(
            digest_of_tree(&self.base().join(MARKER)).unwrap(),
            self.canary,
            "{what}: the canary was touched"
        );
    }

    /// Returns what commits left anywhere but in reported names.
    fn unreported(&self, reported: &[String]) -> Vec<String> {
        fn walk(at: &Path, out: &mut Vec<String>) {
            let Ok(entries) = std::fs::read_dir(at) else { return };
            for entry in entries {
                let Ok(entry) = entry else { continue };
                let name = entry.file_name().to_string_lossy().into_owned();
                if name.starts_with(".guard-") {
                    out.push(name);
                } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    walk(&entry.path(), out);
                }
            }
        }
        let mut left = Vec::new();
        walk(self.base(), &mut left);
        left.retain(|name| !reported.iter().any(|reported| reported.contains(name.as_str())));
        left
    }
}

/// What a race came to, for each tool: how many calls were done and how many refused, by code.
#[derive(Debug, Default)]
struct Tally(BTreeMap<&'static str, BTreeMap<String, usize>>);

impl Tally {
    fn count<T>(&mut self, tool: &'static str, outcome: &Result<T, Failure>) {
        let word = outcome.as_ref().err().map_or("ok", |failure| failure.refusal.code.as_str()).to_owned();
        *self.0.entry(tool).or_default().entry(word).or_default() += 1;
    }

    fn total(&self, of: impl Fn(&str) -> bool) -> usize {
        self.0.values().flatten().filter(|(word, _)| of(word)).map(|(_, count)| count).sum()
    }
}

/// How a call may end while somebody swaps: done, or refused in one of these words.
const ALLOWED: &[Code] = &[
    Code::OutsideRoot,
    Code::UnstablePath,
    Code::Conflict,
    Code::Stale,
    Code::NotRead,
    Code::NotFound,
    Code::NotADirectory,
    Code::NotRegular,
    Code::Exists,
    Code::TornRead,
    Code::InvalidPath,
    Code::PartiallyRead,
    // Of what is a link for an instant, attributes cannot be kept.
    Code::MetadataLoss,
    // A tool and the shell see it at different instants: nothing is known, and nothing was done.
    Code::StateUnavailable,
];

const TOOLS: [&str; 9] = ["read", "list", "stat", "write", "edit", "create", "make", "move in", "move out"];

/// Makes a call; returns the names that its receipt says are left.
async fn call(scene: &Scene, swap: Swap, tool: &'static str, round: usize) -> Result<Vec<String>, Failure> {
    let actor: Actor = scene.guard.actor("agent");
    let (file, fresh) = ("d/f", format!("d/new-{round}"));
    let done = match tool {
        "read" => {
            let result = actor.read_file(ReadFile::new(file)).await?;
            let content = result.content.unwrap_or_default();
            assert!(!content.contains(MARKER), "{swap:?}: outside was read: {content}");
            return Ok(Vec::new());
        }
        "list" => {
            let listing = actor.list_dir(ListDir { path: Some("d".into()), ..ListDir::default() }).await?;
            let names: Vec<&str> = listing.entries.iter().map(|entry| entry.name.as_str()).collect();
            assert!(!names.contains(&"inner.txt"), "{swap:?}: outside was listed: {names:?}");
            return Ok(Vec::new());
        }
        "stat" => {
            let told = actor.stat(StatPaths::new(file)).await?;
            let outside = Some(Digest::of(b"canary, theirs\n"));
            assert!(told.paths.iter().all(|facts| facts.state.digest() != outside), "{swap:?}: {told:?}");
            return Ok(Vec::new());
        }
        "write" => {
            let _ = actor.read_file(ReadFile::new(file)).await;
            actor.write_file(WriteFile::new(file, format!("theirs, round {round}\n"))).await?
        }
        "edit" => actor.edit_file(EditFile::new(file, "theirs", "theirs.")).await?,
        "create" => actor.write_file(WriteFile::new(&fresh, "new\n")).await?,
        "make" => actor.make_dir(MakeDir { path: format!("d/x/y-{round}"), dry_run: false }).await?,
        "move in" => {
            let spare = format!("spare-{round}");
            std::fs::write(scene.here.join(&spare), "spare\n").unwrap();
            actor.move_file(MoveFile::new(&spare, format!("d/in-{round}"))).await?
        }
        _ => {
            let from = format!("d/new-{}", round.saturating_sub(3));
            actor.move_file(MoveFile::new(from, format!("out-{round}"))).await?
        }
    };
    let changes = done.receipt().into_iter().flat_map(|receipt| receipt.changes);
    Ok(changes.flat_map(|change| change.left).collect())
}

/// Races every tool against the swapper.
async fn race(name: &str, scene: &Scene, swap: Swap, swapper: Command, rounds: usize) {
    let (how, one, other) = scene.pair(swap);
    let swapper = Swapper::start(swapper, how, &one, &other);
    let (mut tally, mut reported) = (Tally::default(), Vec::new());
    let met = |tally: &Tally| tally.total(|word| word == "ok") > 0 && tally.total(|word| word != "ok") > 0;
    // As many rounds as are asked for, and more where one side of what is swapped was not met yet.
    for round in 0..rounds * 20 {
        if round >= rounds && met(&tally) {
            break;
        }
        let tool = TOOLS[round % TOOLS.len()];
        let outcome = call(scene, swap, tool, round).await;
        if let Ok(left) = &outcome {
            reported.extend(left.iter().cloned());
        }
        if let Err(failure) = &outcome {
            let code = failure.refusal.code;
            assert!(ALLOWED.contains(&code), "{name}, {swap:?}, {tool}: {failure:?}");
            reported.extend(failure.refusal.left.iter().cloned());
            let said = format!("{} {:?}", failure.refusal.message, failure.refusal.remedy);
            assert!(!said.contains(MARKER), "{name}, {swap:?}, {tool}: {said}");
        }
        tally.count(tool, &outcome);
        if round % 20 == 0 {
            scene.assert_canary(&format!("{name}, {swap:?}, {tool}"));
        }
    }
    drop(swapper);
    scene.assert_canary(&format!("{name}, {swap:?}"));
    println!("{name}, {swap:?}: {:?}", tally.0);
    assert_eq!(scene.unreported(&reported), [""; 0], "{name}, {swap:?}");
    // The race took place: both of what is swapped was met.
    assert!(met(&tally), "{name}, {swap:?}: {tally:?}");
}

fn this() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

async fn races(name: &str, fixture: &dyn Fixture) {
    for swap in [Swap::Parent, Swap::File, Swap::MovedOut] {
        let scene = Scene::new(fixture.fresh().await.unwrap()).await;
        race(name, &scene, swap, this(), rounds()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_this_machine_nothing_leaves_while_paths_are_swapped() {
    for resolver in [Resolver::Kernel, Resolver::Walk] {
        let fixture = LocalFixture::configured(move |builder| builder.resolver(resolver));
        races(&format!("local, {resolver:?}"), &fixture).await;
    }
}

macro_rules! shells {
    ($($name:ident => $sh:ident,)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            if !skip::unless(Sh::$sh.need(), stringify!($name)) {
                races(stringify!($sh), &ShellFixture::of(Sh::$sh).expect("it is there")).await;
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

/// A process of a container swaps on a folder that is bound into it, while a guard works in the container, and one on
/// this machine.
#[cfg(feature = "docker")]
#[tokio::test(flavor = "multi_thread")]
async fn nothing_leaves_a_folder_in_which_a_process_of_a_container_swaps() {
    use guard_backends::shell::Shell;
    use guard_testkit::docker::{DockerTarget, Image, Program};
    let name = "nothing_leaves_a_folder_in_which_a_process_of_a_container_swaps";
    if skip::unless(Need::Docker, name) || skip::unless(Need::Root, name) {
        return;
    }
    for swap in [Swap::Parent, Swap::File, Swap::MovedOut] {
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
            race(&format!("a container swaps, {place}"), &scene, swap, swapper, rounds() / 2).await;
        }
    }
}

/// An approver that swaps while it thinks.
struct Thinks(Box<dyn Fn() + Send + Sync>);

#[async_trait]
impl Approver for Thinks {
    async fn approve(&self, _: &Proposal<'_>) -> Answer {
        (self.0)();
        Answer::Approve
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_swapped_while_an_approval_is_open_is_resolved_again() {
    let dash = ShellFixture::of(Sh::Dash);
    let mut fixtures: Vec<(&str, Box<dyn Fixture>)> = vec![
        ("kernel", Box::new(LocalFixture::configured(|builder| builder.resolver(Resolver::Kernel)))),
        ("walk", Box::new(LocalFixture::configured(|builder| builder.resolver(Resolver::Walk)))),
    ];
    if !skip::unless(Need::Dash, "what_is_swapped_while_an_approval_is_open_is_resolved_again (over a shell)")
    {
        fixtures.push(("dash", Box::new(dash.expect("it is there"))));
    }
    for (name, fixture) in fixtures {
        for swap in [Swap::Parent, Swap::File, Swap::MovedOut] {
            for tool in ["write", "create", "make", "move in", "edit"] {
                let ground = fixture.fresh().await.unwrap();
                let (ops, root) = (Arc::clone(&ground.ops), ground.root.clone());
                let scene = Scene::new(ground).await;
                let (how, one, other) = scene.pair(swap);
                let thinks = Thinks(Box::new(move || match how {
                    "exchange" => renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap(),
                    _ => rename(&one, &other).unwrap(),
                }));
                let builder = Guard::builder(ops).root(root, Access::ReadWrite).approver(Arc::new(thinks));
                let asking = Scene { guard: builder.open().await.unwrap(), ..scene };
                let before = digest_of_tree(&asking.base().join("away")).unwrap();
                let outcome = match tool {
                    "edit" => {
                        let edit = EditFile::new("d/f", "theirs", "mine");
                        asking.guard.actor("agent").edit_file(edit).await.map(drop)
                    }
                    _ => call(&asking, swap, tool, 0).await.map(drop),
                };
                let case = format!("{name}, {swap:?}, {tool}");
                // Beside the file that is swapped, others can be made.
                let is_beside = swap == Swap::File && !matches!(tool, "write" | "edit");
                // A directory that is gone is made again, inside.
                let is_made_again = swap == Swap::MovedOut && !matches!(tool, "write" | "edit");
                match outcome {
                    Ok(()) => assert!(is_beside || is_made_again, "{case}: it was done"),
                    Err(failure) => assert!(ALLOWED.contains(&failure.refusal.code), "{case}: {failure:?}"),
                }
                asking.assert_canary(&case);
                if swap == Swap::MovedOut {
                    let after = digest_of_tree(&asking.base().join("away/d")).unwrap();
                    assert_ne!(before, after);
                    assert_eq!(
                        std::fs::read_to_string(asking.base().join("away/d/f")).unwrap(),
                        "theirs\n",
                        "{case}"
                    );
                    assert_eq!(std::fs::read_dir(asking.base().join("away/d")).unwrap().count(), 2, "{case}");
                }
            }
        }
    }
}

/// The negative controls: a path that is checked and then opened leads outside, by this process and by a shell.
#[test]
fn control_a_path_that_is_checked_and_then_opened_leads_outside() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for directory in ["ws", "ws/d", MARKER] {
        std::fs::create_dir(at(directory)).unwrap();
    }
    std::fs::write(at("ws/d/f"), "theirs\n").unwrap();
    std::fs::write(at(MARKER).join("f"), "canary\n").unwrap();
    std::os::unix::fs::symlink(format!("../{MARKER}"), at("ws/link")).unwrap();
    let _swapper = Swapper::start(this(), "exchange", &at("ws/d"), &at("ws/link"));
    let leaks = (0..200_000).any(|_| {
        let is_inside = at("ws/d").symlink_metadata().is_ok_and(|meta| meta.is_dir());
        is_inside && std::fs::read_to_string(at("ws/d/f")).is_ok_and(|text| text.contains(MARKER))
    });
    assert!(leaks, "the check and the opening met the same directory every time");
    let line = "i=0; while [ $i -lt 20000 ]; do [ ! -L d ] && cat d/f 2>/dev/null; i=$((i + 1)); done";
    let shell = Command::new("sh").args(["-c", line]).current_dir(at("ws")).output().unwrap();
    assert!(
        String::from_utf8_lossy(&shell.stdout).contains(MARKER),
        "the shell met the same directory every time"
    );
}
