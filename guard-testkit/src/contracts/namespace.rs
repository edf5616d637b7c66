//! Controller and target are two places, and only the target counts.

use serde_json::json;

use super::bench::{Bench, NAMES, patch};
use crate::conformance::{Broken, ensure, same};

/// A PDF's first lines, with bytes that are no text.
const PDF: &[u8] = b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n1 0 obj\n";

/// What the target has under each of [`NAMES`].
fn contents() -> Result<Vec<(&'static str, Vec<u8>)>, Broken> {
    let database = Bench::database()?.0;
    let bytes = [database, PDF.to_vec(), b"theirs\n".to_vec(), b"theirs too\n".to_vec()];
    Ok(NAMES.into_iter().zip(bytes).collect())
}

pub(super) async fn what_is_only_on_the_target_is_not_overwritten(bench: Bench) -> Result<(), Broken> {
    for (name, bytes) in contents()? {
        bench.there(name, &bytes)?;
        let written = match name {
            "app.sqlite" => "binary-exists",
            "paper.pdf" => "pdf-exists",
            _ => "not-read",
        };
        let absolute = format!("{}/{name}", bench.root);
        for path in [name, &format!("./{name}"), &absolute] {
            bench.sources()?;
            for (call, code) in Bench::creations(path).into_iter().zip([
                written,
                "invalid-patch: exists",
                "invalid-patch: exists",
                "exists",
            ]) {
                bench.refused_as(code, &format!("over {path}"), call).await?;
            }
            for (call, code) in Bench::changes(path, "SQLite format 3")
                .into_iter()
                .zip(["no-match", "invalid-patch: not-found"])
            {
                let code = if matches!(name, "app.sqlite" | "paper.pdf") { written } else { code };
                bench.refused_as(code, &format!("in {path}"), call).await?;
            }
        }
        bench.holds(name, &bytes)?;
        // Control: the same calls where nothing is in the way.
        for nth in 0..4 {
            bench.sources()?;
            let free = format!("free-{nth}-{name}");
            let (what, tool, arguments) = Bench::creations(&free).remove(nth);
            bench.done(&format!("{what} of {free}"), tool, arguments).await?;
            bench.holds(&free, b"ours\n")?;
        }
    }
    // Control of the changes: what is refused under a document's name is changed under another, all else as it was.
    bench.there("paper.txt", PDF)?;
    for (nth, (what, tool, arguments)) in Bench::changes("paper.txt", "%PDF-1.7").into_iter().enumerate() {
        if nth == 1 {
            bench.world.unlink(&bench.at("paper.txt"))?;
            bench.there("paper.txt", PDF)?;
        }
        bench.done(&format!("{what} of the same bytes under another name"), tool, arguments).await?;
        bench.holds("paper.txt", &[b"ours", &PDF[8..]].concat())?;
    }
    // A text that only the controller's file has is not found; what the target's has is.
    bench.here("notes.txt", b"mine\n")?;
    for (call, code) in
        Bench::changes("notes.txt", "mine").into_iter().zip(["no-match", "invalid-patch: not-found"])
    {
        bench.refused_as(code, "of what only the controller has", call).await?;
    }
    let (what, tool, arguments) = Bench::changes("notes.txt", "theirs").remove(1);
    bench.done(what, tool, arguments).await?;
    bench.holds("notes.txt", b"ours\n")
}

pub(super) async fn what_is_only_on_the_controller_is_no_obstacle(bench: Bench) -> Result<(), Broken> {
    let mut nth = 0;
    for (name, bytes) in contents()? {
        for index in 0..4 {
            nth += 1;
            let path = format!("{nth}-{name}");
            bench.here(&path, &bytes)?;
            bench.sources()?;
            let controller = bench.snapshot()?.0;
            let (what, tool, arguments) = Bench::creations(&path).remove(index);
            bench.done(&format!("{what} of {path}"), tool, arguments).await?;
            bench.holds(&path, b"ours\n")?;
            bench.controller_is(controller, &format!("{what} of {path}"))?;
        }
    }
    // What is edited is what the target has, whatever the controller has.
    for (nth, name) in ["edited.txt", "updated-too.txt"].into_iter().enumerate() {
        bench.here(name, b"one\nmine\n")?;
        bench.there(name, b"one\ntheirs\n")?;
        let controller = bench.snapshot()?.0;
        let (what, tool, arguments) = Bench::changes(name, "theirs").remove(nth);
        bench.done(what, tool, arguments).await?;
        bench.holds(name, b"one\nours\n")?;
        bench.controller_is(controller, what)?;
    }
    Ok(())
}

pub(super) async fn new_documents_are_created_on_the_target(bench: Bench) -> Result<(), Broken> {
    let controller = bench.snapshot()?.0;
    for (name, bytes) in contents()?.into_iter().take(2) {
        // Bytes that are no text are only moved by a tool: they arrive as they were.
        bench.there(&format!("bytes-{name}"), &bytes)?;
        let moved = format!("moved/{name}");
        bench.done(&moved, "move_file", json!({ "from": format!("bytes-{name}"), "to": moved })).await?;
        bench.holds(&moved, &bytes)?;
        // Text arrives as it was given: with CRLF and tabs, beyond ASCII, without a last line ending.
        let text = format!(
            "-- text under the name {name}\r\n\tna\u{ef}ve \u{1f5c4} \u{fffd}\n\n$HOME `x` \\n '\" %s"
        );
        let path = format!("written/{name}");
        let done = bench.done(&path, "write_file", json!({ "path": path, "content": text })).await?;
        bench.holds(&path, text.as_bytes())?;
        same("what the receipt says of the bytes", &done["receipt"]["exact"], &json!(true))?;
        let (added, updated) = (format!("added/{name}"), format!("moved-to/{name}"));
        bench
            .done(&added, "apply_patch", patch(&format!("*** Add File: {added}\n+one\n+\n+\ttwo \n")))
            .await?;
        bench.holds(&added, b"one\n\n\ttwo \n")?;
        bench.sources()?;
        let (what, tool, arguments) = Bench::creations(&updated).remove(2);
        bench.done(what, tool, arguments).await?;
        bench.holds(&updated, b"ours\n")?;
        // The actor wrote it, text through and through: it stays editable.
        let edit = json!({ "path": path, "old": "text", "new": "more text" });
        bench.done(&path, "edit_file", edit).await?;
        bench.holds(&path, text.replace("text", "more text").as_bytes())?;
    }
    Bench::database()?.is_whole(&bench.world.read(&bench.at("moved/app.sqlite"))?)?;
    bench.controller_is(controller, "creations on the target")
}

pub(super) async fn reading_delivers_the_targets_bytes(bench: Bench) -> Result<(), Broken> {
    bench.here("a.txt", b"one\nmine\n")?;
    bench.there("a.txt", b"one\ntheirs\n")?;
    bench.here("only-here.txt", b"mine\n")?;
    let read = bench.done("a read", "read_file", json!({ "path": "a.txt" })).await?;
    let content = read["result"]["content"].as_str().unwrap_or_default().to_owned();
    ensure(content.contains("theirs") && !content.contains("mine"), format!("what was read: {content}"))?;
    let window = json!({ "path": "a.txt", "bytes": { "offset": 4, "length": 3 } });
    let window = bench.done("a window", "read_file", window).await?;
    same("a window of bytes", &window["result"]["content"], &json!("the"))?;
    let stat = bench.done("a look", "stat", json!({ "paths": ["a.txt", "only-here.txt"] })).await?;
    let digest = guard_core::policy::Digest::of(b"one\ntheirs\n").to_string();
    ensure(stat["result"].to_string().contains(&digest), format!("what stat says: {stat}"))?;
    let listed = bench.done("a list", "list_dir", json!({ "path": "." })).await?["result"].to_string();
    ensure(listed.contains("a.txt") && !listed.contains("only-here"), format!("what is listed: {listed}"))?;
    let read = ("a read", "read_file", json!({ "path": "only-here.txt" }));
    bench.refused_as("not-found", "of what is only here", read).await?;
    // The view is of the target's version: the controller's does not make it stale, and cannot refresh it.
    bench.here("a.txt", b"changed here\n")?;
    bench.done("over what was read", "write_file", json!({ "path": "a.txt", "content": "ours\n" })).await?;
    bench.holds("a.txt", b"ours\n")?;
    // The controller has the very version that was seen, and the target has another: that is stale.
    let write =
        |path: &str, content: &str| ("a write", "write_file", json!({ "path": path, "content": content }));
    bench.there("seen.txt", b"seen\n")?;
    bench.here("seen.txt", b"seen\n")?;
    bench.done("a read", "read_file", json!({ "path": "seen.txt" })).await?;
    bench.world.unlink(&bench.at("seen.txt"))?;
    bench.refused_as("stale", "over what is only here by now", write("seen.txt", "x\n")).await?;
    bench.there("seen.txt", b"newer\n")?;
    bench.refused_as("stale", "over a newer version", write("seen.txt", "x\n")).await?;
    let delete = ("a deletion", "delete_file", json!({ "path": "seen.txt" }));
    bench.refused_as("stale", "of a newer version", delete).await?;
    bench.holds("seen.txt", b"newer\n")?;
    // A retried write is no error because the target has the bytes, not because the controller has.
    bench.here("b.txt", b"same\n")?;
    bench.there("b.txt", b"other\n")?;
    bench.refused_as("not-read", "of the controller's bytes", write("b.txt", "same\n")).await?;
    bench.holds("b.txt", b"other\n")?;
    bench.here("new.txt", b"same\n")?;
    let (_, tool, arguments) = write("new.txt", "same\n");
    let done = bench.done("bytes that only the controller has", tool, arguments).await?;
    same("whether it changed", &done["receipt"]["changed"], &json!(true))?;
    bench.holds("new.txt", b"same\n")?;
    bench.there("c.txt", b"same\n")?;
    bench.here("c.txt", b"another\n")?;
    let (_, tool, arguments) = write("c.txt", "same\n");
    let again = bench.done("the target's bytes", tool, arguments).await?;
    same("whether it changed", &again["receipt"]["changed"], &json!(false))?;
    // An edit that is made already is made on the target, not here.
    bench.there("edited.txt", b"new\n")?;
    bench.here("edited.txt", b"old\n")?;
    let edit = |old: &str, new: &str| {
        ("an edit", "edit_file", json!({ "path": "edited.txt", "old": old, "new": new }))
    };
    bench.refused_as("already-applied", "that the target has", edit("old", "new")).await?;
    bench.here("edited.txt", b"newest\n")?;
    bench.refused_as("no-match", "that only the controller has", edit("older", "newest")).await
}
