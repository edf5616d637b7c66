//! Two real writers on one target: a guard over SSH or in a container, and a process on the target itself.
//!
//! On each target the rounds of `GUARD_RACE_ROUNDS` (100 otherwise; `cargo xtask soak` runs 2,000) are divided among
//! the kinds of rival, once for creations and once for replacements. What a rival keeps open past a commit is outside
//! the promise, as a shell has no lease: the kind that opens, waits and writes is measured and not judged.
#![cfg(all(target_os = "linux", feature = "ssh", feature = "docker"))]
#![allow(clippy::unwrap_used, reason = "a test's helpers fail the test")]
#![allow(clippy::print_stdout, reason = "the rates are what a person wants to see")]
#![allow(clippy::disallowed_methods, reason = "the folders of a test are made by hand")]

use std::any::Any;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use guard_backends::shell::Shell;
use guard_backends::ssh::Ssh;
use guard_core::policy::{Digest, TargetPath};
use guard_core::port::{FileOps, Tier, Transport};
use guard_testkit::conformance::{LocalWorld, World};
use guard_testkit::docker::{DockerTarget, Image, Program};
use guard_testkit::race::judge::Outcome;
use guard_testkit::race::{self, Contender, Guarded, Report, Stage, UnguardedShell, What};
use guard_testkit::rival::{self, Kind, Rival};
use guard_testkit::skip::{self, Need};
use guard_testkit::sshd::{LoginShell, Sshd};
use guard_testkit::transport::{Call, Sh, Wrappers};

/// Rounds of a plain test run, of creations and of replacements on each target.
const ROUNDS: u64 = 100;
/// Rounds of a control, and how often it is tried: a round loses something with a chance of a tenth at least.
const CONTROL: (u64, usize) = (25, 8);
const AS_RIVAL: [&str; 4] = ["--exact", "rival_process", "--nocapture", "--test-threads=1"];
/// The kinds that are over when their last call returns: of these nothing may be lost, lease or not.
const REPLACING: [Kind; 4] =
    [Kind::RenamesOver, Kind::WritesInPlace, Kind::UnlinksAndCreates, Kind::Exchanges];

/// Not a test of its own: the process that races against the guard.
#[test]
fn rival_process() {
    rival::main_loop_if_asked();
    // Asked for by nobody, it goes on here.
    for kind in Kind::CREATING {
        assert_eq!(kind.name().parse::<Kind>().unwrap(), kind);
    }
}

fn rounds() -> u64 {
    match std::env::var("GUARD_RACE_ROUNDS") {
        Ok(rounds) => rounds.parse().expect("GUARD_RACE_ROUNDS is a number"),
        Err(_) => ROUNDS,
    }
}

/// A target, and the ways of others to its files.
struct Site {
    name: &'static str,
    ops: Arc<dyn FileOps>,
    transport: Arc<dyn Transport>,
    /// The way of the race itself, and the directory as it names it.
    world: Arc<dyn World>,
    here: String,
    /// The directory as the target names it.
    there: String,
    /// Where the rival is: in the container, or on this machine.
    container: Option<(DockerTarget, Program)>,
    count: AtomicU32,
    _keep: Box<dyn Any + Send + Sync>,
}

impl Site {
    async fn new(
        name: &'static str,
        transport: Arc<dyn Transport>,
        world: Arc<dyn World>,
        (here, there): (String, String),
        container: Option<(DockerTarget, Program)>,
        keep: Box<dyn Any + Send + Sync>,
    ) -> Self {
        let ops = Arc::new(Shell::builder(Arc::clone(&transport)).connect().await.unwrap());
        let count = AtomicU32::new(0);
        Self { name, ops, transport, world, here, there, container, count, _keep: keep }
    }

    async fn race(&self, what: What, kind: Kind, rounds: u64, guard: bool) -> Report {
        let nth = self.count.fetch_add(1, Ordering::Relaxed);
        let here = format!("{}/{nth}", self.here);
        self.world.mkdir(here.as_bytes()).unwrap();
        let file = format!("{here}/file");
        let there = TargetPath::new(format!("{}/{nth}", self.there)).unwrap();
        let contender: Box<dyn Contender> = if guard {
            Box::new(Guarded::at(Arc::clone(&self.ops), there, "file").await.unwrap())
        } else {
            Box::new(UnguardedShell::open(&*self.transport, &there.child("file").unwrap()).await.unwrap())
        };
        let mut rival = match &self.container {
            None => Rival::spawn(kind, Path::new(&file), &AS_RIVAL).unwrap(),
            Some((container, program)) => {
                let mut command = container.command(program).await.unwrap();
                let file = format!("{}/{nth}/file", self.there);
                command.args(AS_RIVAL).envs(rival::variables(kind, Path::new(&file)));
                Rival::of(kind, &mut command).unwrap()
            }
        };
        let stage = Stage { world: &*self.world, file: file.as_bytes() };
        let report = race::run_on(stage, what, &*contender, &mut rival, rounds).await.unwrap();
        let who = if guard { "" } else { "unguarded, " };
        println!("{who}{}, {what:?}, rival {kind}: {report}", self.name);
        assert_eq!(report.rounds, rounds);
        report
    }

    /// Nothing is lost of creations, whatever the tier.
    async fn creates(&self) {
        let (mut ours, mut missed) = (0, 0);
        for kind in Kind::CREATING {
            let report = self.race(What::Creates, kind, rounds().div_ceil(4), true).await;
            report.assert_nothing_lost_at_all();
            // Nobody removes what was created.
            assert_eq!(report.absent, 0, "{report}");
            assert!(report.writes > 0, "{report}");
            (ours, missed) = (ours + report.commits_ok, missed + report.missed);
        }
        // Each of the two came first at times.
        assert!(ours > 0 && missed > 0, "{}: {ours} creations of the guard, {missed} too late", self.name);
    }

    /// Nothing is lost of replacements by exchange.
    async fn replaces_by_exchange(&self) {
        for kind in REPLACING {
            let report = self.race(What::Replaces, kind, rounds().div_ceil(4), true).await;
            let tiers: Vec<Tier> = report.tiers.keys().copied().collect();
            assert_eq!(tiers, [Tier::Exchange], "{report}");
            assert!(report.writes > 0, "{report}");
            report.assert_nothing_lost_at_all();
        }
        let late = self.race(What::Replaces, Kind::OpensWaitsWrites, rounds().div_ceil(4), true).await;
        // Every receipt said that nothing holds off a late writer.
        assert_eq!(late.leases.keys().copied().collect::<Vec<_>>(), [false], "{late}");
        late.assert_nothing_lost();
    }

    /// Where names cannot be exchanged, every receipt says so, and what was seen is kept.
    async fn replaces_in_a_window(&self) {
        let (mut lost, mut all) = (0, 0);
        for kind in REPLACING {
            let report = self.race(What::Replaces, kind, rounds().div_ceil(4), true).await;
            report.assert_window();
            lost += report.lost.len() + report.lost_without_lease.len();
            all += report.rounds;
        }
        println!("{}: tier window lost {lost} versions in {all} rounds", self.name);
    }

    /// Whoever looks and then writes, over the same session, loses data.
    async fn control(&self) {
        for kind in [Kind::RenamesOver, Kind::UnlinksAndCreates] {
            self.loses(What::Replaces, kind).await;
        }
        for kind in [Kind::CreatesExclusively, Kind::LinksIn] {
            self.loses(What::Creates, kind).await;
        }
    }

    async fn loses(&self, what: What, kind: Kind) {
        let (rounds, tries) = CONTROL;
        for _ in 0..tries {
            if !self.race(what, kind, rounds, false).await.lost.is_empty() {
                return;
            }
        }
        panic!("{}, {what:?}, rival {kind}: {tries} times {rounds} rounds lost nothing", self.name);
    }
}

/// A folder in memory where there is memory: a disk's `fsync` only makes the windows rarer.
fn folder() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let path = folder.path().canonicalize().unwrap().to_str().unwrap().to_owned();
    (folder, path)
}

/// A host whose `sh` is `sh` as well; the rival is a process of the host, which is this machine.
async fn host(name: &'static str, login: LoginShell, sh: Sh) -> Site {
    let tools = sh.tools().unwrap();
    let path = tools.path().into_string().unwrap();
    let sshd = Sshd::builder().login_shell(login).env("PATH", path).start().unwrap();
    let ssh = Ssh::to(sshd.url().parse().unwrap()).config(sshd.config()).resolve().await.unwrap();
    let (folder, path) = folder();
    let keep = Box::new((sshd, tools, folder));
    Site::new(name, Arc::new(ssh), Arc::new(LocalWorld), (path.clone(), path), None, keep).await
}

/// A container with a folder of this machine; the rival is a process of this machine.
async fn bound(name: &'static str, image: Image) -> Site {
    let (folder, path) = folder();
    let container = DockerTarget::of(image).bind(folder.path(), "/data").start().await.unwrap();
    let transport = Arc::new(container.open().await.unwrap());
    let paths = (path, "/data".to_owned());
    Site::new(name, transport, Arc::new(LocalWorld), paths, None, Box::new((container, folder))).await
}

/// A container with a volume; the rival is a process of the container.
async fn inside(name: &'static str, image: Image) -> Site {
    let program = Program::this().unwrap();
    let container = DockerTarget::of(image).volume("/data").bind(program.folder(), Program::AT);
    let container = container.start().await.unwrap();
    let transport = Arc::new(container.open().await.unwrap());
    let world = Arc::new(container.world().await.unwrap());
    let paths = ("/data".to_owned(), "/data".to_owned());
    Site::new(name, transport, world, paths, Some((container, program)), Box::new(())).await
}

/// The container's files are reached by another route, which only root can.
fn is_without_docker(test: &str) -> bool {
    skip::unless(Need::Docker, test) || skip::unless(Need::Root, test)
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_over_ssh_against_a_process_of_the_host() {
    let name = "nothing_is_lost_over_ssh_against_a_process_of_the_host";
    if !skip::unless(Need::Sshd, name) && !skip::unless(Need::Dash, name) {
        let site = host("ssh, dash", LoginShell::Dash, Sh::Dash).await;
        site.creates().await;
        site.replaces_by_exchange().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_over_ssh_to_busybox_against_a_process_of_the_host() {
    let name = "nothing_is_lost_over_ssh_to_busybox_against_a_process_of_the_host";
    if !skip::unless(Need::Sshd, name) && !skip::unless(Need::BusyBox, name) {
        let site = host("ssh, busybox", LoginShell::BusyBox, Sh::BusyBox).await;
        site.creates().await;
        site.replaces_by_exchange().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_in_a_container_against_a_process_of_this_machine() {
    if !is_without_docker("nothing_is_lost_in_a_container_against_a_process_of_this_machine") {
        let site = bound("docker, gnu, rival outside", Image::Gnu).await;
        site.creates().await;
        site.replaces_by_exchange().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_in_a_container_against_a_process_in_it() {
    if !is_without_docker("nothing_is_lost_in_a_container_against_a_process_in_it") {
        let site = inside("docker, gnu, rival inside", Image::Gnu).await;
        site.creates().await;
        site.replaces_by_exchange().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_seen_is_kept_in_a_container_without_exchange_and_no_creation_is_lost() {
    if !is_without_docker("what_is_seen_is_kept_in_a_container_without_exchange_and_no_creation_is_lost") {
        let site = inside("docker, busybox, rival inside", Image::BusyBox).await;
        site.creates().await;
        site.replaces_in_a_window().await;
    }
}

/// The instant between the last look and the rename, which chance meets rarely: a write in place is seen and kept, and
/// a rename is what the receipt's `window` speaks of.
#[tokio::test(flavor = "multi_thread")]
async fn in_a_container_without_exchange_a_write_in_the_last_instant_is_kept_and_a_rename_is_the_window() {
    if is_without_docker(
        "in_a_container_without_exchange_a_write_in_the_last_instant_is_kept_and_a_rename_is_the_window",
    ) {
        return;
    }
    // BusyBox has its tools in `/bin`, as this machine has those of the same names.
    let wrappers = Wrappers::over("/bin").unwrap();
    wrappers.wrap("mv").unwrap();
    let path = wrappers.path().into_string().unwrap();
    let tools = path.strip_suffix("/bin:/bin").unwrap().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let container = DockerTarget::of(Image::BusyBox).env("PATH", path).bind(folder.path(), "/data");
    let container = container.bind(Path::new(&tools), tools.clone()).start().await.unwrap();
    let shell = Shell::builder(Arc::new(container.open().await.unwrap())).connect().await.unwrap();
    let data = TargetPath::new("/data").unwrap();
    let guarded = Arc::new(Guarded::at(Arc::new(shell), data, "file").await.unwrap());
    let file = folder.path().join("file");
    for kind in [Kind::WritesInPlace, Kind::RenamesOver] {
        std::fs::write(&file, "old").unwrap();
        let mut gate = wrappers.hold(Call::of("mv")).unwrap();
        let commit = tokio::spawn({
            let guarded = Arc::clone(&guarded);
            async move { guarded.swap(Some(Digest::of(b"old")), b"ours".to_vec()).await }
        });
        gate.reached().await;
        if kind == Kind::WritesInPlace {
            std::fs::write(&file, "theirs").unwrap();
        } else {
            std::fs::write(folder.path().join("theirs"), "theirs").unwrap();
            std::fs::rename(folder.path().join("theirs"), &file).unwrap();
        }
        gate.open();
        let said = commit.await.unwrap();
        let (outcome, there) = match kind {
            Kind::WritesInPlace => (Outcome::Refused, "theirs"),
            _ => (Outcome::Done, "ours"),
        };
        assert_eq!(said.outcome, outcome, "{kind}: {said:?}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), there, "{kind}");
        assert!(said.outcome == Outcome::Refused || said.tier == Tier::Window, "{said:?}");
        let names = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!((names, said.left), (1, Vec::new()), "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn control_looking_and_then_writing_over_ssh_loses_data() {
    if !skip::unless(Need::Sshd, "control_looking_and_then_writing_over_ssh_loses_data") {
        host("ssh, dash", LoginShell::Dash, Sh::Dash).await.control().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn control_looking_and_then_writing_in_a_container_loses_data() {
    if !is_without_docker("control_looking_and_then_writing_in_a_container_loses_data") {
        inside("docker, gnu, rival inside", Image::Gnu).await.control().await;
        inside("docker, busybox, rival inside", Image::BusyBox).await.control().await;
    }
}
