use guard_core::policy::{Digest, FileState, Precondition};
use guard_core::port::{CommitFailure, Last, OpError};

use super::super::site::{Broken, Site, broken, content, ensure, same};

pub(super) async fn a_removal_is_under_its_precondition(site: Site) -> Result<(), Broken> {
    for name in site.one_of_each("all")? {
        let demanded: &[u8] = if name == "all/file" { b"other" } else { b"bytes" };
        site.mismatched(&format!("removing {name}"), vec![site.remove(&name, content(demanded))?]).await?;
    }
    site.mismatched("removing nothing", vec![site.remove("none", content(b"bytes"))?]).await?;
    let done = site.done(vec![site.remove("all/file", content(b"bytes"))?]).await?;
    same("the digest before", &done.changes[0].before.digest(), &Some(Digest::of(b"bytes")))?;
    same("the state after", &done.changes[0].after, &FileState::Absent)?;
    site.is_absent("all/file")?;
    site.done(vec![site.remove("all/empty", content(b""))?]).await?;
    site.is_absent("all/empty")
}

pub(super) async fn links_are_removed_as_themselves(site: Site) -> Result<(), Broken> {
    site.file("file", b"bytes")?;
    site.dir("directory")?;
    for (text, name) in [("file", "to-file"), ("nowhere", "dangling"), ("directory", "to-directory")] {
        site.link(text, name)?;
        let is = |text: &str| Precondition::Link { text: text.to_owned() };
        let found = site.mismatched("another text", vec![site.remove(name, is("other"))?]).await?;
        same("what was found", &found, &FileState::Link { text: text.to_owned() })?;
        let done = site.done(vec![site.remove(name, is(text))?]).await?;
        same("the state before", &done.changes[0].before, &FileState::Link { text: text.to_owned() })?;
        site.is_absent(name)?;
    }
    site.holds("file", b"bytes")?;
    site.mismatched(
        "a file as a link",
        vec![site.remove("file", Precondition::Link { text: "file".to_owned() })?],
    )
    .await?;
    let found = site.stat("directory", Last::Follow).await?;
    same("what the link led to", &found.state, &FileState::Directory)
}

pub(super) async fn only_empty_directories_are_removed(site: Site) -> Result<(), Broken> {
    for name in site.one_of_each("all")? {
        if name == "all/directory" {
            continue;
        }
        let cause = site.refused(&format!("rmdir {name}"), vec![site.remove_dir(&name)?]).await?;
        let expected = match &cause {
            CommitFailure::NotEmpty { resolved } => name == "all/full" && *resolved == site.target(&name)?,
            CommitFailure::Op(OpError::NotDirectory { .. }) | CommitFailure::Precondition { .. } => {
                name != "all/full"
            }
            _ => false,
        };
        ensure(expected, format!("rmdir {name}: the cause is {cause:?}"))?;
    }
    site.refused("rmdir of nothing", vec![site.remove_dir("none")?]).await?;
    site.done(vec![site.remove_dir("all/directory")?]).await?;
    site.is_absent("all/directory")
}

pub(super) async fn a_directory_goes_with_what_leaves_it(site: Site) -> Result<(), Broken> {
    for directory in ["d", "d/e", "d/e/f", "d/g"] {
        site.dir(directory)?;
    }
    for file in ["d/moved", "d/e/removed", "d/g/more"] {
        site.file(file, b"bytes")?;
    }
    let changes = |with_more: bool| -> Result<Vec<_>, Broken> {
        let mut changes = vec![
            site.move_to("d/moved", content(b"bytes"), "moved")?,
            site.remove("d/e/removed", content(b"bytes"))?,
        ];
        if with_more {
            changes.push(site.remove("d/g/more", content(b"bytes"))?);
        }
        for directory in ["d/e/f", "d/e", "d/g", "d"] {
            changes.push(site.remove_dir(directory)?);
        }
        Ok(changes)
    };
    let cause = site.refused("rmdir of what holds a file more", changes(false)?).await?;
    same("the cause", &cause, &CommitFailure::NotEmpty { resolved: site.target("d/g")? })?;
    let done = site.done(changes(true)?).await?;
    ensure(done.changes.iter().all(|change| change.left.is_empty()), "nothing is left")?;
    site.is_absent("d")?;
    site.holds("moved", b"bytes")
}

pub(super) async fn a_move_keeps_bytes_and_mode(site: Site) -> Result<(), Broken> {
    for (nth, is) in [content(b"bytes"), Precondition::Exists].into_iter().enumerate() {
        let (from, to) = (format!("from-{nth}"), format!("to-{nth}/deep/file"));
        site.file(&from, b"bytes")?;
        site.world.chmod(&site.at(&from), 0o741)?;
        let done = site.done(vec![site.move_to(&from, is, &to)?]).await?;
        let applied = &done.changes[0];
        site.is_absent(&from)?;
        site.holds(&to, b"bytes")?;
        same("the mode after a move", &site.world.mode(&site.at(&to))?, &0o741)?;
        same("where it was", &applied.resolved, &site.target(&from)?)?;
        same("the digest of what was moved", &applied.before.digest(), &Some(Digest::of(b"bytes")))?;
        same("the digest at the destination", &applied.after.digest(), &Some(Digest::of(b"bytes")))?;
        let made = [site.target(&format!("to-{nth}"))?, site.target(&format!("to-{nth}/deep"))?];
        same("parents that were made", &applied.made, &made.to_vec())?;
    }
    Ok(())
}

pub(super) async fn a_move_is_under_its_precondition(site: Site) -> Result<(), Broken> {
    for name in site.one_of_each("all")? {
        if !matches!(name.as_str(), "all/file" | "all/empty") {
            site.mismatched(
                &format!("moving {name}"),
                vec![site.move_to(&name, Precondition::Exists, "to")?],
            )
            .await?;
        }
        site.mismatched(&format!("moving {name}"), vec![site.move_to(&name, content(b"other"), "to/deep")?])
            .await?;
    }
    site.mismatched("moving nothing", vec![site.move_to("none", Precondition::Exists, "to")?]).await?;
    Ok(())
}

pub(super) async fn a_moves_destination_has_to_be_absent(site: Site) -> Result<(), Broken> {
    site.file("source", b"source")?;
    for name in site.one_of_each("all")? {
        let change = site.move_to("source", content(b"source"), &name)?;
        match site.refused(&format!("moving onto {name}"), vec![change]).await? {
            CommitFailure::Precondition { found, resolved, destination: true } => {
                same("where", &resolved, &site.target(&name)?)?;
                let there = site.stat(&name, Last::Itself).await?.state;
                same(&format!("what was found at {name}"), &found, &there)?;
            }
            other => return broken(format!("moving onto {name}: the cause is {other:?}")),
        }
    }
    Ok(())
}

pub(super) async fn links_are_moved_as_themselves(site: Site) -> Result<(), Broken> {
    site.file("file", b"bytes")?;
    site.link("file", "link")?;
    let is = |text: &str| Precondition::Link { text: text.to_owned() };
    site.mismatched("another text", vec![site.move_to("link", is("other"), "to")?]).await?;
    site.done(vec![site.move_to("link", is("file"), "to")?]).await?;
    same("the link's text", &site.world.readlink(&site.at("to"))?, &b"file".to_vec())?;
    site.is_absent("link")?;
    site.holds("file", b"bytes")
}
