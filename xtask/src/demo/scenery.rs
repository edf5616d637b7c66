//! The files that the scenes are played on, and the guard that stands before them.

use std::error::Error;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guard_backends::local::Local;
use guard_core::policy::{Access, Policy, TargetPath};
use guard_core::port::FileOps;
use guard_core::{Actor, Guard};
use guard_testkit::sqlite::{self, Journal, ROWS};
use guard_testkit::tree::Snapshot;
use tempfile::TempDir;

use crate::Played;
use crate::report::{self, Report};

/// A small file that readers accept as PDF.
const PDF: &[u8] = b"%PDF-1.4\n1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj\n\
    2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1>> endobj\n\
    3 0 obj <</Type /Page /Parent 2 0 R /MediaBox [0 0 72 72] /Contents 4 0 R>> endobj\n\
    4 0 obj <</Length 4>> stream\n\x00\x9c\xff\n\nendstream endobj\n\
    trailer <</Root 1 0 R>>\n%%EOF\n";

/// What the notes say at first.
pub(crate) const NOTES: &str = "Deploy on Friday.\n";
/// What stands outside of the workspace.
pub(crate) const OUTSIDE: &str = "#!/bin/sh\necho production\n";

/// A directory with a workspace, a file outside of it, and a copy of both for the unguarded agent.
pub(crate) struct Scenery {
    dir: TempDir,
    /// Everything outside of the workspace, before the first scene.
    outside: Snapshot,
}

impl Scenery {
    pub(crate) fn build() -> Result<Self, Box<dyn Error>> {
        let dir = tempfile::Builder::new().prefix("guard-demo-").tempdir()?;
        // What the agent's own machine has: none of the target's files.
        fs::create_dir(dir.path().join("controller"))?;
        for side in ["target", "copy"] {
            let workspace = dir.path().join(side).join("workspace");
            let outside = dir.path().join(side).join("outside");
            fs::create_dir_all(&workspace)?;
            fs::create_dir(&outside)?;
            sqlite::create_database(&workspace.join("app.sqlite"), Journal::Rollback)?;
            fs::write(workspace.join("guide.pdf"), PDF)?;
            fs::write(workspace.join("notes.md"), NOTES)?;
            fs::write(workspace.join("dos.ini"), "[net]\r\nport=80\r\n")?;
            fs::write(outside.join("deploy.sh"), OUTSIDE)?;
            symlink("../outside", workspace.join("docs"))?;
        }
        let outside = Snapshot::of(&dir.path().join("target/outside"))?;
        Ok(Self { dir, outside })
    }

    pub(crate) fn describe(&self) {
        anstream::println!("The agent's workspace, on this machine: {}", self.workspace().display());
        anstream::println!("  app.sqlite  a SQLite database of {ROWS} rows   guide.pdf  a PDF");
        anstream::println!(
            "  notes.md, dos.ini  text                   docs       a link out of the workspace"
        );
    }

    /// Returns the guarded workspace.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.dir.path().join("target/workspace")
    }

    /// Returns a path in the guarded workspace.
    pub(crate) fn target(&self, name: &str) -> PathBuf {
        self.workspace().join(name)
    }

    /// Returns a path in the unguarded copy of the workspace.
    pub(crate) fn copy(&self, name: &str) -> PathBuf {
        self.dir.path().join("copy/workspace").join(name)
    }

    /// Returns a path on the agent's own machine.
    pub(crate) fn controller(&self, name: &str) -> PathBuf {
        self.dir.path().join("controller").join(name)
    }

    /// Returns a path outside of the guarded workspace.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.dir.path().join("target/outside").join(name)
    }

    /// Opens a guard of the workspace on this machine, with the rules that are the default.
    pub(crate) async fn actor(&self, name: &str) -> Result<Actor, Box<dyn Error>> {
        self.actor_on(Arc::new(Local::builder().build()?), name).await
    }

    /// Opens the same on a target of one's own.
    pub(crate) async fn actor_on(&self, ops: Arc<dyn FileOps>, name: &str) -> Result<Actor, Box<dyn Error>> {
        let workspace = self.workspace();
        let root = TargetPath::new(workspace.to_str().ok_or("the temporary directory is not UTF-8")?)?;
        let guard =
            Guard::builder(ops).policy(Policy::default()).root(root, Access::ReadWrite).open().await?;
        Ok(guard.actor(name))
    }

    /// Looks at what must have come through everything.
    pub(crate) fn inspect(&self, report: &mut Report) -> Played {
        report::scene("At the end");
        let database = self.target("app.sqlite");
        let said = integrity(&database);
        report.judge(&format!("PRAGMA integrity_check of app.sqlite: {said}"), said == "ok");
        let rows = sqlite::count_rows(&database)?;
        report.judge(&format!("it has {rows} rows"), rows == ROWS);
        report.judge("the PDF is byte-identical", fs::read(self.target("guide.pdf"))? == PDF);
        let outside = Snapshot::of(&self.dir.path().join("target/outside"))?;
        report.judge("outside of the workspace nothing changed", outside == self.outside);
        let left = temporaries(&self.workspace())?;
        report.judge("no temporary file is left", left.is_empty());
        Ok(())
    }
}

/// Returns what SQLite says of a database, or why it says nothing.
pub(crate) fn integrity(path: &Path) -> String {
    sqlite::integrity_check(path).unwrap_or_else(|error| error.to_string())
}

/// Tells whether a name is there at all.
pub(crate) fn is_there(path: &Path) -> io::Result<bool> {
    match path.symlink_metadata() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn temporaries(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(dir)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    let temporary =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".guard-"));
    Ok(entries.into_iter().filter(temporary).collect())
}
