//! What an observer sees of the bytes that move, on the local target and on a shell's.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "a test arranges the target by itself")]

mod common;

use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use common::{Watch, batch, content, place, target};
use guard_backends::local::Local;
use guard_backends::shell::{Process, Shell};
use guard_core::policy::{Digest, Precondition};
use guard_core::port::{
    Ask, Batch, Change, Committed, Content, Depth, Effect, FileOps, Last, Mode, Observer, OpError, Parents,
    Part, Root, RootSpec, Sink, Source, Step, TargetId, Want,
};
use tempfile::TempDir;

/// More than a few pieces of any target.
const LARGE: usize = 3 * (1 << 20) + 1;

/// How long the line of a shell may be silent.
const DEADLINE: Duration = Duration::from_millis(500);

/// Steps as text: what happened, the file's name, the number of bytes.
type Seen = Arc<Mutex<Vec<(&'static str, String, u64)>>>;

fn recorder() -> (Seen, Arc<dyn Observer>) {
    let seen = Seen::default();
    let kept = Arc::clone(&seen);
    let watch = Watch(move |step: Step<'_>| {
        let row = match step {
            Step::ToStage(path, len)
            | Step::Staging(path, len)
            | Step::ToRead(path, len)
            | Step::Reading(path, len) => (path.as_str(), len),
            Step::Published(path) => (path.as_str(), 0),
            Step::Finished => ("", 0),
            // The steps that only some targets see.
            _ => return,
        };
        let file = row.0.rsplit('/').next().unwrap_or_default().to_owned();
        kept.lock().unwrap().push((common::name(&step), file, row.1));
    });
    (seen, Arc::new(watch))
}

fn local(observer: Arc<dyn Observer>) -> Arc<dyn FileOps> {
    Arc::new(Local::builder().observer(observer).build().unwrap())
}

async fn shell(observer: Arc<dyn Observer>) -> Arc<dyn FileOps> {
    let here = Arc::new(Process::shell(TargetId::new("sh")));
    let settings = Shell::builder(here).progress(DEADLINE).observer(observer);
    Arc::new(settings.connect().await.unwrap())
}

/// A directory on a target whose steps are seen.
struct Place {
    ops: Arc<dyn FileOps>,
    root: Root,
    dir: TempDir,
}

impl Place {
    async fn on(ops: Arc<dyn FileOps>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = ops.open_root(&RootSpec { path: target(dir.path()) }).await.unwrap();
        Self { ops, root, dir }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn put(&self, name: &str, is: Precondition, bytes: Vec<u8>) -> Change {
        let content = Content::from(bytes);
        let effect = Effect::Put { content, mode: Mode::Keep, parents: Parents::Make };
        Change { place: place(&self.root, self.path(), name), precondition: is, effect }
    }

    async fn commit(&self, changes: Vec<Change>) -> Committed {
        let batch: Batch = batch(changes);
        self.ops.commit(batch).await.unwrap()
    }

    fn ask(&self, name: &str) -> Ask {
        let depth = Depth::Digest { max: 1 << 30 };
        Ask { root: self.root.id, path: name.to_owned(), last: Last::Follow, depth, scope: Arc::default() }
    }

    fn want(&self, name: &str, part: Part) -> Want {
        Want { ask: self.ask(name), part }
    }
}

struct Nowhere;

#[async_trait]
impl Sink for Nowhere {
    async fn take(&mut self, _: &[u8]) -> Result<(), OpError> {
        Ok(())
    }
}

/// Takes the steps, with the counts of one file that follow each other replaced by the last of them, if they rise and
/// no step is longer than a mebibyte.
fn summed(seen: &Seen) -> Vec<(&'static str, String, u64)> {
    let mut sum: Vec<(&'static str, String, u64)> = Vec::new();
    for (step, file, count) in std::mem::take(&mut *seen.lock().unwrap()) {
        match sum.last_mut() {
            Some((last, of, before)) if *last == step && *of == file && step.ends_with("ing") => {
                assert!(count > *before && count - *before <= 1 << 20, "{file}: {before}, then {count}");
                *before = count;
            }
            _ => sum.push((step, file, count)),
        }
    }
    sum
}

fn rows(rows: &[(&'static str, &str, usize)]) -> Vec<(&'static str, String, u64)> {
    rows.iter().map(|(step, file, count)| (*step, (*file).to_owned(), *count as u64)).collect()
}

async fn counts_rise_to_the_whole_length(ops: Arc<dyn FileOps>, seen: &Seen, is_told_at_once: bool) {
    let place = Place::on(ops).await;
    let absent = || Precondition::Absent;
    place.commit(vec![place.put("large", absent(), vec![b'x'; LARGE])]).await;
    let steps: Vec<_> =
        seen.lock().unwrap().iter().filter(|(step, ..)| *step == "staging").cloned().collect();
    assert!(steps.len() > 2, "a large content is told of as it moves: {steps:?}");
    let (published, finished) = (("published", "large", 0), ("finished", "", 0));
    let large = [("to-stage", "large", LARGE), ("staging", "large", LARGE), published, finished];
    assert_eq!(summed(seen), rows(&large));

    // A batch, with empty contents first, last and in between.
    let files = [("a", 0), ("b", LARGE), ("c", 0), ("d", 0), ("e", 5), ("f", 0)];
    let changes = files.iter().map(|(name, len)| place.put(name, absent(), vec![b'y'; *len])).collect();
    place.commit(changes).await;
    let (to, moving) =
        (files.map(|(name, len)| ("to-stage", name, len)), files.map(|(name, len)| ("staging", name, len)));
    let before = if is_told_at_once {
        [to, moving].concat()
    } else {
        to.into_iter().zip(moving).flat_map(<[_; 2]>::from).collect()
    };
    let after = files.map(|(name, _)| ("published", name, 0));
    assert_eq!(summed(seen), rows(&[&before[..], &after, &[finished]].concat()));

    // Nothing is staged where nothing is put.
    let moved = Effect::MoveTo {
        to: common::place(&place.root, place.path(), "moved"),
        destination: absent(),
        parents: Parents::Make,
    };
    let place_of = common::place(&place.root, place.path(), "e");
    let change = Change { place: place_of, precondition: content("yyyyy"), effect: moved };
    place.commit(vec![change]).await;
    assert_eq!(summed(seen), rows(&[("published", "e", 0), finished]));

    // Reading: whole files, an empty one, what is no file, a window, one that is too large, one that is not there, one
    // that is outside.
    let whole = Part::Whole { max: 1 << 30 };
    std::fs::create_dir(place.path().join("dir")).unwrap();
    std::os::unix::fs::symlink("/etc", place.path().join("out")).unwrap();
    let wants = [
        place.want("large", whole),
        place.want("dir", whole),
        place.want("absent", whole),
        place.want("out/passwd", whole),
        place.want("a", whole),
        place.want("large", Part::Whole { max: 10 }),
        place.want("b", Part::Bytes { offset: LARGE as u64 - 7, len: 100 }),
        place.want("moved", whole),
    ];
    place.ops.read(&wants).await.unwrap();
    let read = |name, len| [("to-read", name, len), ("reading", name, len)];
    assert_eq!(
        summed(seen),
        rows(&[read("large", LARGE), read("a", 0), read("b", 7), read("moved", 5)].concat())
    );

    for (name, len) in [("large", LARGE), ("a", 0)] {
        place.ops.stream(&place.ask(name), &mut Nowhere).await.unwrap();
        assert_eq!(summed(seen), rows(&read(name, len)));
    }
    // Questions move no contents.
    place.ops.stat(&[place.ask("large")]).await.unwrap().remove(0).unwrap();
    assert_eq!(summed(seen), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_rise_to_the_whole_length_on_this_machine() {
    let (seen, observer) = recorder();
    counts_rise_to_the_whole_length(local(observer), &seen, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn counts_rise_to_the_whole_length_over_a_shell() {
    let (seen, observer) = recorder();
    counts_rise_to_the_whole_length(shell(observer).await, &seen, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_goes_on_without_an_observer_that_panics_at_any_step() {
    for at in ["to-stage", "staging", "published", "finished", "to-read", "reading"] {
        let count = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&count);
        let watch = Watch(move |step: Step<'_>| {
            if common::name(&step) == at {
                *counted.lock().unwrap() += 1;
                panic!("on purpose");
            }
        });
        let place = Place::on(shell(Arc::new(watch)).await).await;
        let done = place.commit(vec![place.put("f", Precondition::Absent, vec![b'x'; LARGE])]).await;
        assert!(done.changes[0].publish.changed && !done.settled, "{at}: {done:?}");
        assert_eq!(std::fs::read(place.path().join("f")).unwrap(), vec![b'x'; LARGE], "{at}");
        let want = place.want("f", Part::Whole { max: 1 << 30 });
        place.ops.read(&[want]).await.unwrap().remove(0).unwrap();
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1, "{at}");
        assert_eq!(
            *count.lock().unwrap_or_else(std::sync::PoisonError::into_inner),
            1,
            "{at}: not asked again"
        );
    }
}

/// What an observer that holds a commit and a source that is slow tell each other.
#[derive(Default)]
struct Gate {
    was_held: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    /// Waits for something that does not come.
    fn in_vain(&self, time: Duration) {
        let was_held = self.was_held.lock().unwrap();
        let _ = self.changed.wait_timeout_while(was_held, time, |_| true).unwrap();
    }

    fn open(&self) {
        *self.was_held.lock().unwrap() = true;
        self.changed.notify_all();
    }

    fn wait(&self) {
        let _open = self.changed.wait_while(self.was_held.lock().unwrap(), |was_held| !*was_held).unwrap();
    }
}

/// A content whose second half is there only after the observer was held.
struct Slow(Arc<Gate>);

impl Source for Slow {
    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        let (half, rest) = (LARGE / 2, LARGE - LARGE / 2);
        let second =
            Later { gate: Arc::clone(&self.0), rest: io::repeat(b'x').take(rest as u64), is_due: false };
        Ok(Box::new(io::repeat(b'x').take(half as u64).chain(second)))
    }
}

struct Later {
    gate: Arc<Gate>,
    rest: io::Take<io::Repeat>,
    is_due: bool,
}

impl Read for Later {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.is_due {
            self.is_due = true;
            self.gate.wait();
            // Well within what the line may be silent.
            self.gate.in_vain(DEADLINE / 5);
        }
        self.rest.read(buffer)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_observer_that_holds_a_commit_for_longer_than_the_deadline_does_not_end_it() {
    let gate = Arc::new(Gate::default());
    let held = Arc::clone(&gate);
    let watch = Watch(move |step: Step<'_>| {
        // Nothing is left to be sent until the source goes on.
        if let Step::Staging(_, count) = step
            && count + (256 << 10) > LARGE as u64 / 2
        {
            held.in_vain(if *held.was_held.lock().unwrap() { Duration::ZERO } else { DEADLINE * 2 });
            held.open();
        }
    });
    let place = Place::on(shell(Arc::new(watch)).await).await;
    let bytes = vec![b'x'; LARGE];
    let content = Content::from_source(LARGE as u64, Digest::of(&bytes), Arc::new(Slow(gate)));
    let mut change = place.put("f", Precondition::Absent, Vec::new());
    change.effect = Effect::Put { content, mode: Mode::Keep, parents: Parents::Make };
    let done = place.commit(vec![change]).await;
    assert!(done.changes[0].publish.changed && !done.settled, "{done:?}");
    assert_eq!(std::fs::read(place.path().join("f")).unwrap(), bytes);
}
