//! Large files, as streams.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use guard_core::policy::{OpenWriters, Precondition};
use guard_core::port::{
    Ask, Batch, Change, CommitId, Content, Depth, Displaced, Effect, FileOps as _, InPlace, Keep, Last, Mode,
    Parents, Place as Name,
};

use super::Measured;
use super::body::{Body, Count};
use super::pairs::{self, timed};
use super::place::Place;
use super::table::{Figures, Row};

/// How large a large file is, in MiB.
const SIZE: u64 = 256;

/// Measures every row of large files.
pub(crate) async fn measure(place: &Place, quick: bool) -> Measured<Vec<Row>> {
    let count = if quick { 1 } else { 5 };
    let (body, nothing) = (Arc::new(Body::mebibytes(SIZE)), Body::of(""));
    let (len, digest) = (body.len(), body.digest());
    let digest_tool = match place.ops.hello().get("digest") {
        Some("shasum") => "shasum -a 256",
        Some("openssl") => "openssl dgst -sha256",
        _ => "sha256sum",
    };
    let bare = async |command: String, input: &Body| -> Measured<(u64, Duration)> {
        Ok(timed(place.bare.exec(&command, input)).await?)
    };
    let remove = async |path: &str| bare(format!("rm {path}"), &nothing).await.map(drop);

    let written = pairs::take(
        count,
        async |nth| {
            let name = format!("written-{nth}");
            let content = Content::from_source(len, digest, Arc::<Body>::clone(&body) as _);
            let change = create(place, &name, content, Precondition::Absent)?;
            let (_, took) = timed(place.ops.commit(batch(vec![change]))).await?;
            remove(&place.path(&name)).await?;
            Ok(took)
        },
        async |_| {
            let path = place.path("bare-large");
            let (_, took) = bare(format!("cat > {path}; {digest_tool} {path}; sync {path}"), &body).await?;
            remove(&path).await?;
            Ok(took)
        },
    )
    .await?;

    let path = place.path("large");
    bare(format!("cat > {path}"), &body).await?;
    let ask = Ask {
        root: place.root.id,
        path: "large".to_owned(),
        last: Last::Follow,
        depth: Depth::State,
        scope: Arc::default(),
    };
    let read = pairs::take(
        count,
        async |_| {
            let mut taken = Count::default();
            let (found, took) = timed(place.ops.stream(&ask, &mut taken)).await?;
            if (taken.0, found.state.digest()) != (len, Some(digest)) {
                return Err("the stream delivered something else".into());
            }
            Ok(took)
        },
        async |_| {
            let (taken, took) = bare(format!("cat {path}; {digest_tool} {path}"), &nothing).await?;
            if taken <= len {
                return Err("the exec delivered something else".into());
            }
            Ok(took)
        },
    )
    .await?;
    remove(&path).await?;
    let row = |what: &str, pairs| Row {
        place: place.name,
        what: format!("{SIZE} MiB {what}"),
        figures: Figures::Pairs(pairs),
        goal: place.goals.stream,
    };
    Ok(vec![row("read", read), row("write", written)])
}

/// Makes the change that puts a content under a name of the root.
pub(crate) fn create(
    place: &Place,
    name: &str,
    content: Content,
    precondition: Precondition,
) -> Measured<Change> {
    let at = Name {
        root: place.root.id,
        path: name.to_owned(),
        expect: place.root.path.child(name)?,
        last: Last::Follow,
    };
    let effect = Effect::Put { content, mode: Mode::Keep, parents: Parents::Require };
    Ok(Change { place: at, precondition, effect })
}

/// Makes a batch of changes.
pub(crate) fn batch(changes: Vec<Change>) -> Batch {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    Batch {
        id: CommitId(format!("bench-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))),
        changes,
        require: None,
        displaced: Displaced::Discard,
        open_writers: OpenWriters::Refuse,
        metadata: Keep::Require,
        in_place: InPlace::Refuse,
        scope: Arc::default(),
    }
}
