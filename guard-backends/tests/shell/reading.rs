//! What is read: rules 4, 5 and 7, each with a test that fails when the rule is broken.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use guard_backends::shell::Process;
use guard_core::policy::{Digest, FileState, OtherKind, Precondition, TargetPath};
use guard_core::port::{
    Ask, Body, CommitFailure, Depth, FileOps as _, Last, OpError, Part, RootSpec, Sink, Want,
};
use guard_testkit::skip::{self, Need};
use guard_testkit::transport::{Call, Deed, Wrappers};

use crate::common::mismatch;
use crate::ws::{Ws, is, sh};

fn wrapped(wrappers: &Wrappers) -> Process {
    sh().env("PATH", wrappers.path())
}

/// Rule 4, from the target: the length of a file cannot be promised while it grows.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changes_while_it_is_read_is_read_again_or_torn() {
    let wrappers = Wrappers::new().unwrap();
    for tool in ["cat", "head", "dd", "sha256sum"] {
        wrappers.wrap(tool).unwrap();
    }
    let ws = Ws::over(wrapped(&wrappers)).await;
    ws.write("file", "one\n");
    let want = || Want { ask: ws.ask("file"), part: Part::Whole { max: 1 << 20 } };
    // It grows right before its digest is taken, once: the second reading is of what is there now.
    let grow = format!("echo more >> '{}'", ws.path("file").display());
    wrappers.plan(Call::of("sha256sum"), Deed::Run(grow.clone())).unwrap();
    let contents = ws.shell.read(&[want()]).await.unwrap().remove(0).unwrap();
    assert_eq!(contents.body, Body::Bytes { offset: 0, bytes: b"one\nmore\n".to_vec() });
    assert_eq!(contents.found.state.digest(), Some(Digest::of(b"one\nmore\n")));
    // It never stops growing: no version of it can be told.
    wrappers.plan(Call::of("sha256sum").every(), Deed::Run(grow)).unwrap();
    assert_eq!(ws.shell.read(&[want()]).await.unwrap().remove(0), Err(OpError::Torn));
    let window = Want { ask: ws.ask("file"), part: Part::Bytes { offset: 1, len: 2 } };
    assert_eq!(ws.shell.read(&[window]).await.unwrap().remove(0), Err(OpError::Torn));
}

/// Rule 4, from the target: a change that leaves the length as it is shows in the digest of what arrived, and in
/// nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changes_to_as_many_other_bytes_while_it_is_read_is_read_again_or_torn() {
    let wrappers = Wrappers::new().unwrap();
    wrappers.wrap("sha256sum").unwrap();
    let ws = Ws::over(wrapped(&wrappers)).await;
    let file = ws.path("file");
    let file = file.display();
    let want = |part| [Want { ask: ws.ask("file"), part }];
    let whole = || want(Part::Whole { max: 1 << 20 });
    // Between the bytes and the digest.
    ws.write("file", "one\n");
    let once = format!("printf 'two\\n' > '{file}'");
    wrappers.plan(Call::of("sha256sum"), Deed::Run(once.clone())).unwrap();
    let contents = ws.shell.read(&whole()).await.unwrap().remove(0).unwrap();
    assert_eq!(contents.body, Body::Bytes { offset: 0, bytes: b"two\n".to_vec() });
    assert_eq!(contents.found.state.digest(), Some(Digest::of(b"two\n")));
    // A stream is not begun again: its bytes were delivered.
    let mut taken = Taken::default();
    ws.write("file", "one\n");
    wrappers.plan(Call::of("sha256sum"), Deed::Run(once)).unwrap();
    assert_eq!(ws.shell.stream(&ws.ask("file"), &mut taken).await, Err(OpError::Torn));
    assert_eq!((&taken.0[..], &ws.read("file")[..]), (&b"one\n"[..], &b"two\n"[..]));
    // It never stops: another content at every digest. A window has a digest before its bytes and one after them.
    let every = format!(
        "if grep -q one '{file}'; then printf 'two\\n'; else printf 'one\\n'; fi > '{file}.new'; cat '{file}.new' > '{file}'"
    );
    wrappers.plan(Call::of("sha256sum").every(), Deed::Run(every)).unwrap();
    assert_eq!(ws.shell.read(&whole()).await.unwrap().remove(0), Err(OpError::Torn));
    let window = want(Part::Bytes { offset: 1, len: 2 });
    assert_eq!(ws.shell.read(&window).await.unwrap().remove(0), Err(OpError::Torn));
    assert_eq!(ws.shell.stream(&ws.ask("file"), &mut taken).await, Err(OpError::Torn));
    assert_eq!(ws.read("file").len(), 4);
}

#[derive(Default)]
struct Taken(Vec<u8>);

#[async_trait::async_trait]
impl Sink for Taken {
    async fn take(&mut self, bytes: &[u8]) -> Result<(), OpError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// What an answer comes to, without the words for people.
fn outcome(answer: Result<FileState, OpError>) -> &'static str {
    match answer {
        Ok(FileState::Absent) => "absent",
        Ok(FileState::Regular { .. }) => "regular",
        Err(OpError::Unavailable { .. }) => "unavailable",
        Err(OpError::Io { errno, .. }) if errno.contains("Input/output error") => "input/output error",
        Err(OpError::Io { .. }) => "another error of the system",
        other => panic!("{other:?}"),
    }
}

/// Rule 5: absence is proven by ENOENT, and by nothing else. What it is instead is told exactly.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_tool_says_in_words_that_nobody_knows_is_no_absence() {
    let (io, other) = ("input/output error", "another error of the system");
    for (words, status, expected) in [
        ("stat: cannot stat './x': Something unheard of", 1, "unavailable"),
        ("", 1, "unavailable"),
        ("Killed", 137, "unavailable"),
        ("sh: stat: No such file or directory", 127, "unavailable"),
        ("stat: cannot stat './x': Input/output error", 1, io),
        ("stat: cannot stat './x': I/O error", 1, other),
        ("stat: cannot stat './x': Stale file handle", 1, other),
    ] {
        let wrappers = Wrappers::new().unwrap();
        for tool in ["stat", "ls"] {
            wrappers.wrap(tool).unwrap();
        }
        let ws = Ws::over(wrapped(&wrappers)).await;
        ws.write("there", "bytes");
        ws.mkdir("d");
        for tool in ["stat", "ls"] {
            wrappers.plan(Call::of(tool).every(), Deed::fail(words, status)).unwrap();
        }
        for path in ["none", "there", "none/below", "d/none", "d/none/below"] {
            let found = outcome(ws.stat(path).await.map(|found| found.state));
            assert_eq!(found, expected, "{words:?} {path}");
            let contents = outcome(ws.contents(path).await.map(|contents| contents.found.state));
            assert_eq!(contents, expected, "{words:?} {path}");
        }
        // The shell itself sees that something is there.
        let error = ws.commit(ws.put("there", Precondition::Absent, "new")).await.unwrap_err();
        assert_eq!(mismatch(&error), FileState::Other { what: OtherKind::Unknown }, "{words:?}");
        let error = ws.commit(ws.put("there", is("bytes"), "new")).await.unwrap_err();
        let CommitFailure::Op(cause) = error.cause else { panic!("{words:?}: {:?}", error.cause) };
        assert_eq!(outcome(Err(cause)), expected, "{words:?}");
        assert_eq!((ws.read("there"), ws.tree().len()), (b"bytes".to_vec(), 2), "{words:?}");
    }
}

/// An error while bytes or their digest are read is told as what it is, and is neither absence nor an empty file.
#[tokio::test(flavor = "multi_thread")]
async fn an_error_while_a_file_is_read_is_an_outcome_of_its_own() {
    let wrappers = Wrappers::new().unwrap();
    let tools = ["head", "cat", "dd", "sha256sum"];
    for tool in tools {
        wrappers.wrap(tool).unwrap();
    }
    let ws = Ws::over(wrapped(&wrappers)).await;
    ws.write("there", "bytes");
    for tool in tools {
        let words = format!("{tool}: error reading: Input/output error");
        wrappers.plan(Call::of(tool).every(), Deed::fail(words, 1)).unwrap();
    }
    let io = "input/output error";
    assert_eq!(outcome(ws.stat("there").await.map(|found| found.state)), io);
    assert_eq!(outcome(ws.contents("there").await.map(|contents| contents.found.state)), io);
    let window = Want { ask: ws.ask("there"), part: Part::Bytes { offset: 1, len: 2 } };
    let contents = ws.shell.read(&[window]).await.unwrap().remove(0);
    assert_eq!(outcome(contents.map(|contents| contents.found.state)), io);
    let mut taken = Taken::default();
    let streamed = ws.shell.stream(&ws.ask("there"), &mut taken).await;
    assert_eq!((outcome(streamed.map(|found| found.state)), &taken.0[..]), (io, &b""[..]));
    // Nor is it read as other content than was expected.
    let error = ws.commit(ws.remove("there", is("bytes"))).await.unwrap_err();
    let CommitFailure::Op(cause) = error.cause else { panic!("{:?}", error.cause) };
    assert_eq!((outcome(Err(cause)), ws.read("there")), (io, b"bytes".to_vec()));
}

/// The kernel's own: the memory of a process is a regular file that nothing is mapped at the start of.
#[tokio::test(flavor = "multi_thread")]
async fn a_real_input_output_error_is_told() {
    if skip::unless(Need::Root, "reading::a_real_input_output_error_is_told") {
        return;
    }
    let ws = Ws::new().await;
    let spec = RootSpec { path: TargetPath::new(format!("/proc/{}", std::process::id())).unwrap() };
    let root = ws.shell.open_root(&spec).await.unwrap().id;
    let ask = || Ask { root, ..ws.ask("mem") };
    let found = ws.shell.stat(&[ask()]).await.unwrap().remove(0);
    assert_eq!(outcome(found.map(|found| found.state)), "input/output error");
    let want = Want { ask: ask(), part: Part::Whole { max: 1 << 20 } };
    let contents = ws.shell.read(&[want]).await.unwrap().remove(0);
    assert_eq!(outcome(contents.map(|contents| contents.found.state)), "input/output error");
    let streamed = ws.shell.stream(&ask(), &mut Taken::default()).await;
    assert_eq!(outcome(streamed.map(|found| found.state)), "input/output error");
    // What is there without its bytes is known.
    let shallow = Ask { depth: Depth::State, ..ask() };
    assert!(ws.shell.stat(&[shallow]).await.unwrap().remove(0).unwrap().state.is_regular());
}

/// A regular file of which nothing sensible is said is there all the same, and nothing is created over it.
#[tokio::test(flavor = "multi_thread")]
async fn a_size_that_cannot_be_parsed_on_a_regular_file_counts_as_existing() {
    for words in [
        "8180 644 1e6 1 1:1 0 0",
        "8180 644 -1 1 1:1 0 0",
        "8180 644 99999999999999999999 1 1:1 0 0",
        "nonsense",
        "",
    ] {
        let wrappers = Wrappers::new().unwrap();
        wrappers.wrap("stat").unwrap();
        let ws = Ws::over(wrapped(&wrappers)).await;
        ws.write("there", "bytes");
        ws.mkdir("d");
        // Of the name and of the descriptor; that of a directory is as usual.
        let call = Call::of("stat").every().with("* ./there*");
        wrappers.plan(call, Deed::fail(words, 0)).unwrap();
        let of_what_is_open = Call::of("stat").every().with("* - /proc/self/fd/0");
        wrappers.plan(of_what_is_open, Deed::fail(words, 0)).unwrap();
        wrappers.plan(Call::of("stat").every().with("* ./d"), Deed::fail(words, 0)).unwrap();
        for depth in [Depth::State, Depth::Digest { max: 100 }] {
            let ask = Ask { depth, ..ws.ask("there") };
            let found = ws.shell.stat(&[ask]).await.unwrap().remove(0).unwrap();
            let FileState::Regular { digest, .. } = found.state else { panic!("{words:?}: {found:?}") };
            // It is too large for everything.
            assert_eq!(digest, None, "{words:?}");
        }
        let error = ws.commit(ws.put("there", Precondition::Absent, "new")).await.unwrap_err();
        assert!(mismatch(&error).is_regular(), "{words:?}: {error:?}");
        assert_eq!((ws.read("there"), ws.temps()), (b"bytes".to_vec(), Vec::<String>::new()), "{words:?}");
        // What is no regular file is not known by that.
        let ask = Ask { depth: Depth::State, last: Last::Itself, ..ws.ask("d") };
        let found = ws.shell.stat(&[ask]).await.unwrap().remove(0);
        assert_eq!(outcome(found.map(|found| found.state)), "unavailable", "{words:?}");
    }
}

/// Rule 7: what was opened is verified, in one look.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_exchanged_for_a_link_never_delivers_what_is_outside() {
    let ws = Arc::new(Ws::new().await);
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "outside").unwrap();
    ws.write("name", "inside");
    symlink(outside.path().join("secret"), ws.path("other")).unwrap();
    let (stop, swaps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let swapper = std::thread::spawn({
        let (stop, swaps, ws) = (Arc::clone(&stop), Arc::clone(&swaps), Arc::clone(&ws));
        move || {
            let (name, other) = (ws.path("name"), ws.path("other"));
            while !stop.load(Ordering::Relaxed) {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(rustix::fs::CWD, &name, rustix::fs::CWD, &other, flags).unwrap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let (mut delivered, mut refused, mut reads) = (0, 0, 0);
    // Swaps are of no use where the reads did not happen among them.
    while reads < 150 || ((delivered < 5 || refused < 5) && reads < 3000) {
        let before = swaps.load(Ordering::Relaxed);
        reads += 1;
        match ws.contents("name").await {
            Ok(contents) => match contents.body {
                Body::Bytes { bytes, .. } => {
                    assert_eq!(bytes, b"inside");
                    assert_eq!(contents.found.state.digest(), Some(Digest::of(b"inside")));
                    delivered += u64::from(swaps.load(Ordering::Relaxed) > before);
                }
                other => assert_eq!(other, Body::NotRegular),
            },
            Err(
                OpError::OutsideRoot | OpError::UnstablePath | OpError::Torn | OpError::NotDirectory { .. },
            ) => refused += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    let swaps = swaps.load(Ordering::Relaxed);
    println!(
        "{delivered} of {reads} reads delivered the inside file, {refused} were refused, in {swaps} swaps"
    );
    assert!(delivered >= 5, "{delivered} of {reads} reads delivered anything while names were swapped");
    assert!(refused >= 5, "{refused} of {reads} reads met the link");
    assert!(swaps > reads, "{swaps} swaps in {reads} reads");
}
