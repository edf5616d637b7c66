//! A target that says more than was asked for: the session is broken, and the controller's memory stays bounded.

use std::time::Duration;

use async_trait::async_trait;
use guard_backends::shell::wire::{Record, Request};
use guard_core::port::{FileOps as _, OpError, Page, Part, Sink, Want};

use crate::peer::{Line, ROOM, Talk, User, found, regular};

/// How much is read at a time, and what is on the way.
const SLACK: usize = 256 * 1024 + 2 * ROOM;

fn why<T: std::fmt::Debug>(answer: Result<T, OpError>) -> String {
    match answer {
        Err(OpError::Unavailable { why }) => why,
        other => panic!("{other:?}"),
    }
}

async fn begin_body(line: &mut Line, request: &Request) {
    let head = found(request, regular(b"12345")).encode(&line.nonce(), request.seq);
    line.raw(&[head, Record::Body.encode(&line.nonce(), request.seq)].concat()).await;
}

async fn read(user: &User, part: Part) -> Result<(), OpError> {
    let want = Want { ask: user.ask("file"), part };
    user.shell.read(&[want]).await?.remove(0).map(|_| ())
}

/// One byte more is asked for than may be delivered, so that "too large" can be told.
#[tokio::test(start_paused = true)]
async fn more_body_bytes_than_were_asked_for_are_a_broken_session() {
    for (part, most) in [
        (Part::Whole { max: 10 }, 11),
        (Part::Whole { max: 0 }, 1),
        (Part::Bytes { offset: 3, len: 7 }, 7),
        (Part::Bytes { offset: 0, len: 0 }, 0),
    ] {
        for over in [0, 1] {
            let Talk { user, mut line, starts, .. } = Talk::new().await;
            let (answer, is_open) = tokio::join!(read(&user, part), async {
                let request = line.whole().await;
                begin_body(&mut line, &request).await;
                line.raw(&vec![b'x'; most + over]).await;
                line.raw(request.token.as_bytes()).await;
                let torn = guard_backends::shell::wire::Problem {
                    code: "denied".to_owned(),
                    path: b"/ws/file".to_vec(),
                    text: String::new(),
                    state: None,
                };
                line.reply(&request, &[Record::Problem(torn)]).await;
                over == 0 || !line.is_closed().await
            });
            if over == 0 {
                // It is an answer like any other.
                assert!(matches!(answer, Err(OpError::PermissionDenied { .. })), "{part:?}: {answer:?}");
            } else {
                assert!(why(answer).contains("more bytes than were asked for"), "{part:?}");
            }
            assert_eq!((is_open, starts.count()), (over == 0, 1), "{part:?}, {over} over");
        }
    }
}

/// A body that never ends is given up at its limit; nothing of it is kept beyond.
#[tokio::test(start_paused = true)]
async fn a_body_without_an_end_is_given_up_at_its_limit() {
    const MANY: usize = 64 << 20;
    for max in [0_u64, 1 << 20] {
        let Talk { user, mut line, .. } = Talk::new().await;
        let (answer, sent) = tokio::join!(read(&user, Part::Whole { max }), async {
            let request = line.whole().await;
            begin_body(&mut line, &request).await;
            line.flood(&[b'x'; 1000], MANY).await
        });
        assert!(why(answer).contains("more bytes than were asked for"));
        assert!(sent <= usize::try_from(max).unwrap() + SLACK, "{sent} bytes were taken, of at most {max}");
    }
    // Where nothing has a body, one byte is too many.
    let Talk { user, mut line, .. } = Talk::new().await;
    let (answer, sent) = tokio::join!(user.stat("file"), async {
        let request = line.whole().await;
        begin_body(&mut line, &request).await;
        line.flood(&[b'x'; 1000], MANY).await
    });
    assert!(why(answer).contains("more bytes than were asked for"));
    assert!(sent <= SLACK, "{sent} bytes were taken");
    // A page of a directory neither.
    let Talk { user, mut line, .. } = Talk::new().await;
    let (ask, page) = (user.ask("d"), Page { after: None, limit: 10 });
    let (answer, sent) = tokio::join!(user.shell.list(&ask, &page), async {
        let request = line.whole().await;
        begin_body(&mut line, &request).await;
        line.flood(&[b'x'; 1000], MANY).await
    });
    assert!(why(answer).contains("more bytes than were asked for"));
    assert!(sent <= SLACK, "{sent} bytes were taken");
}

/// A reply that never ends, of records that are well formed, is given up too; and so is a record without an end.
#[tokio::test(start_paused = true)]
async fn records_without_an_end_are_given_up() {
    const MANY: usize = 64 << 20;
    let replies: [(&str, fn(&str, &Request) -> Vec<u8>); 3] = [
        ("more records", |nonce, request| Record::Working.encode(nonce, request.seq)),
        ("more records", |nonce, request| found(request, regular(b"x")).encode(nonce, request.seq)),
        ("a word without an end", |_, _| vec![b'7'; 100]),
    ];
    for (expected, one) in replies {
        let Talk { user, mut line, .. } = Talk::new().await;
        let (answer, sent) = tokio::join!(user.stat("file"), async {
            let request = line.whole().await;
            if expected.starts_with("a word") {
                line.raw(format!("{} {} found ", line.nonce(), request.seq).as_bytes()).await;
            }
            let record = one(&line.nonce(), &request);
            line.flood(&record, MANY).await
        });
        assert!(why(answer).contains(expected), "{expected}");
        assert!(sent < 1 << 20, "{expected}: {sent} bytes were taken");
    }
}

/// Takes nothing before it is told to.
struct Slow(std::sync::Arc<tokio::sync::Semaphore>);

#[async_trait]
impl Sink for Slow {
    async fn take(&mut self, _: &[u8]) -> Result<(), OpError> {
        self.0.acquire().await.unwrap().forget();
        Ok(())
    }
}

/// A stream may be of any length: it goes on as fast as it is taken, and no faster.
#[tokio::test(start_paused = true)]
async fn a_stream_that_is_taken_slowly_is_not_heaped_up() {
    const MANY: usize = 64 << 20;
    let Talk { user, mut line, .. } = Talk::new().await;
    let permits = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let mut sink = Slow(std::sync::Arc::clone(&permits));
    let ask = user.ask("file");
    let reading = tokio::spawn(async move { user.shell.stream(&ask, &mut sink).await });
    let request = line.whole().await;
    begin_body(&mut line, &request).await;
    let piece = vec![b'x'; ROOM];
    let mut sent = 0;
    // The clock only moves on when nothing else does.
    while let Ok(more) = tokio::time::timeout(Duration::from_secs(1), line.flood(&piece, ROOM)).await {
        sent += more;
        assert!(sent < MANY, "nobody takes it, and it is taken");
    }
    // Two pieces in the channel, one in the sink's hands, one in the connection's, and what is on the way.
    assert!(sent <= 5 * SLACK, "{sent} bytes were taken");
    permits.add_permits(usize::MAX >> 4);
    let more = line.flood(&piece, 4 << 20).await;
    assert!(more >= 4 << 20, "it does not go on");
    reading.abort();
}
