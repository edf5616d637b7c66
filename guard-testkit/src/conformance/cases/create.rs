use guard_core::policy::{Digest, FileState, OtherKind, Precondition, TargetPath};
use guard_core::port::{CommitFailure, Content, Effect, Mode, OpError, Parents};

use super::super::site::{Broken, Site, broken, ensure, itself, noise, put_at, same};

pub(super) async fn created_bytes_are_exact(site: Site) -> Result<(), Broken> {
    for len in [0, 1, 4096, 97 * 1024, 2 << 20] {
        let (name, bytes) = (format!("file-{len}"), noise(len));
        let done = site.done(vec![site.put(&name, Precondition::Absent, &bytes)?]).await?;
        let applied = &done.changes[0];
        site.holds(&name, &bytes)?;
        same("the path of a created file", &applied.resolved, &site.target(&name)?)?;
        same("the state before a creation", &applied.before, &FileState::Absent)?;
        same("the digest after a creation", &applied.after.digest(), &Some(Digest::of(&bytes)))?;
        ensure(
            matches!(applied.after, FileState::Regular { len: got, nlink: 1, .. } if got == len as u64),
            format!("the state after a creation of {len} bytes is {:?}", applied.after),
        )?;
        same("the lease of a creation", &applied.publish.lease, &None)?;
        ensure(applied.publish.changed, "a creation is a change")?;
        ensure(
            applied.left.is_empty() && applied.made.is_empty(),
            "a creation leaves and makes nothing else",
        )?;
        site.reads(&name, &bytes).await?;
    }
    let mut names = site.world.names(&site.at(""))?;
    names.sort();
    same("the files after five creations", &names.len(), &5)
}

pub(super) async fn absent_refuses_whatever_is_there(site: Site) -> Result<(), Broken> {
    for name in site.one_of_each("all")? {
        for bytes in [&b"new"[..], b"bytes"] {
            // As itself: whatever has the name is there, a link too.
            let change = site.put(&name, Precondition::Absent, bytes)?;
            let change = guard_core::port::Change { place: itself(change.place), ..change };
            let found = site.mismatched(&format!("creating {name}"), vec![change]).await?;
            let there = site.stat(&name, guard_core::port::Last::Itself).await?.state;
            same(&format!("what was found at {name}"), &found, &there)?;
            // Followed: a link leads elsewhere than its own path, which is a refusal too.
            let change = site.put(&name, Precondition::Absent, bytes)?;
            match site.refused(&format!("creating {name} (followed)"), vec![change]).await? {
                CommitFailure::Precondition { .. } | CommitFailure::Elsewhere { .. } => {}
                other => return broken(format!("creating {name}: the cause is {other:?}")),
            }
        }
    }
    Ok(())
}

pub(super) async fn parents_are_made_and_reported(site: Site) -> Result<(), Broken> {
    site.dir("there")?;
    let done = site.done(vec![site.put("there/a/b/file", Precondition::Absent, b"x")?]).await?;
    let expected: Vec<TargetPath> = vec![site.target("there/a")?, site.target("there/a/b")?];
    same("the directories that were made", &done.changes[0].made, &expected)?;
    site.holds("there/a/b/file", b"x")?;
    let again = site.done(vec![site.put("there/a/b/other", Precondition::Absent, b"y")?]).await?;
    same("directories made a second time", &again.changes[0].made, &Vec::new())?;

    let mut change = site.put("there/missing/file", Precondition::Absent, b"x")?;
    if let Effect::Put { parents, .. } = &mut change.effect {
        *parents = Parents::Require;
    }
    let cause = site.refused("a creation that requires its parents", vec![change]).await?;
    ensure(matches!(cause, CommitFailure::Op(OpError::NotFound { .. })), format!("the cause is {cause:?}"))
}

pub(super) async fn a_parent_that_is_no_directory_is_an_error(site: Site) -> Result<(), Broken> {
    site.file("file", b"bytes")?;
    site.link("nowhere", "dangling")?;
    let mut parents = vec!["file", "dangling"];
    match site.world.mknod(&site.at("fifo"), OtherKind::Fifo) {
        Err(error) if error.kind() == std::io::ErrorKind::Unsupported => {}
        made => {
            made?;
            parents.push("fifo");
        }
    }
    for parent in parents {
        for path in [format!("{parent}/new"), format!("{parent}/deep/new")] {
            let cause = site.refused(&path, vec![site.put(&path, Precondition::Absent, b"x")?]).await?;
            let expected = if parent == "dangling" {
                matches!(cause, CommitFailure::Op(OpError::NotFound { .. }))
            } else {
                matches!(cause, CommitFailure::Op(OpError::NotDirectory { .. }))
            };
            ensure(expected, format!("creating {path}: the cause is {cause:?}"))?;
        }
    }
    Ok(())
}

pub(super) async fn modes_are_those_asked_for(site: Site) -> Result<(), Broken> {
    for (name, mode, expected) in [
        ("set-private", Mode::Set(0o600), 0o600),
        ("set-open", Mode::Set(0o666), 0o666),
        ("set-executable", Mode::Set(0o750), 0o750),
    ] {
        let change = put_at(site.place(name)?, Precondition::Absent, Content::from(b"#!".to_vec()), mode);
        let done = site.done(vec![change]).await?;
        same(name, &site.world.mode(&site.at(name))?, &expected)?;
        ensure(
            matches!(done.changes[0].after, FileState::Regular { mode, .. } if mode == expected),
            format!("{name}: the report says {:?}", done.changes[0].after),
        )?;
    }
    for (name, mode, bit) in [("kept", Mode::Keep, 0), ("executable", Mode::Executable, 0o100)] {
        let change = put_at(site.place(name)?, Precondition::Absent, Content::from(b"#!".to_vec()), mode);
        site.done(vec![change]).await?;
        same(&format!("{name}: the owner's x bit"), &(site.world.mode(&site.at(name))? & 0o100), &bit)?;
        same(&format!("{name}: the owner may write"), &(site.world.mode(&site.at(name))? & 0o600), &0o600)?;
    }
    Ok(())
}

pub(super) async fn directories_are_made_under_absence(site: Site) -> Result<(), Broken> {
    let done = site.done(vec![site.make_dir("a/b/c", Parents::Make)?]).await?;
    let made: Vec<_> = done.changes[0].made.clone();
    ensure(
        made.starts_with(&[site.target("a")?, site.target("a/b")?]),
        format!("the parents that were made: {made:?}"),
    )?;
    same("the state after", &done.changes[0].after, &FileState::Directory)?;
    same("names in the new directory", &site.world.names(&site.at("a/b/c"))?.len(), &0)?;
    let cause = site.refused("a missing parent", vec![site.make_dir("x/y", Parents::Require)?]).await?;
    ensure(matches!(cause, CommitFailure::Op(OpError::NotFound { .. })), format!("the cause is {cause:?}"))?;
    for name in site.one_of_each("all")? {
        site.mismatched(&format!("mkdir {name}"), vec![site.make_dir(&name, Parents::Make)?]).await?;
    }
    Ok(())
}
