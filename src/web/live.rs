//! The stream that tells open pages that something has changed: server-sent events, as the HTML standard
//! defines them.
//!
//! A page that is told so loads itself anew and keeps what is still true, so nothing but "now" is told.

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

use super::site::Site;
use crate::tracker::{Position, Probe, Tracker};

/// How often a stream says that it is still there.
const BEAT_EVERY: Duration = Duration::from_secs(10);
/// How soon a browser tries again after its stream has ended.
const RETRY: Duration = Duration::from_secs(1);
/// How many streams there may be at a time. The other connections are for agents and pages.
pub(super) const MAX_STREAMS: usize = 1_500;
/// How long changes are gathered before pages are told again.
const GATHER: Duration = Duration::from_millis(100);
/// How often the store is asked for trouble, of which it does not tell by itself.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// What the streams share.
pub(super) struct Live {
    tracker: Tracker,
    /// The place that the streams tell of; `None` while nobody looks.
    seen: watch::Sender<Option<Place>>,
    is_looking: AtomicBool,
    slots: Arc<Semaphore>,
    ending: CancellationToken,
}

/// The name of where the store stands, as far as pages show it: another one after each change, and the same in
/// every process.
pub(super) type Place = Arc<str>;

/// How the store stands.
pub(super) struct Standing {
    /// Where.
    pub place: Place,
    /// Why it cannot be changed, or not even read, or what somebody has to look after.
    pub trouble: Option<String>,
}

impl Live {
    /// Streams that end with `ending`.
    pub fn new(tracker: Tracker, ending: CancellationToken) -> Self {
        Self {
            tracker,
            seen: watch::Sender::new(None),
            is_looking: AtomicBool::new(false),
            slots: Arc::new(Semaphore::new(MAX_STREAMS)),
            ending,
        }
    }

    /// How the store stands now.
    pub async fn standing(&self) -> Standing {
        let trouble = self.trouble().await;
        // Later, because that look has also seen what other processes did.
        let position = *self.tracker.watch().borrow();
        Standing { place: place(position, trouble.as_deref()), trouble }
    }

    async fn trouble_in(&self, pause: Duration) -> Option<String> {
        sleep(pause).await;
        self.trouble().await
    }

    async fn trouble(&self) -> Option<String> {
        let health = self.tracker.health(Probe::Known).await;
        health.trouble.map(|error| error.to_string()).or(health.warning)
    }

    /// Begins to listen, and to look if nobody does.
    fn listen(self: &Arc<Self>) -> watch::Receiver<Option<Place>> {
        let listener = self.seen.subscribe();
        if !self.is_looking.swap(true, Ordering::SeqCst) {
            tokio::spawn(Arc::clone(self).look());
        }
        listener
    }

    /// Looks where the store stands for as long as anybody listens.
    async fn look(self: Arc<Self>) {
        let mut newest = self.tracker.watch();
        let mut check = Box::pin(self.trouble_in(Duration::ZERO));
        let mut trouble = None;
        loop {
            tokio::select! {
                // A disk that hangs keeps nobody from being told of what was seen.
                found = &mut check => {
                    trouble = Some(found);
                    check.set(self.trouble_in(CHECK_EVERY));
                }
                _ = newest.changed() => {}
            }
            if let Some(trouble) = &trouble {
                let now = Some(place(*newest.borrow_and_update(), trouble.as_deref()));
                self.seen.send_if_modified(|seen| {
                    let is_other = *seen != now;
                    *seen = now;
                    is_other
                });
            }
            sleep(GATHER).await;
            if self.seen.receiver_count() == 0 {
                self.seen.send_replace(None);
                self.is_looking.store(false, Ordering::SeqCst);
                // Somebody may have begun to listen just then, and found that it is looked.
                let is_needed = self.seen.receiver_count() > 0;
                if !is_needed || self.is_looking.swap(true, Ordering::SeqCst) {
                    return;
                }
            }
        }
    }
}

fn place(position: Position, trouble: Option<&str>) -> Place {
    // Hashed, because what is wrong with the store has no room in a name.
    let name = format!("{position} {trouble:?}");
    format!("{:032x}", xxh3_128(name.as_bytes())).into()
}

/// Answers with a stream of events: `hello` at once and `change` when anything has changed, both with the
/// place that pages made now have, and `beat` when nothing was said for ten seconds. 503 when there are too
/// many streams.
pub(super) async fn events(State(site): State<Site>) -> Response {
    let Ok(slot) = Arc::clone(&site.live.slots).try_acquire_owned() else {
        let text = format!("there are {MAX_STREAMS} live streams already; try again later\n");
        return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "30")], text)
            .into_response();
    };
    let listener = site.live.listen();
    let ending = site.live.ending.clone().cancelled_owned();
    let stream = stream_of(listener).take_until(ending).map(move |event| {
        // The slot is taken for as long as the stream is there.
        let _slot = &slot;
        event
    });
    // One without data is none for a browser.
    let beat =
        KeepAlive::new().interval(BEAT_EVERY).event(Event::default().event("beat").data("-"));
    let headers = [(header::CACHE_CONTROL, "no-store"), (X_ACCEL_BUFFERING, "no")];
    (headers, Sse::new(stream).keep_alive(beat)).into_response()
}

/// Asks nginx to pass each event on at once.
const X_ACCEL_BUFFERING: header::HeaderName = header::HeaderName::from_static("x-accel-buffering");

fn stream_of(
    listener: watch::Receiver<Option<Place>>,
) -> impl Stream<Item = Result<Event, Infallible>> + Send + 'static {
    let begin = (listener, "hello");
    stream::unfold(begin, |(mut listener, name)| async move {
        // The first is known already, unless nobody has looked until now.
        let place = match name {
            "hello" => listener.wait_for(Option::is_some).await.ok()?.clone(),
            _ => {
                listener.changed().await.ok()?;
                listener.borrow_and_update().clone()
            }
        };
        let event = Event::default().event(name).retry(RETRY).data(place.unwrap_or_default());
        Some((Ok(event), (listener, "change")))
    })
}
