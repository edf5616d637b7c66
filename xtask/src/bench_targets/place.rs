//! Where is measured: a guarded and an unguarded way to the same directory.

use std::any::Any;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use guard_backends::shell::{Process, Shell};
use guard_backends::ssh::Ssh;
use guard_core::Guard;
use guard_core::policy::{Access, TargetPath};
use guard_core::port::{FileOps as _, Root, RootSpec, TargetId, Transport};
use guard_testkit::delay::DelayProxy;
use guard_testkit::docker::{DockerTarget, Image};
use guard_testkit::skip::{self, Need};
use guard_testkit::sshd::Sshd;
use openssh::KnownHosts;
use tempfile::TempDir;

use super::bare::{Bare, Container, Local};
use super::body::Body;
use super::{Kind, Measured};

/// The time that the proxy puts on a round trip.
pub(crate) const FAR: Duration = Duration::from_millis(20);

/// What is demanded in a place.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Goals {
    /// Of a created file: the guarded time as a part of the unguarded one.
    pub(crate) create: Option<f64>,
    /// Of a batch: milliseconds a file, beside the trip.
    pub(crate) each_file: Option<f64>,
    /// Of a file that is streamed: the guarded time as a part of the unguarded one.
    pub(crate) stream: Option<f64>,
}

/// A directory, and two ways to it.
pub(crate) struct Place {
    /// What it is called in the table.
    pub(crate) name: &'static str,
    /// What a round trip takes at least.
    pub(crate) trip: Duration,
    /// The guarded way.
    pub(crate) ops: Arc<Shell>,
    /// The guard over it.
    pub(crate) guard: Guard,
    /// The root as the target knows it.
    pub(crate) root: Root,
    /// The unguarded way.
    pub(crate) bare: Box<dyn Bare>,
    /// What is demanded.
    pub(crate) goals: Goals,
    _keep: Box<dyn Any>,
}

/// Where a container has its tools.
///
/// A commit is a few short processes, and an engine that stores its images with FUSE (`fuse-overlayfs`) takes a
/// millisecond more to start each of them, which is no property of the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tools {
    /// On the engine's disk.
    InVolumes,
    /// Where the engine stores images.
    InImage,
}

/// Streaming at 0.8 of the speed takes 1.25 of the time.
const STREAM: Option<f64> = Some(1.25);

impl Place {
    /// Opens the places of a kind; none where the machine has none, which is said.
    pub(crate) async fn of(kind: Kind) -> Measured<Vec<Self>> {
        let need = match kind {
            Kind::Local => return Ok(vec![Self::local().await?]),
            Kind::Ssh => Need::Sshd,
            Kind::Docker => Need::Docker,
        };
        let rows = match kind {
            Kind::Docker => "every row of Docker",
            _ => "every row of SSH",
        };
        if skip::unless(need, rows) {
            return Ok(Vec::new());
        }
        match kind {
            Kind::Docker => Ok(vec![
                Self::container("Docker, GNU", Image::Gnu, Tools::InVolumes).await?,
                Self::container("Docker, BusyBox", Image::BusyBox, Tools::InVolumes).await?,
                Self::container("its image, GNU", Image::Gnu, Tools::InImage).await?,
                Self::container("its image, BusyBox", Image::BusyBox, Tools::InImage).await?,
            ]),
            _ => Ok(vec![Self::near().await?, Self::far().await?]),
        }
    }

    /// Returns a path of the directory for a command line; no name of a measurement needs quotes.
    pub(crate) fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.root.path)
    }

    async fn local() -> Measured<Self> {
        let directory = directory()?;
        let shell = Arc::new(Process::shell(TargetId::new("local-shell")));
        let goals = Goals { stream: STREAM, ..Goals::default() };
        let path = path_of(&directory)?;
        Self::open("local shell", Duration::ZERO, goals, (shell, Box::new(Local)), path, Box::new(directory))
            .await
    }

    async fn near() -> Measured<Self> {
        let (sshd, directory) = (Sshd::start()?, directory()?);
        let ways = ssh(&sshd, sshd.address()).await?;
        let goals = Goals { stream: STREAM, ..Goals::default() };
        let path = path_of(&directory)?;
        Self::open("SSH loopback", Duration::ZERO, goals, ways, path, Box::new((directory, sshd))).await
    }

    async fn far() -> Measured<Self> {
        let (sshd, directory) = (Sshd::start()?, directory()?);
        let proxy = DelayProxy::start(sshd.address(), FAR)?;
        let ways = ssh(&sshd, proxy.address()).await?;
        let goals = Goals { create: Some(0.7), each_file: Some(4.0), stream: STREAM };
        let path = path_of(&directory)?;
        Self::open("SSH 20 ms", FAR, goals, ways, path, Box::new((directory, proxy, sshd))).await
    }

    async fn container(name: &'static str, image: Image, tools: Tools) -> Measured<Self> {
        // A volume: what the engine stores its images with would be measured otherwise.
        let mut target = DockerTarget::of(image).volume("/data");
        if tools == Tools::InVolumes {
            // The engine fills a volume with what the image has at its path.
            let directory = match image {
                Image::Gnu => "/usr",
                _ => "/bin",
            };
            target = target.volume(directory);
        }
        let target = target.start().await?;
        let engine = bollard::Docker::connect_with_unix_defaults()?;
        let bare = Container { engine, id: target.id().to_owned() };
        let goals = match tools {
            Tools::InVolumes => Goals { create: Some(0.15), stream: STREAM, ..Goals::default() },
            Tools::InImage => Goals { stream: STREAM, ..Goals::default() },
        };
        let ways = (Arc::new(target.open().await?) as Arc<dyn Transport>, Box::new(bare) as Box<dyn Bare>);
        let path = TargetPath::new("/data/ws")?;
        Self::open(name, Duration::ZERO, goals, ways, path, Box::new(target)).await
    }

    async fn open(
        name: &'static str,
        trip: Duration,
        goals: Goals,
        (transport, bare): (Arc<dyn Transport>, Box<dyn Bare>),
        path: TargetPath,
        keep: Box<dyn Any>,
    ) -> Measured<Self> {
        bare.exec(&format!("mkdir -p {path}"), &Body::of("")).await?;
        let ops = Arc::new(Shell::builder(transport).connect().await?);
        let guard =
            Guard::builder(Arc::<Shell>::clone(&ops)).root(path.clone(), Access::ReadWrite).open().await?;
        let root = ops.open_root(&RootSpec { path }).await?;
        Ok(Self { name, trip, ops, guard, root, bare, goals, _keep: keep })
    }
}

async fn ssh(sshd: &Sshd, address: SocketAddr) -> Measured<(Arc<dyn Transport>, Box<dyn Bare>)> {
    let url = format!("ssh://{}@{address}", sshd.user());
    let guarded = Ssh::to(url.parse()?).config(sshd.config()).resolve().await?;
    let bare = openssh::SessionBuilder::default()
        .config_file(sshd.config())
        .known_hosts_check(KnownHosts::Strict)
        .connect_mux(&url)
        .await?;
    Ok((Arc::new(guarded), Box::new(bare)))
}

fn directory() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("guard-bench-").tempdir()
}

fn path_of(directory: &TempDir) -> Measured<TargetPath> {
    let path = directory.path().canonicalize()?;
    Ok(TargetPath::new(path.to_str().ok_or("the temporary directory's path is not UTF-8")?)?)
}
