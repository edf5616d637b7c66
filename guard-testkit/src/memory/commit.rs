//! The mutation: on a copy of the tree, which replaces the tree only if every change went through.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::sync::Arc;

use guard_core::policy::{Digest, FileState, OpenWriters, Precondition, TargetPath};
use guard_core::port::{
    Applied, Batch, Change, CommitError, CommitFailure, Committed, Content, Displaced, Effect, Fate, Kept,
    LeaseSupport, Mode, Observer, OpError, Parents, Place, Publish, Scope, Step, Tier,
};

use super::resolve::{Spot, resolve};
use super::tree::{Body, Ino, TOP, Tree};
use super::{Logged, Memory, State};

/// Bytes that were taken from a content's source and are what was announced.
type Staged = Option<Result<Arc<Vec<u8>>, CommitFailure>>;

/// A failure, and the change that it is of.
type Failed = (CommitFailure, Option<usize>);

pub(super) fn commit(memory: &Memory, batch: &Batch) -> Result<Committed, CommitError> {
    let staged: Vec<Staged> = batch.changes.iter().map(stage).collect();
    if let Some(observer) = &memory.observer {
        announce(memory, batch, observer.as_ref());
    }
    let outcome = {
        let mut state = memory.lock();
        let outcome = match state.log.get(&batch.id) {
            Some(Logged::Fenced) => {
                let why = "the commit was settled as not carried out before it arrived".to_owned();
                Err((OpError::Unavailable { why }.into(), None))
            }
            _ => carry_out(memory, &mut state, batch, &staged),
        };
        let fenced = state.log.get(&batch.id) == Some(&Logged::Fenced);
        if !fenced {
            let logged = if outcome.is_ok() { Logged::Applied } else { Logged::NotApplied };
            state.log.insert(batch.id.clone(), logged);
        }
        outcome
    };
    let changes = outcome.map_err(|(cause, at)| CommitError {
        cause,
        at,
        // A batch that failed has only ever touched a copy.
        fates: vec![Fate::Untouched; batch.changes.len()],
    })?;
    if let Some(observer) = &memory.observer {
        for applied in changes.iter().filter(|applied| applied.publish.changed) {
            for step in [Step::Exposed, Step::Judged, Step::Published] {
                observer.step(step(&applied.resolved));
            }
        }
        observer.step(Step::Finished);
    }
    Ok(Committed { changes, settled: false })
}

/// Takes a content's bytes and checks that they are what was announced.
fn stage(change: &Change) -> Staged {
    let Effect::Put { content, .. } = &change.effect else { return None };
    Some(match take(content) {
        Ok(bytes) => bytes.ok_or(CommitFailure::ContentMismatch),
        Err(error) => {
            Err(OpError::Io { what: "reading the content".to_owned(), errno: error.to_string() }.into())
        }
    })
}

fn take(content: &Content) -> std::io::Result<Option<Arc<Vec<u8>>>> {
    let mut bytes = Vec::new();
    // One byte more than announced is enough to know.
    content.open()?.take(content.len().saturating_add(1)).read_to_end(&mut bytes)?;
    let as_announced = bytes.len() as u64 == content.len() && Digest::of(&bytes) == content.digest();
    Ok(as_announced.then(|| Arc::new(bytes)))
}

/// Reports the steps before the one atomic step. The lock is held for each look and not while a step is reported.
fn announce(memory: &Memory, batch: &Batch, observer: &dyn Observer) {
    for change in &batch.changes {
        let look = |place: &Place| {
            let state = memory.lock();
            let spot = resolve(&state, (place.root, &place.path), place.last, &batch.scope).ok();
            spot.filter(|spot| spot.path == place.expect).map(|spot| spot.state(&state.tree))
        };
        let path = &change.place.expect;
        let Some(first) = look(&change.place) else { return };
        observer.step(Step::Resolved(path));
        if !change.precondition.holds(&first) && !matches!(change.effect, Effect::RemoveDir) {
            return;
        }
        observer.step(Step::FirstLook(path));
        if let Effect::Put { content, .. } = &change.effect {
            observer.step(Step::Staging(path, content.len()));
            observer.step(Step::Staged(path));
        }
    }
    for change in &batch.changes {
        observer.step(Step::Checked(&change.place.expect));
    }
}

/// What a change is about, in the tree before the batch.
struct Planned<'a> {
    change: &'a Change,
    spot: Spot,
    before: FileState,
    to: Option<Spot>,
}

fn carry_out(
    memory: &Memory,
    state: &mut State,
    batch: &Batch,
    staged: &[Staged],
) -> Result<Vec<Applied>, Failed> {
    let mut planned = Vec::with_capacity(batch.changes.len());
    let mut paths = BTreeSet::new();
    for (index, change) in batch.changes.iter().enumerate() {
        let plan = plan(state, change, &batch.scope).map_err(|cause| (cause, Some(index)))?;
        for path in [Some(&plan.spot), plan.to.as_ref()].into_iter().flatten().map(|spot| &spot.path) {
            if !paths.insert(path.clone()) {
                return Err((CommitFailure::SamePath { resolved: path.clone() }, Some(index)));
            }
        }
        planned.push(plan);
    }
    let available = memory.capabilities.tier;
    if batch.require.is_some_and(|required| required > available) {
        return Err((CommitFailure::TierUnavailable { available }, None));
    }
    let mut new: u64 = 0;
    for (index, bytes) in staged.iter().enumerate() {
        match bytes {
            Some(Ok(bytes)) => new += bytes.len() as u64,
            Some(Err(cause)) => return Err((cause.clone(), Some(index))),
            None => {}
        }
        // Old and new bytes are both there while a batch is staged.
        if state.capacity.is_some_and(|capacity| state.tree.used() + new > capacity) {
            return Err((OpError::NoSpace.into(), Some(index)));
        }
    }
    let mut publishing = Publishing {
        tree: state.tree.clone(),
        umask: state.umask,
        tier: available,
        lease: memory.capabilities.lease,
        batch,
    };
    let mut changes = Vec::with_capacity(planned.len());
    for (index, plan) in planned.iter().enumerate() {
        let bytes = staged[index].as_ref().and_then(|bytes| bytes.as_ref().ok());
        let applied = publishing.publish(plan, bytes, index).map_err(|cause| (cause, Some(index)))?;
        if applied.publish.changed && state.read_only {
            return Err((OpError::ReadOnlyFilesystem.into(), Some(index)));
        }
        changes.push(applied);
    }
    state.tree = publishing.tree;
    Ok(changes)
}

/// Resolves a change's places and checks what has to be there.
fn plan<'a>(state: &State, change: &'a Change, scope: &Scope) -> Result<Planned<'a>, CommitFailure> {
    let (spot, before) = arrive(state, &change.place, scope, false)?;
    let to = match &change.effect {
        Effect::MoveTo { to, destination, .. } => Some((arrive(state, to, scope, true)?, destination)),
        _ => None,
    };
    let precondition = &change.precondition;
    match &change.effect {
        Effect::RemoveDir => match before {
            FileState::Directory if spot.is_root => return Err(OpError::OutsideRoot.into()),
            FileState::Directory => {}
            FileState::Absent => return Err(OpError::NotFound { path: spot.path.to_string() }.into()),
            _ => return Err(OpError::NotDirectory { path: spot.path.to_string() }.into()),
        },
        Effect::Put { .. } | Effect::Remove | Effect::MakeDir { .. }
            if *precondition == Precondition::Exists =>
        {
            return Err(unsupported("the precondition `exists` for anything but a move"));
        }
        Effect::Put { .. } => demand(&spot, &before, precondition, false)?,
        Effect::MakeDir { .. } => demand(&spot, &before, &Precondition::Absent, false)?,
        Effect::Remove | Effect::MoveTo { .. } => {
            demand(&spot, &before, precondition, false)?;
            if before == FileState::Absent {
                return Err(mismatch(&spot, before, false));
            }
        }
    }
    let to = match to {
        None => None,
        Some(((to, there), destination)) => {
            if *destination != Precondition::Absent {
                return Err(unsupported("a destination that need not be absent"));
            }
            demand(&to, &there, destination, true)?;
            Some(to)
        }
    };
    Ok(Planned { change, spot, before, to })
}

/// Goes to a place, which has to be where it was demanded to be.
fn arrive(
    state: &State,
    place: &Place,
    scope: &Scope,
    destination: bool,
) -> Result<(Spot, FileState), CommitFailure> {
    let spot = resolve(state, (place.root, &place.path), place.last, scope)?;
    let there = spot.state(&state.tree);
    if spot.path != place.expect {
        return Err(CommitFailure::Elsewhere { resolved: spot.path, state: there, destination });
    }
    Ok((spot, there))
}

fn demand(
    spot: &Spot,
    there: &FileState,
    precondition: &Precondition,
    destination: bool,
) -> Result<(), CommitFailure> {
    // A digest that could not be taken is not another digest.
    let unreadable = there.is_regular() && there.digest().is_none();
    if unreadable && matches!(precondition, Precondition::Content { .. }) {
        return Err(OpError::PermissionDenied { path: spot.path.to_string() }.into());
    }
    if precondition.holds(there) { Ok(()) } else { Err(mismatch(spot, there.clone(), destination)) }
}

fn mismatch(spot: &Spot, found: FileState, destination: bool) -> CommitFailure {
    CommitFailure::Precondition { resolved: spot.path.clone(), found, destination }
}

fn unsupported(what: &str) -> CommitFailure {
    OpError::Unsupported { what: what.to_owned() }.into()
}

/// The copy that the changes are made on.
struct Publishing<'a> {
    tree: Tree,
    umask: u32,
    tier: Tier,
    lease: LeaseSupport,
    batch: &'a Batch,
}

impl Publishing<'_> {
    fn publish(
        &mut self,
        plan: &Planned<'_>,
        bytes: Option<&Arc<Vec<u8>>>,
        index: usize,
    ) -> Result<Applied, CommitFailure> {
        let path = &plan.spot.path;
        let mut applied = Applied {
            resolved: path.clone(),
            before: plan.before.clone(),
            after: FileState::Absent,
            publish: Publish { tier: self.tier, lease: None, changed: true, copied: false },
            made: Vec::new(),
            kept: Kept::default(),
            displaced: None,
            left: Vec::new(),
        };
        match &plan.change.effect {
            Effect::Put { mode, parents, .. } => {
                let bytes = bytes.ok_or(CommitFailure::ContentMismatch)?;
                self.put(plan, bytes, *mode, *parents, index, &mut applied)?;
            }
            Effect::Remove => {
                let directory = self.writable_parent(path)?;
                self.hold_off_writers(plan, &mut applied)?;
                self.displace(plan, directory, index, &mut applied);
                self.tree.detach(directory, path.name().as_bytes());
            }
            Effect::MoveTo { parents, .. } => {
                let to = plan.to.as_ref().ok_or_else(|| unsupported("a move to nowhere"))?;
                let from = self.writable_parent(path)?;
                self.hold_off_writers(plan, &mut applied)?;
                self.make_parents(&to.path, *parents, &mut applied.made)?;
                let into = self.writable_parent(&to.path)?;
                self.still_absent(into, &to.path, true)?;
                if let Some(ino) = self.tree.lookup(from, path.name().as_bytes()) {
                    // The new name first, so that the inode is never without one.
                    self.tree.attach(into, to.path.name().as_bytes(), ino);
                    self.tree.detach(from, path.name().as_bytes());
                }
                applied.after = plan.before.clone();
            }
            Effect::MakeDir { parents } => {
                self.make_parents(path, *parents, &mut applied.made)?;
                let directory = self.writable_parent(path)?;
                self.still_absent(directory, path, false)?;
                self.make_directory(directory, path.name());
                applied.after = FileState::Directory;
            }
            Effect::RemoveDir => {
                let directory = self.writable_parent(path)?;
                if plan.spot.ino.and_then(|ino| self.tree.names(ino)).is_some_and(|names| !names.is_empty()) {
                    return Err(CommitFailure::NotEmpty { resolved: path.clone() });
                }
                self.tree.detach(directory, path.name().as_bytes());
            }
        }
        Ok(applied)
    }

    fn put(
        &mut self,
        plan: &Planned<'_>,
        bytes: &Arc<Vec<u8>>,
        mode: Mode,
        parents: Parents,
        index: usize,
        applied: &mut Applied,
    ) -> Result<(), CommitFailure> {
        let path = &plan.spot.path;
        let old_mode = match plan.before {
            FileState::Regular { mode, nlink, .. } => {
                applied.kept.other_names = nlink.saturating_sub(1);
                Some(mode)
            }
            _ => None,
        };
        let new_mode = match (mode, old_mode) {
            (Mode::Set(mode), _) => mode & 0o7777,
            // New bytes do not inherit the rights of old ones.
            (_, Some(old)) => old & !special_bits(old),
            (Mode::Keep, None) => 0o666 & !self.umask,
            (Mode::Executable, None) => 0o777 & !self.umask,
        };
        let same_mode = !matches!(mode, Mode::Set(_)) || old_mode == Some(new_mode);
        if same_mode && plan.before.digest() == Some(Digest::of(bytes)) {
            applied.kept = Kept::default();
            applied.publish.changed = false;
            applied.publish.lease = Some(self.lease == LeaseSupport::Tried);
            applied.after = plan.before.clone();
            return Ok(());
        }
        if let Some(old) = old_mode {
            if old & 0o200 == 0 {
                return Err(CommitFailure::ReadOnlyFile { resolved: path.clone() });
            }
            applied.kept.lost = dropped_bits(old & !new_mode & special_bits(old));
        }
        self.hold_off_writers(plan, applied)?;
        self.make_parents(path, parents, &mut applied.made)?;
        let directory = self.writable_parent(path)?;
        if plan.before == FileState::Absent {
            self.still_absent(directory, path, false)?;
        }
        self.displace(plan, directory, index, applied);
        let ino = self.tree.add(Body::File(Arc::clone(bytes)), new_mode);
        self.tree.attach(directory, path.name().as_bytes(), ino);
        applied.after = FileState::Regular {
            len: bytes.len() as u64,
            mode: new_mode,
            nlink: 1,
            digest: Some(Digest::of(bytes)),
        };
        Ok(())
    }

    /// Refuses a file that somebody has open for writing, unless that is allowed or cannot be noticed.
    fn hold_off_writers(&self, plan: &Planned<'_>, applied: &mut Applied) -> Result<(), CommitFailure> {
        let Some(ino) = plan.spot.ino.filter(|_| plan.before.is_regular()) else { return Ok(()) };
        let free = self.tree.node(ino).writers == 0;
        let tried = self.lease == LeaseSupport::Tried;
        if tried && !free && self.batch.open_writers == OpenWriters::Refuse {
            return Err(CommitFailure::OpenForWriting { resolved: plan.spot.path.clone() });
        }
        applied.publish.lease = Some(tried && free);
        Ok(())
    }

    /// Returns the displaced bytes where they were asked for, and keeps them under a name of their own where the
    /// change did not say what they are.
    fn displace(&mut self, plan: &Planned<'_>, directory: Ino, index: usize, applied: &mut Applied) {
        let Some(ino) = plan.spot.ino else { return };
        let Body::File(old) = &self.tree.node(ino).body else { return };
        if let Displaced::Return { max } = self.batch.displaced
            && old.len() as u64 <= max
        {
            applied.displaced = Some(old.to_vec());
        }
        if plan.change.precondition == Precondition::DangerAny {
            let seed = Digest::of(format!("{}/{index}", self.batch.id).as_bytes());
            let name = format!(".guard-{}", &seed.to_string()["sha256:".len()..][..8]);
            let path = &plan.spot.path;
            let kept = path.parent().and_then(|parent| parent.child(&name).ok());
            self.tree.attach(directory, name.as_bytes(), ino);
            applied.left.extend(kept.map(|kept| format!("{kept}: the bytes that were at {path}")));
        }
    }

    /// Makes what is missing of a path's parents.
    fn make_parents(
        &mut self,
        path: &TargetPath,
        parents: Parents,
        made: &mut Vec<TargetPath>,
    ) -> Result<(), CommitFailure> {
        let mut at = TOP;
        let mut here = TargetPath::root();
        for name in path.parent().iter().flat_map(TargetPath::components) {
            let above = here;
            here = super::resolve::child(&above, name)?;
            at = match self.tree.lookup(at, name.as_bytes()) {
                Some(ino) if self.tree.names(ino).is_some() => ino,
                Some(_) => return Err(OpError::NotDirectory { path: here.to_string() }.into()),
                None if parents == Parents::Require => {
                    return Err(OpError::NotFound { path: here.to_string() }.into());
                }
                None => {
                    self.writable(at, &above)?;
                    made.push(here.clone());
                    self.make_directory(at, name)
                }
            };
        }
        Ok(())
    }

    fn make_directory(&mut self, directory: Ino, name: &str) -> Ino {
        let ino = self.tree.add(Body::Directory(Arc::default()), 0o777 & !self.umask);
        self.tree.attach(directory, name.as_bytes(), ino);
        ino
    }

    /// Finds the directory that holds a name and may be changed.
    fn writable_parent(&self, path: &TargetPath) -> Result<Ino, CommitFailure> {
        let parent = path.parent().ok_or(OpError::OutsideRoot)?;
        let ino = self.tree.find(&parent).ok_or_else(|| OpError::NotFound { path: parent.to_string() })?;
        self.writable(ino, &parent)?;
        Ok(ino)
    }

    fn writable(&self, directory: Ino, path: &TargetPath) -> Result<(), CommitFailure> {
        if self.tree.node(directory).mode & 0o300 == 0o300 {
            Ok(())
        } else {
            Err(OpError::PermissionDenied { path: path.to_string() }.into())
        }
    }

    /// Refuses a name that an earlier change of the same batch has taken (a parent that it made).
    fn still_absent(
        &self,
        directory: Ino,
        path: &TargetPath,
        destination: bool,
    ) -> Result<(), CommitFailure> {
        match self.tree.lookup(directory, path.name().as_bytes()) {
            None => Ok(()),
            Some(ino) => Err(CommitFailure::Precondition {
                resolved: path.clone(),
                found: self.tree.state_with_digest(ino),
                destination,
            }),
        }
    }
}

/// Returns the bits that new bytes do not inherit: setuid, and setgid of what the group may execute (without
/// that it means mandatory locking: chmod(2)).
const fn special_bits(mode: u32) -> u32 {
    let setgid = if mode & 0o010 == 0 { 0 } else { mode & 0o2000 };
    (mode & 0o4000) | setgid
}

fn dropped_bits(bits: u32) -> Vec<String> {
    [(0o4000, "setuid"), (0o2000, "setgid")]
        .iter()
        .filter(|(bit, _)| bits & bit != 0)
        .map(|(_, name)| (*name).to_owned())
        .collect()
}
