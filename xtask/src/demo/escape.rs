//! The third accident: a path that was checked as a text leads elsewhere when it is opened.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use guard_backends::local::Local;
use guard_core::policy::Code;
use guard_core::{ReadFile, WriteFile};
use guard_testkit::wrap::{Barrier, Method};

use crate::Played;
use crate::report::{self, Report};
use crate::scenery::{OUTSIDE, Scenery};

fn write(path: &str) -> WriteFile {
    WriteFile { path: path.to_owned(), content: "echo mine\n".to_owned(), ..WriteFile::default() }
}

pub(crate) async fn play(scenery: &Scenery, report: &mut Report) -> Played {
    report::scene("3. Escape: a path that was checked as a text leads elsewhere when it is opened");
    let copy = scenery.copy("docs/deploy.sh");
    if copy.starts_with(scenery.copy("")) {
        fs::write(&copy, "echo mine\n")?;
    }
    report.unguarded(
        "sees that workspace/docs/deploy.sh begins with workspace/, and writes it",
        fs::read_to_string(scenery.copy("../outside/deploy.sh"))? != OUTSIDE,
        "deploy.sh outside of the workspace, where the link docs leads",
    );

    let actor = scenery.actor("agent").await?;
    let through = actor.write_file(write("docs/deploy.sh")).await;
    report.refused("write_file docs/deploy.sh", &through, Code::OutsideRoot);
    let read = ReadFile { path: "docs/deploy.sh".to_owned(), ..ReadFile::default() };
    report.refused("read_file docs/deploy.sh", &actor.read_file(read).await, Code::OutsideRoot);
    let dots = actor.write_file(write("../outside/new.sh")).await;
    report.refused("write_file ../outside/new.sh", &dots, Code::OutsideRoot);
    let hook = actor.write_file(write(".git/hooks/pre-commit")).await;
    report.refused("write_file .git/hooks/…", &hook, Code::SensitivePath);

    // A directory that is one when the call is decided, and a link out when it is carried out.
    fs::create_dir(scenery.target("build"))?;
    let barrier = Barrier::new(Local::builder().build()?);
    let build = scenery.target("build");
    let outside = scenery.outside("");
    barrier.every(Method::Commit, move || {
        // Whether anything is outside is judged below.
        let _ = fs::remove_dir(&build).and_then(|()| symlink(&outside, &build));
    });
    let actor = scenery.actor_on(Arc::new(barrier), "agent").await?;
    report::meanwhile("build/ becomes a link out of the workspace, after the guard decided");
    report.refused(
        "write_file build/new.sh",
        &actor.write_file(write("build/new.sh")).await,
        Code::OutsideRoot,
    );
    report.judge("deploy.sh is byte-identical", fs::read_to_string(scenery.outside("deploy.sh"))? == OUTSIDE);
    Ok(())
}
