//! The rival's process, and its parent's side of it.
//!
//! Orders are lines `FIRST COUNT WINDOW`: make COUNT writes from number FIRST on, at moments that are WINDOW
//! nanoseconds apart at most. Reports are lines `rival: wrote SEQ BEGIN END`, and `rival: over` after an order. They
//! are told after the last write of an order, so that telling is no part of the race. An exclusive creation that came
//! too late is told as `rival: missed SEQ`.

#![allow(clippy::disallowed_methods, reason = "a test starts itself again")]

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use tokio::sync::mpsc;

use super::{Kind, Version, Wrote, now, write};

/// The variables that make a process a rival.
pub(super) const KIND: &str = "GUARD_TESTKIT_RIVAL";
pub(super) const FILE: &str = "GUARD_TESTKIT_RIVAL_FILE";

/// A rival that was started; dropping it ends its process.
pub struct Rival {
    kind: Kind,
    missed: u64,
    child: Child,
    orders: Option<ChildStdin>,
    reports: mpsc::UnboundedReceiver<Report>,
    next: u64,
}

enum Report {
    Wrote(Wrote),
    Missed,
    Failed(String),
    Over,
}

impl Rival {
    /// Starts this executable again, with arguments that lead it to [`super::main_loop_if_asked`].
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being started.
    pub fn spawn(kind: Kind, file: &Path, arguments: &[&str]) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(arguments).envs(super::variables(kind, file));
        Self::of(kind, &mut command)
    }

    /// Starts a command that leads to [`super::main_loop_if_asked`] with [`super::variables`] set, wherever that is.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being started.
    pub fn of(kind: Kind, command: &mut Command) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (orders, output) = (child.stdin.take(), child.stdout.take());
        let (tell, reports) = mpsc::unbounded_channel();
        if let Some(output) = output {
            // The thread ends with the rival's output, which ends with the rival.
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if let Some(report) = read(&line)
                        && tell.send(report).is_err()
                    {
                        return;
                    }
                }
            });
        }
        Ok(Self { kind, missed: 0, child, orders, reports, next: 1 })
    }

    /// Returns how it writes.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns how often it came too late to create.
    #[must_use]
    pub const fn missed(&self) -> u64 {
        self.missed
    }

    /// Orders `count` writes at moments that are `window` nanoseconds apart at most.
    ///
    /// # Errors
    ///
    /// Where the rival is gone.
    pub fn go(&mut self, count: u64, window: u64) -> io::Result<()> {
        let first = self.next;
        self.next += count;
        let orders = self.orders.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(orders, "{first} {count} {window}")?;
        orders.flush()
    }

    /// Takes reports without waiting; tells whether the order is over.
    ///
    /// # Errors
    ///
    /// Where the rival is gone or could not write.
    pub fn poll(&mut self, wrote: &mut Vec<Wrote>) -> io::Result<bool> {
        loop {
            match self.reports.try_recv() {
                Ok(report) => {
                    if self.take(report, wrote)? {
                        return Ok(true);
                    }
                }
                Err(mpsc::error::TryRecvError::Empty) => return Ok(false),
                Err(mpsc::error::TryRecvError::Disconnected) => return Err(gone()),
            }
        }
    }

    /// Waits until the order is over.
    ///
    /// # Errors
    ///
    /// Where the rival is gone or could not write.
    pub async fn wait(&mut self, wrote: &mut Vec<Wrote>) -> io::Result<()> {
        loop {
            let report = self.reports.recv().await.ok_or_else(gone)?;
            if self.take(report, wrote)? {
                return Ok(());
            }
        }
    }

    fn take(&mut self, report: Report, wrote: &mut Vec<Wrote>) -> io::Result<bool> {
        match report {
            Report::Wrote(one) => wrote.push(one),
            Report::Missed => self.missed += 1,
            Report::Failed(why) => return Err(io::Error::other(why)),
            Report::Over => return Ok(true),
        }
        Ok(false)
    }
}

impl Drop for Rival {
    fn drop(&mut self) {
        // The end of its orders is the end of the rival.
        self.orders = None;
        let _ = self.child.wait();
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the rival is gone")
}

/// Reads one line; a test harness's own lines are none of ours.
fn read(line: &str) -> Option<Report> {
    let words: Vec<&str> = line.strip_prefix("rival: ")?.splitn(4, ' ').collect();
    let number = |text: &str| text.parse().ok();
    match words.as_slice() {
        ["over"] => Some(Report::Over),
        ["missed", _] => Some(Report::Missed),
        ["wrote", seq, begin, end] => {
            Some(Report::Wrote(Wrote { seq: number(seq)?, begin: number(begin)?, end: number(end)? }))
        }
        _ => Some(Report::Failed(line.to_owned())),
    }
}

/// The rival's own side.
pub(super) fn obey(kind: Kind, file: &Path) -> io::Result<()> {
    let mut output = io::stdout().lock();
    // A test harness may have begun a line.
    writeln!(output)?;
    let mut random = Random(now());
    for order in io::stdin().lines() {
        let order = order?;
        let numbers: Vec<u64> = order.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [first, count, window] = numbers[..] else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("no order: {order}")));
        };
        // All bytes are made before the first moment.
        let versions: Vec<Vec<u8>> = (first..first + count).map(|seq| Version::rival(seq).bytes()).collect();
        let mut told = Vec::new();
        for (seq, bytes) in (first..).zip(&versions) {
            write::spin(random.below(window));
            let begin = now();
            match write::write(kind, file, bytes, random.below(window)) {
                Ok(()) => writeln!(told, "rival: wrote {seq} {begin} {}", now())?,
                Err(error) if kind.is_exclusive() && error.kind() == io::ErrorKind::AlreadyExists => {
                    writeln!(told, "rival: missed {seq}")?;
                }
                Err(error) => writeln!(told, "rival: failed at {seq}: {error}")?,
            }
        }
        writeln!(told, "rival: over")?;
        output.write_all(&told)?;
        output.flush()?;
    }
    Ok(())
}

/// Moments that no two rounds share: a linear congruential generator (Knuth, MMIX).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }
}
