//! Requests that wait for each other, that are given up half-way, or that are answered before they were whole.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use guard_backends::shell::wire::{Look, Record, RequestEvent, Verb, Verdict};
use guard_core::policy::{Digest, FileState};
use guard_core::port::{CommitFailure, Content, Fate, FileOps as _, OpError, Sink, Source};

use crate::peer::{ROOM, Talk, absent, created, found, regular, settled};

fn looked(verb: &Verb) -> String {
    let Verb::Stat(looks) = verb else { panic!("{verb:?} is no stat") };
    let [Look { path, .. }] = &looks[..] else { panic!("{looks:?}") };
    String::from_utf8(path.clone()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn requests_are_sent_in_the_order_in_which_they_came_and_each_gets_its_own_answer() {
    let Talk { user, mut line, starts, .. } = Talk::new().await;
    let names: Vec<String> = (0..20).map(|nth| format!("file {nth}")).collect();
    // Tasks are begun in the order in which they were spawned.
    let tasks: Vec<_> = names
        .iter()
        .map(|name| {
            let (user, name) = (user.clone(), name.clone());
            tokio::spawn(async move { user.stat(&name).await })
        })
        .collect();
    let mut asked = Vec::new();
    for nth in 0..names.len() {
        let request = line.whole().await;
        asked.push(looked(&request.verb));
        // Nothing more is sent before the answer.
        let more = tokio::time::timeout(Duration::from_millis(5), line.event()).await;
        assert!(more.is_err(), "{more:?} before the answer to request {nth}");
        line.reply(&request, &[found(&request, regular(asked[nth].as_bytes()))]).await;
    }
    assert_eq!(asked, names);
    for (task, name) in tasks.into_iter().zip(&names) {
        let found = task.await.unwrap().unwrap();
        assert_eq!(found.resolved.as_str(), format!("/ws/{name}"));
        assert_eq!(found.state.digest(), Some(Digest::of(name.as_bytes())));
    }
    assert_eq!(starts.count(), 1);
}

/// Takes one piece and then no more.
struct Full;

#[async_trait]
impl Sink for Full {
    async fn take(&mut self, _: &[u8]) -> Result<(), OpError> {
        Err(OpError::NoSpace)
    }
}

/// Never comes back from taking a piece.
struct Stuck(tokio::sync::mpsc::UnboundedSender<()>);

#[async_trait]
impl Sink for Stuck {
    async fn take(&mut self, _: &[u8]) -> Result<(), OpError> {
        let _ = self.0.send(());
        std::future::pending().await
    }
}

/// A stream that is not taken to its end closes the session, and the next request has another one.
#[tokio::test(start_paused = true)]
async fn a_stream_that_is_dropped_or_fails_closes_the_session_and_the_next_request_has_another() {
    for fails in [true, false] {
        let Talk { user, mut line, mut calls, starts } = Talk::new().await;
        let (pieces, mut taken) = tokio::sync::mpsc::unbounded_channel();
        let reading = tokio::spawn({
            let user = user.clone();
            async move {
                let ask = user.ask("file");
                if fails {
                    user.shell.stream(&ask, &mut Full).await
                } else {
                    user.shell.stream(&ask, &mut Stuck(pieces)).await
                }
            }
        });
        let request = line.whole().await;
        let head = found(&request, regular(b"12345")).encode(&line.nonce(), request.seq);
        line.raw(&[head, Record::Body.encode(&line.nonce(), request.seq)].concat()).await;
        line.raw(&vec![b'x'; 1000]).await;
        if fails {
            assert_eq!(reading.await.unwrap(), Err(OpError::NoSpace));
        } else {
            taken.recv().await.unwrap();
            reading.abort();
            assert!(reading.await.unwrap_err().is_cancelled());
        }
        // The target goes on sending, as it cannot know; nobody takes it.
        let sent = line.flood(&[b'x'; 1000], 64 << 20).await;
        assert!(sent < 4 << 20, "{sent} bytes were taken by nobody");
        assert!(line.is_closed().await, "the session goes on");
        let (answer, ()) = tokio::join!(user.stat("x"), async {
            let mut next = calls.greeted().await;
            let request = next.whole().await;
            next.reply(&request, &[absent(&request)]).await;
        });
        assert_eq!(answer.unwrap().state, FileState::Absent);
        assert_eq!(starts.count(), 2);
    }
}

/// Gives so many bytes and then fails, or ends.
struct Short {
    bytes: usize,
    fails: bool,
}

impl Source for Short {
    fn open(&self) -> std::io::Result<Box<dyn std::io::Read + Send + '_>> {
        Ok(Box::new(Giving { left: self.bytes, fails: self.fails }))
    }
}

struct Giving {
    left: usize,
    fails: bool,
}

impl std::io::Read for Giving {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 && self.fails {
            return Err(std::io::Error::other("the disk is gone"));
        }
        let len = buffer.len().min(self.left);
        buffer[..len].fill(b'x');
        self.left -= len;
        Ok(len)
    }
}

/// A request that cannot be sent to its end is closed before its tail; the next one has another session, on which it
/// is looked for what was staged.
#[tokio::test(start_paused = true)]
async fn a_request_that_is_half_sent_closes_the_session_and_the_next_one_has_another() {
    const PIECES: usize = 600 * 1024;
    for fails in [true, false] {
        let Talk { user, mut line, mut calls, starts } = Talk::new().await;
        let short = Arc::new(Short { bytes: PIECES, fails });
        let content = Content::from_source(1 << 20, Digest::of(b""), short);
        let (outcome, ()) = tokio::join!(user.create("new", content), async {
            let request = line.request().await;
            assert!(request.has_tail());
            let mut bodies = 0;
            loop {
                match line.event().await {
                    Some(RequestEvent::Bytes(bytes)) => bodies += bytes.len(),
                    Some(other) => panic!("{other:?}"),
                    None => break,
                }
            }
            assert!(bodies <= PIECES, "{bodies}");
            drop(line);
        });
        let error = outcome.unwrap_err();
        match error.cause {
            CommitFailure::ContentMismatch if !fails => {}
            CommitFailure::Op(OpError::Io { errno, .. }) if fails => assert_eq!(errno, "the disk is gone"),
            other => panic!("{other:?}"),
        }
        assert_eq!((error.fates, starts.count()), (vec![Fate::Untouched], 1));
        let (answer, ()) = tokio::join!(user.stat("x"), async {
            let mut next = calls.greeted().await;
            let request = next.whole().await;
            assert!(matches!(request.verb, Verb::Settle { .. }), "{request:?}");
            next.reply(&request, &settled(Verdict::NotApplied)).await;
            let request = next.whole().await;
            next.reply(&request, &[absent(&request)]).await;
        });
        assert_eq!(answer.unwrap().state, FileState::Absent);
        assert_eq!(starts.count(), 2);
    }
}

/// An answer to a request that had not left as a whole is no answer to it, and nobody waits for more.
#[tokio::test(start_paused = true)]
async fn a_reply_that_comes_before_the_whole_request_has_left_is_not_taken_for_its_outcome() {
    let Talk { user, mut line, mut calls, starts } = Talk::new().await;
    // More than fits on the way: it cannot have left while the target does not read.
    let content = Content::from(vec![b'x'; 64 * ROOM]);
    let began = tokio::time::Instant::now();
    let (outcome, ()) = tokio::join!(user.create("new", content), async {
        let request = line.request().await;
        line.reply(&request, &[created(&request)]).await;
        // Where it goes on all the same, it has not been sent to its end.
        while let Some(event) = line.event().await {
            assert!(matches!(event, RequestEvent::Bytes(_)), "{event:?}");
        }
    });
    let error = outcome.unwrap_err();
    let CommitFailure::Op(OpError::Unavailable { why }) = error.cause else { panic!("{:?}", error.cause) };
    assert!(why.contains("had not left completely"), "{why}");
    assert_eq!((error.fates, starts.count()), (vec![Fate::Untouched], 1));
    assert!(began.elapsed() < Duration::from_secs(1), "it was waited for {:?}", began.elapsed());
    // It is looked into all the same, because the target may have staged something.
    let (answer, ()) = tokio::join!(user.stat("x"), async {
        let mut next = calls.greeted().await;
        let request = next.whole().await;
        assert!(matches!(request.verb, Verb::Settle { .. }), "{request:?}");
        next.reply(&request, &settled(Verdict::NotApplied)).await;
        let request = next.whole().await;
        next.reply(&request, &[absent(&request)]).await;
    });
    assert_eq!(answer.unwrap().state, FileState::Absent);
}

/// An answer to a question of which not all has left: whoever answers has to take the rest within the deadline.
#[tokio::test(start_paused = true)]
async fn a_reply_to_a_question_that_is_never_taken_whole_is_given_up_after_the_deadline() {
    let deadline = Duration::from_secs(7);
    let Talk { user, mut line, starts, .. } = Talk::with(|builder| builder.progress(deadline)).await;
    // All of it is more than fits on the way.
    let asks: Vec<_> = (0..3 * ROOM / 10).map(|nth| user.ask(&format!("a long name {nth}"))).collect();
    let began = tokio::time::Instant::now();
    let both = async {
        tokio::join!(user.shell.stat(&asks), async {
            line.is_begun().await;
            // The numbers of requests are from 1; the root was the first.
            let records: Vec<Record> = asks
                .iter()
                .map(|ask| Record::Found {
                    resolved: format!("/ws/{}", ask.path).into_bytes(),
                    state: guard_backends::shell::wire::State::Absent,
                })
                .collect();
            let answer = crate::peer::reply(&line.nonce(), 2, &records);
            line.raw(&answer).await;
            line
        })
    };
    let (answer, _line) = tokio::time::timeout(10 * deadline, both).await.expect("it is waited for");
    assert!(matches!(answer, Err(OpError::Unavailable { .. })), "{answer:?}");
    assert_eq!((began.elapsed(), starts.count()), (deadline, 1));
}
