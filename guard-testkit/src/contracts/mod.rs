//! The contracts between a guard and a target that is somewhere else, through the public tools.
//!
//! The suite of [`crate::conformance`] is about a target alone; these are about the two together: the controller's
//! own files are never asked, what was probed is what is written, and a lost line is reported truly. An implementer
//! of a [`Transport`] gives a [`Fixture`]; [`run`] takes every contract on fresh ground.
//!
//! For every contract the controller has a directory of the same path as the workspace on the target, with other
//! things in it.

mod alias;
mod appearing;
mod bench;
mod database;
mod documents;
mod folder;
mod killed;
mod line;
mod location;
mod lost;
mod namespace;
mod nodes;
mod noting;
mod place;
mod trips;

use std::any::Any;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use guard_backends::shell::Shell;
use guard_core::policy::TargetPath;
use guard_core::port::{FileOps, Transport};

use self::bench::Bench;
pub use self::folder::FolderFixture;
use crate::conformance::{Broken, Ending, Report, World};
use crate::transport::Wrappers;

/// How long a contract may take: some of them open the line many times over.
const DEADLINE: Duration = Duration::from_secs(240);

/// Gives the contracts something to hold on.
#[async_trait]
pub trait Fixture: Send + Sync {
    /// Makes fresh ground for one contract.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being made; the contract has then failed.
    async fn fresh(&self) -> io::Result<Ground>;
}

/// Fresh ground on a target that is not the controller.
pub struct Ground {
    /// The way to the target.
    pub transport: Arc<dyn Transport>,
    /// Another route to the target, with the target's paths.
    pub world: Arc<dyn World>,
    /// An empty directory on the target.
    pub root: TargetPath,
    /// The home directory that the target's user has; it is empty too, and not below the root.
    pub home: TargetPath,
    /// A directory of this machine with the same path as `root` has on the target: an empty one that is another.
    pub controller: PathBuf,
    /// What is held to the contracts: the shell over the transport as it is ([`plain`]), or with something around it.
    pub around: Around,
    /// Tools that are first on the target's `PATH` once they are wrapped, where a fixture can put them there: with
    /// them a shell is killed between two steps that a contract has chosen.
    pub tools: Option<Arc<Wrappers>>,
    /// Whatever has to live as long as the ground.
    pub keep: Box<dyn Any + Send + Sync>,
}

/// Puts something around a shell.
pub type Around = Arc<dyn Fn(Shell) -> Arc<dyn FileOps> + Send + Sync>;

/// Takes the shell as it is.
#[must_use]
pub fn plain() -> Around {
    Arc::new(|shell| Arc::new(shell))
}

/// One contract.
pub struct Contract {
    /// Its name.
    pub name: &'static str,
    /// What is promised, in one sentence.
    pub promise: &'static str,
    run: fn(Bench) -> Running,
}

type Running = Pin<Box<dyn Future<Output = Result<(), Broken>> + Send>>;

macro_rules! contracts {
    ($($module:ident :: $name:ident : $promise:literal),* $(,)?) => {
        /// Every contract.
        pub const CONTRACTS: &[Contract] = &[$(Contract {
            name: stringify!($name),
            promise: $promise,
            run: |bench| Box::pin($module::$name(bench)),
        }),*];
    };
}

contracts! {
    namespace::what_is_only_on_the_target_is_not_overwritten:
        "A file that exists only on the target is refused and stays, byte for byte; the controller is untouched.",
    namespace::what_is_only_on_the_controller_is_no_obstacle:
        "A file that exists only on the controller hinders no creation on the target, which lands only there.",
    namespace::new_documents_are_created_on_the_target:
        "A new database or PDF is created on the target with exactly the given bytes.",
    lost::what_fails_before_the_request_is_complete_changes_nothing:
        "A line that breaks, refuses, prints noise or ends with any status before the request is complete changes nothing, and the remedy is to make the call again.",
    lost::a_target_that_hangs_is_given_up_and_changes_nothing:
        "A target that hangs before the request is complete is given up after the deadline, and nothing has changed.",
    lost::a_write_cut_anywhere_is_old_or_new_and_reported_truly:
        "A write that is cut after any byte leaves the old file or the new one, never a short one, and is reported truly after the next connection, also when the old shell wakes up later.",
    place::names_that_claim_to_be_local_change_nothing:
        "Locality comes from the live target: names and paths that claim `local` change nothing.",
    place::the_home_is_the_targets:
        "`~` is the target's home, and what was probed is what is written.",
    namespace::reading_delivers_the_targets_bytes:
        "Reading, views, stale checks and retried writes are of the target's bytes; a controller's file of the same path never stands in.",
    appearing::what_appears_between_decision_and_effect_survives:
        "A database that another process makes after absence was observed is refused before any effect and stays whole, by every spelling and operation.",
    appearing::one_stale_file_keeps_a_whole_patch_from_being_applied:
        "One file of a patch that changed at the barrier keeps every file as it was.",
    killed::a_patch_whose_session_is_killed_is_all_or_none_or_says_what_is_uncertain:
        "A patch whose session is killed between two publishes is in effect as a whole or not at all after the next connection, or names what is uncertain.",
    documents::opaque_documents_are_refused_without_asking:
        "Office documents and SQLite sidecars are refused even when new, without contacting the target.",
    alias::aliases_are_judged_by_what_they_lead_to:
        "A link is judged by what it leads to on the target, in the request that would act.",
    location::every_spelling_is_one_location:
        "Relative paths, absolute paths, dots and patch headers lead to one location: policy, lock, view and mutation use that.",
    nodes::what_is_no_file_is_refused_and_stays:
        "A directory, FIFO, socket, device or dangling link at the name is refused and stays.",
    nodes::odd_files_have_defined_outcomes:
        "A read-only file, a setgid directory and a hard-linked pair have defined outcomes.",
    trips::round_trips_are_counted:
        "Write 1, read 1, edit 2, a patch of 40 files 2, delete 1; one more where a path goes through a link.",
}

/// Takes every contract on fresh ground.
pub async fn run(fixture: &dyn Fixture) -> Report {
    let mut report = Report::default();
    for contract in CONTRACTS {
        report.0.push((contract.name, take(fixture, contract).await));
    }
    report
}

/// Takes one contract.
pub async fn take(fixture: &dyn Fixture, contract: &Contract) -> Ending {
    let bench = match fixture.fresh().await {
        Ok(ground) => Bench::open(ground).await,
        Err(error) => return Ending::Failed(format!("no fresh ground: {error}")),
    };
    let bench = match bench {
        Ok(bench) => bench,
        Err(broken) => return ending(Err(broken)),
    };
    let running = tokio::spawn(tokio::time::timeout(DEADLINE, (contract.run)(bench)));
    match running.await {
        Err(error) => Ending::Failed(format!("a panic: {error}")),
        Ok(Err(_)) => Ending::Failed(format!("not over after {} s", DEADLINE.as_secs())),
        Ok(Ok(outcome)) => ending(outcome),
    }
}

fn ending(outcome: Result<(), Broken>) -> Ending {
    match outcome {
        Ok(()) => Ending::Passed,
        Err(Broken::Failed(what)) => Ending::Failed(what),
        Err(Broken::Skipped(why)) => Ending::Skipped(why),
    }
}
