//! What becomes of one request.

use std::cell::RefCell;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rmcp::model::{ProtocolVersion, RequestId};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::messages::{self, Message};
use super::sessions::{INTRODUCTION, NEEDED, Sessions};
use super::under_way::{Entry, UnderWay};
use super::{EVENT_STREAM, HttpOptions, PROTOCOL_VERSION, SESSION_ID, Service, answers};
use crate::mcp::delivery::delivery;

/// What the requests share.
#[derive(Clone)]
pub(super) struct Endpoint {
    service: Service,
    sessions: Arc<Sessions>,
    under_way: UnderWay,
    /// Held while a session is taken up or ended.
    changing: Arc<Mutex<()>>,
    options: Arc<HttpOptions>,
}

/// Answers one request to the endpoint.
pub(super) async fn serve(State(endpoint): State<Endpoint>, request: Request) -> Response {
    if request.method() == Method::GET && !accepts(request.headers(), EVENT_STREAM) {
        return how_to_connect();
    }
    let (parts, body) = request.into_parts();
    let (body, message) = if parts.method == Method::POST {
        match messages::read(&parts.headers, body, endpoint.options.body).await {
            Ok(read) => read,
            Err(refusal) => return refusal,
        }
    } else {
        (Body::empty(), Message::default())
    };
    let id = message.id.clone();
    let session = session_of(&parts.headers, message.introduction.is_some()).map(ToOwned::to_owned);
    let entry = match endpoint.admit(session.as_deref(), id.clone()) {
        Ok(entry) => entry,
        Err(refusal) => return *refusal,
    };
    let answer = async {
        let request = Request::from_parts(parts, body);
        match (session.as_deref(), request.method()) {
            (Some(session), &Method::DELETE) => endpoint.end(session).await,
            (session, _) => endpoint.answer(session, id, entry, request).await,
        }
    };
    let answer = INTRODUCTION.scope(message.introduction, answer);
    let answer = NEEDED.scope(RefCell::default(), answer).await;
    endpoint.sessions.make_room();
    answer
}

impl Endpoint {
    pub fn new(service: Service, sessions: Arc<Sessions>, options: HttpOptions) -> Self {
        let (under_way, changing) = (UnderWay::default(), Arc::default());
        Self { service, sessions, under_way, changing, options: Arc::new(options) }
    }

    /// Lets a request in whose session, if it names one, can be served; takes note of its id.
    fn admit(
        &self,
        session: Option<&str>,
        id: Option<RequestId>,
    ) -> Result<Option<Entry>, Box<Response>> {
        let Some(session) = session else { return Ok(None) };
        if self.sessions.client_of(session).is_none() {
            return Err(messages::unknown_session(id).into());
        }
        let Some(id) = id else { return Ok(None) };
        let entry = self.under_way.begin(session, &id);
        entry.map(Some).ok_or_else(|| messages::id_in_use(id).into())
    }

    /// Has rmcp answer a request.
    async fn answer(
        &self,
        session: Option<&str>,
        id: Option<RequestId>,
        entry: Option<Entry>,
        mut request: Request,
    ) -> Response {
        let ended = match session {
            None => Some(CancellationToken::new()),
            Some(session) => {
                self.take_up(session).await;
                self.sessions.end_of(session)
            }
        };
        let Some(ended) = ended else { return messages::unknown_session(id) };
        let (caller, delivery) = delivery(&ended);
        request.extensions_mut().insert(caller);
        // The id is in use for as long as the request is worked on, also when nobody waits for it.
        let in_use = entry.map(Arc::new);
        request.extensions_mut().insert(in_use.clone());
        if let Some(keepable) = session.and_then(|session| self.sessions.keepable(session)) {
            request.extensions_mut().insert(keepable);
        }
        let is_post = request.method() == Method::POST;
        let answer = async {
            let answer = self.service.handle(request).await.map(Body::new);
            if !is_post {
                return Some(answer);
            }
            let passed_on = move || {
                delivery.done();
                drop(in_use);
            };
            answers::plain(answer, self.options.stream_after, passed_on).await
        };
        let answer = tokio::select! {
            answer = answer => answer,
            // A message that reaches its worker while that ends may stay unread, and then rmcp would
            // wait for ever.
            () = ended.cancelled() => None,
        };
        match answer {
            // The session was ended while this was under way.
            _ if ended.is_cancelled() => messages::unknown_session(id),
            Some(answer) => {
                if answer.status().is_server_error() {
                    tracing::error!("a message could not be served: {}", answer.status());
                }
                answer
            }
            // The request was cancelled; nobody expects an answer.
            None => [(header::CONTENT_TYPE, EVENT_STREAM)].into_response(),
        }
    }

    /// Takes a session up that this process does not know, before its request is served.
    ///
    /// rmcp would do so while it serves the request, but of several requests that come at once, as they
    /// do after a restart, it fails some. So a notification that changes nothing goes first, alone.
    async fn take_up(&self, session: &str) {
        if self.sessions.is_ready(session) {
            return;
        }
        let _alone = self.changing.lock().await;
        if self.sessions.is_ready(session) {
            return;
        }
        // It may have been ended since the request was let in.
        if self.sessions.client_of(session).is_none() {
            return;
        }
        let Ok(name) = HeaderValue::from_str(session) else { return };
        let nothing = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let mut request = Request::new(Body::from(nothing));
        *request.method_mut() = Method::POST;
        let both = HeaderValue::from_static("application/json, text/event-stream");
        let headers = request.headers_mut();
        headers.insert(header::HOST, HeaderValue::from_static("localhost"));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT, both);
        headers.insert(SESSION_ID, name);
        let status = self.service.handle(request).await.status();
        if status == StatusCode::ACCEPTED {
            self.sessions.taken_up(session);
        } else {
            tracing::error!("a session could not be taken up: {status}");
        }
    }

    /// Ends a session for good, as far as this process is asked.
    async fn end(&self, session: &str) -> Response {
        let _alone = self.changing.lock().await;
        if self.sessions.client_of(session).is_none() {
            return messages::unknown_session(None);
        }
        self.sessions.end(session).await;
        // 202 would only promise it, and some clients take that for a failure.
        StatusCode::NO_CONTENT.into_response()
    }
}

/// The session of a request. From 2026-07-28 on there are none, and a name of one means nothing; but
/// `initialize` is of the time before, whatever the request says.
fn session_of(headers: &HeaderMap, is_initialize: bool) -> Option<&str> {
    let stateless = ProtocolVersion::V_2026_07_28;
    let version = headers.get(PROTOCOL_VERSION);
    let is_stateless = version.is_some_and(|it| it.as_bytes() >= stateless.as_str().as_bytes());
    let session = headers.get(SESSION_ID).filter(|_| is_initialize || !is_stateless)?;
    Some(session.to_str().unwrap_or_default())
}

fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let values = headers.get_all(header::ACCEPT).iter();
    values.filter_map(|value| value.to_str().ok()).any(|value| value.contains(kind))
}

/// What a person sees who opens the endpoint in a browser.
fn how_to_connect() -> Response {
    let text = "This is an MCP endpoint for coding agents. Connect one with, for example:\n\n  \
                claude mcp add --transport http issues http://localhost:3000/mcp\n\n\
                with the host and port of this address. The page for people is at /.\n";
    (StatusCode::NOT_ACCEPTABLE, text).into_response()
}
