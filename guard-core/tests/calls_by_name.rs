//! The tools by name, with JSON: the same views, one kind of result, arguments that are checked.
#![allow(clippy::unwrap_used, reason = "what fails here fails the test")]

mod common;

use std::sync::{Arc, Mutex};

use common::{Bench, done};
use guard_core::policy::{Access, Policy, Rights, Tool};
use guard_core::port::{AuditRecord, AuditSink};
use guard_core::{Outcome, WriteFile};
use guard_testkit::wrap::{Method, When};
use serde_json::{Value, json};

async fn call(actor: &guard_core::Actor, name: &str, args: Value) -> Value {
    serde_json::to_value(actor.call(name, args).await).expect("a reply is plain data")
}

#[tokio::test]
async fn deferred_and_direct_calls_meet_the_same_views() {
    let bench = Bench::new().await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    let actor = bench.actor();
    let refused = call(&actor, "write_file", json!({ "path": "a.txt", "content": "two\n" })).await;
    assert_eq!((&refused["outcome"], &refused["refusal"]["code"]), (&json!("refused"), &json!("not-read")));
    // The remedy is a call, as data: made to the letter, it settles the matter.
    let remedy = &refused["refusal"]["remedy"]["call"];
    let read = call(&actor, remedy["tool"].as_str().unwrap(), remedy["arguments"].clone()).await;
    assert_eq!(read["result"]["content"], "     1\tone\n");
    let written = done(actor.write_file(WriteFile::new("a.txt", "two\n")).await);
    assert!(written.changed);
    let edited =
        call(&actor, "edit_file", json!({ "file_path": "a.txt", "old_string": "two", "new_string": "2" }))
            .await;
    assert_eq!(edited["outcome"], "done");
    let edits = json!({ "path": "a.txt", "edits": [{ "oldText": "2", "newText": "3" }] });
    assert_eq!(call(&actor, "edit_file", edits).await["receipt"]["changed"], true);
    let expected =
        json!({ "path": "a.txt", "content": "4\n", "expect": edited["receipt"]["changes"][0]["after"] });
    assert_eq!(call(&actor, "write_file", expected).await["refusal"]["code"], "expectation");
    assert_eq!(
        call(&actor, "stat", json!({ "path": "a.txt" })).await["result"]["paths"][0]["state"]["kind"],
        "regular"
    );
    assert_eq!(call(&actor, "list_dir", json!({})).await["result"]["entries"][0]["name"], "a.txt");
    assert_eq!(call(&actor, "make_dir", json!({ "path": "d/e" })).await["outcome"], "done");
    assert_eq!(
        call(&actor, "move_file", json!({ "from": "a.txt", "to": "d/a.txt" })).await["outcome"],
        "done"
    );
    assert_eq!(call(&actor, "delete_file", json!({ "path": "d/a.txt" })).await["outcome"], "done");
}

#[tokio::test]
async fn unknown_arguments_are_refused_and_the_allowed_ones_named() {
    let bench = Bench::new().await;
    let actor = bench.actor();
    for (tool, args, named) in [
        ("write_file", json!({ "path": "a.txt", "content": "x", "dryRun": true }), "dry_run"),
        ("read_file", json!({ "path": "a.txt", "lines": 3 }), "limit"),
        ("read_file", json!({ "path": "a.txt", "bytes": { "offset": 0, "len": 3 } }), "length"),
        (
            "edit_file",
            json!({ "path": "a.txt", "edits": [{ "old": "a", "new": "b", "all": true }] }),
            "replace_all",
        ),
        ("write_file", json!({ "path": "a.txt", "content": "x", "expect": "sha256:12" }), "absent"),
        ("write_file", json!({ "content": "x" }), "path"),
        ("write_file", json!("a.txt"), "object"),
        ("write_file", json!(["a.txt", "x"]), "object"),
        ("write_file", json!(null), "object"),
        (
            "edit_file",
            json!({ "path": "a.txt", "old": "a", "new": "b", "replace_all": null }),
            "`replace_all`",
        ),
        ("edit_file", json!({ "path": "a.txt", "edits": [{ "old": 1, "new": "b" }] }), "`edits[0].old`"),
        ("list_dir", json!({ "after": "zz" }), "`next` of the page before"),
        ("rm_rf", json!({}), "delete_file"),
        ("apply_patch", json!({}), "patch"),
    ] {
        let reply = call(&actor, tool, args).await;
        assert_eq!(reply["refusal"]["code"], "invalid-arguments", "{tool}");
        let message = reply["refusal"]["message"].as_str().unwrap();
        assert!(message.contains(named), "{tool}: {message}");
    }
    assert_eq!(bench.ops.take().total(), 1, "only the target knows what a cursor is");
}

#[tokio::test]
async fn the_tool_definitions_are_what_a_model_is_told() {
    let toolbox = Bench::new().await.guard.toolbox();
    insta::assert_json_snapshot!(toolbox.definitions().collect::<Vec<_>>());
    for definition in toolbox.definitions() {
        assert_eq!(definition.parameters.get("type"), Some(&json!("object")), "{}", definition.name);
    }
    let reply = serde_json::to_value(schemars::schema_for!(guard_core::Reply)).unwrap();
    assert_eq!(reply["type"], "object");
}

#[tokio::test]
async fn a_receipt_says_what_surely_happened() {
    let bench = Bench::new().await;
    let reply = bench.actor().call("write_file", json!({ "path": "d/a.txt", "content": "one\n" })).await;
    insta::assert_json_snapshot!(reply);
}

#[tokio::test]
async fn what_an_actor_may_not_do_is_refused_before_any_request() {
    let bench = Bench::new().await;
    let reader = bench.guard.actor_with("reader", Rights { access: Access::ReadOnly, ..Rights::default() });
    let parent =
        bench.guard.actor_with("parent", Rights { disabled: [Tool::EditFile].into(), ..Rights::default() });
    let child = parent.child_with("child", &Rights { disabled: [Tool::ListDir].into(), ..Rights::default() });
    let write = json!({ "path": "a.txt", "content": "x" });
    let edit = json!({ "path": "a.txt", "old": "x", "new": "y" });
    assert_eq!(call(&reader, "write_file", write.clone()).await["refusal"]["code"], "read-only-actor");
    assert_eq!(
        call(&reader.child("grandchild"), "write_file", write).await["refusal"]["code"],
        "read-only-actor"
    );
    assert_eq!(call(&parent, "edit_file", edit.clone()).await["refusal"]["code"], "tool-disabled");
    assert_eq!(call(&child, "edit_file", edit).await["refusal"]["code"], "tool-disabled");
    assert_eq!(call(&child, "list_dir", json!({})).await["refusal"]["code"], "tool-disabled");
    assert_eq!(bench.ops.take().total(), 0);
    assert_eq!(call(&parent, "list_dir", json!({})).await["outcome"], "done");
    let disabled = Policy { disabled_tools: vec![Tool::Stat], ..Policy::default() };
    let bench = Bench::with_policy(disabled).await;
    assert_eq!(
        call(&bench.actor(), "stat", json!({ "path": "a" })).await["refusal"]["code"],
        "tool-disabled"
    );
}

#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl AuditSink for Log {
    fn record(&self, record: &AuditRecord) {
        let code = record.code.map_or("-", |code| code.as_str());
        let changed = record.receipt.as_ref().map_or(Value::Null, |receipt| receipt["changed"].clone());
        self.0.lock().expect("no test panics while it logs").push(format!(
            "{} {} {} {} {code} {changed}",
            record.actor,
            record.tool.name(),
            record.paths.join(","),
            record.outcome
        ));
    }
}

#[tokio::test]
async fn every_call_has_one_audit_line() {
    let log = Arc::new(Log::default());
    let sink: Arc<dyn AuditSink> = Arc::<Log>::clone(&log);
    let bench = Bench::with(|builder| builder.audit(sink)).await;
    let actor = bench.actor();
    call(&actor, "write_file", json!({ "path": "a.txt", "content": "x" })).await;
    call(&bench.guard.actor("other"), "write_file", json!({ "path": "a.txt", "content": "x" })).await;
    call(&actor, "read_file", json!({ "path": "a.txt" })).await;
    call(&actor, "write_file", json!({ "path": "../a.txt", "content": "x" })).await;
    call(&actor, "write_file", json!({ "path": "b.txt", "content": "x", "dry_run": true })).await;
    call(&actor, "move_file", json!({ "from": "a.txt", "to": "b.txt" })).await;
    assert_eq!(
        *log.0.lock().unwrap(),
        [
            "main write_file a.txt done - true",
            "other write_file a.txt done - false",
            "main read_file a.txt done - null",
            "main write_file ../a.txt refused outside-root null",
            "main write_file b.txt done - null",
            "main move_file a.txt,b.txt done - true",
        ]
    );
    assert_eq!(Outcome::Done.as_str(), "done");
}

/// Where a caller goes away, and the one line that the call leaves.
async fn line_of_a_call_given_up(
    tool: &'static str,
    arguments: Value,
    (method, when): (Method, When),
    meanwhile: impl FnOnce(&Bench),
) -> Vec<String> {
    let log = Arc::new(Log::default());
    let sink: Arc<dyn AuditSink> = Arc::<Log>::clone(&log);
    let bench = Bench::with(|builder| builder.audit(sink)).await;
    bench.world.create("/ws/a.txt", b"one\n").unwrap();
    let actor = Arc::new(bench.actor());
    call(&actor, "read_file", json!({ "path": "a.txt" })).await;
    log.0.lock().unwrap().clear();
    let mut gate = bench.barrier().hold(method, when);
    meanwhile(&bench);
    let task = tokio::spawn({
        let actor = Arc::clone(&actor);
        async move { call(&actor, tool, arguments).await }
    });
    gate.reached().await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    gate.open();
    // A commit under way holds the lock of the file, and this waits for it.
    call(&actor, "write_file", json!({ "path": "a.txt", "content": "the end\n" })).await;
    let mut lines = log.0.lock().unwrap().clone();
    lines.pop();
    lines
}

#[tokio::test]
async fn a_call_that_its_caller_gave_up_has_one_audit_line_too() {
    let another = |bench: &Bench| bench.world.write("/ws/a.txt", b"of another\n").unwrap();
    let write = || json!({ "path": "a.txt", "content": "two\n" });
    let edit = json!({ "path": "a.txt", "old": "one", "new": "two" });
    let before = |method| (method, When::Before);
    // Before anything was done.
    let lines = line_of_a_call_given_up("edit_file", edit, before(Method::Read), |_| ()).await;
    assert_eq!(lines, ["main edit_file a.txt refused cancelled null"]);
    let read = json!({ "path": "a.txt" });
    let lines = line_of_a_call_given_up("read_file", read, before(Method::Read), |_| ()).await;
    assert_eq!(lines, ["main read_file a.txt refused cancelled null"]);
    // While a commit is under way, which ends all the same.
    let lines = line_of_a_call_given_up("write_file", write(), before(Method::Commit), |_| ()).await;
    assert_eq!(lines, ["main write_file a.txt done - true"]);
    // While one is under way that fails.
    let lines = line_of_a_call_given_up("write_file", write(), before(Method::Commit), another).await;
    assert_eq!(lines, ["main write_file a.txt refused stale null"]);
    // After one that failed, while it is found out which lines differ.
    let lines = line_of_a_call_given_up("write_file", write(), before(Method::Read), another).await;
    assert_eq!(lines, ["main write_file a.txt refused cancelled null"]);
}
