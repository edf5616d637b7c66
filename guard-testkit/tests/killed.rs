//! A commit whose connection, shell or container is killed at one of fifty points: all of it or none of it, told truly.
//!
//! The batch makes a folder and a file in it, replaces, removes and moves, so that the points fall into staging,
//! publishing and clearing up. Which calls of tools there are is learnt from a commit that is let through, which is the
//! control as well.
#![cfg(all(target_os = "linux", feature = "ssh", feature = "docker"))]
#![allow(clippy::unwrap_used, reason = "a test's helpers fail the test")]
#![allow(clippy::print_stdout, reason = "what the points came to is what a person wants to see")]
#![allow(clippy::disallowed_methods, reason = "the folders of a test are made by hand")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use guard_backends::shell::Shell;
use guard_backends::ssh::Ssh;
use guard_core::policy::{Digest, Precondition, RootId};
use guard_core::port::{
    Batch, Change, CommitError, CommitFailure, Committed, Effect, Fate, FileOps as _, Last, OpError, Parents,
    Place, Settled, Transport,
};
use guard_testkit::docker::{DockerTarget, Image};
use guard_testkit::skip::{self, Need};
use guard_testkit::sshd::{CutProxy, LoginShell, Sshd};
use guard_testkit::transport::{Call, Called, Deed, Way, Wrappers};

const POINTS: usize = 50;
const TOOLS: [&str; 11] =
    ["link", "mv", "rm", "perl", "dd", "sha256sum", "stat", "mkdir", "sync", "cp", "chmod"];
/// Where images and this machine have their tools: an image has them where this machine does, or in `/bin` alone.
const SEARCH: &str = "/bin";

type Files = BTreeMap<String, Vec<u8>>;

/// A folder of this machine that is on the target.
struct Bench {
    shell: Shell,
    root: RootId,
    /// The folder here, and its path on the target.
    here: PathBuf,
    there: String,
    count: u64,
    /// What the points came to.
    tally: BTreeMap<&'static str, u64>,
}

/// What a commit, and where that did not know, its settlement, said.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Applied,
    NotApplied,
    Uncertain(Vec<Fate>),
}

impl Bench {
    async fn open(transport: impl Transport, here: &Path, there: &str) -> Self {
        let shell = Shell::builder(Arc::new(transport))
            .progress(Duration::from_secs(20))
            .reconnect(2, Duration::from_millis(1))
            .connect()
            .await
            .unwrap();
        let root = common::root(&shell, there).await;
        let (here, there) = (here.to_owned(), there.to_owned());
        Self { shell, root, here, there, count: 0, tally: BTreeMap::new() }
    }

    /// Makes the folder what it is before a commit.
    fn fill(&self) {
        for entry in fs::read_dir(&self.here).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                fs::remove_dir_all(path).unwrap();
            } else {
                fs::remove_file(path).unwrap();
            }
        }
        for name in ["replaced", "removed", "moved"] {
            fs::write(self.here.join(name), format!("old {name}")).unwrap();
        }
    }

    fn names(&self) -> Vec<String> {
        let below = |folder: &str| {
            let entries = fs::read_dir(self.here.join(folder)).into_iter().flatten();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.map(|name| format!("{folder}{name}")).collect::<Vec<_>>()
        };
        [below(""), below("made/")].concat()
    }

    /// What files there are, without temporary names.
    fn files(&self) -> Files {
        let names = self.names().into_iter().filter(|name| !name.contains(".guard-"));
        names.filter_map(|name| Some((name.clone(), fs::read(self.here.join(&name)).ok()?))).collect()
    }

    fn temps(&self) -> Vec<String> {
        self.names().into_iter().filter(|name| name.contains(".guard-")).collect()
    }

    fn batch(&mut self) -> Batch {
        self.count += 1;
        let at = |name: &str| Place {
            last: Last::Itself,
            ..common::place(self.root, name, &format!("{}/{name}", self.there))
        };
        let old = |name: &str| Precondition::Content { digest: Digest::of(format!("old {name}").as_bytes()) };
        let moved = Effect::MoveTo {
            to: at("destination"),
            destination: Precondition::Absent,
            parents: Parents::Require,
        };
        let changes = vec![
            common::put(at("made/created"), Precondition::Absent, b"new created"),
            common::put(at("replaced"), old("replaced"), b"new replaced"),
            Change { place: at("removed"), precondition: old("removed"), effect: Effect::Remove },
            Change { place: at("moved"), precondition: old("moved"), effect: moved },
        ];
        common::batch(&format!("killed-{}-{}-{}", std::process::id(), self.there, self.count), changes)
    }

    /// Finds out what became of a commit.
    async fn told(&self, batch: &Batch, said: Result<Committed, CommitError>) -> Told {
        let Err(error) = said else { return Told::Applied };
        if matches!(error.cause, CommitFailure::Op(OpError::OutcomeUnknown { .. })) {
            return match self.shell.settle(&batch.id).await.unwrap() {
                Settled::Applied { .. } => Told::Applied,
                Settled::NotApplied { .. } => Told::NotApplied,
                Settled::Conflict { fates } => Told::Uncertain(fates),
            };
        }
        let is_clean = |fate: &Fate| matches!(fate, Fate::Untouched | Fate::Restored);
        if error.fates.iter().all(is_clean) { Told::NotApplied } else { Told::Uncertain(error.fates) }
    }

    /// Claims that what was told is so, and that nothing temporary is left after the next connection.
    async fn holds(&mut self, what: &str, ends: &Ends, told: &Told) {
        // Where the request was cut, what was staged is looked for on the next session.
        let found = common::stat(&self.shell, self.root, "replaced", Last::Itself).await;
        assert!(found.is_ok(), "{what}: {found:?}");
        let now = self.files();
        match told {
            Told::Applied => assert_eq!(now, ends.new, "{what}: told that it was applied"),
            Told::NotApplied => {
                assert_eq!(now, ends.old, "{what}: told that it was not applied");
                assert!(!self.here.join("made").exists(), "{what}: a folder stays");
            }
            // Nobody else was at it, and every shell can be asked again: there is nothing that cannot be known.
            Told::Uncertain(fates) => {
                panic!("{what}: {fates:?}, and there is {now:?} and {:?}", self.temps())
            }
        }
        assert_eq!(self.temps(), Vec::<String>::new(), "{what}: {told:?}");
        let name = if *told == Told::Applied { "applied" } else { "not applied" };
        *self.tally.entry(name).or_default() += 1;
    }

    /// Lets a commit through: the control, and how the files are before and after.
    async fn through(&mut self) -> Ends {
        self.fill();
        let old = self.files();
        let batch = self.batch();
        self.shell.commit(batch).await.unwrap();
        let new = self.files();
        let expected =
            [("destination", "old moved"), ("made/created", "new created"), ("replaced", "new replaced")];
        let expected = expected.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
        assert_eq!(new, Files::from(expected));
        assert_eq!(self.temps(), Vec::<String>::new());
        Ends { old, new }
    }
}

/// The files before and after a commit.
struct Ends {
    old: Files,
    new: Files,
}

impl Ends {
    /// Claims that every file is old or new at this moment: whole, and under a name that is one's own.
    fn are_whole(&self, what: &str, now: &Files) {
        for (name, bytes) in now {
            let (old, new) = (self.old.get(name), self.new.get(name));
            assert!(old == Some(bytes) || new == Some(bytes), "{what}: {name} is {bytes:?}");
        }
        // A file of both ends is never gone; one that is moved is under one of its names.
        assert!(now.contains_key("replaced"), "{what}: {now:?}");
    }
}

/// A step of the target: a call of a tool, and how often it was called before.
#[derive(Debug, Clone)]
struct Step {
    tool: String,
    nth: u64,
}

impl Step {
    fn call(&self) -> Call {
        Call::of(&self.tool).nth(self.nth)
    }
}

fn wrappers(search: impl Into<std::ffi::OsString>) -> Wrappers {
    let wrappers = Wrappers::over(search).unwrap();
    for tool in TOOLS {
        // An image has no more tools than this machine; one that is found nowhere is not called.
        let _ = wrappers.wrap(tool);
    }
    wrappers
}

/// Lets a commit through and returns its steps, in order.
async fn steps(bench: &mut Bench, wrappers: &Wrappers) -> (Ends, Vec<Step>) {
    // The first requests of a session may call tools too.
    bench.through().await;
    let before = wrappers.calls().unwrap().len();
    let ends = bench.through().await;
    let calls = wrappers.calls().unwrap().split_off(before);
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let steps = calls.into_iter().map(|Called { tool, .. }| {
        let nth = counts.entry(tool.clone()).or_default();
        *nth += 1;
        Step { tool, nth: *nth }
    });
    (ends, steps.collect())
}

/// Each step in two ways.
fn in_two_ways(steps: &[Step]) -> Vec<(Step, bool)> {
    steps.iter().flat_map(|step| [false, true].map(|way| (step.clone(), way))).collect()
}

/// Takes `count` of them, spread evenly, the first and the last among them.
fn sampled<T: Clone>(all: &[T], count: usize) -> Vec<T> {
    let last = all.len() - 1;
    (0..count).map(|nth| all[nth * last / (count - 1).max(1)].clone()).collect()
}

/// Returns the sessions (setsid(2)) of the processes of this machine of which `is_one` is true.
fn sessions(is_one: impl Fn(&Path, u32) -> bool) -> BTreeSet<u32> {
    let session = |entry: fs::DirEntry| -> Option<u32> {
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        // proc(5): after the name in parentheses come state, parent, group, session.
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').take(4).collect();
        let session = fields.get(3)?.parse().ok()?;
        // One that has ended and was not waited for does nothing any more.
        (fields[0] != "Z" && is_one(&entry.path(), session)).then_some(session)
    };
    fs::read_dir("/proc").unwrap().flatten().filter_map(session).collect()
}

/// The server's side of a connection, a proxy that cuts it, and a folder of the host.
struct Host {
    sshd: Sshd,
    proxy: CutProxy,
    wrappers: Wrappers,
    _folder: tempfile::TempDir,
}

impl Host {
    async fn new() -> (Self, Bench) {
        let wrappers = wrappers(std::env::var_os("PATH").unwrap_or_default());
        let path = wrappers.path().into_string().unwrap();
        let sshd = Sshd::builder().login_shell(LoginShell::Dash).env("PATH", path).start().unwrap();
        let proxy = CutProxy::start(sshd.address()).unwrap();
        let url = format!("ssh://{}@{}", sshd.user(), proxy.address());
        let ssh = Ssh::to(url.parse().unwrap()).config(sshd.config()).resolve().await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().canonicalize().unwrap();
        let bench = Bench::open(ssh, &here, here.to_str().unwrap()).await;
        (Self { sshd, proxy, wrappers, _folder: folder }, bench)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_over_ssh_whose_connection_is_cut_at_any_byte_is_all_or_nothing_and_told_truly() {
    let name = "a_commit_over_ssh_whose_connection_is_cut_at_any_byte_is_all_or_nothing_and_told_truly";
    if skip::unless(Need::Sshd, name) || skip::unless(Need::Dash, name) {
        return;
    }
    let (host, mut bench) = Host::new().await;
    bench.through().await;
    let ways = [(Way::ToShell, POINTS / 2), (Way::FromShell, POINTS - POINTS / 2)];
    let before = ways.map(|(way, _)| host.proxy.passed(way));
    let ends = bench.through().await;
    let bytes: Vec<u64> =
        ways.iter().zip(before).map(|((way, _), before)| host.proxy.passed(*way) - before).collect();
    for ((way, count), bytes) in ways.into_iter().zip(bytes) {
        let places: Vec<u64> = (0..=bytes).collect();
        for at in sampled(&places, count) {
            bench.fill();
            // A session that is there, so that the count begins with the commit.
            common::stat(&bench.shell, bench.root, "replaced", Last::Itself).await.unwrap();
            let what = format!("cut after byte {at} of {bytes} {way:?}");
            host.proxy.cut_after(way, at);
            let batch = bench.batch();
            let said = bench.shell.commit(batch.clone()).await;
            // The last byte may be one that nobody waits for.
            host.proxy.forget();
            let told = bench.told(&batch, said).await;
            bench.holds(&what, &ends, &told).await;
        }
    }
    let cuts = host.proxy.cuts();
    println!("ssh, cut: {cuts} cuts: {:?}", bench.tally);
    // The sizes of packets differ a little, and the last byte may never come.
    assert!(cuts * 10 >= POINTS * 9, "{cuts}");
    assert!(bench.tally.len() == 2, "{:?}", bench.tally);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_over_ssh_whose_server_is_killed_at_any_step_is_all_or_nothing_and_told_truly() {
    let name = "a_commit_over_ssh_whose_server_is_killed_at_any_step_is_all_or_nothing_and_told_truly";
    if skip::unless(Need::Sshd, name) || skip::unless(Need::Dash, name) {
        return;
    }
    let (host, mut bench) = Host::new().await;
    let (ends, steps) = steps(&mut bench, &host.wrappers).await;
    for (step, late) in sampled(&in_two_ways(&steps), POINTS) {
        bench.fill();
        common::stat(&bench.shell, bench.root, "replaced", Last::Itself).await.unwrap();
        let batch = bench.batch();
        let mut gate = host.wrappers.hold(step.call()).unwrap();
        let shell = bench.shell.clone();
        let committed = tokio::spawn({
            let batch = batch.clone();
            async move { shell.commit(batch).await }
        });
        gate.reached().await;
        ends.are_whole(&format!("at {step:?}"), &bench.files());
        let works_there = |process: &Path, _| {
            fs::read_link(process.join("cwd")).is_ok_and(|at| at.starts_with(&bench.here))
        };
        let old = sessions(works_there);
        assert!(!old.is_empty(), "{step:?}: nobody works in the folder");
        assert_eq!(host.sshd.kill_connections(), 1);
        // The old shell and its tool go on at once, or only when all is settled.
        let what =
            format!("server killed before {step:?}, which goes on {}", if late { "late" } else { "at once" });
        let said = if late {
            let said = committed.await.unwrap();
            gate.open();
            said
        } else {
            gate.open();
            committed.await.unwrap()
        };
        let told = bench.told(&batch, said).await;
        // Whatever the killed connection had started comes to its end.
        while !sessions(|_, session| old.contains(&session)).is_empty() {
            tokio::task::yield_now().await;
        }
        bench.holds(&what, &ends, &told).await;
    }
    println!("ssh, server killed: {} steps: {:?}", steps.len(), bench.tally);
    assert!(bench.tally.len() == 2, "{:?}", bench.tally);
}

/// A container with wrappers before its tools, and a folder of this machine.
async fn container(image: Image) -> (DockerTarget, Wrappers, tempfile::TempDir, Bench) {
    let wrappers = wrappers(SEARCH);
    let path = wrappers.path().into_string().unwrap();
    let tools = path.split("/bin:").next().unwrap().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let container = DockerTarget::of(image)
        .env("PATH", path)
        .bind(Path::new(&tools), tools.clone())
        .bind(folder.path(), "/data")
        .start()
        .await
        .unwrap();
    let transport = container.open().await.unwrap();
    let bench = Bench::open(transport, &folder.path().canonicalize().unwrap(), "/data").await;
    (container, wrappers, folder, bench)
}

async fn shells_are_killed(image: Image) {
    let (_container, wrappers, _folder, mut bench) = container(image).await;
    let (ends, steps) = steps(&mut bench, &wrappers).await;
    for (step, after) in sampled(&in_two_ways(&steps), POINTS) {
        bench.fill();
        common::stat(&bench.shell, bench.root, "replaced", Last::Itself).await.unwrap();
        wrappers.plan(if after { step.call().after() } else { step.call() }, Deed::KillShell).unwrap();
        let batch = bench.batch();
        let said = bench.shell.commit(batch.clone()).await;
        let told = bench.told(&batch, said).await;
        let what = format!("{image:?}: shell killed {} {step:?}", if after { "after" } else { "before" });
        bench.holds(&what, &ends, &told).await;
    }
    println!("docker, {image:?}, shell killed: {} steps: {:?}", steps.len(), bench.tally);
    assert!(bench.tally.len() == 2, "{:?}", bench.tally);
}

fn is_without_docker(test: &str) -> bool {
    skip::unless(Need::Docker, test) || skip::unless(Need::Root, test)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_shell_is_killed_in_a_container_of_gnu_is_all_or_nothing_and_told_truly() {
    if !is_without_docker(
        "a_commit_whose_shell_is_killed_in_a_container_of_gnu_is_all_or_nothing_and_told_truly",
    ) {
        shells_are_killed(Image::Gnu).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_shell_is_killed_in_a_container_of_busybox_is_all_or_nothing_and_told_truly() {
    if !is_without_docker(
        "a_commit_whose_shell_is_killed_in_a_container_of_busybox_is_all_or_nothing_and_told_truly",
    ) {
        shells_are_killed(Image::BusyBox).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_container_is_killed_is_all_or_nothing_and_told_truly_when_it_runs_again() {
    if is_without_docker(
        "a_commit_whose_container_is_killed_is_all_or_nothing_and_told_truly_when_it_runs_again",
    ) {
        return;
    }
    let (container, wrappers, _folder, mut bench) = container(Image::Gnu).await;
    let (ends, steps) = steps(&mut bench, &wrappers).await;
    for (step, after) in sampled(&in_two_ways(&steps), POINTS) {
        bench.fill();
        common::stat(&bench.shell, bench.root, "replaced", Last::Itself).await.unwrap();
        let batch = bench.batch();
        let mut gate = wrappers.hold(if after { step.call().after() } else { step.call() }).unwrap();
        let shell = bench.shell.clone();
        let committed = tokio::spawn({
            let batch = batch.clone();
            async move { shell.commit(batch).await }
        });
        gate.reached().await;
        container.kill().await.unwrap();
        let what = format!("container killed {} {step:?}", if after { "after" } else { "before" });
        ends.are_whole(&what, &bench.files());
        container.start().await.unwrap();
        drop(gate);
        let said = committed.await.unwrap();
        let told = bench.told(&batch, said).await;
        bench.holds(&what, &ends, &told).await;
    }
    println!("docker, container killed: {} steps: {:?}", steps.len(), bench.tally);
    assert!(bench.tally.len() == 2, "{:?}", bench.tally);
}
