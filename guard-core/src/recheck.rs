//! What an actor has seen, compared with what is there now: views that were stored, and drift.

use guard_policy::{Code, Digest, FileState, Held, Refusal, TargetPath, Tool, View, Views};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::actor::Actor;
use crate::port::{Depth, Last, OpError, TargetId};
use crate::request::{Request, Site};

/// What an actor has seen, and where: to be stored and taken over by an actor of a later process.
///
/// # Security
///
/// It holds paths and digests and never content. Whoever can change it decides what counts as seen, so that it belongs
/// where the tools cannot reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedViews {
    /// Whose they are: what one actor has seen licenses no other.
    pub actor: String,
    /// Where the paths are.
    pub target: TargetId,
    /// The views, with their version.
    pub views: Views,
}

/// What came of taking over views that were stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Resumed {
    /// Paths whose version is still there: they need not be read again.
    pub kept: Vec<TargetPath>,
    /// Paths that are something else now, or that this actor cannot ask about.
    pub dropped: Vec<TargetPath>,
    /// Requests to the target that it took.
    pub round_trips: u32,
}

/// What changed since an actor saw it, other than by its own calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Drift {
    /// What is not as it was seen, and was not told before.
    pub changed: Vec<Drifted>,
    /// Paths of which the target could not tell.
    pub unknown: Vec<TargetPath>,
    /// Requests to the target that it took.
    pub round_trips: u32,
}

/// One path that is not as it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Drifted {
    /// Where it is.
    pub path: TargetPath,
    /// What the actor has seen there.
    pub seen: SeenVersion,
    /// What is there now.
    pub now: FileState,
}

/// A version that was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SeenVersion {
    /// A regular file.
    Regular {
        /// Its digest.
        digest: Digest,
    },
    /// A symbolic link.
    Link {
        /// Its text.
        text: String,
    },
}

impl From<&View> for SeenVersion {
    fn from(view: &View) -> Self {
        match view {
            View::File { digest, .. } | View::Vouched { digest } => Self::Regular { digest: *digest },
            View::Link { text } => Self::Link { text: text.clone() },
        }
    }
}

/// Takes over what was stored, as far as it is still there.
pub(crate) async fn resume(actor: &Actor, saved: SavedViews) -> Result<Resumed, Failure> {
    let target = actor.state().guard.ops.target();
    if saved.target != *target {
        let detail = format!("the views are of {}, and this is {target}", saved.target);
        return Err(Refusal::new(Code::TargetChanged, "", &detail).into());
    }
    if saved.actor != actor.name() {
        let detail = format!("the views are of the actor `{}`, and this is `{}`", saved.actor, actor.name());
        return Err(Refusal::new(Code::InvalidArguments, "", &detail).into());
    }
    if !actor.records() {
        let dropped = saved.views.iter().map(|(path, _)| path.clone()).collect();
        return Ok(Resumed { kept: Vec::new(), dropped, round_trips: 0 });
    }
    let began = actor.state().views().begin();
    let compared = ask(actor, &saved.views, Locking::Free).await?;
    let mut resumed = Resumed { kept: Vec::new(), dropped: compared.beyond, round_trips: compared.trips };
    let mut views = actor.state().views();
    for Compared { path, view, now } in compared.asked {
        if now.is_some_and(|now| view.is_of(&now)) && views.restore(&path, began, view) {
            resumed.kept.push(path);
        } else {
            resumed.dropped.push(path);
        }
    }
    Ok(resumed)
}

/// Tells what changed since it was seen.
pub(crate) async fn drift(actor: &Actor) -> Result<Drift, Failure> {
    let (seen, began) = {
        let views = actor.state().views();
        (if actor.records() { views.clone() } else { Views::new() }, views.begin())
    };
    let first = ask(actor, &seen, Locking::Free).await?;
    let mut drift = Drift { changed: Vec::new(), unknown: first.beyond, round_trips: first.trips };
    let mut suspects = Vec::new();
    for Compared { path, view, now } in first.asked {
        match now {
            // What was told of it before is over.
            Some(now) if view.is_of(&now) => {
                let mut views = actor.state().views();
                if views.get(&path).is_some_and(|current| current.is_of_same_version(&view)) {
                    views.has_drifted(&path, began, &now);
                }
            }
            _ => suspects.push(path),
        }
    }
    if suspects.is_empty() {
        return Ok(drift);
    }
    // Once more, under the locks: a commit of this actor that was under way is over by then, with its views.
    let seen = actor.state().views().only(&suspects);
    let began = actor.state().views().begin();
    let again = ask(actor, &seen, Locking::Locked).await?;
    drift.round_trips += again.trips;
    drift.unknown.extend(again.beyond);
    let mut views = actor.state().views();
    for Compared { path, view, now } in again.asked {
        // What this actor read meanwhile it knows.
        if !views.get(&path).is_some_and(|current| current.is_of_same_version(&view)) {
            continue;
        }
        match now {
            // Above the limit there is no digest, so that nobody can tell.
            None | Some(FileState::Regular { digest: None, .. }) => drift.unknown.push(path),
            Some(now) if views.has_drifted(&path, began, &now) => {
                drift.changed.push(Drifted { path, seen: SeenVersion::from(&view), now });
            }
            Some(_) => {}
        }
    }
    Ok(drift)
}

/// Whether commits of this process are waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Locking {
    Free,
    Locked,
}

/// A view beside what is there.
struct Compared {
    path: TargetPath,
    view: View,
    /// `None` where the target could not tell, or where the path leads elsewhere by now.
    now: Option<FileState>,
}

struct Answers {
    asked: Vec<Compared>,
    /// Paths that this actor may not ask about.
    beyond: Vec<TargetPath>,
    trips: u32,
}

/// Asks about all paths in one request.
async fn ask(actor: &Actor, views: &Views, locking: Locking) -> Result<Answers, Failure> {
    let paths: Vec<String> = views.iter().map(|(path, _)| path.to_string()).collect();
    let (request, views) = (actor.request(Tool::Stat, paths), views.clone());
    request.audited(|request| answers(request, views, locking)).await
}

async fn answers(mut request: Request, views: Views, locking: Locking) -> Result<Answers, Failure> {
    let mut answers = Answers { asked: Vec::new(), beyond: Vec::new(), trips: 0 };
    let mut sites: Vec<Site> = Vec::new();
    for (path, view) in views.iter() {
        let held = request.actor.rights.held(path) != Held::Outside;
        // A path that was resolved needs no request to be located.
        match request.locate(path.as_str(), Last::Itself).await {
            Ok(site) if held && site.expect == *path => {
                sites.push(site);
                answers.asked.push(Compared { path: path.clone(), view: view.clone(), now: None });
            }
            _ => answers.beyond.push(path.clone()),
        }
    }
    if !sites.is_empty() {
        let _locked = match locking {
            Locking::Free => None,
            Locking::Locked => Some(request.lock(&sites.iter().collect::<Vec<_>>()).await),
        };
        if locking == Locking::Locked {
            // What was waited for may have changed what was seen.
            let views = request.actor.views();
            for compared in &mut answers.asked {
                if let Some(view) = views.get(&compared.path) {
                    compared.view.clone_from(view);
                }
            }
        }
        let digest = request.digest_depth();
        let asks: Vec<(&Site, Last, Depth)> = sites.iter().map(|site| (site, Last::Itself, digest)).collect();
        let found = request.stat_all(&asks).await?;
        for (compared, found) in answers.asked.iter_mut().zip(found) {
            compared.now = match found {
                Ok(found) => (found.resolved == compared.path).then_some(found.state),
                // A directory in the path is gone, and with it the file.
                Err(ref error @ (OpError::NotFound { .. } | OpError::NotDirectory { .. }))
                    if request.reaches_place_of(error) =>
                {
                    Some(FileState::Absent)
                }
                Err(_) => None,
            };
        }
    }
    answers.trips = request.trips;
    Ok(answers)
}
