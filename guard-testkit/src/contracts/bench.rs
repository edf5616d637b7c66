//! What a contract works with: a guard over the target, the world beside it, and the controller's decoys.
#![allow(clippy::disallowed_methods, reason = "the controller's decoys are made by hand")]

use std::path::PathBuf;
use std::sync::Arc;

use guard_backends::shell::Shell;
use guard_core::policy::{Access, Digest, Policy, Refusal, TargetPath};
use guard_core::port::{Transport, TransportError};
use guard_core::{Actor, Guard, Outcome, Reply};
use serde_json::{Value, json};

use super::database::Database;
use super::noting::Noting;
use super::{Around, Ground};
use crate::conformance::{Broken, World, broken, ensure, same, same_bytes};
use crate::transport::{Counting, Traffic, Wrappers};
use crate::tree::digest_of_tree;
use crate::wrap::Barrier;

/// A call: in words, its tool, its arguments.
pub(super) type Call = (&'static str, &'static str, Value);

/// A file of each class: a database, a document that exists or not, text, and a name that says nothing.
pub(super) const NAMES: [&str; 4] = ["app.sqlite", "paper.pdf", "notes.txt", "thing"];

/// The target of a bench: what it was asked is noted, and a barrier is around it.
pub(super) type Ops = Barrier<Noting>;

/// A guard over a target, and both worlds.
pub(super) struct Bench {
    pub(super) ops: Arc<Ops>,
    pub(super) actor: Actor,
    pub(super) world: Arc<dyn World>,
    pub(super) traffic: Traffic,
    pub(super) root: TargetPath,
    pub(super) home: TargetPath,
    pub(super) controller: PathBuf,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) around: Around,
    pub(super) tools: Option<Arc<Wrappers>>,
    _keep: Box<dyn std::any::Any + Send + Sync>,
}

/// A transport that is shared with the test.
pub(super) struct Shared(pub(super) Arc<dyn Transport>);

#[async_trait::async_trait]
impl Transport for Shared {
    fn target(&self) -> &guard_core::port::TargetId {
        self.0.target()
    }

    async fn start(&self, command: &str) -> Result<guard_core::port::Session, TransportError> {
        self.0.start(command).await
    }

    async fn machine(&self) -> Result<Option<guard_core::port::Machine>, TransportError> {
        self.0.machine().await
    }
}

impl Bench {
    pub(super) async fn open(ground: Ground) -> Result<Self, Broken> {
        let Ground { transport, world, root, home, controller, around, tools, keep } = ground;
        let traffic = Traffic::new();
        let counting = Counting::new(Shared(Arc::clone(&transport)), &traffic);
        let shell = Shell::builder(Arc::new(counting)).connect().await.map_err(failed)?;
        let ops = Arc::new(Barrier::new(Noting::new(around(shell))));
        let guard = Guard::builder(Arc::<Ops>::clone(&ops))
            .policy(Policy::default())
            .root(root.clone(), Access::ReadWrite)
            .root(home.clone(), Access::ReadWrite)
            .open()
            .await
            .map_err(failed)?;
        let actor = guard.actor("agent");
        Ok(Self { ops, actor, world, traffic, root, home, controller, transport, around, tools, _keep: keep })
    }

    /// Returns a path below the root on the target.
    pub(super) fn at(&self, path: &str) -> Vec<u8> {
        format!("{}/{path}", self.root).into_bytes()
    }

    /// Puts a file on the target, as another process does.
    pub(super) fn there(&self, path: &str, bytes: &[u8]) -> Result<(), Broken> {
        Ok(self.world.create(&self.at(path), bytes)?)
    }

    /// Puts a file on the controller, under the path that it would have on the target.
    pub(super) fn here(&self, path: &str, bytes: &[u8]) -> Result<(), Broken> {
        let at = self.controller.join(path);
        if let Some(parent) = at.parent() {
            std::fs::create_dir_all(parent)?;
        }
        Ok(std::fs::write(at, bytes)?)
    }

    /// Claims a file's bytes on the target.
    pub(super) fn holds(&self, path: &str, bytes: &[u8]) -> Result<(), Broken> {
        same_bytes(path, &self.world.read(&self.at(path))?, bytes)
    }

    /// Digests what is on the controller and on the target.
    pub(super) fn snapshot(&self) -> Result<(Digest, Digest), Broken> {
        Ok((digest_of_tree(&self.controller)?, self.world.snapshot(self.root.as_str().as_bytes())?))
    }

    /// Claims that nothing has changed, here or there.
    pub(super) fn unchanged(&self, before: &(Digest, Digest), after: &str) -> Result<(), Broken> {
        let now = self.snapshot()?;
        ensure(now.0 == before.0, format!("something changed on the controller after {after}"))?;
        ensure(now.1 == before.1, format!("something changed on the target after {after}"))
    }

    /// Claims that nothing has changed on the controller.
    pub(super) fn controller_is(&self, before: Digest, after: &str) -> Result<(), Broken> {
        let now = digest_of_tree(&self.controller)?;
        ensure(now == before, format!("something changed on the controller after {after}"))
    }

    /// Calls a tool by name, as a model does.
    pub(super) async fn call(&self, tool: &str, arguments: Value) -> Reply {
        self.actor.call(tool, arguments).await
    }

    /// Makes each of the calls that would put the text `ours` under `path`: a write, a patch that adds, a patch that
    /// updates and moves, and a move. The last two need [`Self::sources`].
    pub(super) fn creations(path: &str) -> Vec<Call> {
        let moved = format!("*** Update File: updated.txt\n*** Move to: {path}\n@@\n-old\n+ours\n");
        vec![
            ("a write", "write_file", json!({ "path": path, "content": "ours\n" })),
            ("Add", "apply_patch", patch(&format!("*** Add File: {path}\n+ours\n"))),
            ("Update with a move", "apply_patch", patch(&moved)),
            ("a move", "move_file", json!({ "from": "moving", "to": path })),
        ]
    }

    /// Makes sure of what [`Self::creations`] move.
    pub(super) fn sources(&self) -> Result<(), Broken> {
        for (name, bytes) in [("updated.txt", &b"old\n"[..]), ("moving", b"ours\n")] {
            match self.world.create(&self.at(name), bytes) {
                Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes each of the calls that would change text `old` in `path`: an edit, a patch that updates.
    pub(super) fn changes(path: &str, old: &str) -> Vec<Call> {
        vec![
            ("an edit", "edit_file", json!({ "path": path, "old": old, "new": "ours" })),
            ("Update", "apply_patch", patch(&format!("*** Update File: {path}\n@@\n-{old}\n+ours\n"))),
        ]
    }

    /// Calls, claims a refusal with nothing changed here or there, and returns it.
    pub(super) async fn refused(&self, what: &str, tool: &str, arguments: Value) -> Result<Refusal, Broken> {
        let before = self.snapshot()?;
        let reply = self.call(tool, arguments).await;
        self.unchanged(&before, what)?;
        same(&format!("{what}: the outcome ({reply:?})"), &reply.outcome, &Outcome::Refused)?;
        match reply.refusal {
            Some(refusal) => Ok(refusal),
            None => broken(format!("{what}: a refusal without words")),
        }
    }

    /// Calls, and claims a refusal of this code, and with these words after `: `, with nothing changed here or there.
    pub(super) async fn refused_as(&self, code: &str, what: &str, call: Call) -> Result<(), Broken> {
        let (kind, tool, arguments) = call;
        let what = format!("{kind} {what}");
        let refusal = self.refused(&what, tool, arguments).await?;
        // Of a patch, the words say more than the code.
        let (code, words) = code.split_once(": ").unwrap_or((code, ""));
        same(&format!("{what}: the code ({refusal})"), &refusal.code.as_str(), &code)?;
        ensure(refusal.message.contains(words), format!("{what}: it does not say {words:?}: {refusal}"))
    }

    /// Calls and claims that it was done; returns the reply as JSON.
    pub(super) async fn done(&self, what: &str, tool: &str, arguments: Value) -> Result<Value, Broken> {
        let reply = self.call(tool, arguments).await;
        if reply.outcome != Outcome::Done {
            return broken(format!("{what} should be done: {:?}", reply.refusal));
        }
        serde_json::to_value(reply).map_err(failed)
    }

    /// Makes a database of the real kind.
    pub(super) fn database() -> Result<Database, Broken> {
        Database::new().map_err(failed)
    }
}

/// Wraps the body of a patch.
pub(super) fn patch(body: &str) -> Value {
    json!({ "patch": format!("*** Begin Patch\n{body}*** End Patch\n") })
}

pub(super) fn failed(error: impl std::fmt::Display) -> Broken {
    Broken::Failed(error.to_string())
}
