//! A progress bar on stderr for long operations.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long an operation runs before the bar appears.
const PATIENCE: Duration = Duration::from_secs(1);
const TEMPLATE: &str = "{msg} {wide_bar} {human_pos} of {human_len}, {eta} left";

/// The progress of an operation with a known number of steps. Shows nothing if stderr is not a terminal.
pub(super) struct Progress {
    what: &'static str,
    begun: Instant,
    state: RefCell<State>,
}

struct State {
    done: u64,
    total: u64,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Starts an operation.
    pub fn of(what: &'static str, total: usize) -> Self {
        let state = State { done: 0, total: total as u64, bar: None };
        Self { what, begun: Instant::now(), state: RefCell::new(state) }
    }

    /// Records a finished step.
    pub fn step(&self) {
        let mut state = self.state.borrow_mut();
        state.done += 1;
        if state.bar.is_none() && self.begun.elapsed() >= PATIENCE {
            let target = ProgressDrawTarget::stderr();
            let bar = ProgressBar::with_draw_target(Some(state.total), target);
            let style = ProgressStyle::with_template(TEMPLATE);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_message(self.what);
            state.bar = Some(bar);
        }
        if let Some(bar) = &state.bar {
            bar.set_position(state.done);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // Clear the line for the next output.
        if let Some(bar) = &self.state.borrow().bar {
            bar.finish_and_clear();
        }
    }
}
