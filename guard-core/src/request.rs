//! One tool call in progress: whose it is, where it leads, how many requests to the target it took.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use guard_policy::{
    Act, Approval, ApproverSet, Call, Code, ContentClass, DeleteUnseen, Expected, Fact, Facts, FileState,
    NewText, PathError, Policy, Precondition, Refusal, RequestedPath, RootId, Roots, Seen, TargetPath, Tool,
    Trailing, Verdict, decide,
};
use tracing::Instrument as _;

use crate::actor::ActorState;
use crate::audit::{Line, Untold, audit};
use crate::guard::GuardState;
use crate::locks::{Locked, lock};
use crate::port::{
    Ask, Batch, CommitError, CommitFailure, CommitId, Committed, Contents, Depth, Displaced, Fate, Found,
    InPlace, Keep, Last, OpError, Part, Place, Scope, Tier, Want,
};
use crate::receipt::Undo;
use crate::refuse::commit_error;
use crate::tool::seen::Marked;
use crate::unsettled::Lost;
use crate::{Answer, Failure, Outcome, Plan, PlannedChange, Proposal, receipt, tool, unsettled};

/// One tool call in progress.
pub(crate) struct Request {
    pub(crate) actor: Arc<ActorState>,
    pub(crate) tool: Tool,
    /// The paths as they were requested, for the audit line.
    pub(crate) paths: Vec<String>,
    /// Whether the call only shows what it would do: a deletion of what was not seen is shown, and seen by that.
    pub(crate) shows_unseen: bool,
    /// Requests to the target so far.
    pub(crate) trips: u32,
    /// The roots that the actor reached when the call began.
    pub(crate) roots: Arc<Roots>,
    /// What the target may reach for it.
    scope: Arc<Scope>,
    /// Whether a commit is under way or was carried out, which writes its own audit line.
    commits: Arc<AtomicBool>,
}

/// Where one path of a call leads.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    /// As it was typed.
    pub(crate) requested: String,
    /// The root that the target resolves it from.
    pub(crate) root: RootId,
    /// The path below that root, as the target walks it.
    pub(crate) path: String,
    /// Where it has to arrive: what is judged, locked, viewed and changed.
    pub(crate) expect: TargetPath,
    /// What a final link is.
    pub(crate) last: Last,
    /// Whether the target said already that the path leads elsewhere than its text.
    redirected: bool,
    /// Whether where it leads is known from the target, and not from the text alone.
    led_by_target: bool,
    /// Whether it ends as a directory's name does.
    pub(crate) trailing: Trailing,
}

/// What is known of a site.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) state: Fact<&'a FileState>,
    pub(crate) class: Fact<ContentClass>,
}

impl Known<'_> {
    pub(crate) const NOTHING: Self = Self { state: Fact::Unknown, class: Fact::Unknown };
}

/// A call that may be made.
#[derive(Debug, Clone)]
pub(crate) struct Allowed {
    pub(crate) precondition: Option<Precondition>,
    pub(crate) approval: Approval,
}

/// An answer of the policy that is no refusal.
#[derive(Debug, Clone)]
pub(crate) enum Decision {
    Allowed(Allowed),
    Undecided,
}

/// One act of a call, for the policy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) act: Act,
    pub(crate) text: Option<NewText>,
    pub(crate) expect: Option<guard_policy::Expect>,
}

impl Asked {
    pub(crate) const fn plain(act: Act) -> Self {
        Self { act, text: None, expect: None }
    }
}

/// What the caller accepts for a commit.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Dangers {
    pub(crate) lose_metadata: bool,
    pub(crate) in_place: bool,
}

impl Request {
    pub(crate) fn new(actor: Arc<ActorState>, tool: Tool, paths: Vec<String>) -> Self {
        let roots = actor.reach.roots();
        let scope = Scope {
            roots: Some(roots.entries().iter().map(|root| root.id).collect()),
            within: actor.rights.directories(),
        };
        let (scope, commits) = (Arc::new(scope), Arc::default());
        Self { actor, tool, paths, shows_unseen: false, trips: 0, roots, scope, commits }
    }

    pub(crate) fn guard(&self) -> &GuardState {
        &self.actor.guard
    }

    /// Makes the call inside a span, and writes the audit line of one that failed before a commit ended: a commit
    /// writes its own.
    pub(crate) async fn audited<T, F, Fut>(self, call: F) -> Result<T, Failure>
    where
        F: FnOnce(Self) -> Fut,
        Fut: Future<Output = Result<T, Failure>>,
    {
        let actor = Arc::clone(&self.actor);
        let (tool, paths) = (self.tool, self.paths.clone());
        let untold = Untold::UnlessCommits(Arc::clone(&self.commits));
        let given_up = Line::new(&actor, (tool, &paths), (Outcome::Refused, Code::Cancelled), untold);
        let span = tracing::info_span!(
            "tool",
            tool = tool.name(),
            actor = actor.name.as_str(),
            target = actor.guard.ops.target().as_str()
        );
        let result = async {
            if !actor.is_of_one_target() {
                let path = paths.first().map_or("", String::as_str);
                let detail = "this tool and the actor that it is bound to are of different targets";
                return Err(Refusal::new(Code::TargetChanged, path, detail).into());
            }
            unsettled::settle(&actor.guard).await;
            call(self).await
        }
        .instrument(span.clone())
        .await;
        let _entered = span.enter();
        given_up.told();
        match &result {
            Ok(_) if tool.mutates() => {}
            Ok(_) => audit(&actor, tool, &paths, Outcome::Done, None, None),
            Err(failure) => {
                tracing::info!(code = failure.refusal.code.as_str(), "not done");
                audit(&actor, tool, &paths, failure.outcome, Some(failure.refusal.code), None);
            }
        }
        result
    }

    /// Locates a path: the one function from what was typed to where it is.
    ///
    /// Only a path with `..` after a name needs the target for it.
    pub(crate) async fn locate(&mut self, requested: &str, last: Last) -> Result<Site, Failure> {
        let parsed = RequestedPath::parse(requested)
            .map_err(|error: PathError| Refusal::invalid_path(requested, error))?;
        let located = self.roots.locate(&parsed, self.guard().home())?;
        let mut site = Site {
            requested: requested.to_owned(),
            root: located.root,
            path: located.path,
            expect: TargetPath::root(),
            last,
            redirected: false,
            trailing: parsed.trailing(),
            led_by_target: matches!(located.expected, Expected::AskTarget),
        };
        site.expect = match located.expected {
            Expected::Path(path) => path,
            Expected::AskTarget => self.stat_one(&site, Depth::State).await?.resolved,
        };
        Ok(site)
    }

    /// Returns the path whose view a call on `requested` would meet: of the name itself, or of what it leads to.
    pub(crate) async fn resolve(&mut self, requested: &str, last: Last) -> Result<TargetPath, Failure> {
        let mut site = self.locate(requested, last).await?;
        self.judge(&site, Asked::plain(Act::Stat), Known::NOTHING)?;
        let resolved = self.stat_one(&site, Depth::State).await?.resolved;
        if resolved != site.expect {
            site.redirect(resolved)?;
            self.judge(&site, Asked::plain(Act::Stat), Known::NOTHING)?;
        }
        Ok(site.expect)
    }

    /// Decides on one path.
    pub(crate) fn judge(&self, site: &Site, asked: Asked, known: Known<'_>) -> Result<Decision, Failure> {
        let guard = self.guard();
        let seen = if self.records() { self.actor.views().seen(&site.expect) } else { Seen::Nothing };
        let call = Call {
            tool: self.tool,
            act: asked.act,
            requested: &site.requested,
            text: asked.text,
            expect: asked.expect,
        };
        let facts = Facts {
            rights: &self.actor.rights,
            approver: if self.actor.has_approver { ApproverSet::Yes } else { ApproverSet::No },
            roots: &self.roots,
            home: guard.home(),
            path: &site.expect,
            state: known.state,
            class: known.class,
            seen,
        };
        let shown;
        let policy = if self.shows_unseen && asked.act == Act::Delete {
            shown = Policy { delete_unseen: DeleteUnseen::DangerAllow, ..guard.policy.clone() };
            &shown
        } else {
            &guard.policy
        };
        match decide(policy, &call, &facts) {
            Verdict::Allow { precondition, approval } => {
                Ok(Decision::Allowed(Allowed { precondition, approval }))
            }
            Verdict::Undecided => Ok(Decision::Undecided),
            // As where the target itself refuses to follow: which of both it was says what there is outside.
            Verdict::Refuse(refusal)
                if refusal.code == Code::OutsideRoot
                    && site.led_by_target
                    && self.roots.holding(&site.expect).is_none() =>
            {
                Err(self.led_outside(&site.requested))
            }
            Verdict::Refuse(refusal) => Err(refusal.into()),
        }
    }

    /// Tells whether views are recorded and checked.
    pub(crate) fn records(&self) -> bool {
        self.guard().policy.views == guard_policy::Switch::On
    }

    pub(crate) fn ask(&self, site: &Site, last: Last, depth: Depth) -> Ask {
        Ask { root: site.root, path: site.path.clone(), last, depth, scope: Arc::clone(&self.scope) }
    }

    pub(crate) async fn stat_one(&mut self, site: &Site, depth: Depth) -> Result<Found, Failure> {
        let mut found = self.stat_all(&[(site, site.last, depth)]).await?;
        found
            .pop()
            .unwrap_or_else(|| Err(short_reply()))
            .map_err(|error| self.op_error(&site.requested, &error))
    }

    /// Asks about several paths in one request.
    pub(crate) async fn stat_all(
        &mut self,
        sites: &[(&Site, Last, Depth)],
    ) -> Result<Vec<Result<Found, OpError>>, Failure> {
        let asks: Vec<Ask> = sites.iter().map(|(site, last, depth)| self.ask(site, *last, *depth)).collect();
        self.trips += 1;
        let first = sites.first().map_or("", |(site, ..)| &site.requested);
        let mut found = self.guard().ops.stat(&asks).await.map_err(|error| self.op_error(first, &error))?;
        // A target that answers for fewer paths than it was asked about has not established anything of the rest.
        found.resize(asks.len(), Err(short_reply()));
        Ok(found)
    }

    /// Reads one file, whole.
    pub(crate) async fn read_whole(&mut self, site: &Site) -> Result<Contents, Failure> {
        let max = self.guard().policy.limits.file_bytes;
        self.read_part(site, Part::Whole { max }).await
    }

    pub(crate) async fn read_part(&mut self, site: &Site, part: Part) -> Result<Contents, Failure> {
        let contents = self.read_all(&[site], part).await?.pop().unwrap_or_else(|| Err(short_reply()));
        contents.map_err(|error| self.op_error(&site.requested, &error))
    }

    /// Reads several files in one request.
    pub(crate) async fn read_all(
        &mut self,
        sites: &[&Site],
        part: Part,
    ) -> Result<Vec<Result<Contents, OpError>>, Failure> {
        let depth = self.digest_depth();
        let wants: Vec<Want> =
            sites.iter().map(|site| Want { ask: self.ask(site, site.last, depth), part }).collect();
        self.trips += 1;
        let first = sites.first().map_or("", |site| &site.requested);
        let mut contents =
            self.guard().ops.read(&wants).await.map_err(|error| self.op_error(first, &error))?;
        contents.resize(wants.len(), Err(short_reply()));
        Ok(contents)
    }

    pub(crate) fn digest_depth(&self) -> Depth {
        Depth::Digest { max: self.guard().policy.limits.digest }
    }

    /// Takes the in-process locks of these sites.
    pub(crate) async fn lock(&self, sites: &[&Site]) -> Locked {
        let paths: Vec<&TargetPath> = sites.iter().map(|site| &site.expect).collect();
        lock(self.guard().ops.target(), &paths).await
    }

    /// Tells whether somebody is asked before a change is made.
    pub(crate) fn asks(&self) -> bool {
        !self.actor.approvers.is_empty()
    }

    /// Asks every approver; nobody else decides, and a call that would be refused never comes here.
    pub(crate) async fn approve(&self, changes: &[PlannedChange], approval: Approval) -> Result<(), Failure> {
        let proposal = Proposal {
            actor: &self.actor.name,
            tool: self.tool,
            changes,
            required: approval == Approval::Required,
            after: changes.first().and_then(|change| change.after),
        };
        for approver in &self.actor.approvers {
            if let Answer::Deny(why) = approver.approve(&proposal).await {
                let path = changes.first().map_or("", |change| &change.path);
                return Err(Refusal::new(Code::ApprovalDenied, path, why.trim_end_matches('.')).into());
            }
        }
        Ok(())
    }

    pub(crate) fn plan(&self, changed: bool, approval: Approval, planned: Vec<PlannedChange>) -> Plan {
        Plan {
            version: receipt::VERSION,
            target: self.guard().ops.target().clone(),
            tool: self.tool,
            changed,
            approval_required: approval == Approval::Required,
            changes: planned,
            notes: Vec::new(),
            stopped: None,
            round_trips: self.trips,
        }
    }

    /// Makes an empty batch under the policy.
    pub(crate) fn batch(&self, dangers: Dangers) -> Batch {
        let policy = &self.guard().policy;
        Batch {
            id: next_commit_id(),
            scope: Arc::clone(&self.scope),
            changes: Vec::new(),
            require: match policy.require {
                guard_policy::Require::Any => None,
                guard_policy::Require::Exchange => Some(Tier::Exchange),
            },
            displaced: match &self.guard().undo {
                Some(store) => Displaced::Return { max: store.largest() },
                None => Displaced::Discard,
            },
            open_writers: policy.open_writers,
            metadata: if dangers.lose_metadata { Keep::DangerLose } else { Keep::Require },
            in_place: if dangers.in_place { InPlace::DangerNotAtomic } else { InPlace::Refuse },
        }
    }

    /// Commits in a task of its own, which owns the locks and then does what belongs to a commit that was carried
    /// out (`then`: views, receipt, audit line). A caller that goes away cancels the reply and nothing else. If the
    /// answer is lost, `marked` is for the views when the commit is found in effect later.
    pub(crate) async fn commit<T: Send + 'static>(
        &mut self,
        batch: Batch,
        locked: Locked,
        marked: Arc<[Marked]>,
        then: impl FnOnce(&Arc<ActorState>, (Committed, Vec<Option<Undo>>), u32) -> T + Send + 'static,
    ) -> Result<T, CommitError> {
        self.trips += 1;
        let trips = self.trips;
        let actor = Arc::clone(&self.actor);
        let (reply, answer) = tokio::sync::oneshot::channel();
        let (tool, paths) = (self.tool, self.paths.clone());
        let (id, count) = (batch.id.clone(), batch.changes.len());
        let sent = batch.clone();
        let task = async move {
            let mut outcome = actor.guard.ops.commit(batch).await;
            let undos = match (&actor.guard.undo, &mut outcome) {
                (Some(store), Ok(committed)) => tool::undo::keep(&**store, &sent, committed).await,
                _ => Vec::new(),
            };
            if let Err(CommitError { cause: CommitFailure::Op(OpError::OutcomeUnknown { commit }), .. }) =
                &outcome
            {
                let lost = Lost::new(commit.clone(), &actor, (tool, &paths), (sent, marked));
                actor.guard.unsettled.add(lost);
            }
            let outcome = outcome.map(|committed| then(&actor, (committed, undos), trips));
            drop(locked);
            let line = outcome.as_ref().err().map(|error| {
                let failure = commit_error(paths.first().map_or("", String::as_str), error);
                Line::new(&actor, (tool, &paths), (failure.outcome, failure.refusal.code), Untold::Yes)
            });
            // If the caller is gone, the line is written where the answer is dropped.
            drop(reply.send((outcome, line)));
        };
        self.commits.store(true, Ordering::Relaxed);
        self.guard().ops.spawn(Box::pin(task.in_current_span()));
        let answer = answer.await.map(|(outcome, line)| {
            if let Some(line) = line {
                // The caller is told, and writes the line of the call as a whole.
                self.commits.store(false, Ordering::Relaxed);
                line.told();
            }
            outcome
        });
        answer.unwrap_or_else(|_| {
            // The task died without an answer (its runtime was shut down, or it panicked).
            self.commits.store(false, Ordering::Relaxed);
            Err(CommitError {
                cause: CommitFailure::Op(OpError::OutcomeUnknown { commit: id }),
                at: None,
                fates: vec![Fate::Unknown; count],
            })
        })
    }
}

impl Site {
    pub(crate) fn place(&self) -> Place {
        Place { root: self.root, path: self.path.clone(), expect: self.expect.clone(), last: self.last }
    }

    /// Goes on with where the target said the path leads; a second difference is `unstable-path`.
    pub(crate) fn redirect(&mut self, resolved: TargetPath) -> Result<(), Failure> {
        if self.redirected {
            return Err(Refusal::new(Code::UnstablePath, &self.requested, "").into());
        }
        (self.redirected, self.led_by_target) = (true, true);
        self.expect = resolved;
        Ok(())
    }
}

fn short_reply() -> OpError {
    OpError::Unavailable { why: "the target answered for fewer paths than it was asked about".to_owned() }
}

/// Returns a name that no other commit has: of this process by its count, of others by a random part that the
/// standard library draws for the process.
fn next_commit_id() -> CommitId {
    use std::hash::{BuildHasher as _, RandomState};
    use std::sync::LazyLock;
    static PROCESS: LazyLock<[u64; 2]> =
        LazyLock::new(|| [RandomState::new().hash_one(0_u8), RandomState::new().hash_one(1_u8)]);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let [high, low] = *PROCESS;
    CommitId(format!("{high:016x}{low:016x}-{}", COUNT.fetch_add(1, Ordering::Relaxed)))
}
