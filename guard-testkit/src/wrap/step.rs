//! Acts at a chosen step inside a commit.

use std::sync::{Mutex, MutexGuard, PoisonError};

use guard_core::policy::TargetPath;
use guard_core::port::{Observer, Step};

/// A step without its borrow: its name and the path that it is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The step's name: `Checked`.
    pub name: String,
    /// The path, where the step is of one.
    pub path: Option<TargetPath>,
}

/// An observer that runs a closure once, at a chosen step, on the thread that does the work.
///
/// It is made unarmed, because the target that it observes is often what the closure needs.
///
/// ```
/// use std::sync::Arc;
/// use guard_core::port::Step;
/// use guard_testkit::memory::Memory;
/// use guard_testkit::wrap::StepBarrier;
///
/// let barrier = Arc::new(StepBarrier::new());
/// let memory = Memory::builder().observer(barrier.clone()).build();
/// let world = memory.world();
/// barrier.arm(1, |step| matches!(step, Step::Checked(_)), move || {
///     world.create("/ws/app.sqlite", b"theirs").unwrap();
/// });
/// ```
#[derive(Default)]
pub struct StepBarrier(Mutex<State>);

#[derive(Default)]
struct State {
    armed: Option<Armed>,
    fired: bool,
    seen: Vec<Seen>,
}

struct Armed {
    remaining: u64,
    chosen: Box<dyn Fn(&Step<'_>) -> bool + Send>,
    act: Box<dyn FnOnce() + Send>,
}

impl StepBarrier {
    /// Makes one that only remembers the steps.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs `act` at the `nth` step from now on that is `chosen` (1 is the next).
    pub fn arm(
        &self,
        nth: u64,
        chosen: impl Fn(&Step<'_>) -> bool + Send + 'static,
        act: impl FnOnce() + Send + 'static,
    ) {
        let mut state = self.lock();
        state.fired = false;
        state.armed = Some(Armed { remaining: nth.max(1), chosen: Box::new(chosen), act: Box::new(act) });
    }

    /// Tells whether the closure was run: a test that relies on it asks, so that it cannot pass by missing its step.
    #[must_use]
    pub fn fired(&self) -> bool {
        self.lock().fired
    }

    /// Returns the steps so far, and forgets them: a test that stops at each in turn counts them first.
    pub fn take_seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.lock().seen)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for StepBarrier {
    fn step(&self, step: Step<'_>) {
        let mut state = self.lock();
        state.seen.push(seen(step));
        let due = state.armed.as_mut().is_some_and(|armed| {
            if (armed.chosen)(&step) {
                armed.remaining -= 1;
            }
            armed.remaining == 0
        });
        let act = if due { state.armed.take() } else { None };
        state.fired |= act.is_some();
        // The closure may run another commit, whose steps come here too.
        drop(state);
        if let Some(armed) = act {
            (armed.act)();
        }
    }
}

fn seen(step: Step<'_>) -> Seen {
    let path = match step {
        Step::Resolved(path)
        | Step::FirstLook(path)
        | Step::ToStage(path, _)
        | Step::Staging(path, _)
        | Step::Staged(path)
        | Step::Leased(path, _)
        | Step::Checked(path)
        | Step::Exposed(path)
        | Step::Judged(path)
        | Step::PutBack(path)
        | Step::ToList(path)
        | Step::ToRead(path, _)
        | Step::Reading(path, _)
        | Step::Published(path) => Some(path.clone()),
        // `Finished` is of the whole batch; steps to come are known by their name at least.
        _ => None,
    };
    let shown = format!("{step:?}");
    let name = shown.split('(').next().unwrap_or_default().to_owned();
    Seen { name, path }
}
