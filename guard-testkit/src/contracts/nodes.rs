//! What is no file, and files that are odd.

use std::io;

use guard_core::policy::OtherKind;
use serde_json::json;

use super::bench::{Bench, patch};
use crate::conformance::{Broken, ensure, same};

/// A user and a group that no target of a test is.
const OTHER: (u32, u32) = (54_321, 54_322);

pub(super) async fn what_is_no_file_is_refused_and_stays(bench: Bench) -> Result<(), Broken> {
    bench.sources()?;
    bench.world.mkdir(&bench.at("directory"))?;
    bench.there("directory/inside", b"inside\n")?;
    bench.world.symlink(b"nowhere", &bench.at("dangling"))?;
    let mut names = vec!["directory", "dangling"];
    for (kind, name) in
        [(OtherKind::Fifo, "fifo"), (OtherKind::Socket, "socket"), (OtherKind::CharDevice, "device")]
    {
        match bench.world.mknod(&bench.at(name), kind) {
            Ok(()) => names.push(name),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {}
            // Devices are for root to make.
            Err(error)
                if kind == OtherKind::CharDevice && error.kind() == io::ErrorKind::PermissionDenied => {}
            Err(error) => return Err(error.into()),
        }
    }
    for name in names {
        let patched = "invalid-patch: not-a-file";
        let codes = ["not-regular", patched, patched, "exists", "not-regular", patched];
        // Nothing is changed by a refusal, so that it is there afterwards as what it was.
        for (call, code) in Bench::creations(name).into_iter().chain(Bench::changes(name, "x")).zip(codes) {
            bench.refused_as(code, &format!("at {name}"), call).await?;
        }
        let before = bench.snapshot()?;
        let read = bench.call("read_file", json!({ "path": name })).await;
        let content = read.result.as_ref().and_then(|result| result.get("content"));
        same(&format!("bytes of {name}, which is no file"), &content, &None)?;
        bench.unchanged(&before, &format!("a read of {name}"))?;
        if name != "dangling" {
            let delete = ("a deletion", "delete_file", json!({ "path": name }));
            bench.refused_as("not-regular", &format!("of {name}"), delete).await?;
        }
    }
    // Control: beside them, each of the calls is done.
    for nth in 0..4 {
        bench.sources()?;
        let name = format!("free-{nth}");
        let (what, tool, arguments) = Bench::creations(&name).remove(nth);
        bench.done(&format!("{what} of {name}"), tool, arguments).await?;
        bench.holds(&name, b"ours\n")?;
    }
    Ok(())
}

pub(super) async fn odd_files_have_defined_outcomes(bench: Bench) -> Result<(), Broken> {
    // A hard-linked pair: this name gets new bytes, the other keeps the old, and the receipt says so.
    bench.there("one.txt", b"old\n")?;
    bench.world.link(&bench.at("one.txt"), &bench.at("two.txt"))?;
    for (nth, old) in ["old", "ours"].into_iter().enumerate() {
        let arguments = match nth {
            0 => ("edit_file", json!({ "path": "one.txt", "old": old, "new": "ours" })),
            _ => ("apply_patch", patch("*** Update File: two.txt\n@@\n-old\n+ours too\n")),
        };
        let done = bench.done("a change of one of two names", arguments.0, arguments.1).await?;
        let others = done["receipt"]["changes"][0]["metadata"]["other_names"].as_u64();
        // After the first, each of the names has an inode of its own.
        same("other names", &others.unwrap_or_default(), &(1 - nth as u64))?;
        bench.holds("one.txt", b"ours\n")?;
        bench.holds("two.txt", if nth == 0 { b"old\n" } else { b"ours too\n" })?;
    }
    // A setgid directory: what is made in it is made, and it keeps its bit.
    bench.world.mkdir(&bench.at("shared"))?;
    bench.world.chmod(&bench.at("shared"), 0o2775)?;
    bench
        .done("in a setgid directory", "write_file", json!({ "path": "shared/d/a", "content": "x\n" }))
        .await?;
    bench.holds("shared/d/a", b"x\n")?;
    same("the directory's mode", &bench.world.mode(&bench.at("shared"))?, &0o2775)?;
    // As one that another process makes there: not every filesystem hands the bit down.
    bench.world.mkdir(&bench.at("shared/e"))?;
    let bit = |name: &str| Ok::<_, Broken>(bench.world.mode(&bench.at(name))? & 0o2000);
    same("the new directory's bit", &bit("shared/d")?, &bit("shared/e")?)?;
    // Modes stay, and setuid does not.
    bench.there("tool", b"#!/bin/sh\nold\n")?;
    bench.world.chmod(&bench.at("tool"), 0o4755)?;
    let edit = json!({ "path": "tool", "old": "old", "new": "new" });
    let done = bench.done("an edit of a setuid file", "edit_file", edit).await?;
    same("its mode", &bench.world.mode(&bench.at("tool"))?, &0o755)?;
    let lost = done["receipt"]["changes"][0]["metadata"]["lost"].to_string();
    ensure(lost.contains("setuid"), format!("the receipt says {lost}"))?;
    // A file that may not be written is refused, though a rename could replace it.
    bench.there("fixed", b"old\n")?;
    bench.world.chmod(&bench.at("fixed"), 0o444)?;
    if bench.world.enforces_permissions() {
        for call in Bench::changes("fixed", "old") {
            bench.refused_as("read-only-file", "of a read-only file", call).await?;
        }
        bench.done("a read", "read_file", json!({ "path": "fixed" })).await?;
        let write = ("a write", "write_file", json!({ "path": "fixed", "content": "ours\n" }));
        bench.refused_as("read-only-file", "over a read-only file that was read", write).await?;
        // Control: it is the mode that is in the way.
        bench.world.chmod(&bench.at("fixed"), 0o644)?;
    }
    bench.done("a change", "apply_patch", patch("*** Update File: fixed\n@@\n-old\n+new\n")).await?;
    bench.holds("fixed", b"new\n")?;
    let mode = if bench.world.enforces_permissions() { 0o644 } else { 0o444 };
    same("its mode", &bench.world.mode(&bench.at("fixed"))?, &mode)?;
    files_of_others(&bench).await
}

/// Files, directories and groups that belong to somebody else. Owners are for root to give away, on this machine or in
/// the container: without it there is nothing to show.
async fn files_of_others(bench: &Bench) -> Result<(), Broken> {
    let world = &bench.world;
    let (user, group) = OTHER;
    bench.there("theirs", b"old\n")?;
    match world.chown(&bench.at("theirs"), user, group) {
        Err(error)
            if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported) =>
        {
            return world.unlink(&bench.at("theirs")).map_err(Into::into);
        }
        given => given?,
    }
    // A setgid directory of another group gives its group to what is made in it, whoever makes it.
    let (us, own_group) = world.owner(&bench.at("tool"))?;
    world.mkdir(&bench.at("group"))?;
    world.chown(&bench.at("group"), us, group)?;
    world.chmod(&bench.at("group"), 0o2775)?;
    world.mkdir(&bench.at("group/made"))?;
    let group = if world.mode(&bench.at("group/made"))? & 0o2000 == 0 { own_group } else { group };
    for (nth, name) in ["group/0", "group/1", "group/2"].into_iter().enumerate() {
        bench.sources()?;
        let (what, tool, arguments) = Bench::creations(name).remove(nth);
        bench.done(what, tool, arguments).await?;
        same(&format!("{what}: whose it is"), &world.owner(&bench.at(name))?, &(us, group))?;
    }
    bench.done("below it", "write_file", json!({ "path": "group/d/a", "content": "x\n" })).await?;
    same("whose the new directory is", &world.owner(&bench.at("group/d"))?, &(us, group))?;
    same("whose what is in it is", &world.owner(&bench.at("group/d/a"))?, &(us, group))?;
    // What anyone may write, and a directory in which everyone may make names but remove only their own.
    world.chmod(&bench.at("theirs"), 0o666)?;
    world.mkdir(&bench.at("sticky"))?;
    bench.there("sticky/theirs", b"old\n")?;
    world.chown(&bench.at("sticky/theirs"), user, group)?;
    world.chmod(&bench.at("sticky/theirs"), 0o666)?;
    world.chown(&bench.at("sticky"), user, group)?;
    world.chmod(&bench.at("sticky"), 0o1777)?;
    bench.there("denied", b"old\n")?;
    world.chown(&bench.at("denied"), user, group)?;
    world.chmod(&bench.at("denied"), 0o644)?;
    let files =
        [("theirs", "metadata-loss"), ("denied", "read-only-file"), ("sticky/theirs", "metadata-loss")];
    for (name, code) in files {
        let owner = world.owner(&bench.at(name))?;
        let mode = world.mode(&bench.at(name))?;
        if world.enforces_permissions() {
            // A replacement would be ours, so that somebody else's file is left alone.
            for call in Bench::changes(name, "old") {
                bench.refused_as(code, &format!("of {name}"), call).await?;
            }
            bench.holds(name, b"old\n")?;
            if name == "sticky/theirs" {
                bench.done("a look", "stat", json!({ "path": name })).await?;
                let delete = ("a deletion", "delete_file", json!({ "path": name }));
                bench.refused_as("permission-denied", &format!("of {name}"), delete).await?;
            }
        } else {
            let edit = json!({ "path": name, "old": "old", "new": "new" });
            bench.done(&format!("an edit of {name} by root"), "edit_file", edit).await?;
            bench.holds(name, b"new\n")?;
        }
        same(&format!("whose {name} is"), &world.owner(&bench.at(name))?, &owner)?;
        same(&format!("the mode of {name}"), &world.mode(&bench.at(name))?, &mode)?;
    }
    // A new name in the sticky directory is ours, and may be changed.
    bench.done("in it", "write_file", json!({ "path": "sticky/ours", "content": "old\n" })).await?;
    let (_, tool, arguments) = Bench::changes("sticky/ours", "old").remove(0);
    bench.done("a change of it", tool, arguments).await?;
    same("whose it is", &world.owner(&bench.at("sticky/ours"))?.0, &us)?;
    for directory in ["", "sticky", "group"] {
        let names = world.names(&bench.at(directory))?;
        ensure(
            !names.iter().any(|name| name.starts_with(b".guard-")),
            format!("temporary names: {names:?}"),
        )?;
    }
    Ok(())
}
