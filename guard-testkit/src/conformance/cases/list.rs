use guard_core::policy::{FileState, OtherKind};
use guard_core::port::{Entry, OpError, Page};

use super::super::site::{Broken, Site, broken, ensure, same};

/// Lists in pages of `limit`.
async fn all(site: &Site, path: &str, limit: u64) -> Result<Vec<Entry>, Broken> {
    let (mut entries, mut after) = (Vec::new(), None);
    loop {
        let page = site.list(path, Page { after, limit }).await?;
        same("the directory's path", &page.resolved, &site.target(path)?)?;
        let count = page.entries.len() as u64;
        ensure(count <= limit, format!("a page of {count} where {limit} were asked for"))?;
        ensure(page.next.is_none() || count == limit, "a page that is not full is the last")?;
        entries.extend(page.entries);
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(entries),
        }
    }
}

pub(super) async fn names_are_sorted_by_bytes_and_paged(site: Site) -> Result<(), Broken> {
    same("an empty directory", &all(&site, "", 10).await?.len(), &0)?;
    site.dir("d")?;
    let mut names: Vec<String> = (0..23).map(|nth| format!("file-{nth}")).collect();
    names.extend(["Z", "a", "\u{e9}", ".hidden", "-dash", "with space", "~", "new\nline"].map(str::to_owned));
    for name in &names {
        site.file(&format!("d/{name}"), b"")?;
    }
    names.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
    for limit in [1, 2, 7, 30, 31, 32, 1000] {
        let listed: Vec<String> = all(&site, "d", limit).await?.into_iter().map(|entry| entry.name).collect();
        same(&format!("names in pages of {limit}"), &listed, &names)?;
    }
    // A name that goes away between two pages does not confuse the next one.
    let first = site.list("d", Page { after: None, limit: 5 }).await?;
    site.world.unlink(&site.at(&format!("d/{}", names[4])))?;
    let second = site.list("d", Page { after: first.next, limit: 1000 }).await?;
    let listed: Vec<String> = second.entries.into_iter().map(|entry| entry.name).collect();
    same("the page after a name that went away", &listed, &names[5..].to_vec())
}

pub(super) async fn entries_are_what_lstat_says(site: Site) -> Result<(), Broken> {
    site.one_of_each("all")?;
    site.world.chmod(&site.at("all/file"), 0o640)?;
    for entry in all(&site, "all", 100).await? {
        let expected = match entry.name.as_str() {
            "file" => FileState::Regular { len: 5, mode: 0o640, nlink: 1, digest: None },
            "directory" | "full" => FileState::Directory,
            "link" => FileState::Link { text: "file".to_owned() },
            "dangling" => FileState::Link { text: "nowhere".to_owned() },
            "link-to-directory" => FileState::Link { text: "directory".to_owned() },
            "fifo" => FileState::Other { what: OtherKind::Fifo },
            "socket" => FileState::Other { what: OtherKind::Socket },
            "empty" => {
                ensure(
                    matches!(entry.state, FileState::Regular { len: 0, digest: None, .. }),
                    "an empty file",
                )?;
                continue;
            }
            other => return broken(format!("a name that nobody made: {other}")),
        };
        same(&entry.name, &entry.state, &expected)?;
        ensure(entry.addressable, format!("{} can be used in a path", entry.name))?;
    }
    Ok(())
}

pub(super) async fn names_that_are_not_utf8_are_listed(site: Site) -> Result<(), Broken> {
    let raw: [&[u8]; 4] = [b"\xff", b"a\\b\xfe", b"back\\slash", b"caf\xe9"];
    for name in raw {
        let made = site.world.create(&[&site.at("")[..], b"/", name].concat(), b"");
        // EILSEQ: a filesystem that takes only UTF-8 (APFS).
        if made.as_ref().is_err_and(|error| error.kind() != std::io::ErrorKind::Unsupported) {
            return Err(Broken::Skipped(format!(
                "the target's filesystem does not take such names: {made:?}"
            )));
        }
        made?;
    }
    for limit in [1, 2, 100] {
        let listed: Vec<(String, bool)> =
            all(&site, "", limit).await?.into_iter().map(|entry| (entry.name, entry.addressable)).collect();
        let expected = [("a\\\\b\\xFE", false), ("back\\slash", true), ("caf\\xE9", false), ("\\xFF", false)];
        let expected: Vec<_> = expected.map(|(name, addressable)| (name.to_owned(), addressable)).into();
        same(&format!("names in pages of {limit}"), &listed, &expected)?;
    }
    Ok(())
}

pub(super) async fn what_is_no_directory_is_not_listed(site: Site) -> Result<(), Broken> {
    let mut names = site.one_of_each("all")?;
    names.retain(|name| !matches!(name.as_str(), "all/directory" | "all/full" | "all/link-to-directory"));
    for name in names {
        match site.list(&name, Page { after: None, limit: 10 }).await {
            Err(OpError::NotDirectory { .. }) => {}
            // A dangling link leads to nothing that could be listed.
            Err(OpError::NotFound { .. }) if name == "all/dangling" => {}
            other => return broken(format!("listing {name}: {other:?}")),
        }
    }
    for name in ["none", "none/deep"] {
        match site.list(name, Page { after: None, limit: 10 }).await {
            Err(OpError::NotFound { .. }) => {}
            other => return broken(format!("listing {name}: {other:?}")),
        }
    }
    Ok(())
}
