//! Where a call's paths are: on the target, whatever the target is called, and below its home.

use std::sync::Arc;

use async_trait::async_trait;
use guard_backends::shell::Shell;
use guard_core::policy::{Access, Policy};
use guard_core::port::{Machine, Session, TargetId, Transport, TransportError};
use guard_core::{Guard, Outcome};
use serde_json::json;

use super::bench::{Bench, Shared, failed, patch};
use crate::conformance::{Broken, ensure, same, same_bytes};
use crate::wrap::Method;

/// A target by another name.
struct Named {
    inner: Shared,
    id: TargetId,
}

#[async_trait]
impl Transport for Named {
    fn target(&self) -> &TargetId {
        &self.id
    }

    async fn start(&self, command: &str) -> Result<Session, TransportError> {
        self.inner.start(command).await
    }

    async fn machine(&self) -> Result<Option<Machine>, TransportError> {
        self.inner.machine().await
    }
}

pub(super) async fn names_that_claim_to_be_local_change_nothing(bench: Bench) -> Result<(), Broken> {
    for name in ["local", "localhost", "local:file", "file:notes.txt", "localhost:notes.txt"] {
        // The controller has it and the target does not: then it is created there; the other way round it is refused.
        bench.here(name, b"mine\n")?;
        let controller = bench.snapshot()?.0;
        bench.done(name, "write_file", json!({ "path": name, "content": "ours\n" })).await?;
        bench.holds(name, b"ours\n")?;
        bench.controller_is(controller, name)?;
        let only_there = format!("there-{name}");
        bench.there(&only_there, b"theirs\n")?;
        let call = ("a write", "write_file", json!({ "path": only_there, "content": "ours\n" }));
        bench.refused_as("not-read", &only_there, call).await?;
    }
    // What the target is called, by a host's, a container's or an integrator's name, is only what it is called.
    for (nth, id) in
        ["local", "localhost", "file:///", "ssh://localhost", "docker://local"].into_iter().enumerate()
    {
        let named = Named { inner: Shared(Arc::clone(&bench.transport)), id: TargetId::new(id) };
        let shell = Shell::builder(Arc::new(named)).connect().await.map_err(failed)?;
        let guard = Guard::builder((bench.around)(shell))
            .policy(Policy::default())
            .root(bench.root.clone(), Access::ReadWrite)
            .open()
            .await
            .map_err(failed)?;
        // An actor's name is only a name too.
        let actor = guard.actor(id);
        let at = |name: &str| format!("{nth}-{name}");
        bench.there(&at("there.txt"), b"theirs\n")?;
        bench.here(&at("here.txt"), b"mine\n")?;
        bench.there(&at("both.txt"), b"one\ntheirs\n")?;
        bench.here(&at("both.txt"), b"one\nmine\n")?;
        let before = bench.snapshot()?;
        for (call, code) in [
            (("a write", "write_file", json!({ "path": at("there.txt"), "content": "ours\n" })), "not-read"),
            (Bench::changes(&at("both.txt"), "mine").remove(0), "no-match"),
            (("a read", "read_file", json!({ "path": at("here.txt") })), "not-found"),
        ] {
            let what = format!("{} on a target called {id}", call.0);
            let reply = actor.call(call.1, call.2).await;
            let said = reply.refusal.as_ref().map(|refusal| refusal.code.as_str());
            same(&format!("{what}: the code"), &said, &Some(code))?;
            bench.unchanged(&before, &what)?;
        }
        for (call, name, bytes) in [
            (
                ("a write", "write_file", json!({ "path": at("here.txt"), "content": "ours\n" })),
                "here.txt",
                "ours\n",
            ),
            (Bench::changes(&at("both.txt"), "theirs").remove(0), "both.txt", "one\nours\n"),
            (Bench::creations(&at("added.txt")).remove(1), "added.txt", "ours\n"),
        ] {
            let what = format!("{} on a target called {id}", call.0);
            let reply = actor.call(call.1, call.2).await;
            same(&format!("{what}: {:?}", reply.refusal), &reply.outcome, &Outcome::Done)?;
            same(
                "the receipt's target",
                &reply.receipt.map(|receipt| receipt.target),
                &Some(TargetId::new(id)),
            )?;
            bench.holds(&at(name), bytes.as_bytes())?;
            bench.controller_is(before.0, &what)?;
        }
    }
    Ok(())
}

pub(super) async fn the_home_is_the_targets(bench: Bench) -> Result<(), Broken> {
    let at = |name: &str| format!("{}/{name}", bench.home).into_bytes();
    bench.world.create(&at("there.txt"), b"theirs\n")?;
    let controller = bench.snapshot()?.0;
    // What exists only there is refused and stays; what does not is created there and nowhere else.
    let write = ("a write", "write_file", json!({ "path": "~/there.txt", "content": "ours\n" }));
    bench.refused_as("not-read", "~/there.txt", write).await?;
    same_bytes("~/there.txt", &bench.world.read(&at("there.txt"))?, b"theirs\n")?;
    let read = bench.done("~/there.txt", "read_file", json!({ "path": "~/there.txt" })).await?;
    ensure(read["result"]["content"].as_str().is_some_and(|text| text.contains("theirs")), "its content")?;
    let listed = bench.done("~", "list_dir", json!({ "path": "~" })).await?;
    ensure(listed["result"].to_string().contains("there.txt"), format!("what is in ~: {listed}"))?;
    for (path, name, call) in [
        (
            "~/new/a.txt",
            "new/a.txt",
            ("a write", "write_file", json!({ "path": "~/new/a.txt", "content": "ours\n" })),
        ),
        ("~/added.txt", "added.txt", Bench::creations("~/added.txt").remove(1)),
        ("~/there.txt", "there.txt", Bench::changes("~/there.txt", "theirs").remove(0)),
        ("~/new/a.txt", "new/a.txt", Bench::changes("~/new/a.txt", "ours").remove(1)),
    ] {
        let (kind, tool, mut arguments) = call;
        if kind == "Update" {
            arguments = patch(&format!("*** Update File: {path}\n@@\n-ours\n+ours too\n"));
        }
        let _ = bench.ops.inner().take();
        let done = bench.done(&format!("{kind} of {path}"), tool, arguments).await?;
        let resolved = &done["receipt"]["changes"][0]["resolved"];
        same(&format!("{kind}: where it was written"), resolved, &json!(format!("{}/{name}", bench.home)))?;
        let bytes: &[u8] = if kind == "Update" { b"ours too\n" } else { b"ours\n" };
        same_bytes(path, &bench.world.read(&at(name))?, bytes)?;
        // The string that was probed is the string that is written, and nothing of `~` is left in it.
        let notes = bench.ops.inner().take();
        let written: Vec<_> = notes.iter().filter(|note| note.method == Method::Commit).collect();
        same(&format!("{kind}: places that were written"), &written.len(), &1)?;
        for note in &notes {
            same(&format!("{kind}: what was probed"), &note.asked, &written[0].asked)?;
        }
        same(&format!("{kind}: the string"), &written[0].asked.1.as_str(), &name)?;
        let expect = written[0].expect.as_ref().map(ToString::to_string);
        same(&format!("{kind}: where it leads"), &expect, &Some(format!("{}/{name}", bench.home)))?;
    }
    // `~user`, variables and escapes are names.
    for name in ["~root", "$HOME", "%7e"] {
        bench.done(name, "write_file", json!({ "path": format!("names/{name}"), "content": "x\n" })).await?;
        bench.holds(&format!("names/{name}"), b"x\n")?;
    }
    bench.controller_is(controller, "paths below the home")
}
