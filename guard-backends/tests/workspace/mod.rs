//! A guard on a real directory of this machine.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "the test acts as another process does")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use guard_backends::local::{Local, Resolver};
use guard_backends::shell::{Process, Shell};
use guard_core::policy::{Access, Code, Digest, TargetPath};
use guard_core::port::{FileOps, TargetId};
use guard_core::{Actor, Done, Failure, Guard, GuardBuilder};
use guard_testkit::tree::digest_of_tree;
use guard_testkit::wrap::Barrier;

pub struct Workspace {
    /// Holds `ws`, the root, and `outside`, which nothing may touch.
    pub directory: tempfile::TempDir,
    pub ops: Arc<Barrier<Local>>,
    pub guard: Guard,
}

impl Workspace {
    pub async fn new() -> Self {
        Self::with(Resolver::Kernel, |builder| builder).await
    }

    pub async fn with(resolver: Resolver, build: impl FnOnce(GuardBuilder) -> GuardBuilder) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for name in ["ws", "outside"] {
            std::fs::create_dir(directory.path().join(name)).expect("it is new");
        }
        let home = target(&directory.path().join("ws"));
        let local = Local::builder().home(Some(home)).resolver(resolver).build().expect("on a runtime");
        let ops = Arc::new(Barrier::new(local));
        let shared: Arc<dyn FileOps> = Arc::<Barrier<Local>>::clone(&ops);
        let root = target(&directory.path().join("ws"));
        let builder = Guard::builder(shared).root(root, Access::ReadWrite);
        let guard = build(builder).open().await.expect("the root is there");
        Self { directory, ops, guard }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("ws").join(name)
    }

    pub fn outside(&self, name: &str) -> PathBuf {
        self.directory.path().join("outside").join(name)
    }

    pub fn put(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("the directory is there");
        path
    }

    pub fn content(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("it is there")
    }

    /// Returns the digest of everything, inside the root and beside it.
    pub fn digest(&self) -> Digest {
        digest_of_tree(self.directory.path()).expect("it can be read")
    }

    pub fn actor(&self) -> Actor {
        self.guard.actor("main")
    }
}

pub fn target(path: &Path) -> TargetPath {
    let physical = path.canonicalize().expect("it is there");
    TargetPath::new(physical.to_str().expect("UTF-8")).expect("an absolute path")
}

#[track_caller]
pub fn code<T: std::fmt::Debug>(result: Result<T, Failure>) -> Code {
    result.expect_err("it is refused").refusal.code
}

#[track_caller]
pub fn done(result: Result<Done, Failure>) -> guard_core::Receipt {
    result.expect("it is done").receipt().expect("it was no dry run")
}

/// The same files by each way to them: by either resolver, and through a shell.
pub async fn targets() -> Vec<(&'static str, Arc<dyn FileOps>)> {
    let local = |resolver| Arc::new(Local::builder().resolver(resolver).build().expect("on a runtime"));
    let process = Process::shell(TargetId::new("sh"));
    let shell = Shell::builder(Arc::new(process)).connect().await.expect("a shell");
    vec![
        ("kernel", local(Resolver::Kernel)),
        ("walk", local(Resolver::Walk)),
        ("shell", Arc::new(shell) as Arc<dyn FileOps>),
    ]
}
