//! Short forms for the tests.

#![allow(dead_code, unreachable_pub, reason = "each test binary uses a part")]

use std::sync::Arc;

use guard_core::policy::{Digest, OpenWriters, Precondition, RootId, TargetPath};
use guard_core::port::{
    Ask, Batch, Change, CommitError, CommitId, Committed, Content, Depth, Displaced, Effect, FileOps, Found,
    InPlace, Keep, Last, Mode, OpError, Parents, Place, RootSpec,
};

pub async fn root(ops: &dyn FileOps, path: &str) -> RootId {
    ops.open_root(&RootSpec { path: TargetPath::new(path).unwrap() }).await.unwrap().id
}

pub fn place(root: RootId, path: &str, expect: &str) -> Place {
    Place { root, path: path.into(), expect: TargetPath::new(expect).unwrap(), last: Last::Follow }
}

pub fn put(place: Place, precondition: Precondition, bytes: &[u8]) -> Change {
    let content = Content::from(bytes.to_vec());
    Change { place, precondition, effect: Effect::Put { content, mode: Mode::Keep, parents: Parents::Make } }
}

pub fn batch(id: &str, changes: Vec<Change>) -> Batch {
    Batch {
        id: CommitId(id.into()),
        changes,
        require: None,
        displaced: Displaced::Discard,
        open_writers: OpenWriters::Refuse,
        metadata: Keep::Require,
        in_place: InPlace::Refuse,
        scope: Arc::default(),
    }
}

pub fn content(bytes: &[u8]) -> Precondition {
    Precondition::Content { digest: Digest::of(bytes) }
}

pub async fn stat(ops: &dyn FileOps, root: RootId, path: &str, last: Last) -> Result<Found, OpError> {
    let ask =
        Ask { root, path: path.into(), last, depth: Depth::Digest { max: 1 << 20 }, scope: Arc::default() };
    ops.stat(&[ask]).await?.remove(0)
}

/// Writes below the root `/ws`, in a batch that has the path as its name.
pub async fn write(
    ops: &dyn FileOps,
    root: RootId,
    path: &str,
    is: Precondition,
    bytes: &[u8],
) -> Result<Committed, CommitError> {
    ops.commit(batch(path, vec![put(place(root, path, &format!("/ws/{path}")), is, bytes)])).await
}
