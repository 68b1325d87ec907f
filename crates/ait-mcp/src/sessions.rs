//! The sessions of clients up to revision 2025-11-25.
//!
//! A session id is `STORE.RANDOM`: the id of the store and 128 random bits, both in hexadecimal. That is all a session
//! needs, so every process of the store accepts the sessions of the others, and nothing is stored. A process remembers
//! only the sessions that `DELETE` ended, requests in flight, what clients subscribed to, and what the clients of the
//! sessions that it began can be asked for. Claims live with the session that made them. An id is no secret: a client
//! that can guess one could also open a session of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use indexmap::{IndexMap, IndexSet};
use rmcp::model::{ClientResult, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerRequest};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;
use xxhash_rust::xxh3::xxh3_64;

use super::asking::Capabilities;
use super::subscriptions::Subscriptions;
use ait_domain::ClientId;
use ait_http::metrics::Metrics;
use ait_tracker::{ConnectionGuard, StoreId, Tracker};

/// How many ended sessions are remembered.
const MAX_ENDED: usize = 16_384;
/// How many questions to a client may be open.
const MAX_QUESTIONS: usize = 16;
/// How many sessions may have subscriptions; sessions with an open stream are never dropped.
const MAX_LISTENING: usize = 1_024;

/// The sessions as this process knows them.
pub(super) struct Sessions {
    store: StoreId,
    tracker: Tracker,
    metrics: Metrics,
    state: Mutex<SessionTable>,
}

#[derive(Default)]
struct SessionTable {
    /// Oldest first.
    ended: IndexSet<Key>,
    /// What the clients of sessions can be asked for, oldest first.
    capabilities: IndexMap<Key, Capabilities>,
    /// The sessions with subscriptions or open streams, oldest first.
    listening: IndexMap<Key, Listening>,
    in_flight: HashMap<u64, Request>,
    /// The last number of a request or stream.
    last_number: u64,
}

struct Request {
    session: Key,
    id: RequestId,
    cancelled: CancellationToken,
}

/// The random part of a session id.
type Key = u128;

#[derive(Default)]
struct Listening {
    subscriptions: Arc<Subscriptions>,
    /// The numbers of the open streams, in the order in which they were opened, with the way to send a request.
    streams: Vec<(u64, UnboundedSender<ServerJsonRpcMessage>)>,
    /// The requests that wait for a response.
    questions: HashMap<RequestId, oneshot::Sender<ClientResult>>,
    ended: CancellationToken,
}

impl Sessions {
    pub fn new(store: StoreId, tracker: Tracker, metrics: Metrics) -> Self {
        Self { store, tracker, metrics, state: Mutex::default() }
    }

    /// Makes the id of a new session, whose client can be asked for some things.
    pub fn begin(&self, capabilities: Capabilities) -> String {
        self.metrics.session_opened();
        let id = Uuid::new_v4();
        if capabilities.forms || capabilities.sampling {
            let known = &mut self.state().capabilities;
            known.insert(id.as_u128(), capabilities);
            if known.len() > MAX_ENDED {
                known.shift_remove_index(0);
            }
        }
        format!("{}.{}", self.store, id.simple())
    }

    /// Returns the session with this id; `None` if it ended here, belongs to another store, or is no session id.
    pub fn find(self: &Arc<Self>, id: &str) -> Option<McpSession> {
        let (store, random) = id.split_once('.')?;
        let is_random = random.len() == 32
            && random.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if store.parse() != Ok(self.store) || !is_random {
            return None;
        }
        let key = u128::from_str_radix(random, 16).ok()?;
        let session = McpSession { sessions: Arc::clone(self), key };
        (!session.has_ended()).then_some(session)
    }

    fn state(&self) -> MutexGuard<'_, SessionTable> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds a session, and forgets the oldest of too many. Returns false if it was there.
fn remember(sessions: &mut IndexSet<Key>, key: Key) -> bool {
    let is_new = sessions.insert(key);
    if sessions.len() > MAX_ENDED {
        sessions.shift_remove_index(0);
    }
    is_new
}

impl SessionTable {
    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    fn listening(&mut self, key: Key) -> &mut Listening {
        if !self.listening.contains_key(&key) && self.listening.len() >= MAX_LISTENING {
            let idle = self.listening.values().position(|session| session.streams.is_empty());
            idle.map(|oldest| self.listening.shift_remove_index(oldest));
        }
        self.listening.entry(key).or_default()
    }
}

/// One session.
#[derive(Clone)]
pub(crate) struct McpSession {
    sessions: Arc<Sessions>,
    key: Key,
}

impl McpSession {
    /// Returns the client whose claims live with the session.
    pub fn client(&self) -> ClientId {
        ClientId::new(&format!("session-{:016x}", xxh3_64(&self.key.to_be_bytes())))
    }

    /// Records that the client is connected, until the result is dropped.
    fn connect(&self) -> ConnectionGuard {
        self.sessions.tracker.connect(self.client())
    }

    /// Returns true if a `DELETE` ended the session.
    pub(super) fn has_ended(&self) -> bool {
        self.sessions.state().ended.contains(&self.key)
    }

    /// Ends the session, with its requests in flight and its streams. Returns false if it had ended before.
    pub(super) fn end(&self) -> bool {
        let mut state = self.sessions.state();
        if !remember(&mut state.ended, self.key) {
            return false;
        }
        if let Some(listening) = state.listening.shift_remove(&self.key) {
            listening.ended.cancel();
        }
        let in_flight = state.in_flight.values().filter(|request| request.session == self.key);
        in_flight.for_each(|request| request.cancelled.cancel());
        self.sessions.metrics.sessions_listening(state.listening.len());
        true
    }

    /// Records for all processes that the session ended. Its claims lapse even if this process is killed afterwards.
    pub(super) async fn record_end(&self) {
        self.sessions.tracker.end_client(self.client()).await;
    }

    /// Registers a request until the result is dropped.
    pub(super) fn begin_request(&self, id: RequestId) -> InFlight {
        let cancelled = CancellationToken::new();
        let mut state = self.sessions.state();
        if state.ended.contains(&self.key) {
            cancelled.cancel();
        }
        let number = state.next_number();
        let request = Request { session: self.key, id, cancelled: cancelled.clone() };
        state.in_flight.insert(number, request);
        let sessions = Arc::clone(&self.sessions);
        let _connection = self.connect();
        InFlight { sessions, number, cancelled, _connection }
    }

    /// Cancels the requests in flight with this id.
    pub(super) fn cancel_requests(&self, id: &RequestId) {
        let state = self.sessions.state();
        let requests = state.in_flight.values();
        let requests = requests.filter(|request| request.session == self.key && request.id == *id);
        requests.for_each(|request| request.cancelled.cancel());
    }

    /// Returns what the client subscribed to.
    pub fn subscriptions(&self) -> Arc<Subscriptions> {
        let mut state = self.sessions.state();
        let subscriptions = Arc::clone(&state.listening(self.key).subscriptions);
        self.sessions.metrics.sessions_listening(state.listening.len());
        subscriptions
    }

    /// Registers a stream of notifications until it is dropped. Also returns the requests for it.
    pub(super) fn open_stream(&self) -> (OpenStream, UnboundedReceiver<ServerJsonRpcMessage>) {
        let mut state = self.sessions.state();
        let number = state.next_number();
        let (sender, requests) = unbounded();
        let listening = state.listening(self.key);
        listening.streams.push((number, sender));
        let subscriptions = Arc::clone(&listening.subscriptions);
        let ended = listening.ended.clone();
        self.sessions.metrics.sessions_listening(state.listening.len());
        let session = self.clone();
        let _connection = self.connect();
        (OpenStream { session, number, subscriptions, ended, _connection }, requests)
    }
}

impl McpSession {
    /// Returns what the client can be asked for, as far as this process knows.
    pub fn capabilities(&self) -> Capabilities {
        self.sessions.state().capabilities.get(&self.key).copied().unwrap_or_default()
    }

    /// Returns true if a question can reach the client.
    pub fn is_listening(&self) -> bool {
        let state = self.sessions.state();
        state.listening.get(&self.key).is_some_and(|at| !at.streams.is_empty())
    }

    /// Sends a request on the newest stream. Returns its response; `None` if there is none.
    pub async fn ask(&self, request: ServerRequest) -> Option<ClientResult> {
        let (sender, response) = oneshot::channel();
        {
            let mut state = self.sessions.state();
            let id = RequestId::String(format!("ask-{}", state.next_number()).into());
            let session = state.listening.get_mut(&self.key)?;
            session.questions.retain(|_, question| !question.is_closed());
            if session.questions.len() >= MAX_QUESTIONS {
                return None;
            }
            let (_, stream) = session.streams.last()?;
            stream.unbounded_send(JsonRpcMessage::request(request, id.clone())).ok()?;
            session.questions.insert(id, sender);
        }
        response.await.ok()
    }

    /// Takes the response to a request; `None` for an error.
    pub(super) fn respond(&self, id: &RequestId, result: Option<ClientResult>) {
        let mut state = self.sessions.state();
        let session = state.listening.get_mut(&self.key);
        let question = session.and_then(|session| session.questions.remove(id));
        if let (Some(question), Some(result)) = (question, result) {
            // The call may have ended.
            let _unread = question.send(result);
        }
    }
}

impl Listening {
    fn is_newest(&self, stream: u64) -> bool {
        self.streams.last().is_some_and(|(number, _)| *number == stream)
    }
}

/// A request in flight.
pub(super) struct InFlight {
    sessions: Arc<Sessions>,
    number: u64,
    /// Cancelled by the client, or by the end of the session.
    pub cancelled: CancellationToken,
    _connection: ConnectionGuard,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.sessions.state().in_flight.remove(&self.number);
    }
}

/// An open stream of notifications.
pub(super) struct OpenStream {
    session: McpSession,
    number: u64,
    pub subscriptions: Arc<Subscriptions>,
    /// Cancelled at the end of the session.
    pub ended: CancellationToken,
    _connection: ConnectionGuard,
}

impl OpenStream {
    /// Returns true if this is the stream that the session opened last, the only one that gets notifications.
    ///
    /// Older ones stay open and silent: clients that keep several streams would reopen each that ends, for ever.
    pub fn is_newest(&self) -> bool {
        let state = self.session.sessions.state();
        let listening = state.listening.get(&self.session.key);
        listening.is_some_and(|session| session.is_newest(self.number))
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut state = self.session.sessions.state();
        let Some(listening) = state.listening.get_mut(&self.session.key) else { return };
        listening.streams.retain(|(number, _)| *number != self.number);
        if listening.streams.is_empty() && listening.subscriptions.is_empty() {
            state.listening.shift_remove(&self.session.key);
        }
        self.session.sessions.metrics.sessions_listening(state.listening.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ait_store::testing::TestStore;

    const STORE: &str = "00112233445566778899aabbccddeeff";

    fn sessions() -> Arc<Sessions> {
        sessions_of(STORE.parse().unwrap())
    }

    fn sessions_of(store: StoreId) -> Arc<Sessions> {
        let tracker = Tracker::new(Arc::new(TestStore::default()));
        Arc::new(Sessions::new(store, tracker, Metrics::new()))
    }

    #[test]
    fn session_ids_are_valid_in_all_processes_of_one_store() {
        let id = sessions().begin(Capabilities::default());
        assert!(id.bytes().all(|byte| byte.is_ascii_graphic()), "{id}");
        assert!(sessions().find(&id).is_some());
        assert_ne!(sessions().begin(Capabilities::default()), id);
        let other = STORE.replace("00", "01").parse().unwrap();
        assert!(sessions_of(other).find(&id).is_none());
        for text in ["", "x", STORE, &id[1..], &id[..64], &format!("{id}.x"), &id.to_uppercase()] {
            assert!(sessions().find(text).is_none(), "{text}");
        }
    }

    #[test]
    fn only_the_most_recently_ended_sessions_are_remembered() {
        let sessions = sessions();
        let ids: Vec<_> =
            (0..=MAX_ENDED).map(|_| sessions.begin(Capabilities::default())).collect();
        for id in &ids {
            let session = sessions.find(id).unwrap();
            assert!(session.end() && !session.end());
            assert!(sessions.find(id).is_none());
        }
        assert!(sessions.find(&ids[0]).is_some());
        assert!(sessions.find(&ids[1]).is_none());
        assert_eq!(sessions.state().ended.len(), MAX_ENDED);
    }

    #[test]
    fn ending_a_session_cancels_its_requests() {
        let sessions = sessions();
        let session = sessions.find(&sessions.begin(Capabilities::default())).unwrap();
        let other = sessions.find(&sessions.begin(Capabilities::default())).unwrap();
        let id = RequestId::Number(1);
        let requests = [(); 2].map(|()| session.begin_request(id.clone()));
        let unrelated = other.begin_request(id.clone());
        session.end();
        assert!(requests.iter().all(|request| request.cancelled.is_cancelled()));
        assert!(session.begin_request(id.clone()).cancelled.is_cancelled());
        other.cancel_requests(&RequestId::Number(2));
        assert!(!unrelated.cancelled.is_cancelled());
        other.cancel_requests(&id);
        assert!(unrelated.cancelled.is_cancelled());
        drop((requests, unrelated));
        assert!(sessions.state().in_flight.is_empty());
    }

    #[test]
    fn idle_sessions_with_subscriptions_are_bounded() {
        let sessions = sessions();
        let session = || sessions.find(&sessions.begin(Capabilities::default())).unwrap();
        let streaming = session();
        let idle = session();
        let stream = streaming.open_stream().0;
        idle.subscriptions();
        for _ in 0..MAX_LISTENING {
            session().subscriptions();
        }
        assert_eq!(sessions.state().listening.len(), MAX_LISTENING);
        assert!(sessions.state().listening.contains_key(&streaming.key));
        assert!(!sessions.state().listening.contains_key(&idle.key));
        drop(stream);
        assert!(!sessions.state().listening.contains_key(&streaming.key));
    }

    #[test]
    fn the_newest_open_stream_of_a_session_gets_the_notifications() {
        let sessions = sessions();
        let session = sessions.find(&sessions.begin(Capabilities::default())).unwrap();
        let first = session.open_stream().0;
        let second = session.open_stream().0;
        assert!(!first.is_newest() && second.is_newest());
        drop(second);
        assert!(first.is_newest());
        session.end();
        assert!(first.ended.is_cancelled() && !first.is_newest());
    }
}
