//! The mutation: changes under their preconditions, all or nothing.
//!
//! The order is that of every batch: resolve and compare, a first look at every precondition (which has no effect),
//! parents, staging, a second look under leases (and the locks of the directories, a courtesy among guards), publishing in order, a last look at directories and leases, then
//! the displaced inodes go. On a failure, what was published is taken back in reverse.
//!
//! An inode is unlinked only if it is what was staged or what the precondition named, by type and digest, and has the
//! temporary name at that moment; whatever else turns up stays, under a name that is reported.

mod copy;
mod courtesy;
mod create;
mod dir;
mod give_back;
mod in_place;
mod look;
mod metadata;
mod moved;
mod parents;
mod plan;
mod remove;
mod replace;
mod stage;
mod window;

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use guard_core::policy::{FileState, OpenWriters, TargetPath};
use guard_core::port::{
    Applied, Batch, CommitError, CommitFailure, Committed, Effect, Fate, Kept, OpError, Publish, Step, Tier,
};

use self::look::{Old, Thing};
use self::parents::MadeDir;
use self::plan::{Planned, Site};
use self::stage::Staged;
use super::sys::{self, Id};
use super::{Inner, errno, root};
use crate::names;
use crate::temp::{self, Role};

/// How long an open that found the old inode before it was displaced gets to run into the lease.
///
/// Measured: with it, 40,000 rounds against a writer that opens, waits and writes lost nothing.
const SETTLE: Duration = Duration::from_micros(50);

/// What a whole commit needs.
struct Cx<'a> {
    local: &'a Inner,
    batch: &'a Batch,
}

/// Why a batch stopped, and at which change.
struct Stop {
    cause: CommitFailure,
    at: Option<usize>,
    /// What became of what was done for that change already.
    fate: Fate,
}

/// A publication that failed, and what became of the name.
struct Failed {
    cause: CommitFailure,
    fate: Fate,
}

/// A publication that went through.
struct Published {
    before: FileState,
    after: FileState,
    tier: Tier,
    lease: Option<bool>,
    changed: bool,
    copied: bool,
    /// What was done, in order.
    steps: Vec<Box<dyn Done>>,
}

/// One thing that was done at a name, which can be taken back until it is finished.
trait Done {
    /// Tells whether a writer waits for the inode that was displaced.
    fn is_waited_for(&self) -> bool {
        false
    }

    /// Takes it back, unless another writer was there since.
    fn undo(self: Box<Self>, cx: &Cx<'_>) -> Fate;

    /// Lets go of what was displaced.
    fn finish(self: Box<Self>, cx: &Cx<'_>, end: &mut End);
}

/// What is learnt when a change is finished.
#[derive(Default)]
struct End {
    left: Vec<String>,
    displaced: Option<Vec<u8>>,
    /// A writer was late: the lease did not hold.
    late: bool,
    /// The name is there again: a directory that was not empty any more.
    still_there: bool,
}

/// One change on its way.
struct Work<'a> {
    plan: Planned<'a>,
    /// What was there at the last look.
    old: Old,
    staged: Option<Staged>,
    /// Whether the content is there already.
    identical: bool,
    kept: Kept,
    made: Vec<TargetPath>,
    /// What stays whatever becomes of the change, each with its name.
    left: Vec<String>,
    published: Option<Published>,
    fate: Fate,
}

impl Cx<'_> {
    fn step(&self, step: Step<'_>) {
        self.local.step(step);
    }

    fn temp(&self, change: usize, role: Role) -> String {
        temp::name(&self.batch.id, change, role)
    }

    /// Tells whether the tier may be used: a forced one pretends that stronger ones do not exist.
    fn offers(&self, tier: Tier) -> bool {
        self.local.forced.is_none_or(|forced| tier <= forced)
    }

    /// Refuses a tier that is weaker than the batch requires.
    fn permit(&self, tier: Tier) -> Result<(), CommitFailure> {
        match self.batch.require {
            Some(required) if tier < required => Err(CommitFailure::TierUnavailable { available: tier }),
            _ => Ok(()),
        }
    }
}

impl Stop {
    fn at<F: Into<Failed>>(index: usize) -> impl FnOnce(F) -> Self {
        move |failed| {
            let Failed { cause, fate } = failed.into();
            Self { cause, at: Some(index), fate }
        }
    }
}

impl From<OpError> for Failed {
    fn from(error: OpError) -> Self {
        CommitFailure::from(error).into()
    }
}

impl From<CommitFailure> for Failed {
    fn from(cause: CommitFailure) -> Self {
        Self { cause, fate: Fate::Untouched }
    }
}

/// Carries out a batch.
pub(super) fn commit(local: &Inner, batch: &Batch) -> Result<Committed, CommitError> {
    let cx = Cx { local, batch };
    let mut works = Vec::new();
    let mut made = Vec::new();
    // Held also while a failure is taken back.
    let mut held = Vec::new();
    let outcome = carry_out(&cx, &mut works, &mut made, &mut held);
    let result = match outcome {
        Ok(()) => Ok(finish(&cx, works)),
        Err(stop) => Err(undo(&cx, stop, works, made)),
    };
    cx.step(Step::Finished);
    result
}

fn carry_out<'a>(
    cx: &Cx<'a>,
    works: &mut Vec<Work<'a>>,
    made: &mut Vec<MadeDir>,
    held: &mut Vec<OwnedFd>,
) -> Result<(), Stop> {
    if let (Some(forced), Some(required)) = (cx.local.forced, cx.batch.require)
        && forced < required
    {
        let cause = CommitFailure::TierUnavailable { available: forced };
        return Err(Stop { cause, at: None, fate: Fate::Untouched });
    }
    for plan in plan::plan(cx)? {
        let index = plan.index;
        let old = plan::first_look(&plan).map_err(Stop::at(index))?;
        cx.step(Step::FirstLook(&plan.site.path));
        works.push(Work {
            plan,
            old,
            staged: None,
            identical: false,
            kept: Kept::default(),
            made: Vec::new(),
            left: Vec::new(),
            published: None,
            fate: Fate::Untouched,
        });
    }
    for work in works.iter_mut() {
        are_where_they_were(cx, work).map_err(Stop::at(work.plan.index))?;
        parents::make(cx, work, made).map_err(Stop::at(work.plan.index))?;
    }
    for work in works.iter_mut() {
        stage::stage(cx, work).map_err(Stop::at(work.plan.index))?;
    }
    stage::probe(cx, works)?;
    *held = courtesy::hold(works);
    for work in works.iter_mut() {
        plan::second_look(cx, work).map_err(Stop::at(work.plan.index))?;
        cx.step(Step::Checked(&work.plan.site.path));
    }
    for index in 0..works.len() {
        let published = publish(cx, works, index).map_err(Stop::at(index))?;
        works[index].published = Some(published);
        cx.step(Step::Published(&works[index].plan.site.path));
    }
    last_look(cx, works, made)
}

/// Refuses before anything is made where a directory was moved since it was found.
fn are_where_they_were(cx: &Cx<'_>, work: &Work<'_>) -> Result<(), OpError> {
    for site in [Some(&work.plan.site), work.plan.to.as_ref()].into_iter().flatten() {
        if !root::is_at(&site.dir, &site.dir_path, cx.local.position)? {
            return Err(OpError::UnstablePath);
        }
    }
    Ok(())
}

fn publish(cx: &Cx<'_>, works: &mut [Work<'_>], index: usize) -> Result<Published, Failed> {
    let (before, rest) = works.split_at_mut(index);
    let Some(work) = rest.first_mut() else { return Err(Failed::from(CommitFailure::ContentMismatch)) };
    if work.identical {
        let state = work.old.thing.state();
        return Ok(Published::unchanged(state, Some(work.old.leased)));
    }
    match &work.plan.change.effect {
        Effect::Put { .. } => match work.old.thing {
            Thing::Absent => create::publish(cx, work),
            _ => replace::publish(cx, work),
        },
        Effect::Remove => remove::publish(cx, work),
        Effect::MoveTo { .. } => moved::publish(cx, work),
        // It was made with the parents.
        Effect::MakeDir { .. } => Ok(Published::new(FileState::Absent, FileState::Directory, Tier::Exchange)),
        Effect::RemoveDir => dir::publish(cx, work, before),
    }
}

/// Looks once more at what could still make it all wrong: a directory that is elsewhere by now, and a writer that
/// waits for an inode that was displaced.
fn last_look(cx: &Cx<'_>, works: &[Work<'_>], made: &[MadeDir]) -> Result<(), Stop> {
    let published = Instant::now();
    let mut seen: HashSet<(Id, TargetPath)> = HashSet::new();
    let mut synced: HashSet<Id> = HashSet::new();
    let mut once = |dir: &OwnedFd, path: &TargetPath, at: usize| -> Result<(), Stop> {
        let fail = |error: OpError| Stop::at(at)(error);
        let id = sys::meta(dir).map_err(|errno| fail(errno::at(errno, "looking at", path)))?.id;
        // One directory that was found at two paths is not at both.
        if !seen.insert((id, path.clone())) {
            return Ok(());
        }
        if !root::is_at(dir, path, cx.local.position).map_err(fail)? {
            return Err(fail(OpError::UnstablePath));
        }
        if !synced.insert(id) {
            return Ok(());
        }
        sync(dir).map_err(|errno| fail(errno::at(errno, "syncing", path)))
    };
    for work in works {
        if work.published.as_ref().is_some_and(|published| published.changed) {
            let plan = &work.plan;
            for site in [Some(&plan.site), plan.to.as_ref()].into_iter().flatten() {
                once(&site.dir, &site.dir_path, plan.index)?;
            }
        }
    }
    for made in made {
        once(&made.parent, &made.parent_path, made.by)?;
    }
    let steps =
        |work: &Work<'_>| work.published.as_ref().is_some_and(|published| published.lease == Some(true));
    if works.iter().any(steps)
        && let Some(rest) = SETTLE.checked_sub(published.elapsed())
    {
        std::thread::sleep(rest);
    }
    if cx.batch.open_writers == OpenWriters::Refuse {
        for work in works {
            let mut steps = work.published.iter().flat_map(|published| &published.steps);
            if steps.any(|step| step.is_waited_for()) {
                let resolved = work.plan.site.path.clone();
                return Err(Stop::at(work.plan.index)(CommitFailure::OpenForWriting { resolved }));
            }
        }
    }
    Ok(())
}

/// Writes a directory's names to the disk.
fn sync(dir: &OwnedFd) -> rustix::io::Result<()> {
    let done = sys::open_directory(dir, b".").and_then(sys::sync);
    match done {
        // EACCES: a directory that may be written but not read cannot be opened to be synced. EINVAL and the like:
        // its filesystem syncs no directories (fsync(2)).
        Err(errno) if errno == rustix::io::Errno::ACCESS || sys::is_unsupported(errno) => Ok(()),
        done => done,
    }
}

fn finish(cx: &Cx<'_>, works: Vec<Work<'_>>) -> Committed {
    // Directories go last, when what was displaced from them is gone.
    let mut ends: Vec<(Work<'_>, End)> = Vec::new();
    let mut later = Vec::new();
    for mut work in works {
        let mut end = End { left: std::mem::take(&mut work.left), ..End::default() };
        if let Some(published) = &mut work.published {
            let steps = std::mem::take(&mut published.steps);
            if matches!(work.plan.change.effect, Effect::RemoveDir) {
                later.push((ends.len(), steps));
            } else {
                for step in steps {
                    step.finish(cx, &mut end);
                }
            }
        }
        ends.push((work, end));
    }
    for (index, steps) in later {
        for step in steps {
            step.finish(cx, &mut ends[index].1);
        }
    }
    let changes = ends.into_iter().filter_map(|(work, end)| applied(work, end)).collect();
    Committed { changes, settled: false }
}

fn applied(work: Work<'_>, end: End) -> Option<Applied> {
    let published = work.published?;
    let after = if end.still_there { published.before.clone() } else { published.after };
    Some(Applied {
        resolved: work.plan.site.path,
        before: published.before,
        after,
        publish: Publish {
            tier: published.tier,
            lease: published.lease.map(|lease| lease && !end.late),
            changed: published.changed && !end.still_there,
            copied: published.copied,
        },
        made: work.made,
        kept: work.kept,
        // What was moved by a copy is at its new name.
        displaced: end.displaced.filter(|_| !matches!(work.plan.change.effect, Effect::MoveTo { .. })),
        left: end.left,
    })
}

/// Takes back what was published, in reverse, and removes what was staged and made.
fn undo(cx: &Cx<'_>, stop: Stop, mut works: Vec<Work<'_>>, made: Vec<MadeDir>) -> CommitError {
    let mut touched: Vec<Arc<OwnedFd>> = Vec::new();
    if let Some(work) = stop.at.and_then(|at| works.get_mut(at)) {
        work.fate = stop.fate;
    }
    for work in works.iter_mut().rev() {
        for what in std::mem::take(&mut work.left) {
            work.fate = worse(std::mem::replace(&mut work.fate, Fate::Untouched), Fate::Left { what });
        }
        if let Some(published) = work.published.take() {
            for step in published.steps.into_iter().rev() {
                let fate = step.undo(cx);
                work.fate = worse(std::mem::replace(&mut work.fate, Fate::Untouched), fate);
                touched.push(Arc::clone(&work.plan.site.dir));
            }
        }
        if let Some(staged) = work.staged.take() {
            let kept = staged.discard(work.plan.to.as_ref().unwrap_or(&work.plan.site));
            work.fate = worse(std::mem::replace(&mut work.fate, Fate::Untouched), kept);
        }
        // Whoever waits for the old inode goes on with it.
        work.old = Old::nothing();
    }
    for made in made.into_iter().rev() {
        let by = made.by;
        touched.push(Arc::clone(&made.parent));
        let fate = made.remove();
        if let Some(work) = works.get_mut(by) {
            // A parent that came and went is no part of the change.
            if matches!(fate, Fate::Left { .. }) || matches!(work.plan.change.effect, Effect::MakeDir { .. })
            {
                work.fate = worse(std::mem::replace(&mut work.fate, Fate::Untouched), fate);
            }
        }
    }
    for dir in touched {
        // The failure that is reported is the batch's; a crash now could at worst bring a name back.
        let _ = sync(&dir);
    }
    let mut fates: Vec<Fate> = works.into_iter().map(|work| work.fate).collect();
    fates.resize(cx.batch.changes.len(), Fate::Untouched);
    CommitError { cause: stop.cause, at: stop.at, fates }
}

/// Joins what became of two parts of one change.
fn worse(one: Fate, other: Fate) -> Fate {
    match (one, other) {
        (Fate::Left { what }, Fate::Left { what: also }) => Fate::Left { what: format!("{what}; {also}") },
        (Fate::Left { what }, _) | (_, Fate::Left { what }) => Fate::Left { what },
        (Fate::Unknown, _) | (_, Fate::Unknown) => Fate::Unknown,
        (Fate::Restored, _) | (_, Fate::Restored) => Fate::Restored,
        (Fate::Untouched, Fate::Untouched) => Fate::Untouched,
    }
}

impl Published {
    fn new(before: FileState, after: FileState, tier: Tier) -> Self {
        Self { before, after, tier, lease: None, changed: true, copied: false, steps: Vec::new() }
    }

    fn unchanged(state: FileState, lease: Option<bool>) -> Self {
        Self { lease, changed: false, ..Self::new(state.clone(), state, Tier::Exchange) }
    }

    fn with(mut self, step: impl Done + 'static) -> Self {
        self.steps.push(Box::new(step));
        self
    }
}

/// Names a file beside the changed one, for a report.
fn beside(site: &Site, name: &str) -> String {
    names::child(&site.dir_path, name).map_or_else(|_| name.to_owned(), |path| path.to_string())
}

/// Says that a file stays.
fn left(site: &Site, name: &str, why: &str) -> Fate {
    Fate::Left { what: format!("{}: {why}", beside(site, name)) }
}

/// Translates an error at a site.
fn fail(errno: rustix::io::Errno, what: &str, site: &Site) -> CommitFailure {
    // ENOENT for a name in a directory that is held: the directory itself was removed.
    errno::at(errno, what, &site.path).into()
}
