//! A line that is lost: before the request is complete nothing is done, after it what was done is found out.

use guard_core::port::TransportError;
use guard_core::{Outcome, Reply};
use serde_json::{Value, json};

use super::bench::{Bench, patch};
use super::line::{Line, unavailable};
use crate::conformance::{Broken, broken, ensure, same};
use crate::transport::{At, Fault, Way};
use crate::wrap::Method;

/// What every status that a shell can have says, and a signal's.
const STATUSES: [u8; 6] = [1, 125, 126, 127, 137, 255];

/// 4 KiB of lines.
fn page() -> String {
    "0123456789abcde\n".repeat(256)
}

/// The calls that change something, each with 4 KiB in its request where it has a body.
fn calls() -> Vec<(&'static str, Value)> {
    let page = page();
    let lines = page.lines().fold(String::new(), |lines, line| lines + "+" + line + "\n");
    vec![
        ("write_file", json!({ "path": "new.sqlite", "content": page })),
        ("edit_file", json!({ "path": "old.txt", "old": "old\n", "new": page })),
        ("apply_patch", patch(&format!("*** Add File: new.pdf\n{lines}"))),
        ("apply_patch", patch(&format!("*** Update File: old.txt\n@@\n-old\n{lines}"))),
        ("apply_patch", patch(&format!("*** Update File: old.txt\n*** Move to: thing\n@@\n-old\n{lines}"))),
        ("move_file", json!({ "from": "old.txt", "to": "moved" })),
    ]
}

/// Places before the end of a request of this length: half of the head, half of the body, before the tail and in it.
fn places(len: u64) -> [(&'static str, At); 5] {
    let request = At::request(Method::Commit, 1);
    [
        ("before it", request),
        ("in the head", request.byte(40)),
        ("half through", request.byte(len / 2)),
        ("before the tail", At::tail(1)),
        ("in the tail", At::tail(1).byte(20)),
    ]
}

/// The length of the last commit on the line.
fn length(line: &Line) -> u64 {
    line.faults.requests().iter().rfind(|(method, _)| *method == Method::Commit).map_or(0, |(_, len)| *len)
}

pub(super) async fn what_fails_before_the_request_is_complete_changes_nothing(
    bench: Bench,
) -> Result<(), Broken> {
    bench.there("old.txt", b"old\n")?;
    let before = bench.snapshot()?;
    let line = Line::of(&bench).await?;
    let mut nth = 0;
    for (tool, arguments) in calls() {
        // Which faults come at which place differs from call to call; all of them come at all places.
        let mut len = 0;
        for index in 0..5 {
            let (place, at) = places(len)[index];
            for turn in 0..2 {
                nth += 1;
                let status = STATUSES[nth % STATUSES.len()];
                // What is inserted into a request is noise to the shell, which ends the session.
                let faults = [Fault::Cut, Fault::End, Fault::Kill, Fault::Insert(b"noise\n".to_vec())];
                let fault = faults[(nth / 2 + index + 2 * turn) % 4].clone();
                let what = format!("{fault:?} {place} of {tool}, and the status {status}");
                line.ends_with(Some(format!("exit status: {status}")));
                line.faults.plan(Way::ToShell, at, fault);
                unavailable(&what, &line.call(tool, &arguments).await)?;
                same(&format!("{what}: faults to come"), &line.faults.pending(), &0)?;
                // The old shell finds its line closed, and clears away what it staged; what it cannot, the next one does.
                line.faults.orphans_end().await;
                let look = line.call("stat", &json!({ "path": "old.txt" })).await;
                same(&format!("{what}: a look afterwards"), &look.outcome, &Outcome::Done)?;
                bench.unchanged(&before, &what)?;
            }
            len = length(&line);
        }
        ensure(tool == "move_file" || len > 4096, format!("a request of {len} bytes has no body"))?;
    }
    line.ends_with(None);
    // What is started again is no shell, or nothing is started at all.
    line.lose().await?;
    let statuses = STATUSES.map(|status| format!("exit {status}"));
    let scripts =
        ["exit 0", "kill -9 $$", "echo noise; exit 0", "echo 'sh: not found' >&2; exit 127", "exec cat"];
    for script in statuses.iter().map(String::as_str).chain(scripts) {
        line.instead(Some(script));
        for (tool, arguments) in calls() {
            unavailable(
                &format!("{script:?} instead of a shell, for {tool}"),
                &line.call(tool, &arguments).await,
            )?;
        }
        bench.unchanged(&before, &format!("{script:?} instead of a shell"))?;
    }
    line.instead(None);
    let why = || "no route".to_owned();
    for error in [
        TransportError::Unreachable { why: why() },
        TransportError::Unresolved { why: why() },
        TransportError::NoSession { why: why() },
    ] {
        line.faults.refuse_all(error.clone());
        for (tool, arguments) in calls() {
            unavailable(&format!("{error:?} at the start, for {tool}"), &line.call(tool, &arguments).await)?;
        }
        bench.unchanged(&before, &format!("{error:?}"))?;
    }
    line.faults.accept();
    // When the target answers again, the call is made, as the remedy says.
    for (tool, arguments) in [calls().remove(0), calls().remove(3)] {
        same("the outcome at last", &line.call(tool, &arguments).await.outcome, &Outcome::Done)?;
    }
    bench.holds("new.sqlite", page().as_bytes())?;
    bench.holds("old.txt", page().as_bytes())
}

pub(super) async fn a_target_that_hangs_is_given_up_and_changes_nothing(bench: Bench) -> Result<(), Broken> {
    bench.there("old.txt", b"old\n")?;
    let before = bench.snapshot()?;
    // Whoever waits for a deadline keeps nobody else from it: three lines at once, each with two calls.
    let mut lines = tokio::task::JoinSet::new();
    for row in 0..3 {
        let line = Line::impatient(&bench).await?;
        lines.spawn(async move {
            for (nth, (tool, arguments)) in calls().into_iter().enumerate().skip(2 * row).take(2) {
                let len = if tool == "move_file" { 300 } else { 4300 };
                let (place, at) = places(len)[nth % 5];
                line.faults.plan(Way::ToShell, at, Fault::Hang);
                unavailable(
                    &format!("a line that hangs {place} of {tool}"),
                    &line.call(tool, &arguments).await,
                )?;
                same("faults to come", &line.faults.pending(), &0)?;
                line.faults.kill_orphans().await;
                let look = line.call("stat", &json!({ "path": "old.txt" })).await;
                same("a look afterwards", &look.outcome, &Outcome::Done)?;
            }
            Ok::<_, Broken>(line)
        });
    }
    let lines: Vec<Line> = lines.join_all().await.into_iter().collect::<Result<_, _>>()?;
    bench.unchanged(&before, "lines that hang")?;
    // What is started says nothing at all.
    for line in lines.iter().take(1) {
        line.lose().await?;
        line.instead(Some("exec cat > /dev/null"));
        let (tool, arguments) = calls().remove(0);
        unavailable("a shell that never says hello", &line.call(tool, &arguments).await)?;
        bench.unchanged(&before, "a shell that never says hello")?;
    }
    Ok(())
}

/// The names in the workspace, and which of them are temporary.
pub(super) fn names(bench: &Bench) -> Result<(Vec<String>, Vec<String>), Broken> {
    let names = bench.world.names(&bench.at(""))?;
    let names = names.into_iter().map(|name| String::from_utf8_lossy(&name).into_owned());
    Ok(names.partition(|name| !name.starts_with(".guard-")))
}

/// Makes the ground of a write of 4 KiB over `old` (or nothing).
async fn prepare(bench: &Bench, line: &Line, old: Option<&[u8]>) -> Result<(), Broken> {
    let _ = bench.world.unlink(&bench.at("file.txt"));
    // What was written by the last one is gone, and the actor is told.
    let mut look = "stat";
    if let Some(old) = old {
        bench.there("file.txt", old)?;
        look = "read_file";
    }
    let looked = line.call(look, &json!({ "path": "file.txt" })).await;
    same("a look before", &looked.outcome, &Outcome::Done)
}

/// Writes 4 KiB into a line with a planned fault, lets the old shell come to its end, and claims what has to hold.
async fn write(bench: &Bench, line: &Line, what: &str, old: Option<&[u8]>) -> Result<Outcome, Broken> {
    let sent = line.commits();
    let reply = line.call("write_file", &json!({ "path": "file.txt", "content": page() })).await;
    same(&format!("{what}: faults to come"), &line.faults.pending(), &0)?;
    same(&format!("{what}: commits that were sent"), &(line.commits() - sent), &1)?;
    judge(bench, line, what, old, &reply).await
}

/// Claims that a reply is true, and stays so when the old shell wakes up; and that nothing is left that nobody tells of.
async fn judge(
    bench: &Bench,
    line: &Line,
    what: &str,
    old: Option<&[u8]>,
    reply: &Reply,
) -> Result<Outcome, Broken> {
    let new = page();
    // Whatever the old shell does when it wakes up, it does not change what was reported.
    // It may only clear up what it staged.
    let now = || {
        let file = bench.at("file.txt");
        Ok::<_, Broken>((bench.world.read(&file).ok(), bench.world.mode(&file).ok(), names(bench)?.0))
    };
    let settled = now()?;
    line.faults.orphans_end().await;
    let look = line.call("stat", &json!({ "path": "file.txt" })).await;
    same(&format!("{what}: a look afterwards"), &look.outcome, &Outcome::Done)?;
    same(&format!("{what}: what the old shell left as it was settled"), &now()?, &settled)?;
    let now = settled.0;
    match reply.outcome {
        Outcome::Done => {
            ensure(
                now.as_deref() == Some(new.as_bytes()),
                format!("{what}: reported as done, and it is not"),
            )?;
        }
        Outcome::Refused => {
            ensure(now.as_deref() == old, format!("{what}: reported as refused, and it is not"))?;
            unavailable(what, reply)?;
        }
        Outcome::Unknown => {
            return broken(format!("{what}: unknown, though the target can be reached: {:?}", reply.refusal));
        }
    }
    let (_, temps) = names(bench)?;
    let told = format!("{:?} {:?}", reply.receipt, reply.refusal);
    for temp in &temps {
        ensure(told.contains(temp.as_str()), format!("{what}: {temp} is left, and nobody says so: {told}"))?;
        // What was there before may be kept; what was staged, or a part of it, is not left.
        let kept = bench.world.read(&bench.at(temp))?;
        ensure(Some(kept.as_slice()) == old, format!("{what}: {temp} is left with {} bytes", kept.len()))?;
        bench.world.unlink(&bench.at(temp))?;
    }
    if reply.outcome == Outcome::Done || old.is_none() {
        same(&format!("{what}: temporary names"), &temps, &Vec::<String>::new())?;
    }
    Ok(reply.outcome)
}

pub(super) async fn a_write_cut_anywhere_is_old_or_new_and_reported_truly(
    bench: Bench,
) -> Result<(), Broken> {
    let line = Line::of(&bench).await?;
    let request = At::request(Method::Commit, 1);
    for old in [None, Some(&b"old\n"[..])] {
        let mut outcomes = Vec::new();
        let mut rows: Vec<(Way, At, Fault)> = Vec::new();
        let cut = |way, at| (way, at, Fault::Cut);
        for byte in [0, 1, 33, 34, 150, 300, 400, 1000, 2500, 4000] {
            rows.push(cut(Way::ToShell, request.byte(byte)));
        }
        rows.extend([0, 1, 20, 33, 39].map(|byte| cut(Way::ToShell, At::tail(1).byte(byte))));
        let in_time = rows.len();
        rows.push(cut(Way::ToShell, At::tail(1).end()));
        for byte in [0, 1, 34, 60, 100, 200, u64::MAX] {
            rows.push(cut(Way::FromShell, request.byte(byte)));
        }
        // Noise, silence and a killed shell where the answer should be.
        rows.push((Way::FromShell, request, Fault::Insert(b"noise\n".to_vec())));
        rows.push((Way::FromShell, request.byte(60), Fault::Insert(b"noise\n".to_vec())));
        rows.push((Way::FromShell, request.byte(40), Fault::Garble(20)));
        rows.push((Way::FromShell, request.byte(10), Fault::End));
        rows.push((Way::FromShell, request.byte(10), Fault::Kill));
        for (way, at, fault) in rows {
            let what = format!(
                "{way:?} {at:?} {fault:?}, {}",
                if old.is_some() { "a replacement" } else { "a creation" }
            );
            prepare(&bench, &line, old).await?;
            line.faults.plan(way, at, fault);
            outcomes.push(write(&bench, &line, &what, old).await?);
        }
        let done =
            |outcomes: &[Outcome]| outcomes.iter().filter(|outcome| **outcome == Outcome::Done).count();
        let (before, after) = (done(&outcomes[..in_time]), done(&outcomes[in_time..]));
        ensure(before == 0 && after > 5, format!("done before the tail: {before}, and after it: {after}"))?;
    }
    an_old_shell_that_wakes_up_changes_nothing(&bench).await
}

/// The old shell waits in the middle of a request, or its answer does, until the new one has settled.
async fn an_old_shell_that_wakes_up_changes_nothing(bench: &Bench) -> Result<(), Broken> {
    let line = Line::impatient(bench).await?;
    let request = At::request(Method::Commit, 1);
    for (way, at, old) in [
        (Way::ToShell, request.byte(2000), None),
        (Way::ToShell, At::tail(1).byte(20), Some(&b"old\n"[..])),
        (Way::FromShell, request, Some(&b"old\n"[..])),
    ] {
        let what = format!("{way:?} {at:?} is held, and goes on later");
        prepare(bench, &line, old).await?;
        let gate = line.faults.hold(way, at);
        let reply = line.call("write_file", &json!({ "path": "file.txt", "content": page() })).await;
        let settled = bench.snapshot()?;
        gate.open();
        let outcome = judge(bench, &line, &what, old, &reply).await?;
        bench.unchanged(&settled, &what)?;
        let expected = if way == Way::ToShell { Outcome::Refused } else { Outcome::Done };
        same(&format!("{what}: the outcome"), &outcome, &expected)?;
    }
    // When the target cannot be reached, nobody knows; as soon as it can, the next call says so.
    let line = Line::of(bench).await?;
    prepare(bench, &line, None).await?;
    line.faults.plan(Way::FromShell, request, Fault::Cut);
    line.faults.refuse_all(TransportError::Unreachable { why: "no route".to_owned() });
    let reply = line.call("write_file", &json!({ "path": "file.txt", "content": page() })).await;
    same("while nobody answers", &reply.outcome, &Outcome::Unknown)?;
    line.faults.accept();
    line.faults.orphans_end().await;
    let look = line.call("stat", &json!({ "path": "file.txt" })).await;
    let told: Vec<Outcome> = look.notices.iter().map(|notice| notice.outcome).collect();
    same("what is told later", &told, &vec![Outcome::Done])?;
    bench.holds("file.txt", page().as_bytes())
}
