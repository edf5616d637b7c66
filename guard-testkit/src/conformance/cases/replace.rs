use guard_core::policy::{Digest, FileState, Precondition};
use guard_core::port::{Change, CommitFailure, Content, Displaced, Last, Mode, OpError, Parents, Tier};

use super::super::site::{Broken, Site, batch, broken, content, ensure, itself, noise, put_at, same};

pub(super) async fn a_replacement_is_exact_and_keeps_the_mode(site: Site) -> Result<(), Broken> {
    for (len, mode) in [(0, 0o644), (3, 0o600), (97 * 1024, 0o755), (2 << 20, 0o640)] {
        let (name, new) = (format!("file-{len}"), noise(len));
        site.file(&name, b"old bytes")?;
        site.world.chmod(&site.at(&name), mode)?;
        let done = site.done(vec![site.put(&name, content(b"old bytes"), &new)?]).await?;
        let applied = &done.changes[0];
        site.holds(&name, &new)?;
        same("the mode after a replacement", &site.world.mode(&site.at(&name))?, &mode)?;
        same("the digest before", &applied.before.digest(), &Some(Digest::of(b"old bytes")))?;
        same("the digest after", &applied.after.digest(), &Some(Digest::of(&new)))?;
        ensure(applied.publish.changed, "a replacement is a change")?;
        ensure(applied.publish.lease.is_some(), "a replacement tells whether it had a lease")?;
        ensure(applied.left.is_empty(), format!("a clean replacement leaves {:?}", applied.left))?;
    }
    let names = site.world.names(&site.at(""))?;
    same("names after four replacements", &names.len(), &4)
}

pub(super) async fn other_bytes_are_refused(site: Site) -> Result<(), Broken> {
    for name in site.one_of_each("all")? {
        // `file` has these bytes, so that a link to it leads to exactly what is demanded.
        let demanded: &[u8] = if name == "all/file" { b"other" } else { b"bytes" };
        let change = site.put(&name, content(demanded), b"new")?;
        let change = Change { place: itself(change.place), ..change };
        let found = site.mismatched(&format!("replacing {name}"), vec![change]).await?;
        let there = site.stat(&name, Last::Itself).await?.state;
        same(&format!("what was found at {name}"), &found, &there)?;
    }
    let found = site.mismatched("replacing nothing", vec![site.put("none", content(b""), b"new")?]).await?;
    same("what was found", &found, &FileState::Absent)?;
    site.is_absent("none")?;
    let found = site
        .mismatched("bytes that only begin so", vec![site.put("all/file", content(b"byte"), b"new")?])
        .await?;
    same("the digest of what was found", &found.digest(), &Some(Digest::of(b"bytes")))
}

pub(super) async fn identical_bytes_are_not_replaced(site: Site) -> Result<(), Broken> {
    site.file("a", b"bytes")?;
    site.world.link(&site.at("a"), &site.at("b"))?;
    let before = site.snapshot()?;
    let done = site.done(vec![site.put("a", content(b"bytes"), b"bytes")?]).await?;
    ensure(!done.changes[0].publish.changed, "identical bytes are reported as unchanged")?;
    same("the digest after", &done.changes[0].after.digest(), &Some(Digest::of(b"bytes")))?;
    site.unchanged(&before, "a commit of identical bytes")?;
    let state = site.stat("a", Last::Follow).await?.state;
    ensure(
        matches!(state, FileState::Regular { nlink: 2, .. }),
        format!("still one inode of two names: {state:?}"),
    )
}

pub(super) async fn other_names_keep_the_old_bytes(site: Site) -> Result<(), Broken> {
    site.file("a", b"old")?;
    site.world.link(&site.at("a"), &site.at("b"))?;
    let done = site.done(vec![site.put("a", content(b"old"), b"new")?]).await?;
    same("the other names", &done.changes[0].kept.other_names, &1)?;
    site.holds("a", b"new")?;
    site.holds("b", b"old")
}

pub(super) async fn displaced_bytes_come_back_where_asked_for(site: Site) -> Result<(), Broken> {
    for (max, back) in [(3, Some(b"old".to_vec())), (2, None)] {
        let name = format!("file-{max}");
        site.file(&name, b"old")?;
        let mut changes = batch(vec![site.put(&name, content(b"old"), b"new")?]);
        changes.displaced = Displaced::Return { max };
        let done = site.ops.commit(changes).await?;
        same(&format!("displaced bytes up to {max}"), &done.changes[0].displaced, &back)?;
    }
    site.file("plain", b"old")?;
    let done = site.done(vec![site.put("plain", content(b"old"), b"new")?]).await?;
    same("displaced bytes that nobody asked for", &done.changes[0].displaced, &None)?;
    site.file("removed", b"old")?;
    let mut changes = batch(vec![site.remove("removed", content(b"old"))?]);
    changes.displaced = Displaced::Return { max: 3 };
    let done = site.ops.commit(changes).await?;
    same("displaced bytes of a removal", &done.changes[0].displaced, &Some(b"old".to_vec()))?;
    // Of a batch each change has its own, and what displaces nothing has none.
    for name in ["empty", "moved", "same", "over", "gone"] {
        site.file(name, if name == "empty" { b"" } else { name.as_bytes() })?;
    }
    site.dir("directory")?;
    site.link("over", "link")?;
    let mut changes = batch(vec![
        site.put("created", Precondition::Absent, b"new")?,
        site.put("over", content(b"over"), b"new")?,
        site.put("empty", content(b""), b"new")?,
        site.put("same", content(b"same"), b"same")?,
        site.remove("gone", content(b"gone"))?,
        site.remove("link", Precondition::Link { text: "over".to_owned() })?,
        site.move_to("moved", content(b"moved"), "to")?,
        site.make_dir("made", Parents::Require)?,
        site.remove_dir("directory")?,
    ]);
    changes.displaced = Displaced::Return { max: 100 };
    let done = site.ops.commit(changes).await?;
    let back = |bytes: &[u8]| Some(bytes.to_vec());
    let expected = [None, back(b"over"), back(b""), None, back(b"gone"), None, None, None, None];
    for (change, expected) in done.changes.iter().zip(expected) {
        same(&format!("displaced bytes of {}", change.resolved), &change.displaced, &expected)?;
    }
    Ok(())
}

pub(super) async fn danger_any_keeps_what_it_displaces(site: Site) -> Result<(), Broken> {
    site.file("file", b"unseen")?;
    let done = site.done(vec![site.put("file", Precondition::DangerAny, b"new")?]).await?;
    site.holds("file", b"new")?;
    let left = &done.changes[0].left;
    let mut kept = 0;
    for name in site.world.names(&site.at(""))? {
        let name = String::from_utf8_lossy(&name).into_owned();
        if name != "file" && left.iter().any(|text| text.contains(&name)) {
            site.holds(&name, b"unseen")?;
            kept += 1;
        }
    }
    same(&format!("names under which the displaced bytes are, by the report {left:?}"), &kept, &1)?;
    site.done(vec![site.put("fresh", Precondition::DangerAny, b"new")?]).await?;
    site.holds("fresh", b"new")?;
    for name in site.one_of_each("all")? {
        if name != "all/file" && name != "all/empty" {
            let change = site.put(&name, Precondition::DangerAny, b"new")?;
            let change = Change { place: itself(change.place), ..change };
            site.mismatched(&format!("replacing {name} whatever it is"), vec![change]).await?;
        }
    }
    Ok(())
}

pub(super) async fn a_read_only_file_is_refused(site: Site) -> Result<(), Broken> {
    site.needs_permissions()?;
    site.file("fixed", b"old")?;
    site.world.chmod(&site.at("fixed"), 0o444)?;
    let cause =
        site.refused("replacing a 0444 file", vec![site.put("fixed", content(b"old"), b"new")?]).await?;
    same("the cause", &cause, &CommitFailure::ReadOnlyFile { resolved: site.target("fixed")? })
}

pub(super) async fn a_tier_that_is_required_is_had_or_refused(site: Site) -> Result<(), Broken> {
    let strongest = site.ops.capabilities().tier;
    site.file("old", b"old")?;
    for required in [Tier::InPlace, Tier::CreatedNonatomic, Tier::Window, Tier::Exchange] {
        let name = format!("new-{required:?}");
        let change =
            put_at(site.place(&name)?, Precondition::Absent, Content::from(b"x".to_vec()), Mode::Set(0o600));
        let mut changes = batch(vec![change, site.put("old", content(b"old"), b"old")?]);
        changes.require = Some(required);
        let before = site.snapshot()?;
        match site.ops.commit(changes).await {
            Ok(done) => ensure(
                done.changes.iter().all(|applied| applied.publish.tier >= required),
                format!("{required:?} was required, and the report says {:?}", done.changes),
            )?,
            Err(error) => {
                site.unchanged(&before, "a tier that is not had")?;
                ensure(
                    matches!(error.cause, CommitFailure::TierUnavailable { available } if available < required)
                        || matches!(error.cause, CommitFailure::Op(OpError::Unsupported { .. })),
                    format!("the cause is {:?}", error.cause),
                )?;
            }
        }
    }
    let done = site.done(vec![site.put("old", content(b"old"), b"new")?]).await?;
    let tier = done.changes[0].publish.tier;
    if tier > strongest {
        return broken(format!("{tier:?} is reported where {strongest:?} is the strongest"));
    }
    Ok(())
}
