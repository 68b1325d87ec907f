//! The log: on stderr, for people, and never in anybody's way.
//!
//! A client that does not read stderr, or has closed it, must not hold up or bring down anything:
//! lines are written by a thread of their own, and dropped when too many wait.

use std::env;
use std::io::{self, IsTerminal};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;

/// What is logged unless `RUST_LOG` says otherwise. The protocol library reports every notification
/// at `info`, and every refused request as a warning.
const DEFAULT: &str = "info,rmcp=error";
/// How many lines may wait for somebody to read them; the room for them is taken at the start.
const WAITING_LINES: usize = 1_000;
/// How long the last lines may take to be written.
const LAST_LINES: Duration = Duration::from_millis(200);

/// The running log.
#[derive(Debug)]
pub struct Log {
    writer: WorkerGuard,
}

impl Log {
    /// Starts the log of this process, which can have only one.
    ///
    /// # Panics
    ///
    /// When the process has one already.
    pub fn start() -> Self {
        let (writer, guard) =
            NonBlockingBuilder::default().buffered_lines_limit(WAITING_LINES).finish(io::stderr());
        let wanted = env::var(EnvFilter::DEFAULT_ENV).unwrap_or_default();
        let filter = EnvFilter::try_new(if wanted.is_empty() { DEFAULT } else { &wanted });
        let unusable = filter.as_ref().err().map(ToString::to_string);
        tracing_subscriber::fmt()
            .with_env_filter(filter.unwrap_or_else(|_| EnvFilter::new(DEFAULT)))
            .with_target(false)
            .with_ansi(io::stderr().is_terminal())
            .with_writer(writer)
            .log_internal_errors(false)
            .init();
        if let Some(error) = unusable {
            tracing::warn!(
                "RUST_LOG is {wanted:?}, which cannot be used ({error}): using {DEFAULT}"
            );
        }
        Self { writer: guard }
    }

    /// Waits for the last lines, unless nobody reads them.
    pub fn end(self) {
        let (ended, waiting) = mpsc::channel();
        thread::spawn(move || {
            drop(self.writer);
            // Nobody waits any more when the lines took too long.
            let _ = ended.send(());
        });
        let _ = waiting.recv_timeout(LAST_LINES);
    }
}
