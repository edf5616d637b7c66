//! The `ssh` of this machine, and what it is told.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use guard_core::port::TransportError;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use super::destination::Destination;

/// What is done about the key that a host shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum HostKeys {
    /// It has to be the one that is known; a host that is not known is refused.
    #[default]
    Known,
    /// The key of a host that is not known is taken and remembered; another key than the known one is refused.
    ///
    /// # Security
    ///
    /// Whoever answers at the first contact is believed.
    AcceptNew,
}

/// How `ssh` is run.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) program: PathBuf,
    pub(super) destination: Destination,
    pub(super) identity: Option<PathBuf>,
    pub(super) config: Option<PathBuf>,
    pub(super) known_hosts: Option<PathBuf>,
    pub(super) host_keys: HostKeys,
    pub(super) jump: Vec<Destination>,
    pub(super) connect: Duration,
    pub(super) login: Duration,
    pub(super) alive: Duration,
    pub(super) control: PathBuf,
}

/// What a configuration may say for interactive use, and what is no use here; `scp` and `sftp` set the same.
const PLAIN: &[&str] = &[
    // Nobody can be asked.
    "BatchMode=yes",
    // A port that is taken already would end a connection that does not need it.
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "RequestTTY=no",
    // The words are all that tells one failure from another; a configuration may say QUIET.
    "LogLevel=INFO",
    // The connection ends when it is told to. With any other value `ssh` keeps a jump host's words to itself.
    "ControlPersist=no",
    "ServerAliveCountMax=3",
];

impl Client {
    pub(super) fn new(destination: Destination) -> Self {
        Self {
            program: "ssh".into(),
            destination,
            identity: None,
            config: None,
            known_hosts: None,
            host_keys: HostKeys::default(),
            jump: Vec::new(),
            connect: Duration::from_secs(8),
            login: Duration::from_secs(60),
            alive: Duration::from_secs(10),
            control: "/tmp".into(),
        }
    }

    /// Returns when an `ssh` that has nobody to wait for, or a connection that is there, is given up: a little later
    /// than `ssh` should give up itself, and say why.
    pub(super) fn deadline(&self) -> Duration {
        self.connect + Duration::from_secs(1)
    }

    /// Returns when a connection that is being opened is given up.
    pub(super) fn login_deadline(&self) -> Duration {
        self.login.max(self.deadline())
    }

    /// Starts to tell `ssh` what to do; the destination is to follow.
    pub(super) fn command(&self) -> Command {
        let mut ssh = Command::new(&self.program);
        // Words are compared with known ones.
        ssh.env("LC_ALL", "C").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // A key that is pressed in a terminal is not for it, nor for what it starts to reach a jump host.
        ssh.process_group(0);
        if let Some(config) = &self.config {
            ssh.arg("-F").arg(config);
        }
        for option in PLAIN {
            ssh.arg("-o").arg(option);
        }
        let strict = match self.host_keys {
            HostKeys::Known => "yes",
            HostKeys::AcceptNew => "accept-new",
        };
        ssh.arg("-o").arg(format!("StrictHostKeyChecking={strict}"));
        ssh.arg("-o").arg(format!("ConnectTimeout={}", seconds(self.connect)));
        ssh.arg("-o").arg(format!("ServerAliveInterval={}", seconds(self.alive)));
        if let Some(identity) = &self.identity {
            ssh.args(["-o", "IdentitiesOnly=yes", "-o"]).arg(file_option("IdentityFile", identity));
        }
        if let Some(known_hosts) = &self.known_hosts {
            ssh.arg("-o").arg(file_option("UserKnownHostsFile", known_hosts));
        }
        if !self.jump.is_empty() {
            let hosts = self.jump.iter().map(ToString::to_string).collect::<Vec<_>>();
            ssh.arg("-J").arg(hosts.join(","));
        }
        if let Some(user) = self.destination.user() {
            ssh.arg("-l").arg(user);
        }
        if let Some(port) = self.destination.port() {
            ssh.arg("-p").arg(port.to_string());
        }
        ssh
    }

    /// Tells that `ssh` could not be run.
    pub(super) fn not_run(&self, error: &io::Error) -> TransportError {
        TransportError::Unreachable { why: format!("{}: {error}", self.program.display()) }
    }
}

/// Tells that something took too long.
pub(super) fn too_late(within: Duration) -> TransportError {
    TransportError::Unreachable { why: format!("no answer within {} s", within.as_secs()) }
}

/// Rounds up: 0 would mean for ever.
fn seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0 || duration.is_zero())
}

/// Writes an option whose value is a file: quoted, because blanks separate values, and with `%` doubled, because it
/// begins a token (ssh_config(5), TOKENS).
fn file_option(name: &str, file: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push("=\"");
    option.push(escaped(file.as_os_str(), &[(b'\\', "\\\\"), (b'"', "\\\""), (b'%', "%%")]));
    option.push("\"");
    option
}

/// Doubles `%`, which begins a token in the path of a control socket.
pub(super) fn without_tokens(file: &Path) -> OsString {
    escaped(file.as_os_str(), &[(b'%', "%%")])
}

fn escaped(text: &OsStr, special: &[(u8, &str)]) -> OsString {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    let mut bytes = Vec::with_capacity(text.len());
    for byte in text.as_bytes() {
        match special.iter().find(|(special, _)| special == byte) {
            Some((_, written)) => bytes.extend_from_slice(written.as_bytes()),
            None => bytes.push(*byte),
        }
    }
    OsString::from_vec(bytes)
}

/// A process with a group of its own; dropping it ends the group, unless the process was waited for.
pub(super) struct Group(pub(super) Child);

impl Drop for Group {
    fn drop(&mut self) {
        // A process that was waited for has no number any more, and its group's may be another's.
        let leader = self.0.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(leader) = leader {
            // ESRCH is a group that is gone already; all of it are processes of one's own.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(client: &Client) -> Vec<String> {
        let command = client.command();
        command.as_std().get_args().map(|arg| arg.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn host_keys_are_checked_and_signs_of_life_asked_for_unless_said_otherwise() {
        let mut client = Client::new("ssh://host".parse().unwrap());
        let options = said(&client);
        for option in
            ["StrictHostKeyChecking=yes", "BatchMode=yes", "ServerAliveInterval=10", "ConnectTimeout=8"]
        {
            assert!(options.contains(&option.to_owned()), "{option}: {options:?}");
        }
        for absent in ["-F", "-J", "-l", "-p", "IdentitiesOnly=yes"] {
            assert!(!options.contains(&absent.to_owned()), "{absent}: {options:?}");
        }
        (client.host_keys, client.alive) = (HostKeys::AcceptNew, Duration::ZERO);
        let options = said(&client);
        assert!(options.contains(&"StrictHostKeyChecking=accept-new".to_owned()), "{options:?}");
        assert!(options.contains(&"ServerAliveInterval=1".to_owned()), "{options:?}");
    }

    #[test]
    fn what_is_said_reaches_ssh_as_it_was_said() {
        let mut client = Client::new("ssh://alice@host:2222".parse().unwrap());
        client.identity = Some("/k/my \"key\" 100%".into());
        client.known_hosts = Some("/k/known".into());
        client.config = Some("/k/config".into());
        client.jump = vec!["ssh://one".parse().unwrap(), "ssh://b%40c@[::1]:22".parse().unwrap()];
        client.connect = Duration::from_millis(1500);
        let said = said(&client);
        for expected in [
            &["-F", "/k/config"][..],
            &["-o", "IdentitiesOnly=yes", "-o", r#"IdentityFile="/k/my \"key\" 100%%""#],
            &["-o", r#"UserKnownHostsFile="/k/known""#],
            &["-J", "ssh://one,ssh://b%40c@[::1]:22"],
            &["-l", "alice"],
            &["-p", "2222"],
            &["-o", "ConnectTimeout=2"],
        ] {
            assert!(said.windows(expected.len()).any(|said| said == expected), "{expected:?}: {said:?}");
        }
    }
}
