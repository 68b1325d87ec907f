//! The probe for monitoring.

use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::sync::Mutex;

use super::Site;
use crate::domain::Timestamp;
use crate::tracker::{StoreError, Tracker};

/// What the probe remembers between two requests.
pub(super) struct Health {
    started: Instant,
    trial_every: Duration,
    /// When it was last tried to write, and what came of it. Held while it is tried, so that probes
    /// that come at once share one trial.
    last_trial: Mutex<Option<(Instant, Result<(), StoreError>)>>,
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
    store: String,
}

impl Health {
    /// Begins to count the uptime; tries to write at most once in `trial_every`.
    pub fn new(trial_every: Duration) -> Self {
        Self { started: Instant::now(), trial_every, last_trial: Mutex::default() }
    }

    /// Tells whether the store could be written to when that was last tried.
    async fn is_writable(&self, tracker: &Tracker) -> Result<(), StoreError> {
        let mut last = self.last_trial.lock().await;
        if let Some((at, outcome)) = &*last
            && at.elapsed() < self.trial_every
        {
            return outcome.clone();
        }
        let outcome = tracker.try_writing().await;
        *last = Some((Instant::now(), outcome.clone()));
        outcome
    }

    async fn report(&self, tracker: &Tracker) -> Report {
        let counts = tracker.counts().await;
        let issue_count = counts.as_ref().map(|counts| counts.total()).ok();
        let healthy = async {
            counts?;
            tracker.check().await?;
            self.is_writable(tracker).await
        };
        let reason = healthy.await.err().map(|error| error.to_string());
        let vitals = tracker.vitals().await;
        let age = |since: Timestamp| tracker.now().millis_since(since) / 1000;
        Report {
            status: if reason.is_none() { "ok" } else { "degraded" },
            reason,
            issue_count,
            version: env!("CARGO_PKG_VERSION"),
            uptime_seconds: self.started.elapsed().as_secs(),
            last_durable_write: vitals.last_write,
            snapshot_age_seconds: vitals.snapshot_written.map(age),
            store: vitals.name,
        }
    }
}

/// Answers 200 and `"status":"ok"` while the store can be read and could be written to when that was
/// last tried, else 503 and `"status":"degraded"` with a `reason`.
pub(super) async fn probe(State(site): State<Site>) -> Response {
    let report = site.health.report(&site.tracker).await;
    let code =
        if report.reason.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, [(header::CACHE_CONTROL, "no-store")], Json(report)).into_response()
}
