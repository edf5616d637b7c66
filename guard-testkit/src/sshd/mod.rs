//! An SSH server of a test's own.
//!
//! ```no_run
//! use guard_testkit::skip::{self, Need};
//! use guard_testkit::sshd::Sshd;
//!
//! # fn a_host_is_reached() -> std::io::Result<()> {
//! if skip::unless(Need::Sshd, "a_host_is_reached") {
//!     return Ok(());
//! }
//! let sshd = Sshd::builder().max_sessions(1).start()?;
//! println!("ssh -F {} {}", sshd.config().display(), sshd.url());
//! # Ok(())
//! # }
//! ```
#![allow(clippy::disallowed_methods, reason = "it starts a server, and writes files of its own")]

mod cut;
#[cfg(feature = "ssh")]
mod fixture;
mod login_shell;

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Error};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

pub use self::cut::CutProxy;
#[cfg(all(feature = "ssh", feature = "contracts"))]
pub use self::fixture::SshdContracts;
#[cfg(feature = "ssh")]
pub use self::fixture::SshdFixture;
pub use self::login_shell::LoginShell;

/// Where Debian and most others have it; `sshd` insists on an absolute path.
const SSHD: &str = "/usr/sbin/sshd";
/// The name under which clients know the host's key, whichever port or proxy they come through.
const ALIAS: &str = "guard-sshd";
/// A name of the client's configuration that is the same server, for use as a jump host.
const JUMP: &str = "guard-jump";

/// How a server is to be.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    shell: LoginShell,
    banner: Option<String>,
    noise: Option<String>,
    forced: Option<String>,
    max_sessions: Option<u32>,
    variables: Vec<(String, String)>,
    lines: Vec<String>,
}

impl Builder {
    /// Sets the shell that command lines are given to.
    #[must_use]
    pub const fn login_shell(mut self, shell: LoginShell) -> Self {
        self.shell = shell;
        self
    }

    /// Sets what the server says before anyone has logged in.
    #[must_use]
    pub fn banner(mut self, text: impl Into<String>) -> Self {
        self.banner = Some(text.into());
        self
    }

    /// Sets lines of shell that run before the command, as a login shell's noisy startup file does.
    #[must_use]
    pub fn noise(mut self, script: impl Into<String>) -> Self {
        self.noise = Some(script.into());
        self
    }

    /// Sets a command that runs instead of whatever was asked for, as for an account without a shell.
    #[must_use]
    pub fn forced(mut self, command: impl Into<String>) -> Self {
        self.forced = Some(command.into());
        self
    }

    /// Sets how many sessions one connection may have.
    #[must_use]
    pub const fn max_sessions(mut self, count: u32) -> Self {
        self.max_sessions = Some(count);
        self
    }

    /// Sets an environment variable of commands: `PATH`, `HOME`.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Adds a line to the server's configuration (sshd_config(5)).
    #[must_use]
    pub fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    /// Starts the server.
    ///
    /// # Errors
    ///
    /// A key cannot be made, a file not written, or no port had.
    pub fn start(&self) -> io::Result<Sshd> {
        if rustix::process::geteuid().is_root() {
            // `sshd` changes its root to it before anyone has logged in, and Debian's makes it only as a service.
            fs::create_dir_all("/run/sshd")?;
        }
        let directory = tempfile::Builder::new().prefix("guard-sshd-").tempdir()?;
        let at = |name: &str| directory.path().join(name);
        for key in ["host", "client", "stranger"] {
            make_key(&at(key))?;
        }
        fs::write(at("unknown_hosts"), "")?;
        fs::create_dir(at("home"))?;
        let user = output(Command::new("id").arg("-un"))?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let known = known_hosts(&at("host.pub"), address)?;
        fs::write(at("known_hosts"), known)?;
        fs::write(at("sshd_config"), self.server_config(directory.path())?)?;
        fs::write(at("ssh_config"), client_config(directory.path(), &user, address))?;
        let mut sshd = Sshd { directory, user, address, connections: Arc::default(), accepts: None };
        sshd.accept(listener)?;
        Ok(sshd)
    }

    fn server_config(&self, directory: &Path) -> io::Result<String> {
        let at = |name: &str| directory.join(name).display().to_string();
        let mut config = format!(
            "HostKey {}\nAuthorizedKeysFile {}\nPermitRootLogin yes\nStrictModes no\nUsePAM no\nUseDNS no\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nPrintMotd no\nPrintLastLog no\nPidFile none\n\
             LogLevel VERBOSE\n\
             # What both sides would agree on takes 0.1 s of a processor, and no test is about it.\n\
             KexAlgorithms curve25519-sha256\n",
            at("host"),
            at("client.pub")
        );
        // Only the first line of this kind counts, and in it the first value of a variable.
        config.push_str("SetEnv");
        for (name, value) in self.variables.iter().chain([&("HOME".to_owned(), at("home"))]) {
            let _ = write!(config, " {}", quoted(&format!("{name}={value}")));
        }
        config.push('\n');
        let mut line = |line: &str| {
            config.push_str(line);
            config.push('\n');
        };
        if let Some(banner) = &self.banner {
            fs::write(at("banner"), banner)?;
            line(&format!("Banner {}", at("banner")));
        }
        if let Some(count) = self.max_sessions {
            line(&format!("MaxSessions {count}"));
        }
        if let Some(command) = &self.forced {
            line(&format!("ForceCommand {command}"));
        } else if self.shell != LoginShell::Account || self.noise.is_some() {
            let wrapper = at("login");
            fs::write(&wrapper, self.wrapper())?;
            fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755))?;
            line(&format!("ForceCommand {wrapper}"));
        }
        for given in &self.lines {
            line(given);
        }
        Ok(config)
    }

    /// Writes what stands between the server and the command: noise, the shell.
    fn wrapper(&self) -> String {
        let mut script = String::from("#!/bin/sh\n");
        if let Some(noise) = &self.noise {
            let _ = writeln!(script, "{noise}");
        }
        // The account's own shell is what the server would have run, and what the user's other tools see.
        let shell = match self.shell {
            LoginShell::Account => "\"$SHELL\"".to_owned(),
            shell => shell.words().join(" "),
        };
        let _ = writeln!(script, "exec {shell} -c \"$SSH_ORIGINAL_COMMAND\"");
        script
    }
}

/// A running server on a loopback port; dropping it ends it and all its connections.
///
/// Whoever started it logs in as themselves, with a key and a home directory that were made for it: what the account's
/// own startup files say and how long they take is of no account. Each connection is a `sshd -i`, which
/// is what the server of the system is once somebody has connected: so there is no moment at which it is started but
/// does not listen yet.
#[derive(Debug)]
pub struct Sshd {
    directory: TempDir,
    user: String,
    address: SocketAddr,
    connections: Arc<Mutex<Connections>>,
    accepts: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Connections {
    stopped: bool,
    accepted: usize,
    servers: Vec<Child>,
}

impl Sshd {
    /// Starts to say how the server is to be.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Starts a server with the account's own shell and nothing special.
    ///
    /// # Errors
    ///
    /// As [`Builder::start`].
    pub fn start() -> io::Result<Self> {
        Self::builder().start()
    }

    /// Returns where it listens, also after it was stopped.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns who logs in.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Returns `ssh://user@address:port`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("ssh://{}@{}", self.user, self.address)
    }

    /// Returns the client's configuration, with all that is needed to get in, also through a proxy on another port.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.directory.path().join("ssh_config")
    }

    /// Returns the file of the key that is let in.
    #[must_use]
    pub fn identity(&self) -> PathBuf {
        self.directory.path().join("client")
    }

    /// Returns the file of a key that is not let in.
    #[must_use]
    pub fn stranger(&self) -> PathBuf {
        self.directory.path().join("stranger")
    }

    /// Returns the directory that is the user's home there; it is empty at first.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    /// Returns the file that has the key which the host had at first.
    #[must_use]
    pub fn known_hosts(&self) -> PathBuf {
        self.directory.path().join("known_hosts")
    }

    /// Returns a file that has no key of any host.
    #[must_use]
    pub fn unknown_hosts(&self) -> PathBuf {
        self.directory.path().join("unknown_hosts")
    }

    /// Returns the name by which the client's configuration knows this server as a jump host.
    #[must_use]
    pub const fn jump(&self) -> &'static str {
        JUMP
    }

    /// Returns how many connections were accepted so far.
    #[must_use]
    pub fn accepted(&self) -> usize {
        self.state().accepted
    }

    /// Returns how many connections there are.
    #[must_use]
    pub fn connections(&self) -> usize {
        let mut state = self.state();
        state.reap();
        state.servers.len()
    }

    /// Kills the server's side of all connections at once, and returns how many there were.
    ///
    /// Their commands are not killed: they find their input and output closed, as when a network is lost.
    pub fn kill_connections(&self) -> usize {
        let mut state = self.state();
        state.reap();
        let servers = std::mem::take(&mut state.servers);
        servers.into_iter().map(kill).count()
    }

    /// Waits until all connections have ended by themselves.
    pub fn wait_for_connections(&self) {
        let servers = std::mem::take(&mut self.state().servers);
        for mut server in servers {
            let _ = server.wait();
        }
    }

    /// Refuses connections from now on; those that there are stay.
    pub fn stop(&mut self) {
        self.state().stopped = true;
        // Wakes the thread that accepts, which then closes the port.
        let woken = TcpStream::connect(self.address);
        if let (Ok(_), Some(accepts)) = (woken, self.accepts.take()) {
            let _ = accepts.join();
        }
    }

    /// Accepts connections again, on the same port, after [`Self::stop`].
    ///
    /// # Errors
    ///
    /// The port was taken meanwhile.
    pub fn restart(&mut self) -> io::Result<()> {
        self.stop();
        let listener = TcpListener::bind(self.address)?;
        self.state().stopped = false;
        self.accept(listener)
    }

    /// Gives the host another key, as when the machine behind an address is another one.
    ///
    /// # Errors
    ///
    /// The key cannot be made.
    pub fn change_host_key(&self) -> io::Result<()> {
        let (new, host) = (self.directory.path().join("new"), self.directory.path().join("host"));
        make_key(&new)?;
        // Connections read it when they begin.
        fs::rename(&new, &host)
    }

    /// Returns what the server logged, for when a test fails.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.directory.path().join("log")).unwrap_or_default()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn accept(&mut self, listener: TcpListener) -> io::Result<()> {
        let connections = Arc::clone(&self.connections);
        let directory = self.directory.path().to_owned();
        let accepts = std::thread::Builder::new().name("sshd".to_owned()).spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                let mut connections = connections.lock().unwrap_or_else(PoisonError::into_inner);
                if connections.stopped {
                    break;
                }
                connections.reap();
                // One that cannot be served is closed, and the test that waits for it says so.
                if let Ok(server) = serve(client, &directory) {
                    connections.accepted += 1;
                    connections.servers.push(server);
                }
            }
        })?;
        self.accepts = Some(accepts);
        Ok(())
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.stop();
        self.kill_connections();
    }
}

impl Connections {
    /// Forgets those that have ended.
    fn reap(&mut self) {
        self.servers.retain_mut(|server| matches!(server.try_wait(), Ok(None)));
    }
}

fn serve(client: TcpStream, directory: &Path) -> io::Result<Child> {
    client.set_nodelay(true)?;
    let socket = OwnedFd::from(client);
    Command::new(SSHD)
        .args(["-i", "-f"])
        .arg(directory.join("sshd_config"))
        .arg("-E")
        .arg(directory.join("log"))
        .stdin(socket.try_clone()?)
        .stdout(socket)
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

/// Kills a server and what it forked to keep privileges apart; commands have groups of their own.
fn kill(mut server: Child) {
    if let Some(group) = i32::try_from(server.id()).ok().and_then(Pid::from_raw) {
        // It was not waited for, so that the number is still its own.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = server.wait();
}

fn make_key(file: &Path) -> io::Result<()> {
    let comment = ["-q", "-t", "ed25519", "-N", "", "-C", "guard-testkit", "-f"];
    output(Command::new("ssh-keygen").args(comment).arg(file)).map(drop)
}

fn known_hosts(public: &Path, address: SocketAddr) -> io::Result<String> {
    let key = fs::read_to_string(public)?;
    Ok([ALIAS.to_owned(), format!("[{}]:{}", address.ip(), address.port())]
        .map(|name| format!("{name} {}\n", key.trim_end()))
        .concat())
}

fn client_config(directory: &Path, user: &str, address: SocketAddr) -> String {
    let at = |name: &str| directory.join(name).display().to_string();
    format!(
        "Host {JUMP}\n  HostName localhost\n  Port {}\nHost {ALIAS}\n  HostName {}\n  Port {}\nHost *\n  User {user}\n  \
         HostKeyAlias {ALIAS}\n  IdentityFile {}\n  IdentitiesOnly yes\n  UserKnownHostsFile {}\n  \
         GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n",
        address.port(),
        address.ip(),
        address.port(),
        at("client"),
        at("known_hosts"),
    )
}

/// Writes a word of the server's configuration.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn output(command: &mut Command) -> io::Result<String> {
    let done = command.stdin(Stdio::null()).output()?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).trim_end().to_owned());
    }
    let program = command.get_program().display();
    Err(Error::other(format!("{program}: {}", String::from_utf8_lossy(&done.stderr).trim_end())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::{self, Need};

    /// Runs a command on the server with the machine's own client.
    fn ssh(sshd: &Sshd, command: &str) -> io::Result<String> {
        let mut ssh = Command::new("ssh");
        ssh.arg("-F").arg(sshd.config()).args(["-o", "BatchMode=yes"]);
        output(ssh.arg(sshd.url()).arg(command))
    }

    #[test]
    fn a_server_runs_commands_until_it_is_stopped_and_after_it_was_started_again() {
        if skip::unless(
            Need::Sshd,
            "a_server_runs_commands_until_it_is_stopped_and_after_it_was_started_again",
        ) {
            return;
        }
        let mut sshd = Sshd::builder().env("GUARD_A", "it's \"\\").noise("echo noise >&2").start().unwrap();
        let said = ssh(&sshd, "printf '%s %s' \"$GUARD_A\" ~");
        let expected = format!("it's \"\\ {}", sshd.home().display());
        assert_eq!(said.as_deref().ok(), Some(expected.as_str()), "{said:?}\n{}", sshd.log());
        sshd.stop();
        let refused = ssh(&sshd, "true").unwrap_err().to_string();
        assert!(refused.contains("Connection refused"), "{refused}");
        sshd.restart().unwrap();
        assert_eq!(ssh(&sshd, "echo back").unwrap(), "back");
        assert_eq!(sshd.accepted(), 2);
        sshd.change_host_key().unwrap();
        let refused = ssh(&sshd, "true").unwrap_err().to_string();
        assert!(refused.contains("REMOTE HOST IDENTIFICATION HAS CHANGED"), "{refused}");
    }

    #[test]
    fn a_connection_that_is_killed_is_over_for_its_client() {
        if skip::unless(Need::Sshd, "a_connection_that_is_killed_is_over_for_its_client") {
            return;
        }
        let sshd = Sshd::start().unwrap();
        let mut client = Command::new("ssh")
            .arg("-F")
            .arg(sshd.config())
            .arg(sshd.url())
            .arg("echo started; cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut started = [0; 8];
        io::Read::read_exact(client.stdout.as_mut().unwrap(), &mut started).unwrap();
        assert_eq!((sshd.connections(), sshd.kill_connections(), sshd.connections()), (1, 1, 0));
        assert_eq!(client.wait().unwrap().code(), Some(255));
    }
}
