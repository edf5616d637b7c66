//! Pages: of any size, of any text, they add up to all of it, and to no more.
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

mod common;

use common::{Bench, code, done, path};
use guard_core::policy::{Code, Limits, Policy, Seen};
use guard_core::{Actor, ByteWindow, EditFile, FileKind, NextRead, ReadFile, WriteFile};

/// Reads a file as a model does: it goes on where the answer says, and asks for what was cut. Returns the bytes of the
/// pages of lines, and how many windows were cut out of them; what a window shows is compared with the content.
async fn read_on(actor: &Actor, path: &str, limit: Option<u64>, content: &[u8]) -> (Vec<u8>, usize) {
    let (mut pages, mut cuts, mut calls) = (Vec::new(), 0, 0);
    let mut reads = async |args: ReadFile| {
        calls += 1;
        assert!(calls < 10_000, "reading does not come to an end");
        actor.read_file(args).await.unwrap()
    };
    let mut next = Some(ReadFile { limit, ..ReadFile::new(path) });
    while let Some(args) = next.take() {
        let result = reads(args).await;
        let mut windows: Vec<ByteWindow> = result.cut.iter().map(|cut| cut.bytes).collect();
        cuts += windows.len();
        while let Some(window) = windows.pop() {
            let rest = reads(ReadFile { bytes: Some(window), ..ReadFile::new(path) }).await;
            if rest.kind != FileKind::Utf16 {
                let at = usize::try_from(window.offset).unwrap();
                assert_eq!(rest.bytes, content[at..at + rest.bytes.len()], "window {window:?}");
            }
            if let Some(NextRead::Bytes(more)) = rest.next
                && more.offset < window.offset + window.length
            {
                windows.push(more);
            }
        }
        pages.extend(result.bytes);
        if let Some(NextRead::Offset(offset)) = result.next {
            next = Some(ReadFile { offset: Some(offset), limit, ..ReadFile::new(path) });
        }
    }
    (pages, cuts)
}

/// Texts of every kind: line ends, long lines, no final newline, marks, encodings, characters of several bytes.
fn texts() -> Vec<(&'static str, Vec<u8>)> {
    let utf16: Vec<u8> = [0xFF, 0xFE]
        .into_iter()
        .chain("zwölf 😀😀😀😀😀😀 Boxkämpfer\nx\n".encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    vec![
        ("one line without an end", b"one".to_vec()),
        ("one line", b"one\n".to_vec()),
        ("LF", b"1\n2\n3\n4\n5\n6\n7\n".to_vec()),
        ("LF without the last", b"1\n2\n3\n4\n5\n6\n7".to_vec()),
        ("CRLF", b"one\r\ntwo\r\nthree\r\nfour\r\nfive, which is long\r\n".to_vec()),
        ("CRLF without the last", b"one\r\ntwo\r\nthree".to_vec()),
        ("CR alone and mixed ends", b"a\rb\r\nc\n\rd\n\n\r\r\n".to_vec()),
        ("empty lines", b"\n\n\n\n\n\n\n".to_vec()),
        ("a mark", b"\xEF\xBB\xBFbom\nand more\n".to_vec()),
        ("one long line", "x".repeat(300).into()),
        (
            "long lines of several bytes a character",
            "short\nа long line of Cyrillic Ж letters: жжжжжжжжжжжжжжжжжж\nend".into(),
        ),
        (
            "a legacy encoding",
            b"caf\xE9 \xE9\xE9\xE9\xE9\xE9\xE9\xE9\xE9\xE9\xE9\xE9\xE9\xE9\n\n\n\n".to_vec(),
        ),
        ("UTF-16, big-endian", utf16.chunks(2).flat_map(|pair| [pair[1], pair[0]]).collect()),
        ("UTF-16", utf16),
    ]
}

#[tokio::test]
async fn pages_of_any_size_of_any_text_are_all_of_it() {
    for (kind, content) in texts() {
        for (read_lines, read_bytes, line_bytes) in
            [(1, 64, 10), (2, 16, 8), (3, 64, 10), (7, 24, 24), (2_000, 40, 12), (2_000, 1 << 18, 2_000)]
        {
            for limit in [None, Some(1), Some(2), Some(5)] {
                let limits = Limits { read_lines, read_bytes, line_bytes, ..Limits::default() };
                let bench = Bench::with_policy(Policy { limits, ..Policy::default() }).await;
                bench.world.create("/ws/a.txt", &content).unwrap();
                let actor = bench.actor();
                let case =
                    format!("{kind}, pages of {read_lines}/{read_bytes}/{line_bytes}, limit {limit:?}");
                let (pages, cuts) = read_on(&actor, "a.txt", limit, &content).await;
                // UTF-16 is shown decoded.
                if !kind.starts_with("UTF-16") {
                    assert!(if cuts == 0 { pages == content } else { pages.len() < content.len() }, "{case}");
                }
                let seen = actor.views().seen(&path("/ws/a.txt"));
                assert!(matches!(seen, Seen::Whole { .. }), "{case}: {seen:?}");
                // A legacy text is edited and not written over, UTF-16 is encoded as it was.
                if kind != "a legacy encoding" {
                    done(actor.write_file(WriteFile::new("a.txt", "mine\n")).await);
                }
            }
        }
    }
}

#[tokio::test]
async fn all_pages_but_one_are_not_all_of_it_whichever_is_missing() {
    let content = (1..=9).map(|n| format!("line {n}\r\n")).collect::<Vec<_>>().concat();
    for missing in 1..=9 {
        let bench = Bench::new().await;
        bench.world.create("/ws/a.txt", content.as_bytes()).unwrap();
        let actor = bench.actor();
        let page = |offset| ReadFile { offset: Some(offset), limit: Some(1), ..ReadFile::new("a.txt") };
        for line in (1..=9).filter(|line| *line != missing) {
            actor.read_file(page(line)).await.unwrap();
        }
        assert_eq!(
            code(actor.write_file(WriteFile::new("a.txt", "x\r\n")).await),
            Code::PartiallyRead,
            "{missing}"
        );
        actor.read_file(page(missing)).await.unwrap();
        done(actor.write_file(WriteFile::new("a.txt", "x\r\n")).await);
    }
}

#[tokio::test]
async fn one_line_that_was_read_licenses_no_write_and_the_remedys_reads_do() {
    let bench = Bench::new().await;
    let content = (1..=5_000).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
    bench.world.create("/ws/a.txt", content.as_bytes()).unwrap();
    let actor = bench.actor();
    actor.read_file(ReadFile { offset: Some(7), limit: Some(1), ..ReadFile::new("a.txt") }).await.unwrap();
    let mut refusals = 0;
    loop {
        match actor.write_file(WriteFile::new("a.txt", "mine\n")).await {
            Ok(_) => break,
            Err(failure) => {
                refusals += 1;
                assert!(refusals < 10, "the remedy does not clear it");
                assert_eq!(failure.refusal.code, Code::PartiallyRead);
                let call = failure.refusal.remedy.unwrap().call.unwrap();
                let arguments = serde_json::to_value(&call.arguments).unwrap();
                let reply = actor.call(call.tool.name(), arguments).await;
                assert!(reply.refusal.is_none(), "{reply:?}");
            }
        }
    }
    // What is missing is on both sides of the line.
    assert!(refusals >= 2);
    assert_eq!(bench.content("a.txt"), "mine\n");
}

#[tokio::test]
async fn a_file_of_a_hundred_thousand_lines_can_be_fully_seen_and_written() {
    let bench = Bench::new().await;
    let content = (1..=100_000).map(|n| format!("line {n} of very many\n")).collect::<Vec<_>>().concat();
    bench.world.create("/ws/a.txt", content.as_bytes()).unwrap();
    let actor = bench.actor();
    let (bytes, _) = read_on(&actor, "a.txt", None, content.as_bytes()).await;
    assert_eq!(bytes, content.as_bytes());
    let receipt = done(actor.write_file(WriteFile::new("a.txt", content.replace("very", "so"))).await);
    assert!(receipt.changed);
    // An edit of a line in the middle keeps all of it seen.
    done(actor.edit_file(EditFile::new("a.txt", "line 50000 of", "LINE 50000 of")).await);
    done(actor.write_file(WriteFile::new("a.txt", content.clone())).await);
    // Of so many lines no hashes are kept: what changed is told by digests.
    bench.world.write("/ws/a.txt", content.replacen("line 1 ", "line one ", 1).as_bytes()).unwrap();
    let refused = actor.write_file(WriteFile::new("a.txt", "x\n")).await.unwrap_err().refusal;
    let changed = refused.changed.unwrap();
    assert_eq!((refused.code, changed.lines.len()), (Code::Stale, 0));
}
