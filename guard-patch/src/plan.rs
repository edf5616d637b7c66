//! What a patch does to the files.

use crate::diagnostic::Rejected;
use crate::note::Note;
use crate::options::Options;
use crate::patch::Patch;
use crate::snapshot::Snapshot;
use crate::tier::Tier;

/// The net effect of a patch: at most one change for each path.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// Every path that the patch names, once, in the order of [`Patch::paths`], with what becomes of it.
    /// Where the plan stopped, paths that no operation reached are left out.
    pub files: Vec<FilePlan>,
    /// What the caller should know, in the order of the patch's lines: [`Patch::notes`], and those of the plan.
    pub notes: Vec<Note>,
    /// Under [`Options::danger_codex`]: why the plan holds only the operations before one that failed.
    /// `None` under every other options.
    pub stopped: Option<Rejected>,
}

impl Plan {
    /// Says whether the plan changes anything at all.
    #[must_use]
    pub fn changed(&self) -> bool {
        self.files.iter().any(FilePlan::changed)
    }
}

/// What becomes of one path.
///
/// | before | after | what to do |
/// | --- | --- | --- |
/// | `Absent` | `Absent` | nothing (the patch added and removed it again) |
/// | `Absent` | `Bytes` | create it, where nothing is (also the destination of a move with an edit: `moved_from` is set) |
/// | `Absent` | `Same` | move `moved_from` here, where nothing is |
/// | `File` | `Bytes` | replace its content |
/// | `File` | `Absent` | delete it; but if `moved_to` names a path that ends in `Same`, that move takes it away |
/// | `File` | `Same` | nothing: it stays as it is |
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilePlan {
    /// The path, as [`Patch::paths`] spells it.
    pub path: String,
    /// What the snapshot has at the path; an [`Entry::Other`](crate::Entry::Other) is never planned.
    pub before: Before,
    /// What will be at the path.
    pub after: After,
    /// The path from which this file was moved, with or without an edit.
    /// That path's own plan ends in [`After::Absent`] and names this one as its `moved_to`.
    pub moved_from: Option<String>,
    /// The path to which this file was moved.
    pub moved_to: Option<String>,
    /// The chunks that were applied on the way to this file, in the order of the patch.
    pub chunks: Vec<Applied>,
}

impl FilePlan {
    /// Says whether the path changes.
    #[must_use]
    pub const fn changed(&self) -> bool {
        !matches!(
            (self.before, &self.after, &self.moved_from),
            (Before::Absent, After::Absent, _) | (Before::File, After::Same, _)
        )
    }
}

/// What the snapshot has at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Nothing.
    Absent,
    /// A file.
    File,
}

/// What will be at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum After {
    /// Nothing.
    Absent,
    /// A file with these bytes, which differ from those that the snapshot has at the path.
    Bytes(Vec<u8>),
    /// The bytes that the snapshot has: at `moved_from` where that is set, else at the path itself.
    Same,
}

/// How one chunk was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// The line of the patch on which the chunk begins, counted from 1.
    pub patch_line: usize,
    /// The chunk's number within its operation, counted from 1.
    pub chunk: usize,
    /// The line of the file at which the chunk's lines stand, counted from 1, as the file was before the operation.
    /// For a chunk that only adds: the line before which its lines were put.
    pub file_line: usize,
    /// The number of lines removed.
    pub removed: usize,
    /// The number of lines added.
    pub added: usize,
    /// How well the old lines fit; [`Tier::Exact`] where there are none.
    pub tier: Tier,
    /// How well the anchors fit: the loosest of them; `None` without an anchor.
    pub anchor_tier: Option<Tier>,
    /// What was done.
    pub outcome: Outcome,
}

/// What was done for a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was applied.
    Applied,
    /// Its new lines are in the file already, so nothing was done.
    AlreadyApplied,
    /// It has context only, which was found.
    ContextOnly,
}

/// Works out what a patch does to the files of a snapshot.
///
/// # Errors
///
/// Every reason why the patch as a whole cannot be applied, in one go.
pub fn plan(patch: &Patch, files: &dyn Snapshot, options: &Options) -> Result<Plan, Rejected> {
    crate::overlay::plan(patch, files, options)
}
