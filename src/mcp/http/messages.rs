//! Bodies of requests: what is too large, too slow or no message is refused here, in the words of
//! JSON-RPC 2.0.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, InitializeRequestParams,
    JsonRpcError, JsonRpcMessage, RequestId,
};
use serde_json::Value;

use crate::http::{MAX_BODY_BYTES, too_large};
use crate::json_text;

/// What has to be known of a message before it is served.
#[derive(Default)]
pub(super) struct Message {
    /// The id of a request.
    pub id: Option<RequestId>,
    /// What a client says of itself when it begins a session.
    pub introduction: Option<InitializeRequestParams>,
}

/// How many values a message may have. Each costs much more than its bytes to look at, and tools take ten.
const MAX_VALUES: usize = 10_000;
/// The code with which servers say that a session is not known; JSON-RPC leaves it to them.
const UNKNOWN_SESSION: ErrorCode = ErrorCode(-32001);

/// Reads the message in a body, and gives the body back, fit to be parsed again.
pub(super) async fn read(
    headers: &HeaderMap,
    body: Body,
    within: Duration,
) -> Result<(Body, Message), Response> {
    let is_json = headers
        .get(header::CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .and_then(|kind| kind.split(';').next())
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"));
    if !is_json {
        let text = "a message must have Content-Type: application/json\n";
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, text).into_response());
    }
    let bytes = collected(body, within).await?;
    if let Err(invalid) = str::from_utf8(&bytes) {
        let at = invalid.valid_up_to();
        return Err(not_json(format!("the message is not UTF-8 from byte {at} on")));
    }
    if json_text::count_of_values(&bytes) > MAX_VALUES {
        let reason = format!("a message may have {MAX_VALUES} values at most");
        return Err(error(StatusCode::BAD_REQUEST, None, ErrorData::invalid_request(reason, None)));
    }
    let bytes = json_text::without_lone_surrogates(&bytes).map_or(bytes, Bytes::from);
    let message = match serde_json::from_slice::<ClientJsonRpcMessage>(&bytes) {
        Ok(JsonRpcMessage::Request(request)) => Message {
            id: Some(request.id),
            introduction: match request.request {
                ClientRequest::InitializeRequest(initialize) => Some(initialize.params),
                _ => None,
            },
        },
        Ok(_) => Message::default(),
        Err(_) => return Err(no_message(&bytes)),
    };
    Ok((Body::from(bytes), message))
}

async fn collected(body: Body, within: Duration) -> Result<Bytes, Response> {
    let body = Limited::new(body, MAX_BODY_BYTES);
    match tokio::time::timeout(within, body.collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => {
            let text = format!("the body of the request ended early: {error}\n");
            Err((StatusCode::BAD_REQUEST, text).into_response())
        }
        Err(_) => {
            let text = format!("the body took more than {} s to arrive\n", within.as_secs_f32());
            let close = [(header::CONNECTION, "close")];
            Err((StatusCode::REQUEST_TIMEOUT, close, text).into_response())
        }
    }
}

/// The answer to a text that is no message: it is no JSON, or JSON of another form.
fn no_message(bytes: &[u8]) -> Response {
    let value = match serde_json::from_slice::<Value>(bytes) {
        Ok(value) => value,
        Err(error) => return not_json(format!("the message is not valid JSON: {error}")),
    };
    let id = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
    let reason = match &value {
        Value::Array(_) => "batches are not part of MCP any more: send one message per request",
        Value::Object(object) if object.get("jsonrpc") != Some(&Value::from("2.0")) => {
            "a message must have \"jsonrpc\": \"2.0\""
        }
        Value::Object(object) if object.contains_key("method") => {
            "`method` must be a string, `params` an object, and `id`, if any, a string or an integer"
        }
        _ => "a message must be a JSON-RPC 2.0 object with `method`, and with `id` for an answer",
    };
    error(StatusCode::BAD_REQUEST, id, ErrorData::invalid_request(reason, None))
}

fn not_json(reason: String) -> Response {
    error(StatusCode::BAD_REQUEST, None, ErrorData::parse_error(reason, None))
}

/// The answer to a session that was ended, or that another store gave.
pub(super) fn unknown_session(id: Option<RequestId>) -> Response {
    let text = "this session was ended, or belongs to another store: begin a new one with \
                initialize, without Mcp-Session-Id";
    error(StatusCode::NOT_FOUND, id, ErrorData::new(UNKNOWN_SESSION, text, None))
}

/// The answer to a request whose id another one has that is not answered yet.
pub(super) fn id_in_use(id: RequestId) -> Response {
    let text = "another request of this session with this id is still under way: give each its own";
    error(StatusCode::BAD_REQUEST, Some(id), ErrorData::invalid_request(text, None))
}

fn error(status: StatusCode, id: Option<RequestId>, error: ErrorData) -> Response {
    (status, axum::Json(JsonRpcError::new(id, error))).into_response()
}
