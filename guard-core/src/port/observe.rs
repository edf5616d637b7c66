//! The steps inside a commit, for progress bars and for tests that stop between two of them.

use guard_policy::TargetPath;

/// A step of a commit that is about to be taken or was just taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step<'a> {
    /// The place was resolved and is where it was demanded to be.
    Resolved(&'a TargetPath),
    /// The precondition held at a first look; nothing was done yet.
    FirstLook(&'a TargetPath),
    /// So many bytes of the new content are staged.
    Staging(&'a TargetPath, u64),
    /// The new content is staged, checked and synced.
    Staged(&'a TargetPath),
    /// A lease was asked for.
    Leased(&'a TargetPath, bool),
    /// The precondition held right before publishing.
    Checked(&'a TargetPath),
    /// The change is at the name and was not judged yet.
    Exposed(&'a TargetPath),
    /// What was displaced was judged.
    Judged(&'a TargetPath),
    /// What was displaced by another writer was put back.
    PutBack(&'a TargetPath),
    /// The change is published and verified.
    Published(&'a TargetPath),
    /// The batch is over: synced, cleaned up.
    Finished,
}

/// Sees the steps of commits.
///
/// It is called on the thread that does the work: blocking it stops the commit there.
pub trait Observer: Send + Sync {
    /// Sees one step.
    fn step(&self, step: Step<'_>);
}
