//! Round trips.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::bench::{Bench, patch};
use crate::conformance::{Broken, same};

pub(super) async fn round_trips_are_counted(bench: Bench) -> Result<(), Broken> {
    bench.world.mkdir(&bench.at("d"))?;
    bench.world.symlink(b"d", &bench.at("link"))?;
    let mut update = String::new();
    for nth in 0..40 {
        bench.there(&format!("d/{nth}.txt"), b"old\n")?;
        // Writing to a String cannot fail.
        let _ = write!(update, "*** Update File: d/{nth}.txt\n@@\n-old\n+new\n");
    }
    bench.there("d/deleted.txt", b"old\n")?;
    let calls: [(&str, &str, Value, u32); 9] = [
        ("write", "write_file", json!({ "path": "d/w.txt", "content": "one\n" }), 1),
        ("read", "read_file", json!({ "path": "d/0.txt" }), 1),
        ("write over what was read", "write_file", json!({ "path": "d/0.txt", "content": "old\n\n" }), 1),
        ("edit", "edit_file", json!({ "path": "d/w.txt", "old": "one", "new": "two" }), 2),
        ("patch of 40 files", "apply_patch", patch(&update), 2),
        ("stat", "stat", json!({ "path": "d/deleted.txt" }), 1),
        ("delete", "delete_file", json!({ "path": "d/deleted.txt" }), 1),
        ("write through a link", "write_file", json!({ "path": "link/l.txt", "content": "one\n" }), 2),
        ("edit through a link", "edit_file", json!({ "path": "link/l.txt", "old": "one", "new": "2" }), 2),
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
    Ok(())
}
