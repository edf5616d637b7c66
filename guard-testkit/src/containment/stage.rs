//! A workspace with every way out of it, and a canary beside it.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use guard_core::policy::{Access, Digest, Fact, OtherKind, Policy, TargetPath};
use guard_core::port::FileOps;
use guard_core::{Answer as Approval, Approver, Guard, Outcome, Proposal, Reply};
use serde_json::Value;

use super::column::Column;
use super::vector::{How, Vector};
use crate::conformance::{Fixture, Ground, World};
use crate::wrap::{Counting, Shared};

/// A word that is in every name and content outside, and nowhere else.
const MARKER: &str = "canary";

/// The paths that vectors are made of.
pub(super) struct Places {
    pub(super) root: TargetPath,
    pub(super) outside: TargetPath,
}

impl Places {
    pub(super) fn outside_name(&self) -> &str {
        self.outside.name()
    }
}

/// What a call came to.
pub(super) struct Answer {
    /// `ok`, or the refusal's code.
    pub(super) word: String,
    pub(super) broken: Vec<String>,
    /// Whether the workspace is another one now.
    pub(super) changed: bool,
}

pub(super) struct Stage {
    places: Places,
    world: Arc<dyn World>,
    ops: Arc<Counting<Shared>>,
    guard: Guard,
    asking: Guard,
    asked: Arc<Asked>,
    /// The files of `File` vectors that could be made.
    made: HashSet<&'static str>,
    inside: Digest,
    canary: Digest,
    _keep: Box<dyn std::any::Any + Send + Sync>,
}

/// An approver that counts.
#[derive(Default)]
struct Asked(AtomicU64, Mutex<Vec<String>>);

#[async_trait]
impl Approver for Asked {
    async fn approve(&self, proposal: &Proposal<'_>) -> Approval {
        self.0.fetch_add(1, Ordering::Relaxed);
        let paths = proposal.changes.iter().map(|change| change.path.clone());
        self.1.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend(paths);
        Approval::Deny("it is only counted".to_owned())
    }
}

impl Stage {
    pub(super) async fn fresh(fixture: &dyn Fixture, policy: &Policy) -> io::Result<Self> {
        let Ground { ops, world, root, outside, keep } = fixture.fresh().await?;
        let places = Places { root: root.clone(), outside };
        let made = build(&*world, &places)?;
        let ops = Arc::new(Counting::new(Shared(ops)));
        let asked = Arc::new(Asked::default());
        let open = |approver: Option<Arc<dyn Approver>>| {
            let shared: Arc<dyn FileOps> = Arc::<Counting<Shared>>::clone(&ops);
            let builder = Guard::builder(shared).policy(policy.clone()).root(root.clone(), Access::ReadWrite);
            match approver {
                Some(approver) => builder.approver(approver),
                None => builder,
            }
        };
        let guard = open(None).open().await.map_err(io::Error::other)?;
        let asking = open(Some(Arc::<Asked>::clone(&asked))).open().await.map_err(io::Error::other)?;
        let inside = world.snapshot(root.as_str().as_bytes())?;
        let canary = world.snapshot(places.outside.as_str().as_bytes())?;
        Ok(Self { places, world, ops, guard, asking, asked, made, inside, canary, _keep: keep })
    }

    /// Says why a vector cannot be shown here.
    pub(super) fn lacks(&self, vector: &Vector) -> Option<String> {
        match vector.how {
            How::File(name) if !self.made.contains(name) => Some(format!("{name} cannot be made here")),
            How::Home if !matches!(self.ops.capabilities().home, Fact::Known(Some(_))) => {
                Some("the home is not known".to_owned())
            }
            _ => None,
        }
    }

    /// Calls a tool with a vector, and looks at what became of it.
    pub(super) async fn answer(&self, vector: &Vector, column: Column) -> io::Result<Answer> {
        let path = (vector.path)(&self.places);
        let mut broken = Vec::new();
        self.ops.take();
        let reply = call(&self.guard, column, &path).await;
        let requests = self.ops.take().total();
        let word = word(&reply);
        let changed = self.world.snapshot(self.places.root.as_str().as_bytes())? != self.inside;
        if self.world.snapshot(self.places.outside.as_str().as_bytes())? != self.canary {
            broken.push("the canary was touched".to_owned());
        }
        if reply.outcome == Outcome::Unknown {
            broken.push(format!("its outcome is not known: {reply:?}"));
        }
        if word != "ok" && changed {
            broken.push(format!("it was refused ({word}) and changed the workspace"));
        }
        if matches!(vector.how, How::Text | How::Home) && requests > 0 {
            broken.push(format!("the target was asked {requests} times about a path whose text is refused"));
        }
        broken.extend(self.says_too_much(&reply, &path));
        if word == "outside-root" {
            self.asked.0.store(0, Ordering::Relaxed);
            let asking = call(&self.asking, column, &path).await;
            let asked = self.asked.0.load(Ordering::Relaxed);
            if asked > 0 || self::word(&asking) != word {
                broken
                    .push(format!("with an approver, who was asked {asked} times: {}", self::word(&asking)));
            }
        }
        // A canary that was touched is made anew, with the rest.
        let changed = changed || !broken.is_empty();
        Ok(Answer { word, broken, changed })
    }

    /// A refusal names the path as it was requested, and the root where it leads out, and nothing that lies outside.
    fn says_too_much(&self, reply: &Reply, path: &str) -> Vec<String> {
        let mut broken = Vec::new();
        if let Some(refusal) = &reply.refusal {
            let shown = path.escape_debug().to_string();
            let said =
                format!("{} {:?}", refusal.message, refusal.remedy).replace(path, "").replace(&shown, "");
            if said.contains(MARKER) {
                broken.push(format!("it tells of what lies outside: {said}"));
            }
            if refusal.code.as_str() == "outside-root" && !refusal.message.contains(self.places.root.as_str())
            {
                broken.push(format!("it does not name the root: {}", refusal.message));
            }
        } else if let Some(Value::String(content)) =
            reply.result.as_ref().and_then(|result| result.get("content"))
            && content.contains(MARKER)
            && path != "hard"
        {
            broken.push(format!("it delivers what lies outside: {content}"));
        }
        broken
    }
}

async fn call(guard: &Guard, column: Column, path: &str) -> Reply {
    let actor = guard.actor("agent");
    let mut calls = column.calls(path);
    let last = calls.pop();
    for (tool, arguments) in calls {
        actor.call(tool, arguments).await;
    }
    let (tool, arguments) = last.unwrap_or_default();
    actor.call(tool, arguments).await
}

fn word(reply: &Reply) -> String {
    reply.refusal.as_ref().map_or_else(|| "ok".to_owned(), |refusal| refusal.code.as_str().to_owned())
}

/// Puts everything there; returns which of the special files there are.
fn build(world: &dyn World, places: &Places) -> io::Result<HashSet<&'static str>> {
    let inside = |name: &str| format!("{}/{name}", places.root).into_bytes();
    let outside = |name: &str| format!("{}/{name}", places.outside).into_bytes();
    let link = |text: &str, name: &str| world.symlink(text.as_bytes(), &inside(name));
    world.create(&outside("canary.txt"), b"canary, theirs\n")?;
    world.mkdir(&outside("canary-dir"))?;
    world.create(&outside("canary-dir/inner.txt"), b"canary, theirs\n")?;

    for directory in ["dir", "dir/deep", ".ssh", ".git", ".git/hooks"] {
        world.mkdir(&inside(directory))?;
    }
    for file in ["file.txt", "spare.txt", "dir/inner.txt", ".env", ".ssh/id_ed25519", ".git/hooks/pre-commit"]
    {
        world.create(&inside(file), b"theirs\n")?;
    }
    link("file.txt", "to-file")?;
    link(&format!("{}/file.txt", places.root), "to-file-absolute")?;
    link("../file.txt", "dir/to-file-above")?;
    link("dir", "to-dir")?;
    link("dir/deep", "to-deep")?;
    link("missing.txt", "dangling")?;

    let (out, name) = (&places.outside, places.outside_name());
    link(&format!("{out}/canary.txt"), "out-file")?;
    link(&format!("../{name}/canary.txt"), "out-file-relative")?;
    link(&format!("{out}/canary-new.txt"), "out-dangling")?;
    link(out.as_str(), "out-dir")?;
    link("chain-2", "chain-1")?;
    link("dir/chain-3", "chain-2")?;
    link(&format!("{out}/canary.txt"), "dir/chain-3")?;
    world.symlink(inside("file.txt").as_slice(), &outside("canary-back"))?;
    link(&format!("{out}/canary-back"), "out-and-in")?;
    link(&format!("../../{name}"), "dir/out-above")?;
    link("l1", "l0")?;
    for n in 1..=41 {
        let text = if n == 1 { "file.txt".to_owned() } else { format!("l{}", n - 1) };
        link(&text, &format!("l{n}"))?;
    }
    link("loop", "loop")?;
    link("/dev/null", "to-device")?;
    link(".env", "to-secret")?;
    link(".ssh", "to-ssh")?;
    link(".git", "to-git")?;
    link("/proc/self/root", "proc-root")?;
    link("/proc/self/cwd", "proc-cwd")?;
    link("/proc/self/fd/0", "proc-fd")?;
    link("fifo", "to-fifo")?;
    link("socket", "to-socket")?;

    let mut made = HashSet::new();
    for (name, result) in [
        ("fifo", world.mknod(&inside("fifo"), OtherKind::Fifo)),
        ("socket", world.mknod(&inside("socket"), OtherKind::Socket)),
        ("hard", world.link(&outside("canary.txt"), &inside("hard"))),
        ("caf\\xE9.txt", world.create(&[&inside("caf"), &b"\xE9.txt"[..]].concat(), b"theirs\n")),
    ] {
        match result {
            Ok(()) => drop(made.insert(name)),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(error) => return Err(error),
        }
    }
    Ok(made)
}
