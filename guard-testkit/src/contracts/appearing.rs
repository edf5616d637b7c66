//! What appears or changes between the decision and the effect.

use std::sync::Arc;

use serde_json::json;

use super::bench::{Bench, NAMES, patch};
use crate::conformance::{Broken, ensure, same};
use crate::wrap::Method;

/// What a path is spelt like, and where it is: `link` is `real`, and `a/..` is here.
const SPELLINGS: [(&str, &str); 6] = [
    ("", ""),
    ("./", ""),
    ("a/../", ""),
    ("real/", "real/"),
    ("link/", "real/"),
    ("./a/../link/./", "real/"),
];

pub(super) async fn what_appears_between_decision_and_effect_survives(bench: Bench) -> Result<(), Broken> {
    let database = Bench::database()?;
    bench.world.mkdir(&bench.at("real"))?;
    bench.world.mkdir(&bench.at("a"))?;
    bench.world.symlink(b"real", &bench.at("link"))?;
    let mut nth = 0;
    for (row, (spelling, real)) in SPELLINGS.into_iter().enumerate() {
        for index in 0..6 {
            nth += 1;
            // Every operation meets every class of name in one spelling or another.
            let class = NAMES[(row + index) % NAMES.len()];
            let name = format!("{nth}-{class}");
            let (path, place) = (format!("{spelling}{name}"), format!("{real}{name}"));
            let changes = index >= 4;
            let written = match class {
                "app.sqlite" => "binary-exists",
                "paper.pdf" => "pdf-exists",
                _ => "not-read",
            };
            let (call, free, code) = if changes {
                // What was there is text, and was written by this actor; what comes instead is not.
                bench.done("a write", "write_file", json!({ "path": path, "content": "old\n" })).await?;
                let code =
                    if matches!(class, "app.sqlite" | "paper.pdf") { written } else { "binary-content" };
                let make = |path: &str| Bench::changes(path, "old").remove(index - 4);
                (make(&path), None, code)
            } else {
                let code = if index == 0 {
                    written
                } else {
                    match index {
                        3 => "exists",
                        _ => "invalid-patch",
                    }
                };
                let free = format!("{spelling}free-{name}");
                (Bench::creations(&path).remove(index), Some(Bench::creations(&free).remove(index)), code)
            };
            bench.sources()?;
            let (world, at, bytes) = (Arc::clone(&bench.world), bench.at(&place), database.0.clone());
            bench.ops.once(Method::Commit, move || {
                // It is the point of the contract that this is there; a failure shows below.
                let _ = changes.then(|| world.unlink(&at));
                let _ = world.create(&at, &bytes);
            });
            let (what, tool, arguments) = call;
            let what = format!("{what} of {path}");
            let _ = bench.ops.inner().take();
            let reply = bench.call(tool, arguments).await;
            same(&format!("{what}: the outcome"), &reply.outcome, &guard_core::Outcome::Refused)?;
            let said = reply.refusal.as_ref().map_or("none", |refusal| refusal.code.as_str());
            same(&format!("{what}: the code"), &said, &code)?;
            // It was decided, and sent: the target refused.
            let sent = bench.ops.inner().take().iter().filter(|note| note.method == Method::Commit).count();
            ensure(sent > 0, format!("{what} was not sent"))?;
            database.is_whole(&bench.world.read(&bench.at(&place))?)?;
            bench.holds("moving", b"ours\n")?;
            bench.holds("updated.txt", b"old\n")?;
            // Control: without the intruder it is created.
            if let Some((what, tool, arguments)) = free {
                bench.done(&format!("{what} beside {path}"), tool, arguments).await?;
                bench.holds(&format!("{real}free-{name}"), b"ours\n")?;
            }
        }
    }
    // Control of the changes.
    for nth in 0..2 {
        let name = format!("changed-{nth}.sqlite");
        bench.done("a write", "write_file", json!({ "path": name, "content": "old\n" })).await?;
        let (what, tool, arguments) = Bench::changes(&name, "old").remove(nth);
        bench.done(what, tool, arguments).await?;
        bench.holds(&name, b"ours\n")?;
    }
    for directory in ["", "real"] {
        let names = bench.world.names(&bench.at(directory))?;
        let left = names.iter().filter(|name| name.starts_with(b".guard-")).count();
        same("temporary names that are left", &left, &0)?;
    }
    Ok(())
}

pub(super) async fn one_stale_file_keeps_a_whole_patch_from_being_applied(
    bench: Bench,
) -> Result<(), Broken> {
    for stale in 0..4 {
        let dir = format!("d{stale}");
        bench.world.mkdir(&bench.at(&dir))?;
        for name in ["updated", "deleted", "moved"] {
            bench.there(&format!("{dir}/{name}.txt"), b"old\n")?;
        }
        bench.done("a look", "stat", json!({ "paths": [format!("{dir}/deleted.txt")] })).await?;
        let body = format!(
            "*** Add File: {dir}/added.txt\n+ours\n*** Update File: {dir}/updated.txt\n@@\n-old\n+ours\n*** Delete File: \
             {dir}/deleted.txt\n*** Update File: {dir}/moved.txt\n*** Move to: {dir}/to.txt\n@@\n-old\n+ours\n"
        );
        let victim = ["added", "updated", "deleted", "moved"][stale];
        let (world, at) = (Arc::clone(&bench.world), bench.at(&format!("{dir}/{victim}.txt")));
        bench.ops.once(Method::Commit, move || {
            let _ = world.unlink(&at);
            let _ = world.create(&at, b"another writer's\n");
        });
        let reply = bench.call("apply_patch", patch(&body)).await;
        ensure(
            reply.outcome == guard_core::Outcome::Refused,
            format!("a patch whose {victim} changed: {:?}", reply.receipt),
        )?;
        let mut names = bench.world.names(&bench.at(&dir))?;
        names.sort();
        let mut expected: Vec<Vec<u8>> =
            ["updated.txt", "deleted.txt", "moved.txt"].map(|name| name.as_bytes().to_vec()).into();
        if victim == "added" {
            expected.push(b"added.txt".to_vec());
        }
        expected.sort();
        same(&format!("the names after a stale {victim}"), &names, &expected)?;
        for name in names {
            let name = String::from_utf8_lossy(&name).into_owned();
            let bytes: &[u8] = if name == format!("{victim}.txt") { b"another writer's\n" } else { b"old\n" };
            bench.holds(&format!("{dir}/{name}"), bytes)?;
        }
    }
    Ok(())
}
