//! Telling a person who waits that something is going on.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// How long nobody needs to be told anything.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);

/// Waits for work, and shows on stderr, where that is a terminal, what is waited for, if it takes long.
pub(super) async fn waiting<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    if let Ok(done) = tokio::time::timeout(PATIENCE, &mut work).await {
        return done;
    }
    let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    let bar = ProgressBar::new_spinner().with_style(style).with_message(what.to_owned());
    bar.enable_steady_tick(TICK);
    let done = work.await;
    bar.finish_and_clear();
    done
}
