//! The sessions of clients up to revision 2025-11-25.
//!
//! A session lives in memory while it is used. Its name says everything that is needed to take it up
//! again ([`session_id`]), so one that made room for others, or that another process began, is served as if
//! nothing had happened. Nothing about it is stored: that `DELETE` has ended it, only this process remembers.

use std::cell::RefCell;
use std::iter;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::stream::{self, Stream, StreamExt};
use rmcp::model::{ClientJsonRpcMessage, InitializeRequestParams, ServerJsonRpcMessage};
use rmcp::transport::WorkerTransport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionHandle, LocalSessionManagerError, LocalSessionWorker, SessionConfig, SessionError,
    create_local_session,
};
use rmcp::transport::streamable_http_server::session::{
    RestoreOutcome, ServerSseMessage, SessionId, SessionManager, SessionState, SessionStore,
    SessionStoreError,
};
use tokio::sync::mpsc::Receiver;
use tokio_util::sync::CancellationToken;

use super::caller::Keepable;
use super::live::{Live, Session};
use super::session_id;
use crate::mcp::McpServer;
use crate::metrics::Metrics;
use crate::tracker::StoreId;

tokio::task_local! {
    /// What the client says of itself in the `initialize` that is being served.
    ///
    /// rmcp asks for the name of a session before it shows the message that begins it.
    pub(super) static INTRODUCTION: Option<InitializeRequestParams>;

    /// What keeps the sessions in memory that the request needs which is being served.
    ///
    /// rmcp asks for a session several times in the course of one request. One that made room in
    /// between, such as right after it was taken up again, would not be there any more.
    pub(super) static NEEDED: RefCell<Vec<Arc<()>>>;
}

/// How soon a second stream of news does not end the first.
const BETWEEN_NEWS: Duration = Duration::from_secs(5);

/// The sessions of this process.
pub(super) struct Sessions {
    store: StoreId,
    metrics: Metrics,
    capacity: usize,
    /// Ends the streams that only wait for news.
    ending: CancellationToken,
    live: Mutex<Live>,
}

impl Sessions {
    pub async fn new(server: &McpServer, capacity: usize, ending: CancellationToken) -> Self {
        let (store, metrics) = (server.tracker().store_id().await, server.metrics().clone());
        Self { store, metrics, capacity, ending, live: Mutex::default() }
    }

    /// What the client of a session said when it began; `None` when the session is of another store, or was
    /// ended.
    pub fn client_of(&self, id: &str) -> Option<InitializeRequestParams> {
        let client = session_id::client_of(id, self.store)?;
        (!self.live().has_ended(id)).then_some(client)
    }

    /// Tells whether a session is in memory and was begun, and keeps it there while this request is
    /// served.
    pub fn is_ready(&self, id: &str) -> bool {
        let id = SessionId::from(id);
        let _kept = self.used(&id);
        self.live().sessions.get(&id).is_some_and(|session| session.is_ready)
    }

    /// What is cancelled when a session is ended; `None` when it was.
    pub fn end_of(&self, id: &str) -> Option<CancellationToken> {
        self.live().sessions.get(id).map(|session| session.end.clone())
    }

    /// What can be kept so that a session stays in memory while its client watches something.
    pub fn keepable(&self, id: &str) -> Option<Keepable> {
        self.live().sessions.get(id).map(|session| Keepable(Arc::downgrade(&session.watches)))
    }

    /// Ends a session for good, as far as this process is asked.
    pub async fn end(&self, id: &str) {
        if let Some(session) = self.take_out(|live| live.end(id)) {
            session.end.cancel();
            // A worker that has ended by itself is closed, too.
            let _closed = session.handle.close().await;
        }
    }

    /// Takes note that a session that was taken up has begun.
    pub fn taken_up(&self, id: &str) {
        if let Some(session) = self.live().sessions.get_mut(id) {
            session.is_ready = true;
        }
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session's handle, and what keeps it from making room: during this request, and while a
    /// stream is open.
    fn used(&self, id: &SessionId) -> Result<(LocalSessionHandle, Arc<()>), Error> {
        let mut live = self.live();
        live.uses += 1;
        let uses = live.uses;
        let session = live.sessions.get_mut(id);
        let session = session.ok_or_else(|| Error::SessionNotFound(Arc::clone(id)))?;
        session.last_use = uses;
        needed(&session.users);
        Ok((session.handle.clone(), Arc::clone(&session.users)))
    }

    fn take_out(&self, choice: impl FnOnce(&mut Live) -> Option<Session>) -> Option<Session> {
        let mut live = self.live();
        let session = choice(&mut live);
        self.metrics.sessions_live(live.sessions.len());
        session
    }

    fn begin(&self, id: &SessionId, is_ready: bool) -> WorkerTransport<LocalSessionWorker> {
        let mut config = SessionConfig::default();
        // Agents think for hours, and a session that was idle can make room at any time.
        config.keep_alive = None;
        // There is nothing to come back to: an answer is one event, and the next request follows it.
        config.sse_retry = None;
        let (handle, worker) = create_local_session(Arc::clone(id), config);
        let mut live = self.live();
        live.uses += 1;
        let session = Session {
            handle,
            last_use: live.uses,
            is_ready,
            end: CancellationToken::new(),
            users: Arc::default(),
            watches: Arc::default(),
            heard: None,
        };
        needed(&session.users);
        live.sessions.insert(Arc::clone(id), session);
        drop(live);
        self.make_room();
        WorkerTransport::spawn(worker)
    }

    /// Takes sessions out that have been idle for longest while there are more than there may be.
    ///
    /// Those that are in use at the moment stay, so this is to be called again when they are not.
    pub fn make_room(&self) {
        let mut live = self.live();
        let leaving: Vec<_> = iter::from_fn(|| live.leave(self.capacity)).collect();
        self.metrics.sessions_live(live.sessions.len());
        drop(live);
        for handle in leaving {
            tokio::spawn(async move { handle.close().await });
        }
    }
}

/// Keeps a session in memory until the request was served that is being served.
fn needed(users: &Arc<()>) {
    let _outside_of_requests =
        NEEDED.try_with(|needed| needed.borrow_mut().push(Arc::clone(users)));
}

type Error = LocalSessionManagerError;

impl SessionManager for Sessions {
    type Error = Error;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Error> {
        let client = INTRODUCTION.try_with(Clone::clone).ok().flatten().unwrap_or_default();
        let id = SessionId::from(session_id::new(self.store, &client));
        // Nobody knows its name before it has begun.
        let transport = self.begin(&id, true);
        self.metrics.session_opened();
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Error> {
        let (handle, _in_use) = self.used(id)?;
        Ok(handle.initialize(message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Error> {
        Ok(self.used(id).is_ok())
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Error> {
        let session = self.take_out(|live| live.ended(id));
        match session {
            Some(session) => closed(session.handle.close().await),
            None => Ok(()),
        }
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        let (handle, in_use) = self.used(id)?;
        let receiver = handle.establish_request_wise_channel().await?;
        handle.push_message(message, receiver.http_request_id).await?;
        Ok(events(receiver.inner, in_use))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Error> {
        let (handle, _in_use) = self.used(id)?;
        Ok(handle.push_message(message, None).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        let (handle, in_use) = self.used(id)?;
        self.end_other_news(id, &handle).await?;
        let receiver = handle.establish_common_channel().await?;
        Ok(self.news(receiver.inner, in_use))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        let (handle, in_use) = self.used(id)?;
        // That of a stream of news has no request in it.
        let is_of_news = !last_event_id.contains('/');
        if is_of_news {
            self.end_other_news(id, &handle).await?;
        }
        let receiver = match handle.resume(last_event_id.parse()?).await {
            // Of a time before this process took the session up: it goes on from now.
            Err(_) if is_of_news => handle.establish_common_channel().await?,
            resumed => resumed?,
        };
        Ok(self.news(receiver.inner, in_use))
    }

    async fn restore_session(
        &self,
        id: SessionId,
    ) -> Result<RestoreOutcome<Self::Transport>, Error> {
        if self.used(&id).is_ok() {
            return Ok(RestoreOutcome::AlreadyPresent);
        }
        self.metrics.session_resumed();
        Ok(RestoreOutcome::Restored(self.begin(&id, false)))
    }
}

/// What rmcp asks about sessions that are not in memory.
#[async_trait::async_trait]
impl SessionStore for Sessions {
    async fn load(&self, id: &str) -> Result<Option<SessionState>, SessionStoreError> {
        Ok(self.client_of(id).map(SessionState::new))
    }

    /// The name of the session says it all.
    async fn store(&self, _id: &str, _state: &SessionState) -> Result<(), SessionStoreError> {
        Ok(())
    }

    async fn delete(&self, id: &str) -> Result<(), SessionStoreError> {
        self.end(id).await;
        Ok(())
    }
}

impl Sessions {
    /// Ends the stream of news of a session, for one that is opened now: the client may be gone from it
    /// without anybody knowing, and rmcp speaks on the first. Unless it was opened just before, by a client
    /// that has two; they would end one another for ever.
    async fn end_other_news(
        &self,
        id: &SessionId,
        handle: &LocalSessionHandle,
    ) -> Result<(), Error> {
        let before =
            self.live().sessions.get_mut(id).and_then(|it| it.heard.replace(Instant::now()));
        if before.is_some_and(|before| before.elapsed() > BETWEEN_NEWS) {
            handle.close_standalone_sse_stream(None).await?;
        }
        Ok(())
    }

    /// The events of a stream that only waits for news.
    fn news(
        &self,
        receiver: Receiver<ServerSseMessage>,
        in_use: Arc<()>,
    ) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
        events(receiver, in_use).take_until(self.ending.clone().cancelled_owned())
    }
}

/// The events of a stream, which keeps its session in memory.
fn events(
    mut receiver: Receiver<ServerSseMessage>,
    in_use: Arc<()>,
) -> impl Stream<Item = ServerSseMessage> + Send + Sync + Unpin + 'static {
    stream::poll_fn(move |context| {
        let _kept = &in_use;
        receiver.poll_recv(context)
    })
}

/// A session whose worker has ended by itself is closed, too.
fn closed(outcome: Result<(), SessionError>) -> Result<(), Error> {
    match outcome {
        Ok(()) | Err(SessionError::SessionServiceTerminated) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
