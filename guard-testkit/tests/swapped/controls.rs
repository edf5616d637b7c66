//! The negative controls: whoever checks a path and then uses it works outside.

use std::path::Path;
use std::process::Command;

use guard_testkit::tree::digest_of_tree;

use crate::scene::{OUTSIDE, lay_out};
use crate::swapper::{Swap, Swapper, this};

/// Uses `d` if it is a directory, as a tool does that checks first.
fn checked(ws: &Path, act: impl Fn(&Path) -> bool) -> bool {
    let directory = ws.join("d");
    directory.symlink_metadata().is_ok_and(|found| found.is_dir()) && act(&directory)
}

/// Does it until the canary shows it, against each way to swap the directory.
fn leads_outside(what: &str, act: impl Fn(&Path, u32) -> bool) {
    for swap in [Swap::Parent, Swap::Slowly] {
        let dir = tempfile::tempdir().unwrap();
        let ws = dir.path().join("ws");
        std::fs::create_dir(&ws).unwrap();
        lay_out(&ws);
        let swapper = Swapper::start(this(), swap, dir.path());
        let before = digest_of_tree(&dir.path().join(OUTSIDE)).unwrap();
        let is_touched = |round: u32| {
            // What was read outside, or what is outside by now.
            checked(&ws, |directory| act(directory, round))
                || digest_of_tree(&dir.path().join(OUTSIDE)).unwrap() != before
        };
        assert!((0..200_000).any(is_touched), "{what}, {swap:?}: it met the same directory every time");
        swapper.stop();
    }
}

#[test]
fn control_who_checks_and_then_reads_reads_outside() {
    leads_outside("reading", |directory, _| {
        std::fs::read_to_string(directory.join("f")).is_ok_and(|text| text.contains(OUTSIDE))
    });
}

#[test]
fn control_who_checks_and_then_writes_destroys_what_is_outside() {
    leads_outside("writing", |directory, _| {
        let _ = std::fs::write(directory.join("f"), "mine\n");
        false
    });
}

#[test]
fn control_who_checks_and_then_makes_directories_makes_them_outside() {
    leads_outside("making", |directory, round| {
        let _ = std::fs::create_dir_all(directory.join(format!("x/{round}")));
        false
    });
}

#[test]
fn control_who_checks_and_then_moves_takes_what_is_outside() {
    leads_outside("moving", |directory, round| {
        let _ =
            std::fs::rename(directory.join("inner.txt"), directory.with_file_name(format!("out-{round}")));
        false
    });
}

#[test]
fn control_a_shell_that_checks_and_then_reads_reads_outside() {
    let dir = tempfile::tempdir().unwrap();
    let ws = dir.path().join("ws");
    std::fs::create_dir(&ws).unwrap();
    lay_out(&ws);
    let swapper = Swapper::start(this(), Swap::Parent, dir.path());
    let line = "i=0; while [ $i -lt 20000 ]; do [ ! -L d ] && cat d/f 2>/dev/null; i=$((i + 1)); done";
    let shell = Command::new("sh").args(["-c", line]).current_dir(&ws).output().unwrap();
    swapper.stop();
    assert!(String::from_utf8_lossy(&shell.stdout).contains(OUTSIDE), "it met the same directory every time");
}
