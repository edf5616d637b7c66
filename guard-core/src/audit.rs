//! Audit lines: every call leaves one, whatever becomes of its caller.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use guard_policy::{Code, Tool};

use crate::actor::ActorState;
use crate::port::AuditRecord;
use crate::{Outcome, receipt};

/// Writes an audit line, if anybody takes it.
pub(crate) fn audit(
    actor: &ActorState,
    tool: Tool,
    paths: &[String],
    outcome: Outcome,
    code: Option<Code>,
    receipt: Option<serde_json::Value>,
) {
    if let Some(sink) = &actor.guard.audit {
        sink.record(&AuditRecord {
            version: receipt::VERSION,
            target: actor.guard.ops.target().clone(),
            actor: actor.name.clone(),
            tool,
            paths: paths.to_vec(),
            outcome: outcome.as_str(),
            code,
            receipt,
        });
    }
}

/// The audit line of a call that its caller may not live to be told of: written when it is dropped.
pub(crate) struct Line {
    actor: Arc<ActorState>,
    tool: Tool,
    paths: Vec<String>,
    outcome: Outcome,
    code: Code,
    untold: Untold,
}

/// Whether there is something to write.
pub(crate) enum Untold {
    Yes,
    No,
    /// Not while a commit is under way, nor if it was carried out: that writes its own line.
    UnlessCommits(Arc<AtomicBool>),
}

impl Line {
    pub(crate) fn new(
        actor: &Arc<ActorState>,
        (tool, paths): (Tool, &[String]),
        (outcome, code): (Outcome, Code),
        untold: Untold,
    ) -> Self {
        Self { actor: Arc::clone(actor), tool, paths: paths.to_vec(), outcome, code, untold }
    }

    /// The caller is told, and somebody else writes the line.
    pub(crate) fn told(mut self) {
        self.untold = Untold::No;
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let untold = match &self.untold {
            Untold::Yes => true,
            Untold::No => false,
            Untold::UnlessCommits(commits) => !commits.load(Ordering::Relaxed),
        };
        if untold {
            audit(&self.actor, self.tool, &self.paths, self.outcome, Some(self.code), None);
        }
    }
}
