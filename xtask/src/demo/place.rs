//! Another machine, and the ways there: one for the guard, one for everybody else.

use std::error::Error;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use guard_backends::shell::Shell;
use guard_backends::ssh::Ssh;
use guard_core::policy::TargetPath;
use guard_core::port::Transport;
use guard_testkit::docker::{DockerTarget, Image};
use guard_testkit::skip::Need;
use guard_testkit::sshd::Sshd;
use tokio::runtime::Runtime;

use crate::scenery::Scenery;

/// A place that is not this machine's filesystem, as far as paths go.
pub(crate) struct Place {
    /// Where it is.
    pub(crate) name: &'static str,
    /// The path of the workspace there.
    pub(crate) root: TargetPath,
    /// What an agent types for a file there.
    pub(crate) typed: &'static str,
    /// The directory to which the same path leads on the agent's own machine.
    pub(crate) here: PathBuf,
    way: Arc<Way>,
}

/// How the other programs get there.
pub(crate) enum Way {
    /// A server on a loopback port, with a home of its own.
    Host(Sshd),
    /// A container, and what its engine is asked on.
    Container(Box<DockerTarget>, Runtime, TargetPath),
}

/// A place that this machine does not have.
pub(crate) struct Missing {
    pub(crate) name: &'static str,
    pub(crate) need: Need,
    pub(crate) why: String,
}

const HOST: &str = "on a host over SSH";
const CONTAINER: &str = "in a container";

impl Place {
    /// Starts an SSH server.
    pub(crate) fn host(scenery: &Scenery) -> Result<Self, Missing> {
        let missing = |why: String| Missing { name: HOST, need: Need::Sshd, why };
        if !Need::Sshd.is_met() {
            return Err(missing(lacks(Need::Sshd)));
        }
        let sshd = Sshd::start().map_err(|error| missing(error.to_string()))?;
        ssh(&sshd, "true", b"").map_err(|error| missing(format!("its server lets nobody in: {error}")))?;
        let here = scenery.controller("home");
        let root =
            make(&here).and_then(|()| target(&sshd.home())).map_err(|error| missing(error.to_string()))?;
        Ok(Self { name: HOST, root, typed: "~/", here, way: Arc::new(Way::Host(sshd)) })
    }

    /// Starts a container, whose workspace has a path that this machine has as well.
    pub(crate) fn container(scenery: &Scenery) -> Result<Self, Missing> {
        let missing = |why: String| Missing { name: CONTAINER, need: Need::Docker, why };
        if !Need::Docker.is_met() {
            return Err(missing(lacks(Need::Docker)));
        }
        let here = scenery.controller("app");
        let started = make(&here).and_then(|()| {
            let root = target(&here)?;
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
            let image = if Need::BusyBox.is_met() { Image::BusyBox } else { Image::Gnu };
            let container = runtime.block_on(DockerTarget::of(image).start())?;
            Ok((root.clone(), Way::Container(Box::new(container), runtime, root)))
        });
        let (root, way) = started.map_err(|error| missing(error.to_string()))?;
        Ok(Self { name: CONTAINER, root, typed: "", here, way: Arc::new(way) })
    }

    /// Returns the way that other programs take.
    pub(crate) fn way(&self) -> Arc<Way> {
        Arc::clone(&self.way)
    }

    /// Opens the guard's way, and returns what has to be closed.
    pub(crate) async fn open(&self) -> Result<(Shell, Option<Arc<Ssh>>), Box<dyn Error>> {
        let (transport, ssh): (Arc<dyn Transport>, _) = match &*self.way {
            Way::Host(sshd) => {
                let ssh = Arc::new(Ssh::to(sshd.url().parse()?).config(sshd.config()).resolve().await?);
                (Arc::<Ssh>::clone(&ssh), Some(ssh))
            }
            Way::Container(container, ..) => (Arc::new(container.open().await?), None),
        };
        Ok((Shell::builder(transport).connect().await?, ssh))
    }
}

impl Way {
    /// Does what an exec tool does: it hands bytes to `cat > file` there, and the file is whatever is at that path.
    pub(crate) fn exec_cat(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Host(sshd) => ssh(sshd, &format!("cat > ~/{name}"), bytes),
            Self::Container(..) => self.put(name, bytes),
        }
    }

    /// A program of that place writes a file.
    pub(crate) fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Host(sshd) => fs::write(sshd.home().join(name), bytes),
            Self::Container(_, _, root) => {
                let script = "mkdir -p \"$0\" && cat > \"$0/$1\"";
                self.run(&["sh", "-c", script, root.as_str(), name], bytes).map(drop)
            }
        }
    }

    /// Returns what is in a file there.
    pub(crate) fn get(&self, name: &str) -> io::Result<Vec<u8>> {
        match self {
            Self::Host(sshd) => fs::read(sshd.home().join(name)),
            Self::Container(_, _, root) => self.run(&["cat", &format!("{root}/{name}")], b""),
        }
    }

    /// Returns the names in the workspace there.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        let names = match self {
            Self::Host(sshd) => fs::read_dir(sshd.home())?
                .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
                .collect::<io::Result<Vec<_>>>()?,
            Self::Container(_, _, root) => {
                let listed = self.run(&["ls", "-A", root.as_str()], b"")?;
                String::from_utf8_lossy(&listed).lines().map(str::to_owned).collect()
            }
        };
        Ok(names)
    }

    /// Ends whatever there is between here and there; the files stay.
    pub(crate) fn interrupt(&self) -> io::Result<&'static str> {
        match self {
            Self::Host(sshd) => {
                if sshd.kill_connections() == 0 {
                    return Err(io::Error::other("there was no connection to lose"));
                }
                Ok("the connection is lost")
            }
            Self::Container(container, runtime, _) => {
                elsewhere(|| runtime.block_on(container.restart()))?;
                Ok("the container is restarted")
            }
        }
    }

    fn run(&self, argv: &[&str], input: &[u8]) -> io::Result<Vec<u8>> {
        let Self::Container(container, runtime, _) = self else {
            return Err(io::Error::other("only a container is asked like this"));
        };
        let ended = elsewhere(|| runtime.block_on(container.exec(argv, input)))?;
        match ended.code {
            0 => Ok(ended.output),
            code => {
                Err(io::Error::other(format!("{argv:?}: {code}: {}", String::from_utf8_lossy(&ended.errors))))
            }
        }
    }
}

/// Runs a command on a server, with the system's own client.
fn ssh(sshd: &Sshd, command: &str, input: &[u8]) -> io::Result<()> {
    let mut ssh = Command::new("ssh");
    ssh.arg("-F").arg(sshd.config()).args(["-o", "BatchMode=yes"]).arg(sshd.url()).arg(command);
    let mut ssh = ssh.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let written = ssh.stdin.take().map_or(Ok(()), |mut to| to.write_all(input));
    let ended = ssh.wait_with_output()?;
    if ended.status.success() {
        return written;
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    Err(io::Error::other(format!("ssh: {}", said.lines().last().unwrap_or("it said nothing"))))
}

/// Runs on a thread of its own: one runtime must not wait inside of another.
fn elsewhere<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| scope.spawn(work).join())
        .unwrap_or_else(|_| Err(io::Error::other("the other thread panicked")))
}

fn lacks(need: Need) -> String {
    format!("it {}; {}", need.reason(), need.install())
}

fn make(directory: &Path) -> io::Result<()> {
    fs::create_dir(directory)
}

fn target(path: &Path) -> io::Result<TargetPath> {
    let path = path.canonicalize()?;
    let text = path.to_str().ok_or_else(|| io::Error::other("the temporary directory is not UTF-8"))?;
    TargetPath::new(text).map_err(io::Error::other)
}
