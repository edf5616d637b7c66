//! Tools of the target that stop, fail or kill at a call that a test has chosen.

#![allow(clippy::disallowed_methods, reason = "it writes scripts into a directory of its own")]

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{CWD, FileType, Mode};
use tempfile::TempDir;

use super::shells::{find, write_program};
use crate::wrap::{Gate, When};

const SCRIPT: &str = include_str!("wrapper.sh");

/// A directory of wrappers that a test puts first on the target's `PATH`, each around a real tool.
///
/// Every call is logged. What is planned for a call happens there and nowhere else: a test that holds the second
/// `link` stands exactly between the first publish and the second.
///
/// ```no_run
/// use guard_backends::shell::Process;
/// use guard_core::port::TargetId;
/// use guard_testkit::transport::{Call, Deed, Wrappers};
///
/// # async fn test() -> std::io::Result<()> {
/// let wrappers = Wrappers::new()?;
/// let target = Process::shell(TargetId::new("here")).env("PATH", wrappers.path());
/// // ... a session is started, and says hello; then:
/// let mut gate = wrappers.hold(Call::of("link").nth(2))?;
/// wrappers.plan(Call::of("rm").every(), Deed::fail("rm: cannot remove: Input/output error", 1))?;
/// // ... a commit is sent ...
/// gate.reached().await;
/// // ... another process acts ...
/// gate.open();
/// # Ok(())
/// # }
/// ```
pub struct Wrappers {
    dir: TempDir,
    search: OsString,
    plans: Mutex<Plans>,
}

#[derive(Default)]
struct Plans {
    lines: String,
    count: usize,
    /// One for each hold: its thread ends when something is written here.
    wake: Vec<File>,
}

/// Which call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    tool: String,
    nth: Option<u64>,
    when: When,
    glob: String,
}

/// What happens at a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Deed {
    /// The call fails (or says that it did well, with status 0). Before the real tool, it is not run.
    Fail {
        /// What it says on its standard error.
        words: String,
        /// Its exit status.
        status: u8,
    },
    /// The shell that runs the tool is killed, with every subshell in between. Before the real tool, it is run
    /// nevertheless: a tool outlives its shell.
    KillShell,
    /// A command line is run, with the `PATH` that has no wrappers; what it says is thrown away.
    Run(String),
}

/// A call that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    /// The tool.
    pub tool: String,
    /// Its current directory, as the shell knew it.
    pub directory: Vec<u8>,
    /// Its arguments.
    pub args: Vec<Vec<u8>>,
}

impl Call {
    /// The next call of a tool, before the real tool is run.
    #[must_use]
    pub fn of(tool: &str) -> Self {
        Self { tool: tool.to_owned(), nth: Some(1), when: When::Before, glob: "*".to_owned() }
    }

    /// The `nth` call from now on (1 is the next).
    #[must_use]
    pub fn nth(self, nth: u64) -> Self {
        Self { nth: Some(nth), ..self }
    }

    /// Every call from now on.
    #[must_use]
    pub fn every(self) -> Self {
        Self { nth: None, ..self }
    }

    /// After the real tool was run.
    #[must_use]
    pub fn after(self) -> Self {
        Self { when: When::After, ..self }
    }

    /// Only calls whose arguments, joined by blanks, match a pattern of the shell; others do not count.
    ///
    /// # Panics
    ///
    /// If the pattern has a newline in it.
    #[must_use]
    pub fn with(self, glob: &str) -> Self {
        assert!(!glob.contains('\n'), "a pattern is one line");
        Self { glob: glob.to_owned(), ..self }
    }
}

impl Deed {
    /// The call fails with words and a status.
    #[must_use]
    pub fn fail(words: impl Into<String>, status: u8) -> Self {
        Self::Fail { words: words.into(), status }
    }

    fn script(self, search: &OsStr) -> Vec<u8> {
        match self {
            Self::Fail { words, status } => {
                let words = if words.is_empty() { words } else { format!("{words}\n") };
                let words = quoted(words.as_bytes());
                [b"printf %s ", &words[..], format!(" >&2\nexit {status}\n").as_bytes()].concat()
            }
            Self::KillShell => b"kill_shell\n".to_vec(),
            Self::Run(command) => {
                let path = quoted(search.as_bytes());
                let command = quoted(command.as_bytes());
                [b"(PATH=", &path[..], b"; eval ", &command, b") < /dev/null > /dev/null 2>&1\n"].concat()
            }
        }
    }
}

impl Wrappers {
    /// Wraps tools of this process's own `PATH`.
    ///
    /// # Errors
    ///
    /// Whatever keeps the directory from being made.
    pub fn new() -> io::Result<Self> {
        Self::over(std::env::var_os("PATH").unwrap_or_default())
    }

    /// Wraps tools of another `PATH`: that of another shell, or of BusyBox's tools.
    ///
    /// # Errors
    ///
    /// Whatever keeps the directory from being made.
    pub fn over(search: impl Into<OsString>) -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix("guard-tools-").tempdir()?;
        fs::create_dir(dir.path().join("bin"))?;
        fs::write(dir.path().join("plans"), "")?;
        write_program(&dir.path().join("wrapper"), SCRIPT)?;
        Ok(Self { dir, search: search.into(), plans: Mutex::default() })
    }

    /// Returns the `PATH` for the target: the wrappers, then the real tools.
    #[must_use]
    pub fn path(&self) -> OsString {
        let mut path = self.dir.path().join("bin").into_os_string();
        path.push(":");
        path.push(&self.search);
        path
    }

    /// Wraps a tool, so that its calls are logged. A session finds only what was wrapped before its start.
    ///
    /// # Errors
    ///
    /// `NotFound` where there is no such tool; else whatever keeps the wrapper from being written.
    pub fn wrap(&self, tool: &str) -> io::Result<()> {
        let at = self.dir.path().join("bin").join(tool);
        if at.try_exists()? {
            return Ok(());
        }
        let real = find(tool, &self.search)?;
        fs::write(
            self.dir.path().join(format!("real.{tool}")),
            [real.as_os_str().as_bytes(), b"\n"].concat(),
        )?;
        symlink("../wrapper", at)
    }

    /// Plans a deed for a call, and wraps the tool if it is not yet.
    ///
    /// # Errors
    ///
    /// As [`Self::wrap`].
    pub fn plan(&self, call: Call, deed: Deed) -> io::Result<()> {
        self.add(call, |_, _| Ok(deed.script(&self.search)))
    }

    /// Holds a call until the gate is opened or dropped, and wraps the tool if it is not yet.
    ///
    /// # Errors
    ///
    /// As [`Self::wrap`].
    pub fn hold(&self, call: Call) -> io::Result<Gate> {
        let (gate, latch) = Gate::pair();
        self.add(call, |plans, id| {
            let fifo = |name: &str| {
                let at = self.dir.path().join(format!("{name}.{id}"));
                rustix::fs::mknodat(CWD, &at, FileType::Fifo, Mode::from_raw_mode(0o600), 0)?;
                // For both, so that neither side waits for the other to open it.
                Ok::<_, io::Error>((OpenOptions::new().read(true).write(true).open(&at)?, at))
            };
            let ((mut reached, at_reached), (mut release, at_release)) = (fifo("reached")?, fifo("release")?);
            plans.wake.push(reached.try_clone()?);
            std::thread::spawn(move || {
                let mut who = [0];
                // What is not from the call is the end of the test.
                if reached.read_exact(&mut who).is_ok() && who == *b"c" {
                    latch.hold_blocking();
                    // An error is a call that was killed meanwhile.
                    let _ = release.write_all(b"\n");
                }
            });
            let (reached, release) = (quoted_path(&at_reached), quoted_path(&at_release));
            // It is opened before the arrival is told: what is in a FIFO that nobody has open is lost.
            Ok([b"{ printf c > ", &reached[..], b"; read -r line <&8; } 8<> ", &release, b"\n"].concat())
        })?;
        Ok(gate)
    }

    /// Returns the calls so far, of every wrapped tool, in their order.
    ///
    /// # Errors
    ///
    /// Whatever keeps the log from being read.
    pub fn calls(&self) -> io::Result<Vec<Called>> {
        let mut calls = Vec::new();
        for nth in 1_u64.. {
            match fs::read(self.dir.path().join(format!("call.{nth}"))) {
                // A call that was only just begun has said nothing.
                Ok(log) => calls.extend(called(&log)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => break,
                Err(error) => return Err(error),
            }
        }
        Ok(calls)
    }

    fn add(&self, call: Call, deed: impl FnOnce(&mut Plans, usize) -> io::Result<Vec<u8>>) -> io::Result<()> {
        let Call { tool, nth, when, glob } = call;
        self.wrap(&tool)?;
        let mut plans = self.lock();
        let id = plans.count;
        plans.count += 1;
        let script = deed(&mut plans, id)?;
        fs::write(self.dir.path().join(format!("deed.{id}")), script)?;
        let nth = nth.map_or_else(|| "every".to_owned(), |nth| nth.to_string());
        let when = if when == When::Before { "before" } else { "after" };
        plans.lines.extend([format!("{id} {nth} {when} {tool} {glob}\n")]);
        let new = self.dir.path().join("new");
        fs::write(&new, &plans.lines)?;
        fs::rename(new, self.dir.path().join("plans"))
    }

    fn lock(&self) -> MutexGuard<'_, Plans> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Wrappers {
    fn drop(&mut self) {
        for wake in &mut self.lock().wake {
            // Its thread may be gone already.
            let _ = wake.write_all(b"x");
        }
    }
}

fn called(log: &[u8]) -> Option<Called> {
    let mut words = log.strip_suffix(b"\0")?.split(|byte| *byte == 0);
    let tool = String::from_utf8_lossy(words.next()?).into_owned();
    Some(Called { tool, directory: words.next()?.to_vec(), args: words.map(<[u8]>::to_vec).collect() })
}

fn quoted_path(path: &Path) -> Vec<u8> {
    quoted(path.as_os_str().as_bytes())
}

/// Quotes a word for a shell.
fn quoted(word: &[u8]) -> Vec<u8> {
    let mut out = b"'".to_vec();
    for byte in word {
        match byte {
            b'\'' => out.extend_from_slice(b"'\\''"),
            byte => out.push(*byte),
        }
    }
    out.push(b'\'');
    out
}
