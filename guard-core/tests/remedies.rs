//! Every remedy is satisfiable: made to the letter, it makes the refused call pass.

mod common;

use std::collections::BTreeSet;

use common::Bench;
use guard_core::Outcome;
use guard_core::policy::{Code, Digest, Refusal};
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
