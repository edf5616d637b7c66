//! The steps inside a commit, a listing and a read, for progress bars and for tests that stop between two of them.

use guard_policy::TargetPath;

/// A step that is about to be taken or was just taken.
///
/// A target reports the steps that its own side sees: a target behind a byte stream knows what left and what arrived,
/// and of the rest what the reply says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step<'a> {
    /// The place was resolved and is where it was demanded to be.
    Resolved(&'a TargetPath),
    /// The precondition held at a first look; nothing was done yet.
    FirstLook(&'a TargetPath),
    /// The new content has so many bytes, and is about to be staged.
    ToStage(&'a TargetPath, u64),
    /// So many bytes of the new content are staged, or are on their way to where they are; the last of these steps has
    /// all of them, also where there are none.
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
    /// The directory is open, and its names are about to be read.
    ToList(&'a TargetPath),
    /// What is asked for of a file has so many bytes, as far as is known, and is about to be read.
    ToRead(&'a TargetPath, u64),
    /// So many of these bytes were read; the last of these steps has all of them, also where there are none. A file
    /// that changes meanwhile is read again, from nothing.
    Reading(&'a TargetPath, u64),
}

/// Sees the steps of commits, listings and reads.
///
/// It is called on the thread or the task that does the work: blocking it stops the work there, and holds up whatever
/// else needs that thread.
/// It must not panic. What it does is no part of the work: a target either goes on without it, or reports the outcome
/// as unknown; it never publishes a part of a content because of it.
pub trait Observer: Send + Sync {
    /// Sees one step.
    fn step(&self, step: Step<'_>);
}
