//! The meters of this process, as Prometheus reads them.
//!
//! The faces tell what happened; [`Metrics::text`] renders it together with what the store says at that
//! moment, in the OpenMetrics text format. Labels are of fixed sets, so that no caller can make the
//! number of series grow.

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

use crate::domain::{Counts, Status};
use crate::tracker::{DURATION_BUCKETS_S, StoreHealth};

/// The media type of [`Metrics::text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What all names begin with.
const PREFIX: &str = "ait";

/// How a call of a tool ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It did what it was asked.
    Ok,
    /// It was a claim, and there was nothing to claim.
    Empty,
    /// The caller asked for something that is not possible.
    Refused,
    /// The store could not do it, or not for certain.
    Failed,
    /// The caller withdrew it.
    Cancelled,
    /// It met a defect of the tracker.
    Panicked,
}

impl Outcome {
    fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Empty => "empty",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Panicked => "panicked",
        }
    }
}

/// The name and the value of each label.
type Labels<const N: usize> = [(&'static str, &'static str); N];
type Durations = Family<Labels<1>, Histogram, fn() -> Histogram>;

/// The meters of this process. Clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<Meters>);

struct Meters {
    registry: Registry,
    operations: Family<Labels<2>, Counter>,
    durations: Durations,
    in_progress: Gauge,
    sessions: Gauge,
    sessions_opened: Counter,
    sessions_resumed: Counter,
}

/// A call that is being worked on, for as long as this lives.
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
    /// Meters that stand at zero, of a process that starts now.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix(PREFIX);
        let operations = Family::default();
        registry.register(
            "operations",
            "Calls of tools, readings beside them, and how they ended",
            operations.clone(),
        );
        let durations: Durations =
            Family::new_with_constructor(|| Histogram::new(DURATION_BUCKETS_S));
        let help = "How long calls of tools took";
        registry.register_with_unit("operation_duration", help, Unit::Seconds, durations.clone());
        let in_progress = Gauge::default();
        let help = "Calls of tools that are being worked on";
        registry.register("operations_in_progress", help, in_progress.clone());
        let sessions = Gauge::default();
        let help = "Sessions of clients over HTTP that this process holds";
        registry.register("http_sessions", help, sessions.clone());
        let sessions_opened = Counter::default();
        let help = "Sessions over HTTP that began with this process";
        registry.register("http_sessions_opened", help, sessions_opened.clone());
        let sessions_resumed = Counter::default();
        let help = "Sessions over HTTP that this process took up from another one";
        registry.register("http_sessions_resumed", help, sessions_resumed.clone());
        let started: Gauge<f64, AtomicU64> = Gauge::default();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        started.set(now.as_secs_f64());
        registry.register_with_unit(
            "start_time",
            "When this process started",
            Unit::Seconds,
            started,
        );
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The program that runs", build);
        Self(Arc::new(Meters {
            registry,
            operations,
            durations,
            in_progress,
            sessions,
            sessions_opened,
            sessions_resumed,
        }))
    }

    /// Takes note of a call of a tool that has ended.
    pub fn operation(&self, tool: &'static str, outcome: Outcome, elapsed: Duration) {
        let labels = [("tool", tool), ("outcome", outcome.label())];
        self.0.operations.get_or_create(&labels).inc();
        self.0.durations.get_or_create(&[("tool", tool)]).observe(elapsed.as_secs_f64());
    }

    /// Takes note of a call that reached no tool, and so took no time that would say anything.
    pub fn refused(&self, tool: &'static str) {
        let labels = [("tool", tool), ("outcome", Outcome::Refused.label())];
        self.0.operations.get_or_create(&labels).inc();
    }

    /// Takes note that a call is being worked on, until the guard is dropped.
    #[must_use]
    pub fn begin(&self) -> InProgress {
        self.0.in_progress.inc();
        InProgress(self.0.in_progress.clone())
    }

    /// Sets how many sessions over HTTP this process holds.
    pub fn sessions_live(&self, count: usize) {
        self.0.sessions.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Takes note of a session over HTTP that begins.
    pub fn session_opened(&self) {
        self.0.sessions_opened.inc();
    }

    /// Takes note of a session over HTTP that is taken up from another process.
    pub fn session_resumed(&self) {
        self.0.sessions_resumed.inc();
    }

    /// Renders everything, with the state of the store as it is now; `None` for `counts` when the issues
    /// cannot be read.
    ///
    /// # Errors
    ///
    /// None that is known; the encoder's signature allows for them.
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

/// What the store says, as far as it says anything.
fn of_store(counts: Option<&Counts>, health: &StoreHealth) -> Registry {
    let mut registry = Registry::with_prefix(PREFIX);
    if let Some(counts) = counts {
        let issues = Family::<Labels<1>, Gauge>::default();
        for &status in Status::ALL {
            let count = i64::try_from(counts.in_status(status)).unwrap_or(i64::MAX);
            issues.get_or_create(&[("status", status.as_str())]).set(count);
        }
        registry.register("issues", "Issues in each status", issues);
    }
    let sizes = [
        ("store", "The size of the file with the issues", health.snapshot_bytes),
        ("journal", "The size of the log of events", health.journal_bytes),
    ];
    for (name, help, bytes) in sizes {
        if let Some(bytes) = bytes {
            let size = Gauge::<i64>::default();
            size.set(i64::try_from(bytes).unwrap_or(i64::MAX));
            registry.register_with_unit(name, help, Unit::Bytes, size);
        }
    }
    if let Some(syncs) = &health.syncs {
        let help = "How long this process waited for the disk to make changes durable";
        registry.register_with_unit("store_sync_duration", help, Unit::Seconds, syncs.clone());
    }
    registry
}
