//! Tests that need what a machine may not have.
//!
//! A test that cannot run says so by name, with the reason and what to install, and passes:
//!
//! ```no_run
//! use guard_testkit::skip::{self, Need};
//!
//! # fn a_file_of_another_owner_keeps_its_owner() {
//! if skip::unless(Need::Root, "a_file_of_another_owner_keeps_its_owner") {
//!     return;
//! }
//! # }
//! ```
//!
//! Cargo swallows what a passing test prints, so the line is also appended to the file that `GUARD_SKIP_LOG` names;
//! `cargo xtask test` sets it and prints the list when the tests are over.
//! `GUARD_REQUIRE` names the needs that this machine has to meet, separated by commas (`root,setpriv`): there a skip
//! is a failure.
#![allow(clippy::disallowed_methods, reason = "what a machine has is found out by trying it")]
#![allow(clippy::print_stderr, reason = "a skip is said to whoever watches")]

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

/// Something that a test needs of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// The effective user is root.
    Root,
    /// `setpriv`, run by root, becomes a user without privileges.
    Setpriv,
    /// A tmpfs can be mounted in a mount namespace of one's own.
    Mounts,
    /// The filesystem of temporary files keeps ACLs and extended attributes.
    Attributes,
    /// Files can be given capabilities and other owners.
    Owners,
    /// Devices can be made.
    Devices,
    /// `/dev/shm` is another filesystem than that of temporary files.
    SecondFilesystem,
    /// An SSH server and client can be started.
    Sshd,
    /// A Docker daemon answers.
    Docker,
    /// There is the shell dash.
    Dash,
    /// There is the shell bash.
    Bash,
    /// There is BusyBox, with its shell.
    BusyBox,
    /// There is the shell mksh.
    Mksh,
    /// There is the shell zsh.
    Zsh,
    /// There is the login shell fish.
    Fish,
    /// There is the login shell tcsh.
    Tcsh,
    /// There is the login shell rbash.
    Rbash,
}

impl Need {
    /// Every need.
    pub const ALL: &'static [Self] = &[
        Self::Root,
        Self::Setpriv,
        Self::Mounts,
        Self::Attributes,
        Self::Owners,
        Self::Devices,
        Self::SecondFilesystem,
        Self::Sshd,
        Self::Docker,
        Self::Dash,
        Self::Bash,
        Self::BusyBox,
        Self::Mksh,
        Self::Zsh,
        Self::Fish,
        Self::Tcsh,
        Self::Rbash,
    ];

    /// Returns the name by which `GUARD_REQUIRE` knows it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Setpriv => "setpriv",
            Self::Mounts => "mounts",
            Self::Attributes => "attributes",
            Self::Owners => "owners",
            Self::Devices => "devices",
            Self::SecondFilesystem => "second-filesystem",
            Self::Sshd => "ssh",
            Self::Docker => "docker",
            Self::Dash => "dash",
            Self::Bash => "bash",
            Self::BusyBox => "busybox",
            Self::Mksh => "mksh",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
            Self::Tcsh => "tcsh",
            Self::Rbash => "rbash",
        }
    }

    /// Returns what is missing where the need is not met.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Root => "needs to be run by root",
            Self::Setpriv => "needs root and setpriv, to become a user without privileges",
            Self::Mounts => "needs the right to mount a tmpfs",
            Self::Attributes => "needs a filesystem that keeps ACLs and extended attributes",
            Self::Owners => "needs the right to give files capabilities and other owners",
            Self::Devices => "needs the right to make a device",
            Self::SecondFilesystem => "needs /dev/shm to be a filesystem of its own",
            Self::Sshd => "needs an SSH server and client",
            Self::Docker => "needs a Docker daemon that answers",
            Self::Dash => "needs the shell dash",
            Self::Bash => "needs the shell bash",
            Self::BusyBox => "needs BusyBox, with its shell",
            Self::Mksh => "needs the shell mksh",
            Self::Zsh => "needs the shell zsh",
            Self::Fish => "needs the login shell fish",
            Self::Tcsh => "needs the login shell tcsh",
            Self::Rbash => "needs the login shell rbash",
        }
    }

    /// Returns what to do about it; packages are Debian's.
    #[must_use]
    pub const fn install(self) -> &'static str {
        match self {
            Self::Root => "run the tests as root",
            Self::Setpriv => "apt-get install util-linux, and run the tests as root",
            Self::Mounts => {
                "apt-get install util-linux, and run the tests as root outside of a confined container"
            }
            Self::Attributes => "let TMPDIR be on such a filesystem",
            Self::Owners | Self::Devices => "run the tests as root outside of a confined container",
            Self::SecondFilesystem => "mount a tmpfs there",
            Self::Sshd => "apt-get install openssh-server openssh-client",
            Self::Docker => "apt-get install docker.io, and start it",
            Self::Dash => "apt-get install dash",
            Self::BusyBox => "apt-get install busybox-static",
            Self::Mksh => "apt-get install mksh",
            Self::Zsh => "apt-get install zsh",
            Self::Fish => "apt-get install fish",
            Self::Tcsh => "apt-get install tcsh",
            Self::Bash | Self::Rbash => "apt-get install bash",
        }
    }

    /// Tells whether this machine meets the need, by trying it.
    #[must_use]
    pub fn is_met(self) -> bool {
        match self {
            Self::Root => succeeds("sh", &["-c", "test \"$(id -u)\" = 0"]),
            Self::Setpriv => succeeds(
                "setpriv",
                &["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "true"],
            ),
            Self::Mounts => {
                succeeds("unshare", &["--mount", "sh", "-c", "mount -t tmpfs -o size=64k tmpfs /mnt"])
            }
            Self::Attributes => on_a_file(|file| {
                rustix::fs::setxattr(file, "user.guard", b"x", rustix::fs::XattrFlags::empty()).is_ok()
            }),
            Self::Owners => on_a_file(|file| std::os::unix::fs::chown(file, Some(65534), None).is_ok()),
            Self::Devices => on_a_file(|file| {
                let (at, null) = (file.with_extension("device"), rustix::fs::makedev(1, 3));
                let kind = rustix::fs::FileType::CharacterDevice;
                rustix::fs::mknodat(rustix::fs::CWD, at, kind, 0o600.into(), null).is_ok()
            }),
            Self::SecondFilesystem => on_a_file(|file| {
                let device = |path: &Path| std::fs::metadata(path).map(|meta| meta.dev()).ok();
                let memory = device(Path::new("/dev/shm"));
                memory.is_some() && memory != device(file)
            }),
            Self::Sshd => succeeds(
                "sh",
                &["-c", "command -v /usr/sbin/sshd && command -v ssh && command -v ssh-keygen"],
            ),
            Self::Docker => UnixStream::connect("/var/run/docker.sock").is_ok(),
            // Each is known to the system by the name of the need.
            Self::Dash
            | Self::Bash
            | Self::BusyBox
            | Self::Mksh
            | Self::Zsh
            | Self::Fish
            | Self::Tcsh
            | Self::Rbash => succeeds("sh", &["-c", "command -v \"$0\"", self.name()]),
        }
    }
}

/// Tells whether the test has to be skipped because this machine does not meet `need`, and reports the skip.
///
/// # Panics
///
/// If `GUARD_REQUIRE` names the need and the machine does not meet it, if it names something else than needs, or if
/// the skip cannot be reported.
#[must_use]
pub fn unless(need: Need, test: &str) -> bool {
    report(need, need.is_met(), test)
}

/// Reports that a test, or a part of it, is skipped because it found by trying that `need` is not met.
///
/// # Panics
///
/// As [`unless`].
pub fn unmet(need: Need, test: &str) {
    let _ = report(need, false, test);
}

fn report(need: Need, met: bool, test: &str) -> bool {
    let required = std::env::var("GUARD_REQUIRE").unwrap_or_default();
    let skipped = judged(need, met, &required, test);
    if let Some(line) = &skipped {
        eprintln!("{line}");
        if let Some(log) = std::env::var_os("GUARD_SKIP_LOG") {
            let appended = append(Path::new(&log), line);
            assert!(appended.is_ok(), "{}: {appended:?}", log.display());
        }
    }
    skipped.is_some()
}

/// Returns what is said of a skip; nothing where the test runs.
fn judged(need: Need, met: bool, required: &str, test: &str) -> Option<String> {
    let required = match parse(required) {
        Ok(required) => required,
        Err(name) => panic!("GUARD_REQUIRE names {name:?}, which is no need"),
    };
    if met {
        return None;
    }
    let line = line(need, test);
    assert!(!required.contains(&need), "GUARD_REQUIRE names {}, and it is not there: {line}", need.name());
    Some(line)
}

/// Appends a line in one write, so that tests of several processes do not mix.
fn append(log: &Path, line: &str) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(log)?.write_all(format!("{line}\n").as_bytes())
}

fn line(need: Need, test: &str) -> String {
    format!("SKIPPED {test}: {}; {}", need.reason(), need.install())
}

/// Reads a comma-separated list of needs; a name that is none is the error.
fn parse(list: &str) -> Result<Vec<Need>, &str> {
    let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(|name| Need::ALL.iter().copied().find(|need| need.name() == name).ok_or(name)).collect()
}

fn on_a_file(probe: impl FnOnce(&Path) -> bool) -> bool {
    let directory = tempfile::tempdir();
    directory.is_ok_and(|directory| {
        let file = directory.path().join("file");
        std::fs::write(&file, "x").is_ok() && probe(&file)
    })
}

fn succeeds(program: &str, args: &[&str]) -> bool {
    let quiet = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    quiet.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_names_the_test_the_reason_and_what_to_install() {
        assert_eq!(
            line(Need::Attributes, "acl_is_kept"),
            "SKIPPED acl_is_kept: needs a filesystem that keeps ACLs and extended attributes; let TMPDIR be on such a filesystem"
        );
    }

    #[test]
    fn a_need_that_is_not_met_skips_and_one_that_is_met_runs() {
        assert_eq!(judged(Need::Docker, true, "docker", "t"), None);
        assert_eq!(judged(Need::Docker, false, "root,ssh", "t"), Some(line(Need::Docker, "t")));
    }

    #[test]
    #[should_panic(expected = "GUARD_REQUIRE names docker, and it is not there")]
    fn a_need_that_is_required_is_not_skipped() {
        let _ = judged(Need::Docker, false, "root, docker", "t");
    }

    #[test]
    #[should_panic(expected = "which is no need")]
    fn a_misspelt_requirement_is_noticed_by_every_test() {
        let _ = judged(Need::Root, true, "rooot", "t");
    }

    #[test]
    fn skips_are_appended_to_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        append(&log, "one").unwrap();
        append(&log, "two").unwrap();
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "one\ntwo\n");
    }

    #[test]
    fn a_required_need_is_named_whole() {
        assert_eq!(parse("root, setpriv,"), Ok(vec![Need::Root, Need::Setpriv]));
        assert_eq!(parse(""), Ok(vec![]));
        assert_eq!(parse("root,setprv"), Err("setprv"));
        for need in Need::ALL {
            assert_eq!(parse(need.name()), Ok(vec![*need]));
        }
    }
}
