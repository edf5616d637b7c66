//! You can only destroy what you have seen.

mod common;

use common::{Bench, code, done, expecting, path, reads};
use guard_core::policy::{Code, DeleteUnseen, Policy, Seen, Switch, Unseen};
use guard_core::{DeleteFile, EditFile, ExpectArg, MoveFile, ReadFile, StatPaths, WriteFile};

#[tokio::test]
async fn a_file_that_was_not_read_is_not_overwritten() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"theirs\n").unwrap();
    let actor = bench.actor();
    let refused = actor.write_file(WriteFile::new("a.txt", "mine\n")).await.unwrap_err().refusal;
    assert_eq!(refused.code, Code::NotRead);
    assert_eq!(bench.content("a.txt"), "theirs\n");
    reads(&actor, "a.txt").await;
    assert!(done(actor.write_file(WriteFile::new("a.txt", "mine\n")).await).changed);
    assert_eq!(bench.content("a.txt"), "mine\n");
}

#[tokio::test]
async fn a_childs_read_never_licenses_its_parents_write() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    let parent = bench.actor();
    reads(&parent, "a.txt").await;
    bench.world.write("/ws/a.txt", b"two, by the user\n").unwrap();
    let child = parent.child("child");
    assert!(reads(&child, "a.txt").await.content.unwrap().contains("two, by the user"));
    assert_eq!(code(parent.write_file(WriteFile::new("a.txt", "three\n")).await), Code::Stale);
    assert_eq!(bench.content("a.txt"), "two, by the user\n");
    assert!(done(child.write_file(WriteFile::new("a.txt", "three\n")).await).changed);
}

#[tokio::test]
async fn a_page_licenses_nothing_and_pages_add_up() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"1\n2\n3\n4\n").unwrap();
    let actor = bench.actor();
    let page =
        |offset, limit| ReadFile { offset: Some(offset), limit: Some(limit), ..ReadFile::new("a.txt") };
    actor.read_file(page(1, 2)).await.unwrap();
    let refused = actor.write_file(WriteFile::new("a.txt", "x\n")).await.unwrap_err().refusal;
    assert_eq!(refused.code, Code::PartiallyRead);
    let call = refused.remedy.unwrap().call.unwrap();
    assert_eq!(
        serde_json::to_value(&call.arguments).unwrap(),
        serde_json::json!({ "path": "a.txt", "bytes": { "offset": 4, "length": 4 } })
    );
    actor.read_file(page(4, 1)).await.unwrap();
    assert_eq!(code(actor.write_file(WriteFile::new("a.txt", "x\n")).await), Code::PartiallyRead);
    actor.read_file(page(3, 1)).await.unwrap();
    done(actor.write_file(WriteFile::new("a.txt", "x\n")).await);
}

#[tokio::test]
async fn pages_of_different_versions_do_not_add_up() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"1\n2\n").unwrap();
    let actor = bench.actor();
    let page = |offset| ReadFile { offset: Some(offset), limit: Some(1), ..ReadFile::new("a.txt") };
    actor.read_file(page(1)).await.unwrap();
    bench.world.write("/ws/a.txt", b"1\n3\n").unwrap();
    actor.read_file(page(2)).await.unwrap();
    assert_eq!(code(actor.write_file(WriteFile::new("a.txt", "x\n")).await), Code::PartiallyRead);
}

#[tokio::test]
async fn an_edit_does_not_launder_bytes_that_were_never_read() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\ntwo\nthree\n").unwrap();
    let actor = bench.actor();
    reads(&actor, "a.txt").await;
    bench.world.write("/ws/a.txt", b"ONE, by the user\ntwo\nthree\n").unwrap();
    let receipt = done(actor.edit_file(EditFile::new("a.txt", "three", "3")).await);
    assert_eq!(receipt.changes[0].notes.len(), 1, "the receipt says that the base had moved");
    assert_eq!(code(actor.write_file(WriteFile::new("a.txt", "all mine\n")).await), Code::PartiallyRead);
    assert_eq!(bench.content("a.txt"), "ONE, by the user\ntwo\n3\n");
}

#[tokio::test]
async fn an_edit_of_the_version_that_was_read_keeps_it_read() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\ntwo\n").unwrap();
    let actor = bench.actor();
    reads(&actor, "a.txt").await;
    done(actor.edit_file(EditFile::new("a.txt", "two", "2")).await);
    done(actor.write_file(WriteFile::new("a.txt", "all mine\n")).await);
    done(actor.write_file(WriteFile::new("a.txt", "again\n")).await);
    done(actor.edit_file(EditFile::new("a.txt", "again", "and again")).await);
    assert_eq!(bench.content("a.txt"), "and again\n");
}

#[tokio::test]
async fn a_retried_write_is_no_error() {
    let bench = Bench::new().await;
    let actor = bench.actor();
    assert!(done(actor.write_file(WriteFile::new("new.txt", "text\n")).await).changed);
    let again = done(bench.actor().write_file(WriteFile::new("new.txt", "text\n")).await);
    assert!(!again.changed);
    // The same bytes are known to that actor now.
    done(actor.write_file(WriteFile::new("new.txt", "other\n")).await);
}

#[tokio::test]
async fn an_empty_file_is_written_without_having_been_read() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"").unwrap();
    bench.world.create("/ws/a.bin", b"").unwrap();
    let actor = bench.actor();
    done(actor.write_file(WriteFile::new("a.txt", "text\n")).await);
    assert_eq!(bench.content("a.txt"), "text\n");
    assert_eq!(code(actor.write_file(WriteFile::new("a.bin", "text\n")).await), Code::BinaryExists);
}

#[tokio::test]
async fn a_file_that_was_deleted_since_is_stale_until_that_was_seen() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    let actor = bench.actor();
    reads(&actor, "a.txt").await;
    bench.world.unlink("/ws/a.txt").unwrap();
    assert_eq!(code(actor.write_file(WriteFile::new("a.txt", "two\n")).await), Code::Stale);
    actor.stat(StatPaths::new("a.txt")).await.unwrap();
    done(actor.write_file(WriteFile::new("a.txt", "two\n")).await);
}

#[tokio::test]
async fn same_length_other_bytes_is_stale_and_same_bytes_are_not() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    let actor = bench.actor();
    reads(&actor, "a.txt").await;
    bench.world.replace("/ws/a.txt", b"two\n").unwrap();
    assert_eq!(code(actor.write_file(WriteFile::new("a.txt", "x\n")).await), Code::Stale);
    bench.world.replace("/ws/a.txt", b"one\n").unwrap();
    done(actor.write_file(WriteFile::new("a.txt", "x\n")).await);
}

#[tokio::test]
async fn what_is_deleted_was_seen_if_only_by_stat() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.bin", b"\0\x01").unwrap();
    bench.world.symlink("nowhere", "/ws/link").unwrap();
    let actor = bench.actor();
    assert_eq!(code(actor.delete_file(DeleteFile::new("a.bin")).await), Code::NotRead);
    actor.stat(StatPaths::new("a.bin")).await.unwrap();
    bench.world.write("/ws/a.bin", b"\0\x02").unwrap();
    assert_eq!(code(actor.delete_file(DeleteFile::new("a.bin")).await), Code::Stale);
    actor.stat(StatPaths::new("a.bin")).await.unwrap();
    done(actor.delete_file(DeleteFile::new("a.bin")).await);
    assert_eq!(code(actor.delete_file(DeleteFile::new("link")).await), Code::NotRead);
    actor.stat(StatPaths::new("link")).await.unwrap();
    done(actor.delete_file(DeleteFile::new("link")).await);
    assert!(bench.world.names("/ws").unwrap().is_empty());
}

#[tokio::test]
async fn a_dry_run_of_a_deletion_counts_as_having_seen_it_where_it_shows_it() {
    let bench =
        Bench::with_policy(Policy { delete_unseen: DeleteUnseen::DangerAllow, ..Policy::default() }).await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    let actor = bench.actor();
    let plan = actor.delete_file(DeleteFile { dry_run: true, ..DeleteFile::new("a.txt") }).await.unwrap();
    let plan = plan.plan().unwrap();
    assert!(plan.changes[0].diff.as_ref().unwrap().contains("-one"));
    assert!(matches!(actor.views().seen(&path("/ws/a.txt")), Seen::Part { .. }));
    done(actor.delete_file(DeleteFile::new("a.txt")).await);
}

#[tokio::test]
async fn a_move_takes_the_view_along_and_never_replaces() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    bench.world.create("/ws/taken.txt", b"theirs\n").unwrap();
    let actor = bench.actor();
    reads(&actor, "a.txt").await;
    assert_eq!(code(actor.move_file(MoveFile::new("a.txt", "taken.txt")).await), Code::Exists);
    let receipt = done(actor.move_file(MoveFile::new("a.txt", "sub/b.txt")).await);
    assert_eq!(receipt.round_trips, 1);
    assert_eq!(receipt.changes[0].moved_to, Some(path("/ws/sub/b.txt")));
    done(actor.write_file(WriteFile::new("sub/b.txt", "two\n")).await);
    bench.world.create("/ws/c.txt", b"unseen\n").unwrap();
    done(actor.move_file(MoveFile::new("c.txt", "d.txt")).await);
    assert_eq!(code(actor.write_file(WriteFile::new("d.txt", "x\n")).await), Code::NotRead);
    reads(&actor, "taken.txt").await;
    bench.world.write("/ws/taken.txt", b"changed\n").unwrap();
    assert_eq!(code(actor.move_file(MoveFile::new("taken.txt", "e.txt")).await), Code::Stale);
    assert_eq!(bench.content("taken.txt"), "changed\n");
}

#[tokio::test]
async fn an_expectation_narrows_and_licenses_nothing() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    let actor = bench.actor();
    assert_eq!(code(actor.write_file(expecting("a.txt", "x\n", "one\n")).await), Code::NotRead);
    reads(&actor, "a.txt").await;
    assert_eq!(code(actor.write_file(expecting("a.txt", "x\n", "other\n")).await), Code::Expectation);
    let absent = WriteFile { expect: Some(ExpectArg::Absent), ..WriteFile::new("a.txt", "x\n") };
    assert_eq!(code(actor.write_file(absent).await), Code::Exists);
    done(actor.write_file(expecting("a.txt", "x\n", "one\n")).await);
}

#[tokio::test]
async fn a_host_can_vouch_for_what_its_user_has_seen() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    let actor = bench.actor();
    let digest = guard_core::policy::Digest::of(b"one\n");
    actor.vouch("a.txt", digest).await.unwrap();
    bench.world.write("/ws/a.txt", b"two\n").unwrap();
    assert_eq!(code(actor.write_file(WriteFile::new("a.txt", "x\n")).await), Code::Stale);
    bench.world.write("/ws/a.txt", b"one\n").unwrap();
    done(actor.write_file(WriteFile::new("a.txt", "x\n")).await);
}

#[tokio::test]
async fn what_a_host_cut_out_of_the_conversation_is_forgotten() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    let actor = bench.actor();
    reads(&actor, "a.txt").await;
    actor.forget("./a.txt").await.unwrap();
    assert_eq!(code(actor.write_file(WriteFile::new("a.txt", "x\n")).await), Code::NotRead);
}

#[tokio::test]
async fn forgetting_also_forgets_a_read_that_is_under_way_and_what_a_link_leads_to() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    bench.world.mkdir("/ws/real").unwrap();
    bench.world.symlink("../a.txt", "/ws/real/link").unwrap();
    bench.world.symlink("real", "/ws/dir").unwrap();
    let actor = std::sync::Arc::new(bench.actor());
    let mut gate = bench.barrier().hold(guard_testkit::wrap::Method::Read, guard_testkit::wrap::When::After);
    let slow = tokio::spawn({
        let actor = std::sync::Arc::clone(&actor);
        async move { actor.read_file(ReadFile::new("a.txt")).await }
    });
    gate.reached().await;
    actor.forget("a.txt").await.unwrap();
    gate.open();
    slow.await.unwrap().unwrap();
    assert_eq!(code(actor.write_file(WriteFile::new("a.txt", "x\n")).await), Code::NotRead);
    actor.stat(StatPaths::new("dir/link")).await.unwrap();
    actor.forget("dir/link").await.unwrap();
    assert_eq!(actor.views().iter().count(), 0);
}

#[tokio::test]
async fn a_link_below_a_linked_directory_is_deleted_after_stat_or_when_vouched_for() {
    for spelling in ["dir/link", "real/link"] {
        let bench = Bench::new().await;
        bench.world.mkdir("/ws/real").unwrap();
        bench.world.symlink("nowhere", "/ws/real/link").unwrap();
        bench.world.symlink("real", "/ws/dir").unwrap();
        let actor = bench.actor();
        assert_eq!(code(actor.delete_file(DeleteFile::new(spelling)).await), Code::NotRead);
        actor.stat(StatPaths::new("dir/link")).await.unwrap();
        done(actor.delete_file(DeleteFile::new(spelling)).await);
        bench.world.symlink("elsewhere", "/ws/real/link").unwrap();
        let other = bench.guard.actor("other");
        other.vouch_link(spelling, "nowhere").await.unwrap();
        assert_eq!(code(other.delete_file(DeleteFile::new(spelling)).await), Code::Stale);
        other.vouch_link(spelling, "elsewhere").await.unwrap();
        done(other.delete_file(DeleteFile::new(spelling)).await);
    }
}

#[tokio::test]
async fn where_the_home_is_not_known_what_is_private_below_one_is_refused_anywhere() {
    let memory = guard_testkit::memory::Memory::builder().home_unknown().build();
    let world = memory.world();
    world.mkdir("/ws/.aws").unwrap();
    world.create("/ws/.aws/credentials", b"secret\n").unwrap();
    let guard = guard_core::Guard::builder(std::sync::Arc::new(memory))
        .root(path("/ws"), guard_core::policy::Access::ReadWrite)
        .open()
        .await
        .unwrap();
    let actor = guard.actor("main");
    assert_eq!(code(actor.read_file(ReadFile::new(".aws/credentials")).await), Code::Secret);
    assert!(actor.write_file(WriteFile::new(".bashrc", "x\n")).await.is_err());
    assert_eq!(code(actor.read_file(ReadFile::new("~/x")).await), Code::StateUnavailable);
}

#[tokio::test]
async fn even_without_views_nothing_newer_is_lost() {
    for policy in [
        Policy { views: Switch::Off, ..Policy::default() },
        Policy { unseen: Unseen::Allow, ..Policy::default() },
    ] {
        let bench = Bench::with_policy(policy).await;
        bench.world.create("/ws/a.txt", b"one\n").unwrap();
        let actor = bench.actor();
        let receipt = done(actor.write_file(WriteFile::new("a.txt", "two\n")).await);
        assert_eq!(receipt.round_trips, 2, "it reads what it overwrites");
        let world = bench.world.clone();
        bench.barrier().once(guard_testkit::wrap::Method::Commit, move || {
            world.write("/ws/b.txt", b"newer\n").unwrap();
        });
        bench.world.create("/ws/b.txt", b"old\n").unwrap();
        assert!(actor.write_file(WriteFile::new("b.txt", "mine\n")).await.is_err());
        assert_eq!(bench.content("b.txt"), "newer\n");
    }
}

#[tokio::test]
async fn a_text_under_a_binary_name_stays_editable_by_whoever_has_seen_all_of_it() {
    let bench = Bench::new().await;
    bench.world.create("/ws/fixture.dat", b"text\n").unwrap();
    bench.world.create("/ws/real.db", b"SQLite format 3\0").unwrap();
    let actor = bench.actor();
    let refused = actor.write_file(WriteFile::new("fixture.dat", "x\n")).await.unwrap_err().refusal;
    assert_eq!(refused.code, Code::BinaryExists);
    assert!(refused.remedy.unwrap().call.is_some(), "it is text, so reading it is the way on");
    reads(&actor, "fixture.dat").await;
    done(actor.write_file(WriteFile::new("fixture.dat", "x\n")).await);
    done(actor.edit_file(EditFile::new("fixture.dat", "x", "y")).await);
    let refused = actor.write_file(WriteFile::new("real.db", "x\n")).await.unwrap_err().refusal;
    assert_eq!(refused.code, Code::BinaryExists);
    assert!(refused.remedy.is_none_or(|remedy| remedy.call.is_none()));
    reads(&actor, "real.db").await;
    assert_eq!(code(actor.write_file(WriteFile::new("real.db", "x\n")).await), Code::BinaryExists);
    done(actor.write_file(WriteFile::new("new.sqlite", "a new fixture\n")).await);
}
