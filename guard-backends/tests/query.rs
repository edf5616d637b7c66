//! Reading and listing: regular files only, whole versions only, never a hang.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test arranges the filesystem by itself"
)]

mod common;

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixListener;

use async_trait::async_trait;
use common::{RESOLVERS, Ws, make_node, mkfifo};
use guard_backends::local::Local;
use guard_core::policy::{Digest, FileState, OtherKind};
use guard_core::port::{Body, Contents, Depth, FileOps as _, Last, OpError, Page, Part, Sink, Want};
use guard_testkit::skip::{self, Need};
use rustix::fs::{FileType, makedev};

async fn read(ws: &Ws, path: &str, depth: Depth, part: Part) -> Result<Contents, OpError> {
    let ask = guard_core::port::Ask { depth, ..ws.ask(path) };
    ws.local.read(&[Want { ask, part }]).await?.remove(0)
}

const WHOLE: Part = Part::Whole { max: 1 << 20 };
const DIGEST: Depth = Depth::Digest { max: 1 << 20 };

#[tokio::test]
async fn a_whole_read_delivers_the_bytes_and_their_digest() {
    for resolver in RESOLVERS {
        let ws = Ws::of(resolver).await;
        let large = vec![b'x'; 300_000];
        for bytes in [&b""[..], b"hello", &large] {
            ws.write("f", bytes);
            let got = read(&ws, "f", Depth::State, WHOLE).await.unwrap();
            assert_eq!(got.body, Body::Bytes { offset: 0, bytes: bytes.to_vec() });
            let FileState::Regular { len, digest, nlink, .. } = got.found.state else { panic!("{got:?}") };
            assert_eq!((len, digest, nlink), (bytes.len() as u64, Some(Digest::of(bytes)), 1));
            assert_eq!(got.found.resolved, ws.target("f"));
        }
    }
}

#[tokio::test]
async fn a_window_comes_with_the_digest_of_the_whole() {
    let ws = Ws::new().await;
    let bytes: Vec<u8> = (0..300_000_u32).map(|number| (number % 251) as u8).collect();
    ws.write("f", &bytes);
    for (offset, len, expected) in [
        (0, 10, 0..10),
        (131_070, 10, 131_070..131_080),
        (299_995, 10, 299_995..300_000),
        (300_000, 10, 300_000..300_000),
        (9_999_999, 1, 300_000..300_000),
        (0, u64::MAX, 0..300_000),
        (5, 0, 5..5),
    ] {
        let got = read(&ws, "f", DIGEST, Part::Bytes { offset, len }).await.unwrap();
        let expected_bytes = bytes[expected.clone()].to_vec();
        assert_eq!(
            got.body,
            Body::Bytes { offset: expected.start as u64, bytes: expected_bytes },
            "{offset} {len}"
        );
        assert_eq!(got.found.state.digest(), Some(Digest::of(&bytes)));
    }
    let over =
        read(&ws, "f", Depth::Digest { max: 299_999 }, Part::Bytes { offset: 0, len: 1 }).await.unwrap();
    assert_eq!((over.body, over.found.state.digest()), (Body::TooLarge, None));
}

#[tokio::test]
async fn a_file_over_the_limit_is_too_large_with_a_digest_where_that_is_within_reach() {
    let ws = Ws::new().await;
    ws.write("f", "0123456789");
    let got = read(&ws, "f", DIGEST, Part::Whole { max: 9 }).await.unwrap();
    assert_eq!((got.body, got.found.state.digest()), (Body::TooLarge, Some(Digest::of(b"0123456789"))));
    let got = read(&ws, "f", Depth::Digest { max: 9 }, Part::Whole { max: 9 }).await.unwrap();
    assert_eq!((got.body, got.found.state.digest()), (Body::TooLarge, None));
    let got = read(&ws, "f", Depth::State, Part::Whole { max: 10 }).await.unwrap();
    assert!(matches!(got.body, Body::Bytes { .. }));
}

#[tokio::test]
async fn a_sparse_gibibyte_is_too_large_and_not_read() {
    let ws = Ws::new().await;
    let file = fs::File::create(ws.path("sparse")).unwrap();
    file.set_len(1 << 30).unwrap();
    for part in [Part::Whole { max: 1 << 20 }, Part::Bytes { offset: 5, len: 10 }] {
        let got = read(&ws, "sparse", Depth::Digest { max: 256 << 20 }, part).await.unwrap();
        assert_eq!(got.body, Body::TooLarge);
        assert!(matches!(got.found.state, FileState::Regular { len: 0x4000_0000, digest: None, .. }));
    }
    let found = ws.stat("sparse").await.unwrap();
    assert_eq!(found.state.digest(), None, "over the asked depth");
}

#[tokio::test]
async fn what_is_no_regular_file_is_told_and_never_opened() {
    for resolver in RESOLVERS {
        let ws = Ws::of(resolver).await;
        ws.mkdir("dir");
        ws.link("nothing", "dangling");
        mkfifo(&ws.path("fifo"));
        let _socket = UnixListener::bind(ws.path("socket")).unwrap();
        ws.link("fifo", "to-fifo");
        let mut cases = vec![
            ("dir", FileState::Directory),
            ("", FileState::Directory),
            ("dangling", FileState::Link { text: "nothing".to_owned() }),
            ("fifo", FileState::Other { what: OtherKind::Fifo }),
            ("to-fifo", FileState::Other { what: OtherKind::Fifo }),
            ("socket", FileState::Other { what: OtherKind::Socket }),
            ("nothing", FileState::Absent),
            ("no/such", FileState::Absent),
        ];
        // A device that blocks for ever, or rewinds a tape, when it is opened is only told of.
        match make_node(&ws.path("tty"), FileType::CharacterDevice, makedev(5, 0)) {
            Ok(()) => cases.push(("tty", FileState::Other { what: OtherKind::CharDevice })),
            Err(_) => {
                skip::unmet(Need::Devices, "what_is_no_regular_file_is_told_and_never_opened (a device)");
            }
        }
        for (path, expected) in cases {
            let got = read(&ws, path, DIGEST, WHOLE).await.unwrap();
            assert_eq!((&got.body, &got.found.state), (&Body::NotRegular, &expected), "{resolver:?} {path}");
            assert_eq!(ws.stat(path).await.unwrap().state, expected, "{resolver:?} {path}");
            let mut sink = Taken::default();
            let streamed = ws.local.stream(&ws.ask(path), &mut sink).await;
            assert!(
                matches!(streamed, Err(OpError::NotRegular { state, .. }) if state == expected),
                "{path}"
            );
            assert_eq!(sink.bytes, b"");
        }
    }
}

/// Control: the plain way to read waits for a writer that may never come.
#[test]
fn control_opening_a_fifo_to_read_waits() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("fifo");
    mkfifo(&path);
    let (done, waits) = std::sync::mpsc::channel();
    let reader = {
        let path = path.clone();
        std::thread::spawn(move || done.send(fs::read(path).unwrap()).unwrap())
    };
    // Such an open succeeds only while a reader is there (fifo(7)).
    let mut options = fs::OpenOptions::new();
    options.write(true).custom_flags(libc::O_NONBLOCK);
    let mut writer = loop {
        match options.open(&path) {
            Ok(writer) => break writer,
            Err(_) => std::thread::yield_now(),
        }
    };
    assert_eq!(waits.try_recv(), Err(std::sync::mpsc::TryRecvError::Empty), "it is stuck");
    writer.write_all(b"freed").unwrap();
    drop(writer);
    reader.join().unwrap();
    assert_eq!(waits.recv().unwrap(), b"freed");
}

#[derive(Default)]
struct Taken {
    bytes: Vec<u8>,
    pieces: usize,
    largest: usize,
}

#[async_trait]
impl Sink for Taken {
    async fn take(&mut self, bytes: &[u8]) -> Result<(), OpError> {
        self.bytes.extend_from_slice(bytes);
        self.pieces += 1;
        self.largest = self.largest.max(bytes.len());
        Ok(())
    }
}

#[tokio::test]
async fn a_stream_delivers_every_byte_in_bounded_pieces() {
    let ws = Ws::new().await;
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 253) as u8).collect();
    ws.write("f", &bytes);
    let mut sink = Taken::default();
    let found = ws.local.stream(&ws.ask("f"), &mut sink).await.unwrap();
    assert_eq!(sink.bytes, bytes);
    assert!(sink.pieces > 10 && sink.largest <= 1 << 18, "{} {}", sink.pieces, sink.largest);
    assert_eq!(found.state.digest(), Some(Digest::of(&bytes)));
}

/// A sink that changes the file under the stream, or fails.
struct Meddling<'a> {
    ws: &'a Ws,
    fail: bool,
}

#[async_trait]
impl Sink for Meddling<'_> {
    async fn take(&mut self, _bytes: &[u8]) -> Result<(), OpError> {
        if self.fail {
            return Err(OpError::NoSpace);
        }
        fs::OpenOptions::new().append(true).open(self.ws.path("f")).unwrap().write_all(b"more").unwrap();
        Ok(())
    }
}

#[tokio::test]
async fn a_file_that_grows_under_a_stream_is_torn_and_a_failing_sink_ends_it() {
    let ws = Ws::new().await;
    ws.write("f", vec![b'x'; 2_000_000]);
    let torn = ws.local.stream(&ws.ask("f"), &mut Meddling { ws: &ws, fail: false }).await;
    assert_eq!(torn, Err(OpError::Torn));
    let failed = ws.local.stream(&ws.ask("f"), &mut Meddling { ws: &ws, fail: true }).await;
    assert_eq!(failed, Err(OpError::NoSpace));
}

#[tokio::test]
async fn a_listing_is_sorted_by_bytes_and_cut_into_pages() {
    for resolver in RESOLVERS {
        let ws = Ws::of(resolver).await;
        ws.mkdir("d/sub");
        ws.write("d/B", "b");
        ws.write("d/a", "aa");
        ws.write("d/new\nline", "");
        ws.write("d/-rf", "");
        ws.write("d/back\\slash", "");
        ws.link("nothing", "d/link");
        let bad = ws.path("d").join(OsStr::from_bytes(b"bad\xff\\"));
        fs::write(bad, "?").unwrap();

        let all = ws.local.list(&ws.ask("d"), &Page { after: None, limit: 100 }).await.unwrap();
        let names: Vec<_> =
            all.entries.iter().map(|entry| (entry.name.as_str(), entry.addressable)).collect();
        assert_eq!(
            names,
            [
                ("-rf", true),
                ("B", true),
                ("a", true),
                ("back\\slash", true),
                ("bad\\xFF\\\\", false),
                ("link", true),
                ("new\nline", true),
                ("sub", true),
            ]
        );
        assert_eq!((all.resolved, all.next), (ws.target("d"), None));
        assert!(matches!(all.entries[1].state, FileState::Regular { len: 1, digest: None, .. }));
        assert_eq!(all.entries[5].state, FileState::Link { text: "nothing".to_owned() });
        assert_eq!(all.entries[7].state, FileState::Directory);

        let mut paged = Vec::new();
        let mut page = Page { after: None, limit: 3 };
        loop {
            let part = ws.local.list(&ws.ask("d"), &page).await.unwrap();
            assert!(part.entries.len() <= 3);
            paged.extend(part.entries);
            match part.next {
                Some(next) => page.after = Some(next),
                None => break,
            }
        }
        assert_eq!(paged, all.entries, "{resolver:?}");
        assert_eq!(
            ws.local.list(&ws.ask(""), &Page { after: None, limit: 9 }).await.unwrap().entries.len(),
            1
        );
    }
}

#[tokio::test]
async fn a_directory_that_leaves_the_root_while_it_is_listed_is_not_what_is_listed() {
    for resolver in RESOLVERS {
        let outside = tempfile::tempdir().unwrap();
        let away = outside.path().join("away");
        let ws = Ws::once(Local::builder().resolver(resolver), "to-list", move |dir| {
            fs::rename(dir.join("d"), &away).unwrap();
            fs::write(away.join("outside"), "outside").unwrap();
            fs::rename(dir.join("next"), dir.join("d")).unwrap();
        })
        .await;
        ws.mkdir("d");
        ws.mkdir("next");
        ws.write("d/was", "");
        ws.write("next/is", "");
        let all = ws.local.list(&ws.ask("d"), &Page { after: None, limit: 9 }).await.unwrap();
        let names: Vec<_> = all.entries.into_iter().map(|entry| entry.name).collect();
        assert_eq!((names, all.resolved), (vec!["is".to_owned()], ws.target("d")), "{resolver:?}");
    }
}

#[tokio::test]
async fn what_is_no_directory_is_not_listed() {
    let ws = Ws::new().await;
    ws.write("f", "f");
    ws.mkdir("d");
    ws.link("d", "to-d");
    mkfifo(&ws.path("fifo"));
    let page = Page { after: None, limit: 10 };
    for (path, last, expected) in [
        ("f", Last::Follow, "not-directory"),
        ("fifo", Last::Follow, "not-directory"),
        ("to-d", Last::Follow, "listed"),
        ("to-d", Last::Itself, "not-directory"),
        ("nothing", Last::Follow, "not-found"),
    ] {
        let ask = guard_core::port::Ask { last, ..ws.ask(path) };
        let got = match ws.local.list(&ask, &page).await {
            Ok(_) => "listed",
            Err(OpError::NotDirectory { .. }) => "not-directory",
            Err(OpError::NotFound { .. }) => "not-found",
            Err(other) => panic!("{path}: {other:?}"),
        };
        assert_eq!(got, expected, "{path} {last:?}");
    }
    let bad = ws.local.list(&ws.ask(""), &Page { after: Some("zz".to_owned()), limit: 1 }).await;
    assert!(matches!(bad, Err(OpError::Unsupported { .. })));
}

#[tokio::test]
async fn one_answer_comes_for_each_question_in_order() {
    let ws = Ws::new().await;
    ws.write("a", "1");
    let asks = ["a", "../x", "nothing"].map(|path| ws.ask(path));
    let answers = ws.local.stat(&asks).await.unwrap();
    assert!(answers[0].as_ref().is_ok_and(|found| found.state.is_regular()));
    assert_eq!(answers[1], Err(OpError::OutsideRoot));
    assert!(answers[2].as_ref().is_ok_and(|found| found.state == FileState::Absent));
}
