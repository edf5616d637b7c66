//! Requests at once. What has to hold holds for every order in which they are carried out.

use std::sync::Arc;

use guard_core::policy::{Digest, Precondition};
use guard_core::port::{Body, CommitError, CommitFailure, Committed, Part, Tier};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::super::site::{Broken, MAX, Site, broken, content, ensure, same};

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

/// What many commits at once came to.
struct Rush {
    /// The digests that the commits which went through named and made, as far as they had an old version.
    done: Vec<(Option<Digest>, Digest)>,
    /// What failed commits say that they left.
    left: String,
}

impl Rush {
    fn add(
        &mut self,
        is: &Precondition,
        bytes: &[u8],
        outcome: Result<Committed, CommitError>,
    ) -> Result<bool, Broken> {
        let reports = match &outcome {
            Ok(done) => done.changes.iter().flat_map(|applied| applied.left.clone()).collect::<Vec<_>>(),
            Err(error) => error.fates.iter().map(|fate| format!("{fate:?}")).collect(),
        };
        self.left.extend(reports);
        match outcome.map_err(|error| error.cause) {
            Ok(_) => {
                let before = match is {
                    Precondition::Content { digest } => Some(*digest),
                    _ => None,
                };
                self.done.push((before, Digest::of(bytes)));
                Ok(true)
            }
            // Who else works on the file may hold it open while the others look.
            Err(CommitFailure::Precondition { .. } | CommitFailure::OpenForWriting { .. }) => Ok(false),
            Err(other) => broken(format!("a loser's cause is {other:?}")),
        }
    }

    /// Claims what a commit that went through is owed: its bytes are at the name, or superseded by a commit that
    /// named them, or under a name that was reported. Clears what was left.
    fn judge(&self, site: &Site, path: &str) -> Result<(), Broken> {
        let mut there = vec![Digest::of(&site.bytes(path)?)];
        for name in site.world.names(&site.at(""))? {
            let name = String::from_utf8_lossy(&name).into_owned();
            if name != path {
                ensure(self.left.contains(&name), format!("{name} was left, and nobody says so"))?;
                there.push(Digest::of(&site.bytes(&name)?));
                site.world.unlink(&site.at(&name))?;
            }
        }
        let superseded = |made: &Digest| self.done.iter().any(|(named, _)| *named == Some(*made));
        let lost = self.done.iter().filter(|(_, made)| !there.contains(made) && !superseded(made)).count();
        same("commits that went through and whose bytes are gone", &lost, &0)
    }
}

/// Commits by many tasks at once under one precondition, and claims that one of them went through.
async fn rush(site: &Site, path: &str, is: &Precondition) -> Result<(), Broken> {
    let mut tasks = JoinSet::new();
    for nth in 0..MANY {
        let (site, change) = (site.clone(), site.put(path, is.clone(), &bytes(nth))?);
        tasks.spawn(async move { (nth, site.commit(vec![change]).await) });
    }
    let mut rush = Rush { done: Vec::new(), left: String::new() };
    while let Some(ended) = tasks.join_next().await {
        let (nth, outcome) = ended.map_err(|error| Broken::Failed(error.to_string()))?;
        rush.add(is, &bytes(nth), outcome)?;
    }
    same("winners", &rush.done.len(), &1)?;
    rush.judge(site, path)
}

pub(super) async fn one_of_many_creations_wins(site: Site) -> Result<(), Broken> {
    for _ in 0..20 {
        rush(&site, "file", &Precondition::Absent).await?;
        site.world.unlink(&site.at("file"))?;
    }
    Ok(())
}

pub(super) async fn one_of_many_replacements_wins(site: Site) -> Result<(), Broken> {
    needs_the_exchange(&site).await?;
    for round in 0..20 {
        let old = format!("version {round}");
        site.file("file", old.as_bytes())?;
        rush(&site, "file", &content(old.as_bytes())).await?;
        site.world.unlink(&site.at("file"))?;
    }
    Ok(())
}

pub(super) async fn many_additions_lose_none(site: Site) -> Result<(), Broken> {
    needs_the_exchange(&site).await?;
    site.file("log", b"")?;
    let rush = Arc::new(Mutex::new(Rush { done: Vec::new(), left: String::new() }));
    let mut tasks = JoinSet::new();
    for nth in 0..MANY {
        let (site, rush) = (site.clone(), Arc::clone(&rush));
        tasks.spawn(async move { add_line(&site, nth, &rush).await });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.map_err(|error| Broken::Failed(error.to_string()))??;
    }
    let rush = rush.lock().await;
    same("commits that went through", &rush.done.len(), &MANY)?;
    rush.judge(&site, "log")
}

/// Reads, appends and commits until nobody was faster.
async fn add_line(site: &Site, nth: usize, rush: &Mutex<Rush>) -> Result<(), Broken> {
    // Every failed attempt is another's success, so that there are at most as many as others; those that found the
    // file held open do not count, and are few.
    for _ in 0..MANY * 100 {
        let Body::Bytes { bytes: old, .. } = site.read("log", Part::Whole { max: MAX }).await?.body else {
            return broken("the log is not there");
        };
        let new = [old.as_slice(), format!("line {nth}\n").as_bytes()].concat();
        let outcome = site.commit(vec![site.put("log", content(&old), &new)?]).await;
        if rush.lock().await.add(&content(&old), &new, outcome)? {
            return Ok(());
        }
        tokio::task::yield_now().await;
    }
    broken(format!("line {nth} was never added"))
}
