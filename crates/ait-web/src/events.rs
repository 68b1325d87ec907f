//! The stream of server-sent events (HTML standard, section 9.2) that tells open pages when something changes.
//!
//! An event carries only the version of the store. A page that shows another version reloads itself and keeps
//! what has not changed.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream::{self, Stream, StreamExt};
use tokio::sync::{Semaphore, watch};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use xxhash_rust::xxh3::xxh3_128;

use super::WebState;
use ait_tracker::hints;
use ait_tracker::{EventPosition, Probe, StoreError, Tracker};

/// How often an idle stream sends a heartbeat.
const BEAT_EVERY: Duration = Duration::from_secs(10);
/// How long a browser waits before it reconnects.
const RETRY: Duration = Duration::from_secs(1);
/// The most concurrent streams. The remaining connections are left for agents and pages.
const MAX_STREAMS: usize = 1_500;
/// How long changes are collected before the next event.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// How often the health of the store is polled, because the store does not announce trouble.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// Names the state of the store as pages show it: it differs after each change, and is the same in all processes.
pub(super) type PageVersion = Arc<str>;

/// Watches the store for all streams.
pub(super) struct EventStreams {
    tracker: Tracker,
    /// The version that the streams announce; `None` while there are no streams.
    version: watch::Sender<Option<PageVersion>>,
    is_watching: AtomicBool,
    slots: Arc<Semaphore>,
    shutdown: CancellationToken,
}

/// The state of the store at one moment.
pub(super) struct StoreProbe {
    pub version: PageVersion,
    /// Why the store cannot be changed or read, or what needs attention.
    pub trouble: Option<String>,
    /// What is damaged.
    pub damage: Option<StoreError>,
}

impl EventStreams {
    /// Creates streams that end with `shutdown`.
    pub fn new(tracker: Tracker, shutdown: CancellationToken) -> Self {
        Self {
            tracker,
            version: watch::Sender::new(None),
            is_watching: AtomicBool::new(false),
            slots: Arc::new(Semaphore::new(MAX_STREAMS)),
            shutdown,
        }
    }

    /// Returns the current state of the store.
    pub async fn probe(&self) -> StoreProbe {
        let trouble = self.trouble().await;
        // Read after the health check, which has also read the changes of other processes.
        let position = *self.tracker.watch().borrow();
        let damage = self.tracker.damage().await;
        StoreProbe { version: version(position, trouble.as_deref()), trouble, damage }
    }

    async fn trouble_after(&self, pause: Duration) -> Option<String> {
        sleep(pause).await;
        self.trouble().await
    }

    async fn trouble(&self) -> Option<String> {
        let health = self.tracker.health(Probe::Known).await;
        let trouble = health.trouble.map(|error| hints::for_store(&error, &hints::COMMANDS));
        trouble.or(health.warning)
    }

    /// Subscribes to versions, and starts the watching task unless it runs.
    fn subscribe(self: &Arc<Self>) -> watch::Receiver<Option<PageVersion>> {
        let subscription = self.version.subscribe();
        if !self.is_watching.swap(true, Ordering::SeqCst) {
            tokio::spawn(Arc::clone(self).watch_store());
        }
        subscription
    }

    /// Publishes the version of the store for as long as there are subscriptions.
    async fn watch_store(self: Arc<Self>) {
        let mut newest = self.tracker.watch();
        let mut check = Box::pin(self.trouble_after(Duration::ZERO));
        let mut trouble = None;
        loop {
            tokio::select! {
                // Concurrent, so that a disk that hangs does not hold up the news of changes.
                found = &mut check => {
                    trouble = Some(found);
                    check.set(self.trouble_after(CHECK_EVERY));
                }
                _ = newest.changed() => {}
            }
            if let Some(trouble) = &trouble {
                let now = Some(version(*newest.borrow_and_update(), trouble.as_deref()));
                self.version.send_if_modified(|published| {
                    let is_new = *published != now;
                    *published = now;
                    is_new
                });
            }
            sleep(DEBOUNCE).await;
            if self.version.receiver_count() == 0 {
                self.version.send_replace(None);
                self.is_watching.store(false, Ordering::SeqCst);
                // A stream may have subscribed in between, and seen that this task still ran.
                let is_needed = self.version.receiver_count() > 0;
                if !is_needed || self.is_watching.swap(true, Ordering::SeqCst) {
                    return;
                }
            }
        }
    }
}

fn version(position: EventPosition, trouble: Option<&str>) -> PageVersion {
    // Hashed, because the description of the trouble is long and may contain line breaks.
    let text = format!("{position} {trouble:?}");
    format!("{:032x}", xxh3_128(text.as_bytes())).into()
}

/// Answers with an event stream: `hello` at once, `change` after each change, and `beat` after ten seconds of
/// silence. The data of `hello` and `change` is the version of the store. Answers 503 when there are too many
/// streams.
pub(super) async fn events(State(state): State<WebState>) -> Response {
    let Ok(slot) = Arc::clone(&state.streams.slots).try_acquire_owned() else {
        let text = format!("all {MAX_STREAMS} event streams are in use; try again later\n");
        return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "30")], text)
            .into_response();
    };
    let subscription = state.streams.subscribe();
    let shutdown = state.streams.shutdown.clone().cancelled_owned();
    let stream = stream_of(subscription).take_until(shutdown).map(move |event| {
        // The stream owns its slot until it is dropped.
        let _slot = &slot;
        event
    });
    // Browsers ignore events without data.
    let beat =
        KeepAlive::new().interval(BEAT_EVERY).event(Event::default().event("beat").data("-"));
    let headers = [(header::CACHE_CONTROL, "no-store"), (X_ACCEL_BUFFERING, "no")];
    (headers, Sse::new(stream).keep_alive(beat)).into_response()
}

/// Tells nginx to forward each event at once.
const X_ACCEL_BUFFERING: header::HeaderName = header::HeaderName::from_static("x-accel-buffering");

fn stream_of(
    subscription: watch::Receiver<Option<PageVersion>>,
) -> impl Stream<Item = Result<Event, Infallible>> + Send + 'static {
    stream::unfold((subscription, "hello"), |(mut subscription, name)| async move {
        let version = match name {
            // Waits only if this is the first stream.
            "hello" => subscription.wait_for(Option::is_some).await.ok()?.clone(),
            _ => {
                subscription.changed().await.ok()?;
                subscription.borrow_and_update().clone()
            }
        };
        let event = Event::default().event(name).retry(RETRY).data(version.unwrap_or_default());
        Some((Ok(event), (subscription, "change")))
    })
}
