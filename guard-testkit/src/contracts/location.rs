//! One function from what was typed to where it is.

use serde_json::json;

use super::bench::{Bench, patch};
use crate::conformance::{Broken, same};

pub(super) async fn every_spelling_is_one_location(bench: Bench) -> Result<(), Broken> {
    bench.world.mkdir(&bench.at("d"))?;
    bench.world.mkdir(&bench.at("e"))?;
    bench.world.symlink(b"d", &bench.at("link"))?;
    bench.there("d/a.txt", b"0\n")?;
    let root = bench.root.to_string();
    let spellings = [
        "d/a.txt".to_owned(),
        "./d//a.txt".to_owned(),
        "e/../d/a.txt".to_owned(),
        format!("{root}/d/a.txt"),
        format!("{root}//d/./a.txt"),
        "link/a.txt".to_owned(),
        format!("{root}/link/a.txt"),
    ];
    // What was read by one spelling may be written by every other, and what one wrote is seen by all.
    bench.done("a read", "read_file", json!({ "path": spellings[0] })).await?;
    for (nth, spelling) in spellings.iter().enumerate() {
        let content = format!("{}\n", nth + 1);
        let reply =
            bench.done(spelling, "write_file", json!({ "path": spelling, "content": content })).await?;
        let resolved = &reply["receipt"]["changes"][0]["resolved"];
        same(&format!("where {spelling} is"), resolved, &json!(format!("{root}/d/a.txt")))?;
        bench.holds("d/a.txt", content.as_bytes())?;
    }
    for (nth, spelling) in spellings.iter().enumerate() {
        let (old, new) = (nth + 7, nth + 8);
        let body = format!("*** Update File: {spelling}\n@@\n-{old}\n+{new}\n");
        bench.done(&format!("Update File: {spelling}"), "apply_patch", patch(&body)).await?;
        bench.holds("d/a.txt", format!("{new}\n").as_bytes())?;
    }
    // Two spellings of one place in one patch are one file, and never two changes.
    let body = format!("*** Add File: e/new.txt\n+one\n*** Add File: {root}/e/new.txt\n+two\n");
    bench.refused("two additions of one file", "apply_patch", patch(&body)).await?;
    Ok(())
}
