//! Stopping a process of a test at a call, until the test lets it go on.

use std::sync::{Arc, Barrier};

/// A process that waits at a call. Clones are the same wait.
#[derive(Clone)]
pub struct Pause {
    reached: Arc<Barrier>,
    end: Arc<Barrier>,
}

impl Default for Pause {
    fn default() -> Self {
        Self { reached: Arc::new(Barrier::new(2)), end: Arc::new(Barrier::new(2)) }
    }
}

impl Pause {
    /// Waits until the process has come to the call.
    pub async fn reached(&self) {
        meet(&self.reached).await;
    }

    /// Lets it go on.
    pub async fn end(self) {
        meet(&self.end).await;
    }

    /// What the process does at the call.
    pub fn wait(&self) {
        self.reached.wait();
        self.end.wait();
    }
}

async fn meet(barrier: &Arc<Barrier>) {
    let barrier = Arc::clone(barrier);
    tokio::task::spawn_blocking(move || barrier.wait()).await.unwrap();
}
