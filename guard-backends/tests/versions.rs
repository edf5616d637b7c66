//! What is another version and what is not, on real files: names, times, links, bytes.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "the test acts as another process does")]

mod workspace;

use std::fs::File;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use guard_core::policy::Code;
use guard_core::{Actor, EditFile, ReadFile, WriteFile};
use workspace::{Workspace, code, done};

async fn reads(actor: &Actor, path: &str) {
    actor.read_file(ReadFile::new(path)).await.unwrap();
}

/// What another process does to the file, and whether the write over what was read is refused for it.
type Row = (&'static str, fn(&Workspace), Option<Code>);

/// Puts the times of `a.txt` back to what they were.
fn same_times(ws: &Workspace, change: impl FnOnce()) {
    let before = ws.path("a.txt").metadata().unwrap();
    change();
    let times = std::fs::FileTimes::new()
        .set_modified(before.modified().unwrap())
        .set_accessed(before.accessed().unwrap());
    File::options().write(true).open(ws.path("a.txt")).unwrap().set_times(times).unwrap();
    let after = ws.path("a.txt").metadata().unwrap();
    assert_eq!((before.mtime_nsec(), before.mtime()), (after.mtime_nsec(), after.mtime()));
}

const ROWS: &[Row] = &[
    ("nothing", |_| (), None),
    (
        "touch",
        |ws| {
            let file = File::options().write(true).open(ws.path("a.txt")).unwrap();
            file.set_modified(SystemTime::now() + Duration::from_secs(1_000)).unwrap();
        },
        None,
    ),
    ("the same bytes in place", |ws| drop(ws.put("a.txt", b"one\ntwo\n")), None),
    (
        "the same bytes in another inode",
        |ws| {
            ws.put("b.txt", b"one\ntwo\n");
            std::fs::rename(ws.path("b.txt"), ws.path("a.txt")).unwrap();
        },
        None,
    ),
    (
        "deleted and made again with the same bytes",
        |ws| {
            std::fs::remove_file(ws.path("a.txt")).unwrap();
            ws.put("a.txt", b"one\ntwo\n");
        },
        None,
    ),
    (
        "deleted and made again with others",
        |ws| {
            std::fs::remove_file(ws.path("a.txt")).unwrap();
            ws.put("a.txt", b"one\n2\n");
        },
        Some(Code::Stale),
    ),
    ("other bytes of the same length", |ws| drop(ws.put("a.txt", b"one\ntwO\n")), Some(Code::Stale)),
    (
        "other bytes of the same length at the same time, in place",
        |ws| same_times(ws, || drop(ws.put("a.txt", b"one\ntwO\n"))),
        Some(Code::Stale),
    ),
    (
        "other bytes of the same length at the same time, in another inode",
        |ws| {
            same_times(ws, || {
                ws.put("b.txt", b"one\ntwO\n");
                std::fs::rename(ws.path("b.txt"), ws.path("a.txt")).unwrap();
            });
        },
        Some(Code::Stale),
    ),
    ("a byte-order mark", |ws| drop(ws.put("a.txt", b"\xEF\xBB\xBFone\ntwo\n")), Some(Code::Stale)),
    ("other line ends", |ws| drop(ws.put("a.txt", b"one\r\ntwo\r\n")), Some(Code::Stale)),
    ("no final newline", |ws| drop(ws.put("a.txt", b"one\ntwo")), Some(Code::Stale)),
    ("emptied", |ws| drop(ws.put("a.txt", b"")), Some(Code::Stale)),
    ("deleted", |ws| std::fs::remove_file(ws.path("a.txt")).unwrap(), Some(Code::Stale)),
];

#[tokio::test]
async fn a_version_is_its_bytes_and_neither_its_times_nor_its_inode() {
    for (case, another, expected) in ROWS {
        let ws = Workspace::new().await;
        ws.put("a.txt", b"one\ntwo\n");
        let actor = ws.actor();
        reads(&actor, "a.txt").await;
        another(&ws);
        let before = std::fs::read(ws.path("a.txt")).ok();
        let written = actor.write_file(WriteFile::new("a.txt", "mine\n")).await;
        match expected {
            None => assert!(done(written).changed, "{case}"),
            Some(expected) => {
                assert_eq!(code(written), *expected, "{case}");
                assert_eq!(std::fs::read(ws.path("a.txt")).ok(), before, "{case}");
            }
        }
    }
}

/// The negative control: by length and time alone, the other bytes are the version that was read.
#[tokio::test]
async fn control_length_and_time_take_other_bytes_for_the_version_that_was_read() {
    let ws = Workspace::new().await;
    ws.put("a.txt", b"one\ntwo\n");
    let stamp = |ws: &Workspace| {
        let meta = ws.path("a.txt").metadata().unwrap();
        (meta.len(), meta.modified().unwrap())
    };
    let seen = stamp(&ws);
    same_times(&ws, || drop(ws.put("a.txt", b"one\ntwO\n")));
    assert_eq!(stamp(&ws), seen);
}

#[tokio::test]
async fn one_file_by_any_of_its_names_is_one_view() {
    let spellings = [
        "d/a.txt",
        "./d/a.txt",
        "d//a.txt",
        "d/./a.txt",
        "x/../d/a.txt",
        "d/../d/a.txt",
        "linked/a.txt",
        "link.txt",
        "linked/../d/a.txt",
    ];
    for read in spellings {
        for written in spellings {
            let ws = Workspace::new().await;
            for directory in ["d", "x"] {
                std::fs::create_dir(ws.path(directory)).unwrap();
            }
            ws.put("d/a.txt", b"one\n");
            symlink("d", ws.path("linked")).unwrap();
            symlink("d/a.txt", ws.path("link.txt")).unwrap();
            let actor = ws.actor();
            let absolute = |spelling: &str| {
                format!("{}/{spelling}", ws.path("").to_str().unwrap().trim_end_matches('/'))
            };
            reads(&actor, read).await;
            let receipt = done(actor.write_file(WriteFile::new(absolute(written), "two\n")).await);
            assert_eq!(receipt.changes[0].resolved.as_str(), absolute("d/a.txt"), "{read}, {written}");
            assert_eq!(ws.content("d/a.txt"), b"two\n");
            assert!(ws.path("link.txt").is_symlink() && ws.path("linked").is_symlink(), "{read}, {written}");
            // And what another changes by one name is another version by every other.
            std::fs::write(ws.path("link.txt"), b"of another\n").unwrap();
            assert_eq!(
                code(actor.write_file(WriteFile::new(read, "x\n")).await),
                Code::Stale,
                "{read}, {written}"
            );
        }
    }
}

#[tokio::test]
async fn a_hard_link_is_another_name_and_keeps_the_old_bytes() {
    let ws = Workspace::new().await;
    ws.put("a.txt", b"one\n");
    std::fs::hard_link(ws.path("a.txt"), ws.path("other.txt")).unwrap();
    let actor = ws.actor();
    reads(&actor, "a.txt").await;
    // What was seen under one name is not seen under the other.
    assert_eq!(code(actor.write_file(WriteFile::new("other.txt", "x\n")).await), Code::NotRead);
    let receipt = done(actor.write_file(WriteFile::new("a.txt", "two\n")).await);
    assert_eq!(receipt.changes[0].metadata.other_names, 1);
    assert_eq!((ws.content("a.txt"), ws.content("other.txt")), (b"two\n".to_vec(), b"one\n".to_vec()));
    // What is written through the other name changes this one, where they are still one file.
    std::fs::remove_file(ws.path("other.txt")).unwrap();
    std::fs::hard_link(ws.path("a.txt"), ws.path("other.txt")).unwrap();
    std::fs::write(ws.path("other.txt"), b"of another\n").unwrap();
    assert_eq!(code(actor.write_file(WriteFile::new("a.txt", "x\n")).await), Code::Stale);
}

#[tokio::test]
async fn of_two_that_read_and_write_the_second_is_refused_and_told_what_to_read() {
    let ws = Workspace::new().await;
    ws.put("a.txt", b"one\n");
    let (first, second) = (ws.guard.actor("first"), ws.guard.actor("second"));
    reads(&first, "a.txt").await;
    reads(&second, "a.txt").await;
    done(first.write_file(WriteFile::new("a.txt", "of the first\n")).await);
    let refused = second.write_file(WriteFile::new("a.txt", "of the second\n")).await.unwrap_err().refusal;
    assert_eq!(refused.code, Code::Stale);
    assert_eq!(ws.content("a.txt"), b"of the first\n");
    let call = refused.remedy.unwrap().call.unwrap();
    second.call(call.tool.name(), serde_json::to_value(&call.arguments).unwrap()).await;
    done(second.write_file(WriteFile::new("a.txt", "of both\n")).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_edits_of_different_lines_both_land_a_thousand_times() {
    let ws = Workspace::new().await;
    ws.put("a.txt", b"left 0\n\nright 0\n");
    let actors = [Arc::new(ws.guard.actor("left")), Arc::new(ws.guard.actor("right"))];
    for round in 0..1_000 {
        let edits = ["left", "right"].into_iter().zip(&actors).map(|(word, actor)| {
            let actor = Arc::clone(actor);
            let edit = EditFile::new("a.txt", format!("{word} {round}\n"), format!("{word} {}\n", round + 1));
            tokio::spawn(async move { actor.edit_file(edit).await })
        });
        for edit in edits.collect::<Vec<_>>() {
            done(edit.await.unwrap());
        }
        let expected = format!("left {0}\n\nright {0}\n", round + 1);
        assert_eq!(String::from_utf8(ws.content("a.txt")).unwrap(), expected);
    }
}
