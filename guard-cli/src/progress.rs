//! A bar for what moves for longer than a moment: on a terminal only, on standard error, and gone when it is over.

use std::collections::HashMap;
use std::io::{self, IsTerminal as _};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anstream::{AutoStream, ColorChoice};
use guard_core::policy::TargetPath;
use guard_core::port::{Observer, Step};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::render::Line;

/// What is over sooner gets no bar,
const DELAY: Duration = Duration::from_millis(300);
/// unless so many bytes are about to move.
const LARGE: u64 = 8 << 20;
/// How often a bar is drawn while nothing moves.
const BEAT: Duration = Duration::from_millis(100);
/// How many characters of a name are shown.
const NAME: usize = 32;

/// The bar of one command, which sees what its target reports.
pub(crate) struct Bar {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    moving: Moving,
    drawn: Option<ProgressBar>,
}

/// Which way contents move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// To this process.
    Reading,
    /// To the target.
    Writing,
}

/// What has moved of what.
#[derive(Debug, Default)]
struct Moving {
    /// Since when, and which way now.
    since: Option<(Instant, Way)>,
    /// The bytes of each file: of how many, how many.
    files: HashMap<TargetPath, (u64, u64)>,
    /// The sums over all files.
    total: u64,
    done: u64,
    /// The file that moved last.
    name: String,
}

impl Bar {
    /// Makes the bar of a command, if there is somebody to see it: on a terminal on which other output is styled,
    /// which `NO_COLOR` and a `TERM` that is dumb turn off, and not beside an object for a program.
    pub(crate) fn of(json: bool) -> Option<Arc<Self>> {
        let stderr = io::stderr();
        let is_plain = AutoStream::choice(&stderr) == ColorChoice::Never;
        (stderr.is_terminal() && !is_plain && !json).then(|| Arc::new(Self { state: Mutex::default() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Carries out the work of a command, with its bar if it has one; nothing of the bar is on the screen afterwards.
pub(crate) async fn during<T>(bar: Option<&Arc<Bar>>, work: impl Future<Output = T>) -> T {
    let Some(bar) = bar else { return work.await };
    // Also where the work panics.
    let _cleared = Cleared(bar);
    let mut work = pin!(work);
    let mut beat = tokio::time::interval(BEAT);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            _ = beat.tick() => bar.state().draw(Instant::now()),
        }
    }
}

struct Cleared<'a>(&'a Bar);

impl Drop for Cleared<'_> {
    fn drop(&mut self) {
        if let Some(drawn) = self.0.state().drawn.take() {
            drawn.finish_and_clear();
        }
    }
}

impl Observer for Bar {
    fn step(&self, step: Step<'_>) {
        let now = Instant::now();
        let mut state = self.state();
        if state.moving.step(step, now) {
            state.draw(now);
        }
    }
}

impl State {
    fn draw(&mut self, now: Instant) {
        if !self.moving.is_shown(now) {
            return;
        }
        let (message, total) = (self.moving.message(), self.moving.total);
        let drawn = self.drawn.get_or_insert_with(|| {
            // It is a constant, and a test makes it.
            let style =
                ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar());
            let style = style.progress_chars("=> ");
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
            bar.with_style(style).with_message(message.clone())
        });
        if drawn.length() != Some(total) {
            drawn.set_length(total);
        }
        if drawn.message() != message {
            drawn.set_message(message);
        }
        drawn.set_position(self.moving.done);
        drawn.tick();
    }
}

const TEMPLATE: &str = "{msg} [{wide_bar}] {bytes}/{total_bytes} {bytes_per_sec}";

impl Moving {
    /// Takes a step, and tells whether it changed anything.
    fn step(&mut self, step: Step<'_>, now: Instant) -> bool {
        match step {
            Step::ToRead(path, len) => self.expect(Way::Reading, path, len, now),
            Step::ToStage(path, len) => self.expect(Way::Writing, path, len, now),
            Step::Reading(path, count) | Step::Staging(path, count) => {
                let Some((_, done)) = self.files.get_mut(path) else { return false };
                // What changes while it is read begins again.
                self.done = self.done - *done + count;
                *done = count;
                self.name(path);
            }
            _ => return false,
        }
        true
    }

    fn expect(&mut self, way: Way, path: &TargetPath, len: u64, now: Instant) {
        match &mut self.since {
            Some((_, old)) if *old == way => {}
            Some((_, old)) => {
                // What was read is about to be written.
                *old = way;
                self.files.clear();
                (self.total, self.done) = (0, 0);
            }
            since => *since = Some((now, way)),
        }
        let (total, done) = self.files.insert(path.clone(), (len, 0)).unwrap_or_default();
        self.total = self.total - total + len;
        self.done -= done;
        if self.name.is_empty() {
            self.name(path);
        }
    }

    fn name(&mut self, path: &TargetPath) {
        let name = path.as_str().rsplit('/').next().unwrap_or_default();
        let name = Line(name).to_string();
        let over = name.chars().count().saturating_sub(NAME);
        self.name =
            if over == 0 { name } else { format!("…{}", name.chars().skip(over + 1).collect::<String>()) };
    }

    fn is_shown(&self, now: Instant) -> bool {
        self.since.is_some_and(|(since, _)| now.duration_since(since) >= DELAY || self.total >= LARGE)
    }

    fn message(&self) -> String {
        let is_all = self.done >= self.total;
        let verb = match self.since {
            Some((_, Way::Reading)) => "reading",
            // What is left is the target's: to check, to sync, to publish.
            Some((_, Way::Writing)) if is_all => "storing",
            _ => "writing",
        };
        format!("{verb} {}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> TargetPath {
        TargetPath::new(format!("/ws/{name}")).unwrap()
    }

    #[test]
    fn the_template_is_one() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
    }

    #[test]
    fn what_is_small_and_short_is_not_shown() {
        let (start, a) = (Instant::now(), path("a"));
        for (len, after, shown) in [
            (LARGE - 1, Duration::ZERO, false),
            (LARGE - 1, DELAY.saturating_sub(Duration::from_millis(1)), false),
            (LARGE, Duration::ZERO, true),
            (0, DELAY, true),
        ] {
            let mut moving = Moving::default();
            assert!(!moving.is_shown(start + DELAY * 9), "nothing has begun to move");
            moving.step(Step::ToStage(&a, len), start);
            assert_eq!(moving.is_shown(start + after), shown, "{len} bytes after {after:?}");
        }
    }

    #[test]
    fn the_sums_are_of_all_files_and_begin_again_when_what_was_read_is_written() {
        let (now, a, b) = (Instant::now(), path("a"), path("b\u{1b}[2J"));
        let mut moving = Moving::default();
        for (step, expected) in [
            (Step::ToRead(&a, 10), (0, 10, "reading a")),
            (Step::Reading(&a, 4), (4, 10, "reading a")),
            // It changed meanwhile, and is longer now.
            (Step::ToRead(&a, 12), (0, 12, "reading a")),
            (Step::Reading(&a, 12), (12, 12, "reading a")),
            (Step::ToRead(&b, 5), (12, 17, "reading a")),
            (Step::Reading(&b, 5), (17, 17, r"reading b\u{1b}[2J")),
            (Step::ToStage(&a, 20), (0, 20, r"writing b\u{1b}[2J")),
            (Step::ToStage(&b, 6), (0, 26, r"writing b\u{1b}[2J")),
            (Step::Staging(&a, 20), (20, 26, "writing a")),
            (Step::Staging(&b, 6), (26, 26, r"storing b\u{1b}[2J")),
            (Step::Published(&a), (26, 26, r"storing b\u{1b}[2J")),
        ] {
            moving.step(step, now);
            assert_eq!((moving.done, moving.total, moving.message().as_str()), expected, "{step:?}");
        }
        assert!(!moving.step(Step::Staging(&path("unannounced"), 9), now));
    }

    #[test]
    fn a_long_name_is_cut_at_its_start() {
        let mut moving = Moving::default();
        moving.step(Step::ToRead(&path(&format!("{}.tar", "é".repeat(60))), 1), Instant::now());
        assert_eq!(moving.name, format!("…{}.tar", "é".repeat(NAME - 5)));
    }
}
