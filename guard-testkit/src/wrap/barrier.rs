//! Stops a request, or acts right before it.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use guard_core::port::{FileOps, OpError};
use tokio::sync::oneshot;

use super::{Around, Layer, Method, Moment, When};

/// A target that lets a test act at a moment of a request, or holds the request there.
///
/// ```
/// use guard_testkit::memory::Memory;
/// use guard_testkit::wrap::{Barrier, Method};
///
/// let memory = Memory::new();
/// let world = memory.world();
/// let barrier = Barrier::new(memory);
/// // Between the guard's decision and its effect, another process creates the file.
/// barrier.once(Method::Commit, move || world.create("/ws/app.sqlite", b"theirs").unwrap());
/// ```
pub type Barrier<F> = Around<F, Hooks>;

/// What a [`Barrier`] does.
#[derive(Default)]
pub struct Hooks(Mutex<Vec<Hook>>);

type Pending = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Hook {
    method: Method,
    when: When,
    act: Act,
}

enum Act {
    /// The next request does this, later ones do not.
    Once(VecDeque<Box<dyn FnOnce() -> Pending + Send>>),
    /// Every request does this.
    Every(Arc<dyn Fn() -> Pending + Send + Sync>),
}

/// The test's side of a held request; dropping it lets the request go.
pub struct Gate {
    reached: Option<oneshot::Receiver<()>>,
    open: oneshot::Sender<()>,
}

impl<F: FileOps> Around<F, Hooks> {
    /// Puts a barrier around `inner` that does nothing yet.
    pub fn new(inner: F) -> Self {
        Self::with(inner, Hooks::default())
    }

    /// Runs `act` right before the next request of `method` is forwarded.
    ///
    /// Several are run by as many requests, in the order in which they were given.
    pub fn once(&self, method: Method, act: impl FnOnce() + Send + 'static) {
        self.layer().push(method, When::Before, || Box::pin(async { act() }));
    }

    /// Runs `act` at a moment of the next request of `method`, and waits for it.
    pub fn once_async<Fut>(&self, method: Method, when: When, act: impl FnOnce() -> Fut + Send + 'static)
    where
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.layer().push(method, when, || Box::pin(act()));
    }

    /// Runs `act` right before every request of `method` is forwarded.
    pub fn every(&self, method: Method, act: impl Fn() + Send + Sync + 'static) {
        let act = Arc::new(act);
        let every: Arc<dyn Fn() -> Pending + Send + Sync> = Arc::new(move || {
            let act = Arc::clone(&act);
            Box::pin(async move { act() })
        });
        self.layer().lock().push(Hook { method, when: When::Before, act: Act::Every(every) });
    }

    /// Holds the next request of `method` at a moment of it until the gate is opened.
    #[must_use]
    pub fn hold(&self, method: Method, when: When) -> Gate {
        let (gate, latch) = Gate::pair();
        self.layer().push(method, when, || Box::pin(latch.hold()));
        gate
    }
}

/// The held side of a gate.
pub(crate) struct Latch {
    arrived: oneshot::Sender<()>,
    opened: oneshot::Receiver<()>,
}

impl Latch {
    /// Tells the test of the arrival, and waits for the gate to be opened.
    pub(crate) async fn hold(self) {
        // Whoever does not wait for the arrival has dropped nothing that matters.
        let _ = self.arrived.send(());
        // An error is a gate that was dropped, which lets the request go.
        let _ = self.opened.await;
    }

    /// As [`Self::hold`], on a thread that may wait.
    pub(crate) fn hold_blocking(self) {
        let _ = self.arrived.send(());
        let _ = self.opened.blocking_recv();
    }
}

impl Gate {
    /// Makes both sides of a gate.
    pub(crate) fn pair() -> (Self, Latch) {
        let (arrived, reached) = oneshot::channel();
        let (open, opened) = oneshot::channel();
        (Self { reached: Some(reached), open }, Latch { arrived, opened })
    }

    /// Waits until the request is held here.
    pub async fn reached(&mut self) {
        if let Some(reached) = self.reached.take() {
            // An error is a barrier that was dropped: nothing will arrive.
            let _ = reached.await;
        }
    }

    /// Lets the request go on.
    pub fn open(self) {
        // An error is a request that was dropped while it was held.
        let _ = self.open.send(());
    }
}

impl Hooks {
    fn lock(&self) -> MutexGuard<'_, Vec<Hook>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, method: Method, when: When, act: impl FnOnce() -> Pending + Send + 'static) {
        let mut hooks = self.lock();
        for hook in hooks.iter_mut().filter(|hook| hook.method == method && hook.when == when) {
            if let Act::Once(waiting) = &mut hook.act {
                waiting.push_back(Box::new(act));
                return;
            }
        }
        hooks.push(Hook { method, when, act: Act::Once(VecDeque::from([Box::new(act) as Box<_>])) });
    }

    /// Takes what one request has to do.
    fn take(&self, moment: Moment<'_>) -> Vec<Pending> {
        let mut hooks = self.lock();
        let mine = hooks.iter_mut().filter(|hook| hook.method == moment.method && hook.when == moment.when);
        mine.filter_map(|hook| match &mut hook.act {
            Act::Once(waiting) => waiting.pop_front().map(|act| act()),
            Act::Every(act) => Some(act()),
        })
        .collect()
    }
}

#[async_trait]
impl Layer for Hooks {
    async fn at(&self, moment: Moment<'_>) -> Result<(), OpError> {
        for act in self.take(moment) {
            act.await;
        }
        Ok(())
    }
}
