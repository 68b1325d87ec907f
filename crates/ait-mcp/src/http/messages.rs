//! Request bodies. Refuses those that are too large, too slow, or no JSON-RPC 2.0 message.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ClientResult, ErrorCode, ErrorData,
    GetMeta, JsonRpcError, JsonRpcMessage, RequestId,
};

use crate::asking::Capabilities;
use crate::message;
use ait_http::body::{has_media_type, read_body};

/// What the endpoint needs to know of a message.
#[derive(Default)]
pub(super) struct Message {
    pub id: Option<RequestId>,
    /// The request that a notification cancels.
    pub cancels: Option<RequestId>,
    /// The request of the server to which this is a response, and the result; `None` for an error.
    pub responds_to: Option<(RequestId, Option<ClientResult>)>,
    /// Whether this is `initialize`, which begins a session.
    pub is_initialize: bool,
    /// What the client of an `initialize` can be asked for.
    pub capabilities: Capabilities,
    /// Whether this is a request of a revision without sessions.
    pub is_stateless: bool,
}

/// The code for an unknown session, from the range that JSON-RPC leaves to servers.
const UNKNOWN_SESSION: ErrorCode = ErrorCode(-32001);

/// Reads the message in a body. Also returns the body, repaired so that it parses again.
pub(super) async fn read(
    headers: &HeaderMap,
    body: Body,
    within: Duration,
) -> Result<(Body, Message), Response> {
    if !has_media_type(headers, "application/json") {
        let text = "a message must have Content-Type: application/json\n";
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, text).into_response());
    }
    let bytes = read_body(body, within).await?;
    if let Err(invalid) = str::from_utf8(&bytes) {
        let at = invalid.valid_up_to();
        let reason = format!("the message is not UTF-8 from byte {at} on");
        return Err(error(StatusCode::BAD_REQUEST, None, ErrorData::parse_error(reason, None)));
    }
    match message::parse(&bytes) {
        Ok((message, repaired)) => {
            Ok((Body::from(repaired.map_or(bytes, Bytes::from)), Message::from(message)))
        }
        Err(invalid) => {
            Err((StatusCode::BAD_REQUEST, axum::Json(invalid.response)).into_response())
        }
    }
}

impl From<ClientJsonRpcMessage> for Message {
    fn from(message: ClientJsonRpcMessage) -> Self {
        match message {
            JsonRpcMessage::Request(message) => {
                let request = message.request;
                let is_discover = matches!(request, ClientRequest::DiscoverRequest(_));
                let initialize = match &request {
                    ClientRequest::InitializeRequest(initialize) => Some(&initialize.params),
                    _ => None,
                };
                Self {
                    id: Some(message.id),
                    is_initialize: initialize.is_some(),
                    capabilities: initialize
                        .map(|given| Capabilities::from(&given.capabilities))
                        .unwrap_or_default(),
                    is_stateless: is_discover || request.get_meta().protocol_version().is_some(),
                    ..Self::default()
                }
            }
            JsonRpcMessage::Notification(message) => match message.notification {
                ClientNotification::CancelledNotification(cancelled) => {
                    Self { cancels: cancelled.params.request_id, ..Self::default() }
                }
                _ => Self::default(),
            },
            JsonRpcMessage::Response(message) => {
                Self { responds_to: Some((message.id, Some(message.result))), ..Self::default() }
            }
            JsonRpcMessage::Error(message) => {
                Self { responds_to: message.id.map(|id| (id, None)), ..Self::default() }
            }
        }
    }
}

/// The response to a session id that this process refuses.
pub(super) fn unknown_session(id: Option<RequestId>) -> Response {
    let text = "this session ended, or belongs to another store: begin a new one with initialize, \
                without Mcp-Session-Id";
    error(StatusCode::NOT_FOUND, id, ErrorData::new(UNKNOWN_SESSION, text, None))
}

/// The response to a message that needs a session and names none.
pub(super) fn session_required(id: Option<RequestId>) -> Response {
    let text = "Mcp-Session-Id is missing: begin a session with initialize, and send the id that it \
                returns with each message";
    error(StatusCode::BAD_REQUEST, id, ErrorData::invalid_request(text, None))
}

fn error(status: StatusCode, id: Option<RequestId>, error: ErrorData) -> Response {
    (status, axum::Json(JsonRpcError::new(id, error))).into_response()
}
