//! What is no accident goes through.

use std::fs;

use guard_core::{DeleteFile, EditFile, MakeDir, MoveFile, StatPaths, WriteFile};

use crate::Played;
use crate::report::{self, Report};
use crate::scenery::{Scenery, is_there};

pub(crate) async fn play(scenery: &Scenery, report: &mut Report) -> Played {
    report::scene("Ordinary work goes through");
    let actor = scenery.actor("agent").await?;
    let edit = EditFile {
        path: "dos.ini".to_owned(),
        old: Some("[net]\nport=80\n".to_owned()),
        new: Some("[net]\nhost=::1\nport=8080\n".to_owned()),
        ..EditFile::default()
    };
    report.done("edit_file dos.ini", &actor.edit_file(edit).await);
    let kept = fs::read_to_string(scenery.target("dos.ini"))? == "[net]\r\nhost=::1\r\nport=8080\r\n";
    report.judge("its CRLF line ends are kept", kept);
    let script = WriteFile {
        path: "bin/run.sh".to_owned(),
        content: "#!/bin/sh\n".to_owned(),
        executable: true,
        ..WriteFile::default()
    };
    report.done("write_file bin/run.sh", &actor.write_file(script).await);
    report.done("make_dir etc", &actor.make_dir(MakeDir { path: "etc".to_owned(), dry_run: false }).await);
    let moved = MoveFile { from: "dos.ini".to_owned(), to: "etc/net.ini".to_owned(), dry_run: false };
    report.done("move_file dos.ini etc/net.ini", &actor.move_file(moved).await);
    let look = StatPaths { path: Some("schema.sql".to_owned()), paths: Vec::new() };
    actor.stat(look).await?;
    let gone = DeleteFile { path: "schema.sql".to_owned(), dry_run: false };
    report.done("stat, delete_file schema.sql", &actor.delete_file(gone).await);
    report.judge("it is gone", !is_there(&scenery.target("schema.sql"))?);
    Ok(())
}
