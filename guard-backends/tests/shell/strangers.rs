//! Rule 1: only a record with this session's nonce and this request's number is a result. The test is the target, so
//! that what arrives is exactly what it sent.

use guard_backends::shell::wire::{Record, Request, Verdict};
use guard_core::policy::FileState;
use guard_core::port::{CommitFailure, Content, Fate, FileOps as _, OpError};

use crate::peer::{Talk, absent, created, regular, reply, settled};

type Reply = fn(&str, &Request, Record) -> Vec<u8>;

/// Whole replies, well formed in every byte, that are not to the request that was asked.
const STRANGERS: &[(&str, Reply)] = &[
    ("to the request before", |nonce, request, record| reply(nonce, request.seq - 1, &[record])),
    ("to the request after", |nonce, request, record| reply(nonce, request.seq + 1, &[record])),
    ("to the hello", |nonce, _, record| reply(nonce, 0, &[record])),
    ("of another session", |nonce, request, record| {
        let other: String = nonce.chars().map(|digit| if digit == '0' { '1' } else { '0' }).collect();
        reply(&other, request.seq, &[record])
    }),
    ("of which the record is to the request before", |nonce, request, record| {
        [record.encode(nonce, request.seq - 1), Record::End.encode(nonce, request.seq)].concat()
    }),
    ("of which the end is to the request before", |nonce, request, record| {
        [record.encode(nonce, request.seq), Record::End.encode(nonce, request.seq - 1)].concat()
    }),
];

#[tokio::test(start_paused = true)]
async fn a_whole_reply_to_another_request_or_of_another_session_is_no_result() {
    for (what, stranger) in STRANGERS {
        let Talk { user, mut line, starts, .. } = Talk::new().await;
        let (before, ()) = tokio::join!(user.stat("x"), async {
            let request = line.whole().await;
            line.reply(&request, &[absent(&request)]).await;
        });
        assert_eq!(before.unwrap().state, FileState::Absent);
        let (answer, ()) = tokio::join!(user.stat("x"), async {
            let request = line.whole().await;
            let bytes = stranger(&line.nonce(), &request, absent(&request));
            line.raw(&bytes).await;
            assert!(line.is_closed().await, "{what}: the session goes on");
        });
        let Err(OpError::Unavailable { why }) = answer else { panic!("{what}: {answer:?}") };
        assert!(why.contains("reply to request") || why.contains("not the protocol"), "{what}: {why}");
        assert_eq!(starts.count(), 1, "{what}: it was asked again");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_to_another_request_does_not_tell_what_became_of_a_commit() {
    for (what, stranger) in STRANGERS {
        for verdict in [Verdict::Applied, Verdict::NotApplied] {
            let Talk { user, mut line, mut calls, starts } = Talk::new().await;
            let (outcome, ()) = tokio::join!(user.create("new", Content::from(b"x".to_vec())), async {
                let request = line.whole().await;
                let bytes = stranger(&line.nonce(), &request, created(&request));
                line.raw(&bytes).await;
                assert!(line.is_closed().await, "{what}: the session goes on");
                // It is looked into on another session, and that is what is told.
                let mut next = calls.greeted().await;
                let request = next.whole().await;
                next.reply(&request, &settled(verdict)).await;
            });
            match (verdict, outcome) {
                (Verdict::Applied, Ok(done)) => assert!(done.after.is_regular(), "{what}"),
                (Verdict::NotApplied, Err(error)) => {
                    let CommitFailure::Op(OpError::Unavailable { why }) = error.cause else {
                        panic!("{what}: {:?}", error.cause)
                    };
                    assert!(why.contains("nothing was changed"), "{what}: {why}");
                    assert_eq!(error.fates, [Fate::Untouched], "{what}");
                }
                (_, outcome) => panic!("{what}, {verdict:?}: {outcome:?}"),
            }
            assert_eq!(starts.count(), 2, "{what}");
        }
    }
}

/// What came before a request was sent is no part of its answer: the session is broken, and another one is asked.
#[tokio::test(start_paused = true)]
async fn what_is_said_between_two_requests_breaks_the_session_and_another_one_answers() {
    let noises: [fn(&str, &Request) -> Vec<u8>; 5] = [
        |_, _| b"The system is going down for maintenance at 22:00\n".to_vec(),
        |_, _| b"x".to_vec(),
        // The last reply once more, and an answer to what was not asked yet.
        |nonce, last| reply(nonce, last.seq, &[absent(last)]),
        |nonce, last| reply(nonce, last.seq + 1, &[absent(last)]),
        |nonce, _| nonce.as_bytes().to_vec(),
    ];
    for (nth, noise) in noises.into_iter().enumerate() {
        // In the same piece as the reply before it, or in one of its own.
        for at_once in [true, false] {
            let Talk { user, mut line, mut calls, starts } = Talk::new().await;
            let mut late = Vec::new();
            let (before, ()) = tokio::join!(user.stat("there"), async {
                let request = line.whole().await;
                let answer = reply(&line.nonce(), request.seq, &[absent(&request)]);
                let noise = noise(&line.nonce(), &request);
                if at_once {
                    line.raw(&[answer, noise].concat()).await;
                } else {
                    line.raw(&answer).await;
                    late = noise;
                }
            });
            assert_eq!(before.unwrap().state, FileState::Absent);
            line.raw(&late).await;
            let (answer, ()) = tokio::join!(user.stat("there"), async {
                let mut next = calls.greeted().await;
                let request = next.whole().await;
                next.reply(&request, &[crate::peer::found(&request, regular(b"bytes"))]).await;
            });
            assert!(answer.unwrap().state.is_regular(), "noise {nth}");
            assert!(line.is_closed().await, "noise {nth}: the broken session was asked");
            assert_eq!(starts.count(), 2, "noise {nth}");
        }
    }
}

/// Nor does a commit go to a session that said something by itself.
#[tokio::test(start_paused = true)]
async fn a_commit_is_not_sent_to_a_session_that_said_something_in_between() {
    let Talk { user, mut line, mut calls, starts } = Talk::new().await;
    line.raw(b"noise\n").await;
    let (outcome, ()) = tokio::join!(user.create("new", Content::from(b"x".to_vec())), async {
        let mut next = calls.greeted().await;
        let request = next.whole().await;
        next.reply(&request, &[created(&request)]).await;
    });
    assert!(outcome.unwrap().after.is_regular());
    assert!(line.is_closed().await, "it was sent to the broken session");
    assert_eq!(starts.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_line_of_noise_anywhere_in_a_reply_makes_it_none() {
    let motd = b"Welcome to this machine\n";
    let places: [(&str, fn(&[u8], &[u8]) -> usize); 4] = [
        ("before it", |_, _| 0),
        ("in a record", |record, _| record.len() / 2),
        ("between records", |record, _| record.len()),
        ("in its end", |record, end| record.len() + end.len() - 3),
    ];
    for (what, place) in places {
        let Talk { user, mut line, starts, .. } = Talk::new().await;
        let (answer, ()) = tokio::join!(user.stat("x"), async {
            let request = line.whole().await;
            let record = absent(&request).encode(&line.nonce(), request.seq);
            let end = Record::End.encode(&line.nonce(), request.seq);
            let at = place(&record, &end);
            let whole = [record, end].concat();
            line.raw(&[&whole[..at], motd, &whole[at..]].concat()).await;
            assert!(line.is_closed().await, "{what}: the session goes on");
        });
        assert!(matches!(answer, Err(OpError::Unavailable { .. })), "{what}: {answer:?}");
        assert_eq!(starts.count(), 1, "{what}: it was asked again");
    }
}

/// Noise in a body is bytes of the body; that they are not the file's is told by the digest.
#[tokio::test(start_paused = true)]
async fn a_line_of_noise_in_a_body_is_never_delivered() {
    let Talk { user, mut line, starts, .. } = Talk::new().await;
    let part = guard_core::port::Part::Whole { max: 1000 };
    let want = || [guard_core::port::Want { ask: user.ask("file"), part }];
    for noisy in [3, 1] {
        let wanted = want();
        let (answer, ()) = tokio::join!(user.shell.read(&wanted), async {
            for nth in 0..3 {
                let request = line.whole().await;
                let (nonce, seq) = (line.nonce(), request.seq);
                let file = crate::peer::found(&request, regular(b"bytes")).encode(&nonce, seq);
                let noise = if nth < noisy { &b"Welcome!\n"[..] } else { b"" };
                let body = [&Record::Body.encode(&nonce, seq)[..], b"by", noise, b"tes"].concat();
                let digest = Some(guard_core::policy::Digest::of(b"bytes"));
                let rest = reply(&nonce, seq, &[Record::Digest { digest, len: 5 }]);
                line.raw(&[&file[..], &body, request.token.as_bytes(), &rest].concat()).await;
                if nth == noisy {
                    break;
                }
            }
        });
        match (noisy, answer.unwrap().remove(0)) {
            (3, answer) => assert_eq!(answer, Err(OpError::Torn)),
            (_, answer) => {
                let bytes = guard_core::port::Body::Bytes { offset: 0, bytes: b"bytes".to_vec() };
                assert_eq!(answer.unwrap().body, bytes);
            }
        }
    }
    assert_eq!(starts.count(), 1);
}
