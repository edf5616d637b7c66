//! `stat`: what is at one path or at several, in one request.

use guard_policy::{Act, Code, Delivered, Fact, FileState, Ranges, Refusal, TargetPath};
use schemars::JsonSchema;
use serde::Serialize;

use crate::port::{Found, Last, OpError};
use crate::refuse::op_error;
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
    // Of each path the name itself, and what it leads to: one request.
    let asks: Vec<(&Site, Last)> =
        sites.iter().flat_map(|site| [(site, Last::Itself), (site, Last::Follow)]).collect();
    let mut found = request.stat_all(&asks, request.digest_depth()).await?.into_iter();
    let mut paths = Vec::with_capacity(sites.len());
    for site in &sites {
        // `stat_all` gives as many answers as were asked for.
        let (Some(itself), Some(followed)) = (found.next(), found.next()) else { break };
        paths.push(facts(&request, site, itself, followed)?);
    }
    if request.records() {
        for (site, facts) in sites.iter().zip(&paths) {
            record(&request, site, facts, began);
        }
    }
    Ok(StatResult { paths, round_trips: request.trips })
}

fn facts(
    request: &Request,
    site: &Site,
    itself: Result<Found, OpError>,
    followed: Result<Found, OpError>,
) -> Result<PathFacts, Failure> {
    let itself = itself.map_err(|error| op_error(&site.requested, &error))?;
    let mut site = site.clone();
    let at = |found: Found, link| PathFacts {
        path: site.requested.clone(),
        resolved: found.resolved,
        state: found.state,
        link,
        problem: None,
    };
    let FileState::Link { text } = &itself.state else {
        let facts = at(itself, None);
        return judged(request, &mut site, facts);
    };
    let link = Some(text.clone());
    match followed {
        Ok(found) => {
            let facts = at(found, link);
            judged(request, &mut site, facts)
        }
        // The link itself is in the workspace and can be deleted; what it leads to is not told.
        Err(error) => {
            let mut facts = at(itself, link);
            facts.problem = Some(op_error(&site.requested, &error).refusal);
            judged(request, &mut site, facts)
        }
    }
}

fn judged(request: &Request, site: &mut Site, facts: PathFacts) -> Result<PathFacts, Failure> {
    if facts.resolved != site.expect {
        site.redirect(facts.resolved.clone())?;
        request.judge(site, Asked::plain(Act::Stat), Known::NOTHING)?;
    }
    Ok(facts)
}

fn record(request: &Request, site: &Site, facts: &PathFacts, began: guard_policy::Ticket) {
    let mut views = request.actor.views();
    if let Some(text) = &facts.link {
        views.record_link(&site.expect, began, text.clone());
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
