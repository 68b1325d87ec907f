//! Waiting in commands that run until the user ends them.

use std::io;
use std::time::{Duration, Instant};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The timeout where only a change or the end of the command ends a wait.
pub(super) const FOREVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Why a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wake {
    /// The time has passed.
    Time,
    /// The terminal was resized.
    Resized,
    /// The user ended the command, or the reader closed its output.
    End,
}

/// The signals and streams that end a wait.
pub(super) struct Live {
    interrupt: Signal,
    terminate: Signal,
    resize: Signal,
    reader: Option<AsyncFd<io::Stdout>>,
}

impl Live {
    /// Installs the signal handlers: from now on, a signal ends the wait and not the process.
    #[expect(deprecated, reason = "its successor is unsafe, and stdout stays open all the time")]
    pub fn begin() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            resize: signal(SignalKind::window_change())?,
            // A regular file cannot be polled, and has no reader that could close it.
            reader: AsyncFd::with_interest(io::stdout(), Interest::ERROR).ok(),
        })
    }

    /// Does work for at most a time. Returns `None` if the time passes, or the user ends the command, before it is
    /// done.
    pub async fn until_end<T>(
        &mut self,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let begun = Instant::now();
        let end = async {
            while self.wait(limit.saturating_sub(begun.elapsed())).await == Wake::Resized {}
        };
        tokio::select! {
            biased;
            done = work => Some(done),
            () = end => None,
        }
    }

    pub async fn wait(&mut self, time: Duration) -> Wake {
        tokio::select! {
            biased;
            _ = self.interrupt.recv() => Wake::End,
            _ = self.terminate.recv() => Wake::End,
            () = end_of_reader(self.reader.as_ref()) => Wake::End,
            _ = self.resize.recv() => Wake::Resized,
            () = tokio::time::sleep(time) => Wake::Time,
        }
    }
}

/// Does work for at most a time; `None` for any time. Returns `None` if the time passes, or the user ends the command,
/// before it is done.
pub(super) async fn until_end<T>(
    limit: Option<Duration>,
    work: impl Future<Output = T>,
) -> io::Result<Option<T>> {
    let mut live = Live::begin()?;
    tracing::debug!("waiting until Ctrl-C");
    Ok(live.until_end(limit.unwrap_or(FOREVER), work).await)
}

/// Waits until the reader closes the pipe, as `head` does after its last line. A command that has nothing to write
/// would not notice otherwise.
async fn end_of_reader(reader: Option<&AsyncFd<io::Stdout>>) {
    match reader {
        Some(reader) => drop(reader.ready(Interest::ERROR).await),
        None => std::future::pending().await,
    }
}
