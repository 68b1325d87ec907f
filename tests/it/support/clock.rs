//! The clock of a runtime with one thread, stopped, so that tests need not wait for time limits.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// The clock stands still until this is dropped. I/O goes on.
pub struct StoppedClock {
    _running: Sender<()>,
}

impl StoppedClock {
    /// Stops the clock.
    pub fn new() -> Self {
        tokio::time::pause();
        let (running, ended) = channel::<()>();
        // Without a thread at work, the clock would go to the next time limit by itself.
        tokio::task::spawn_blocking(move || ended.recv());
        Self { _running: running }
    }

    /// Returns what work gives that ends within some seconds.
    pub async fn within<T>(&self, seconds: u32, work: impl Future<Output = T>) -> T {
        tokio::select! {
            biased;
            done = work => done,
            () = self.pass(seconds) => panic!("it takes longer than {seconds} s"),
        }
    }

    /// Lets seconds pass one by one, so that whatever has to do something each time has its turn.
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
