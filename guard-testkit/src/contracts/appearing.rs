//! What appears or changes between the decision and the effect.

use std::sync::Arc;

use serde_json::json;

use super::bench::{Bench, patch};
use crate::conformance::{Broken, ensure, same};
use crate::wrap::Method;

pub(super) async fn what_appears_between_decision_and_effect_survives(bench: Bench) -> Result<(), Broken> {
    let database = Bench::database()?;
    bench.world.mkdir(&bench.at("real"))?;
    bench.world.mkdir(&bench.at("a"))?;
    bench.world.symlink(b"real", &bench.at("link"))?;
    bench.there("updated.txt", b"old\n")?;
    let mut nth = 0;
    for spelling in ["{}", "./{}", "a/../{}", "real/{}", "link/{}"] {
        for index in 0..4 {
            nth += 1;
            bench.there("moving", b"ours\n")?;
            let name = format!("{nth}.sqlite");
            let path = spelling.replace("{}", &name);
            // Where it is: `link` is `real`, and `a/..` is here.
            let real = path.replace("link/", "real/").replace("a/../", "").replace("./", "");
            let (what, tool, arguments) = match index {
                3 => (
                    "Update with a move",
                    "apply_patch",
                    patch(&format!("*** Update File: updated.txt\n*** Move to: {path}\n@@\n-old\n+ours\n")),
                ),
                index => Bench::creations(&path).remove(index),
            };
            // Control: without the intruder it is created.
            if spelling == "{}" && index < 3 {
                let free = path.replace(".sqlite", "-free.sqlite");
                let (what, tool, arguments) = Bench::creations(&free).remove(index);
                bench.done(&format!("{what} of {free}"), tool, arguments).await?;
                bench.holds(&free, b"ours\n")?;
                if index == 2 {
                    bench.there("moving", b"ours\n")?;
                }
            }
            let (world, at, bytes) = (Arc::clone(&bench.world), bench.at(&real), database.0.clone());
            bench.ops.once(Method::Commit, move || {
                // It is the point of the contract that this is there; a failure shows below.
                let _ = world.create(&at, &bytes);
            });
            let reply = bench.call(tool, arguments).await;
            let what = format!("{what} of {path}");
            same(&format!("{what}: the outcome"), &reply.outcome, &guard_core::Outcome::Refused)?;
            database.is_whole(&bench.world.read(&bench.at(&real))?)?;
            bench.holds("moving", b"ours\n")?;
            bench.holds("updated.txt", b"old\n")?;
            bench.world.unlink(&bench.at("moving"))?;
        }
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
