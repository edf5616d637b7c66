use guard_core::policy::{FileState, Precondition, TargetPath};
use guard_core::port::{CommitFailure, CommitId, Last, OpError, Page, Part, RootSpec, Settled};

use super::super::site::{Broken, MAX, NO_ROOT, Site, batch, broken, content, ensure, same};

fn is_denied<T>(outcome: &Result<T, OpError>) -> bool {
    matches!(outcome, Err(OpError::PermissionDenied { .. }))
}

pub(super) async fn a_denied_parent_is_not_absence(site: Site) -> Result<(), Broken> {
    site.needs_permissions()?;
    site.dir("closed")?;
    site.file("closed/file", b"bytes")?;
    site.dir("closed/d")?;
    site.world.chmod(&site.at("closed"), 0)?;
    let outcome = behind(&site).await;
    // Whatever came of it: the ground has to be cleared.
    site.world.chmod(&site.at("closed"), 0o755)?;
    outcome
}

async fn behind(site: &Site) -> Result<(), Broken> {
    for path in ["closed/file", "closed/none", "closed/d/none", "closed/none/none"] {
        let found = site.stat(path, Last::Follow).await;
        ensure(is_denied(&found), format!("stat {path}: {found:?}"))?;
        let contents = site.read(path, Part::Whole { max: MAX }).await;
        ensure(is_denied(&contents), format!("read {path}: {contents:?}"))?;
        let listing = site.list(path, Page { after: None, limit: 1 }).await;
        ensure(is_denied(&listing), format!("list {path}: {listing:?}"))?;
        for is in [Precondition::Absent, content(b"bytes"), Precondition::DangerAny] {
            let cause = site.refused(path, vec![site.put(path, is, b"new")?]).await?;
            ensure(
                matches!(cause, CommitFailure::Op(OpError::PermissionDenied { .. })),
                format!("put {path}: {cause:?}"),
            )?;
        }
    }
    let listing = site.list("closed", Page { after: None, limit: 1 }).await;
    ensure(is_denied(&listing), format!("listing a closed directory: {listing:?}"))
}

pub(super) async fn a_denied_directory_is_left_alone(site: Site) -> Result<(), Broken> {
    site.needs_permissions()?;
    site.dir("fixed")?;
    site.file("fixed/file", b"bytes")?;
    site.world.chmod(&site.at("fixed"), 0o555)?;
    let changes = [
        site.put("fixed/new", Precondition::Absent, b"x")?,
        site.put("fixed/a/b", Precondition::Absent, b"x")?,
        site.put("fixed/file", content(b"bytes"), b"x")?,
        site.remove("fixed/file", content(b"bytes"))?,
        site.move_to("fixed/file", content(b"bytes"), "moved")?,
        site.make_dir("fixed/d", guard_core::port::Parents::Make)?,
    ];
    for change in changes {
        let what = format!("{:?}", change.effect);
        // Another change comes first, and is taken back.
        let changes = vec![site.put("a/first", Precondition::Absent, b"x")?, change];
        let cause = site.refused(&what, changes).await?;
        ensure(
            matches!(cause, CommitFailure::Op(OpError::PermissionDenied { .. })),
            format!("{what}: the cause is {cause:?}"),
        )?;
    }
    site.world.chmod(&site.at("fixed"), 0o755)?;
    Ok(())
}

pub(super) async fn an_unreadable_file_is_not_another_version(site: Site) -> Result<(), Broken> {
    site.needs_permissions()?;
    site.file("unreadable", b"bytes")?;
    site.world.chmod(&site.at("unreadable"), 0o200)?;
    let found = site.stat("unreadable", Last::Follow).await;
    ensure(is_denied(&found), format!("a digest of what may not be read: {found:?}"))?;
    let contents = site.read("unreadable", Part::Whole { max: MAX }).await;
    ensure(is_denied(&contents), format!("bytes of what may not be read: {contents:?}"))?;
    let cause = site.refused("a replacement", vec![site.put("unreadable", content(b"bytes"), b"x")?]).await?;
    ensure(
        matches!(cause, CommitFailure::Op(OpError::PermissionDenied { .. })),
        format!("a replacement of what may not be read: {cause:?}"),
    )?;
    let found =
        site.mismatched("a creation", vec![site.put("unreadable", Precondition::Absent, b"x")?]).await?;
    ensure(
        matches!(found, FileState::Regular { len: 5, digest: None, .. }),
        format!("a creation over what may not be read: {found:?}"),
    )
}

pub(super) async fn roots_are_directories(site: Site) -> Result<(), Broken> {
    site.file("file", b"bytes")?;
    let open = async |path: &str| {
        let path = site.target(path)?;
        Ok::<_, Broken>(site.ops.open_root(&RootSpec { path }).await.map(|root| root.path))
    };
    let absent = open("none").await?;
    ensure(matches!(absent, Err(OpError::NotFound { .. })), format!("an absent root: {absent:?}"))?;
    let file = open("file").await?;
    ensure(matches!(file, Err(OpError::NotDirectory { .. })), format!("a file as a root: {file:?}"))?;
    let mut change = site.put("file", content(b"bytes"), b"x")?;
    change.place.root = NO_ROOT;
    site.refused("a root that nobody opened", vec![change]).await?;
    let mut ask = site.ask("file", Last::Follow);
    ask.root = NO_ROOT;
    match site.ops.stat(&[ask]).await.map(|mut found| found.pop()) {
        Err(_) | Ok(Some(Err(_))) => Ok(()),
        other => broken(format!("a root that nobody opened: {other:?}")),
    }
}

pub(super) async fn one_directory_is_one_root(site: Site) -> Result<(), Broken> {
    site.file("file", b"bytes")?;
    site.world.symlink(site.root.path.as_str().as_bytes(), &site.out("alias"))?;
    let path = TargetPath::new(format!("{}/alias", site.outside))
        .map_err(|error| Broken::Failed(error.to_string()))?;
    let again = site.ops.open_root(&RootSpec { path }).await?;
    same("the physical path", &again.path, &site.root.path)?;
    same("the identity", &again.identity, &site.root.identity)?;
    let mut ask = site.ask("file", Last::Follow);
    ask.root = again.id;
    match site.ops.stat(&[ask]).await?.pop() {
        Some(Ok(found)) => same("a file below it", &found.resolved, &site.target("file")?),
        other => broken(format!("a file below it: {other:?}")),
    }
}

pub(super) async fn a_root_that_was_replaced_is_not_used(site: Site) -> Result<(), Broken> {
    site.file("file", b"bytes")?;
    let away = site.out("away");
    site.world.rename(&site.at(""), &away)?;
    let moved = refuses_everything(&site, "a root that was renamed away").await;
    site.world.mkdir(&site.at(""))?;
    site.file("file", b"bytes")?;
    moved?;
    refuses_everything(&site, "a root that was replaced").await
}

async fn refuses_everything(site: &Site, what: &str) -> Result<(), Broken> {
    let expected = OpError::RootReplaced { path: site.root.path.clone() };
    same(&format!("stat in {what}"), &site.stat("file", Last::Follow).await, &Err(expected.clone()))?;
    let contents = site.read("file", Part::Whole { max: MAX }).await;
    same(&format!("read in {what}"), &contents, &Err(expected.clone()))?;
    for (path, is) in [("new", Precondition::Absent), ("file", content(b"bytes"))] {
        let cause = match site.commit(vec![site.put(path, is, b"x")?]).await {
            Err(error) => error.cause,
            Ok(done) => return broken(format!("put in {what}: {done:?}")),
        };
        same(&format!("put in {what}"), &cause, &CommitFailure::Op(expected.clone()))?;
    }
    Ok(())
}

pub(super) async fn settling_is_true_or_unsupported(site: Site) -> Result<(), Broken> {
    let good = batch(vec![site.put("file", Precondition::Absent, b"x")?]);
    let bad = batch(vec![site.put("file", Precondition::Absent, b"y")?]);
    let (good_id, bad_id) = (good.id.clone(), bad.id.clone());
    site.ops.commit(good).await?;
    site.refused_batch("a second creation", bad).await?;
    for (id, expected) in [
        (good_id, Settled::APPLIED),
        (bad_id, Settled::NOT_APPLIED),
        (CommitId("conformance-never-sent".to_owned()), Settled::NOT_APPLIED),
    ] {
        match site.ops.settle(&id).await {
            Err(OpError::Unsupported { .. }) => {}
            settled => same(&format!("settling {id}"), &settled, &Ok(expected))?,
        }
    }
    site.holds("file", b"x")
}
