//! Links, which are judged by what they lead to.

use serde_json::json;

use super::bench::Bench;
use crate::conformance::{Broken, same};

pub(super) async fn aliases_are_judged_by_what_they_lead_to(bench: Bench) -> Result<(), Broken> {
    let database = Bench::database()?;
    bench.there("report.docx", b"PK\x03\x04 a document")?;
    bench.there("x.db", &database.0)?;
    bench.world.mkdir(&bench.at(".git"))?;
    bench.world.mkdir(&bench.at(".git/hooks"))?;
    bench.there(".git/hooks/pre-commit.sample", b"#!/bin/sh\n")?;
    bench.there("secret-elsewhere", b"x\n")?;
    for (text, path) in [
        ("report.docx", "notes.txt"),
        ("x.db", "data.txt"),
        (".git/hooks", "docs"),
        ("new.docx", "dangling.txt"),
        ("../..", "up"),
    ] {
        bench.world.symlink(text.as_bytes(), &bench.at(path))?;
    }
    // On the controller the same names are harmless files.
    for name in ["notes.txt", "data.txt", "docs/pre-commit"] {
        bench.here(name, b"mine\n")?;
    }
    for (path, codes) in [
        ("notes.txt", &["opaque-document"][..]),
        ("data.txt", &["binary-exists", "binary-content"]),
        ("docs/pre-commit", &["sensitive-path"]),
        ("docs/pre-commit.sample", &["sensitive-path"]),
        ("dangling.txt", &[]),
        ("up/x", &["outside-root"]),
    ] {
        for (what, tool, arguments) in [
            ("a write", "write_file", json!({ "path": path, "content": "ours\n" })),
            ("Add", "apply_patch", super::bench::patch(&format!("*** Add File: {path}\n+ours\n"))),
        ]
        .into_iter()
        .chain(Bench::changes(path, "mine"))
        {
            let what = format!("{what} through {path}");
            let code = bench.refused(&what, tool, arguments).await?;
            if tool == "write_file" && !codes.is_empty() && !codes.contains(&code.as_str()) {
                same(&what, &code.as_str(), &codes[0])?;
            }
        }
    }
    database.is_whole(&bench.world.read(&bench.at("x.db"))?)
}
