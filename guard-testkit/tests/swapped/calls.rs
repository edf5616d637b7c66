//! The operations: one call each, and what it means for the ledger that it was done.

use guard_core::policy::{Code, Digest, FileState};
use guard_core::port::Tier;
use guard_core::{
    Actor, ApplyPatch, DeleteFile, Done, EditFile, Failure, ListDir, MakeDir, MoveFile, ReadFile, StatPaths,
    WriteFile,
};

use crate::scene::{Ledger, OUTSIDE, Scene};
use crate::swapper::Swap;

/// The operations below a directory that is swapped.
const BELOW: &[&str] =
    &["read", "list", "stat", "write", "edit", "create", "make", "patch", "move in", "move out", "delete"];
/// The operations on a file that is swapped.
const ON_THE_FILE: &[&str] = &["read", "stat", "write", "edit", "move away", "remove"];

/// Returns the operations that are raced.
///
/// Where names cannot be exchanged, a rename over a name that was swapped in the last instant is what the receipt's
/// `window` speaks of: its rate is measured elsewhere.
pub(crate) fn operations(swap: Swap, tier: Tier) -> Vec<&'static str> {
    let all = if swap == Swap::File { ON_THE_FILE } else { BELOW };
    let is_promised =
        |name: &&str| swap != Swap::File || tier == Tier::Exchange || !matches!(*name, "write" | "edit");
    all.iter().copied().filter(is_promised).collect()
}

/// How a call may end while somebody swaps: done, or refused in one of these words.
pub(crate) fn is_allowed(swap: Swap, code: Code) -> bool {
    match code {
        // Of the path, which leads elsewhere, or led elsewhere at two instants; of what was seen and is not there now; of
        // a link, or of nothing, where a file was for an instant.
        Code::OutsideRoot
        | Code::UnstablePath
        | Code::Conflict
        | Code::Stale
        | Code::NotRead
        | Code::TornRead
        | Code::NotFound
        | Code::NotRegular
        | Code::InvalidPath
        // Of what is a link for an instant, attributes cannot be kept.
        | Code::MetadataLoss
        // A tool and the shell see it at different instants: nothing is known, and nothing was done.
        | Code::StateUnavailable => true,
        // Of a version that another call put there: one that was refused when somebody had moved what it put, or one that
        // made the directory again while it was away, and whose directory stepped aside between reading and editing.
        Code::NoMatch => swap != Swap::Parent,
        Code::NotADirectory => swap != Swap::File,
        Code::Exists => matches!(swap, Swap::Slowly | Swap::MovedOut),
        _ => false,
    }
}

/// What a call that was done came to.
#[derive(Default)]
pub(crate) struct Came {
    /// In which way it was done, if it was not the usual one.
    pub(crate) otherwise: Option<&'static str>,
    /// What enforced the preconditions of replacements.
    pub(crate) tiers: Vec<Tier>,
}

/// Notes what a receipt says.
fn noted(ledger: &mut Ledger, done: Done) -> Came {
    let receipt = done.receipt().unwrap();
    let mut came = Came::default();
    for change in receipt.changes {
        // The text of a link that was moved is in the root.
        let said = format!("{:?} {:?} {:?}", change.left, change.notes, change.diff);
        assert!(!said.contains(OUTSIDE), "outside was told: {said}");
        ledger.left.extend(change.left);
        if change.before.is_some() && change.after.is_some() && change.moved_to.is_none() {
            came.tiers.extend(change.publish.map(|publish| publish.tier));
        }
    }
    came
}

/// Notes what was put in the file. Somebody can have moved it while it was there and before the call was refused; then
/// something is left, and says so.
fn given(ledger: &mut Ledger, text: String, done: Result<Done, Failure>) -> Result<Came, Failure> {
    match done {
        Ok(done) => {
            ledger.f.push(text);
            Ok(noted(ledger, done))
        }
        Err(failure) => {
            if !failure.refusal.left.is_empty() {
                ledger.maybe.push(text);
            }
            Err(failure)
        }
    }
}

/// Makes a file for the call that takes it away.
async fn made(actor: &Actor, ledger: &mut Ledger, round: usize) -> Result<String, Failure> {
    let (name, text) = (format!("new-{round}"), format!("new in {round}\n"));
    noted(ledger, actor.write_file(WriteFile::new(format!("d/{name}"), &text)).await?);
    ledger.files.insert(name.clone(), text);
    Ok(name)
}

/// Makes a call of an operation; where it is done, the ledger says so.
pub(crate) async fn call(
    scene: &Scene,
    ledger: &mut Ledger,
    operation: &str,
    round: usize,
) -> Result<Came, Failure> {
    let actor: Actor = scene.guard.actor("agent");
    let file = "d/f";
    match operation {
        "read" => {
            let result = actor.read_file(ReadFile::new(file)).await?;
            let content = result.content.unwrap_or_default();
            assert!(!content.contains(OUTSIDE), "outside was read: {content}");
            Ok(Came::default())
        }
        "list" => {
            let listing = actor.list_dir(ListDir { path: Some("d".into()), ..ListDir::default() }).await?;
            let names: Vec<&str> = listing.entries.iter().map(|entry| entry.name.as_str()).collect();
            assert!(!names.contains(&"inner.txt"), "outside was listed: {names:?}");
            Ok(Came::default())
        }
        "stat" => {
            let mut told = actor.stat(StatPaths::new(file)).await?;
            let outside = Some(Digest::of(format!("{OUTSIDE}, theirs\n").as_bytes()));
            assert!(told.paths.iter().all(|facts| facts.state.digest() != outside), "{told:?}");
            let facts = told.paths.remove(0);
            match facts.problem {
                // It says of the link itself what it is.
                Some(problem) => Err(problem.into()),
                None if facts.state == FileState::Absent => {
                    Ok(Came { otherwise: Some("nothing there"), ..Came::default() })
                }
                None => Ok(Came::default()),
            }
        }
        "write" => {
            let _ = actor.read_file(ReadFile::new(file)).await;
            let text = format!("theirs, written in {round}\n");
            let done = actor.write_file(WriteFile::new(file, &text)).await;
            given(ledger, text, done)
        }
        "edit" => {
            let seen = actor.read_file(ReadFile::new(file)).await?.content.unwrap_or_default();
            // What is shown has the number of the line before it.
            let old = seen.lines().next().unwrap().split_once('\t').unwrap().1.to_owned();
            let text = format!("theirs, edited in {round}");
            let done = actor.edit_file(EditFile::new(file, old, &text)).await;
            given(ledger, format!("{text}\n"), done)
        }
        "create" => {
            made(&actor, ledger, round).await?;
            Ok(Came::default())
        }
        "make" => {
            let name = format!("y-{round}");
            let came = noted(ledger, actor.make_dir(MakeDir::new(format!("d/x/{name}"))).await?);
            ledger.directories.insert(name);
            Ok(came)
        }
        "patch" => {
            let (below, beside) = (format!("patched-{round}"), format!("beside-{round}"));
            let patch = format!(
                "*** Begin Patch\n*** Add File: {beside}\n+beside\n*** Add File: d/{below}\n+patched\n*** End Patch\n"
            );
            let came = noted(ledger, actor.apply_patch(ApplyPatch::new(patch)).await?);
            ledger.files.insert(below, "patched\n".to_owned());
            ledger.files.insert(beside, "beside\n".to_owned());
            Ok(came)
        }
        "move in" => {
            let (spare, name) = (format!("spare-{round}"), format!("in-{round}"));
            std::fs::write(scene.here.join(&spare), "spare\n").unwrap();
            ledger.files.insert(spare.clone(), "spare\n".to_owned());
            let came = noted(ledger, actor.move_file(MoveFile::new(&spare, format!("d/{name}"))).await?);
            ledger.files.remove(&spare);
            ledger.files.insert(name, "spare\n".to_owned());
            Ok(came)
        }
        "move out" => {
            let name = made(&actor, ledger, round).await?;
            let out = format!("out-{round}");
            let came = noted(ledger, actor.move_file(MoveFile::new(format!("d/{name}"), &out)).await?);
            let content = ledger.files.remove(&name).unwrap();
            ledger.files.insert(out, content);
            Ok(came)
        }
        "delete" => {
            let path = format!("d/{}", made(&actor, ledger, round).await?);
            actor.read_file(ReadFile::new(&path)).await?;
            let came = noted(ledger, actor.delete_file(DeleteFile::new(&path)).await?);
            ledger.files.remove(&path[2..]);
            Ok(came)
        }
        "move away" => {
            let name = format!("moved-{round}");
            let mut came = noted(ledger, actor.move_file(MoveFile::new(file, format!("d/{name}"))).await?);
            let there = scene.here.join("d").join(&name);
            if there.is_symlink() {
                came.otherwise = Some("of the link");
                ledger.links.insert(name);
            } else {
                let content = std::fs::read_to_string(there).unwrap();
                assert!(ledger.can_be(Swap::File, &content), "{content:?} was moved");
                ledger.files.insert(name, content);
            }
            scene.restore(ledger, round);
            Ok(came)
        }
        "remove" => {
            let _ = actor.read_file(ReadFile::new(file)).await;
            let came = noted(ledger, actor.delete_file(DeleteFile::new(file)).await?);
            scene.restore(ledger, round);
            Ok(came)
        }
        other => panic!("no operation is called {other:?}"),
    }
}
