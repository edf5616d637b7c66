//! A guard on the in-memory target, and another process that acts beside it.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of it")]

use std::sync::Arc;

use guard_core::policy::{Access, Code, Digest, Policy, TargetPath};
use guard_core::{
    Actor, Done, Edit, EditFile, ExpectArg, Failure, Guard, GuardBuilder, ReadFile, ReadResult, Receipt,
    WriteFile,
};
use guard_testkit::memory::{Memory, World};
use guard_testkit::wrap::{Barrier, Counting};

/// The in-memory target, with a barrier that counts around it.
pub type Ops = Counting<Barrier<Memory>>;

/// A guard, its target and the world beside it.
pub struct Bench {
    pub ops: Arc<Ops>,
    pub world: World,
    pub guard: Guard,
}

impl Bench {
    /// Opens a guard on `/ws` with everything on.
    pub async fn new() -> Self {
        Self::with(|builder| builder).await
    }

    /// Opens a guard on `/ws` with a policy.
    pub async fn with_policy(policy: Policy) -> Self {
        Self::with(|builder| builder.policy(policy)).await
    }

    /// Opens a guard on `/ws`.
    pub async fn with(build: impl FnOnce(GuardBuilder) -> GuardBuilder) -> Self {
        let memory = Memory::new();
        let world = memory.world();
        let ops = Arc::new(Counting::new(Barrier::new(memory)));
        let builder = Guard::builder(Arc::<Ops>::clone(&ops)).root(path("/ws"), Access::ReadWrite);
        let guard = build(builder).open().await.expect("the root is there");
        ops.take();
        Self { ops, world, guard }
    }

    pub fn barrier(&self) -> &Barrier<Memory> {
        self.ops.inner()
    }

    pub fn actor(&self) -> Actor {
        self.guard.actor("main")
    }

    /// Returns the content of a file below `/ws`.
    pub fn content(&self, name: &str) -> String {
        String::from_utf8_lossy(&self.world.read(format!("/ws/{name}")).expect("it is there")).into_owned()
    }
}

pub fn path(text: &str) -> TargetPath {
    TargetPath::new(text).expect("a normal path")
}

pub fn expecting(path: &str, content: &str, old: &str) -> WriteFile {
    WriteFile {
        expect: Some(ExpectArg::Content(Digest::of(old.as_bytes()))),
        ..WriteFile::new(path, content)
    }
}

pub fn edits(path: &str, pairs: &[(&str, &str)]) -> EditFile {
    let edits = pairs
        .iter()
        .map(|(old, new)| Edit { old: (*old).into(), new: (*new).into(), replace_all: false })
        .collect();
    EditFile { path: path.into(), edits, ..EditFile::default() }
}

pub async fn reads(actor: &Actor, path: &str) -> ReadResult {
    actor.read_file(ReadFile::new(path)).await.expect("it can be read")
}

/// Returns the receipt of a call that was done.
#[track_caller]
pub fn done(result: Result<Done, Failure>) -> Receipt {
    result.expect("it is done").receipt().expect("it was no dry run")
}

/// Returns the code of a call that was refused.
#[track_caller]
pub fn code<T: std::fmt::Debug>(result: Result<T, Failure>) -> Code {
    result.expect_err("it is refused").refusal.code
}
