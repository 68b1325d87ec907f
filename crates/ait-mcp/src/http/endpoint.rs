//! One HTTP request to the endpoint, from its headers to the response.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::Poll;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::stream::{self, StreamExt};
use rmcp::model::{
    JsonRpcMessage, PromptListChangedNotification, ProtocolVersion, ResourceUpdatedNotification,
    ResourceUpdatedNotificationParam, ServerJsonRpcMessage,
};
use tokio_util::sync::CancellationToken;

use super::messages::{self, Message};
use super::{EVENT_STREAM, HttpOptions, PROTOCOL_VERSION, SESSION_ID, Service};
use crate::delivery::delivery;
use crate::prompts::PromptFiles;
use crate::request_context::RequestOptions;
use crate::sessions::{InFlight, McpSession, Sessions};
use crate::subscriptions::ChangeFeed;

const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// What rmcp demands that clients take, although it answers with JSON alone. Some take less.
const BOTH_TYPES: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// What all requests share.
#[derive(Clone)]
pub(super) struct Endpoint {
    pub service: Service,
    pub sessions: Arc<Sessions>,
    pub feed: ChangeFeed,
    pub prompt_files: Arc<PromptFiles>,
    pub options: Arc<HttpOptions>,
    /// Ends the streams of notifications.
    pub shutdown: CancellationToken,
}

/// Serves one request.
pub(super) async fn serve(State(endpoint): State<Endpoint>, request: Request) -> Response {
    if request.method() == Method::GET && !accepts_event_stream(request.headers()) {
        return how_to_connect();
    }
    let (mut parts, body) = request.into_parts();
    match RequestOptions::of(&parts) {
        Ok(options) => parts.extensions.insert(options),
        Err(problem) => return (StatusCode::BAD_REQUEST, format!("{problem}\n")).into_response(),
    };
    if parts.method == Method::POST {
        let takes = parts.headers.insert(header::ACCEPT, BOTH_TYPES);
        let response = endpoint.post(parts, body).await;
        return match takes {
            Some(takes) if only_takes_events(&takes) => as_event(response),
            _ => response,
        };
    }
    let session = parts.headers.get(SESSION_ID).filter(|_| !is_stateless(&parts.headers));
    match (session, &parts.method) {
        (Some(id), &Method::GET) => match endpoint.find(id) {
            Some(session) => endpoint.listen(&session),
            None => messages::unknown_session(None),
        },
        (Some(id), &Method::DELETE) => match endpoint.find(id) {
            // Some clients take 202 for a failure.
            Some(session) if session.end() => {
                session.record_end().await;
                StatusCode::NO_CONTENT.into_response()
            }
            _ => messages::unknown_session(None),
        },
        // rmcp says which methods there are.
        _ => endpoint.service.handle(Request::from_parts(parts, body)).await.map(Body::new),
    }
}

impl Endpoint {
    fn find(&self, id: &HeaderValue) -> Option<McpSession> {
        self.sessions.find(id.to_str().ok()?)
    }

    /// Serves one message.
    async fn post(&self, mut parts: Parts, body: Body) -> Response {
        let (body, message) =
            match messages::read(&parts.headers, body, self.options.body_timeout).await {
                Ok(read) => read,
                Err(refusal) => return refusal,
            };
        if message.is_initialize || message.is_stateless || is_stateless(&parts.headers) {
            let response = self.respond(parts, body, None).await;
            let mut response = response.unwrap_or_else(no_response);
            if message.is_initialize
                && response.status() == StatusCode::OK
                && let Ok(id) = self.sessions.begin(message.capabilities).parse()
            {
                response.headers_mut().insert(SESSION_ID, id);
            }
            return response;
        }
        let Message { id, cancels, responds_to, .. } = message;
        let Some(session) = parts.headers.get(SESSION_ID) else {
            return messages::session_required(id);
        };
        let Some(session) = self.find(session) else { return messages::unknown_session(id) };
        cancels.inspect(|request| session.cancel_requests(request));
        if let Some((request, result)) = responds_to {
            session.respond(&request, result);
            return StatusCode::ACCEPTED.into_response();
        }
        let in_flight = id.clone().map(|id| session.begin_request(id));
        parts.extensions.insert(session.clone());
        match self.respond(parts, body, in_flight).await {
            Some(response) => response,
            None if session.has_ended() => messages::unknown_session(id),
            None => no_response(),
        }
    }

    /// Lets rmcp respond to a message; `None` if it is cancelled before that.
    async fn respond(
        &self,
        mut parts: Parts,
        body: Body,
        in_flight: Option<InFlight>,
    ) -> Option<Response> {
        let cancelled = in_flight.as_ref().map(|call| call.cancelled.clone()).unwrap_or_default();
        let (caller, delivery) = delivery(&cancelled);
        parts.extensions.insert(caller);
        let response = tokio::select! {
            response = self.service.handle(Request::from_parts(parts, body)) => response,
            () = cancelled.cancelled() => return None,
        };
        if cancelled.is_cancelled() {
            return None;
        }
        if response.status().is_server_error() {
            tracing::error!("failed to serve a message: {}", response.status());
        }
        let delivered = move || {
            delivery.done();
            drop(in_flight);
        };
        Some(on_delivery(response.map(Body::new), delivered).await)
    }

    /// Opens the stream on which a session gets its notifications.
    fn listen(&self, session: &McpSession) -> Response {
        let (stream, requests) = session.open_stream();
        let ended = stream.ended.clone();
        let updates = Arc::clone(&stream.subscriptions).updates(self.feed.clone());
        let prompts = self.prompt_files.changes().map(|()| prompts_changed());
        let events = stream::select(updates.map(updated), prompts).filter_map(move |change| {
            let event = stream.is_newest().then(|| Event::default().json_data(change));
            async { event }
        });
        let requests = requests.map(|request| Event::default().json_data(request));
        let events = stream::select(events, requests)
            .take_until(ended.cancelled_owned())
            .take_until(self.shutdown.clone().cancelled_owned());
        // nginx would hold events back otherwise.
        let headers = [(X_ACCEL_BUFFERING, "no")];
        (headers, Sse::new(events).keep_alive(KeepAlive::default())).into_response()
    }
}

fn updated(uri: String) -> ServerJsonRpcMessage {
    let params = ResourceUpdatedNotificationParam::new(uri);
    JsonRpcMessage::notification(ResourceUpdatedNotification::new(params).into())
}

fn prompts_changed() -> ServerJsonRpcMessage {
    JsonRpcMessage::notification(PromptListChangedNotification::default().into())
}

/// Calls `delivered` when the connection takes the end of a response, and drops it uncalled if it never does.
async fn on_delivery<F>(response: Response, delivered: F) -> Response
where
    F: FnOnce() + Send + 'static,
{
    let (mut parts, body) = response.into_parts();
    let kind = parts.headers.get(header::CONTENT_TYPE);
    if kind.is_some_and(|kind| kind.as_bytes().starts_with(EVENT_STREAM.as_bytes())) {
        let mut delivered = Some(delivered);
        let end = stream::poll_fn(move |_| {
            if let Some(delivered) = delivered.take() {
                delivered();
            }
            Poll::Ready(None)
        });
        return Response::from_parts(parts, Body::from_stream(body.into_data_stream().chain(end)));
    }
    // A connection asks for nothing behind a body of known length.
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    parts.headers.insert(header::CONTENT_LENGTH, bytes.len().into());
    let body = stream::once(async move {
        delivered();
        Ok::<_, Infallible>(bytes)
    });
    Response::from_parts(parts, Body::from_stream(body))
}

/// Returns true if the headers are those of a revision without sessions. A session id means nothing then.
fn is_stateless(headers: &HeaderMap) -> bool {
    let stateless = ProtocolVersion::V_2026_07_28;
    let version = headers.get(PROTOCOL_VERSION);
    version.is_some_and(|version| version.as_bytes() >= stateless.as_str().as_bytes())
}

/// Returns true if a client takes streams of events and no JSON.
fn only_takes_events(takes: &HeaderValue) -> bool {
    let takes = takes.to_str().unwrap_or_default();
    takes.contains(EVENT_STREAM) && !takes.contains("json") && !takes.contains("*/*")
}

/// Makes a stream with one event of a response in JSON, which has no line breaks.
fn as_event(response: Response) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE);
    if kind.is_none_or(|kind| kind.as_bytes() != b"application/json") {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    let line = |text: &'static [u8]| stream::once(async move { Ok(Bytes::from_static(text)) });
    let event = line(b"data: ").chain(body.into_data_stream()).chain(line(b"\n\n"));
    Response::from_parts(parts, Body::from_stream(event))
}

fn accepts_event_stream(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT).iter();
    values.filter_map(|value| value.to_str().ok()).any(|value| value.contains(EVENT_STREAM))
}

/// The response to a cancelled request, for which its client no longer waits.
fn no_response() -> Response {
    [(header::CONTENT_TYPE, EVENT_STREAM)].into_response()
}

/// The response to a person who opens the endpoint in a browser.
fn how_to_connect() -> Response {
    let text = "This is an MCP endpoint for coding agents. Connect one with, for example:\n\n  \
                claude mcp add --transport http issues http://localhost:3000/mcp\n\n\
                with the host and port of this address. The web pages are at /.\n";
    (StatusCode::NOT_ACCEPTABLE, text).into_response()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_response_is_delivered_once_its_body_is_read() {
        for (kind, text) in [
            ("application/json", "{}"),
            (EVENT_STREAM, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"),
        ] {
            for is_taken in [false, true] {
                let mut response = Response::new(Body::from(text));
                let kind = HeaderValue::from_static(kind);
                response.headers_mut().insert(header::CONTENT_TYPE, kind);
                let delivered = Arc::new(AtomicBool::new(false));
                let noted = Arc::clone(&delivered);
                let note = move || noted.store(true, Ordering::SeqCst);
                let response = on_delivery(response, note).await;
                assert!(!delivered.load(Ordering::SeqCst), "{text}");
                if is_taken {
                    drop(to_bytes(response.into_body(), usize::MAX).await.unwrap());
                } else {
                    drop(response);
                }
                assert_eq!(delivered.load(Ordering::SeqCst), is_taken, "{text}");
                assert_eq!(Arc::strong_count(&delivered), 1, "{text}");
            }
        }
    }
}
