//! A stopped clock for single-threaded runtimes, so that tests need not wait for time limits.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// Stops the clock until it is dropped. I/O continues.
pub struct StoppedClock {
    _running: Sender<()>,
}

impl StoppedClock {
    /// Stops the clock.
    pub fn new() -> Self {
        tokio::time::pause();
        let (running, ended) = channel::<()>();
        // Without a running blocking task, tokio would advance the clock to the next timer by itself.
        tokio::task::spawn_blocking(move || ended.recv());
        Self { _running: running }
    }

    /// Awaits `work`, and panics if it takes longer than `seconds` of the clock.
    pub async fn within<T>(&self, seconds: u32, work: impl Future<Output = T>) -> T {
        tokio::select! {
            biased;
            done = work => done,
            () = self.pass(seconds) => panic!("the work takes longer than {seconds} s"),
        }
    }

    /// Advances the clock second by second, so that periodic tasks run each time.
    pub async fn pass(&self, seconds: u32) {
        for _ in 0..seconds {
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            tokio::time::advance(Duration::from_secs(1)).await;
        }
    }
}

impl Drop for StoppedClock {
    fn drop(&mut self) {
        tokio::time::resume();
    }
}
