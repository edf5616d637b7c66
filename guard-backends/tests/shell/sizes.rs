//! Contents of every size, and batches of many files.

use std::io::{self, Read};
use std::sync::Arc;

use async_trait::async_trait;
use guard_core::policy::{Digest, Hasher, Precondition};
use guard_core::port::{Content, Effect, FileOps as _, Mode, OpError, Parents, Sink, Source};

use crate::common::batch;
use crate::ws::{Ws, is};

/// Bytes of every value that repeat nowhere nearby, made as they are read.
struct Noise(u64);

struct Making {
    left: u64,
    state: u64,
}

impl Source for Noise {
    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        Ok(Box::new(Making { left: self.0, state: self.0 }))
    }
}

impl Read for Making {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = buffer.len().min(usize::try_from(self.left).unwrap());
        for byte in &mut buffer[..len] {
            self.state =
                self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = (self.state >> 40) as u8;
        }
        self.left -= len as u64;
        Ok(len)
    }
}

fn noise(len: u64) -> (Content, Digest) {
    let (mut source, mut hasher) = (Making { left: len, state: len }, Hasher::new());
    let mut piece = vec![0; 1 << 16];
    loop {
        let read = source.read(&mut piece).unwrap();
        if read == 0 {
            break;
        }
        hasher.update(&piece[..read]);
    }
    let digest = hasher.finish();
    (Content::from_source(len, digest, Arc::new(Noise(len))), digest)
}

/// Counts and digests; keeps nothing.
#[derive(Default)]
struct Count {
    len: u64,
    largest: usize,
    hasher: Hasher,
}

#[async_trait]
impl Sink for Count {
    async fn take(&mut self, bytes: &[u8]) -> Result<(), OpError> {
        self.len += bytes.len() as u64;
        self.largest = self.largest.max(bytes.len());
        self.hasher.update(bytes);
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn content_of_any_size_arrives_and_comes_back_exactly() {
    let ws = Ws::new().await;
    for len in [0, 1, 4095, 97 * 1024, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 2 << 20, 64 << 20] {
        let (content, digest) = noise(len);
        let effect = Effect::Put { content, mode: Mode::Keep, parents: Parents::Make };
        let mut change = ws.put("file", Precondition::Absent, "");
        change.effect = effect.clone();
        let done = ws.commit(change).await.unwrap();
        assert_eq!(done.after.digest(), Some(digest), "{len}");
        let mut count = Count::default();
        let found = ws.shell.stream(&ws.ask("file"), &mut count).await.unwrap();
        assert_eq!((count.len, count.hasher.finish()), (len, digest), "{len}");
        assert_eq!(found.state.digest(), Some(digest), "{len}");
        assert!(count.largest <= 1 << 20, "{len}: pieces of {} bytes", count.largest);
        // Over another one of another size.
        let mut change = ws.put("file", Precondition::Content { digest }, "");
        change.effect = Effect::Put {
            content: Content::from(b"small".to_vec()),
            mode: Mode::Keep,
            parents: Parents::Make,
        };
        ws.commit(change).await.unwrap();
        let mut change = ws.put("file", is("small"), "");
        change.effect = effect;
        assert_eq!(ws.commit(change).await.unwrap().after.digest(), Some(digest), "{len}");
        ws.commit(ws.remove("file", Precondition::Content { digest })).await.unwrap();
    }
    assert!(ws.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn five_thousand_small_files_fit_one_batch() {
    let ws = Ws::new().await;
    let name = |nth: usize| format!("d{}/file {nth}", nth % 10);
    let changes = (0..5000)
        .map(|nth| ws.put(&name(nth), Precondition::Absent, format!("content of file {nth}\n")))
        .collect();
    let done = ws.shell.commit(batch(changes)).await.unwrap();
    assert_eq!(done.changes.len(), 5000);
    for (nth, applied) in done.changes.iter().enumerate() {
        assert_eq!(applied.resolved, ws.target(&name(nth)));
        assert_eq!(ws.read(&name(nth)), format!("content of file {nth}\n").into_bytes());
    }
    assert!(ws.temps().is_empty());
    // One that is there already takes all of them back.
    for nth in 0..10 {
        std::fs::remove_dir_all(ws.path(&format!("d{nth}"))).unwrap();
    }
    ws.mkdir("d9");
    ws.write(&name(999), "another writer's");
    let changes = (0..1000).map(|nth| ws.put(&name(nth), Precondition::Absent, "x")).collect();
    let error = ws.shell.commit(batch(changes)).await.unwrap_err();
    assert_eq!(error.at, Some(999), "{:?}", error.cause);
    assert_eq!(ws.tree().len(), 2);
}

/// The largest resident set of this process so far, in KiB: proc(5), VmHWM.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_of_both_directions_need_memory_for_a_few_pieces_only() {
    // The peak is of the whole process, so that no other test may run in it.
    let name = "sizes::streams_of_both_directions_need_memory_for_a_few_pieces_only";
    if guard_testkit::rerun::unprivileged(name) == guard_testkit::rerun::Body::Done {
        return;
    }
    let ws = Ws::new().await;
    let (small, _) = noise(1 << 20);
    let mut change = ws.put("small", Precondition::Absent, "");
    change.effect = Effect::Put { content: small, mode: Mode::Keep, parents: Parents::Make };
    ws.commit(change).await.unwrap();
    ws.shell.stream(&ws.ask("small"), &mut Count::default()).await.unwrap();
    let before = peak();
    let (large, digest) = noise(192 << 20);
    let mut change = ws.put("large", Precondition::Absent, "");
    change.effect = Effect::Put { content: large, mode: Mode::Keep, parents: Parents::Make };
    ws.commit(change).await.unwrap();
    let found = ws.shell.stream(&ws.ask("large"), &mut Count::default()).await.unwrap();
    assert_eq!(found.state.digest(), Some(digest));
    let taken = peak() - before;
    assert!(taken < 16 << 10, "192 MiB took {taken} KiB more than 1 MiB did");
}
