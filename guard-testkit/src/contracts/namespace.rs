//! Controller and target are two places, and only the target counts.

use serde_json::json;

use super::bench::{Bench, NAMES, patch};
use crate::conformance::{Broken, ensure, same};

/// What the target has under each of [`NAMES`].
fn contents() -> Result<Vec<(&'static str, Vec<u8>)>, Broken> {
    let database = Bench::database()?.0;
    let pdf = b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n1 0 obj\n".to_vec();
    let bytes = [database, pdf, b"theirs\n".to_vec(), b"theirs too\n".to_vec()];
    Ok(NAMES.into_iter().zip(bytes).collect())
}

pub(super) async fn what_is_only_on_the_target_is_not_overwritten(bench: Bench) -> Result<(), Broken> {
    bench.there("moving", b"to be moved\n")?;
    for (name, bytes) in contents()? {
        bench.there(name, &bytes)?;
        let absolute = format!("{}/{name}", bench.root);
        for path in [name, &format!("./{name}"), &absolute] {
            for (what, tool, arguments) in Bench::creations(path) {
                bench.refused(&format!("{what} over {path}"), tool, arguments).await?;
            }
            if matches!(name, "app.sqlite" | "paper.pdf") {
                for (what, tool, arguments) in Bench::changes(path, "%PDF-1.7") {
                    bench.refused(&format!("{what} in {path}"), tool, arguments).await?;
                }
            }
        }
        bench.holds(name, &bytes)?;
    }
    // A text that only the controller's file has is not found.
    bench.here("notes.txt", b"mine\n")?;
    for (what, tool, arguments) in Bench::changes("notes.txt", "mine") {
        bench.refused(&format!("{what} of what only the controller has"), tool, arguments).await?;
    }
    Ok(())
}

pub(super) async fn what_is_only_on_the_controller_is_no_obstacle(bench: Bench) -> Result<(), Broken> {
    let mut nth = 0;
    for (name, bytes) in contents()? {
        for index in 0..3 {
            nth += 1;
            let path = format!("{nth}-{name}");
            bench.here(&path, &bytes)?;
            bench.there("moving", b"ours\n")?;
            let controller = bench.snapshot()?.0;
            let (what, tool, arguments) = Bench::creations(&path).remove(index);
            bench.done(&format!("{what} of {path}"), tool, arguments).await?;
            bench.holds(&path, b"ours\n")?;
            bench.controller_is(controller, &format!("{what} of {path}"))?;
            // What a move did not take is taken away for the next one.
            if index < 2 {
                bench.world.unlink(&bench.at("moving"))?;
            }
        }
    }
    // What is edited is what the target has, whatever the controller has.
    bench.here("edited.txt", b"one\nmine\n")?;
    bench.there("edited.txt", b"one\ntheirs\n")?;
    let controller = bench.snapshot()?.0;
    let (what, tool, arguments) = Bench::changes("edited.txt", "theirs").remove(0);
    bench.done(what, tool, arguments).await?;
    bench.holds("edited.txt", b"one\nours\n")?;
    bench.controller_is(controller, what)
}

pub(super) async fn new_documents_are_created_on_the_target(bench: Bench) -> Result<(), Broken> {
    let controller = bench.snapshot()?.0;
    for (nth, name) in ["app.sqlite", "paper.pdf"].into_iter().enumerate() {
        let text = format!("-- text under the name {name}\n");
        let path = format!("{nth}/{name}");
        bench.done(&path, "write_file", json!({ "path": path, "content": text })).await?;
        bench.holds(&path, text.as_bytes())?;
        let added = format!("{nth}/added-{name}");
        bench.done(&added, "apply_patch", patch(&format!("*** Add File: {added}\n+{text}"))).await?;
        bench.holds(&added, text.as_bytes())?;
        // The actor wrote it, text through and through: it stays editable.
        let edit = json!({ "path": path, "old": "text", "new": "more text" });
        bench.done(&path, "edit_file", edit).await?;
        bench.holds(&path, text.replace("text", "more text").as_bytes())?;
    }
    bench.controller_is(controller, "creations on the target")
}

pub(super) async fn names_that_claim_to_be_local_change_nothing(bench: Bench) -> Result<(), Broken> {
    bench.there("moving", b"x\n")?;
    for name in ["local", "localhost", "local:file", "file:notes.txt", "localhost:notes.txt"] {
        // The controller has it and the target does not: then it is created there; the other way round it is refused.
        bench.here(name, b"mine\n")?;
        let controller = bench.snapshot()?.0;
        bench.done(name, "write_file", json!({ "path": name, "content": "ours\n" })).await?;
        bench.holds(name, b"ours\n")?;
        bench.controller_is(controller, name)?;
        let only_there = format!("there-{name}");
        bench.there(&only_there, b"theirs\n")?;
        for (what, tool, arguments) in Bench::creations(&only_there) {
            bench.refused(&format!("{what} over {only_there}"), tool, arguments).await?;
        }
    }
    // An actor's name is only a name.
    let actor = bench.guard.actor("local");
    let reply = actor.call("write_file", json!({ "path": "moving", "content": "ours\n" })).await;
    same("an actor named local", &reply.outcome, &guard_core::Outcome::Refused)
}

pub(super) async fn the_home_is_the_targets(bench: Bench) -> Result<(), Broken> {
    let at = |name: &str| format!("{}/{name}", bench.home).into_bytes();
    bench.world.create(&at("there.txt"), b"theirs\n")?;
    let controller = bench.snapshot()?.0;
    // What exists only there is refused and stays; what does not is created there and nowhere else.
    let arguments = json!({ "path": "~/there.txt", "content": "ours\n" });
    same("the code", &bench.refused("~/there.txt", "write_file", arguments).await?.as_str(), &"not-read")?;
    let written = json!({ "path": "~/new/a.txt", "content": "ours\n" });
    let receipt = bench.done("~/new/a.txt", "write_file", written).await?;
    let resolved = &receipt["receipt"]["changes"][0]["resolved"];
    same("where it was written", resolved, &json!(format!("{}/new/a.txt", bench.home)))?;
    same("its bytes", &bench.world.read(&at("new/a.txt"))?, &b"ours\n".to_vec())?;
    let added = patch("*** Add File: ~/added.txt\n+ours\n");
    bench.done("Add below ~", "apply_patch", added).await?;
    same("its bytes", &bench.world.read(&at("added.txt"))?, &b"ours\n".to_vec())?;
    let read = bench.done("~/there.txt", "read_file", json!({ "path": "~/there.txt" })).await?;
    ensure(read["result"]["content"].as_str().is_some_and(|text| text.contains("theirs")), "its content")?;
    // `~user`, variables and escapes are names.
    for name in ["~root", "$HOME", "%7e"] {
        bench.done(name, "write_file", json!({ "path": format!("names/{name}"), "content": "x\n" })).await?;
        bench.holds(&format!("names/{name}"), b"x\n")?;
    }
    bench.controller_is(controller, "paths below the home")
}

pub(super) async fn reading_delivers_the_targets_bytes(bench: Bench) -> Result<(), Broken> {
    bench.here("a.txt", b"one\nmine\n")?;
    bench.there("a.txt", b"one\ntheirs\n")?;
    bench.here("only-here.txt", b"mine\n")?;
    let read = bench.done("a read", "read_file", json!({ "path": "a.txt" })).await?;
    let content = read["result"]["content"].as_str().unwrap_or_default().to_owned();
    ensure(content.contains("theirs") && !content.contains("mine"), format!("what was read: {content}"))?;
    let missing = bench.refused("what is only here", "read_file", json!({ "path": "only-here.txt" })).await?;
    same("the code", &missing.as_str(), &"not-found")?;
    // The view is of the target's version: the controller's does not make it stale, and cannot refresh it.
    bench.here("a.txt", b"changed here\n")?;
    bench.done("over what was read", "write_file", json!({ "path": "a.txt", "content": "ours\n" })).await?;
    bench.holds("a.txt", b"ours\n")?;
    // A retried write is no error because the target has the bytes, not because the controller has.
    bench.here("b.txt", b"same\n")?;
    bench.there("b.txt", b"other\n")?;
    bench
        .refused("the controller's bytes", "write_file", json!({ "path": "b.txt", "content": "same\n" }))
        .await?;
    bench.holds("b.txt", b"other\n")?;
    bench.there("c.txt", b"same\n")?;
    let again = bench
        .done("the target's bytes", "write_file", json!({ "path": "c.txt", "content": "same\n" }))
        .await?;
    same("whether it changed", &again["receipt"]["changed"], &json!(false))?;
    // A change on the target makes the view stale.
    bench.done("a read", "read_file", json!({ "path": "c.txt" })).await?;
    bench.world.unlink(&bench.at("c.txt"))?;
    bench.there("c.txt", b"newer\n")?;
    let stale =
        bench.refused("a stale view", "write_file", json!({ "path": "c.txt", "content": "x\n" })).await?;
    same("the code", &stale.as_str(), &"stale")?;
    bench.holds("c.txt", b"newer\n")
}

pub(super) async fn opaque_documents_are_refused_without_asking(bench: Bench) -> Result<(), Broken> {
    bench.there("moving", b"x\n")?;
    let _ = bench.traffic.take();
    for name in
        ["report.docx", "sheet.xlsx", "book.epub", "app.db-wal", "app.sqlite-shm", "app.sqlite3-journal"]
    {
        for (what, tool, arguments) in Bench::creations(name).into_iter().take(2) {
            bench.refused(&format!("{what} of {name}"), tool, arguments).await?;
        }
        for (what, tool, arguments) in Bench::changes(name, "old") {
            bench.refused(&format!("{what} in {name}"), tool, arguments).await?;
        }
    }
    let counted = bench.traffic.take();
    same("requests to the target about names that are refused", &counted.trips, &0)
}
