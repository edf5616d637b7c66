//! How the process ends.

use std::io::{self, Write as _};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use guard_core::policy::Code;
use guard_core::{Failure, Outcome};

/// The exit codes, which are stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The call was done.
    Done = 0,
    /// The call was refused, and nothing was changed.
    Refused = 1,
    /// The command line is wrong, or what it names.
    Usage = 2,
    /// The target cannot be asked, it is not known whether the call was done, or it was done and the output could not be
    /// written.
    Unavailable = 3,
    /// A bug.
    Bug = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl From<&Failure> for Exit {
    fn from(failure: &Failure) -> Self {
        let unavailable = matches!(
            failure.refusal.code,
            Code::StateUnavailable | Code::TargetChanged | Code::OutcomeUnknown
        );
        match failure.outcome {
            Outcome::Refused if !unavailable => Self::Refused,
            _ => Self::Unavailable,
        }
    }
}

/// Whether any thread of this process panicked.
static PANICKED: AtomicBool = AtomicBool::new(false);

/// Runs the program; a panic on any thread is a bug, and said as one.
pub(crate) fn guarded(program: impl FnOnce() -> Exit) -> Exit {
    watched(program, |panic| {
        // Nothing can be done where standard error is closed.
        let _ = writeln!(io::stderr(), "guard: this is a bug, please report it: {panic}");
    })
}

fn watched(program: impl FnOnce() -> Exit, say: fn(&PanicHookInfo<'_>)) -> Exit {
    std::panic::set_hook(Box::new(move |panic| {
        PANICKED.store(true, Ordering::SeqCst);
        say(panic);
    }));
    let exit = catch_unwind(AssertUnwindSafe(program)).unwrap_or(Exit::Bug);
    // The runtime catches what panics in a task of its own; the hook has seen it.
    if PANICKED.load(Ordering::SeqCst) { Exit::Bug } else { exit }
}

#[cfg(test)]
mod tests {
    use guard_core::policy::Refusal;

    use super::*;

    #[test]
    fn a_panic_on_any_thread_is_a_bug() {
        let guarded = |program: fn() -> Exit| watched(program, |_| ());
        assert_eq!(guarded(|| Exit::Refused), Exit::Refused);
        let in_a_thread = || {
            let panicked = std::thread::spawn(|| panic!("in a thread")).join();
            assert!(panicked.is_err());
            Exit::Done
        };
        assert_eq!(guarded(in_a_thread), Exit::Bug);
        assert_eq!(guarded(|| panic!("in the program")), Exit::Bug);
    }

    #[test]
    fn every_refusal_is_1_unless_the_target_is_unavailable_or_the_outcome_unknown() {
        for code in Code::ALL {
            let failure = |outcome| Failure { outcome, refusal: Refusal::new(*code, "x", "") };
            let unavailable =
                matches!(code, Code::StateUnavailable | Code::TargetChanged | Code::OutcomeUnknown);
            let refused = if unavailable { Exit::Unavailable } else { Exit::Refused };
            assert_eq!(Exit::from(&failure(Outcome::Refused)), refused, "{code}");
            assert_eq!(Exit::from(&failure(Outcome::Unknown)), Exit::Unavailable, "{code}");
        }
    }
}
