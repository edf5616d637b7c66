//! A target behind nothing but a byte stream to `/bin/sh`.
//!
//! [`Shell`] gives every guarantee over any [`Transport`]: a script is sent once, then requests and replies in frames
//! (see [`wire`]). SSH, Docker and an integrator's own sandbox differ only in how the stream is opened; [`Process`]
//! opens one to a program of this machine.
//!
//! ```
//! use std::sync::Arc;
//!
//! use guard_backends::shell::{Process, Shell};
//! use guard_core::policy::TargetPath;
//! use guard_core::port::{Ask, Depth, FileOps, Last, RootSpec, TargetId};
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().canonicalize()?.to_str().ok_or("a path that is not UTF-8")?.to_owned();
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
//! let here = Process::shell(TargetId::new("here"));
//! let shell = Shell::builder(Arc::new(here)).connect().await?;
//! let root = shell.open_root(&RootSpec { path: TargetPath::new(path)? }).await?;
//! let (path, scope) = ("notes.txt".to_owned(), Arc::default());
//! let ask = Ask { root: root.id, path, last: Last::Follow, depth: Depth::State, scope };
//! let found = shell.stat(&[ask]).await?.remove(0)?;
//! assert_eq!(found.resolved, root.path.child("notes.txt")?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod commit;
mod connection;
mod identity;
#[cfg(test)]
mod late;
mod pool;
mod process;
mod query;
mod roots;
mod script;
mod settings;
mod settle;
mod watch;
pub mod wire;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use guard_core::policy::{Fact, Hasher, TargetPath};
use guard_core::port::{
    Ask, Batch, Capabilities, CommitError, CommitFailure, CommitId, Committed, Contents, Fate, FileOps,
    Found, LeaseSupport, Listing, Observer, OpError, Page, Root, RootSpec, Settled, Sink as TakesBytes,
    TargetId, Task, Tier, Transport, Want,
};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

pub use self::connection::ConnectError;
use self::connection::{Item, Lost, Sink, SourceError};
use self::pool::Pool;
pub use self::process::Process;
use self::roots::Roots;
pub use self::settings::Feature;
use self::settings::Settings;
use self::settle::{Ledger, Pending};
use self::watch::Watch;
use self::wire::{Hello, Noise, Record, Verb};

/// A target behind a byte stream to a shell; clones are handles to the same target.
#[derive(Clone)]
pub struct Shell {
    inner: Arc<Inner>,
}

/// What requests share.
struct Inner {
    target: TargetId,
    capabilities: Capabilities,
    hello: Hello,
    roots: Arc<Roots>,
    pool: Pool,
    ledger: Ledger,
    watch: Watch,
    runtime: Handle,
}

/// Builds a [`Shell`].
pub struct Builder {
    transport: Arc<dyn Transport>,
    settings: Settings,
}

impl Shell {
    /// Starts with a transport and the usual deadlines.
    #[must_use]
    pub fn builder(transport: Arc<dyn Transport>) -> Builder {
        Builder { transport, settings: Settings::default() }
    }

    /// Returns what the shell said of itself and its machine.
    #[must_use]
    pub fn hello(&self) -> &Hello {
        &self.inner.hello
    }

    /// Runs a request to its end, whether or not the caller waits for it.
    async fn run<T, F>(&self, work: impl FnOnce(Arc<Inner>) -> F) -> Result<T, OpError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, OpError>> + Send + 'static,
    {
        let task = self.inner.runtime.spawn(work(Arc::clone(&self.inner)));
        task.await.unwrap_or_else(|error| Err(OpError::Unavailable { why: error.to_string() }))
    }
}

impl Builder {
    /// Sets how long nothing may move in either direction before a session is given up; a minute otherwise.
    ///
    /// It is a deadline of progress: a request may take any time as long as bytes move, and a target that works on a
    /// large batch says so now and then. What it does without a word (the digest of one file, a sync) has to fit into
    /// it.
    #[must_use]
    pub const fn progress(mut self, deadline: Duration) -> Self {
        self.settings.progress = deadline;
        self
    }

    /// Sets how long the transport may take to open a stream; 90 seconds otherwise, which is more than the transports
    /// of this crate take before they say themselves what did not answer.
    #[must_use]
    pub const fn opening(mut self, deadline: Duration) -> Self {
        self.settings.opening = deadline;
        self
    }

    /// Sets how long a shell may take to say hello on a stream that is open; ten seconds otherwise.
    #[must_use]
    pub const fn hello(mut self, deadline: Duration) -> Self {
        self.settings.hello = deadline;
        self
    }

    /// Sets how often a lost connection is opened again before the target is unavailable (4 times otherwise), and
    /// the pause before the second attempt (50 ms otherwise), which doubles each time up to two seconds.
    #[must_use]
    pub const fn reconnect(mut self, attempts: u32, pause: Duration) -> Self {
        (self.settings.attempts, self.settings.pause) = (attempts, pause);
        self
    }

    /// Sets how many sessions there may be at once; one otherwise. Requests wait for a session in order.
    #[must_use]
    pub fn sessions(mut self, count: usize) -> Self {
        self.settings.pool = count.max(1);
        self
    }

    /// Sets who sees the bytes that leave and arrive, and what a reply says was published.
    ///
    /// It is called on the task that does the work. The steps in between are the target's, and are not seen.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.settings.watch = Watch::of(observer);
        self
    }

    /// Takes the target to be without a feature, to test and to measure weaker ways.
    ///
    /// # Security
    ///
    /// See [`Feature`].
    #[must_use]
    pub fn danger_without(mut self, feature: Feature) -> Self {
        self.settings.without.push(feature);
        self
    }

    /// Opens the first session, so that what the target can do and where its home is are known from the start.
    ///
    /// It has to be called on a tokio runtime with I/O and time, on which the requests then run.
    ///
    /// # Errors
    ///
    /// [`ConnectError`] says whether the stream, the shell or its tools are missing.
    pub async fn connect(self) -> Result<Shell, ConnectError> {
        let Self { transport, settings } = self;
        let (connection, met) = identity::meet(&*transport, &settings).await?;
        let (hello, roots) = (connection.hello.clone(), Arc::<Roots>::default());
        let inner = Inner {
            target: transport.target().clone(),
            capabilities: capabilities(&hello),
            hello,
            watch: settings.watch.clone(),
            pool: Pool::new(transport, settings, (connection, met), Arc::clone(&roots)),
            roots,
            ledger: Ledger::default(),
            runtime: Handle::current(),
        };
        Ok(Shell { inner: Arc::new(inner) })
    }
}

fn capabilities(hello: &Hello) -> Capabilities {
    let home = match hello.get("home") {
        // An empty one is none that was found, which does not say that there is none.
        Some(home) if !home.is_empty() => {
            TargetPath::new(home).map_or(Fact::Unknown, |home| Fact::Known(Some(home)))
        }
        _ => Fact::Unknown,
    };
    let tier = match hello.get("exchange") {
        Some("mv" | "exch" | "perl") => Tier::Exchange,
        _ => Tier::Window,
    };
    let uid = hello.get("uid").and_then(|uid| uid.parse().ok()).unwrap_or(u32::MAX);
    Capabilities { home, uid, tier, lease: LeaseSupport::No }
}

impl Inner {
    /// Asks something that changes nothing, and reads the answer.
    async fn ask<T>(
        &self,
        verb: Verb,
        max: u64,
        read: impl FnOnce(Vec<Item>) -> Result<T, Noise>,
    ) -> Result<T, OpError> {
        let mut session = self.pool.take(&self.ledger).await?;
        let mut reply = session.request(self.roots.refs(), verb.clone(), None, Sink::Items(max)).await;
        if reply.is_err() && session.had_ended() {
            // A session that ended while nobody looked is noticed only by whoever uses it next, and asking twice
            // changes nothing.
            drop(session);
            session = self.pool.take_anew(&self.ledger).await?;
            reply = session.request(self.roots.refs(), verb, None, Sink::Items(max)).await;
        }
        let items = reply.map_err(unavailable)?;
        let answer = read(items).map_err(|noise| unavailable(Lost::Sent(noise.to_string())))?;
        self.pool.give_back(session);
        Ok(answer)
    }
}

/// Says that nothing could be found out; what changes nothing was not carried out in any sense that matters.
fn unavailable(lost: Lost) -> OpError {
    let why = match lost {
        Lost::Unsent(why) | Lost::Sent(why) => why,
        Lost::Source(error) => format!("{error:?}"),
    };
    OpError::Unavailable { why }
}

/// Commits, and tells whoever watches that it is over.
async fn commit(inner: Arc<Inner>, batch: Batch) -> Result<Committed, CommitError> {
    let watch = inner.watch.clone();
    let committed = carry_out(inner, batch).await;
    watch.over(committed.as_ref().ok());
    committed
}

/// Commits, and finds out what became of it where the reply was lost.
async fn carry_out(inner: Arc<Inner>, batch: Batch) -> Result<Committed, CommitError> {
    let count = batch.changes.len();
    let verb = commit::verb(&inner, &batch)?;
    let Verb::Commit { options, changes } = &verb else {
        return Err(commit::untouched(CommitFailure::ContentMismatch, None, count));
    };
    let (options, changes) = (options.clone(), changes.clone());
    let taken = inner.pool.take(&inner.ledger).await;
    let mut session = taken.map_err(|error| commit::untouched(error.into(), None, count))?;
    let shell = session.shell().unwrap_or_default();
    // What the session is on may have been found to be another run of the machine.
    let (run, refs) = inner.roots.now();
    let roots = refs.len();
    let max = (batch.changes.len() as u64).saturating_mul(options_max(&batch));
    let bodies = commit::bodies(&inner, &batch);
    let id = batch.id.clone();
    let pending = Pending { id, shell, run, roots, options, changes, made: Vec::new(), failures: 0 };
    let under_way = inner.ledger.under_way(pending);
    let reply = session.request(refs, verb, bodies, Sink::Items(max)).await;
    let outcome =
        reply.and_then(|items| commit::outcome(items, &batch).map_err(|noise| Lost::Sent(noise.to_string())));
    let pending = under_way.over();
    match outcome {
        Ok(outcome) => {
            inner.pool.give_back(session);
            let settled = match &outcome {
                Ok(_) => Settled::APPLIED,
                Err(error) if error.fates.iter().all(is_clean) => Settled::NOT_APPLIED,
                Err(error) => Settled::Conflict { fates: error.fates.clone() },
            };
            inner.ledger.settled(&batch.id, settled, Vec::new());
            outcome
        }
        Err(lost) => {
            // Whatever was staged is looked for, and removed, on the next session.
            if let Some(mut pending) = pending {
                let mut made = session.making();
                // Whatever a broken stream may have said: only on the way to a change directories are made.
                made.retain(|(change, path)| {
                    pending.changes.get(*change).is_some_and(|change| change.is_on_the_way(path))
                });
                pending.made = made;
                inner.ledger.pending(pending);
            }
            drop(session);
            match lost {
                Lost::Source(SourceError::Mismatch) => {
                    Err(commit::untouched(CommitFailure::ContentMismatch, None, count))
                }
                Lost::Source(SourceError::Io(errno)) => {
                    let cause = OpError::Io { what: "reading the content".to_owned(), errno };
                    Err(commit::untouched(cause.into(), None, count))
                }
                Lost::Unsent(why) => Err(commit::untouched(OpError::Unavailable { why }.into(), None, count)),
                Lost::Sent(why) => look_into(&inner, &batch, why).await,
            }
        }
    }
}

fn options_max(batch: &Batch) -> u64 {
    match batch.displaced {
        guard_core::port::Displaced::Discard => 0,
        guard_core::port::Displaced::Return { max } => max,
    }
}

const fn is_clean(fate: &Fate) -> bool {
    matches!(fate, Fate::Untouched | Fate::Restored)
}

/// Opens another session to find out what became of a commit, and says so.
async fn look_into(inner: &Inner, batch: &Batch, why: String) -> Result<Committed, CommitError> {
    tracing::warn!(commit = %batch.id, why, "the reply to a commit was lost");
    let count = batch.changes.len();
    let looked = inner.pool.take(&inner.ledger).await;
    if let Ok(session) = looked {
        inner.pool.give_back(session);
    }
    match inner.ledger.get(&batch.id) {
        Some((Settled::Applied { .. }, fates)) => Ok(Committed::found(batch, fates)),
        Some((Settled::NotApplied { .. }, fates)) => {
            let why = format!("{why}; nothing was changed");
            Err(CommitError { cause: OpError::Unavailable { why }.into(), at: None, fates })
        }
        Some((Settled::Conflict { fates }, _)) => {
            let cause = OpError::OutcomeUnknown { commit: batch.id.clone() };
            Err(CommitError { cause: cause.into(), at: None, fates })
        }
        None => {
            let cause = OpError::OutcomeUnknown { commit: batch.id.clone() };
            Err(CommitError { cause: cause.into(), at: None, fates: vec![Fate::Unknown; count] })
        }
    }
}

#[async_trait]
impl FileOps for Shell {
    fn target(&self) -> &TargetId {
        &self.inner.target
    }

    fn capabilities(&self) -> &Capabilities {
        &self.inner.capabilities
    }

    async fn open_root(&self, spec: &RootSpec) -> Result<Root, OpError> {
        let spelling = spec.path.clone();
        self.run(move |inner| async move {
            let verb = Verb::Open(vec![spelling.as_str().into()]);
            let read = |items| {
                let mut items = query::Items::new(items);
                let answer = root(&mut items)?;
                items.end()?;
                Ok(answer)
            };
            let (physical, identity) = inner.ask(verb, 0, read).await??;
            Ok(inner.roots.add(physical, identity, spelling))
        })
        .await
    }

    async fn stat(&self, asks: &[Ask]) -> Result<Vec<Result<Found, OpError>>, OpError> {
        let asks = asks.to_vec();
        self.run(move |inner| async move {
            let request = async |looks: Vec<wire::Look>| {
                let count = looks.len();
                inner.ask(Verb::Stat(looks), 0, |items| query::found(items, count)).await
            };
            query::each(&asks, |ask| query::look(&inner, ask), request).await
        })
        .await
    }

    async fn read(&self, wants: &[Want]) -> Result<Vec<Result<Contents, OpError>>, OpError> {
        let wants = wants.to_vec();
        self.run(move |inner| async move {
            let request = async |looks: Vec<(wire::Look, wire::Part)>| {
                let max = looks.iter().fold(0, |sum: u64, (_, part)| {
                    sum.saturating_add(match *part {
                        wire::Part::Whole(max) => max.saturating_add(1),
                        wire::Part::Bytes(_, len) => len,
                    })
                });
                inner.ask(Verb::Read(looks.clone()), max, |items| query::contents(items, &looks)).await
            };
            let mut answers = query::each(&wants, |want| query::want(&inner, want), request).await?;
            for _ in 1..query::ATTEMPTS {
                let torn: Vec<usize> =
                    (0..answers.len()).filter(|at| matches!(answers[*at], Err(OpError::Torn))).collect();
                if torn.is_empty() {
                    break;
                }
                let again: Vec<Want> = torn.iter().map(|at| wants[*at].clone()).collect();
                let once_more = query::each(&again, |want| query::want(&inner, want), request).await?;
                for (at, answer) in torn.into_iter().zip(once_more) {
                    answers[at] = answer;
                }
            }
            Ok(answers)
        })
        .await
    }

    async fn stream(&self, ask: &Ask, sink: &mut dyn TakesBytes) -> Result<Found, OpError> {
        let (send, mut receive) = mpsc::channel::<Vec<u8>>(2);
        let look = query::look(&self.inner, ask)?;
        let inner = Arc::clone(&self.inner);
        let task = self.inner.runtime.spawn(async move {
            let mut session = inner.pool.take(&inner.ledger).await?;
            let look = wire::Look { max: Some(u64::MAX >> 1), ..look };
            let reply =
                session.request(inner.roots.refs(), Verb::Stream(look), None, Sink::Pieces(&send)).await;
            let items = reply.map_err(unavailable)?;
            inner.pool.give_back(session);
            Ok::<_, OpError>(items)
        });
        let (mut hasher, mut len) = (Hasher::new(), 0);
        while let Some(piece) = receive.recv().await {
            hasher.update(&piece);
            len += piece.len() as u64;
            // A sink that fails drops the receiver, and with it the session.
            sink.take(&piece).await?;
        }
        let items = task.await.map_err(|error| OpError::Unavailable { why: error.to_string() })??;
        query::streamed(items, (len, hasher.finish()))
            .map_err(|noise| unavailable(Lost::Sent(noise.to_string())))?
    }

    async fn list(&self, ask: &Ask, page: &Page) -> Result<Listing, OpError> {
        let verb = query::page(&self.inner, ask, page)?;
        let limit = page.limit;
        self.run(move |inner| async move { inner.ask(verb, 0, |items| query::listing(items, limit)).await? })
            .await
    }

    async fn commit(&self, batch: Batch) -> Result<Committed, CommitError> {
        let (id, count) = (batch.id.clone(), batch.changes.len());
        let task = self.inner.runtime.spawn(commit(Arc::clone(&self.inner), batch));
        task.await.unwrap_or_else(|_| {
            // The runtime was shut down while it was under way.
            let cause = OpError::OutcomeUnknown { commit: id };
            Err(CommitError { cause: cause.into(), at: None, fates: vec![Fate::Unknown; count] })
        })
    }

    async fn settle(&self, commit: &CommitId) -> Result<Settled, OpError> {
        let id = commit.clone();
        self.run(move |inner| async move {
            if !inner.ledger.has(&id) {
                let what = format!("settling {id}, which is not on record here");
                return Err(OpError::Unsupported { what });
            }
            if let Some((settled, _)) = inner.ledger.get(&id) {
                return Ok(settled);
            }
            let session = inner.pool.take_anew(&inner.ledger).await.map_err(|error| match error {
                // The tools are missing for now; that is no answer about the commit.
                OpError::Unsupported { what } => OpError::Unavailable { why: what },
                error => error,
            })?;
            inner.pool.give_back(session);
            inner
                .ledger
                .get(&id)
                .map(|(settled, _)| settled)
                .ok_or_else(|| OpError::Unavailable { why: "the commit could not be looked into".to_owned() })
        })
        .await
    }

    fn spawn(&self, task: Task) {
        self.inner.runtime.spawn(task);
    }
}

fn root(items: &mut query::Items) -> Result<Result<(TargetPath, String), OpError>, Noise> {
    Ok(match items.record()? {
        Record::Root { path, identity } => answer::path(path).map(|path| (path, identity)),
        Record::Problem(problem) => Err(answer::problem(problem)),
        other => return Err(Noise::new(format!("{other:?} instead of a root"))),
    })
}
