//! The metrics of this process, for Prometheus.
//!
//! The interfaces record operations. [`Metrics::text`] renders them in the OpenMetrics text format, with the state of
//! the store at that moment. All labels have fixed sets of values, so callers cannot create new time series.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use ait_domain::{Counts, Status, string_enum};
use ait_tracker::{DURATION_BUCKETS_S, StoreHealth};

/// The media type of [`Metrics::text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The prefix of all metric names.
const PREFIX: &str = "ait";

string_enum! {
    /// The outcome of a tool call.
    pub enum CallOutcome {
        /// The call succeeded.
        Ok = "ok",
        /// A claim found no issue.
        Empty = "empty",
        /// The request was invalid, or the rules refused it.
        Refused = "refused",
        /// The store failed, or the outcome is unknown.
        Failed = "failed",
        /// The caller cancelled it.
        Cancelled = "cancelled",
        /// The tool panicked.
        Panicked = "panicked",
    }
}

/// The name and the value of each label.
type Labels<const N: usize> = [(&'static str, &'static str); N];
type Durations = Family<Labels<1>, Histogram, fn() -> Histogram>;

/// The metrics of this process. Clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<Meters>);

struct Meters {
    registry: Registry,
    operations: Family<Labels<2>, Counter>,
    durations: Durations,
    in_progress: Gauge,
    sessions: Gauge,
    sessions_opened: Counter,
}

/// Counts a tool call as in progress until dropped.
#[derive(Debug)]
pub struct InProgress(Gauge);

impl Drop for InProgress {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Creates metrics with all counters at zero, for a process that starts now.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix(PREFIX);
        let operations = Family::default();
        registry.register(
            "operations",
            "Tool calls and resource reads, by outcome",
            operations.clone(),
        );
        let durations: Durations =
            Family::new_with_constructor(|| Histogram::new(DURATION_BUCKETS_S));
        let help = "Duration of tool calls";
        registry.register_with_unit("operation_duration", help, Unit::Seconds, durations.clone());
        let in_progress = Gauge::default();
        let help = "Tool calls in progress";
        registry.register("operations_in_progress", help, in_progress.clone());
        let sessions = Gauge::default();
        let help = "HTTP sessions with subscriptions or an open stream";
        registry.register("http_sessions", help, sessions.clone());
        let sessions_opened = Counter::default();
        let help = "HTTP sessions that clients opened in this process";
        registry.register("http_sessions_opened", help, sessions_opened.clone());
        let started: Gauge<f64, AtomicU64> = Gauge::default();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        started.set(now.as_secs_f64());
        registry.register_with_unit(
            "start_time",
            "Start time of this process",
            Unit::Seconds,
            started,
        );
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "Version of the running program", build);
        Self(Arc::new(Meters {
            registry,
            operations,
            durations,
            in_progress,
            sessions,
            sessions_opened,
        }))
    }

    /// Records a finished tool call, with the time that the tracker took for it; `None` if it may have waited for an
    /// issue.
    pub fn operation(&self, tool: &'static str, outcome: CallOutcome, elapsed: Option<Duration>) {
        let labels = [("tool", tool), ("outcome", outcome.as_str())];
        self.0.operations.get_or_create(&labels).inc();
        if let Some(elapsed) = elapsed {
            self.0.durations.get_or_create(&[("tool", tool)]).observe(elapsed.as_secs_f64());
        }
    }

    /// Records a refused call that reached no tool. Its duration would say nothing.
    pub fn refused(&self, tool: &'static str) {
        let labels = [("tool", tool), ("outcome", CallOutcome::Refused.as_str())];
        self.0.operations.get_or_create(&labels).inc();
    }

    /// Counts a call as in progress until the guard is dropped.
    #[must_use]
    pub fn begin(&self) -> InProgress {
        self.0.in_progress.inc();
        InProgress(self.0.in_progress.clone())
    }

    /// Sets the number of HTTP sessions with subscriptions or an open stream.
    pub fn sessions_listening(&self, count: usize) {
        self.0.sessions.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Records a new HTTP session.
    pub fn session_opened(&self) {
        self.0.sessions_opened.inc();
    }

    /// Renders all metrics, with the current state of the store. Pass `None` for `counts` if the issues cannot be read.
    ///
    /// # Errors
    ///
    /// None known; the encoder's signature allows them.
    pub fn text(
        &self,
        counts: Option<&Counts>,
        health: &StoreHealth,
    ) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode_registry(&mut text, &self.0.registry)?;
        encode_registry(&mut text, &of_store(counts, health))?;
        encode_eof(&mut text)?;
        Ok(text)
    }
}

/// Collects the metrics of the store, as far as they are known.
fn of_store(counts: Option<&Counts>, health: &StoreHealth) -> Registry {
    let mut registry = Registry::with_prefix(PREFIX);
    if let Some(counts) = counts {
        let issues = Family::<Labels<1>, Gauge>::default();
        for &status in Status::OF_WORK {
            let count = i64::try_from(counts.in_status(status)).unwrap_or(i64::MAX);
            issues.get_or_create(&[("status", status.as_str())]).set(count);
        }
        registry.register("issues", "Issues in each status", issues);
    }
    let sizes = [
        ("store", "Size of the file with the issues", health.published_bytes),
        ("journal", "Size of the event log", health.log_bytes),
    ];
    for (name, help, bytes) in sizes {
        if let Some(bytes) = bytes {
            let size = Gauge::<i64>::default();
            size.set(i64::try_from(bytes).unwrap_or(i64::MAX));
            registry.register_with_unit(name, help, Unit::Bytes, size);
        }
    }
    if let Some(syncs) = &health.syncs {
        let help = "Time this process waited for changes to become durable";
        registry.register_with_unit("store_sync_duration", help, Unit::Seconds, syncs.clone());
    }
    registry
}
