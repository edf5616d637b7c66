//! The tools on text: EOL, BOM, encodings, displays, typed results.

mod common;

use common::{Bench, code, done, edits, path, reads};
use guard_core::policy::{Code, Digest, Eol, EolPolicy, Limits, Policy};
use guard_core::{
    ByteWindow, Conversion, DeleteFile, Display, EditFile, FileKind, NextRead, ReadFile, WriteFile,
};
use guard_testkit::memory::Kind;

fn utf16(text: &str) -> Vec<u8> {
    std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect()
}

#[tokio::test]
async fn a_write_keeps_the_eol_bom_and_encoding_of_the_version_it_replaces() {
    let cases: &[(&[u8], &str, &[u8], &[Conversion])] = &[
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n", &[Conversion::LfToCrlf]),
        (b"\xEF\xBB\xBFa\n", "x\n", b"\xEF\xBB\xBFx\n", &[Conversion::BomKept]),
        (b"\xEF\xBB\xBFa\r\n", "x\n", b"\xEF\xBB\xBFx\r\n", &[Conversion::LfToCrlf, Conversion::BomKept]),
        (&utf16("a\r\n"), "ü\n", &utf16("ü\r\n"), &[Conversion::LfToCrlf, Conversion::Utf16]),
        // A mixed file had no one kind; text that says CRLF itself is taken as it is.
        (b"a\r\nb\n", "x\ny\n", b"x\ny\n", &[]),
        (b"a\r\n", "x\r\ny\n", b"x\r\ny\n", &[]),
        (b"a\n", "x\r\n", b"x\r\n", &[]),
        (b"a\r\n", "no line end", b"no line end", &[]),
    ];
    for (old, new, expected, conversions) in cases {
        let bench = Bench::new().await;
        bench.world.create("/ws/a.txt", old).unwrap();
        let actor = bench.actor();
        reads(&actor, "a.txt").await;
        let receipt = done(actor.write_file(WriteFile::new("a.txt", *new)).await);
        let written = bench.world.read("/ws/a.txt").unwrap();
        assert_eq!(written, *expected, "{}", old.escape_ascii());
        let change = &receipt.changes[0];
        assert_eq!(change.conversions, *conversions);
        assert_eq!(change.after, Some(Digest::of(expected)));
        assert_eq!(receipt.exact, conversions.is_empty());
        assert_eq!(change.given, (!conversions.is_empty()).then(|| Digest::of(new.as_bytes())));
        // The actor's own write is a full view of what was written.
        done(actor.write_file(WriteFile::new("a.txt", "again\n")).await);
    }
}

#[tokio::test]
async fn exact_bytes_are_written_where_the_call_or_the_policy_says_so() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"a\r\n").unwrap();
    let actor = bench.actor();
    reads(&actor, "a.txt").await;
    done(actor.write_file(WriteFile { eol: Some(EolPolicy::Exact), ..WriteFile::new("a.txt", "x\n") }).await);
    assert_eq!(bench.content("a.txt"), "x\n");
    let bench = Bench::with_policy(Policy { eol: EolPolicy::Exact, ..Policy::default() }).await;
    bench.world.create("/ws/a.txt", b"a\r\n").unwrap();
    let actor = bench.actor();
    reads(&actor, "a.txt").await;
    done(actor.write_file(WriteFile::new("a.txt", "x\n")).await);
    assert_eq!(bench.content("a.txt"), "x\n");
}

#[tokio::test]
async fn edits_are_all_made_or_none() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\r\ntwo\r\nthree\r\n").unwrap();
    let actor = bench.actor();
    let before = bench.world.snapshot();
    assert_eq!(code(actor.edit_file(edits("a.txt", &[("one", "1"), ("four", "4")])).await), Code::NoMatch);
    assert_eq!(bench.world.snapshot(), before);
    done(actor.edit_file(edits("a.txt", &[("one\ntwo", "1\n2\n2b"), ("three", "3")])).await);
    assert_eq!(bench.content("a.txt"), "1\r\n2\r\n2b\r\n3\r\n");
}

#[tokio::test]
async fn an_edit_of_utf16_and_of_a_legacy_encoding_leaves_every_other_byte() {
    let bench = Bench::new().await;
    bench.world.create("/ws/u.txt", &utf16("α😀\r\nβ\r\n")).unwrap();
    bench.world.create("/ws/l.txt", b"caf\xE9\nb\n").unwrap();
    let actor = bench.actor();
    reads(&actor, "u.txt").await;
    done(actor.edit_file(EditFile::new("u.txt", "β", "γ\nδ")).await);
    assert_eq!(bench.world.read("/ws/u.txt").unwrap(), utf16("α😀\r\nγ\r\nδ\r\n"));
    done(actor.write_file(WriteFile::new("u.txt", "all of it was seen\n")).await);
    done(actor.edit_file(EditFile::new("l.txt", "b", "B")).await);
    assert_eq!(bench.world.read("/ws/l.txt").unwrap(), b"caf\xE9\nB\n");
    reads(&actor, "l.txt").await;
    let refused = actor.write_file(WriteFile::new("l.txt", "x\n")).await.unwrap_err().refusal;
    assert_eq!(refused.code, Code::NotUtf8);
}

#[tokio::test]
async fn edits_that_say_nothing_are_refused_before_any_request() {
    let bench = Bench::new().await;
    let actor = bench.actor();
    let cases = [
        (EditFile::new("a.txt", "", "x"), Code::EmptyOld),
        (EditFile::new("a.txt", "x", "x"), Code::NoChange),
        (edits("a.txt", &[]), Code::InvalidArguments),
        (
            EditFile { edits: edits("", &[("a", "b")]).edits, ..EditFile::new("a.txt", "x", "y") },
            Code::InvalidArguments,
        ),
        (EditFile { new: None, ..EditFile::new("a.txt", "x", "y") }, Code::InvalidArguments),
        (EditFile { replace_all: true, ..edits("a.txt", &[("a", "b")]) }, Code::InvalidArguments),
    ];
    for (args, expected) in cases {
        assert_eq!(code(actor.edit_file(args).await), expected);
    }
    assert_eq!(bench.ops.take().total(), 0);
    assert_eq!(code(actor.edit_file(EditFile::new("a.txt", "x", "y")).await), Code::NotFound);
}

#[tokio::test]
async fn a_dry_run_shows_the_diff_and_changes_nothing() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\ntwo\n").unwrap();
    let actor = bench.actor();
    let before = bench.world.snapshot();
    let plan = actor
        .edit_file(EditFile { dry_run: true, ..EditFile::new("a.txt", "two", "2") })
        .await
        .unwrap()
        .plan()
        .unwrap();
    assert_eq!(plan.changes[0].diff.as_deref(), Some("@@ -1,2 +1,2 @@\n one\n-two\n+2\n"));
    let plan = actor
        .write_file(WriteFile { dry_run: true, ..WriteFile::new("new.txt", "x\n") })
        .await
        .unwrap()
        .plan()
        .unwrap();
    assert_eq!(plan.changes[0].diff.as_deref(), Some("@@ -0,0 +1 @@\n+x\n"));
    // A dry run of what would be refused is refused; the one before it delivered no byte.
    let refused = actor.write_file(WriteFile { dry_run: true, ..WriteFile::new("a.txt", "x\n") }).await;
    assert_eq!(code(refused), Code::PartiallyRead);
    assert_eq!(bench.world.snapshot(), before);
}

#[tokio::test]
async fn a_display_of_a_file_is_not_written_as_its_content() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\ntwo\nthree\n").unwrap();
    let actor = bench.actor();
    let shown = reads(&actor, "a.txt").await.content.unwrap();
    assert_eq!(shown, "     1\tone\n     2\ttwo\n     3\tthree\n");
    assert_eq!(code(actor.write_file(WriteFile::new("a.txt", &shown)).await), Code::ToolEcho);
    done(actor.write_file(WriteFile { raw: true, ..WriteFile::new("a.txt", &shown) }).await);
}

#[tokio::test]
async fn a_read_says_how_to_go_on() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"1\n2\n3\n4\n5").unwrap();
    let actor = bench.actor();
    let page = actor
        .read_file(ReadFile { offset: Some(2), limit: Some(2), ..ReadFile::new("a.txt") })
        .await
        .unwrap();
    assert_eq!((page.first_line, page.last_line, page.total_lines), (Some(2), Some(3), Some(5)));
    assert_eq!(page.next, Some(NextRead::Offset(4)));
    assert_eq!(page.digest, Some(Digest::of(b"1\n2\n3\n4\n5")));
    let beyond = actor.read_file(ReadFile { offset: Some(9), ..ReadFile::new("a.txt") }).await.unwrap();
    assert_eq!((beyond.content.as_deref(), beyond.first_line), (Some(""), None));
    assert!(beyond.hint.unwrap().contains("5 lines"));
    let plain =
        actor.read_file(ReadFile { display: Display::Plain, ..ReadFile::new("a.txt") }).await.unwrap();
    assert_eq!(plain.content.as_deref(), Some("1\n2\n3\n4\n5"));
    let window = ByteWindow { offset: 3, length: 4 };
    let window = actor.read_file(ReadFile { bytes: Some(window), ..ReadFile::new("a.txt") }).await.unwrap();
    assert_eq!((window.content.as_deref(), window.bytes.as_slice()), (Some("\n3\n4"), &b"\n3\n4"[..]));
    assert_eq!(window.next, Some(NextRead::Bytes(ByteWindow { offset: 7, length: 2 })));
    for args in [
        ReadFile { offset: Some(0), ..ReadFile::new("a.txt") },
        ReadFile { limit: Some(0), ..ReadFile::new("a.txt") },
        ReadFile { bytes: Some(ByteWindow { offset: 0, length: 0 }), ..ReadFile::new("a.txt") },
        ReadFile {
            offset: Some(1),
            bytes: Some(ByteWindow { offset: 0, length: 1 }),
            ..ReadFile::new("a.txt")
        },
    ] {
        assert_eq!(code(actor.read_file(args).await), Code::InvalidArguments);
    }
}

#[tokio::test]
async fn a_missing_final_newline_is_said() {
    let bench = Bench::new().await;
    bench.world.create("/ws/with", b"one\ntwo\n").unwrap();
    bench.world.create("/ws/without", b"one\ntwo").unwrap();
    let actor = bench.actor();
    let (with, without) = (reads(&actor, "with").await, reads(&actor, "without").await);
    assert_eq!(with.content, without.content, "the display is the same");
    assert_eq!((with.final_newline, with.hint), (Some(true), None));
    assert_eq!(without.final_newline, Some(false));
    assert_eq!(without.hint.as_deref(), Some("The last line has no line ending."));
}

/// A large UTF-16 file is paged in one pass: each offset is measured from the last, not from the beginning.
#[tokio::test]
async fn a_large_utf16_file_is_read_near_its_end_in_one_pass() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", &utf16(&"zwölf\n".repeat(400_000))).unwrap();
    let page = ReadFile { offset: Some(398_001), ..ReadFile::new("a.txt") };
    let result = bench.actor().read_file(page).await.unwrap();
    assert_eq!((result.first_line, result.last_line), (Some(398_001), Some(400_000)));
}

#[tokio::test]
async fn an_executable_bit_that_is_not_set_is_said() {
    let bench = Bench::new().await;
    bench.world.create("/ws/run.sh", b"#!/bin/sh\n").unwrap();
    let actor = bench.actor();
    reads(&actor, "run.sh").await;
    let script = WriteFile { executable: true, ..WriteFile::new("run.sh", "#!/bin/sh\ntrue\n") };
    let receipt = done(actor.write_file(script).await);
    assert_eq!(receipt.changes[0].notes.len(), 1);
}

#[tokio::test]
async fn what_may_not_be_read_is_explained_without_reading_it() {
    let bench = Bench::new().await;
    bench.world.create("/ws/.env", b"KEY=1\n").unwrap();
    let explanation = bench.actor().explain(".env").await.unwrap();
    let read = explanation.answers.iter().find(|answer| answer.act == "read").unwrap();
    assert_eq!(read.refusal.as_ref().unwrap().code, Code::Secret);
    assert_eq!(bench.ops.take().read, 0);
}

#[tokio::test]
async fn a_window_never_cuts_a_character_in_two() {
    let bench = Bench::new().await;
    let text = "aЖ€😀z".repeat(3);
    bench.world.create("/ws/a.txt", text.as_bytes()).unwrap();
    for length in 1..12 {
        let actor = bench.actor();
        let mut shown = String::new();
        let mut offset = 0;
        while offset < text.len() as u64 {
            let window = ByteWindow { offset, length };
            let result =
                actor.read_file(ReadFile { bytes: Some(window), ..ReadFile::new("a.txt") }).await.unwrap();
            assert!(!result.bytes.is_empty(), "reading goes on");
            offset += result.bytes.len() as u64;
            shown.push_str(&result.content.unwrap());
        }
        if length >= 4 {
            assert_eq!(shown, text, "windows of {length}");
        }
        done(actor.write_file(WriteFile { dry_run: false, ..WriteFile::new("a.txt", &text) }).await);
    }
}

#[tokio::test]
async fn what_is_no_text_is_a_typed_result_and_never_a_hang() {
    let limits = Limits { file_bytes: 100, ..Limits::default() };
    let bench = Bench::with_policy(Policy { limits, ..Policy::default() }).await;
    bench.world.mkdir("/ws/dir").unwrap();
    bench.world.mknod("/ws/fifo", Kind::Fifo).unwrap();
    bench.world.mknod("/ws/socket", Kind::Socket).unwrap();
    bench.world.mknod("/ws/device", Kind::CharDevice).unwrap();
    bench.world.create("/ws/a.bin", b"\0\x01\x02").unwrap();
    bench.world.create("/ws/large.txt", &b"0123456789\n".repeat(20)).unwrap();
    bench.world.symlink("nowhere", "/ws/dangling").unwrap();
    let actor = bench.actor();
    for (name, kind) in [
        ("dir", FileKind::Directory),
        ("fifo", FileKind::Fifo),
        ("socket", FileKind::Socket),
        ("device", FileKind::Device),
        ("a.bin", FileKind::Binary),
        ("large.txt", FileKind::TooLarge),
    ] {
        let result = reads(&actor, name).await;
        assert_eq!((result.kind, result.content), (kind, None), "{name}");
        assert_eq!(result.bytes, b"", "{name}");
    }
    assert_eq!(code(actor.read_file(ReadFile::new("dangling")).await), Code::NotFound);
    assert_eq!(code(actor.read_file(ReadFile::new("absent.txt")).await), Code::NotFound);
    assert_eq!(code(actor.read_file(ReadFile::new("large.txt/x")).await), Code::NotADirectory);
    // What was read as metadata is seen for a deletion.
    let binary = reads(&actor, "a.bin").await;
    assert_eq!((binary.digest, binary.size), (Some(Digest::of(b"\0\x01\x02")), Some(3)));
    done(actor.delete_file(DeleteFile::new("a.bin")).await);
    // A file over the limit is read by windows, and what is over it is not edited.
    let window = ByteWindow { offset: 11, length: 11 };
    let window =
        actor.read_file(ReadFile { bytes: Some(window), ..ReadFile::new("large.txt") }).await.unwrap();
    assert_eq!(window.content.as_deref(), Some("0123456789\n"));
    assert_eq!(code(actor.edit_file(EditFile::new("large.txt", "0", "1")).await), Code::TooLarge);
    for name in ["dir", "fifo", "socket", "device", "dangling"] {
        let failure = actor.write_file(WriteFile::new(name, "x\n")).await.unwrap_err();
        assert_eq!(failure.refusal.code, Code::NotRegular, "{name}");
    }
}

#[tokio::test]
async fn a_crlf_file_is_shown_without_cr_and_says_so() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"\xEF\xBB\xBFone\r\ntwo\r\n").unwrap();
    bench.world.create("/ws/m.txt", b"one\r\ntwo\n").unwrap();
    let actor = bench.actor();
    let result = reads(&actor, "a.txt").await;
    assert_eq!(result.content.as_deref(), Some("     1\tone\n     2\ttwo\n"));
    assert_eq!((result.eol, result.bom), (Some(Eol::Crlf), true));
    let mixed = reads(&actor, "m.txt").await;
    assert_eq!(
        (mixed.content.as_deref(), mixed.eol),
        (Some("     1\tone\r\n     2\ttwo\n"), Some(Eol::Mixed))
    );
    assert_eq!(mixed.resolved, path("/ws/m.txt"));
}

#[tokio::test]
async fn a_large_result_of_an_edit_is_refused() {
    let limits = Limits { write_bytes: 10, ..Limits::default() };
    let bench = Bench::with_policy(Policy { limits, ..Policy::default() }).await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    let actor = bench.actor();
    assert_eq!(code(actor.edit_file(EditFile::new("a.txt", "one", "one two three")).await), Code::TooLarge);
    assert_eq!(code(actor.write_file(WriteFile::new("b.txt", "one two three")).await), Code::TooLarge);
}
