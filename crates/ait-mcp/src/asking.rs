//! Requests to a client: to show a form to its person, or to ask its model.
//!
//! Up to revision 2025-11-25 the server sends a request, which the client answers in its time. From 2026-07-28 on, the
//! result of a call has the request, and the client makes the call again with the response.

use std::time::Duration;

use rmcp::model::{
    ClientCapabilities, ClientResult, InputRequest, InputRequiredResult, InputResponses,
    ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext, RoleServer};
use serde_json::Value;
use tokio::time::timeout;

use super::request_context::{self, is_modern};
use super::sessions::McpSession;

/// The key of the request and of its response.
const KEY: &str = "answer";

/// What a client can be asked for.
#[derive(Clone, Copy, Default)]
pub(super) struct Capabilities {
    /// To show forms to a person.
    pub forms: bool,
    /// To let its model answer.
    pub sampling: bool,
}

impl Capabilities {
    /// Returns what the client that sent a request says that it can.
    pub fn of(context: &RequestContext<RoleServer>) -> Self {
        match request_context::session(context) {
            Some(session) => session.capabilities(),
            None => context.client_capabilities().as_ref().map(Self::from).unwrap_or_default(),
        }
    }
}

impl From<&ClientCapabilities> for Capabilities {
    fn from(capabilities: &ClientCapabilities) -> Self {
        // A client of the first revision with elicitation names no kind.
        let forms = |kinds: &rmcp::model::ElicitationCapability| {
            kinds.form.is_some() || kinds.url.is_none()
        };
        let sampling = capabilities.sampling.is_some();
        Self { forms: capabilities.elicitation.as_ref().is_some_and(forms), sampling }
    }
}

/// A client that can be asked.
#[derive(Clone)]
pub(super) enum Asking {
    /// By a request over stdio.
    Peer(Peer<RoleServer>),
    /// By a request over HTTP, on the stream of the session.
    Session(McpSession),
    /// By the result of a call; the client calls again with the response.
    NextCall(Option<Value>),
}

impl Asking {
    /// Returns the client that sent a request, if a question can reach it.
    pub fn of(
        context: &RequestContext<RoleServer>,
        responses: Option<InputResponses>,
    ) -> Option<Self> {
        if let Some(session) = request_context::session(context) {
            return session.is_listening().then(|| Self::Session(session.clone()));
        }
        Some(if is_modern(context) {
            Self::NextCall(responses.and_then(|mut responses| responses.remove(KEY)))
        } else {
            Self::Peer(context.peer.clone())
        })
    }

    /// Sends a request and waits for so long. Returns `None` if the client fails or takes too long, or if only its next
    /// call can have the response.
    pub async fn ask(&self, request: InputRequest, within: Duration) -> Option<ClientResult> {
        let request = match request {
            InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
            InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
            _ => return None,
        };
        match self {
            Self::Peer(peer) => {
                let options = PeerRequestOptions::with_timeout(within);
                let sent = peer.send_request_with_option(request, options).await.ok()?;
                sent.await_response().await.ok()
            }
            Self::Session(session) => timeout(within, session.ask(request)).await.ok()?,
            Self::NextCall(_) => None,
        }
    }
}

/// Returns the result that makes the client ask and call again.
pub(super) fn input_required(request: InputRequest) -> InputRequiredResult {
    InputRequiredResult::from_input_requests([(KEY.to_owned(), request)].into())
}
