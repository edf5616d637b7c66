//! Round trips.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::bench::{Bench, patch};
use crate::conformance::{Broken, same};

/// Writes a patch that updates so many files below a directory.
fn updates(count: usize, directory: &str, old: &str, new: &str) -> Value {
    let mut body = String::new();
    for nth in 0..count {
        // Writing to a String cannot fail.
        let _ = write!(body, "*** Update File: {directory}/{nth}.txt\n@@\n-{old}\n+{new}\n");
    }
    patch(&body)
}

pub(super) async fn round_trips_are_counted(bench: Bench) -> Result<(), Broken> {
    bench.world.mkdir(&bench.at("d"))?;
    bench.world.symlink(b"d", &bench.at("link"))?;
    for nth in 0..40 {
        bench.there(&format!("d/{nth}.txt"), b"old\n")?;
    }
    bench.there("d/deleted.txt", b"old\n")?;
    bench.there("d/deleted-too.txt", b"old\n")?;
    let calls: [(&str, &str, Value, u32); 17] = [
        ("write", "write_file", json!({ "path": "d/w.txt", "content": "one\n" }), 1),
        (
            "write below new directories",
            "write_file",
            json!({ "path": "d/e/f/w.txt", "content": "one\n" }),
            1,
        ),
        ("read", "read_file", json!({ "path": "d/0.txt" }), 1),
        ("write over what was read", "write_file", json!({ "path": "d/0.txt", "content": "old\n\n" }), 1),
        ("edit", "edit_file", json!({ "path": "d/w.txt", "old": "one", "new": "two" }), 2),
        ("patch of 40 files", "apply_patch", updates(40, "d", "old", "new"), 2),
        ("patch that adds", "apply_patch", patch("*** Add File: d/added.txt\n+one\n"), 2),
        ("stat", "stat", json!({ "path": "d/deleted.txt" }), 1),
        ("delete", "delete_file", json!({ "path": "d/deleted.txt" }), 1),
        ("move", "move_file", json!({ "from": "d/added.txt", "to": "d/moved.txt" }), 1),
        ("write through a link", "write_file", json!({ "path": "link/l.txt", "content": "one\n" }), 2),
        ("read through a link", "read_file", json!({ "path": "link/l.txt" }), 1),
        ("edit through a link", "edit_file", json!({ "path": "link/l.txt", "old": "one", "new": "2" }), 2),
        ("patch of 3 files through a link", "apply_patch", updates(3, "link", "new", "newer"), 2),
        ("stat through a link", "stat", json!({ "path": "link/deleted-too.txt" }), 1),
        ("delete through a link", "delete_file", json!({ "path": "link/deleted-too.txt" }), 2),
        ("move through a link", "move_file", json!({ "from": "link/moved.txt", "to": "d/moved-too.txt" }), 2),
    ];
    for (what, tool, arguments, expected) in calls {
        let _ = bench.traffic.take();
        let reply = bench.done(what, tool, arguments).await?;
        let counted = bench.traffic.take();
        same(&format!("{what}: round trips on the line"), &counted.trips, &u64::from(expected))?;
        if !reply["receipt"].is_null() {
            same(&format!("{what}: the receipt's"), &reply["receipt"]["round_trips"], &json!(expected))?;
        }
        same(&format!("{what}: sessions"), &counted.sessions, &0)?;
    }
    for (name, bytes) in [("0", &b"newer\n\n"[..]), ("2", b"newer\n"), ("3", b"new\n"), ("39", b"new\n")] {
        bench.holds(&format!("d/{name}.txt"), bytes)?;
    }
    Ok(())
}
