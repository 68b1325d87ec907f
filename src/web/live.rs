//! The stream that tells open pages that something has changed: server-sent events, as the HTML standard
//! defines them.
//!
//! A page that is told so loads itself anew and keeps what is still true, so nothing but "now" is told.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::future::FutureExt;
use futures::stream::{self, Stream, StreamExt};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;
use xxhash_rust::xxh3::xxh3_128;

use super::site::Site;
use crate::lookout::Lookout;
use crate::tracker::Tracker;

/// How often a stream says that it is still there.
const BEAT_EVERY: Duration = Duration::from_secs(10);
/// How soon a browser tries again after its stream has ended.
const RETRY: Duration = Duration::from_secs(1);
/// How many streams there may be at a time. The other connections are for agents and pages.
pub(super) const MAX_STREAMS: usize = 1_500;

/// What the streams share.
pub(super) struct Live {
    eye: Eye,
    lookout: Arc<Lookout<Place>>,
    slots: Arc<Semaphore>,
    ending: CancellationToken,
}

/// What sees how the store stands. Clones see the same.
#[derive(Clone)]
struct Eye {
    tracker: Tracker,
    /// Tells places that this process names from those that another one does.
    process: Uuid,
}

/// The name of where the store stands, as far as pages show it: another one after each change.
pub(super) type Place = Arc<str>;

/// How the store stands.
pub(super) struct Standing {
    /// Where.
    pub place: Place,
    /// Why it cannot be changed, or not even read.
    pub trouble: Option<String>,
}

impl Live {
    /// Streams that end with `ending`.
    pub fn new(tracker: Tracker, ending: CancellationToken) -> Self {
        let eye = Eye { tracker, process: Uuid::new_v4() };
        let looking = eye.clone();
        let lookout = Lookout::new(move || {
            let eye = looking.clone();
            async move { eye.standing().await.place }.boxed()
        });
        Self { eye, lookout, slots: Arc::new(Semaphore::new(MAX_STREAMS)), ending }
    }

    /// How the store stands now.
    pub async fn standing(&self) -> Standing {
        self.eye.standing().await
    }
}

impl Eye {
    async fn standing(&self) -> Standing {
        let changes = self.tracker.changes(None).await;
        let (cursor, trouble) = match changes {
            Ok(changes) => (Some(changes.cursor), self.tracker.check().await.err()),
            Err(error) => (None, Some(error)),
        };
        let trouble = trouble.map(|error| error.to_string());
        let name = format!("{} {cursor:?} {trouble:?}", self.process);
        // Hashed, because what is wrong with the store has no place in it.
        Standing { place: format!("{:032x}", xxh3_128(name.as_bytes())).into(), trouble }
    }
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
    let listener = site.live.lookout.listen();
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
