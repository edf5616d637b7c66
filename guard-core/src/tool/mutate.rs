//! The one way in which tools change a target: decide, look where that is needed, plan, ask, commit, and decide
//! once more on what the target found.

use std::sync::Arc;

use guard_policy::{
    Act, Approval, Code, Digest, Fact, FileState, Precondition, Refusal, TextShape, classify,
};

use super::intent::{Intended, Intent, Intents, Mark, Remarks, change, draft, filled, is_intended, planned};
use super::seen::{Marked, note, note_lines, note_shown, with_lines};
use crate::actor::ActorState;
use crate::audit::audit;
use crate::locks::Locked;
use crate::port::{Body, CommitError, CommitFailure, Committed, Contents, OpError};
use crate::receipt::Undo;
use crate::receipt::VERSION;
use crate::refuse::with_fates;
use crate::request::{Allowed, Asked, Dangers, Decision, Known, Request, Site};
use crate::{ChangeReceipt, Done, Failure, Outcome, PlannedChange, Receipt};

/// How often an edit that lost its compare-and-swap is planned anew.
const REPLANS: u32 = 3;

/// One path of a mutating call.
pub(crate) struct Item {
    pub(crate) site: Site,
    pub(crate) asked: Asked,
    /// What is known of what is there.
    pub(crate) look: Option<Look>,
    allowed: Option<Allowed>,
    /// Whether the plan itself tells of what is missing, or there where nothing may be.
    planned: bool,
    /// Whether the plan does without it: a directory that is to be removed and is not empty.
    left_out: bool,
}

impl Item {
    pub(crate) fn new(site: Site, asked: Asked) -> Self {
        Self { site, asked, look: None, allowed: None, planned: false, left_out: false }
    }

    /// Leaves it to the plan to refuse what is missing, or there where nothing may be: it has the words for it, and
    /// tells of all such paths at once.
    pub(crate) fn of_plan(site: Site, asked: Asked) -> Self {
        Self { planned: true, ..Self::new(site, asked) }
    }

    pub(crate) fn is_left_out(&self) -> bool {
        self.left_out
    }

    /// Returns what the target has to find; the policy has named it once a plan is made.
    pub(crate) fn precondition(&self) -> Precondition {
        let named = self.allowed.as_ref().and_then(|allowed| allowed.precondition.clone());
        // Every mutating act that is allowed has a precondition. If the policy named none, absence is the one that
        // destroys nothing.
        named.unwrap_or(Precondition::Absent)
    }

    /// Returns the content that was read, where the file is regular and within the limit.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        self.look.as_ref().and_then(|look| look.bytes.as_deref())
    }

    /// Tells whether the plan has the words for why this is refused: missing, there, or nothing that can be patched.
    fn is_for_the_plan(&self, code: Code) -> bool {
        let file = matches!(self.look.as_ref().map(|look| &look.state), Some(FileState::Regular { .. }));
        matches!(code, Code::NotFound | Code::Exists)
            || (!file && matches!(code, Code::NotRead | Code::NotRegular))
    }

    fn was_read(&self) -> bool {
        self.look.as_ref().is_some_and(|look| look.read)
    }

    pub(crate) fn known(&self) -> Known<'_> {
        match &self.look {
            Some(look) => Known { state: Fact::Known(&look.state), class: look.class() },
            None => Known::NOTHING,
        }
    }
}

/// What was found at a path.
pub(crate) struct Look {
    pub(crate) state: FileState,
    pub(crate) shape: Fact<TextShape>,
    bytes: Option<Vec<u8>>,
    /// Whether it was read for this plan, or is what a failed commit reported.
    read: bool,
}

impl Look {
    fn class(&self) -> Fact<guard_policy::ContentClass> {
        match self.shape {
            Fact::Known(shape) => Fact::Known(shape.class),
            Fact::Unknown => Fact::Unknown,
        }
    }

    fn of(contents: Contents) -> Self {
        let state = contents.found.state;
        match contents.body {
            Body::Bytes { bytes, .. } => {
                Self { state, shape: Fact::Known(classify(&bytes)), bytes: Some(bytes), read: true }
            }
            Body::NotRegular | Body::TooLarge => {
                Self { state, shape: Fact::Unknown, bytes: None, read: true }
            }
        }
    }
}

/// When a call looks before it commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Looking {
    /// Only where the policy, an approver or a dry run needs it: the precondition does the probe's work.
    WhereNeeded,
    /// Always: the new content is made from the old.
    Always,
    /// Only for an approver: what has to be there is given with the call, and nothing else will do.
    AsGiven,
}

/// How a call is made.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    pub(crate) looking: Looking,
    pub(crate) dry_run: bool,
    pub(crate) dangers: Dangers,
}

/// Makes a mutating call; a refusal of what changed since it was seen says which lines did.
pub(crate) async fn mutate(
    mut request: Request,
    mut items: Vec<Item>,
    manner: Manner,
    plan: impl Fn(&Request, &[Item]) -> Result<Intents, Failure> + Send + Sync,
) -> Result<Done, Failure> {
    match attempt(&mut request, &mut items, manner, plan).await {
        Err(failure) if failure.refusal.changed.is_some() => {
            Err(with_lines(&mut request, &items, failure).await)
        }
        done => done,
    }
}

/// `plan` gets the items with what is known of them and says what to do; it may be called again when the target had
/// moved on.
async fn attempt(
    request: &mut Request,
    items: &mut [Item],
    manner: Manner,
    plan: impl Fn(&Request, &[Item]) -> Result<Intents, Failure> + Send + Sync,
) -> Result<Done, Failure> {
    request.shows_unseen = manner.dry_run;
    let asks = request.asks();
    let shows = asks || manner.dry_run;
    let mut lost = 0;
    // Before any look: what a dry run shows may be older than what this actor writes meanwhile.
    let began = request.actor.views().begin();
    loop {
        let mut locked = None;
        if !shows {
            locked = Some(lock(request, items).await);
        }
        let looks = manner.looking == Looking::Always || shows;
        if decide(request, items, looks).await? == Settled::Anew {
            continue;
        }
        let Intents { intents, remarks } = plan(request, items)?;
        let planned: Vec<PlannedChange> = intents.iter().map(|intent| planned(intent, items)).collect();
        if manner.looking == Looking::AsGiven {
            is_as_given(&intents, items)?;
        }
        let changed = !intents.iter().all(|intent| as_intended(intent, &items[intent.item]));
        let approval = approval(items);
        if manner.dry_run {
            note_shown(request, items, began);
            audit(&request.actor, request.tool, &request.paths, Outcome::Done, None, None);
            return Ok(Done::Planned(remarks.on_plan(request.plan(changed, approval, planned))));
        }
        if !changed {
            return Ok(Done::Committed(remarks.on(unchanged(request, &intents, items))));
        }
        // What is left to do after a directory was left out is a part of what was approved.
        if !items.iter().any(Item::is_left_out) {
            request.approve(&planned, approval).await?;
        }
        let locked = match locked {
            Some(locked) => locked,
            None => lock(request, items).await,
        };
        let (error, failed, given) =
            match commit(request, items, (intents, remarks.clone()), manner.dangers, locked).await {
                Ok(receipt) => return Ok(Done::Committed(receipt)),
                Err((error, intents)) => {
                    if let Some(receipt) = found_as_intended(request, &error, &intents, items) {
                        return Ok(Done::Committed(remarks.on(receipt)));
                    }
                    let failed = failed_item(items, &intents, &error);
                    (error, failed, given(&intents, failed))
                }
            };
        lost += 1;
        let how = GoOn { approved: asks, looking: manner.looking, lost, given };
        go_on(request, failed.map(|index| &mut items[index]), &error, &how)?;
    }
}

async fn lock(request: &Request, items: &[Item]) -> Locked {
    let sites: Vec<&Site> = items.iter().map(|item| &item.site).collect();
    request.lock(&sites).await
}

#[derive(PartialEq, Eq)]
enum Settled {
    /// Every item is allowed.
    Here,
    /// A path led elsewhere than its text, or more is known of it; it has to be decided (and locked) anew.
    Anew,
}

/// Decides on every item: first by what needs no request, then, where somebody has to look, on what is there.
async fn decide(request: &mut Request, items: &mut [Item], looks: bool) -> Result<Settled, Failure> {
    let Pending { unread, unseen } = judge_all(request, items, looks)?;
    if let Some(index) = unseen {
        return look_at(request, &mut items[index]).await;
    }
    if unread.is_empty() {
        return Ok(Settled::Here);
    }
    let sites: Vec<&Site> = unread.iter().map(|index| &items[*index].site).collect();
    let max = request.guard().policy.limits.file_bytes;
    let contents = request.read_all(&sites, crate::port::Part::Whole { max }).await?;
    let mut settled = Settled::Here;
    for (index, contents) in unread.into_iter().zip(contents) {
        let item = &mut items[index];
        let contents = contents.map_err(|error| request.op_error(&item.site.requested, &error))?;
        if contents.found.resolved != item.site.expect {
            item.site.redirect(contents.found.resolved.clone())?;
            settled = Settled::Anew;
        }
        item.look = Some(Look::of(contents));
    }
    if settled == Settled::Here {
        // All that was to be read was read: nothing is pending.
        judge_all(request, items, looks)?;
    }
    Ok(settled)
}

/// What has to be found out before every item can be decided.
struct Pending {
    /// Items whose content has to be read.
    unread: Vec<usize>,
    /// An item whose state has to be learnt, so that its refusal is the right one.
    unseen: Option<usize>,
}

/// Judges every item by what is known of it.
fn judge_all(request: &Request, items: &mut [Item], looks: bool) -> Result<Pending, Failure> {
    let mut pending = Pending { unread: Vec::new(), unseen: None };
    let mut refused: Vec<(usize, Failure)> = Vec::new();
    for (index, item) in items.iter_mut().enumerate() {
        let read = item.was_read();
        match request.judge(&item.site, item.asked, item.known()) {
            // Whether the remedy is to read it depends on the content, which a failed commit does not report.
            Err(failure) if item.look.is_some() && !read && depends_on_content(&failure) => {
                pending.unread.push(index);
            }
            // What it refuses to remove unseen may not be there, or be nothing that can be seen.
            Err(failure) if item.look.is_none() && failure.refusal.code == Code::NotRead => {
                if looks {
                    pending.unread.push(index);
                } else {
                    pending.unseen = Some(index);
                }
            }
            Err(failure) if item.planned && read && item.is_for_the_plan(failure.refusal.code) => {
                item.allowed = Some(Allowed { precondition: None, approval: Approval::NotRequired });
            }
            Err(failure) => refused.push((index, failure)),
            Ok(Decision::Allowed(allowed)) if read || !looks => item.allowed = Some(allowed),
            // The state is known and the class is not: there is more content than may be looked at.
            Ok(_) if read => {
                refused.push((index, Refusal::new(Code::TooLarge, &item.site.requested, "").into()));
            }
            Ok(_) => pending.unread.push(index),
        }
    }
    let refused =
        refused.into_iter().map(|(index, failure)| (&items[index], items[index].asked.act, failure));
    one_refusal(refused.collect()).map_or(Ok(pending), Err)
}

/// Makes one refusal of those of several items: the first, unless all are deletions of what was not seen, which one look
/// at all of them settles.
pub(crate) fn one_refusal(refused: Vec<(&Item, Act, Failure)>) -> Option<Failure> {
    let unseen = |(_, act, failure): &(&Item, Act, Failure)| {
        *act == Act::Delete && failure.refusal.code == Code::NotRead
    };
    if refused.len() > 1 && refused.iter().all(unseen) {
        let paths: Vec<&str> = refused.iter().map(|(item, ..)| item.site.requested.as_str()).collect();
        return Some(Refusal::not_seen(&paths).into());
    }
    refused.into_iter().next().map(|(.., failure)| failure)
}

/// Learns the state of an item, without its content, so that it can be decided once more.
async fn look_at(request: &mut Request, item: &mut Item) -> Result<Settled, Failure> {
    let depth = request.digest_depth();
    let found = request.stat_one(&item.site, depth).await?;
    if found.resolved != item.site.expect {
        item.site.redirect(found.resolved)?;
    }
    item.look = Some(Look { state: found.state, shape: Fact::Unknown, bytes: None, read: false });
    Ok(Settled::Anew)
}

fn depends_on_content(failure: &Failure) -> bool {
    matches!(failure.refusal.code, Code::BinaryExists | Code::PdfExists | Code::OpaqueDocument)
}

fn approval(items: &[Item]) -> Approval {
    let required =
        items.iter().filter_map(|item| item.allowed.as_ref()).any(|a| a.approval == Approval::Required);
    if required { Approval::Required } else { Approval::NotRequired }
}

/// Tells whether what is known to be there is what the intent would put there.
fn as_intended(intent: &Intent, item: &Item) -> bool {
    let Some(look) = &item.look else { return false };
    is_intended(&intent.effect, &look.state)
}

/// Makes the receipt of a call that found everything as it would have made it.
fn unchanged(request: &Request, intents: &[Intent], items: &[Item]) -> Receipt {
    let mut changes = Vec::with_capacity(intents.len());
    for intent in intents {
        let item = &items[intent.item];
        let digest = item.look.as_ref().and_then(|look| look.state.digest());
        if let (Intended::Put { content, .. }, Mark::Wrote(shape), true) =
            (&intent.effect, &intent.mark, request.records())
        {
            request.actor.views().wrote(&item.site.expect, content.digest(), content.len(), *shape);
            note_lines(&request.actor.record, &item.site.expect, content, *shape);
        }
        let mut change = draft(intent, items);
        (change.before, change.after) = (digest, digest);
        if let Intended::Put { content, .. } = &intent.effect {
            change.bytes = Some(content.len());
        }
        changes.push(change);
    }
    let receipt = receipt(&request.actor, request.tool, changes, request.trips);
    audit_done(&request.actor, request.tool, &request.paths, &receipt);
    receipt
}

fn receipt(actor: &ActorState, tool: guard_policy::Tool, changes: Vec<ChangeReceipt>, trips: u32) -> Receipt {
    Receipt {
        version: VERSION,
        target: actor.guard.ops.target().clone(),
        tool,
        changed: changes.iter().any(|change| change.publish.is_some_and(|publish| publish.changed)),
        exact: changes.iter().all(|change| change.given.is_none()),
        changes,
        round_trips: trips,
        notes: Vec::new(),
        stopped: None,
        unrestricted: !actor.guard.policy.restrict,
    }
}

fn audit_done(actor: &ActorState, tool: guard_policy::Tool, paths: &[String], receipt: &Receipt) {
    if actor.guard.audit.is_some() {
        // A receipt is plain data; it always has a JSON form.
        let receipt = serde_json::to_value(receipt).ok();
        audit(actor, tool, paths, Outcome::Done, None, receipt);
    }
}

/// What a receipt says of a commit whose reply was lost.
const FOUND_IN_EFFECT: &str = "The connection was lost before the target's answer came. On the next connection all was \
    found in effect, by the digests; the tier is the weakest that can have been used, and what was lost of the old \
    files' metadata is not known.";

/// Commits the plan; on failure the plan comes back.
async fn commit(
    request: &mut Request,
    items: &[Item],
    (intents, remarks): (Vec<Intent>, Remarks),
    dangers: Dangers,
    locked: Locked,
) -> Result<Receipt, (CommitError, Vec<Intent>)> {
    let mut batch = request.batch(dangers);
    batch.changes = intents.iter().map(|intent| change(intent, items)).collect();
    let content = |intent: &Intent| match &intent.effect {
        Intended::Put { content, .. } => Some(content.clone()),
        _ => None,
    };
    let marked = |intent: &Intent| Marked {
        draft: draft(intent, items),
        mark: intent.mark.clone(),
        content: content(intent),
    };
    let all: Arc<[Marked]> = intents.iter().map(marked).collect();
    let marked = Arc::clone(&all);
    let (tool, paths, records) = (request.tool, request.paths.clone(), request.records());
    let then =
        move |actor: &Arc<ActorState>, (committed, undos): (Committed, Vec<Option<Undo>>), trips: u32| {
            if records {
                note(&actor.record, &marked, &committed);
            }
            let drafts = marked.iter().map(|marked| marked.draft.clone());
            let undos = undos.into_iter().chain(std::iter::repeat(None));
            let changes = drafts.zip(committed.changes).zip(undos);
            let changes = changes.map(|((draft, applied), undo)| filled(draft, applied, undo)).collect();
            let mut receipt = remarks.on(receipt(actor, tool, changes, trips));
            if committed.settled {
                receipt.notes.push(FOUND_IN_EFFECT.to_owned());
            }
            audit_done(actor, tool, &paths, &receipt);
            receipt
        };
    request.commit(batch, locked, all, then).await.map_err(|error| (error, intents))
}

/// A precondition that failed on what the call would have made is a call that was made already: a retried write is
/// no error.
fn found_as_intended(
    request: &Request,
    error: &CommitError,
    intents: &[Intent],
    items: &mut [Item],
) -> Option<Receipt> {
    let [intent] = intents else { return None };
    let CommitFailure::Precondition { found, destination: false, .. } = &error.cause else { return None };
    // What a failed try left behind has to be said, which a success would not do.
    if !is_intended(&intent.effect, found) || !error.fates.iter().all(is_clean) {
        return None;
    }
    items[intent.item].look =
        Some(Look { state: found.clone(), shape: Fact::Unknown, bytes: None, read: false });
    Some(unchanged(request, intents, items))
}

struct GoOn {
    approved: bool,
    looking: Looking,
    /// How many commits of this call failed so far.
    lost: u32,
    /// The version that the call itself names.
    given: Option<Digest>,
}

/// After a failed commit: prepares the item that failed to be decided once more on what the target found, or gives up.
fn go_on(request: &Request, item: Option<&mut Item>, error: &CommitError, how: &GoOn) -> Result<(), Failure> {
    let Some(item) = item else {
        return Err(request.commit_error(request.paths.first().map_or("", String::as_str), error));
    };
    let requested = item.site.requested.clone();
    let settled = match &error.cause {
        CommitFailure::Elsewhere { resolved, .. } if !how.approved => {
            item.look = None;
            item.site.redirect(resolved.clone())
        }
        // What was made then, and has something in it by now, stays.
        CommitFailure::NotEmpty { .. } | CommitFailure::Op(OpError::NotFound { .. })
            if how.looking == Looking::AsGiven && item.planned && !item.left_out =>
        {
            item.left_out = true;
            Ok(())
        }
        CommitFailure::Precondition { found, .. } if how.looking == Looking::AsGiven => {
            Err(Refusal::stale(&requested, found).since(&requested, how.given, found).into())
        }
        // What was approved, or read for this plan, is not planned anew on what nobody has looked at.
        CommitFailure::Precondition { found, .. }
            if how.approved || (how.looking == Looking::WhereNeeded && item.was_read()) =>
        {
            let read = item.look.as_ref().and_then(|look| look.state.digest());
            Err(Refusal::stale(&requested, found).since(&requested, read, found).into())
        }
        CommitFailure::Precondition { .. } if how.looking == Looking::Always && how.lost < REPLANS => {
            item.look = None;
            Ok(())
        }
        CommitFailure::Precondition { found, .. }
            if how.looking == Looking::WhereNeeded && how.lost < REPLANS =>
        {
            item.look = Some(Look { state: found.clone(), shape: Fact::Unknown, bytes: None, read: false });
            Ok(())
        }
        CommitFailure::Precondition { .. } => Err(Refusal::new(Code::Conflict, &requested, "").into()),
        _ => return Err(request.commit_error(&requested, error)),
    };
    // What a failed try left behind is said at the end, whatever the next try does; only a clean failure goes on.
    match settled {
        Ok(()) if error.fates.iter().all(is_clean) => Ok(()),
        Ok(()) => Err(request.commit_error(&requested, error)),
        Err(failure) => Err(with_fates(failure, &error.fates)),
    }
}

fn is_clean(fate: &crate::port::Fate) -> bool {
    matches!(fate, crate::port::Fate::Untouched | crate::port::Fate::Restored)
}

/// Refuses a plan whose intents name other versions than those that were looked at.
fn is_as_given(intents: &[Intent], items: &[Item]) -> Result<(), Failure> {
    for intent in intents {
        let item = &items[intent.item];
        let (Some(look), Some(named)) = (&item.look, &intent.precondition) else { continue };
        if !named.holds(&look.state) && !as_intended(intent, item) {
            let path = &item.site.requested;
            let seen = given(std::slice::from_ref(intent), Some(intent.item));
            return Err(Refusal::stale(path, &look.state).since(path, seen, &look.state).into());
        }
    }
    Ok(())
}

/// Returns the version that an intent itself names for an item.
fn given(intents: &[Intent], item: Option<usize>) -> Option<Digest> {
    let intent = intents.iter().find(|intent| Some(intent.item) == item)?;
    match &intent.precondition {
        Some(Precondition::Content { digest }) => Some(*digest),
        _ => None,
    }
}

/// Returns the item at which a commit failed.
fn failed_item(items: &[Item], intents: &[Intent], error: &CommitError) -> Option<usize> {
    let (resolved, destination) = match &error.cause {
        CommitFailure::Precondition { resolved, destination, .. } => (Some(resolved), *destination),
        CommitFailure::Elsewhere { destination, .. } => (None, *destination),
        _ => (None, false),
    };
    if let Some(resolved) = resolved
        && let Some(index) = items.iter().position(|item| item.site.expect == *resolved)
    {
        return Some(index);
    }
    let intent = intents.get(error.at.unwrap_or(0))?;
    match intent.effect {
        Intended::MoveTo { item } if destination => Some(item),
        _ => Some(intent.item),
    }
}
