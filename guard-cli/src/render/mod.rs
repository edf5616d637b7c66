//! What is printed: one JSON object, or text for a person.

mod change;
mod doctor;
mod explain;
mod list;
mod patch;
mod read;
mod refusal;
mod stat;
mod text;

use std::io::{self, Write};

use guard_core::policy::{Code, Refusal};
use guard_core::{DirListing, Done, Explanation, Failure, ReadResult, Reply, StatResult};
use serde::Serialize;

pub(crate) use self::text::Line;
use crate::doctor::Diagnosis;

/// What a command delivers.
pub(crate) enum Shown {
    /// `read`.
    Read(ReadResult),
    /// Every mutation.
    Done(Done),
    /// `ls`.
    List(DirListing),
    /// `stat`.
    Stat(StatResult),
    /// `explain`.
    Explained(Explanation),
    /// `doctor`.
    Diagnosed(Diagnosis),
    /// Nothing.
    Nothing,
}

/// Prints what a command delivers.
pub(crate) fn shown(shown: &Shown, json: bool) -> io::Result<()> {
    match shown {
        Shown::Read(result) if json => object(&Reply::of_result(Ok(result))),
        Shown::List(listing) if json => object(&Reply::of_result(Ok(listing))),
        Shown::Stat(result) if json => object(&Reply::of_result(Ok(result))),
        Shown::Explained(explanation) if json => object(&Reply::of_result(Ok(explanation))),
        Shown::Diagnosed(diagnosis) if json => object(&Reply::of_result(Ok(diagnosis))),
        Shown::Done(done) if json => object(&Reply::from(Ok(done.clone()))),
        Shown::Read(result) => read::delivered(result),
        Shown::List(listing) => list::listing(&mut anstream::stdout(), listing),
        Shown::Stat(result) => stat::facts(&mut anstream::stdout(), result),
        Shown::Explained(explanation) => explain::explanation(&mut anstream::stdout(), explanation),
        Shown::Diagnosed(diagnosis) => doctor::diagnosis(&mut anstream::stdout(), diagnosis),
        Shown::Done(done) => change::done(&mut anstream::stdout(), done),
        Shown::Nothing => Ok(()),
    }
}

/// Which version a command can be told to be there, by `--expect`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Versions {
    /// None.
    No,
    /// A file's.
    Named,
    /// A file's, or a link's.
    OrLink,
    /// A file's; without it nothing may be there.
    Replaced,
}

/// Prints why a command was not done: as an object on standard output, or for a person on standard error.
pub(crate) fn failure(failure: &Failure, versions: Versions, json: bool) -> io::Result<()> {
    if json {
        return object(&Reply::from(failure.clone()));
    }
    refusal::failure(&mut anstream::stderr(), failure, versions)
}

/// Prints why no guard was asked, with the code of the refusal that it comes to: as [`failure`] does.
pub(crate) fn not_called(code: Code, why: &str, json: bool) -> io::Result<()> {
    if json {
        let mut refusal = Refusal::new(code, "", "");
        why.clone_into(&mut refusal.message);
        return object(&Reply::from(Failure::from(refusal)));
    }
    error(why)
}

/// Prints why no call was made, for a person.
pub(crate) fn error(why: &str) -> io::Result<()> {
    writeln!(anstream::stderr(), "{} {}", text::styled(text::BAD, "error:"), text::Lines(why))
}

fn object(reply: &impl Serialize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, reply)?;
    writeln!(out)
}
