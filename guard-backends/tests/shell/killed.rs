//! A shell that is killed at any step of a batch: all of it or none of it, or a report of what is uncertain.

use std::collections::BTreeMap;

use guard_core::policy::Precondition;
use guard_core::port::{Batch, Fate, FileOps as _};
use guard_testkit::transport::{Call, Deed, Wrappers};

use crate::common::batch;
use crate::ws::{Ws, is, sh};

const TOOLS: [&str; 11] =
    ["link", "mv", "rm", "perl", "dd", "sha256sum", "stat", "mkdir", "sync", "cp", "chmod"];

/// What the workspace holds, without temporary names.
fn contents(ws: &Ws) -> BTreeMap<String, Vec<u8>> {
    let files = ws.tree().into_keys().filter(|name| ws.path(name).is_file() && !name.contains(".guard-"));
    files.map(|name| (name.clone(), ws.read(&name))).collect()
}

fn fill(ws: &Ws) {
    for entry in std::fs::read_dir(ws.dir.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        } else {
            std::fs::remove_file(path).unwrap();
        }
    }
    for name in ["replaced", "removed", "moved"] {
        ws.write(name, format!("old {name}"));
    }
}

fn changes(ws: &Ws) -> Batch {
    batch(vec![
        ws.put("made/created", Precondition::Absent, "new"),
        ws.put("replaced", is("old replaced"), "new"),
        ws.remove("removed", is("old removed")),
        ws.move_to("moved", is("old moved"), "destination"),
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_whose_shell_is_killed_at_any_step_is_all_or_nothing() {
    let wrappers = Wrappers::new().unwrap();
    for tool in TOOLS {
        wrappers.wrap(tool).unwrap();
    }
    let ws = Ws::over(sh().env("PATH", wrappers.path())).await;
    fill(&ws);
    let old = contents(&ws);
    // How often each tool is called, from a batch that goes through.
    let before = wrappers.calls().unwrap().len();
    ws.shell.commit(changes(&ws)).await.unwrap();
    let new = contents(&ws);
    assert_eq!(new.len(), 3, "{new:?}");
    let mut calls: BTreeMap<String, u64> = BTreeMap::new();
    for call in wrappers.calls().unwrap().split_off(before) {
        *calls.entry(call.tool).or_default() += 1;
    }
    let (mut applied, mut taken_back) = (0, 0);
    for (tool, count) in &calls {
        for nth in 1..=*count {
            for after in [false, true] {
                fill(&ws);
                // The first requests of a session may call tools too; the plan is of what comes from here on.
                ws.stat("replaced").await.unwrap();
                let call = Call::of(tool).nth(nth);
                wrappers.plan(if after { call.after() } else { call }, Deed::KillShell).unwrap();
                let outcome = ws.shell.commit(changes(&ws)).await;
                let what = format!("killed {} call {nth} of {tool}", if after { "after" } else { "before" });
                let now = contents(&ws);
                match &outcome {
                    Ok(_) => {
                        assert_eq!(now, new, "{what}");
                        applied += 1;
                    }
                    Err(error)
                        if error
                            .fates
                            .iter()
                            .all(|fate| matches!(fate, Fate::Untouched | Fate::Restored)) =>
                    {
                        assert_eq!(now, old, "{what}: {error:?}");
                        assert!(!ws.path("made").exists(), "{what}: a directory stays");
                        taken_back += 1;
                    }
                    Err(error) => panic!("{what}: {error:?}, and there is {now:?}"),
                }
                assert_eq!(ws.temps(), Vec::<String>::new(), "{what}: {outcome:?}");
            }
        }
    }
    println!("{applied} batches were in effect, {taken_back} were not; calls: {calls:?}");
    assert!(applied > 0 && taken_back > 0);
}
