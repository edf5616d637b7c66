use guard_core::policy::Precondition;
use guard_core::port::{CommitFailure, Last, OpError, Part};

use super::super::site::{Broken, MAX, Site, content, ensure, same};

const HOSTILE: [&str; 24] = [
    "new\nline",
    "trailing\n",
    "\n",
    " ",
    "trailing ",
    "-rf",
    "--",
    "-",
    "'",
    "\"",
    "`id`",
    "$(id)",
    "$HOME",
    "~",
    "~root",
    "*",
    "[a-z]?",
    "back\\slash",
    "\\x41",
    "semi;colon",
    "a\u{301}\u{200b}",
    "\u{1b}[31m",
    "%2e%2e",
    "...",
];

pub(super) async fn hostile_names_are_only_names(site: Site) -> Result<(), Broken> {
    for name in HOSTILE {
        for path in [name.to_owned(), format!("d{name}/{name}")] {
            let first = name.as_bytes();
            site.done(vec![site.put(&path, Precondition::Absent, first)?]).await?;
            site.holds(&path, first)?;
            site.reads(&path, first).await?;
            let found = site.stat(&path, Last::Itself).await?;
            same("the resolved path", &found.resolved, &site.target(&path)?)?;
            site.done(vec![site.put(&path, content(first), b"second")?]).await?;
            site.holds(&path, b"second")?;
            let moved = format!("{path}.moved");
            site.done(vec![site.move_to(&path, content(b"second"), &moved)?]).await?;
            site.holds(&moved, b"second")?;
            site.done(vec![site.remove(&moved, content(b"second"))?]).await?;
            site.is_absent(&moved)?;
        }
    }
    same("names at the end", &site.world.names(&site.at(""))?.len(), &HOSTILE.len())
}

pub(super) async fn too_long_is_told(site: Site) -> Result<(), Broken> {
    let name = "n".repeat(256);
    let deep = format!("{}end", "deep/".repeat(900));
    for path in [&name, &format!("d/{name}"), &deep] {
        same("stat", &site.stat(path, Last::Follow).await, &Err(OpError::NameTooLong))?;
        let outcome = site.read(path, Part::Whole { max: MAX }).await;
        same("read", &outcome, &Err(OpError::NameTooLong))?;
        let mut change = site.put("short", Precondition::Absent, b"x")?;
        change.place.path.clone_from(path);
        let cause = site.refused("a name that is too long", vec![change]).await?;
        same("put", &cause, &CommitFailure::Op(OpError::NameTooLong))?;
    }
    let longest = "n".repeat(255);
    site.done(vec![site.put(&longest, Precondition::Absent, b"x")?]).await?;
    site.done(vec![site.put(&longest, content(b"x"), b"y")?]).await?;
    site.holds(&longest, b"y")?;
    site.done(vec![site.remove(&longest, content(b"y"))?]).await?;
    same("names left", &site.world.names(&site.at(""))?.len(), &0)
}

pub(super) async fn nul_is_refused(site: Site) -> Result<(), Broken> {
    site.file("file", b"bytes")?;
    for path in ["file\0", "file\0.txt", "\0"] {
        let outcome = site.stat(path, Last::Follow).await;
        ensure(outcome.is_err(), format!("a stat of {path:?} says {outcome:?}"))?;
        let mut change = site.put("file", content(b"bytes"), b"new")?;
        path.clone_into(&mut change.place.path);
        site.refused("a NUL", vec![change]).await?;
    }
    Ok(())
}
