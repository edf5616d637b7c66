//! An approver is never asked about a call that would be refused, and what it approved is what is committed.

mod common;

use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use common::{Bench, code, done, reads};
use guard_core::policy::Code;
use guard_core::{Answer, Approver, DeleteFile, EditFile, MoveFile, Proposal, WriteFile};
use guard_testkit::memory::World;

/// Answers as it is told, and keeps what it was asked; it can let something happen while it thinks.
#[derive(Default)]
struct Human {
    denies: bool,
    asked: Mutex<Vec<String>>,
    meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().expect("no test panics while it holds this")
}

#[async_trait]
impl Approver for Human {
    async fn approve(&self, proposal: &Proposal<'_>) -> Answer {
        let change = &proposal.changes[0];
        let asked =
            format!("{} {} {}", proposal.tool.name(), change.path, change.diff.as_deref().unwrap_or("-"));
        locked(&self.asked).push(asked);
        if let Some(meanwhile) = locked(&self.meanwhile).take() {
            meanwhile();
        }
        if self.denies { Answer::Deny("not today".into()) } else { Answer::Approve }
    }
}

impl Human {
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *locked(&self.asked))
    }

    fn meanwhile(&self, world: &World, act: impl FnOnce(&World) + Send + 'static) {
        let world = world.clone();
        *locked(&self.meanwhile) = Some(Box::new(move || act(&world)));
    }
}

async fn bench(human: &Arc<Human>) -> Bench {
    let approver: Arc<dyn Approver> = Arc::<Human>::clone(human);
    Bench::with(|builder| builder.approver(approver)).await
}

#[tokio::test]
async fn an_approver_sees_the_diff_and_its_plan_is_what_is_committed() {
    let human = Arc::new(Human::default());
    let bench = bench(&human).await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    let actor = bench.actor();
    done(actor.write_file(WriteFile::new("new.txt", "x\n")).await);
    done(actor.edit_file(EditFile::new("a.txt", "one", "two")).await);
    reads(&actor, "a.txt").await;
    done(actor.move_file(MoveFile::new("a.txt", "b.txt")).await);
    done(actor.delete_file(DeleteFile::new("b.txt")).await);
    assert_eq!(
        human.asked(),
        [
            "write_file new.txt @@ -0,0 +1 @@\n+x\n",
            "edit_file a.txt @@ -1 +1 @@\n-one\n+two\n",
            "move_file a.txt -",
            "delete_file b.txt @@ -1 +0,0 @@\n-two\n",
        ]
    );
}

#[tokio::test]
async fn an_approver_is_never_asked_about_a_call_that_would_be_refused() {
    let human = Arc::new(Human::default());
    let bench = bench(&human).await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    bench.world.create("/ws/a.db", b"\0").unwrap();
    bench.world.symlink("/etc", "/ws/out").unwrap();
    let actor = bench.actor();
    for (path, expected) in [
        ("a.txt", Code::NotRead),
        ("a.db", Code::BinaryExists),
        ("new.docx", Code::OpaqueDocument),
        ("../x", Code::OutsideRoot),
        ("out/x", Code::OutsideRoot),
        (".env", Code::Secret),
    ] {
        assert_eq!(code(actor.write_file(WriteFile::new(path, "x\n")).await), expected, "{path}");
    }
    assert_eq!(code(actor.edit_file(EditFile::new("a.txt", "two", "x")).await), Code::NoMatch);
    assert_eq!(code(actor.move_file(MoveFile::new("a.txt", "a.db")).await), Code::Exists);
    // What is there already needs no approval.
    reads(&actor, "a.txt").await;
    assert!(!done(actor.write_file(WriteFile::new("a.txt", "one\n")).await).changed);
    // A dry run asks nobody.
    actor.write_file(WriteFile { dry_run: true, ..WriteFile::new("a.txt", "two\n") }).await.unwrap();
    assert_eq!(human.asked(), [""; 0]);
}

#[tokio::test]
async fn what_was_refused_touches_nothing() {
    let human = Arc::new(Human { denies: true, ..Human::default() });
    let bench = bench(&human).await;
    let before = bench.world.snapshot();
    let refused = bench.actor().write_file(WriteFile::new("new/a.txt", "x\n")).await.unwrap_err().refusal;
    assert_eq!(refused.code, Code::ApprovalDenied);
    assert!(refused.message.contains("not today"));
    assert_eq!(bench.world.snapshot(), before);
}

#[tokio::test]
async fn what_moved_while_the_approver_thought_is_stale_and_never_planned_anew() {
    let human = Arc::new(Human::default());
    let bench = bench(&human).await;
    bench.world.create("/ws/a.txt", b"one\ntwo\n").unwrap();
    let actor = bench.actor();
    human.meanwhile(&bench.world, |world| world.write("/ws/a.txt", b"ONE\ntwo\n").unwrap());
    assert_eq!(code(actor.edit_file(EditFile::new("a.txt", "two", "2")).await), Code::Stale);
    human.meanwhile(&bench.world, |world| world.create("/ws/new.sqlite", b"SQLite format 3\0").unwrap());
    assert_eq!(code(actor.write_file(WriteFile::new("new.sqlite", "x\n")).await), Code::Stale);
    assert_eq!(bench.content("new.sqlite"), "SQLite format 3\0");
    assert_eq!(bench.content("a.txt"), "ONE\ntwo\n");
    assert_eq!(human.asked().len(), 2);
}

#[tokio::test]
async fn instructions_for_agents_change_only_with_an_approver() {
    let without = Bench::new().await;
    assert_eq!(
        code(without.actor().write_file(WriteFile::new("AGENTS.md", "x\n")).await),
        Code::ApprovalRequired
    );
    let human = Arc::new(Human::default());
    let bench = bench(&human).await;
    done(bench.actor().write_file(WriteFile::new("AGENTS.md", "x\n")).await);
    assert_eq!(human.asked().len(), 1);
}

#[tokio::test]
async fn a_patch_of_several_files_is_one_approval() {
    let human = Arc::new(Human::default());
    let bench = bench(&human).await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    let text =
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Add File: b.txt\n+two\n*** End Patch\n";
    let actor = bench.actor();
    done(actor.apply_patch(guard_core::ApplyPatch::new(text)).await);
    assert_eq!(human.asked(), ["apply_patch a.txt @@ -1 +1 @@\n-one\n+1\n"]);
    human.meanwhile(&bench.world, |world| world.write("/ws/a.txt", b"1\nnewer\n").unwrap());
    let text = "*** Begin Patch\n*** Update File: a.txt\n@@\n-1\n+I\n*** Delete File: b.txt\n*** End Patch\n";
    assert_eq!(code(actor.apply_patch(guard_core::ApplyPatch::new(text)).await), Code::Stale);
    assert_eq!(bench.content("b.txt"), "two\n");
}

/// A call that waits for its approver holds no lock: another actor's call on the same file goes through.
#[tokio::test]
async fn no_lock_is_held_while_an_approver_is_asked() {
    struct Patient(tokio::sync::Notify, tokio::sync::Notify);
    #[async_trait]
    impl Approver for Patient {
        async fn approve(&self, proposal: &Proposal<'_>) -> Answer {
            if proposal.actor == "slow" {
                self.0.notify_one();
                self.1.notified().await;
            }
            Answer::Approve
        }
    }
    let patient = Arc::new(Patient(tokio::sync::Notify::new(), tokio::sync::Notify::new()));
    let approver: Arc<dyn Approver> = Arc::<Patient>::clone(&patient);
    let bench = Bench::with(|builder| builder.approver(approver)).await;
    let slow = bench.guard.actor("slow");
    let slow = tokio::spawn(async move { slow.write_file(WriteFile::new("a.txt", "slow\n")).await });
    patient.0.notified().await;
    done(bench.guard.actor("quick").write_file(WriteFile::new("a.txt", "quick\n")).await);
    patient.1.notify_one();
    assert_eq!(code(slow.await.unwrap()), Code::Stale);
    assert_eq!(bench.content("a.txt"), "quick\n");
}
