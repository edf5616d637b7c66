//! Undo: the inverse of a receipt, under the same compare-and-swap, all of it or nothing.
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

mod common;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use common::{Bench, code, done, edits, path, reads};
use guard_core::policy::{Access, Code, Digest, Policy, Rights, TargetPath, Tool};
use guard_core::port::{TargetId, UndoError, UndoStore};
use guard_core::{
    Actor, Answer, ApplyPatch, Approver, DeleteFile, Failure, MakeDir, MoveFile, Proposal, Receipt,
    StatPaths, Undo, WriteFile,
};
use guard_testkit::wrap::{Method, When};

/// A store in memory.
#[derive(Default)]
struct Kept {
    bytes: Mutex<HashMap<Digest, Vec<u8>>>,
    fails: bool,
}

impl Kept {
    fn clear(&self) {
        self.bytes.lock().unwrap().clear();
    }
}

const LARGEST: u64 = 4096;

#[async_trait]
impl UndoStore for Kept {
    fn largest(&self) -> u64 {
        LARGEST
    }

    fn place(&self) -> Option<&str> {
        None
    }

    async fn keep(&self, digest: Digest, bytes: Vec<u8>) -> Result<(), UndoError> {
        if self.fails {
            return Err(UndoError::Failed { why: "no space".to_owned() });
        }
        self.bytes.lock().unwrap().insert(digest, bytes);
        Ok(())
    }

    async fn fetch(&self, digest: Digest) -> Result<Vec<u8>, UndoError> {
        self.bytes.lock().unwrap().get(&digest).cloned().ok_or(UndoError::Gone)
    }
}

async fn bench() -> (Bench, Arc<Kept>) {
    let kept = Arc::new(Kept::default());
    let store: Arc<dyn UndoStore> = Arc::<Kept>::clone(&kept);
    (Bench::with(|builder| builder.undo(store)).await, kept)
}

/// A receipt as a host stores it.
fn stored(receipt: &Receipt) -> Receipt {
    serde_json::from_str(&serde_json::to_string(receipt).unwrap()).unwrap()
}

async fn undone(actor: &Actor, receipt: &Receipt) -> Receipt {
    done(actor.undo(&stored(receipt)).await)
}

async fn refused(actor: &Actor, receipt: &Receipt) -> Code {
    code(actor.undo(&stored(receipt)).await)
}

/// Every name below `/ws` that is there, with its mode and content.
fn files(bench: &Bench) -> Vec<String> {
    fn walk(bench: &Bench, at: &str, out: &mut Vec<String>) {
        for name in bench.world.names(at).unwrap() {
            let path = format!("{at}/{}", String::from_utf8(name).unwrap());
            if let Ok(bytes) = bench.world.read(&path) {
                let mode = bench.world.mode(&path).unwrap();
                out.push(format!("{path} {mode:o} {}", String::from_utf8_lossy(&bytes)));
            } else {
                out.push(format!("{path}/"));
                walk(bench, &path, out);
            }
        }
    }
    let mut out = Vec::new();
    walk(bench, "/ws", &mut out);
    out
}

#[tokio::test]
async fn every_kind_of_change_is_undone_and_done_again() {
    let (bench, _) = bench().await;
    let actor = bench.actor();
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    bench.world.create("/ws/run.sh", b"#!/bin/sh\n").unwrap();
    bench.world.chmod("/ws/run.sh", 0o750).unwrap();
    bench.world.create("/ws/old.txt", b"moved\n").unwrap();
    bench.world.create("/ws/photo.jpg", b"\xFF\xD8\0\x01").unwrap();
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** Add File: new/deep/b.txt\n+b\n\
                 *** Delete File: run.sh\n*** Update File: old.txt\n*** Move to: moved/c.txt\n@@\n-moved\n+moved and edited\n*** End Patch\n";
    let patch = || ApplyPatch { patch: patch.to_owned(), ..ApplyPatch::default() };
    let before = files(&bench);
    // One call after the other: undone, done again by undoing that, and undone once more.
    for call in ["write", "create", "edit", "delete", "delete-binary", "move", "mkdir", "patch"] {
        reads(&actor, "a.txt").await;
        let paths = ["a.txt", "run.sh", "old.txt", "photo.jpg"].map(str::to_owned).to_vec();
        actor.stat(StatPaths { paths, ..StatPaths::default() }).await.unwrap();
        let receipt = done(match call {
            "write" => actor.write_file(WriteFile::new("a.txt", "two\n")).await,
            "create" => actor.write_file(WriteFile::new("deep/er/new.txt", "new\n")).await,
            "edit" => actor.edit_file(edits("a.txt", &[("one", "two")])).await,
            "delete" => {
                actor.delete_file(DeleteFile { path: "run.sh".into(), ..DeleteFile::default() }).await
            }
            "delete-binary" => {
                actor.delete_file(DeleteFile { path: "photo.jpg".into(), ..DeleteFile::default() }).await
            }
            "move" => {
                let to = "else/where.txt".into();
                actor.move_file(MoveFile { from: "old.txt".into(), to, ..MoveFile::default() }).await
            }
            "mkdir" => actor.make_dir(MakeDir { path: "x/y/z".into(), ..MakeDir::default() }).await,
            _ => actor.apply_patch(patch()).await,
        });
        let after = files(&bench);
        assert_ne!(after, before, "{call}");
        let back = undone(&actor, &receipt).await;
        assert_eq!(files(&bench), before, "{call}");
        let again = undone(&actor, &back).await;
        assert_eq!(files(&bench), after, "{call}, done again");
        undone(&actor, &again).await;
        assert_eq!(files(&bench), before, "{call}, undone again");
    }
}

/// What another does, and how it takes that back.
type Other<'a> = (&'a str, &'a dyn Fn(), &'a dyn Fn());

#[tokio::test]
async fn what_changed_since_is_left_alone_and_nothing_of_the_batch_is_undone() {
    let (bench, _) = bench().await;
    let actor = bench.actor();
    for name in ["a", "b", "c"] {
        bench.world.create(format!("/ws/{name}"), b"old\n").unwrap();
        reads(&actor, name).await;
    }
    let patch = ["a", "b", "c"].map(|name| format!("*** Update File: {name}\n@@\n-old\n+new\n")).concat();
    let patch = format!("*** Begin Patch\n{patch}*** Add File: d\n+d\n*** End Patch\n");
    let receipt = done(actor.apply_patch(ApplyPatch { patch, ..ApplyPatch::default() }).await);
    let world = &bench.world;
    let others: [Other<'_>; 4] = [
        ("changed", &|| world.write("/ws/b", b"of another\n").unwrap(), &|| {
            world.write("/ws/b", b"new\n").unwrap();
        }),
        ("created, then changed", &|| world.write("/ws/d", b"dd\n").unwrap(), &|| {
            world.write("/ws/d", b"d\n").unwrap();
        }),
        ("removed", &|| world.unlink("/ws/c").unwrap(), &|| world.create("/ws/c", b"new\n").unwrap()),
        (
            "a link by now",
            &|| {
                world.rename("/ws/c", "/ws/c2").unwrap();
                world.symlink("c2", "/ws/c").unwrap();
            },
            &|| {
                world.unlink("/ws/c").unwrap();
                world.rename("/ws/c2", "/ws/c").unwrap();
            },
        ),
    ];
    for (case, change, back) in others {
        change();
        let before = bench.world.snapshot();
        assert_eq!(refused(&actor, &receipt).await, Code::Stale, "{case}");
        assert_eq!(bench.world.snapshot(), before, "{case}");
        back();
    }
    // The refusal names both versions.
    bench.world.write("/ws/b", b"of another\n").unwrap();
    let refusal = actor.undo(&receipt).await.unwrap_err().refusal;
    let changed = refusal.changed.unwrap();
    assert_eq!((changed.seen, changed.now), (Digest::of(b"new\n"), Digest::of(b"of another\n")));
    bench.world.write("/ws/b", b"new\n").unwrap();
    undone(&actor, &receipt).await;
    assert_eq!(bench.content("b"), "old\n");
}

/// The negative control: an undo that writes the old bytes back loses what was written since.
#[tokio::test]
async fn control_writing_the_old_bytes_back_loses_what_was_written_since() {
    let (bench, kept) = bench().await;
    let actor = bench.actor();
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    reads(&actor, "a.txt").await;
    let receipt = done(actor.write_file(WriteFile::new("a.txt", "two\n")).await);
    bench.world.write("/ws/a.txt", b"of another\n").unwrap();
    assert_eq!(refused(&actor, &receipt).await, Code::Stale);
    assert_eq!(bench.content("a.txt"), "of another\n");
    let old = kept.fetch(receipt.changes[0].before.unwrap()).await.unwrap();
    bench.world.write("/ws/a.txt", &old).unwrap();
    assert_eq!(bench.content("a.txt"), "one\n");
}

#[tokio::test]
async fn a_plan_of_an_undo_shows_it_and_changes_nothing() {
    let (bench, _) = bench().await;
    let actor = bench.actor();
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    reads(&actor, "a.txt").await;
    let receipt = done(actor.write_file(WriteFile::new("a.txt", "two\n")).await);
    let plan = actor.plan_undo(&receipt).await.unwrap().plan().unwrap();
    assert!(plan.changed && plan.changes[0].diff.as_deref().unwrap().contains("+one"), "{plan:?}");
    assert_eq!(bench.content("a.txt"), "two\n");
    bench.world.write("/ws/a.txt", b"of another\n").unwrap();
    assert_eq!(code(actor.plan_undo(&receipt).await), Code::Stale);
}

#[tokio::test]
async fn an_approver_is_not_asked_about_an_undo_of_what_changed_since() {
    let (bench, kept) = bench().await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    let actor = bench.actor();
    reads(&actor, "a.txt").await;
    let receipt = done(actor.write_file(WriteFile::new("a.txt", "two\n")).await);
    bench.world.write("/ws/a.txt", b"of another\n").unwrap();
    let (asked, guard) = asking(&bench, &kept, Answer::Approve).await;
    assert_eq!(refused(&guard.actor("asking"), &receipt).await, Code::Stale);
    assert_eq!(*asked.1.lock().unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_change_in_the_last_instant_is_not_undone() {
    let (bench, _) = bench().await;
    let actor = bench.actor();
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    reads(&actor, "a.txt").await;
    let receipt = done(actor.write_file(WriteFile::new("a.txt", "two\n")).await);
    let world = bench.world.clone();
    bench.barrier().once(Method::Commit, move || world.write("/ws/a.txt", b"of another\n").unwrap());
    assert_eq!(refused(&actor, &receipt).await, Code::Stale);
    assert_eq!(bench.content("a.txt"), "of another\n");
}

#[tokio::test]
async fn what_was_put_back_has_to_be_read_and_a_second_undo_changes_nothing() {
    let (bench, _) = bench().await;
    let actor = bench.actor();
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    reads(&actor, "a.txt").await;
    let receipt = done(actor.write_file(WriteFile::new("a.txt", "two\n")).await);
    // Another actor may undo it too: the receipt names what goes.
    undone(&bench.guard.actor("other"), &receipt).await;
    assert_eq!(code(actor.write_file(WriteFile::new("a.txt", "three\n")).await), Code::Stale);
    let again = undone(&actor, &receipt).await;
    assert!(!again.changed);
    assert_eq!(code(actor.write_file(WriteFile::new("a.txt", "three\n")).await), Code::Stale);
    reads(&actor, "a.txt").await;
    let third = done(actor.write_file(WriteFile::new("a.txt", "three\n")).await);
    undone(&actor, &third).await;
    assert_eq!(code(actor.write_file(WriteFile::new("a.txt", "four\n")).await), Code::NotRead);
}

#[tokio::test]
async fn what_is_not_kept_is_said_in_the_receipt_and_refused_before_any_request() {
    let (bench, kept) = bench().await;
    let actor = bench.actor();
    let long = vec![b'x'; usize::try_from(LARGEST).unwrap() + 1];
    bench.world.create("/ws/long", &long).unwrap();
    bench.world.create("/ws/a", b"one\n").unwrap();
    bench.world.symlink("a", "/ws/link").unwrap();
    let stat = ["long", "a", "link"].map(str::to_owned).to_vec();
    actor.stat(StatPaths { paths: stat, ..StatPaths::default() }).await.unwrap();
    let delete = async |name: &str| {
        done(actor.delete_file(DeleteFile { path: name.into(), ..DeleteFile::default() }).await)
    };
    let too_large = delete("long").await;
    assert!(matches!(&too_large.changes[0].undo, Some(Undo::No { why }) if why.contains("4097 bytes")));
    let link = delete("link").await;
    assert!(matches!(&link.changes[0].undo, Some(Undo::No { .. })), "{link:?}");
    let evicted = delete("a").await;
    assert_eq!(evicted.changes[0].undo, Some(Undo::PutBack { mode: Some(0o644) }));
    kept.clear();
    bench.ops.take();
    for receipt in [&too_large, &link, &evicted] {
        assert_eq!(refused(&actor, receipt).await, Code::CannotUndo);
    }
    assert_eq!(bench.ops.take().total(), 0);

    let failing: Arc<dyn UndoStore> = Arc::new(Kept { fails: true, ..Kept::default() });
    let bench = Bench::with(|builder| builder.undo(failing)).await;
    bench.world.create("/ws/a", b"one\n").unwrap();
    reads(&bench.actor(), "a").await;
    let actor = bench.actor();
    reads(&actor, "a").await;
    // The write is made all the same, and says what it costs.
    let receipt = done(actor.write_file(WriteFile::new("a", "two\n")).await);
    assert!(matches!(&receipt.changes[0].undo, Some(Undo::No { why }) if why.contains("no space")));
    assert_eq!(refused(&actor, &receipt).await, Code::CannotUndo);

    // Without a store nothing is said of it, and nothing more is asked of the target.
    let bench = Bench::new().await;
    let receipt = done(bench.actor().write_file(WriteFile::new("a", "two\n")).await);
    assert_eq!(receipt.changes[0].undo, None);
    assert!(!serde_json::to_string(&receipt).unwrap().contains("undo"));
    assert_eq!(refused(&bench.actor(), &receipt).await, Code::CannotUndo);
}

struct Asked(Answer, Mutex<Vec<String>>);

#[async_trait]
impl Approver for Asked {
    async fn approve(&self, proposal: &Proposal<'_>) -> Answer {
        for change in proposal.changes {
            let diff = change.diff.as_deref().unwrap_or_default();
            self.1.lock().unwrap().push(format!("{} {diff}", change.summary));
        }
        self.0.clone()
    }
}

/// A guard of the same files that asks.
async fn asking(bench: &Bench, kept: &Arc<Kept>, answer: Answer) -> (Arc<Asked>, guard_core::Guard) {
    let asked = Arc::new(Asked(answer, Mutex::default()));
    let store: Arc<dyn UndoStore> = Arc::<Kept>::clone(kept);
    let approver: Arc<dyn Approver> = Arc::<Asked>::clone(&asked);
    let builder = guard_core::Guard::builder(Arc::<common::Ops>::clone(&bench.ops)).approver(approver);
    let guard = builder.root(path("/ws"), Access::ReadWrite).undo(store).open().await.unwrap();
    (asked, guard)
}

#[tokio::test]
async fn rights_rules_and_approvers_hold_for_an_undo() {
    let (bench, kept) = bench().await;
    let actor = bench.actor();
    bench.world.create("/ws/a", b"one\n").unwrap();
    reads(&actor, "a").await;
    let receipt = done(actor.write_file(WriteFile::new("a", "two\n")).await);
    let before = bench.world.snapshot();
    let reader = bench.guard.actor_with("reader", Rights { access: Access::ReadOnly, ..Rights::default() });
    assert_eq!(refused(&reader, &receipt).await, Code::ReadOnlyActor);
    let without = Rights { disabled: [Tool::Undo].into(), ..Rights::default() };
    assert_eq!(refused(&bench.guard.actor_with("without", without), &receipt).await, Code::ToolDisabled);
    // A model has no such tool.
    assert!(bench.guard.toolbox().definitions().all(|tool| tool.name != "undo"));
    let reply = actor.call("undo", serde_json::to_value(&receipt).unwrap()).await;
    assert_eq!(reply.refusal.unwrap().code, Code::InvalidArguments);
    assert_eq!(bench.world.snapshot(), before);

    for (answer, expected) in
        [(Answer::Deny("not now".to_owned()), Some(Code::ApprovalDenied)), (Answer::Approve, None)]
    {
        let (asked, guard) = asking(&bench, &kept, answer).await;
        let ended = guard.actor("asking").undo(&receipt).await;
        assert_eq!(ended.err().map(|failure| failure.refusal.code), expected);
        let asked = asked.1.lock().unwrap();
        assert!(asked[0].contains("-two") && asked[0].contains("+one"), "{asked:?}");
    }
    assert_eq!(bench.content("a"), "one\n");
}

#[tokio::test]
async fn a_receipt_that_somebody_made_up_reaches_nothing_that_a_call_would_not() {
    let (bench, kept) = bench().await;
    let actor = bench.actor();
    bench.world.create("/ws/a", b"one\n").unwrap();
    reads(&actor, "a").await;
    let receipt = done(actor.write_file(WriteFile::new("a", "two\n")).await);
    for directory in ["/outside", "/ws/.git", "/ws/.git/hooks", "/ws/real"] {
        bench.world.mkdir(directory).unwrap();
    }
    bench.world.symlink("/outside", "/ws/out").unwrap();
    bench.world.symlink("real", "/ws/alias").unwrap();
    for file in ["/outside/a", "/ws/.env", "/ws/.git/hooks/a", "/ws/CLAUDE.md", "/ws/real/a", "/ws/other"] {
        bench.world.write(file, b"two\n").unwrap();
    }
    kept.bytes.lock().unwrap().insert(Digest::of(b"evil\n"), b"evil\n".to_vec());
    let before = bench.world.snapshot();
    let forge = |change: &dyn Fn(&mut Receipt)| {
        let mut forged = stored(&receipt);
        change(&mut forged);
        forged
    };
    let at = |place: &'static str| move |receipt: &mut Receipt| receipt.changes[0].resolved = path(place);
    let rows: Vec<(&str, Receipt, Code)> = vec![
        ("outside", forge(&at("/outside/a")), Code::OutsideRoot),
        ("through a link that leads out", forge(&at("/ws/out/a")), Code::OutsideRoot),
        ("a secret", forge(&at("/ws/.env")), Code::Secret),
        ("a hook", forge(&at("/ws/.git/hooks/a")), Code::SensitivePath),
        ("instructions", forge(&at("/ws/CLAUDE.md")), Code::ApprovalRequired),
        ("another version", forge(&|receipt| receipt.changes[0].after = Some(Digest::of(b"x"))), Code::Stale),
        (
            "bytes of nobody",
            forge(&|receipt| receipt.changes[0].before = Some(Digest::of(b"x"))),
            Code::CannotUndo,
        ),
        ("no digest", forge(&|receipt| receipt.changes[0].before = None), Code::InvalidArguments),
        ("nothing", forge(&|receipt| receipt.changes.clear()), Code::InvalidArguments),
        ("twice", forge(&|receipt| receipt.changes.push(receipt.changes[0].clone())), Code::InvalidArguments),
        ("a later version", forge(&|receipt| receipt.version = 99), Code::InvalidArguments),
        (
            "another target",
            forge(&|receipt| receipt.target = TargetId::new("elsewhere")),
            Code::TargetChanged,
        ),
    ];
    for (case, receipt, expected) in rows {
        assert_eq!(code(actor.undo(&receipt).await), expected, "{case}");
        assert_eq!(bench.world.snapshot(), before, "{case}");
    }
    // An alias leads where it leads, and is judged there; the version is what is named.
    let aliased: Result<_, Failure> = actor.undo(&forge(&at("/ws/alias/a"))).await;
    let receipt = done(aliased);
    assert_eq!(receipt.changes[0].resolved, TargetPath::new("/ws/real/a").unwrap());
}

#[tokio::test]
async fn a_bit_that_gives_rights_is_not_put_back() {
    let (bench, _) = bench().await;
    let actor = bench.actor();
    bench.world.create("/ws/tool", b"#!/bin/sh\n").unwrap();
    bench.world.chmod("/ws/tool", 0o4755).unwrap();
    reads(&actor, "tool").await;
    let receipt = done(actor.delete_file(DeleteFile { path: "tool".into(), ..DeleteFile::default() }).await);
    let back = undone(&actor, &receipt).await;
    assert_eq!(bench.world.mode("/ws/tool").unwrap(), 0o755);
    assert!(back.changes[0].notes.iter().any(|note| note.contains("setuid")), "{back:?}");
}

#[tokio::test]
async fn directories_that_were_made_go_if_they_are_empty_and_stay_otherwise() {
    let (bench, kept) = bench().await;
    let actor = bench.actor();
    let make = async || done(actor.write_file(WriteFile::new("x/y/z/a.txt", "a\n")).await);
    let receipt = make().await;
    assert_eq!(receipt.changes[0].made.len(), 3);
    bench.world.write("/ws/x/y/other.txt", b"of another\n").unwrap();
    let undone_receipt = undone(&actor, &receipt).await;
    assert_eq!(files(&bench), ["/ws/x/", "/ws/x/y/", "/ws/x/y/other.txt 644 of another\n"]);
    assert!(undone_receipt.notes.iter().any(|note| note.contains("/ws/x/y,")), "{:?}", undone_receipt.notes);
    // An approver is asked once, although a directory turns out not to be empty.
    let receipt = done(actor.write_file(WriteFile::new("p/q/a.txt", "a\n")).await);
    bench.world.write("/ws/p/q/other.txt", b"of another\n").unwrap();
    let (asked, guard) = asking(&bench, &kept, Answer::Approve).await;
    undone(&guard.actor("asking"), &receipt).await;
    assert_eq!(
        asked.1.lock().unwrap().iter().filter(|asked| asked.starts_with("remove what was created")).count(),
        1
    );
    bench.world.unlink("/ws/p/q/other.txt").unwrap();
    bench.world.rmdir("/ws/p/q").unwrap();
    bench.world.rmdir("/ws/p").unwrap();
    // One that is gone already is no obstacle.
    bench.world.unlink("/ws/x/y/other.txt").unwrap();
    let receipt = make().await;
    assert_eq!(receipt.changes[0].made.len(), 1);
    bench.world.rename("/ws/x/y/z/a.txt", "/ws/x/y/a.txt").unwrap();
    assert_eq!(refused(&actor, &receipt).await, Code::Stale);
    assert_eq!(files(&bench), ["/ws/x/", "/ws/x/y/", "/ws/x/y/a.txt 644 a\n", "/ws/x/y/z/"]);
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_an_undo_that_is_whole_and_bytes_that_are_kept() {
    let (bench, kept) = bench().await;
    let actor = Arc::new(bench.actor());
    bench.world.create("/ws/a", b"one\n").unwrap();
    reads(&actor, "a").await;
    let mut gate = bench.barrier().hold(Method::Commit, When::After);
    let call = tokio::spawn({
        let actor = Arc::clone(&actor);
        async move { actor.write_file(WriteFile::new("a", "two\n")).await }
    });
    gate.reached().await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    gate.open();
    // It waits for the lock of the commit.
    done(actor.write_file(WriteFile::new("a", "three\n")).await);
    assert_eq!(kept.fetch(Digest::of(b"one\n")).await.unwrap(), b"one\n");
    assert_eq!(kept.fetch(Digest::of(b"two\n")).await.unwrap(), b"two\n");
}

#[tokio::test]
async fn without_views_what_was_displaced_can_be_put_back_too() {
    let kept: Arc<dyn UndoStore> = Arc::new(Kept::default());
    let policy = Policy { views: guard_core::policy::Switch::Off, ..Policy::default() };
    let bench = Bench::with(|builder| builder.undo(kept).policy(policy)).await;
    bench.world.create("/ws/a", b"one\n").unwrap();
    let receipt = done(bench.actor().write_file(WriteFile::new("a", "two\n")).await);
    undone(&bench.actor(), &receipt).await;
    assert_eq!(bench.content("a"), "one\n");
}
