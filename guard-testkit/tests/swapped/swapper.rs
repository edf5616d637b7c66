//! The process that swaps.

use std::io::BufRead as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, rename, renameat_with};

use crate::scene::OUTSIDE;

const AS_SWAPPER: [&str; 4] = ["--exact", "swapper::swapper_process", "--nocapture", "--test-threads=1"];

/// How long the swapper swaps.
const SPELL: Duration = Duration::from_millis(20);
/// How long it then rests with everything at its place, in turn: about as long as calls of different targets take.
const RESTS: [Duration; 3] = [Duration::from_millis(5), Duration::from_millis(20), Duration::from_millis(80)];

/// What is swapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Swap {
    /// The directory `d` and a link to the canary, in one step.
    Parent,
    /// The same in several: the directory is renamed, a link takes its name, and goes again.
    Slowly,
    /// The file `d/f` and a link to a file of the canary.
    File,
    /// The directory `d` is moved out of the root and back.
    MovedOut,
}

impl Swap {
    pub(crate) const ALL: [Self; 4] = [Self::Parent, Self::Slowly, Self::File, Self::MovedOut];

    fn named(name: &str) -> Self {
        let is_it = |swap: &Self| format!("{swap:?}") == name;
        Self::ALL.into_iter().find(is_it).unwrap_or_else(|| panic!("{name:?}"))
    }

    /// The two names, below the base of a scene.
    fn names(self, base: &Path) -> (PathBuf, PathBuf) {
        let (one, other) = match self {
            Self::Parent => ("ws/d", "ws/link"),
            Self::Slowly => ("ws/d", "ws/d-own"),
            Self::File => ("ws/d/f", "ws/d/l"),
            Self::MovedOut => ("ws/d", "away/d"),
        };
        (base.join(one), base.join(other))
    }

    /// Swaps, so that what was there is not.
    pub(crate) fn over(self, base: &Path) -> bool {
        let (one, other) = self.names(base);
        match self {
            Self::Parent | Self::File => renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok(),
            Self::MovedOut => rename(one, other).is_ok(),
            Self::Slowly => {
                rename(&one, other).is_ok()
                    && std::os::unix::fs::symlink(format!("../{OUTSIDE}"), one).is_ok()
            }
        }
    }

    /// Swaps back; `aside` counts the directories that calls made in the place of the one that was moved.
    fn back(self, base: &Path, aside: &mut u64) {
        let (one, other) = self.names(base);
        match self {
            Self::Parent | Self::File => {
                let _ = renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE);
            }
            Self::Slowly | Self::MovedOut => {
                if one.is_symlink() {
                    let _ = std::fs::remove_file(&one);
                }
                // One that a call made meanwhile steps aside for good, unless it is empty.
                while other.exists() && rename(&other, &one).is_err() {
                    *aside += 1;
                    let _ = rename(&one, format!("{}-{aside}", other.display()));
                }
            }
        }
    }
}

/// Not a test of its own: the process that swaps, until whoever started it lets go of its input.
#[test]
fn swapper_process() {
    let Ok(order) = std::env::var("GUARD_SWAPPER") else { return };
    let (swap, base) = order.split_once('\n').unwrap();
    let (swap, base) = (Swap::named(swap), Path::new(base));
    println!("ready");
    let (end, ends) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        drop(end);
    });
    let (mut swaps, mut aside) = (0_u64, 0_u64);
    for rest in RESTS.iter().cycle() {
        let since = Instant::now();
        while since.elapsed() < SPELL {
            swaps += u64::from(swap.over(base));
            swap.back(base, &mut aside);
        }
        // A call that takes longer than a swap would else never be done.
        if ends.recv_timeout(*rest) == Err(RecvTimeoutError::Disconnected) {
            break;
        }
    }
    println!("swapped {swaps}");
}

/// This program, to be started again.
pub(crate) fn this() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

/// The process that swaps, until it is stopped.
pub(crate) struct Swapper {
    child: Child,
    said: std::io::BufReader<ChildStdout>,
}

impl Swapper {
    pub(crate) fn start(mut command: Command, swap: Swap, base: &Path) -> Self {
        command.args(AS_SWAPPER).env("GUARD_SWAPPER", format!("{swap:?}\n{}", base.display()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut swapper = Self { child, said };
        // It swaps when it has said so.
        swapper.line("ready");
        swapper
    }

    /// Reads on to a line with this word in it.
    fn line(&mut self, word: &str) -> String {
        let mut line = String::new();
        while !line.contains(word) {
            line.clear();
            assert!(self.said.read_line(&mut line).unwrap() > 0, "the swapper said no {word:?}");
        }
        line
    }

    /// Stops it, with everything back at its place; returns how often it swapped.
    pub(crate) fn stop(mut self) -> u64 {
        drop(self.child.stdin.take());
        let line = self.line("swapped ");
        line.trim().rsplit(' ').next().unwrap().parse().unwrap()
    }
}

impl Drop for Swapper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
