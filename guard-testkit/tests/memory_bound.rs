//! A file of any size goes to a target and comes back in memory for a few pieces of it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test's helpers fail the test")]
#![allow(clippy::disallowed_methods, reason = "the test's own program is started again")]

use std::io::{self, Read};
use std::process::Command;
use std::sync::Arc;

use async_trait::async_trait;
use guard_backends::shell::{Process, Shell};
use guard_core::policy::{Digest, Hasher, OpenWriters, Precondition, TargetPath};
use guard_core::port::{
    Ask, Batch, Body, Change, CommitId, Content, Depth, Displaced, Effect, FileOps as _, InPlace, Keep, Last,
    Mode, OpError, Parents, Part, Place, Root, RootSpec, Sink, Source, TargetId, Transport, Want,
};

const MIB: u64 = 1 << 20;
/// How large the file is.
const LARGE: u64 = 256 * MIB;
/// How large it is where an engine takes every byte apart.
#[cfg(feature = "docker")]
const LARGE_IN_A_CONTAINER: u64 = 96 * MIB;
/// How much more memory than for a file of one MiB it may take, in KiB.
const BOUND: u64 = 32 << 10;
/// Set in the process that is measured.
const MEASURED: &str = "GUARD_MEMORY_MEASURED";

/// A block over and over: a source that holds no more than that.
struct Blocks {
    block: Vec<u8>,
    len: u64,
}

struct Reading<'a>(&'a Blocks, u64);

impl Blocks {
    fn new(len: u64) -> Self {
        Self { block: (0..MIB).map(|at| ((at * at) >> 7) as u8).collect(), len }
    }

    fn content(self) -> (Content, Digest) {
        let mut hasher = Hasher::new();
        for _ in 0..self.len / MIB {
            hasher.update(&self.block);
        }
        let digest = hasher.finish();
        (Content::from_source(self.len, digest, Arc::new(self)), digest)
    }
}

impl Source for Blocks {
    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        Ok(Box::new(Reading(self, 0)))
    }
}

impl Read for Reading<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Self(blocks, at) = self;
        let rest = &blocks.block[(*at % MIB) as usize..];
        let len = rest.len().min(buffer.len()).min((blocks.len - *at) as usize);
        buffer[..len].copy_from_slice(&rest[..len]);
        *at += len as u64;
        Ok(len)
    }
}

/// Counts, as a bar of progress does, and keeps nothing.
#[derive(Default)]
struct Progress {
    taken: u64,
    pieces: u64,
}

#[async_trait]
impl Sink for Progress {
    async fn take(&mut self, bytes: &[u8]) -> Result<(), OpError> {
        (self.taken, self.pieces) = (self.taken + bytes.len() as u64, self.pieces + 1);
        Ok(())
    }
}

fn put(root: &Root, name: &str, content: Content) -> Batch {
    let place = Place {
        root: root.id,
        path: name.to_owned(),
        expect: root.path.child(name).unwrap(),
        last: Last::Follow,
    };
    let effect = Effect::Put { content, mode: Mode::Keep, parents: Parents::Require };
    Batch {
        id: CommitId(format!("memory-{}-{name}", std::process::id())),
        changes: vec![Change { place, precondition: Precondition::Absent, effect }],
        require: None,
        displaced: Displaced::Discard,
        open_writers: OpenWriters::Refuse,
        metadata: Keep::Require,
        in_place: InPlace::Refuse,
        scope: Arc::default(),
    }
}

fn ask(root: &Root, name: &str) -> Ask {
    Ask {
        root: root.id,
        path: name.to_owned(),
        last: Last::Follow,
        depth: Depth::State,
        scope: Arc::default(),
    }
}

/// The largest resident set of this process so far, in KiB: proc(5), VmHWM.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Claims that this process's memory stays where it is while a large file goes there and comes back.
async fn stays_small(transport: Arc<dyn Transport>, workspace: &str, len: u64) {
    let shell = Shell::builder(transport).connect().await.unwrap();
    let root = shell.open_root(&RootSpec { path: TargetPath::new(workspace).unwrap() }).await.unwrap();
    shell.commit(put(&root, "small", Blocks::new(MIB).content().0)).await.unwrap();
    shell.stream(&ask(&root, "small"), &mut Progress::default()).await.unwrap();
    let before = peak();

    let (content, digest) = Blocks::new(len).content();
    let done = shell.commit(put(&root, "large", content)).await.unwrap();
    assert_eq!(done.changes[0].after.digest(), Some(digest));
    let taken = peak() - before;
    assert!(taken < BOUND, "a commit of {len} bytes took {taken} KiB more than one of 1 MiB");

    let mut progress = Progress::default();
    let found = shell.stream(&ask(&root, "large"), &mut progress).await.unwrap();
    assert_eq!((found.state.digest(), progress.taken), (Some(digest), len));
    assert!(progress.pieces > len / MIB, "{} pieces", progress.pieces);
    let taken = peak() - before;
    assert!(taken < BOUND, "a stream of {len} bytes took {taken} KiB more than one of 1 MiB");

    // The negative control: what is read whole is held whole.
    let want = Want { ask: ask(&root, "large"), part: Part::Whole { max: len } };
    let read = shell.read(&[want]).await.unwrap().remove(0).unwrap();
    assert!(matches!(read.body, Body::Bytes { bytes, .. } if bytes.len() as u64 == len));
    let taken = peak() - before;
    assert!(taken > BOUND, "{len} bytes that were read whole took {taken} KiB");
}

/// Makes sure that the body of the test `name` has a process to itself: a peak is a process's.
fn is_alone(name: &str) -> bool {
    if std::env::var_os(MEASURED).is_some() {
        return true;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(MEASURED, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    // A name that is no test's runs none.
    assert!(output.status.success() && said.contains("1 passed"), "{said}\n{errors}");
    false
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(test);
}

#[test]
fn a_large_file_takes_little_memory_over_pipes() {
    if is_alone("a_large_file_takes_little_memory_over_pipes") {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        let here = Process::shell(TargetId::new("here"));
        run(stays_small(Arc::new(here), workspace.to_str().unwrap(), LARGE));
    }
}

#[cfg(feature = "ssh")]
#[test]
fn a_large_file_takes_little_memory_over_ssh() {
    use guard_backends::ssh::Ssh;
    use guard_testkit::skip::{self, Need};
    use guard_testkit::sshd::Sshd;

    let name = "a_large_file_takes_little_memory_over_ssh";
    if !skip::unless(Need::Sshd, name) && is_alone(name) {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        let sshd = Sshd::start().unwrap();
        run(async {
            let destination = sshd.url().parse().unwrap();
            let there = Ssh::to(destination).config(sshd.config()).resolve().await.unwrap();
            stays_small(Arc::new(there), workspace.to_str().unwrap(), LARGE).await;
        });
    }
}

#[cfg(feature = "docker")]
#[test]
fn a_large_file_takes_little_memory_in_a_container() {
    use guard_testkit::docker::{DockerTarget, Image};
    use guard_testkit::skip::{self, Need};

    let name = "a_large_file_takes_little_memory_in_a_container";
    if !skip::unless(Need::Docker, name) && is_alone(name) {
        run(async {
            let target = DockerTarget::of(Image::Gnu).volume("/data").start().await.unwrap();
            let there = Arc::new(target.open().await.unwrap());
            stays_small(there, "/data", LARGE_IN_A_CONTAINER).await;
        });
    }
}
