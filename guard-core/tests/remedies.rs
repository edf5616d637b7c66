//! Every remedy is satisfiable: made to the letter, it makes the refused call pass.
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

mod common;

use std::collections::BTreeSet;

use common::Bench;
use guard_core::policy::{Code, Digest, Refusal};
use guard_core::{Actor, Outcome};
use serde_json::{Value, json};

/// A tool's name, and arguments for it.
type ToolCall = (&'static str, fn() -> Value);

/// A refused call: what is there, what the actor did before, what another process did then, and the call.
struct Case {
    code: Code,
    file: (&'static str, &'static [u8]),
    before: &'static [ToolCall],
    meanwhile: Meanwhile,
    call: ToolCall,
}

enum Meanwhile {
    Nothing,
    Changed(&'static [u8]),
    Deleted,
}

fn write_a() -> Value {
    json!({ "path": "a.txt", "content": "mine\n" })
}

fn read_a() -> Value {
    json!({ "path": "a.txt" })
}

const CASES: &[Case] = &[
    Case {
        code: Code::NotRead,
        file: ("a.txt", b"theirs\n"),
        before: &[],
        meanwhile: Meanwhile::Nothing,
        call: ("write_file", write_a),
    },
    Case {
        code: Code::NotRead,
        file: ("a.txt", b"theirs\n"),
        before: &[],
        meanwhile: Meanwhile::Nothing,
        call: ("delete_file", read_a),
    },
    Case {
        code: Code::PartiallyRead,
        file: ("a.txt", b"1\n2\n3\n"),
        before: &[("read_file", || json!({ "path": "a.txt", "limit": 1 }))],
        meanwhile: Meanwhile::Nothing,
        call: ("write_file", write_a),
    },
    Case {
        code: Code::PartiallyRead,
        file: ("a.txt", b"1\n2\n3\n"),
        before: &[("stat", read_a)],
        meanwhile: Meanwhile::Nothing,
        call: ("write_file", write_a),
    },
    Case {
        code: Code::Stale,
        file: ("a.txt", b"one\n"),
        before: &[("read_file", read_a)],
        meanwhile: Meanwhile::Changed(b"two\n"),
        call: ("write_file", write_a),
    },
    Case {
        code: Code::Stale,
        file: ("a.txt", b"one\n"),
        before: &[("read_file", read_a)],
        meanwhile: Meanwhile::Deleted,
        call: ("write_file", write_a),
    },
    Case {
        code: Code::Stale,
        file: ("a.txt", b"one\n"),
        before: &[("stat", read_a)],
        meanwhile: Meanwhile::Changed(b"two\n"),
        call: ("delete_file", read_a),
    },
    Case {
        code: Code::Expectation,
        file: ("a.txt", b"one\n"),
        before: &[("read_file", read_a)],
        meanwhile: Meanwhile::Changed(b"two\n"),
        call: (
            "write_file",
            || json!({ "path": "a.txt", "content": "mine\n", "expect": Digest::of(b"two\n") }),
        ),
    },
    Case {
        code: Code::BinaryExists,
        file: ("a.dat", b"a text fixture\n"),
        before: &[],
        meanwhile: Meanwhile::Nothing,
        call: ("write_file", || json!({ "path": "a.dat", "content": "mine\n" })),
    },
    Case {
        code: Code::BinaryExists,
        file: ("a.dat", b"a text fixture\n"),
        before: &[],
        meanwhile: Meanwhile::Nothing,
        call: ("edit_file", || json!({ "path": "a.dat", "old": "fixture", "new": "thing" })),
    },
    Case {
        code: Code::PdfExists,
        file: ("a.pdf", b"a text fixture\n"),
        before: &[],
        meanwhile: Meanwhile::Nothing,
        call: ("write_file", || json!({ "path": "a.pdf", "content": "mine\n" })),
    },
];

#[tokio::test]
async fn a_remedy_followed_to_the_letter_clears_its_refusal() {
    let mut shown = BTreeSet::new();
    for case in CASES {
        let bench = Bench::new().await;
        let file = format!("/ws/{}", case.file.0);
        bench.world.create(&file, case.file.1).unwrap();
        let actor = bench.actor();
        for (tool, args) in case.before {
            assert_eq!(actor.call(tool, args()).await.outcome, Outcome::Done, "{}", case.code);
        }
        match case.meanwhile {
            Meanwhile::Nothing => {}
            Meanwhile::Changed(bytes) => bench.world.write(&file, bytes).unwrap(),
            Meanwhile::Deleted => bench.world.unlink(&file).unwrap(),
        }
        let before = bench.world.snapshot();
        let (tool, args) = (case.call.0, case.call.1());
        let refusal = actor.call(tool, args.clone()).await.refusal.expect("it is refused");
        assert_eq!(refusal.code, case.code);
        assert_eq!(bench.world.snapshot(), before, "{}: nothing was changed", case.code);
        // A refusal is not cleared by making the call again.
        assert_eq!(actor.call(tool, args.clone()).await.outcome, Outcome::Refused, "{}", case.code);
        let call = refusal.remedy.and_then(|remedy| remedy.call).expect("it has a remedy that is a call");
        let arguments = serde_json::to_value(&call.arguments).unwrap();
        let remedy = actor.call(call.tool.name(), arguments).await;
        assert_eq!(remedy.outcome, Outcome::Done, "{}: {:?}", case.code, remedy.refusal);
        let again = actor.call(tool, args).await;
        assert_eq!(again.outcome, Outcome::Done, "{}: {:?}", case.code, again.refusal);
        shown.insert(case.code);
    }
    // Every code whose remedy is a call is shown above.
    for code in Code::ALL {
        let has_call = Refusal::new(*code, "a.txt", "").remedy.is_some_and(|remedy| remedy.call.is_some());
        assert!(!has_call || shown.contains(code), "{code} has a remedy that no case shows");
    }
}

/// Calls a tool, follows the remedies to the letter, and returns how many refusals there were; it must come to an end.
async fn until_done(actor: &Actor, tool: &str, arguments: Value) -> usize {
    for refusals in 0..4 {
        let reply = actor.call(tool, arguments.clone()).await;
        let Some(refusal) = reply.refusal else { return refusals };
        let call = refusal.remedy.and_then(|remedy| remedy.call);
        let call = call.unwrap_or_else(|| panic!("{tool} {arguments}: no remedy for {:?}", refusal.code));
        let remedy = actor.call(call.tool.name(), serde_json::to_value(&call.arguments).unwrap()).await;
        assert!(remedy.refusal.is_none(), "the remedy is refused: {remedy:?}");
    }
    panic!("{tool} {arguments} is refused again and again");
}

/// What is done one after the other, each step with the number of refusals on its way.
type Steps = &'static [(Step, usize)];

enum Step {
    Call(&'static str, fn() -> Value),
    /// Another process puts this there, or removes the file.
    Other(Option<&'static [u8]>),
}

fn write_b() -> Value {
    json!({ "path": "a.txt", "content": "mine once more\n" })
}

fn edit_mine() -> Value {
    json!({ "path": "a.txt", "old": "mine", "new": "mine, edited" })
}

fn undo_edit() -> Value {
    json!({ "path": "a.txt", "old": "mine, edited", "new": "mine" })
}

const HISTORIES: &[(&str, Steps)] = &[
    (
        "a write that is made again",
        &[
            (Step::Call("write_file", write_a), 0),
            (Step::Call("write_file", write_a), 0),
            (Step::Call("write_file", write_a), 0),
        ],
    ),
    (
        "a write that another made already",
        &[(Step::Other(Some(b"mine\n")), 0), (Step::Call("write_file", write_a), 0)],
    ),
    (
        "an empty file that somebody touched",
        &[
            (Step::Other(Some(b"")), 0),
            (Step::Call("write_file", write_a), 0),
            (Step::Call("write_file", write_b), 0),
        ],
    ),
    (
        "an own file that was emptied",
        &[
            (Step::Call("write_file", write_a), 0),
            (Step::Other(Some(b"")), 0),
            (Step::Call("write_file", write_b), 1),
            (Step::Call("write_file", write_a), 0),
        ],
    ),
    (
        "a file that was deleted since it was read",
        &[
            (Step::Other(Some(b"theirs\n")), 0),
            (Step::Call("read_file", read_a), 0),
            (Step::Other(None), 0),
            (Step::Call("write_file", write_a), 1),
            (Step::Call("write_file", write_b), 0),
        ],
    ),
    (
        "a file that the actor deleted and makes again",
        &[
            (Step::Call("write_file", write_a), 0),
            (Step::Call("delete_file", read_a), 0),
            (Step::Call("write_file", write_a), 0),
            (Step::Call("delete_file", read_a), 0),
        ],
    ),
    (
        "a file that the actor just created",
        &[
            (Step::Call("write_file", write_a), 0),
            (Step::Call("write_file", write_b), 0),
            (Step::Call("edit_file", edit_mine), 0),
            (Step::Call("delete_file", read_a), 0),
        ],
    ),
    (
        "write after edit after write",
        &[
            (Step::Call("write_file", write_a), 0),
            (Step::Call("edit_file", edit_mine), 0),
            (Step::Call("write_file", write_b), 0),
            (Step::Call("edit_file", edit_mine), 0),
            (Step::Call("edit_file", undo_edit), 0),
            (Step::Call("write_file", write_a), 0),
        ],
    ),
    (
        "a file that keeps changing",
        &[
            (Step::Other(Some(b"1\n")), 0),
            (Step::Call("write_file", write_a), 1),
            (Step::Other(Some(b"2\n")), 0),
            (Step::Call("write_file", write_a), 1),
            (Step::Other(Some(b"3 mine\n")), 0),
            (Step::Call("edit_file", edit_mine), 0),
            (Step::Other(Some(b"4\n")), 0),
            (Step::Call("delete_file", read_a), 1),
        ],
    ),
];

#[tokio::test]
async fn no_history_loops_and_each_refusal_is_cleared_by_its_remedy() {
    for (name, steps) in HISTORIES {
        let bench = Bench::new().await;
        let actor = bench.actor();
        for (at, (step, refusals)) in steps.iter().enumerate() {
            match step {
                Step::Call(tool, arguments) => {
                    assert_eq!(until_done(&actor, tool, arguments()).await, *refusals, "{name}, step {at}");
                }
                Step::Other(Some(bytes)) => bench.world.write("/ws/a.txt", bytes).unwrap(),
                Step::Other(None) => bench.world.unlink("/ws/a.txt").unwrap(),
            }
        }
    }
}

#[tokio::test]
async fn an_outstanding_refusal_of_one_file_affects_no_other() {
    for case in CASES {
        let bench = Bench::new().await;
        let (name, content) = case.file;
        bench.world.create(format!("/ws/{name}"), content).unwrap();
        let actor = bench.actor();
        for (tool, arguments) in case.before {
            actor.call(tool, arguments()).await;
        }
        match case.meanwhile {
            Meanwhile::Nothing => {}
            Meanwhile::Changed(bytes) => bench.world.write(format!("/ws/{name}"), bytes).unwrap(),
            Meanwhile::Deleted => bench.world.unlink(format!("/ws/{name}")).unwrap(),
        }
        let (tool, arguments) = case.call;
        let is_refused = async || actor.call(tool, arguments()).await.refusal.map(|refusal| refusal.code);
        assert_eq!(is_refused().await, Some(case.code));
        // Another file's whole life, with what is beside the refused one.
        for (tool, arguments) in [
            ("write_file", json!({ "path": "other.txt", "content": "one\n" })),
            ("read_file", json!({ "path": "other.txt" })),
            ("edit_file", json!({ "path": "other.txt", "old": "one", "new": "two" })),
            ("move_file", json!({ "from": "other.txt", "to": "moved.txt" })),
            ("delete_file", json!({ "path": "moved.txt" })),
            ("make_dir", json!({ "path": "dir" })),
            ("list_dir", json!({ "path": "." })),
        ] {
            let reply = actor.call(tool, arguments).await;
            assert!(reply.refusal.is_none(), "{:?}: {tool}: {reply:?}", case.code);
        }
        // And it is refused still.
        assert_eq!(is_refused().await, Some(case.code));
    }
}
