use guard_core::policy::{Digest, FileState, Precondition};
use guard_core::port::{Change, CommitFailure, Last, Parents};

use super::super::site::{Broken, Site, content, ensure, same};

/// One change of each kind, none of which gets in another's way.
fn one_of_each_change(site: &Site) -> Result<Vec<Change>, Broken> {
    Ok(vec![
        site.put("made/deep/created", Precondition::Absent, b"created")?,
        site.put("replaced", content(b"old"), b"new")?,
        site.remove("removed", content(b"gone"))?,
        site.move_to("moved", Precondition::Exists, "moved-to/there")?,
        site.remove("link", Precondition::Link { text: "replaced".to_owned() })?,
        site.make_dir("directory", Parents::Make)?,
        site.remove_dir("empty")?,
        site.put("same", content(b"same"), b"same")?,
    ])
}

fn prepare(site: &Site) -> Result<(), Broken> {
    for (name, bytes) in [("replaced", "old"), ("removed", "gone"), ("moved", "moved"), ("same", "same")] {
        site.file(name, bytes.as_bytes())?;
    }
    site.link("replaced", "link")?;
    site.dir("empty")?;
    site.file("other", b"other")?;
    Ok(())
}

pub(super) async fn a_batch_makes_every_change(site: Site) -> Result<(), Broken> {
    prepare(&site)?;
    let done = site.done(one_of_each_change(&site)?).await?;
    for (path, bytes) in [
        ("made/deep/created", "created"),
        ("replaced", "new"),
        ("moved-to/there", "moved"),
        ("same", "same"),
        ("other", "other"),
    ] {
        site.holds(path, bytes.as_bytes())?;
    }
    for path in ["removed", "moved", "link", "empty"] {
        site.is_absent(path)?;
    }
    let found = site.stat("directory", Last::Follow).await?;
    same("the directory", &found.state, &FileState::Directory)?;
    let paths = ["made/deep/created", "replaced", "removed", "moved", "link", "directory", "empty", "same"];
    for (applied, path) in done.changes.iter().zip(paths) {
        same("the reports' order", &applied.resolved, &site.target(path)?)?;
        same(&format!("{path} was changed"), &applied.publish.changed, &(path != "same"))?;
        ensure(applied.left.is_empty(), format!("{path} leaves {:?}", applied.left))?;
    }
    same("what was moved", &done.changes[3].before.digest(), &Some(Digest::of(b"moved")))
}

pub(super) async fn a_batch_is_all_or_nothing(site: Site) -> Result<(), Broken> {
    prepare(&site)?;
    let count = one_of_each_change(&site)?.len();
    let failing: [(&str, Change); 7] = [
        ("a creation over a file", site.put("other", Precondition::Absent, b"x")?),
        ("a stale replacement", site.put("other", content(b"stale"), b"x")?),
        ("a stale removal", site.remove("other", content(b"stale"))?),
        ("a stale move", site.move_to("other", content(b"stale"), "elsewhere")?),
        ("a move onto a file", site.move_to("other", content(b"other"), "taken")?),
        ("a directory over a file", site.make_dir("other", Parents::Make)?),
        ("a parent that is a file", site.put("other/x", Precondition::Absent, b"x")?),
    ];
    site.file("taken", b"taken")?;
    for at in 0..=count {
        for (what, change) in &failing {
            let mut changes = one_of_each_change(&site)?;
            changes.insert(at, change.clone());
            site.refused(&format!("{what}, as change {at}"), changes).await?;
        }
    }
    // A failure that only shows when the directory's turn has come.
    let mut changes = one_of_each_change(&site)?;
    changes.push(site.remove_dir("full")?);
    site.dir("full")?;
    site.file("full/inside", b"inside")?;
    let cause = site.refused("a full directory at the end", changes).await?;
    same("the cause", &cause, &CommitFailure::NotEmpty { resolved: site.target("full")? })?;
    // Without the failure every change is made: the refusals were for that alone.
    site.done(one_of_each_change(&site)?).await?;
    Ok(())
}

pub(super) async fn one_path_twice_is_refused(site: Site) -> Result<(), Broken> {
    site.dir("d")?;
    site.file("a", b"a")?;
    site.link("d", "link")?;
    let behind =
        Change { place: site.place_at("link/x", "d/x")?, ..site.put("d/x", Precondition::Absent, b"2")? };
    let around =
        Change { place: site.place_at("d/../d/x", "d/x")?, ..site.put("d/x", Precondition::Absent, b"3")? };
    let twice = [
        (
            "two creations",
            "d/x",
            site.put("d/x", Precondition::Absent, b"1")?,
            site.put("d/x", Precondition::Absent, b"2")?,
        ),
        ("one behind a link", "d/x", site.put("d/x", Precondition::Absent, b"1")?, behind),
        ("one by another way", "d/x", site.put("d/x", Precondition::Absent, b"1")?, around),
        ("a move's source", "a", site.move_to("a", content(b"a"), "b")?, site.put("a", content(b"a"), b"2")?),
        (
            "a move's destination",
            "b",
            site.move_to("a", content(b"a"), "b")?,
            site.put("b", Precondition::Absent, b"2")?,
        ),
        (
            "a removal and a change",
            "a",
            site.remove("a", content(b"a"))?,
            site.put("a", content(b"a"), b"2")?,
        ),
    ];
    for (what, path, one, other) in twice {
        let cause = site.refused(what, vec![one.clone(), other.clone()]).await?;
        let expected = CommitFailure::SamePath { resolved: site.target(path)? };
        same(what, &cause, &expected)?;
        let cause = site.refused(what, vec![other, one]).await?;
        same(what, &cause, &expected)?;
    }
    Ok(())
}

pub(super) async fn hundreds_of_changes_fit_a_batch(site: Site) -> Result<(), Broken> {
    let name = |nth: usize| format!("d{}/file-{nth}", nth % 7);
    let bytes = |nth: usize| format!("content of file {nth}\n").into_bytes();
    let changes: Result<Vec<_>, _> =
        (0..300).map(|nth| site.put(&name(nth), Precondition::Absent, &bytes(nth))).collect();
    let done = site.done(changes?).await?;
    for (nth, applied) in done.changes.iter().enumerate() {
        same("the order of the reports", &applied.resolved, &site.target(&name(nth))?)?;
        site.holds(&name(nth), &bytes(nth))?;
    }
    same("directories made", &done.changes.iter().map(|applied| applied.made.len()).sum::<usize>(), &7)
}
