//! What another process swaps between two steps of a commit: nothing outside is touched, and what is left is named.

use std::os::unix::fs::MetadataExt as _;

use guard_backends::shell::Feature;
use guard_core::policy::Precondition;
use guard_core::port::{
    Batch, Change, CommitFailure, Displaced, Effect, Fate, FileOps as _, OpError, Part, Want,
};
use guard_testkit::rerun::{self, Body};
use guard_testkit::skip::{self, Need};
use guard_testkit::transport::{Call, Deed};

use crate::common::{batch, chmod};
use crate::repairs::targets;
use crate::ws::{Ws, is};

/// A file outside, with everything that could be changed of it.
fn canary() -> (tempfile::TempDir, std::path::PathBuf) {
    let outside = tempfile::tempdir().unwrap();
    let file = outside.path().join("canary");
    std::fs::write(&file, "theirs").unwrap();
    chmod(&file, 0o600);
    (outside, file)
}

fn facts(file: &std::path::Path) -> (Vec<u8>, u32, u32, u32) {
    let meta = file.metadata().unwrap();
    (std::fs::read(file).unwrap(), meta.mode(), meta.uid(), meta.gid())
}

/// A directory that is made again gets its owner from within: its name can be a link by then.
#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_becomes_a_link_when_it_is_made_again_gives_no_rights_outside() {
    let test = "swapped::a_directory_that_becomes_a_link_when_it_is_made_again_gives_no_rights_outside";
    if skip::unless(Need::Root, test) {
        return;
    }
    for target in targets(test, &["link", "mkdir"]) {
        let ws = Ws::over(target.process()).await;
        let (_outside, file) = canary();
        let before = facts(&file);
        ws.mkdir("e");
        chmod(&ws.path("e"), 0o777);
        std::os::unix::fs::chown(ws.path("e"), Some(1000), Some(1000)).unwrap();
        let swap = format!("rmdir ./e; ln -s {} ./e", file.display());
        target.wrappers.plan(Call::of("mkdir").with("*./e").after(), Deed::Run(swap)).unwrap();
        let taken = Deed::Run("echo theirs > last".to_owned());
        target.wrappers.plan(Call::of("link").with("*./last"), taken).unwrap();
        let remove =
            Change { place: ws.place("e"), precondition: Precondition::Exists, effect: Effect::RemoveDir };
        let last = ws.put("last", Precondition::Absent, "ours");
        let error = ws.shell.commit(batch(vec![remove, last])).await.unwrap_err();
        assert_eq!(error.at, Some(1), "{}: {error:?}", target.name);
        assert!(ws.path("e").is_symlink(), "{}: it was not swapped", target.name);
        assert_eq!(facts(&file), before, "{}: {error:?}", target.name);
    }
}

/// Where a file is created under its own name, that can be a link before the file has its mode or its content.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_becomes_a_link_while_it_is_created_gives_no_mode_outside() {
    let test = "swapped::a_name_that_becomes_a_link_while_it_is_created_gives_no_mode_outside";
    for target in targets(test, &["chmod"]) {
        let ws = Ws::with(target.process(), |builder| builder.danger_without(Feature::HardLinks)).await;
        let (_outside, file) = canary();
        let before = facts(&file);
        let swap = format!("[ -f new ] && rm -f new && ln -s {} new", file.display());
        target.wrappers.plan(Call::of("chmod").every(), Deed::Run(swap)).unwrap();
        let outcome = ws.shell.commit(batch(vec![ws.put("new", Precondition::Absent, "ours")])).await;
        assert!(ws.path("new").is_symlink(), "{}: it was not swapped: {outcome:?}", target.name);
        assert!(outcome.is_err(), "{}", target.name);
        assert_eq!(facts(&file), before, "{}", target.name);
        assert_eq!(ws.temps(), Vec::<String>::new(), "{}", target.name);
    }
}

/// A file that may not be written is not opened to find out why: it can be a link by then, and what opens that for
/// writing makes what it leads to.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_may_not_be_written_and_becomes_a_link_makes_nothing_outside() {
    let test = "swapped::a_file_that_may_not_be_written_and_becomes_a_link_makes_nothing_outside";
    if rerun::unprivileged(test) == Body::Done {
        return;
    }
    for target in targets(test, &["sha256sum"]) {
        let ws = Ws::over(target.process()).await;
        let outside = tempfile::tempdir().unwrap();
        ws.write("f", "old");
        chmod(&ws.path("f"), 0o444);
        let swap = format!("rm -f f && ln -s {}/made f", outside.path().display());
        target.wrappers.plan(Call::of("sha256sum").every().after(), Deed::Run(swap)).unwrap();
        let error = ws.shell.commit(batch(vec![ws.put("f", is("old"), "ours")])).await.unwrap_err();
        assert!(ws.path("f").is_symlink(), "{}: it was not swapped: {error:?}", target.name);
        assert_eq!(outside.path().read_dir().unwrap().count(), 0, "{}: {error:?}", target.name);
        assert!(matches!(error.cause, CommitFailure::ReadOnlyFile { .. }), "{}: {error:?}", target.name);
    }
}

/// What was displaced goes out with the reply; where its directory is away by then, it is named.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_displaced_in_a_directory_that_is_moved_away_before_the_reply_is_named() {
    let test = "swapped::what_was_displaced_in_a_directory_that_is_moved_away_before_the_reply_is_named";
    for target in targets(test, &["sync"]) {
        for comes_another in [false, true] {
            let what = format!("{}, another comes: {comes_another}", target.name);
            let ws = Ws::over(target.process()).await;
            for directory in ["a", "b"] {
                ws.mkdir(directory);
                ws.write(&format!("{directory}/f"), "old");
            }
            let root = ws.path("");
            let root = root.display();
            let another = if comes_another { format!("; mkdir {root}/a") } else { String::new() };
            // The last tool before the reply writes both directories to the disk.
            let away = Deed::Run(format!("mv {root}/a {root}/away{another}"));
            target.wrappers.plan(Call::of("sync").with("*/a *").after(), away).unwrap();
            let changes = vec![ws.put("a/f", is("old"), "ours"), ws.put("b/f", is("old"), "ours")];
            let keep = Batch { displaced: Displaced::Return { max: 100 }, ..batch(changes) };
            let done = ws.shell.commit(keep).await.unwrap_or_else(|error| panic!("{what}: {error:?}"));
            assert!(ws.path("away").is_dir(), "{what}: it was not moved");
            let temps = ws.temps();
            assert_eq!(temps.len(), 1, "{what}: {temps:?}");
            let left = &done.changes[0].left;
            let name = temps[0].rsplit('/').next().unwrap();
            assert!(left.iter().any(|left| left.contains(name)), "{what}: {left:?}, not {name}");
        }
    }
}

/// A directory in whose place there is another one has what was published; it is not said to be taken back.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_published_in_a_directory_that_was_replaced_is_named_and_not_called_restored() {
    let test =
        "swapped::what_was_published_in_a_directory_that_was_replaced_is_named_and_not_called_restored";
    for target in targets(test, &["link"]) {
        let ws = Ws::over(target.process()).await;
        ws.mkdir("d");
        let root = ws.path("");
        let root = root.display();
        let replace = Deed::Run(format!("mv {root}/d {root}/away && mkdir {root}/d"));
        target.wrappers.plan(Call::of("link").with("*./beside").after(), replace).unwrap();
        let changes =
            vec![ws.put("d/x", Precondition::Absent, "ours"), ws.put("beside", Precondition::Absent, "ours")];
        let error = ws.shell.commit(batch(changes)).await.unwrap_err();
        assert_eq!(error.cause, CommitFailure::Op(OpError::UnstablePath), "{}", target.name);
        assert!(ws.path("away/x").exists(), "{}", target.name);
        assert!(!ws.path("beside").exists(), "{}", target.name);
        let told = format!("{:?}", error.fates);
        assert_ne!(error.fates[0], Fate::Restored, "{}: {told}", target.name);
        for temp in ws.temps() {
            assert!(told.contains(temp.rsplit('/').next().unwrap()), "{}: {temp}: {told}", target.name);
        }
        assert!(told.contains("/d/x"), "{}: {told}", target.name);
    }
}

/// What is opened by a directory that was found in the root is in the root when it is read.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_never_in_the_root_is_not_read_by_a_directory_that_was_moved_out() {
    let test = "swapped::what_was_never_in_the_root_is_not_read_by_a_directory_that_was_moved_out";
    for target in targets(test, &["pwd"]) {
        let ws = Ws::over(target.process()).await;
        ws.mkdir("d");
        ws.write("d/f", "inside");
        let outside = tempfile::tempdir().unwrap();
        let (root, away) = (ws.path(""), outside.path().join("d"));
        // Those shells that do not ask the kernel where they are ask this tool, and then open the file.
        let swap = format!(
            "[ \"${{PWD##*/}}\" = d ] && mv {}/d {1} && rm {1}/f && echo SECRET > {1}/f",
            root.display(),
            away.display()
        );
        target.wrappers.plan(Call::of("pwd").every().after(), Deed::Run(swap)).unwrap();
        let read = || async {
            let want = Want { ask: ws.ask("d/f"), part: Part::Whole { max: 100 } };
            format!("{:?}", ws.shell.read(&[want]).await.unwrap().remove(0))
        };
        let told = read().await;
        let (secret, inside) = (format!("{:?}", b"SECRET\n"), format!("{:?}", b"inside"));
        assert!(!told.contains(&secret), "{}: {told}", target.name);
        let asks_the_tool = matches!(target.name, "bash" | "bash-posix" | "mksh" | "zsh");
        assert_eq!(away.is_dir(), asks_the_tool, "{}: whether it was moved", target.name);
        assert_eq!(told.contains(&inside), !asks_the_tool, "{}: {told}", target.name);
    }
}

/// A name that is a link while attributes are taken from it gives those of nothing outside.
#[tokio::test(flavor = "multi_thread")]
async fn no_attribute_is_taken_through_a_name_that_becomes_a_link() {
    let test = "swapped::no_attribute_is_taken_through_a_name_that_becomes_a_link";
    if skip::unless(Need::Attributes, test) {
        return;
    }
    let name = "user.guard-test";
    let none = rustix::fs::XattrFlags::empty();
    for target in targets(test, &["cp"]) {
        let ws = Ws::over(target.process()).await;
        let (_outside, file) = canary();
        rustix::fs::setxattr(&file, name, b"theirs", none).unwrap();
        ws.write("f", "old");
        // So that nothing else tells that it was another file.
        chmod(&file, ws.path("f").metadata().unwrap().mode());
        let taken = || Call::of("cp").with("*--attributes-only* ./f *");
        let swap = format!("mv ./f ./g; ln -s {} ./f", file.display());
        target.wrappers.plan(taken(), Deed::Run(swap)).unwrap();
        target.wrappers.plan(taken().after(), Deed::Run("mv ./g ./f; : > ./was".to_owned())).unwrap();
        let outcome = ws.commit(ws.put("f", is("old"), "ours")).await;
        let given = rustix::fs::getxattr(ws.path("f"), name, &mut [0_u8; 16]);
        assert_eq!(given, Err(rustix::io::Errno::NODATA), "{}: {outcome:?}", target.name);
        // BusyBox has no tool that takes attributes.
        let takes_them = target.name != "busybox-tools";
        assert_eq!(ws.path("was").exists(), takes_them, "{}: whether it was swapped", target.name);
        match outcome.map_err(|error| error.cause) {
            Err(CommitFailure::MetadataLoss { .. }) => assert_eq!(ws.read("f"), b"old", "{}", target.name),
            other => assert!(!takes_them, "{}: {other:?}", target.name),
        }
        assert_eq!(ws.temps(), Vec::<String>::new(), "{}", target.name);
    }
}
