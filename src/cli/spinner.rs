//! A spinner on stderr for operations that take long.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// How long an operation runs before the spinner appears.
const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);

/// Waits for an operation; if it takes long and stderr is a terminal, shows `what` with a spinner.
pub async fn with_spinner<T>(what: &str, work: impl Future<Output = T>) -> T {
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
