//! Waiting, in commands that go on until somebody ends them.

use std::io;
use std::time::Duration;

/// Why a wait was over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wake {
    /// The time has passed.
    Time,
    /// The terminal has another size; only Unix tells.
    Resized,
    /// Somebody wants the command to end, or nobody reads any more what it writes.
    End,
}

#[cfg(unix)]
pub(super) use unix::Live;

#[cfg(unix)]
mod unix {
    use super::{Duration, Wake, io};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;
    use tokio::signal::unix::{Signal, SignalKind, signal};

    /// What a wait looks out for.
    pub struct Live {
        interrupt: Signal,
        terminate: Signal,
        resize: Signal,
        reader: Option<AsyncFd<io::Stdout>>,
    }

    impl Live {
        /// Begins to look out; from now on, a signal ends the wait and not the process.
        #[expect(
            deprecated,
            reason = "its successor is unsafe, and stdout stays open all the time"
        )]
        pub fn begin() -> io::Result<Self> {
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
                resize: signal(SignalKind::window_change())?,
                // A file cannot be watched, and need not be: it takes everything.
                reader: AsyncFd::with_interest(io::stdout(), Interest::ERROR).ok(),
            })
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

    /// Waits until nobody reads from the pipe any more, as after `| head` has read its lines: a command
    /// that has nothing to write would not notice that by itself.
    async fn end_of_reader(reader: Option<&AsyncFd<io::Stdout>>) {
        match reader {
            Some(reader) => drop(reader.ready(Interest::ERROR).await),
            None => std::future::pending().await,
        }
    }
}

/// What a wait looks out for.
#[cfg(not(unix))]
pub(super) struct Live;

#[cfg(not(unix))]
impl Live {
    /// Begins to look out.
    pub fn begin() -> io::Result<Self> {
        Ok(Self)
    }

    pub async fn wait(&mut self, time: Duration) -> Wake {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => Wake::End,
            () = tokio::time::sleep(time) => Wake::Time,
        }
    }
}
