//! Requests at once. What has to hold holds for every order in which they are carried out.

use guard_core::policy::{FileState, Precondition};
use guard_core::port::{CommitFailure, Last, Tier};
use tokio::task::JoinSet;

use super::super::site::{Broken, MAX, Site, broken, content, same};

const MANY: usize = 16;

fn bytes(nth: usize) -> Vec<u8> {
    format!("{nth}\n").repeat(1000).into_bytes()
}

/// Leaves a case that a weaker tier cannot show: it narrows the race between writers and does not close it.
async fn needs_the_exchange(site: &Site) -> Result<(), Broken> {
    site.file("probe", b"old")?;
    let done = site.done(vec![site.put("probe", content(b"old"), b"new")?]).await?;
    site.world.unlink(&site.at("probe"))?;
    match done.changes[0].publish.tier {
        Tier::Exchange => Ok(()),
        tier => Err(Broken::Skipped(format!("tier {tier:?} narrows the race and does not close it"))),
    }
}

/// Commits by many tasks at once under one precondition; returns who won.
async fn rush(site: &Site, path: &str, is: &Precondition) -> Result<usize, Broken> {
    let mut tasks = JoinSet::new();
    for nth in 0..MANY {
        let (site, change) = (site.clone(), site.put(path, is.clone(), &bytes(nth))?);
        tasks.spawn(async move { (nth, site.commit(vec![change]).await) });
    }
    let mut winners = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        match ended.map_err(|error| Broken::Failed(error.to_string()))? {
            (nth, Ok(_)) => winners.push(nth),
            // Who else works on the file may hold it open while the others look.
            (_, Err(error)) => match error.cause {
                CommitFailure::Precondition { .. } | CommitFailure::OpenForWriting { .. } => {}
                other => return broken(format!("a loser's cause is {other:?}")),
            },
        }
    }
    same(&format!("winners ({winners:?})"), &winners.len(), &1)?;
    let names = site.world.names(&site.at(""))?;
    same("names in the directory", &names, &vec![path.as_bytes().to_vec()])?;
    Ok(winners[0])
}

pub(super) async fn one_of_many_creations_wins(site: Site) -> Result<(), Broken> {
    for _ in 0..20 {
        let winner = rush(&site, "file", &Precondition::Absent).await?;
        site.holds("file", &bytes(winner))?;
        site.world.unlink(&site.at("file"))?;
    }
    Ok(())
}

pub(super) async fn one_of_many_replacements_wins(site: Site) -> Result<(), Broken> {
    needs_the_exchange(&site).await?;
    let mut current = b"the first".to_vec();
    site.file("file", &current)?;
    for _ in 0..20 {
        // What was there may be the bytes of a task that commits the same again: an unchanged file has no one winner.
        let fresh = [current.as_slice(), b"."].concat();
        site.done(vec![site.put("file", content(&current), &fresh)?]).await?;
        current = bytes(rush(&site, "file", &content(&fresh)).await?);
        site.holds("file", &current)?;
    }
    Ok(())
}

pub(super) async fn many_additions_all_land(site: Site) -> Result<(), Broken> {
    needs_the_exchange(&site).await?;
    site.file("log", b"")?;
    let mut tasks = JoinSet::new();
    for nth in 0..MANY {
        let site = site.clone();
        tasks.spawn(async move { add_line(&site, nth).await });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.map_err(|error| Broken::Failed(error.to_string()))??;
    }
    let log = String::from_utf8_lossy(&site.bytes("log")?).into_owned();
    let mut lines: Vec<&str> = log.lines().collect();
    lines.sort_unstable();
    let mut expected: Vec<String> = (0..MANY).map(|nth| format!("line {nth}")).collect();
    expected.sort_unstable();
    same("the lines of all", &lines, &expected)?;
    let state = site.stat("log", Last::Follow).await?.state;
    match state {
        FileState::Regular { len, .. } if len < MAX => Ok(()),
        other => broken(format!("the log is {other:?}")),
    }
}

/// Reads, appends and commits until nobody was faster.
async fn add_line(site: &Site, nth: usize) -> Result<(), Broken> {
    // Every failed attempt is another's success, so that there are at most as many as others; those that found the
    // file held open do not count, and are few.
    for _ in 0..MANY * 100 {
        let part = guard_core::port::Part::Whole { max: MAX };
        let guard_core::port::Body::Bytes { bytes: old, .. } = site.read("log", part).await?.body else {
            return broken("the log is not there");
        };
        let new = [old.as_slice(), format!("line {nth}\n").as_bytes()].concat();
        match site.commit(vec![site.put("log", content(&old), &new)?]).await {
            Ok(_) => return Ok(()),
            Err(error) => match error.cause {
                CommitFailure::Precondition { .. } | CommitFailure::OpenForWriting { .. } => {}
                other => return broken(format!("the cause is {other:?}")),
            },
        }
        tokio::task::yield_now().await;
    }
    broken(format!("line {nth} was never added"))
}
