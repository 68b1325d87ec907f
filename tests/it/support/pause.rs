//! Pauses a simulated process at a call until the test resumes it.

use std::sync::{Arc, Barrier};

/// A pause at a call. Clones share it.
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
    /// Waits until the process reaches the call.
    pub async fn reached(&self) {
        meet(&self.reached).await;
    }

    /// Resumes the process.
    pub async fn end(self) {
        meet(&self.end).await;
    }

    /// Pauses the calling thread.
    pub fn wait(&self) {
        self.reached.wait();
        self.end.wait();
    }
}

async fn meet(barrier: &Arc<Barrier>) {
    let barrier = Arc::clone(barrier);
    tokio::task::spawn_blocking(move || barrier.wait()).await.unwrap();
}
