//! Whoever calls the tools, and the record of what it has seen.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use guard_policy::{Access, Code, Digest, Refusal, Rights, Switch, TargetPath, Tool, Views};
use serde_json::Value;

use crate::approve::Approver;
use crate::grant::{self, Reach};
use crate::guard::GuardState;
use crate::port::{Last, TargetId};
use crate::recheck::{self, Drift, Resumed, SavedViews};
use crate::request::Request;
use crate::tool::{self, Reply};
use crate::toolbox;
use crate::unsettled::Notice;
use crate::{
    ApplyPatch, DeleteFile, DirListing, Done, EditFile, Explanation, Failure, ListDir, MakeDir, MoveFile,
    ReadFile, ReadResult, Receipt, StatPaths, StatResult, WriteFile,
};

/// One agent, sub-agent or host that calls tools: its views, its rights.
///
/// It is not `Clone`: what one actor has seen never licenses another.
///
/// ```compile_fail
/// fn two_of<T: Clone>(_: &T) {}
/// fn share(actor: &guard_core::Actor) {
///     two_of(actor);
/// }
/// ```
pub struct Actor {
    state: Arc<ActorState>,
}

/// Whose call it is and what it may do, shared with its commits that are under way.
pub(crate) struct ActorState {
    pub(crate) guard: Arc<GuardState>,
    pub(crate) name: String,
    pub(crate) rights: Rights,
    /// Who is asked before a change is made: every one of them.
    pub(crate) approvers: Vec<Arc<dyn Approver>>,
    /// Whether there is somebody for what needs an approval: for each of those whose restrictions hold.
    pub(crate) has_approver: bool,
    pub(crate) record: Arc<Record>,
    /// The roots that it reaches: its own, or those that a tool and the actor that it is bound to have in common.
    pub(crate) reach: Arc<Reach>,
}

/// What one actor has seen, and what it has still to be told.
pub(crate) struct Record {
    /// Where the paths are that the views are of.
    target: TargetId,
    views: Mutex<Views>,
    notices: Mutex<Vec<Notice>>,
}

impl ActorState {
    /// Returns the views.
    pub(crate) fn views(&self) -> MutexGuard<'_, Views> {
        self.record.views()
    }

    /// Tells whether what was seen was seen on the target of this guard.
    pub(crate) fn is_of_one_target(&self) -> bool {
        self.record.target == *self.guard.ops.target()
    }
}

impl Record {
    fn new(target: TargetId) -> Self {
        Self { target, views: Mutex::default(), notices: Mutex::default() }
    }

    /// Returns the views. A panic while they were held cannot have left them half-changed in a way that allows more:
    /// a view is put in place in one step.
    pub(crate) fn views(&self) -> MutexGuard<'_, Views> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what is to be told of earlier calls whose outcome was unknown.
    pub(crate) fn notices(&self) -> MutexGuard<'_, Vec<Notice>> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Actor {
    pub(crate) fn new(guard: Arc<GuardState>, name: String, rights: Rights) -> Self {
        let approvers = guard.approvers();
        let has_approver = !approvers.is_empty();
        let record = Arc::new(Record::new(guard.ops.target().clone()));
        let reach = Arc::new(Reach::new(&guard.roots));
        Self { state: Arc::new(ActorState { guard, name, rights, approvers, has_approver, record, reach }) }
    }

    /// Makes a caller that acts in this actor's name and by its record, with `guard`'s target and policy, under the
    /// restrictions of both.
    pub(crate) fn acting(
        &self,
        guard: &Arc<GuardState>,
        rights: &Rights,
        approvers: &[Arc<dyn Approver>],
        has_approver: bool,
        reach: Option<&Arc<Reach>>,
    ) -> Self {
        let own = &self.state;
        // What was granted to one of two is not within the roots of both; a handle of a root is its guard's.
        let is_own =
            Arc::ptr_eq(guard, &own.guard) && reach.is_none_or(|reach| Arc::ptr_eq(reach, &own.reach));
        let reach = if is_own { Arc::clone(&own.reach) } else { Arc::new(Reach::new(&guard.roots)) };
        let mut rights = rights.and(&own.rights);
        if !Arc::ptr_eq(guard, &own.guard) {
            rights = rights.and(&own.guard.as_rights());
        }
        let mut all = approvers.to_vec();
        all.extend(
            own.approvers.iter().filter(|new| !approvers.iter().any(|old| Arc::ptr_eq(old, new))).cloned(),
        );
        Self {
            state: Arc::new(ActorState {
                guard: Arc::clone(guard),
                name: own.name.clone(),
                rights,
                approvers: all,
                // That nobody can be asked is a restriction too.
                has_approver: has_approver && own.has_approver,
                record: Arc::clone(&own.record),
                reach,
            }),
        }
    }

    /// Tells whether views are recorded and checked.
    pub(crate) fn records(&self) -> bool {
        self.state.guard.policy.views == Switch::On
    }

    pub(crate) fn state(&self) -> &ActorState {
        &self.state
    }

    /// Returns the actor's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.state.name
    }

    /// Returns the actor's rights.
    #[must_use]
    pub fn rights(&self) -> &Rights {
        &self.state.rights
    }

    /// Takes what was found out since about this actor's calls whose outcome was unknown.
    ///
    /// The target is asked about them before the guard's next call; [`Actor::call`] hands this over with its reply.
    #[must_use]
    pub fn notices(&self) -> Vec<Notice> {
        std::mem::take(&mut self.state.record.notices())
    }

    /// Adds a root for this actor alone, while it lives; tells what may be done there now.
    ///
    /// Its next call meets it, and so do the tools that are bound to it. Its children, and tools that are rebound to it,
    /// do not: they reach what the guard opened, and what is granted to them. The policy, and what the actor is held to
    /// by its rights, hold there as anywhere: a grant of a directory that is a root already gives no more than that
    /// root does.
    ///
    /// # Security
    ///
    /// The host grants: a model cannot call this. Links from other roots may lead into this one, for this actor.
    ///
    /// # Errors
    ///
    /// `not-found` and `not-a-directory` for what is no directory on the target, `outside-root` where the actor is
    /// held to other directories, `sensitive-path` for what holds the store of old bytes, or is in it; [`Failure`] where
    /// the target cannot be asked.
    pub async fn grant(&self, root: &TargetPath, access: Access) -> Result<Access, Failure> {
        grant::grant(&self.state, root, access).await
    }

    /// Takes a root back that was granted to this actor, from its next call on; tells whether there was one.
    ///
    /// What was seen there stays recorded and cannot be reached.
    #[allow(clippy::must_use_candidate, reason = "it is called for its effect")]
    pub fn revoke(&self, root: &TargetPath) -> bool {
        grant::revoke(&self.state, root)
    }

    /// Makes a child: it has seen nothing, and has no more rights than this actor.
    #[must_use]
    pub fn child(&self, name: impl Into<String>) -> Self {
        self.child_with(name, &Rights::default())
    }

    /// Makes a child that has the rights that both this actor and `rights` have.
    ///
    /// It may outlive its parent. What it reports to its parent is no view of the parent's.
    #[must_use]
    pub fn child_with(&self, name: impl Into<String>, rights: &Rights) -> Self {
        let own = &self.state;
        let record = Arc::new(Record::new(own.record.target.clone()));
        let reach = Arc::new(Reach::new(&own.guard.roots));
        Self {
            state: Arc::new(ActorState {
                guard: Arc::clone(&own.guard),
                name: name.into(),
                rights: own.rights.and(rights),
                approvers: own.approvers.clone(),
                has_approver: own.has_approver,
                record,
                reach,
            }),
        }
    }

    /// Forgets what this actor has seen of `path`, as when a host cuts or compacts a result out of the conversation.
    ///
    /// # Errors
    ///
    /// As [`Actor::stat`]: the path has to be resolved to know whose view it is.
    pub async fn forget(&self, path: &str) -> Result<(), Failure> {
        let mut request = self.request(Tool::Stat, vec![path.to_owned()]);
        // Of a link both: itself, and what it leads to, if that is in the workspace.
        let itself = request.resolve(path, Last::Itself).await?;
        let followed = request.resolve(path, Last::Follow).await;
        let mut views = self.state.views();
        views.forget(&itself);
        if let Ok(followed) = followed {
            views.forget(&followed);
        }
        Ok(())
    }

    /// Records that the actor's principal has seen all of version `digest` of `path` elsewhere.
    ///
    /// # Security
    ///
    /// The host vouches for it: a model cannot call this. It licenses an overwrite of exactly that version.
    ///
    /// # Errors
    ///
    /// As [`Actor::stat`]: the path has to be resolved to know whose view it is.
    pub async fn vouch(&self, path: &str, digest: Digest) -> Result<(), Failure> {
        let resolved = self.request(Tool::Stat, vec![path.to_owned()]).resolve(path, Last::Follow).await?;
        if self.records() {
            self.state.views().vouch(&resolved, digest);
        }
        Ok(())
    }

    /// Records that the actor's principal has seen elsewhere that `path` is a link with this text.
    ///
    /// # Security
    ///
    /// As [`Actor::vouch`]. It licenses the removal of exactly that link.
    ///
    /// # Errors
    ///
    /// As [`Actor::stat`]: the path has to be resolved to know whose view it is.
    pub async fn vouch_link(&self, path: &str, text: impl Into<String>) -> Result<(), Failure> {
        let resolved = self.request(Tool::Stat, vec![path.to_owned()]).resolve(path, Last::Itself).await?;
        if self.records() {
            let mut views = self.state.views();
            let now = views.begin();
            views.record_link(&resolved, now, text.into());
        }
        Ok(())
    }

    /// Returns a copy of what this actor has seen, by resolved path.
    #[must_use]
    pub fn views(&self) -> Views {
        self.state.views().clone()
    }

    /// Returns what this actor has seen, to be stored and taken over by an actor of a later process.
    #[must_use]
    pub fn save(&self) -> SavedViews {
        SavedViews {
            actor: self.state.name.clone(),
            target: self.state.record.target.clone(),
            views: self.views(),
        }
    }

    /// Takes over what an actor has seen in an earlier process, as far as it is still there.
    ///
    /// Every version is compared with what the target has, by digest and in one request; what differs is dropped, so
    /// that an unchanged file need not be read again and a changed one is never trusted. What this actor has seen
    /// meanwhile stands.
    ///
    /// # Errors
    ///
    /// `target-changed` where the views are of another target, `invalid-arguments` where they are of an actor of
    /// another name: a child's reading licenses its parent as little over a restart as before; [`Failure`] where the target cannot be asked. Nothing is
    /// taken over then.
    pub async fn resume(&self, saved: SavedViews) -> Result<Resumed, Failure> {
        recheck::resume(self, saved).await
    }

    /// Tells what changed since this actor saw it, other than by its own calls: a shell command, a formatter, a user.
    ///
    /// One request compares every version that was seen. It licenses nothing: what changed has to be read before it is
    /// written over. Each change is told once; a file that is gone is no longer seen, as after a `stat`.
    ///
    /// # Errors
    ///
    /// [`Failure`] where the target cannot be asked.
    pub async fn drift(&self) -> Result<Drift, Failure> {
        recheck::drift(self).await
    }

    /// Returns what the policy says of `path` for every act, and why.
    ///
    /// # Errors
    ///
    /// [`Failure`] where the path cannot be located or the target cannot be asked.
    pub async fn explain(&self, path: &str) -> Result<Explanation, Failure> {
        let request = self.request(Tool::Stat, vec![path.to_owned()]);
        request.audited(|request| tool::explain::explain(request, path)).await
    }

    /// Reads a file, by lines or by bytes. What is delivered is recorded as seen.
    ///
    /// # Errors
    ///
    /// [`Failure`] with the refusal. A directory, device or binary file is no failure but a typed result.
    pub async fn read_file(&self, args: ReadFile) -> Result<ReadResult, Failure> {
        let request = self.request(Tool::ReadFile, vec![args.path.clone()]);
        request.audited(|request| tool::read::read_file(request, args)).await
    }

    /// Writes a whole file: over the version that this actor has seen, or where nothing is.
    ///
    /// # Errors
    ///
    /// [`Failure`] with the refusal.
    pub async fn write_file(&self, args: WriteFile) -> Result<Done, Failure> {
        self.write_bytes(tool::write::WriteBytes::of_text(args)).await
    }

    /// Writes a whole file of any bytes: [`Actor::write_file`] for hosts whose content is no text.
    ///
    /// # Errors
    ///
    /// [`Failure`] with the refusal.
    pub async fn write_raw(&self, args: WriteFile, content: Vec<u8>) -> Result<Done, Failure> {
        self.write_bytes(tool::write::WriteBytes::new(args, content)).await
    }

    async fn write_bytes(&self, write: tool::write::WriteBytes) -> Result<Done, Failure> {
        let request = self.request(Tool::WriteFile, vec![write.path.clone()]);
        request.audited(|request| tool::write::write_file(request, write)).await
    }

    /// Replaces texts in a file: every edit, or none.
    ///
    /// # Errors
    ///
    /// [`Failure`] with the refusal.
    pub async fn edit_file(&self, args: EditFile) -> Result<Done, Failure> {
        let request = self.request(Tool::EditFile, vec![args.path.clone()]);
        request.audited(|request| tool::edit::edit_file(request, args)).await
    }

    /// Applies a V4A patch: all of it, or nothing. It is one approval and one batch.
    ///
    /// # Errors
    ///
    /// [`Failure`] with the refusal.
    pub async fn apply_patch(&self, args: ApplyPatch) -> Result<Done, Failure> {
        let parsed = tool::apply_patch::parsed(&args.patch, &self.state.guard.policy);
        let paths = parsed.as_ref().map(|patch| patch.paths().into_iter().map(str::to_owned).collect());
        let request = self.request(Tool::ApplyPatch, paths.unwrap_or_default());
        request.audited(|request| tool::apply_patch::apply_patch(request, parsed, args)).await
    }

    /// Deletes a file or a link that this actor has seen.
    ///
    /// # Errors
    ///
    /// [`Failure`] with the refusal.
    pub async fn delete_file(&self, args: DeleteFile) -> Result<Done, Failure> {
        let request = self.request(Tool::DeleteFile, vec![args.path.clone()]);
        request.audited(|request| tool::delete::delete_file(request, args)).await
    }

    /// Moves a file or a link to a free name.
    ///
    /// # Errors
    ///
    /// [`Failure`] with the refusal.
    pub async fn move_file(&self, args: MoveFile) -> Result<Done, Failure> {
        let request = self.request(Tool::MoveFile, vec![args.from.clone(), args.to.clone()]);
        request.audited(|request| tool::move_file::move_file(request, args)).await
    }

    /// Makes a directory, and its parents.
    ///
    /// # Errors
    ///
    /// [`Failure`] with the refusal.
    pub async fn make_dir(&self, args: MakeDir) -> Result<Done, Failure> {
        let request = self.request(Tool::MakeDir, vec![args.path.clone()]);
        request.audited(|request| tool::make_dir::make_dir(request, args)).await
    }

    /// Lists a directory.
    ///
    /// # Errors
    ///
    /// [`Failure`] with the refusal.
    pub async fn list_dir(&self, args: ListDir) -> Result<DirListing, Failure> {
        let request = self.request(Tool::ListDir, args.path.iter().cloned().collect());
        request.audited(|request| tool::list::list_dir(request, args)).await
    }

    /// Tells what is at one path or at several. A digest that is delivered counts as having seen the file for a
    /// deletion.
    ///
    /// # Errors
    ///
    /// [`Failure`] with the refusal.
    pub async fn stat(&self, args: StatPaths) -> Result<StatResult, Failure> {
        let request = self.request(Tool::Stat, args.path.iter().chain(&args.paths).cloned().collect());
        request.audited(|request| tool::stat::stat(request, args)).await
    }

    /// Undoes what a receipt tells of, all of it or nothing: bytes that were displaced are put back, what was created is
    /// removed, what was moved is moved back, and directories that were made go if they are empty.
    ///
    /// The target has to find what the receipt says is there: what changed since is left alone. What is put back was not
    /// delivered to this actor, so that it has to be read before it is written over. The receipt that comes of it can
    /// be undone as well.
    ///
    /// # Security
    ///
    /// The host undoes: a model cannot call this. A receipt needs no trust: every rule for paths, rights and approvals
    /// holds, and what it destroys is exactly the version that it names.
    ///
    /// # Errors
    ///
    /// `cannot-undo` where nothing was kept (any more), `stale` where something is not what the receipt says,
    /// `invalid-arguments` and `target-changed` where the receipt is none of this guard's; [`Failure`] as for any call.
    pub async fn undo(&self, receipt: &Receipt) -> Result<Done, Failure> {
        let paths = receipt.changes.iter().map(|change| change.resolved.to_string()).collect();
        let request = self.request(Tool::Undo, paths);
        request.audited(|request| tool::undo::undo(request, receipt, false)).await
    }

    /// Tells what [`Actor::undo`] would do, and changes nothing.
    ///
    /// # Errors
    ///
    /// As [`Actor::undo`].
    pub async fn plan_undo(&self, receipt: &Receipt) -> Result<Done, Failure> {
        let paths = receipt.changes.iter().map(|change| change.resolved.to_string()).collect();
        let request = self.request(Tool::Undo, paths);
        request.audited(|request| tool::undo::undo(request, receipt, true)).await
    }

    /// Calls a tool by name with JSON arguments, as a model does; it meets the same views as a direct call.
    pub async fn call(&self, name: &str, arguments: Value) -> Reply {
        match toolbox::named(&self.state.guard, name) {
            Ok(tool) => self.call_tool(tool, arguments).await,
            Err(failure) => Reply { notices: self.notices(), ..failure.into() },
        }
    }

    pub(crate) async fn call_tool(&self, tool: Tool, arguments: Value) -> Reply {
        let reply = tool::reply::call(self, tool, arguments).await;
        Reply { notices: self.notices(), ..reply }
    }

    /// Refuses a tool that does not exist for this actor, with its audit line.
    pub(crate) async fn lacks(&self, tool: Tool) -> Option<Failure> {
        let state = &self.state;
        if !state.rights.disabled.contains(&tool) && !state.guard.policy.disabled_tools.contains(&tool) {
            return None;
        }
        let request = self.request(tool, Vec::new());
        let refused = async |_| Err::<(), _>(Refusal::new(Code::ToolDisabled, "", tool.name()).into());
        request.audited(refused).await.err()
    }

    pub(crate) fn request(&self, tool: Tool, paths: Vec<String>) -> Request {
        Request::new(Arc::clone(&self.state), tool, paths)
    }
}
