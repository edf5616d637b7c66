//! Commits whose outcome is not known: the target is asked about them before the next call, and what became of them
//! is told to whoever made them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use guard_policy::{Code, Switch, Tool};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Outcome;
use crate::actor::{ActorState, Record};
use crate::guard::GuardState;
use crate::port::{AuditRecord, Batch, CommitId, Committed, Fate, OpError, Settled};
use crate::receipt;
use crate::tool::seen::{Marked, note};

/// What became of an earlier call whose outcome was unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Notice {
    /// The commit that the call's refusal named.
    pub commit: CommitId,
    /// The tool that was called.
    pub tool: Tool,
    /// The paths as they were requested.
    pub paths: Vec<String>,
    /// `done`: all of it is in effect; `refused`: none of it is; `unknown`: neither.
    pub outcome: Outcome,
    /// Names under which bytes stay on the target, each with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<String>,
    /// The same as a sentence.
    pub message: String,
}

/// The commits of a guard whose outcome is not known.
#[derive(Default)]
pub(crate) struct Unsettled(Mutex<Vec<Lost>>);

/// A commit whose outcome is not known, and what it means if it is found in effect.
pub(crate) struct Lost {
    commit: CommitId,
    /// Who is to be told; it may be gone by now.
    record: Weak<Record>,
    name: String,
    tool: Tool,
    paths: Vec<String>,
    batch: Batch,
    /// For the views; empty where none are recorded.
    marked: Arc<[Marked]>,
}

impl Lost {
    pub(crate) fn new(
        commit: CommitId,
        actor: &ActorState,
        (tool, paths): (Tool, &[String]),
        (batch, marked): (Batch, Arc<[Marked]>),
    ) -> Self {
        let (name, paths) = (actor.name.clone(), paths.to_vec());
        let marked = if actor.guard.policy.views == Switch::On { marked } else { Arc::default() };
        Self { commit, record: Arc::downgrade(&actor.record), name, tool, paths, batch, marked }
    }
}

impl Unsettled {
    fn list(&self) -> MutexGuard<'_, Vec<Lost>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers a commit whose outcome is not known.
    pub(crate) fn add(&self, lost: Lost) {
        self.list().push(lost);
    }

    fn remove(&self, commit: &CommitId) -> Option<Lost> {
        let mut list = self.list();
        let at = list.iter().position(|lost| lost.commit == *commit)?;
        Some(list.remove(at))
    }
}

/// Asks the target about every commit whose outcome is not known.
///
/// What still cannot be found out is asked again before the next call.
pub(crate) async fn settle(guard: &GuardState) {
    let open: Vec<CommitId> = guard.unsettled.list().iter().map(|lost| lost.commit.clone()).collect();
    for commit in open {
        let settled = match guard.ops.settle(&commit).await {
            Ok(settled) => Some(settled),
            // The target has no record of it: nobody will ever know.
            Err(OpError::Unsupported { .. }) => None,
            Err(error) => {
                tracing::debug!(%commit, %error, "not settled yet");
                continue;
            }
        };
        // Another call may have asked meanwhile, and told.
        if let Some(lost) = guard.unsettled.remove(&commit) {
            tell(guard, lost, settled);
        }
    }
}

fn tell(guard: &GuardState, lost: Lost, settled: Option<Settled>) {
    let (outcome, code, words) = match &settled {
        Some(Settled::Applied { .. }) => (Outcome::Done, None, "it is in effect, all of it"),
        Some(Settled::NotApplied { .. }) => (
            Outcome::Refused,
            Some(Code::StateUnavailable),
            "nothing of it is in effect; make the call again",
        ),
        Some(Settled::Conflict { .. }) => (
            Outcome::Unknown,
            Some(Code::OutcomeUnknown),
            "it is in effect in part, or another writer was there; look at every path before anything else is \
             done to it",
        ),
        None => (
            Outcome::Unknown,
            Some(Code::OutcomeUnknown),
            "the target cannot tell any more; look at every path before anything else is done to it",
        ),
    };
    let record = lost.record.upgrade();
    if let (Some(Settled::Applied { .. }), Some(record)) = (&settled, &record) {
        note(record, &lost.marked, &Committed::found(&lost.batch, Vec::new()));
    }
    let left = match settled {
        Some(Settled::Applied { left } | Settled::NotApplied { left }) => left,
        Some(Settled::Conflict { fates }) => fates.into_iter().filter_map(left).collect(),
        None => Vec::new(),
    };
    let paths = lost.paths.join(", ");
    let message = format!("An earlier {} of {paths}, whose answer was lost: {words}.", lost.tool.name());
    let notice = Notice { commit: lost.commit, tool: lost.tool, paths: lost.paths, outcome, left, message };
    if let Some(sink) = &guard.audit {
        sink.record(&AuditRecord {
            version: receipt::VERSION,
            target: guard.ops.target().clone(),
            actor: lost.name,
            tool: notice.tool,
            paths: notice.paths.clone(),
            outcome: outcome.as_str(),
            code,
            receipt: serde_json::to_value(&notice).ok(),
        });
    }
    if let Some(record) = record {
        record.notices().push(notice);
    }
}

fn left(fate: Fate) -> Option<String> {
    match fate {
        Fate::Left { what } => Some(what),
        _ => None,
    }
}
