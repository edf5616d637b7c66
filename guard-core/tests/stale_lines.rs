//! A stale refusal says what changed: both versions, and the lines of the file as it is now that differ.

mod common;

use std::ops::Range;

use common::{Bench, done, reads};
use guard_core::policy::{Changed, Code, Digest, Refusal, Tool};
use guard_core::{Actor, DeleteFile, EditFile, ReadFile, WriteFile};

/// Makes a whole-file write that is refused as stale.
async fn stale(actor: &Actor, path: &str) -> Refusal {
    let refusal = actor.write_file(WriteFile::new(path, "mine\n")).await.expect_err("it is stale").refusal;
    assert_eq!(refusal.code, Code::Stale, "{}", refusal.message);
    refusal
}

fn changed(refusal: &Refusal) -> &Changed {
    refusal.changed.as_deref().expect("what changed is told")
}

/// The lines, as a person writes them.
fn lines(refusal: &Refusal) -> String {
    let lines: Vec<String> = changed(refusal).lines.iter().map(ToString::to_string).collect();
    let gone = changed(refusal).gone.map_or_else(|| "?".to_owned(), |gone| gone.to_string());
    format!("{} gone {gone}{}", lines.join(","), if changed(refusal).more { " more" } else { "" })
}

/// Makes lines of their numbers, each with something behind it.
fn numbered(lines: Range<u32>, behind: impl Fn(u32) -> &'static str) -> String {
    lines.fold(String::new(), |text, line| text + &line.to_string() + behind(line) + "\n")
}

#[tokio::test]
async fn both_versions_the_lines_and_the_read_that_settles_it_are_told() {
    let bench = Bench::new().await;
    let (old, new) = ("1\n2\n3\n4\n5\n6\n", "1\ntwo\n3\n4\n4a\n4b\n6\n");
    bench.world.create("/ws/a.txt", old.as_bytes()).unwrap();
    let actor = bench.actor();
    reads(&actor, "a.txt").await;
    bench.world.write("/ws/a.txt", new.as_bytes()).unwrap();
    bench.ops.take();
    let refusal = stale(&actor, "a.txt").await;
    assert_eq!(bench.ops.take().total(), 2, "the commit that was refused, and one read");
    assert_eq!(changed(&refusal).seen, Digest::of(old.as_bytes()));
    assert_eq!(changed(&refusal).now, Digest::of(new.as_bytes()));
    assert_eq!(lines(&refusal), "2,5-6 gone 0");
    assert_eq!(
        refusal.message,
        "`a.txt` is not what this actor has seen: sha256:c5d161527c5f was seen, and sha256:a79579f91d9c is there; lines \
         2, 5-6 are not as they were seen."
    );
    let call = refusal.remedy.unwrap().call.unwrap();
    assert_eq!(call.tool, Tool::ReadFile);
    reads(&actor, "a.txt").await;
    assert!(done(actor.write_file(WriteFile::new("a.txt", "mine\n")).await).changed);
}

#[tokio::test]
async fn what_the_actor_wrote_and_edited_itself_is_compared_too() {
    let bench = Bench::new().await;
    let actor = bench.actor();
    done(actor.write_file(WriteFile::new("a.txt", "1\n2\n3\n")).await);
    bench.world.write("/ws/a.txt", b"1\n3\n").unwrap();
    assert_eq!(lines(&stale(&actor, "a.txt").await), " gone 1");
    reads(&actor, "a.txt").await;
    done(actor.edit_file(EditFile::new("a.txt", "3\n", "three\nfour\n")).await);
    bench.world.write("/ws/a.txt", b"one\nthree\nfour\n").unwrap();
    assert_eq!(lines(&stale(&actor, "a.txt").await), "1 gone 0");
    // A retried write found the file as it was to be, which is a view of it too.
    bench.world.write("/ws/a.txt", b"same\n").unwrap();
    done(bench.guard.actor("other").write_file(WriteFile::new("b.txt", "same\n")).await);
    let other = bench.guard.actor("third");
    done(other.write_file(WriteFile::new("b.txt", "same\n")).await);
    bench.world.write("/ws/b.txt", b"same\nand more\n").unwrap();
    assert_eq!(lines(&stale(&other, "b.txt").await), "2 gone 0");
}

#[tokio::test]
async fn lines_that_were_never_seen_are_among_those_that_differ() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"1\n2\n3\n4\n").unwrap();
    let actor = bench.actor();
    let page = |offset| ReadFile { offset: Some(offset), limit: Some(1), ..ReadFile::new("a.txt") };
    actor.read_file(page(1)).await.unwrap();
    actor.read_file(page(3)).await.unwrap();
    bench.world.write("/ws/a.txt", b"1\n2\n3\nfour\n").unwrap();
    let refused = actor.delete_file(DeleteFile::new("a.txt")).await.unwrap_err().refusal;
    assert_eq!((refused.code, lines(&refused).as_str()), (Code::Stale, "2,4 gone 0"));
}

#[tokio::test]
async fn a_bom_and_line_endings_are_seen() {
    let bench = Bench::new().await;
    let utf16 = |text: &str| -> Vec<u8> {
        [0xFEFF].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    };
    for (name, old, new, expected) in [
        ("bom", b"1\n2\n".to_vec(), b"\xEF\xBB\xBF1\n2\n".to_vec(), "1 gone 0"),
        ("eol", b"1\n2\n".to_vec(), b"1\r\n2\r\n".to_vec(), "1-2 gone 0"),
        ("end", b"1\n2\n".to_vec(), b"1\n2".to_vec(), "2 gone 0"),
        ("utf16", utf16("1\n2\n"), utf16("1\nzwei\n"), "2 gone 0"),
        ("legacy", b"1\n\xE4\n".to_vec(), b"1\n\xF6\n".to_vec(), "2 gone 0"),
    ] {
        let path = format!("/ws/{name}");
        bench.world.create(&path, &old).unwrap();
        let actor = bench.actor();
        reads(&actor, name).await;
        bench.world.write(&path, &new).unwrap();
        let refused = actor.delete_file(DeleteFile::new(name)).await.unwrap_err().refusal;
        assert_eq!((refused.code, lines(&refused).as_str()), (Code::Stale, expected), "{name}");
    }
}

#[tokio::test]
async fn what_is_not_kept_by_lines_is_told_by_digests() {
    let bench = Bench::new().await;
    let many = "x\n".repeat(50_001);
    bench.world.create("/ws/many.txt", many.as_bytes()).unwrap();
    let actor = bench.actor();
    while let Some(first) =
        actor.views().get(&common::path("/ws/many.txt")).map_or(Some(1), |view| match view {
            guard_core::policy::View::File { covered, len, .. } => {
                covered.first_gap(*len).map(|gap| gap.start / 2 + 1)
            }
            _ => None,
        })
    {
        actor.read_file(ReadFile { offset: Some(first), ..ReadFile::new("many.txt") }).await.unwrap();
    }
    bench.world.write("/ws/many.txt", format!("{many}y\n").as_bytes()).unwrap();
    bench.ops.take();
    let refusal = stale(&actor, "many.txt").await;
    assert_eq!(bench.ops.take().total(), 1, "and nothing is read for it");
    assert_eq!(lines(&refusal), " gone ?");
    assert!(refusal.message.ends_with(" is there."), "{}", refusal.message);
    // The list of lines is bounded.
    let old = numbered(0..100, |_| "");
    let new = numbered(0..100, |line| if line % 2 == 0 { "!" } else { "" });
    bench.world.create("/ws/half.txt", old.as_bytes()).unwrap();
    reads(&actor, "half.txt").await;
    bench.world.write("/ws/half.txt", new.as_bytes()).unwrap();
    let refusal = stale(&actor, "half.txt").await;
    assert_eq!((changed(&refusal).lines.len(), changed(&refusal).more), (20, true));
    assert!(refusal.message.contains("37, 39 and more are not"), "{}", refusal.message);
}

#[tokio::test]
async fn the_hashes_outlast_a_process_and_hold_no_content() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"a secret line\nanother\n").unwrap();
    let before = bench.actor();
    reads(&before, "a.txt").await;
    let json = serde_json::to_string(&before.save()).unwrap();
    assert!(!json.contains("secret") && !json.contains("another"), "{json}");
    let after = bench.guard.actor("main");
    after.resume(serde_json::from_str(&json).unwrap()).await.unwrap();
    bench.world.write("/ws/a.txt", b"a secret line\nyet another\n").unwrap();
    assert_eq!(lines(&stale(&after, "a.txt").await), "2 gone 0");
}

#[tokio::test]
async fn an_edit_on_what_moved_on_goes_through_and_says_so() {
    let bench = Bench::new().await;
    let old = numbered(1..51, |_| "");
    bench.world.create("/ws/a.txt", old.as_bytes()).unwrap();
    let actor = bench.actor();
    reads(&actor, "a.txt").await;
    bench.world.write("/ws/a.txt", old.replacen("1\n", "one\n", 1).as_bytes()).unwrap();
    let receipt = done(actor.edit_file(EditFile::new("a.txt", "50\n", "fifty\n")).await);
    assert!(receipt.changes[0].notes.iter().any(|note| note.contains("had changed")), "{receipt:?}");
    // Laundering: line 1 was never seen by this actor, so that a whole-file write is refused.
    let refused = actor.write_file(WriteFile::new("a.txt", "mine\n")).await.unwrap_err().refusal;
    assert_eq!(refused.code, Code::PartiallyRead);
    assert!(bench.content("a.txt").starts_with("one\n"));
}

struct Changes(guard_testkit::memory::World);

#[async_trait::async_trait]
impl guard_core::Approver for Changes {
    async fn approve(&self, _: &guard_core::Proposal<'_>) -> guard_core::Answer {
        self.0.write("/ws/a.txt", b"1\ntwo\n").expect("nothing is in the way");
        guard_core::Answer::Approve
    }
}

#[tokio::test]
async fn what_changed_while_somebody_was_asked_is_told_by_lines_too() {
    let memory = guard_testkit::memory::Memory::new();
    let world = memory.world();
    world.create("/ws/a.txt", b"1\n2\n").unwrap();
    let builder = guard_core::Guard::builder(std::sync::Arc::new(memory));
    let builder = builder.approver(std::sync::Arc::new(Changes(world)));
    let root = common::path("/ws");
    let guard = builder.root(root, guard_core::policy::Access::ReadWrite).open().await.unwrap();
    let actor = guard.actor("main");
    reads(&actor, "a.txt").await;
    assert_eq!(lines(&stale(&actor, "a.txt").await), "2 gone 0");
}
