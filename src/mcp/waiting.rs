//! Calls that wait: what ends a wait, and what the client hears meanwhile.

use std::future::pending;
use std::time::Duration;

use rmcp::model::{JsonObject, ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::Value;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// The parameter with the time that a call may wait.
const WAIT_SECONDS: &str = "wait_seconds";
/// How often a client that asked for progress hears of it.
const PROGRESS_EVERY: Duration = Duration::from_secs(15);

/// The client of a call that may wait.
#[derive(Clone, Default)]
pub(super) struct WaitingClient {
    shutdown: CancellationToken,
    progress: Option<(Peer<RoleServer>, ProgressToken)>,
}

impl WaitingClient {
    /// Returns the client of a request. `shutdown` ends its wait.
    pub fn of(context: &RequestContext<RoleServer>, shutdown: CancellationToken) -> Self {
        let token = context.meta.get_progress_token();
        Self { shutdown, progress: token.map(|token| (context.peer.clone(), token)) }
    }

    /// Waits for a time, or until the server ends. Notifies a client that asked for progress.
    pub async fn wait(self, time: Duration) {
        tokio::select! {
            () = sleep(time) => {}
            () = self.shutdown.cancelled() => {}
            () = notify(self.progress, time) => {}
        }
    }
}

/// Notifies a client of the progress of a wait; does not end.
async fn notify(client: Option<(Peer<RoleServer>, ProgressToken)>, time: Duration) {
    let Some((peer, token)) = client else { return pending().await };
    let begun = Instant::now();
    loop {
        sleep(PROGRESS_EVERY).await;
        let progress = ProgressNotificationParam::new(token.clone(), begun.elapsed().as_secs_f64())
            .with_total(time.as_secs_f64())
            .with_message("waiting for an issue");
        if peer.notify_progress(progress).await.is_err() {
            return pending().await;
        }
    }
}

/// Returns true if a call with these arguments may wait.
pub(super) fn may_wait(arguments: &JsonObject) -> bool {
    arguments.get(WAIT_SECONDS).and_then(Value::as_f64).is_some_and(|seconds| seconds > 0.0)
}
