//! The second accident: what was seen is not what is replaced.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use guard_backends::local::Local;
use guard_core::policy::Code;
use guard_core::{EditFile, ReadFile, WriteFile};
use guard_testkit::wrap::{Barrier, Method};

use crate::Played;
use crate::report::{self, Report};
use crate::scenery::{NOTES, Scenery};

const COLLEAGUE: &str = "Not before the backup!\n";

fn read() -> ReadFile {
    ReadFile { path: "notes.md".to_owned(), ..ReadFile::default() }
}

fn write(content: String) -> WriteFile {
    WriteFile { path: "notes.md".to_owned(), content, ..WriteFile::default() }
}

/// Another process adds a line.
fn append(path: &Path, line: &str) -> io::Result<()> {
    OpenOptions::new().append(true).open(path)?.write_all(line.as_bytes())
}

pub(crate) async fn play(scenery: &Scenery, report: &mut Report) -> Played {
    report::scene("2. Lost update: what was read is not what is replaced");
    let plan = format!("{NOTES}Tell everybody.\n");
    let copy = scenery.copy("notes.md");
    let seen = fs::read_to_string(&copy)?;
    append(&copy, COLLEAGUE)?;
    fs::write(&copy, format!("{seen}Tell everybody.\n"))?;
    report.unguarded(
        "reads notes.md, a colleague adds a line, and it writes what it planned",
        !fs::read_to_string(&copy)?.contains(COLLEAGUE),
        "the colleague's line",
    );

    let notes = scenery.target("notes.md");
    let parent = scenery.actor("parent").await?;
    let child = parent.child("child");
    parent.read_file(read()).await?;
    append(&notes, COLLEAGUE)?;
    report::meanwhile("a colleague adds a line to notes.md, which was read before");
    report.refused("write_file notes.md", &parent.write_file(write(plan.clone())).await, Code::Stale);
    child.read_file(read()).await?;
    report::meanwhile("the agent's child reads notes.md: what it saw, the parent did not see");
    report.refused("write_file notes.md", &parent.write_file(write(plan)).await, Code::Stale);
    report.judge("the colleague's line is there", fs::read_to_string(&notes)?.contains(COLLEAGUE));
    parent.read_file(read()).await?;
    let merged = format!("{NOTES}{COLLEAGUE}Tell everybody.\n");
    report.done("read_file, write_file", &parent.write_file(write(merged.clone())).await);
    report.judge("both are there", fs::read_to_string(&notes)? == merged);

    // The same inside one call, between its reading and its writing.
    let barrier = Barrier::new(Local::builder().build()?);
    let path = notes.clone();
    barrier.once(Method::Commit, move || {
        // Whether it is there is judged below.
        let _ = append(&path, "And pin the versions.\n");
    });
    let actor = scenery.actor_on(Arc::new(barrier), "agent").await?;
    report::meanwhile("a colleague adds a line while an edit is between its reading and its writing");
    let edit = EditFile {
        path: "notes.md".to_owned(),
        old: Some("Friday".to_owned()),
        new: Some("Monday".to_owned()),
        ..EditFile::default()
    };
    report.done("edit_file notes.md", &actor.edit_file(edit).await);
    let both = merged.replace("Friday", "Monday") + "And pin the versions.\n";
    report.judge("the edit and the colleague's line are there", fs::read_to_string(&notes)? == both);
    Ok(())
}
