//! The health probe and the metrics, for monitoring.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::sync::Mutex;

use super::{WebOptions, WebState};
use ait_domain::Timestamp;
use ait_http::metrics::CONTENT_TYPE;
use ait_tracker::hints;
use ait_tracker::{Probe, StoreError, StoreHealth, StoreId, Tracker};

/// The state of the health probe between requests.
pub(super) struct Health {
    started: Instant,
    options: WebOptions,
    /// Locked during an examination, so that concurrent probes share one test write and a disk that hangs blocks
    /// only one examination.
    last_trial: Arc<Mutex<LastTrial>>,
}

/// The time of the last test write, and its error.
type LastTrial = Option<(Instant, Option<StoreError>)>;

/// The outcome of an examination.
struct Findings {
    issue_count: Option<usize>,
    reason: Option<String>,
    health: StoreHealth,
    store_id: Option<StoreId>,
}

/// The answer of the probe. Unknown numbers, times and sizes are `null`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    issue_count: Option<usize>,
    version: &'static str,
    uptime_seconds: u64,
    last_durable_write: Option<Timestamp>,
    snapshot_age_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_snapshot_seconds: Option<u64>,
    store: Option<String>,
    store_id: Option<String>,
}

impl Health {
    /// Creates a probe; its uptime counts from now.
    pub fn new(options: WebOptions) -> Self {
        Self { started: Instant::now(), options, last_trial: Arc::default() }
    }

    /// Examines the store, for at most `probe_within`.
    async fn report(&self, tracker: &Tracker) -> Report {
        let WebOptions { trial_every, probe_within, .. } = self.options;
        let last_trial = Arc::clone(&self.last_trial);
        let examined = tracker.clone();
        let found = tokio::time::timeout(probe_within, async {
            let mut last_trial = last_trial.lock_owned().await;
            // A separate task, which goes on after the timeout.
            let task = async move { examine(&examined, &mut last_trial, trial_every).await };
            tokio::spawn(task).await.map_err(|panic| format!("the health check panicked: {panic}"))
        });
        let hangs = |_| Err(format!("the store did not answer within {probe_within:?}"));
        let found = found.await.unwrap_or_else(hangs);
        let found = found.unwrap_or_else(|reason| Findings {
            issue_count: None,
            reason: Some(reason),
            health: StoreHealth::default(),
            store_id: None,
        });
        let Findings { issue_count, reason, health, store_id } = found;
        let age = |since: Timestamp| tracker.now().millis_since(since) / 1000;
        Report {
            status: if reason.is_none() { "ok" } else { "degraded" },
            reason,
            issue_count,
            version: env!("CARGO_PKG_VERSION"),
            uptime_seconds: self.started.elapsed().as_secs(),
            last_durable_write: health.last_write,
            snapshot_age_seconds: health.published_at.map(age),
            oldest_snapshot_seconds: health.database.map(|database| database.oldest_snapshot_s),
            store: Some(health.name).filter(|name| !name.is_empty()),
            store_id: store_id.map(|id| id.to_string()),
        }
    }
}

/// Reads from the store, and tries to write unless the last test write was less than `trial_every` ago.
async fn examine(tracker: &Tracker, last_trial: &mut LastTrial, trial_every: Duration) -> Findings {
    let counts = tracker.counts().await;
    let issue_count = counts.as_ref().map(|counts| counts.total()).ok();
    let mut health = tracker.health(Probe::Known).await;
    if health.trouble.is_none() && counts.is_ok() {
        match last_trial {
            Some((at, trouble)) if at.elapsed() < trial_every => health.trouble.clone_from(trouble),
            _ => {
                health = tracker.health(Probe::Trial).await;
                *last_trial = Some((Instant::now(), health.trouble.clone()));
            }
        }
    }
    let trouble = counts.err().or(health.trouble.clone());
    // Warnings do not stop agents, but the operator should know of them.
    let reason =
        trouble.map(|error| hints::for_store(&error, &hints::COMMANDS)).or(health.warning.clone());
    Findings { issue_count, reason, health, store_id: Some(tracker.store_id().await) }
}

/// Answers 200 and `"status":"ok"` if the store is readable, the last test write succeeded and there is no
/// warning. Otherwise, also when the disk hangs, answers 503 and `"status":"degraded"` with a `reason`.
pub(super) async fn probe(State(state): State<WebState>) -> Response {
    let report = state.health.report(&state.tracker).await;
    let code =
        if report.reason.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, [(header::CACHE_CONTROL, "no-store")], Json(report)).into_response()
}

/// Answers with the metrics in the OpenMetrics text format, even if the store is unreadable.
pub(super) async fn metrics(State(state): State<WebState>) -> Response {
    let counts = state.tracker.counts().await.ok();
    let health = state.tracker.health(Probe::Known).await;
    let headers = [(header::CONTENT_TYPE, CONTENT_TYPE), (header::CACHE_CONTROL, "no-store")];
    match state.metrics.text(counts.as_ref(), &health) {
        Ok(text) => (headers, text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
