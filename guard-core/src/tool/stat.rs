//! `stat`: what is at one path or at several, in one request.

use guard_policy::{Act, Code, Delivered, Fact, FileState, Ranges, Refusal, TargetPath, Trailing};
use schemars::JsonSchema;
use serde::Serialize;

use crate::port::{Depth, Found, Last, OpError};
use crate::request::{Asked, Known, Request, Site};
use crate::{Failure, StatPaths};

/// What is at the paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StatResult {
    /// One for each path, in order.
    pub paths: Vec<PathFacts>,
    /// Requests to the target that the call took.
    pub round_trips: u32,
}

/// What is at one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PathFacts {
    /// The path as it was requested.
    pub path: String,
    /// Where it leads.
    pub resolved: TargetPath,
    /// What is there.
    pub state: FileState,
    /// The link's text, where the path itself is a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Why what the link leads to cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Refusal>,
}

pub(crate) async fn stat(mut request: Request, args: StatPaths) -> Result<StatResult, Failure> {
    let requested = match (args.path, args.paths) {
        (Some(path), paths) if paths.is_empty() => vec![path],
        (None, paths) if !paths.is_empty() => paths,
        _ => return Err(Refusal::new(Code::InvalidArguments, "", "give either path or paths").into()),
    };
    let mut sites = Vec::with_capacity(requested.len());
    for path in &requested {
        let site = request.locate(path, Last::Itself).await?;
        request.judge(&site, Asked::plain(Act::Stat), Known::NOTHING)?;
        sites.push(site);
    }
    let began = request.actor.views().begin();
    // Of each path the name itself, and what it leads to, which is the same unless it is a link: one request.
    let digest = request.digest_depth();
    let asks: Vec<(&Site, Last, Depth)> = sites
        .iter()
        .flat_map(|site| [(site, Last::Itself, Depth::State), (site, Last::Follow, digest)])
        .collect();
    let mut found = request.stat_all(&asks).await?.into_iter();
    let mut paths = Vec::with_capacity(sites.len());
    for site in &sites {
        // `stat_all` gives as many answers as were asked for.
        let (Some(itself), Some(followed)) = (found.next(), found.next()) else { break };
        paths.push(told(&request, site, itself, followed)?);
    }
    if request.records() {
        for told in &paths {
            record(&request, told, began);
        }
    }
    let paths = paths.into_iter().map(|told| told.facts).collect();
    Ok(StatResult { paths, round_trips: request.trips })
}

/// What is told of one path.
struct Told {
    facts: PathFacts,
    /// Where the link is, if the path is one.
    link_at: Option<TargetPath>,
}

fn told(
    request: &Request,
    site: &Site,
    itself: Result<Found, OpError>,
    followed: Result<Found, OpError>,
) -> Result<Told, Failure> {
    let refuse = |error: OpError| request.op_error(&site.requested, &error);
    // What ends as a directory's name does is that of what a link leads to.
    let itself = if site.trailing == Trailing::Directory { followed.clone() } else { itself };
    let itself = itself.map_err(refuse)?;
    let facts = |found: Found| PathFacts {
        path: site.requested.clone(),
        resolved: found.resolved,
        state: found.state,
        link: None,
        problem: None,
    };
    let FileState::Link { text } = &itself.state else {
        let facts = facts(followed.map_err(refuse)?);
        judge(request, site, &facts.resolved)?;
        let is_directory = matches!(facts.state, FileState::Directory | FileState::Absent);
        if site.trailing == Trailing::Directory && !is_directory {
            return Err(Refusal::new(Code::NotADirectory, &site.requested, "").into());
        }
        return Ok(Told { facts, link_at: None });
    };
    judge(request, site, &itself.resolved)?;
    let (link, link_at) = (Some(text.clone()), Some(itself.resolved.clone()));
    let facts = match followed {
        Ok(found) => {
            judge(request, site, &found.resolved)?;
            PathFacts { link, ..facts(found) }
        }
        // The link itself is in the workspace and can be deleted; what it leads to is not told.
        Err(error) => PathFacts { link, problem: Some(refuse(error).refusal), ..facts(itself) },
    };
    Ok(Told { facts, link_at })
}

/// Judges where a path led, if that is elsewhere than its text.
fn judge(request: &Request, site: &Site, resolved: &TargetPath) -> Result<(), Failure> {
    if *resolved != site.expect {
        let mut site = site.clone();
        site.redirect(resolved.clone())?;
        request.judge(&site, Asked::plain(Act::Stat), Known::NOTHING)?;
    }
    Ok(())
}

fn record(request: &Request, told: &Told, began: guard_policy::Ticket) {
    let mut views = request.actor.views();
    let facts = &told.facts;
    if let (Some(text), Some(at)) = (&facts.link, &told.link_at) {
        views.record_link(at, began, text.clone());
    }
    match &facts.state {
        FileState::Regular { len, digest: Some(digest), .. } => {
            let delivered =
                Delivered { digest: *digest, len: *len, ranges: Ranges::new(), shape: Fact::Unknown };
            views.record(&facts.resolved, began, delivered);
        }
        FileState::Absent => views.record_absent(&facts.resolved, began),
        _ => {}
    }
}
