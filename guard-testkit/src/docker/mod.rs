//! Containers made from what this machine has installed: no registry is asked.
//!
//! A [`DockerTarget`] is a container that waits, without a network, and that is removed when it is dropped. The
//! engine is this machine's, by its usual socket ([`crate::skip::Need::Docker`]). What a test process that was killed
//! left behind is removed by the next one.
//!
//! ```no_run
//! use guard_testkit::docker::{DockerTarget, Image};
//!
//! # async fn example() -> std::io::Result<()> {
//! let container = DockerTarget::of(Image::BusyBox).user(1000).tmpfs("/scratch").start().await?;
//! let said = container.exec(&["cat"], b"any\0bytes").await?;
//! assert_eq!((said.code, &said.output[..]), (0, &b"any\0bytes"[..]));
//! let transport = container.open().await.map_err(std::io::Error::other)?;
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "contracts")]
mod contracts;
mod fixture;
mod image;
mod owner;
mod program;
mod world;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bollard::Docker as Engine;
use bollard::container::LogOutput;
use bollard::errors::Error;
use bollard::exec::{StartExecOptions, StartExecResults};
use bollard::models::{
    ContainerCreateBody, ContainerState, ExecConfig, HostConfig, Mount, MountType, RestartPolicy,
    RestartPolicyNameEnum,
};
use bollard::query_parameters::{
    CreateContainerOptions, InspectContainerOptions, KillContainerOptions, RemoveContainerOptions,
    RestartContainerOptions, StartContainerOptions, StopContainerOptions,
};
use futures_util::TryStreamExt as _;
use guard_backends::docker::{Builder as Opening, Docker, Endpoint};
use guard_core::port::TransportError;
use tokio::io::AsyncWriteExt as _;

use crate::skip::{self, Need};

#[cfg(feature = "contracts")]
pub use self::contracts::{DockerContracts, Place};
pub use self::fixture::DockerFixture;
pub use self::image::Image;
pub use self::program::Program;
pub use self::world::DockerWorld;

/// How long a test may take: none waits for ever.
const DEADLINE: Duration = Duration::from_secs(180);
/// What a container runs so that it waits.
const WAIT: [&str; 2] = ["sleep", "2147483647"];

/// A container of this machine's engine, which is removed when this is dropped.
#[derive(Debug)]
pub struct DockerTarget {
    engine: Engine,
    id: String,
    options: Builder,
}

/// A container that is not there yet.
#[derive(Debug, Clone)]
#[must_use]
pub struct Builder {
    image: Image,
    name: String,
    command: Vec<String>,
    user: Option<u32>,
    workdir: Option<String>,
    read_only: bool,
    restarts: bool,
    tmpfs: Vec<String>,
    mounts: Vec<(Option<PathBuf>, String)>,
    variables: Vec<(String, String)>,
}

/// How a command ended in a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The exit status.
    pub code: i64,
    /// What it wrote to its standard output.
    pub output: Vec<u8>,
    /// What it wrote to its standard error.
    pub errors: Vec<u8>,
}

/// Runs a test that needs an engine, on a runtime of its own; without an engine it is skipped by its name.
///
/// # Panics
///
/// If the test is not over within three minutes, or as [`skip::unless`].
pub fn with_engine<F: Future<Output = ()>>(test: &str, run: impl FnOnce() -> F) {
    if skip::unless(Need::Docker, test) {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let over = runtime.map(|runtime| runtime.block_on(async { tokio::time::timeout(DEADLINE, run()).await }));
    assert!(matches!(over, Ok(Ok(()))), "{test} was not over in time: {over:?}");
}

impl DockerTarget {
    /// Starts with an image; the container's name is its own.
    pub fn of(image: Image) -> Builder {
        Builder {
            image,
            name: fresh_name(),
            command: WAIT.map(str::to_owned).to_vec(),
            user: None,
            workdir: None,
            read_only: false,
            restarts: false,
            tmpfs: Vec::new(),
            mounts: Vec::new(),
            variables: Vec::new(),
        }
    }

    /// Returns the container's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.options.name
    }

    /// Returns the container's identifier.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns a transport to it that is not opened yet.
    pub fn transport(&self) -> Opening {
        Docker::container(Endpoint::unix(Endpoint::USUAL_SOCKET), self.name())
    }

    /// Opens the transport to it.
    ///
    /// # Errors
    ///
    /// The transport's.
    pub async fn open(&self) -> Result<Docker, TransportError> {
        self.transport().open().await
    }

    /// Freezes everything in it.
    ///
    /// # Errors
    ///
    /// The engine's.
    pub async fn pause(&self) -> io::Result<()> {
        self.engine.pause_container(&self.id).await.map_err(other)
    }

    /// Lets everything in it go on.
    ///
    /// # Errors
    ///
    /// The engine's.
    pub async fn unpause(&self) -> io::Result<()> {
        self.engine.unpause_container(&self.id).await.map_err(other)
    }

    /// Stops it, without a moment to say goodbye.
    ///
    /// # Errors
    ///
    /// The engine's.
    pub async fn stop(&self) -> io::Result<()> {
        let at_once = StopContainerOptions { t: Some(0), ..Default::default() };
        self.engine.stop_container(&self.id, Some(at_once)).await.map_err(other)
    }

    /// Starts it again.
    ///
    /// # Errors
    ///
    /// The engine's.
    pub async fn start(&self) -> io::Result<()> {
        self.engine.start_container(&self.id, None::<StartContainerOptions>).await.map_err(other)
    }

    /// Stops it and starts it again.
    ///
    /// # Errors
    ///
    /// The engine's.
    pub async fn restart(&self) -> io::Result<()> {
        let at_once = RestartContainerOptions { t: Some(0), ..Default::default() };
        self.engine.restart_container(&self.id, Some(at_once)).await.map_err(other)
    }

    /// Kills it.
    ///
    /// # Errors
    ///
    /// The engine's.
    pub async fn kill(&self) -> io::Result<()> {
        self.engine.kill_container(&self.id, None::<KillContainerOptions>).await.map_err(other)
    }

    /// Removes it, whatever runs in it.
    ///
    /// # Errors
    ///
    /// The engine's.
    pub async fn remove(&self) -> io::Result<()> {
        remove(&self.engine, &self.id).await.map_err(other)
    }

    /// Makes another one in its place, under the same name.
    ///
    /// # Errors
    ///
    /// The engine's.
    pub async fn recreate(&mut self) -> io::Result<()> {
        self.remove().await?;
        self.id = self.options.create(&self.engine).await?;
        self.start().await
    }

    /// Returns what the engine says of its state.
    ///
    /// # Errors
    ///
    /// The engine's.
    pub async fn state(&self) -> io::Result<ContainerState> {
        let found = self.engine.inspect_container(&self.id, None::<InspectContainerOptions>).await;
        found.map_err(other)?.state.ok_or_else(|| io::Error::other("a container without a state"))
    }

    /// Runs a program in it, as its user.
    ///
    /// # Errors
    ///
    /// The engine's. A program that is not there has ended with 126 or 127.
    pub async fn exec(&self, argv: &[&str], input: &[u8]) -> io::Result<Output> {
        let config = ExecConfig {
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            cmd: Some(argv.iter().map(|&word| word.to_owned()).collect()),
            ..Default::default()
        };
        let exec = self.engine.create_exec(&self.id, config).await.map_err(other)?.id;
        let started = self.engine.start_exec(&exec, None::<StartExecOptions>).await.map_err(other)?;
        let StartExecResults::Attached { output: mut frames, input: mut to } = started else {
            return Err(io::Error::other("an exec without streams"));
        };
        let feed = async {
            // A program that does not read its input to the end is none of this one's business.
            if to.write_all(input).await.is_ok() {
                let _ = to.shutdown().await;
            }
        };
        let mut ended = Output { code: 0, output: Vec::new(), errors: Vec::new() };
        let take = async {
            while let Some(frame) = frames.try_next().await.map_err(other)? {
                match frame {
                    LogOutput::StdOut { message } => ended.output.extend_from_slice(&message),
                    LogOutput::StdErr { message } => ended.errors.extend_from_slice(&message),
                    _ => return Err(io::Error::other("a broken frame")),
                }
            }
            Ok(())
        };
        tokio::join!(feed, take).1?;
        ended.code = loop {
            // The streams end a little before the engine knows how.
            let exec = self.engine.inspect_exec(&exec).await.map_err(other)?;
            if exec.running != Some(true) {
                break exec.exit_code.unwrap_or_default();
            }
            tokio::task::yield_now().await;
        };
        Ok(ended)
    }

    /// Prepares this program to be started in it, in all its namespaces, as one more of its processes. The folder of
    /// `program` has to be bound.
    ///
    /// # Errors
    ///
    /// The engine's.
    pub async fn command(&self, program: &Program) -> io::Result<Command> {
        Ok(program.command(self.state().await?.pid.unwrap_or_default()))
    }

    /// Returns another route to its files: this machine's root, in the container's world of mounts.
    ///
    /// It leads nowhere once the container was restarted.
    ///
    /// # Errors
    ///
    /// Where this process may not look into the container's.
    pub async fn world(&self) -> io::Result<DockerWorld> {
        let pid = self.state().await?.pid.unwrap_or_default();
        DockerWorld::of(pid, self.options.user.unwrap_or(0))
    }
}

fn fresh_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("guard-testkit-{}-{count}", std::process::id())
}

impl Drop for DockerTarget {
    fn drop(&mut self) {
        let (engine, id) = (self.engine.clone(), std::mem::take(&mut self.id));
        // Whoever drops it may be inside of a runtime, which must not wait.
        let removal = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map(|runtime| runtime.block_on(remove(&engine, &id)))
        });
        // What is not removed here is by the next test process.
        let _ = removal.join();
    }
}

impl Builder {
    /// Gives it a name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Gives it another name of its own, to make several containers that are alike.
    pub fn renamed(self) -> Self {
        self.name(fresh_name())
    }

    /// Lets it run something else than what waits.
    pub fn command(mut self, argv: &[&str]) -> Self {
        self.command = argv.iter().map(|&word| word.to_owned()).collect();
        self
    }

    /// Lets it run as a user; 1000 has a home and is called `guard`.
    pub fn user(mut self, uid: u32) -> Self {
        self.user = Some(uid);
        self
    }

    /// Sets the directory in which commands are started.
    pub fn workdir(mut self, path: impl Into<String>) -> Self {
        self.workdir = Some(path.into());
        self
    }

    /// Makes the root filesystem read-only.
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Lets the engine start it again whenever it ends.
    pub fn restarts(mut self) -> Self {
        self.restarts = true;
        self
    }

    /// Mounts a tmpfs.
    pub fn tmpfs(mut self, path: impl Into<String>) -> Self {
        self.tmpfs.push(path.into());
        self
    }

    /// Mounts a file or a directory of this machine.
    pub fn bind(mut self, from: &Path, to: impl Into<String>) -> Self {
        self.mounts.push((Some(from.to_owned()), to.into()));
        self
    }

    /// Sets an environment variable of everything in it: `PATH`.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Mounts a new volume, which is removed with the container.
    pub fn volume(mut self, path: impl Into<String>) -> Self {
        self.mounts.push((None, path.into()));
        self
    }

    /// Makes the container and starts it.
    ///
    /// # Errors
    ///
    /// The engine's, or what keeps the image from being made.
    pub async fn start(self) -> io::Result<DockerTarget> {
        let target = self.created().await?;
        target.start().await?;
        Ok(target)
    }

    /// Makes the container and does not start it.
    ///
    /// # Errors
    ///
    /// As [`Self::start`].
    pub async fn created(self) -> io::Result<DockerTarget> {
        let socket = Endpoint::USUAL_SOCKET;
        let engine = Engine::connect_with_unix(socket, 60, bollard::API_DEFAULT_VERSION).map_err(other)?;
        owner::sweep(&engine).await?;
        let id = self.create(&engine).await?;
        Ok(DockerTarget { engine, id, options: self })
    }

    async fn create(&self, engine: &Engine) -> io::Result<String> {
        let mounts = self.mounts.iter().map(|(from, to)| Mount {
            typ: Some(if from.is_some() { MountType::BIND } else { MountType::VOLUME }),
            source: from.as_ref().map(|from| from.display().to_string()),
            target: Some(to.clone()),
            ..Default::default()
        });
        let restarts = RestartPolicy { name: Some(RestartPolicyNameEnum::ALWAYS), maximum_retry_count: None };
        let host = HostConfig {
            network_mode: Some("none".to_owned()),
            readonly_rootfs: Some(self.read_only),
            tmpfs: Some(self.tmpfs.iter().map(|path| (path.clone(), String::new())).collect()),
            mounts: Some(mounts.collect()),
            restart_policy: self.restarts.then_some(restarts),
            ..Default::default()
        };
        let body = ContainerCreateBody {
            image: Some(self.image.tag(engine).await?),
            cmd: Some(self.command.clone()),
            env: Some(self.variables.iter().map(|(name, value)| format!("{name}={value}")).collect()),
            user: self.user.map(|uid| uid.to_string()),
            working_dir: self.workdir.clone(),
            labels: Some(HashMap::from([(owner::LABEL.to_owned(), owner::me()?)])),
            host_config: Some(host),
            ..Default::default()
        };
        let named = CreateContainerOptions { name: Some(self.name.clone()), ..Default::default() };
        Ok(engine.create_container(Some(named), body).await.map_err(other)?.id)
    }
}

async fn remove(engine: &Engine, id: &str) -> Result<(), Error> {
    let all = RemoveContainerOptions { force: true, v: true, ..Default::default() };
    match engine.remove_container(id, Some(all)).await {
        // It is gone, or somebody else is about it.
        Err(Error::DockerResponseServerError { status_code: 404 | 409, .. }) => Ok(()),
        removed => removed,
    }
}

fn other(error: Error) -> io::Error {
    io::Error::other(error)
}
