use std::sync::Mutex;
use std::sync::PoisonError;

use async_trait::async_trait;
use guard_core::policy::{Digest, FileState, OtherKind, Precondition};
use guard_core::port::{Ask, Body, Depth, Last, OpError, Part, Sink, Want};

use super::super::site::{Broken, MAX, NO_ROOT, Site, broken, content, ensure, noise, same, same_bytes};

pub(super) async fn whole_reads_deliver_all_bytes_and_their_digest(site: Site) -> Result<(), Broken> {
    for len in [0, 1, 97 * 1024, 2 << 20] {
        let (name, bytes) = (format!("file-{len}"), noise(len));
        site.file(&name, &bytes)?;
        let found = site.reads(&name, &bytes).await?;
        same("the path", &found.resolved, &site.target(&name)?)?;
    }
    Ok(())
}

pub(super) async fn windows_carry_the_digest_of_the_whole(site: Site) -> Result<(), Broken> {
    let bytes = noise(100_000);
    site.file("file", &bytes)?;
    for (offset, len) in
        [(0, 10), (50_000, 20_000), (99_990, 100), (0, 100_000), (100_000, 5), (200_000, 5), (7, 0)]
    {
        let contents = site.read("file", Part::Bytes { offset, len }).await?;
        let start = (offset as usize).min(bytes.len());
        let end = (offset + len).min(bytes.len() as u64) as usize;
        let Body::Bytes { bytes: got, offset: at } = &contents.body else {
            return broken(format!("a window of {len} from {offset} delivers {:?}", contents.body));
        };
        same_bytes(&format!("{len} bytes from {offset}"), got, &bytes[start..end.max(start)])?;
        ensure(got.is_empty() || *at == offset, format!("the window from {offset} says {at}"))?;
        let digest = contents.found.state.digest();
        same("the digest that comes with a window", &digest, &Some(Digest::of(&bytes)))?;
    }
    let ask = Ask { depth: Depth::Digest { max: 99_999 }, ..site.ask("file", Last::Follow) };
    let want = Want { ask, part: Part::Bytes { offset: 0, len: 10 } };
    match site.ops.read(&[want]).await?.pop() {
        Some(Ok(contents)) => {
            same("a window of a file over the limit for digests", &contents.body, &Body::TooLarge)
        }
        other => broken(format!("a window of a file over the limit for digests: {other:?}")),
    }
}

pub(super) async fn what_is_too_large_delivers_no_byte(site: Site) -> Result<(), Broken> {
    site.file("file", b"12345")?;
    for (depth, digest) in [
        (Depth::State, None),
        (Depth::Digest { max: 4 }, None),
        (Depth::Digest { max: 5 }, Some(Digest::of(b"12345"))),
    ] {
        let ask = Ask { depth, ..site.ask("file", Last::Follow) };
        let Some(Ok(contents)) = site.ops.read(&[Want { ask, part: Part::Whole { max: 4 } }]).await?.pop()
        else {
            return broken("a file over the limit should be an answer");
        };
        same("the body", &contents.body, &Body::TooLarge)?;
        same(&format!("the digest at {depth:?}"), &contents.found.state.digest(), &digest)?;
        ensure(matches!(contents.found.state, FileState::Regular { len: 5, .. }), "the length is told")?;
    }
    let contents = site.read("file", Part::Whole { max: 5 }).await?;
    same("exactly the limit", &contents.body, &Body::Bytes { offset: 0, bytes: b"12345".to_vec() })
}

pub(super) async fn what_is_not_regular_is_told_and_never_opened(site: Site) -> Result<(), Broken> {
    let mut names = site.one_of_each("all")?;
    names.retain(|name| !matches!(name.as_str(), "all/file" | "all/empty" | "all/link"));
    names.push("none".to_owned());
    for name in names {
        for part in [Part::Whole { max: MAX }, Part::Bytes { offset: 0, len: 10 }] {
            let contents = site.read(&name, part).await?;
            same(&format!("reading {name}"), &contents.body, &Body::NotRegular)?;
            let there = site.stat(&name, Last::Follow).await?;
            same(&format!("what a read finds at {name}"), &contents.found, &there)?;
        }
    }
    Ok(())
}

pub(super) async fn a_read_is_of_now(site: Site) -> Result<(), Broken> {
    for nth in 0..20_u8 {
        let bytes = [nth; 7];
        if nth == 0 {
            site.file("file", &bytes)?;
        } else {
            // Another inode of the same length, within the same tick of any clock.
            site.file("other", &bytes)?;
            site.world.rename(&site.at("other"), &site.at("file"))?;
        }
        site.reads("file", &bytes).await?;
        let digest = site.stat("file", Last::Follow).await?.state.digest();
        same("the digest of now", &digest, &Some(Digest::of(&bytes)))?;
    }
    site.done(vec![site.put("file", content(&[19; 7]), b"ours")?]).await?;
    site.reads("file", b"ours").await?;
    site.world.unlink(&site.at("file"))?;
    same("after removal", &site.stat("file", Last::Follow).await?.state, &FileState::Absent)
}

pub(super) async fn states_are_what_is_there(site: Site) -> Result<(), Broken> {
    site.one_of_each("all")?;
    site.world.chmod(&site.at("all/file"), 0o640)?;
    site.world.link(&site.at("all/file"), &site.at("all/second"))?;
    let regular = |digest| FileState::Regular { len: 5, mode: 0o640, nlink: 2, digest };
    for (depth, digest) in [
        (Depth::State, None),
        (Depth::Digest { max: 4 }, None),
        (Depth::Digest { max: 5 }, Some(Digest::of(b"bytes"))),
    ] {
        let ask = Ask { depth, ..site.ask("all/file", Last::Follow) };
        let found = site.ops.stat(&[ask]).await?.pop();
        same(
            &format!("{depth:?}"),
            &found.map(|found| found.map(|found| found.state)),
            &Some(Ok(regular(digest))),
        )?;
    }
    for (name, last, expected) in [
        ("all/link", Last::Follow, regular(Some(Digest::of(b"bytes")))),
        ("all/link", Last::Itself, FileState::Link { text: "file".to_owned() }),
        ("all/directory", Last::Follow, FileState::Directory),
        ("all/link-to-directory", Last::Follow, FileState::Directory),
        ("all/none", Last::Follow, FileState::Absent),
        ("", Last::Follow, FileState::Directory),
    ] {
        same(name, &site.stat(name, last).await?.state, &expected)?;
    }
    for (name, what) in [("all/fifo", OtherKind::Fifo), ("all/socket", OtherKind::Socket)] {
        match site.stat(name, Last::Follow).await?.state {
            // The fixture could not make one.
            FileState::Absent => {}
            state => same(name, &state, &FileState::Other { what })?,
        }
    }
    Ok(())
}

pub(super) async fn an_absent_name_has_a_path(site: Site) -> Result<(), Broken> {
    site.dir("d")?;
    site.link("d", "link")?;
    for (path, to) in
        [("none", "none"), ("d/none", "d/none"), ("d/a/b/none", "d/a/b/none"), ("link/a/none", "d/a/none")]
    {
        let found = site.stat(path, Last::Follow).await?;
        same(path, &found.state, &FileState::Absent)?;
        same(path, &found.resolved, &site.target(to)?)?;
    }
    let found = site.stat("", Last::Follow).await?;
    same("the root", &found.resolved, &site.root.path)
}

pub(super) async fn many_questions_are_answered_in_order(site: Site) -> Result<(), Broken> {
    site.link("loop", "loop")?;
    let mut asks = Vec::new();
    for nth in 0..100 {
        let name = format!("file-{nth}");
        match nth % 4 {
            0 => site.file(&name, name.as_bytes())?,
            1 => site.dir(&name)?,
            // Absent, or an error in the middle of the others.
            _ => {}
        }
        let path = if nth % 4 == 3 { "loop/x".to_owned() } else { name };
        asks.push(site.ask(&path, Last::Follow));
    }
    asks.push(Ask { root: NO_ROOT, ..site.ask("file-0", Last::Follow) });
    let expected = |nth: usize, found: &Result<FileState, OpError>| {
        let digest = Some(Digest::of(format!("file-{nth}").as_bytes()));
        match (nth % 4, found) {
            _ if nth == 100 => found.is_err(),
            (0, Ok(state)) => state.digest() == digest,
            (1, Ok(state)) => *state == FileState::Directory,
            (2, Ok(state)) => *state == FileState::Absent,
            (3, Err(error)) => *error == OpError::Loop,
            _ => false,
        }
    };
    let answers = site.ops.stat(&asks).await?;
    same("the number of answers", &answers.len(), &asks.len())?;
    for (nth, answer) in answers.into_iter().enumerate() {
        let state = answer.map(|found| found.state);
        ensure(expected(nth, &state), format!("answer {nth} of stat is {state:?}"))?;
    }
    let wants: Vec<Want> = asks.into_iter().map(|ask| Want { ask, part: Part::Whole { max: MAX } }).collect();
    let answers = site.ops.read(&wants).await?;
    same("the number of answers", &answers.len(), &wants.len())?;
    for (nth, answer) in answers.into_iter().enumerate() {
        if let Ok(contents) = &answer
            && let Body::Bytes { bytes, .. } = &contents.body
        {
            same_bytes("the bytes of an answer", bytes, format!("file-{nth}").as_bytes())?;
        }
        let state = answer.map(|contents| contents.found.state);
        ensure(expected(nth, &state), format!("answer {nth} of read is {state:?}"))?;
    }
    same("no question at all", &site.ops.stat(&[]).await?.len(), &0)
}

/// Collects what is streamed, up to a limit.
struct Collect {
    bytes: Mutex<Vec<u8>>,
    limit: usize,
}

#[async_trait]
impl Sink for Collect {
    async fn take(&mut self, bytes: &[u8]) -> Result<(), OpError> {
        let mut all = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend_from_slice(bytes);
        if all.len() > self.limit { Err(full()) } else { Ok(()) }
    }
}

fn full() -> OpError {
    OpError::Unsupported { what: "more than this sink takes".to_owned() }
}

async fn stream(site: &Site, path: &str, limit: usize) -> (Result<FileState, OpError>, Vec<u8>) {
    let mut sink = Collect { bytes: Mutex::default(), limit };
    let outcome = site.ops.stream(&site.ask(path, Last::Follow), &mut sink).await;
    (outcome.map(|found| found.state), sink.bytes.into_inner().unwrap_or_else(PoisonError::into_inner))
}

pub(super) async fn streams_deliver_all_bytes(site: Site) -> Result<(), Broken> {
    for len in [0, 5, 2 << 20, 5 << 20] {
        let (name, bytes) = (format!("file-{len}"), noise(len));
        site.file(&name, &bytes)?;
        let (state, got) = stream(&site, &name, usize::MAX).await;
        same_bytes(&name, &got, &bytes)?;
        same("the digest of what was delivered", &state?.digest(), &Some(Digest::of(&bytes)))?;
    }
    let mut names = site.one_of_each("all")?;
    names.retain(|name| !matches!(name.as_str(), "all/file" | "all/empty" | "all/link"));
    names.push("none".to_owned());
    for name in names {
        let (state, got) = stream(&site, &name, usize::MAX).await;
        same(&format!("bytes of {name}"), &got.len(), &0)?;
        let there = site.stat(&name, Last::Follow).await?;
        let expected = OpError::NotRegular { path: there.resolved, state: there.state };
        same(&format!("streaming {name}"), &state, &Err(expected))?;
    }
    Ok(())
}

pub(super) async fn a_sinks_error_ends_the_stream(site: Site) -> Result<(), Broken> {
    let bytes = noise(3 << 20);
    site.file("file", &bytes)?;
    let (outcome, got) = stream(&site, "file", 100_000).await;
    same("the outcome", &outcome, &Err(full()))?;
    ensure(got.len() < bytes.len(), "the stream went on after its sink had failed")?;
    // The target is as good as before.
    site.done(vec![site.put("file", content(&bytes), b"new")?]).await?;
    site.done(vec![site.put("other", Precondition::Absent, b"new")?]).await?;
    Ok(())
}
