//! Links, which are judged by what they lead to.

use serde_json::json;

use super::bench::{Bench, Call, patch};
use crate::conformance::{Broken, same};

/// What the documents and their controls hold: text, so that nothing but a name is in the way.
const TEXT: &[u8] = b"PK a document\n";

/// A link, or a path through one: the codes of a write, an Add, an Update with a move, an edit and an Update there.
/// What a patch says of a file that is there, and of a link where it needs a free path.
const EXISTS: &str = "invalid-patch: exists";
const LINK: &str = "invalid-patch: not-a-file";

type Row = (&'static str, [&'static str; 5]);

const ROWS: &[Row] = &[
    ("notes.txt", ["opaque-document", "opaque-document", LINK, "opaque-document", "opaque-document"]),
    ("data.txt", ["binary-exists", EXISTS, LINK, "binary-exists", "binary-exists"]),
    ("real.txt", ["binary-exists", EXISTS, LINK, "binary-exists", "binary-exists"]),
    ("paper.txt", ["pdf-exists", EXISTS, LINK, "pdf-exists", "pdf-exists"]),
    (
        "dangling.txt",
        [
            "not-regular",
            "invalid-patch: not-a-file",
            "invalid-patch: not-a-file",
            "not-regular",
            "invalid-patch: not-a-file",
        ],
    ),
    ("docs/pre-commit", ["sensitive-path"; 5]),
    ("docs/pre-commit.sample", ["sensitive-path"; 5]),
    ("up/x", ["outside-root"; 5]),
];

pub(super) async fn aliases_are_judged_by_what_they_lead_to(bench: Bench) -> Result<(), Broken> {
    let database = Bench::database()?;
    bench.there("real.db", &database.0)?;
    for directory in [".git", ".git/hooks", "plain"] {
        bench.world.mkdir(&bench.at(directory))?;
    }
    for name in ["report.docx", "x.db", "paper.pdf", "free", ".git/hooks/pre-commit.sample", "plain/present"]
    {
        bench.there(name, TEXT)?;
    }
    for (text, path) in [
        ("report.docx", "notes.txt"),
        ("x.db", "data.txt"),
        ("real.db", "real.txt"),
        ("paper.pdf", "paper.txt"),
        (".git/hooks", "docs"),
        ("new.docx", "dangling.txt"),
        ("../..", "up"),
        ("free", "free.txt"),
        ("plain", "there"),
    ] {
        bench.world.symlink(text.as_bytes(), &bench.at(path))?;
    }
    bench.sources()?;
    // On the controller the same names are harmless files.
    for name in
        ["notes.txt", "data.txt", "real.txt", "paper.txt", "docs/pre-commit", "docs/pre-commit.sample"]
    {
        bench.here(name, TEXT)?;
    }
    for (path, codes) in ROWS {
        for (call, code) in calls(path).into_iter().zip(codes) {
            let what = format!("{} through {path}", call.0);
            let _ = (bench.traffic.take(), bench.ops.inner().take());
            bench.refused_as(code, &format!("through {path}"), call.clone()).await?;
            // The request that would act, or that a change is made from, is the one that tells where it leads: nobody
            // asks first. Where it may lead there, a write is sent once more, demands absence, and then the content is
            // looked at for the remedy.
            let counted = bench.traffic.take();
            let is_written = call.0 == "a write";
            let expected = match (is_written, *code) {
                (true, "binary-exists" | "pdf-exists") => (3, 2, 1),
                (true, _) => (1, 1, 0),
                (false, _) => (1, 0, 1),
            };
            let sent = (counted.trips, counted.requests.commit, counted.requests.read);
            same(&format!("{what}: round trips, commits and reads"), &sent, &expected)?;
        }
    }
    database.is_whole(&bench.world.read(&bench.at("real.db"))?)?;
    // Control: through links to what has no such name, the same calls are done.
    for (nth, path) in [
        (0, "there/0"),
        (1, "there/1"),
        (2, "there/2"),
        (3, "there/present"),
        (3, "free.txt"),
        (4, "free.txt"),
    ] {
        bench.sources()?;
        let (what, tool, arguments) = calls(path).remove(nth);
        if nth == 4 {
            bench.world.unlink(&bench.at("free"))?;
            bench.there("free", TEXT)?;
        }
        bench.done(&format!("{what} through {path}"), tool, arguments).await?;
    }
    for name in ["plain/0", "plain/1", "plain/2"] {
        bench.holds(name, b"ours\n")?;
    }
    same("the link", &bench.world.readlink(&bench.at("free.txt"))?, &b"free".to_vec())?;
    bench.holds("free", b"ours\n")
}

/// The calls that put text under a path, and those that change [`TEXT`] there.
fn calls(path: &str) -> Vec<Call> {
    let creations = Bench::creations(path).into_iter().take(3);
    let edit = json!({ "path": path, "old": "PK a document", "new": "ours" });
    let update = patch(&format!("*** Update File: {path}\n@@\n-PK a document\n+ours\n"));
    creations.chain([("an edit", "edit_file", edit), ("Update", "apply_patch", update)]).collect()
}
