//! The probe for monitoring.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::sync::Mutex;

use super::WebOptions;
use super::site::Site;
use crate::domain::Timestamp;
use crate::tracker::{Probe, StoreError, StoreHealth, StoreId, Tracker};

/// What the probe remembers between two requests.
pub(super) struct Health {
    started: Instant,
    options: WebOptions,
    /// Held while the store is examined, so that probes that come at once share one trial, and that a
    /// disk that hangs keeps one examination waiting and not one for each probe.
    last_trial: Arc<Mutex<LastTrial>>,
}

/// When it was last tried to write, and what was wrong then.
type LastTrial = Option<(Instant, Option<StoreError>)>;

/// What there is to tell of a store.
struct Findings {
    issue_count: Option<usize>,
    reason: Option<String>,
    health: StoreHealth,
    store_id: Option<StoreId>,
}

/// What the probe answers. Times and sizes that cannot be told are `null`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    issue_count: Option<usize>,
    version: &'static str,
    uptime_seconds: u64,
    last_durable_write: Option<Timestamp>,
    snapshot_age_seconds: Option<u64>,
    store: Option<String>,
    store_id: Option<String>,
}

impl Health {
    /// Begins to count the uptime.
    pub fn new(options: WebOptions) -> Self {
        Self { started: Instant::now(), options, last_trial: Arc::default() }
    }

    /// Tells how the store is, within the time that probes have.
    async fn report(&self, tracker: &Tracker) -> Report {
        let WebOptions { trial_every, probe_within, .. } = self.options;
        let (last_trial, examined) = (Arc::clone(&self.last_trial), tracker.clone());
        let found = tokio::time::timeout(probe_within, async {
            let mut last_trial = last_trial.lock_owned().await;
            // A task of its own, which goes on when nobody waits for it any more.
            let task = async move { examine(&examined, &mut last_trial, trial_every).await };
            tokio::spawn(task).await.map_err(|panic| format!("a defect of the tracker: {panic}"))
        });
        let hangs = |_| Err(format!("the disk did not answer within {probe_within:?}"));
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
            snapshot_age_seconds: health.snapshot_written.map(age),
            store: Some(health.name).filter(|name| !name.is_empty()),
            store_id: store_id.map(|id| id.to_string()),
        }
    }
}

/// Looks at the store, and tries to write unless that was tried less than `trial_every` ago.
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
    // Agents may go on while people have something to look after; a probe is there to tell them.
    let reason = trouble.map(|error| error.to_string()).or(health.warning.clone());
    Findings { issue_count, reason, health, store_id: Some(tracker.store_id().await) }
}

/// Answers 200 and `"status":"ok"` while the store can be read, could be written to when that was last tried,
/// and needs nobody; else 503 and `"status":"degraded"` with a `reason`. So it does when the disk hangs.
pub(super) async fn probe(State(site): State<Site>) -> Response {
    let report = site.health.report(&site.tracker).await;
    let code =
        if report.reason.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, [(header::CACHE_CONTROL, "no-store")], Json(report)).into_response()
}
