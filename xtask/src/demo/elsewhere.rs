//! The first two accidents where the files really are somewhere else.

use std::fs;
use std::sync::Arc;

use guard_core::policy::{Access, Code, Policy};
use guard_core::{Actor, FileKind, Guard, ListDir, ReadFile, WriteFile};
use guard_testkit::sqlite::{self, Journal};
use guard_testkit::wrap::{Barrier, Method};

use crate::Played;
use crate::place::{Place, Way};
use crate::report::{self, Report};
use crate::scenery::{Scenery, integrity, is_there};

const TEXT: &str = "CREATE TABLE users (id INTEGER);\n";
const NOTES: &str = "Deploy on Friday.\n";
const COLLEAGUE: &str = "Not before the backup!\n";

/// The scene in one place.
struct Scene<'a> {
    place: &'a Place,
    way: Arc<Way>,
    /// A directory to look at databases in.
    desk: std::path::PathBuf,
    database: Vec<u8>,
}

pub(crate) async fn play(scenery: &Scenery, place: &Place, report: &mut Report) -> Played {
    report::scene(&format!("The same {}: its files are nowhere else", place.name));
    report.on(place.name, &place.root);
    let desk = scenery.controller("desk");
    fs::create_dir_all(&desk)?;
    let made = desk.join("made.sqlite");
    if !is_there(&made)? {
        sqlite::create_database(&made, Journal::Rollback)?;
    }
    let scene = Scene { place, way: place.way(), desk, database: fs::read(made)? };
    for name in ["app.sqlite", "first.sqlite", "second.sqlite"] {
        scene.way.put(name, &scene.database)?;
    }
    scene.way.put("notes.md", NOTES.as_bytes())?;
    scene.unguarded(report)?;

    let (shell, ssh) = place.open().await?;
    let barrier = Arc::new(Barrier::new(shell));
    let guard = Guard::builder(Arc::<Barrier<_>>::clone(&barrier) as Arc<dyn guard_core::port::FileOps>)
        .policy(Policy::default())
        .root(place.root.clone(), Access::ReadWrite);
    let guard = guard.open().await?;
    let agent = guard.actor("agent");
    scene.database_survives(&agent, report).await?;
    scene.race(&agent, &barrier, report).await?;
    scene.views(&agent, report).await?;

    let left: Vec<_> = scene.way.names()?.into_iter().filter(|name| name.starts_with(".guard-")).collect();
    report.judge("no temporary file is left there", left.is_empty());
    let mut here = fs::read_dir(&place.here)?.map(|entry| entry.map(|entry| entry.file_name()));
    let is_same = here.all(|name| name.is_ok_and(|name| name == "app.sqlite" || name == "second.sqlite"));
    let text = fs::read_to_string(place.here.join("app.sqlite"))?;
    report.judge("on the agent's own machine nothing was made or changed", is_same && text == TEXT);
    drop((agent, guard, barrier));
    if let Some(ssh) = ssh {
        ssh.close().await;
    }
    Ok(())
}

impl Scene<'_> {
    fn typed(&self, name: &str) -> String {
        format!("{}{name}", self.place.typed)
    }

    fn write(&self, name: &str, content: &str) -> WriteFile {
        WriteFile { path: self.typed(name), content: content.to_owned(), ..WriteFile::default() }
    }

    fn read(&self, name: &str) -> ReadFile {
        ReadFile { path: self.typed(name), ..ReadFile::default() }
    }

    /// Returns what SQLite says of a database there.
    fn integrity(&self, name: &str) -> std::io::Result<String> {
        let copy = self.desk.join("looked-at.sqlite");
        fs::write(&copy, self.way.get(name)?)?;
        Ok(integrity(&copy))
    }

    /// What is done in the field: the question goes to this machine, and the bytes through an exec.
    fn unguarded(&self, report: &mut Report) -> Played {
        let here = |name: &str| self.place.here.join(name);
        if !is_there(&here("first.sqlite"))? {
            self.way.exec_cat("first.sqlite", TEXT.as_bytes())?;
        }
        let said = self.integrity("first.sqlite")?;
        let what = format!(
            "asks its own machine for {}, finds none, and writes it there",
            self.typed("first.sqlite")
        );
        report.unguarded(&what, said != "ok", &format!("a database that only the target had ({said})"));

        for name in ["app.sqlite", "second.sqlite"] {
            fs::write(here(name), TEXT)?;
        }
        if fs::read(here("second.sqlite"))?.is_ascii() {
            self.way.exec_cat("second.sqlite", TEXT.as_bytes())?;
        }
        let said = self.integrity("second.sqlite")?;
        let what = format!(
            "finds text at {} on its own machine, and so overwrites it there",
            self.typed("second.sqlite")
        );
        report.unguarded(&what, said != "ok", &format!("a database of the same path ({said})"));
        Ok(())
    }

    async fn database_survives(&self, agent: &Actor, report: &mut Report) -> Played {
        let name = self.typed("app.sqlite");
        // On the agent's own machine there is text at this path, which says nothing about the target.
        let written = agent.write_file(self.write("app.sqlite", TEXT)).await;
        report.refused(&format!("write_file {name}"), &written, Code::BinaryExists);
        let read = agent.read_file(self.read("app.sqlite")).await?;
        let is_theirs = read.kind == FileKind::Binary && read.bytes.is_empty();
        report.judge("what is read is the target's database, not the text that is here", is_theirs);
        let said = self.integrity("app.sqlite")?;
        report.judge(&format!("PRAGMA integrity_check there: {said}"), said == "ok");
        report.judge("app.sqlite is byte-identical", self.way.get("app.sqlite")? == self.database);
        // A new file is made there, and only there.
        let created = agent.write_file(self.write("schema.sql", TEXT)).await;
        report.done(&format!("write_file {}", self.typed("schema.sql")), &created);
        report.judge("it is what was given", self.way.get("schema.sql")? == TEXT.as_bytes());
        Ok(())
    }

    /// Absence that held when the call was decided, and did not when it was carried out.
    async fn race(
        &self,
        agent: &Actor,
        barrier: &Barrier<guard_backends::shell::Shell>,
        report: &mut Report,
    ) -> Played {
        let (way, bytes) = (Arc::clone(&self.way), self.database.clone());
        barrier.once(Method::Commit, move || {
            // Whether it is there is judged below.
            let _ = way.put("orders.sqlite", &bytes);
        });
        report::meanwhile(
            "a program there creates orders.sqlite, after the guard decided and before it wrote",
        );
        let raced = agent.write_file(self.write("orders.sqlite", TEXT)).await;
        report.refused(&format!("write_file {}", self.typed("orders.sqlite")), &raced, Code::BinaryExists);
        let said = self.integrity("orders.sqlite")?;
        report.judge(&format!("PRAGMA integrity_check of orders.sqlite: {said}"), said == "ok");
        Ok(())
    }

    /// What was seen holds for as long as the bytes do, and no longer.
    async fn views(&self, agent: &Actor, report: &mut Report) -> Played {
        let call = |tools: &str| format!("{tools} {}", self.typed("notes.md"));
        agent.read_file(self.read("notes.md")).await?;
        self.way.put("notes.md", format!("{NOTES}{COLLEAGUE}").as_bytes())?;
        report::meanwhile("a colleague adds a line to notes.md there, which was read before");
        let plan = format!("{NOTES}Tell everybody.\n");
        let stale = agent.write_file(self.write("notes.md", &plan)).await;
        report.refused(&call("write_file"), &stale, Code::Stale);
        agent.read_file(self.read("notes.md")).await?;
        report::meanwhile(&format!("{}, after notes.md was read once more", self.way.interrupt()?));
        // A question is asked again where the session was lost meanwhile; a commit is never sent twice.
        agent.list_dir(ListDir { path: None, ..ListDir::default() }).await?;
        let merged = format!("{NOTES}{COLLEAGUE}Tell everybody.\n");
        let written = agent.write_file(self.write("notes.md", &merged)).await;
        report.done(&call("list_dir, write_file"), &written);
        report.judge("what was seen still counts, and both lines are there", {
            self.way.get("notes.md")? == merged.as_bytes()
        });
        Ok(())
    }
}
