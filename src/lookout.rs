//! Looking whether the store has changed, by whichever process.
//!
//! One look in [`LOOK_EVERY`] serves all who wait, and there is none while nobody does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::watch;

/// How often is looked.
pub const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Looks, as long as anybody waits for what it sees.
pub struct Lookout<T> {
    look: Box<dyn Fn() -> BoxFuture<'static, T> + Send + Sync>,
    /// What was seen last; `None` while nobody looks.
    seen: watch::Sender<Option<T>>,
    is_looking: AtomicBool,
}

impl<T: PartialEq + Send + Sync + 'static> Lookout<T> {
    /// One that looks in this way.
    pub fn new(look: impl Fn() -> BoxFuture<'static, T> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            look: Box::new(look),
            seen: watch::Sender::new(None),
            is_looking: AtomicBool::new(false),
        })
    }

    /// Begins to wait, and to look if nobody does.
    pub fn listen(self: &Arc<Self>) -> watch::Receiver<Option<T>> {
        let listener = self.seen.subscribe();
        if !self.is_looking.swap(true, Ordering::SeqCst) {
            tokio::spawn(Arc::clone(self).watch());
        }
        listener
    }

    /// Looks as long as anybody waits.
    async fn watch(self: Arc<Self>) {
        loop {
            let now = Some((self.look)().await);
            self.seen.send_if_modified(|seen| {
                let is_other = *seen != now;
                *seen = now;
                is_other
            });
            tokio::time::sleep(LOOK_EVERY).await;
            if self.seen.receiver_count() == 0 {
                self.seen.send_replace(None);
                self.is_looking.store(false, Ordering::SeqCst);
                // Somebody may have begun to wait just then, and found that it is looked.
                let is_needed = self.seen.receiver_count() > 0;
                if !is_needed || self.is_looking.swap(true, Ordering::SeqCst) {
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use futures::future::FutureExt;

    use super::*;

    #[tokio::test]
    async fn it_looks_only_while_somebody_waits_and_tells_each_change_once() {
        let looks = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&looks);
        let lookout = Lookout::new(move || {
            let count = counted.fetch_add(1, Ordering::SeqCst);
            async move { count / 3 }.boxed()
        });
        tokio::time::sleep(LOOK_EVERY * 3).await;
        assert_eq!(looks.load(Ordering::SeqCst), 0);
        let (mut one, mut other) = (lookout.listen(), lookout.listen());
        for expected in 0..4 {
            for listener in [&mut one, &mut other] {
                listener.changed().await.unwrap();
                assert_eq!(*listener.borrow_and_update(), Some(expected));
            }
        }
        drop((one, other));
        tokio::time::sleep(LOOK_EVERY * 2).await;
        let then = looks.load(Ordering::SeqCst);
        tokio::time::sleep(LOOK_EVERY * 3).await;
        assert_eq!(looks.load(Ordering::SeqCst), then);
        let mut late = lookout.listen();
        late.changed().await.unwrap();
        assert_eq!(looks.load(Ordering::SeqCst), then + 1);
    }
}
