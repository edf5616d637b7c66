//! What is no file, and files that are odd.

use guard_core::policy::OtherKind;
use serde_json::json;

use super::bench::{Bench, patch};
use crate::conformance::{Broken, same};

pub(super) async fn what_is_no_file_is_refused_and_stays(bench: Bench) -> Result<(), Broken> {
    bench.there("moving", b"x\n")?;
    bench.world.mkdir(&bench.at("directory"))?;
    bench.there("directory/inside", b"inside\n")?;
    bench.world.symlink(b"nowhere", &bench.at("dangling"))?;
    let mut names = vec!["directory", "dangling"];
    for (kind, name) in
        [(OtherKind::Fifo, "fifo"), (OtherKind::Socket, "socket"), (OtherKind::CharDevice, "device")]
    {
        match bench.world.mknod(&bench.at(name), kind) {
            Ok(()) => names.push(name),
            Err(error) if error.kind() == std::io::ErrorKind::Unsupported => {}
            // Devices are for root to make.
            Err(error)
                if kind == OtherKind::CharDevice && error.kind() == std::io::ErrorKind::PermissionDenied => {}
            Err(error) => return Err(error.into()),
        }
    }
    for name in names {
        for (what, tool, arguments) in Bench::creations(name).into_iter().chain(Bench::changes(name, "x")) {
            bench.refused(&format!("{what} at {name}"), tool, arguments).await?;
        }
        let before = bench.snapshot()?;
        let read = bench.call("read_file", json!({ "path": name })).await;
        let content = read.result.as_ref().and_then(|result| result.get("content"));
        same(&format!("bytes of {name}, which is no file"), &content, &None)?;
        bench.unchanged(&before, &format!("a read of {name}"))?;
        if name != "dangling" {
            let delete = json!({ "path": name });
            bench.refused(&format!("a deletion of {name}"), "delete_file", delete).await?;
        }
    }
    Ok(())
}

pub(super) async fn odd_files_have_defined_outcomes(bench: Bench) -> Result<(), Broken> {
    // A hard-linked pair: this name gets new bytes, the other keeps the old, and the receipt says so.
    bench.there("one.txt", b"old\n")?;
    bench.world.link(&bench.at("one.txt"), &bench.at("two.txt"))?;
    let edit = json!({ "path": "one.txt", "old": "old", "new": "new" });
    let done = bench.done("an edit of one of two names", "edit_file", edit).await?;
    bench.holds("one.txt", b"new\n")?;
    bench.holds("two.txt", b"old\n")?;
    same("other names", &done["receipt"]["changes"][0]["metadata"]["other_names"], &json!(1))?;
    // A setgid directory: what is made in it is made, and it keeps its bit.
    bench.world.mkdir(&bench.at("shared"))?;
    bench.world.chmod(&bench.at("shared"), 0o2775)?;
    bench
        .done("in a setgid directory", "write_file", json!({ "path": "shared/d/a", "content": "x\n" }))
        .await?;
    bench.holds("shared/d/a", b"x\n")?;
    same("the directory's mode", &bench.world.mode(&bench.at("shared"))?, &0o2775)?;
    // Modes stay, and setuid does not.
    bench.there("tool", b"#!/bin/sh\nold\n")?;
    bench.world.chmod(&bench.at("tool"), 0o4755)?;
    let edit = json!({ "path": "tool", "old": "old", "new": "new" });
    let done = bench.done("an edit of a setuid file", "edit_file", edit).await?;
    same("its mode", &bench.world.mode(&bench.at("tool"))?, &0o755)?;
    let lost = done["receipt"]["changes"][0]["metadata"]["lost"].to_string();
    crate::conformance::ensure(lost.contains("setuid"), format!("the receipt says {lost}"))?;
    // A file that may not be written is refused, though a rename could replace it.
    bench.there("fixed", b"old\n")?;
    bench.world.chmod(&bench.at("fixed"), 0o444)?;
    if bench.world.enforces_permissions() {
        for (what, tool, arguments) in Bench::changes("fixed", "old") {
            let code = bench.refused(&format!("{what} of a read-only file"), tool, arguments).await?;
            same("the code", &code.as_str(), &"read-only-file")?;
        }
    } else {
        bench.done("by root", "apply_patch", patch("*** Update File: fixed\n@@\n-old\n+new\n")).await?;
        same("its mode", &bench.world.mode(&bench.at("fixed"))?, &0o444)?;
    }
    Ok(())
}
