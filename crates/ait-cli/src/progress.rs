//! The progress of long operations: one line on stderr, if that is a terminal.

use std::cell::RefCell;
use std::env;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use tokio::time::interval;

use ait_system::span::humanize_duration;

/// How long an operation runs before the line appears.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the line changes at most.
const TICK: Duration = Duration::from_millis(100);

/// The progress of an operation with a known number of steps.
pub(super) struct Progress {
    what: &'static str,
    total: usize,
    state: RefCell<State>,
}

struct State {
    done: usize,
    /// When the line changes next.
    next: Instant,
    line: StatusLine,
}

impl Progress {
    /// Starts an operation.
    pub fn of(what: &'static str, total: usize) -> Self {
        let next = Instant::now() + PATIENCE;
        Self { what, total, state: RefCell::new(State { done: 0, next, line: StatusLine::new() }) }
    }

    /// Records a finished step.
    pub fn step(&self) {
        let mut state = self.state.borrow_mut();
        state.done += 1;
        let now = Instant::now();
        if now >= state.next {
            state.next = now + TICK;
            let text = format!("{} {} of {}", self.what, state.done, self.total);
            state.line.show(text);
        }
    }
}

/// Waits for an operation. If it takes long, shows `what` and for how long it has run.
pub async fn with_progress<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    if let Ok(done) = tokio::time::timeout(PATIENCE, &mut work).await {
        return done;
    }
    let begun = Instant::now();
    let mut line = StatusLine::new();
    let mut seconds = interval(Duration::from_secs(1));
    loop {
        tokio::select! {
            done = &mut work => return done,
            _ = seconds.tick() => {
                let so_far = (PATIENCE + begun.elapsed()).as_millis();
                let so_far = humanize_duration(u64::try_from(so_far).unwrap_or(u64::MAX));
                line.show(format_args!("{what} ({so_far})"));
            }
        }
    }
}

/// A line that each text replaces. It is cleared at the end, for the next output.
struct StatusLine {
    is_possible: bool,
    is_shown: bool,
}

impl StatusLine {
    fn new() -> Self {
        let is_dumb = env::var_os("TERM").is_some_and(|name| name == "dumb");
        Self { is_possible: io::stderr().is_terminal() && !is_dumb, is_shown: false }
    }

    fn show(&mut self, text: impl Display) {
        if self.is_possible {
            // The operation goes on if its progress cannot be shown.
            let _ = write!(io::stderr(), "\r{text}\x1b[K");
            self.is_shown = true;
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        if self.is_shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
