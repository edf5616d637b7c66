//! A patch whose session is killed in the middle of it.

use std::collections::BTreeMap;

use guard_core::{Outcome, Reply};
use serde_json::json;

use super::bench::{Bench, failed, patch};
use super::line::Line;
use crate::conformance::{Broken, ensure, same};
use crate::transport::{At, Call, Deed, Fault, Way, Wrappers};
use crate::wrap::Method;

/// What publishes on one target or another.
const TOOLS: [&str; 5] = ["link", "ln", "mv", "perl", "exch"];

/// An addition below a new directory, an update, a deletion, and an update with a move.
const PATCH: &str = "*** Add File: p/made/added.txt\n+ours\n*** Update File: p/updated.txt\n@@\n-old\n+ours\n*** Delete \
                     File: p/deleted.txt\n*** Update File: p/moved.txt\n*** Move to: p/to.txt\n@@\n-old\n+ours\n";

type Tree = BTreeMap<String, Vec<u8>>;

pub(super) async fn a_patch_whose_session_is_killed_is_all_or_none_or_says_what_is_uncertain(
    bench: Bench,
) -> Result<(), Broken> {
    bench.world.mkdir(&bench.at("p"))?;
    let tools = wrapped(bench.tools.as_deref())?;
    let line = Line::of(&bench).await?;
    // One that goes through: what there is then, and which tools were called how often.
    let old = fill(&bench, &line).await?;
    let before = calls(bench.tools.as_deref())?;
    same(
        "a patch that is left alone",
        &line.call("apply_patch", &patch(PATCH)).await.outcome,
        &Outcome::Done,
    )?;
    let called = calls(bench.tools.as_deref())?.split_off(before.len());
    let new = tree(&bench)?;
    ensure(
        new.len() == 3 && new.values().all(|bytes| bytes == b"ours\n"),
        format!("after the patch: {new:?}"),
    )?;
    let mut outcomes = Vec::new();
    for tool in tools {
        let count = called.iter().filter(|name| *name == tool).count() as u64;
        for call in (1..=count).map(|nth| Call::of(tool).nth(nth).after()) {
            let what = format!("a shell that is killed at {call:?}");
            fill(&bench, &line).await?;
            if let Some(wrappers) = &bench.tools {
                wrappers.plan(call, Deed::KillShell)?;
            }
            let reply = line.call("apply_patch", &patch(PATCH)).await;
            outcomes.push(judge(&bench, &what, &reply, (&old, &new))?);
        }
    }
    if bench.tools.is_some() {
        let (done, refused) = (count(&outcomes, Outcome::Done), count(&outcomes, Outcome::Refused));
        ensure(
            done > 0 && refused > 2,
            format!("{done} were in effect and {refused} were not: {outcomes:?}"),
        )?;
    }
    // Where no tool can be stopped, by what the shell has said so far: that it is about to make a directory, that it
    // is done.
    for (byte, fault) in [
        (0, Fault::Kill),
        (0, Fault::Cut),
        (60, Fault::Kill),
        (150, Fault::Cut),
        (300, Fault::Kill),
        (u64::MAX, Fault::Kill),
        (u64::MAX, Fault::Cut),
    ] {
        let what = format!("{fault:?} after {byte} bytes of the answer");
        fill(&bench, &line).await?;
        line.faults.plan(Way::FromShell, At::request(Method::Commit, 1).byte(byte), fault);
        let reply = line.call("apply_patch", &patch(PATCH)).await;
        same(&format!("{what}: faults to come"), &line.faults.pending(), &0)?;
        // Of a request that had not left, the next session clears away what was staged.
        let look = line.call("stat", &json!({ "path": "p" })).await;
        same(&format!("{what}: a look afterwards"), &look.outcome, &Outcome::Done)?;
        let told = judge(&bench, &what, &reply, (&old, &new))?;
        line.faults.orphans_end().await;
        same(&format!("{what}: later"), &judge(&bench, &what, &reply, (&old, &new))?, &told)?;
    }
    Ok(())
}

/// Claims that all of the patch is in effect, or none of it, as was reported; or that the reply names what is not so.
fn judge(bench: &Bench, what: &str, reply: &Reply, (old, new): (&Tree, &Tree)) -> Result<Outcome, Broken> {
    let now = tree(bench)?;
    let told = format!("{:?} {:?}", reply.receipt, reply.refusal);
    match reply.outcome {
        Outcome::Done => ensure(now == *new, format!("{what}: reported as done, and there is {now:?}"))?,
        Outcome::Refused => {
            ensure(now == *old, format!("{what}: reported as refused, and there is {now:?}"))?;
        }
        Outcome::Unknown => {
            let changed = |name: &&String| old.get(*name) != now.get(*name);
            for name in old.keys().chain(new.keys()).filter(changed) {
                ensure(
                    told.contains(name.as_str()),
                    format!("{what}: {name} is uncertain, and not named: {told}"),
                )?;
            }
        }
    }
    for name in temps(bench)? {
        ensure(told.contains(&name), format!("{what}: {name} is left, and nobody says so: {told}"))?;
    }
    Ok(reply.outcome)
}

fn count(outcomes: &[Outcome], wanted: Outcome) -> usize {
    outcomes.iter().filter(|outcome| **outcome == wanted).count()
}

/// Makes the ground of the patch, and lets the actor see what it deletes.
async fn fill(bench: &Bench, line: &Line) -> Result<Tree, Broken> {
    for name in names(bench, "p/made")?.into_iter().chain(names(bench, "p")?) {
        let at = bench.at(&name);
        // A directory stays, and is moved out of the way.
        if bench.world.unlink(&at).is_err() {
            bench.world.rename(&at, &bench.at(&format!("was-{}", line.commits())))?;
        }
    }
    for name in ["updated", "deleted", "moved"] {
        bench.there(&format!("p/{name}.txt"), b"old\n")?;
    }
    let look = line.call("stat", &json!({ "path": "p/deleted.txt" })).await;
    same("a look before", &look.outcome, &Outcome::Done)?;
    tree(bench)
}

/// The names in a directory as paths, deepest last; none where there is no such directory.
fn names(bench: &Bench, directory: &str) -> Result<Vec<String>, Broken> {
    let names = match bench.world.names(&bench.at(directory)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        names => names?,
    };
    Ok(names.iter().map(|name| format!("{directory}/{}", String::from_utf8_lossy(name))).collect())
}

/// The files of the patch; a directory is there by its name.
fn tree(bench: &Bench) -> Result<Tree, Broken> {
    let mut tree = Tree::new();
    for name in names(bench, "p")?.into_iter().chain(names(bench, "p/made")?) {
        if !name.contains("/.guard-") && name != "p/made" {
            tree.insert(name.clone(), bench.world.read(&bench.at(&name))?);
        }
    }
    Ok(tree)
}

fn temps(bench: &Bench) -> Result<Vec<String>, Broken> {
    let all = names(bench, "p")?.into_iter().chain(names(bench, "p/made")?);
    Ok(all.filter_map(|name| Some(name[name.find(".guard-")?..].to_owned())).collect())
}

/// Wraps the tools that there are, where tools can be wrapped.
fn wrapped(wrappers: Option<&Wrappers>) -> Result<Vec<&'static str>, Broken> {
    let Some(wrappers) = wrappers else { return Ok(Vec::new()) };
    let mut there = Vec::new();
    for tool in TOOLS {
        match wrappers.wrap(tool) {
            Ok(()) => there.push(tool),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(there)
}

fn calls(wrappers: Option<&Wrappers>) -> Result<Vec<String>, Broken> {
    let calls = wrappers.map(Wrappers::calls).transpose()?.unwrap_or_default();
    Ok(calls.into_iter().map(|called| called.tool).collect())
}
