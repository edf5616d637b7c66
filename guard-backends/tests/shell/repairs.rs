//! What goes wrong around a commit and is put right: taken back, settled, or told as it is.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt as _;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use async_trait::async_trait;
use guard_backends::shell::{Feature, Process};
use guard_core::policy::{Digest, Precondition};
use guard_core::port::{
    Change, CommitError, CommitFailure, Content, Effect, Fate, FileOps as _, Mode, OpError, Page, Parents,
    Session, Settled, Source, TargetId, Tier, Transport, TransportError,
};
use guard_testkit::rerun::{self, Body};
use guard_testkit::skip::{self, Need};
use guard_testkit::transport::{
    At, Call, Deed, Fault, Faults, Faulty, Sh, Tools, Way, Wrappers, busybox_tools,
};
use guard_testkit::wrap::Method;
use tokio::io::AsyncWrite;

use crate::common::{batch, chmod};
use crate::ws::{Ws, is, sh};

/// A target with a shell of its own, whose tools are wrapped.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) wrappers: Wrappers,
    _tools: Tools,
}

impl Target {
    fn new(name: &'static str, path: OsString, tools: Tools, wrapped: &[&str]) -> Self {
        let wrappers = Wrappers::over(path).unwrap();
        for tool in wrapped {
            // What this target does not have is not wrapped.
            let _ = wrappers.wrap(tool);
        }
        Self { name, wrappers, _tools: tools }
    }

    pub(crate) fn process(&self) -> Process {
        sh().env("PATH", self.wrappers.path())
    }
}

/// Every shell of this machine, and BusyBox with its own tools.
pub(crate) fn targets(test: &str, wrapped: &[&str]) -> Vec<Target> {
    let mut targets = Vec::new();
    for shell in Sh::ALL {
        if !skip::unless(shell.need(), &format!("{test}, {}", shell.name())) {
            let tools = shell.tools().unwrap();
            targets.push(Target::new(shell.name(), tools.path(), tools, wrapped));
        }
    }
    if !skip::unless(Need::BusyBox, test) {
        let tools = busybox_tools().unwrap();
        let path = tools.directory().as_os_str().to_owned();
        targets.push(Target::new("busybox-tools", path, tools, wrapped));
    }
    targets
}

pub(crate) fn with_mode(mut change: Change, mode: u32) -> Change {
    if let Effect::Put { mode: asked, .. } = &mut change.effect {
        *asked = Mode::Set(mode);
    }
    change
}

fn are_clean(error: &CommitError) -> bool {
    error.fates.iter().all(|fate| matches!(fate, Fate::Untouched | Fate::Restored))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_published_with_a_mode_that_nobody_may_read_is_taken_back() {
    let test = "repairs::what_was_published_with_a_mode_that_nobody_may_read_is_taken_back";
    if rerun::unprivileged(test) == Body::Done {
        return;
    }
    for target in targets(test, &["mv"]) {
        for without in [None, Some(Feature::Exchange)] {
            let what = format!("{} without {without:?}", target.name);
            let ws = Ws::with(target.process(), |builder| match without {
                Some(feature) => builder.danger_without(feature),
                None => builder,
            })
            .await;
            ws.write("replaced", "old");
            ws.write("removed", "old");
            chmod(&ws.path("replaced"), 0o644);
            let before = ws.tree();
            let full = Deed::fail("mv: cannot move './removed': No space left on device", 1);
            target.wrappers.plan(Call::of("mv").with("*./removed *"), full).unwrap();
            let changes = vec![
                with_mode(ws.put("new", Precondition::Absent, "ours"), 0o200),
                with_mode(ws.put("replaced", is("old"), "ours"), 0o200),
                ws.remove("removed", is("old")),
            ];
            let error = ws.shell.commit(batch(changes)).await.unwrap_err();
            assert_eq!(error.cause, CommitFailure::Op(OpError::NoSpace), "{what}");
            assert!(are_clean(&error), "{what}: {error:?}");
            assert_eq!(ws.tree(), before, "{what}");
        }
    }
}

/// What another process did to our file meanwhile stays, with the mode that it has.
#[tokio::test(flavor = "multi_thread")]
async fn another_writers_bytes_in_a_file_that_nobody_may_read_stay() {
    let test = "repairs::another_writers_bytes_in_a_file_that_nobody_may_read_stay";
    if rerun::unprivileged(test) == Body::Done {
        return;
    }
    for target in targets(test, &["mv"]) {
        let ws = Ws::over(target.process()).await;
        ws.write("removed", "old");
        let theirs = "echo theirs > new; rm removed; mkdir removed".to_owned();
        target.wrappers.plan(Call::of("mv").with("*./removed *"), Deed::Run(theirs)).unwrap();
        let changes = vec![
            with_mode(ws.put("new", Precondition::Absent, "ours"), 0o200),
            ws.remove("removed", is("old")),
        ];
        let error = ws.shell.commit(batch(changes)).await.unwrap_err();
        let Fate::Left { what } = &error.fates[0] else { panic!("{}: {error:?}", target.name) };
        assert!(what.contains("another writer's content"), "{}: {what}", target.name);
        let mode = std::fs::metadata(ws.path("new")).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, 0o200, "{}", target.name);
        chmod(&ws.path("new"), 0o600);
        assert_eq!(ws.read("new"), b"theirs\n", "{}", target.name);
        assert_eq!(ws.temps(), Vec::<String>::new(), "{}", target.name);
    }
}

/// A program that clears temporary files away removes one of ours in the middle of a batch that then fails.
#[tokio::test(flavor = "multi_thread")]
async fn a_temporary_name_that_a_cleaner_removed_is_made_up_for_or_told() {
    let test = "repairs::a_temporary_name_that_a_cleaner_removed_is_made_up_for_or_told";
    // What is cleared away, and the change that cannot be taken back without it.
    let cases = [
        ("[ $f -ef new ]", None, ":"),
        ("grep -qx 'old replaced' $f", Some(1), ":"),
        ("grep -qx 'old removed' $f", Some(2), ":"),
        ("[ $f -ef to/destination ] && [ ${f%/*} = to ]", None, ":"),
        ("[ $f -ef to/destination ] && [ ${f%/*} != to ]", Some(3), ":"),
        // Another writer has the name of the source then.
        ("[ $f -ef to/destination ] && [ ${f%/*} != to ]", Some(3), "echo theirs > moved"),
    ];
    for target in targets(test, &["link"]) {
        for (clears, lost, then) in cases {
            let weaker = matches!(target.name, "dash" | "mksh").then_some(Some(Feature::Exchange));
            for without in [None].into_iter().chain(weaker) {
                let what = format!("{} without {without:?}: {clears}, {then}", target.name);
                let ws = Ws::with(target.process(), |builder| match without {
                    Some(feature) => builder.danger_without(feature),
                    None => builder,
                })
                .await;
                for name in ["replaced", "removed", "moved"] {
                    ws.write(name, format!("old {name}\n"));
                }
                ws.mkdir("to");
                let mut expected = ws.tree();
                let deed = format!(
                    "for f in ./.guard-* to/.guard-*; do {clears} && rm -f $f; done; {then}; echo theirs > last"
                );
                target.wrappers.plan(Call::of("link").with("*./last"), Deed::Run(deed)).unwrap();
                let changes = vec![
                    ws.put("new", Precondition::Absent, "ours"),
                    ws.put("replaced", is("old replaced\n"), "ours"),
                    ws.remove("removed", is("old removed\n")),
                    ws.move_to("moved", is("old moved\n"), "to/destination"),
                    ws.put("last", Precondition::Absent, "ours"),
                ];
                let error = ws.shell.commit(batch(changes)).await.unwrap_err();
                assert_eq!(error.at, Some(4), "{what}: {error:?}");
                assert_eq!(ws.temps(), Vec::<String>::new(), "{what}: {error:?}");
                let now = ws.tree();
                expected.insert("last".to_owned(), now["last"].clone());
                for (nth, fate) in error.fates.iter().enumerate() {
                    match fate {
                        Fate::Left { what: told } if lost == Some(nth) => {
                            assert!(told.contains("was removed meanwhile"), "{what}: {told}");
                        }
                        Fate::Untouched | Fate::Restored if lost != Some(nth) => {}
                        other => panic!("{what}: change {nth}: {other:?}"),
                    }
                }
                match lost {
                    None => {}
                    Some(1) => {
                        assert_eq!(ws.read("replaced"), b"ours", "{what}");
                        expected.insert("replaced".to_owned(), now["replaced"].clone());
                    }
                    Some(2) => drop(expected.remove("removed")),
                    // Its only name is the one at the destination.
                    _ => {
                        assert_eq!(ws.read("to/destination"), b"old moved\n", "{what}");
                        expected.remove("moved");
                        expected.extend(now.get("moved").map(|moved| ("moved".to_owned(), moved.clone())));
                        assert_eq!(now.contains_key("moved"), then != ":", "{what}");
                        expected.insert("to/destination".to_owned(), now["to/destination"].clone());
                    }
                }
                assert_eq!(now, expected, "{what}: {error:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_cleaner_removed_after_it_was_displaced_is_not_said_to_stay() {
    let test = "repairs::what_a_cleaner_removed_after_it_was_displaced_is_not_said_to_stay";
    for target in targets(test, &["sha256sum"]) {
        let ws = Ws::over(target.process()).await;
        ws.write("removed", "old\n");
        // The last digest is that of what is let go.
        let clear = Deed::Run("rm -f .guard-*".to_owned());
        target.wrappers.plan(Call::of("sha256sum").with("*/.guard-*"), clear).unwrap();
        let done = ws.commit(ws.remove("removed", is("old\n"))).await.unwrap();
        assert_eq!(done.left, Vec::<String>::new(), "{}", target.name);
        assert!(ws.tree().is_empty(), "{}", target.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_settlement_makes_does_not_keep_a_directory_from_being_removed() {
    let test = "repairs::what_a_settlement_makes_does_not_keep_a_directory_from_being_removed";
    for target in targets(test, &["rm"]) {
        // Its stat needs `/proc`.
        if target.name == "busybox-tools" {
            continue;
        }
        // Where the old shell cannot be ended, its temporary names are taken from it.
        let ws = Ws::with(target.process(), |builder| builder.danger_without(Feature::Proc)).await;
        ws.mkdir("directory");
        ws.write("directory/file", "old");
        target.wrappers.plan(Call::of("rm").with("*/.guard-*").after(), Deed::KillShell).unwrap();
        let parent = Change {
            place: ws.place("directory"),
            precondition: Precondition::Exists,
            effect: Effect::RemoveDir,
        };
        let done = ws.shell.commit(batch(vec![ws.remove("directory/file", is("old")), parent])).await;
        let done = done.unwrap_or_else(|error| panic!("{}: {error:?}", target.name));
        assert!(done.settled, "{}", target.name);
        assert!(done.changes.iter().all(|change| change.left.is_empty()), "{}: {done:?}", target.name);
        assert!(ws.tree().is_empty(), "{}: {:?}", target.name, ws.tree());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_reply_was_lost_claims_no_more_than_is_known() {
    let faults = Faults::new();
    let transport = Faulty::new(sh(), &faults);
    let ws = Ws::with(transport, |builder| builder.danger_without(Feature::HardLinks)).await;
    for name in ["replaced", "same", "removed"] {
        ws.write(name, "old");
    }
    faults.plan(Way::FromShell, At::request(Method::Commit, 1), Fault::Cut);
    let changes = vec![
        ws.put("new", Precondition::Absent, "ours"),
        ws.put("replaced", is("old"), "ours"),
        ws.put("same", is("old"), "old"),
        ws.remove("removed", is("old")),
    ];
    let done = ws.shell.commit(batch(changes)).await.unwrap();
    assert!(done.settled);
    let told: Vec<(Tier, bool)> =
        done.changes.iter().map(|change| (change.publish.tier, change.publish.changed)).collect();
    assert_eq!(
        told,
        [(Tier::CreatedNonatomic, true), (Tier::Window, true), (Tier::Window, false), (Tier::Exchange, true)]
    );
    faults.kill_orphans().await;
    // What was required is known.
    faults.plan(Way::FromShell, At::request(Method::Commit, 1), Fault::Cut);
    let mut strict = batch(vec![ws.remove("same", is("old")), ws.put("replaced", is("ours"), "newer")]);
    strict.require = Some(Tier::CreatedNonatomic);
    let done = ws.shell.commit(strict).await.unwrap();
    assert_eq!((done.settled, done.changes[1].publish.tier), (true, Tier::Window));
    faults.kill_orphans().await;
}

/// Where a source goes wrong.
#[derive(Debug, Clone, Copy)]
enum Wrong {
    Panics,
    Errs,
    Opens,
}

/// So many bytes that are all the same; it goes wrong after some of them.
#[derive(Debug)]
struct Broken {
    len: u64,
    after: u64,
    wrong: Wrong,
}

struct Breaking {
    left: u64,
    sound: u64,
    wrong: Wrong,
}

impl Source for Broken {
    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        assert!(!matches!(self.wrong, Wrong::Opens), "a source that panics when it is opened");
        Ok(Box::new(Breaking { left: self.len, sound: self.after, wrong: self.wrong }))
    }
}

impl Read for Breaking {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.sound == 0 {
            assert!(matches!(self.wrong, Wrong::Errs), "a source that panics in the middle");
            return Err(io::Error::other("a source that fails"));
        }
        let len = buffer.len().min(usize::try_from(self.left.min(self.sound)).unwrap());
        buffer[..len].fill(b'x');
        self.left -= len as u64;
        self.sound -= len as u64;
        Ok(len)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_panics_or_fails_in_the_middle_is_a_definite_outcome() {
    const LEN: u64 = 700_000;
    let digest = Digest::of(&vec![b'x'; usize::try_from(LEN).unwrap()]);
    let ws = Ws::new().await;
    ws.write("old", "old");
    let mut before = ws.tree();
    for wrong in [Wrong::Panics, Wrong::Errs, Wrong::Opens] {
        for after in [0, 1, 300_000, LEN - 1, LEN] {
            let what = format!("{wrong:?} after {after}");
            let content = Content::from_source(LEN, digest, Arc::new(Broken { len: LEN, after, wrong }));
            let mut broken = ws.put("old", is("old"), "");
            broken.effect = Effect::Put { content, mode: Mode::Keep, parents: Parents::Make };
            let whole = batch(vec![ws.put("made/new", Precondition::Absent, "ours"), broken]);
            let id = whole.id.clone();
            match ws.shell.commit(whole).await {
                // All bytes had come, and a source that panics says no more.
                Ok(_) => {
                    assert!(after == LEN && matches!(wrong, Wrong::Panics), "{what}");
                    assert_eq!(ws.shell.settle(&id).await, Ok(Settled::APPLIED), "{what}");
                    std::fs::remove_dir_all(ws.path("made")).unwrap();
                    ws.write("old", "old");
                    before = ws.tree();
                }
                Err(error) => {
                    assert!(
                        matches!(error.cause, CommitFailure::Op(OpError::Io { .. })),
                        "{what}: {error:?}"
                    );
                    assert!(are_clean(&error), "{what}: {error:?}");
                    assert_eq!(ws.shell.settle(&id).await, Ok(Settled::NOT_APPLIED), "{what}");
                }
            }
            assert_eq!(ws.stat("old").await.unwrap().state.digest(), Some(Digest::of(b"old")), "{what}");
            assert_eq!(ws.tree(), before, "{what}");
        }
    }
}

/// A line whose input panics as soon as it is told to.
struct Exploding {
    inner: Process,
    now: Arc<AtomicBool>,
}

struct Fuse {
    inner: Box<dyn AsyncWrite + Send + Unpin>,
    now: Arc<AtomicBool>,
}

#[async_trait]
impl Transport for Exploding {
    fn target(&self) -> &TargetId {
        self.inner.target()
    }

    async fn start(&self, command: &str) -> Result<Session, TransportError> {
        let session = self.inner.start(command).await?;
        let input = Box::new(Fuse { inner: session.input, now: Arc::clone(&self.now) });
        Ok(Session { input, ..session })
    }
}

impl AsyncWrite for Fuse {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        assert!(!self.now.swap(false, Ordering::Relaxed), "a line that panics");
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_panics_on_its_way_is_on_record_and_settled() {
    let now = Arc::new(AtomicBool::new(false));
    let ws = Ws::over(Exploding { inner: sh(), now: Arc::clone(&now) }).await;
    now.store(true, Ordering::Relaxed);
    let one = batch(vec![ws.put("new", Precondition::Absent, "ours")]);
    let id = one.id.clone();
    let error = ws.shell.commit(one).await.unwrap_err();
    assert_eq!(error.cause, CommitFailure::Op(OpError::OutcomeUnknown { commit: id.clone() }));
    assert_eq!(ws.shell.settle(&id).await, Ok(Settled::NOT_APPLIED));
    ws.commit(ws.put("new", Precondition::Absent, "ours")).await.unwrap();
    assert_eq!(ws.read("new"), b"ours");
    assert!(ws.temps().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn large_files_have_the_faster_digest_tool_if_that_is_true() {
    let test = "repairs::large_files_have_the_faster_digest_tool_if_that_is_true";
    for target in targets(test, &["openssl", "sha256sum"]) {
        for lies in [false, true] {
            let ws = Ws::over(target.process()).await;
            // BusyBox has none.
            let has = target.name != "busybox-tools";
            let count =
                |tool: &str| target.wrappers.calls().unwrap().iter().filter(|call| call.tool == tool).count();
            let before = count("openssl");
            ws.commit(ws.put("small", Precondition::Absent, "small")).await.unwrap();
            assert_eq!(count("openssl"), before, "{}: it takes longer to start", target.name);
            if lies && has {
                target.wrappers.plan(Call::of("openssl").every(), Deed::fail("no such digest", 1)).unwrap();
            }
            let large = vec![b'x'; 3_000_000];
            let slow = count("sha256sum");
            ws.commit(ws.put("large", Precondition::Absent, large.clone())).await.unwrap();
            ws.commit(ws.put("large", is(&large), "small")).await.unwrap();
            assert_eq!(ws.read("large"), b"small");
            assert_eq!(count("openssl") > before, has, "{}", target.name);
            if has && !lies {
                // Only for what is small: what came into its place.
                let taken = count("sha256sum") - slow;
                assert!(taken <= 1, "{}: {taken} digests by the slower tool", target.name);
            }
            if lies && has {
                // It was tried once.
                assert_eq!(count("openssl") - before, 1, "{}", target.name);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_may_be_as_large_as_can_be_said() {
    for target in targets("repairs::a_page_may_be_as_large_as_can_be_said", &[]) {
        let ws = Ws::over(target.process()).await;
        for name in ["a", "b", "c"] {
            ws.write(name, name);
        }
        for limit in [3, 1 << 31, 1 << 32, u64::MAX] {
            let page = Page { after: None, limit };
            let listing = ws.shell.list(&ws.ask(""), &page).await.unwrap();
            let names: Vec<String> = listing.entries.into_iter().map(|entry| entry.name).collect();
            assert_eq!(
                (names.join(" "), listing.next),
                ("a b c".to_owned(), None),
                "{} {limit}",
                target.name
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_looks_like_what_dd_counts_does_not_hide_what_dd_says() {
    let test = "repairs::a_name_that_looks_like_what_dd_counts_does_not_hide_what_dd_says";
    if rerun::unprivileged(test) == Body::Done {
        return;
    }
    for target in targets(test, &[]) {
        let ws = Ws::over(target.process()).await;
        for name in ["plain", "a\n1b", "a\n1+1 records in\nb"] {
            ws.write(name, "old");
            chmod(&ws.path(name), 0o444);
            let error = ws.commit(ws.put(name, is("old"), "new")).await.unwrap_err();
            let expected = CommitFailure::ReadOnlyFile { resolved: ws.target(name) };
            assert_eq!(error.cause, expected, "{} {name:?}", target.name);
        }
    }
}
