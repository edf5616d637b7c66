//! The first accident: "is it there?" is asked in one place, and the write lands in another.

use std::fs;
use std::sync::Arc;

use guard_backends::local::Local;
use guard_core::WriteFile;
use guard_core::policy::Code;
use guard_testkit::sqlite::{self, Journal};
use guard_testkit::wrap::{Barrier, Method};

use crate::Played;
use crate::report::{self, Report};
use crate::scenery::{Scenery, integrity, is_there};

const TEXT: &str = "CREATE TABLE users (id INTEGER);\n";

fn write(path: &str) -> WriteFile {
    WriteFile { path: path.to_owned(), content: TEXT.to_owned(), ..WriteFile::default() }
}

pub(crate) async fn play(scenery: &Scenery, report: &mut Report) -> Played {
    report::scene("1. Wrong namespace: the question is asked in one place, and the write lands in another");
    if !is_there(&scenery.controller("app.sqlite"))? {
        fs::write(scenery.copy("app.sqlite"), TEXT)?;
    }
    let said = integrity(&scenery.copy("app.sqlite"));
    report.unguarded(
        "asks its own machine for app.sqlite, finds none, and creates it on the target",
        said != "ok",
        &format!("the database that was there ({said})"),
    );

    let actor = scenery.actor("agent").await?;
    let before = fs::read(scenery.target("app.sqlite"))?;
    report.refused("write_file app.sqlite", &actor.write_file(write("app.sqlite")).await, Code::BinaryExists);
    report.judge("app.sqlite is byte-identical", fs::read(scenery.target("app.sqlite"))? == before);
    let journal = actor.write_file(write("app.sqlite-wal")).await;
    report.refused("write_file app.sqlite-wal", &journal, Code::SqliteSidecar);
    report.refused("write_file guide.pdf", &actor.write_file(write("guide.pdf")).await, Code::PdfExists);
    report.refused("write_file notes.md", &actor.write_file(write("notes.md")).await, Code::NotRead);

    // Absence that held when the call was decided, and did not when it was carried out.
    let barrier = Barrier::new(Local::builder().build()?);
    let appearing = scenery.target("orders.sqlite");
    barrier.once(Method::Commit, move || {
        // Whether it is there is judged below.
        let _ = sqlite::create_database(&appearing, Journal::Rollback);
    });
    let actor = scenery.actor_on(Arc::new(barrier), "agent").await?;
    report::meanwhile("a program creates orders.sqlite, after the guard decided and before it wrote");
    let raced = actor.write_file(write("orders.sqlite")).await;
    report.refused("write_file orders.sqlite", &raced, Code::BinaryExists);
    let said = integrity(&scenery.target("orders.sqlite"));
    report.judge(&format!("PRAGMA integrity_check of orders.sqlite: {said}"), said == "ok");
    report.done("write_file schema.sql", &actor.write_file(write("schema.sql")).await);
    report.judge(
        "where nothing was, the file is what was given",
        fs::read(scenery.target("schema.sql"))? == TEXT.as_bytes(),
    );
    Ok(())
}
