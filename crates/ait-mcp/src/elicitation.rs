//! Questions to the person at a client: elicitation.
//!
//! Up to revision 2025-11-25 the server sends a request, which the client answers when its person does. From 2026-07-28
//! on, the result of a call has the request, and the client makes the call again with the answer.

use std::time::Duration;

use rmcp::model::{
    ClientCapabilities, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationSchema, InputRequest, InputRequiredResult, InputResponses,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext, RoleServer};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::request_context::{self, is_modern};
use super::sessions::McpSession;
use ait_domain::{CommentText, Issue, Question, QuestionAnswer};

/// How long a client may show a question. Its answer counts for that long, also after the call.
const SHOWN_FOR: Duration = Duration::from_secs(600);
/// The key of the request and of its response.
const KEY: &str = "answer";
/// The fields of the form.
const OPTION: &str = "option";
const ANSWER: &str = "answer";

/// The person at a client.
#[derive(Clone)]
pub(super) enum Person {
    /// Asked by a request to the client.
    Now(AskingClient),
    /// Asked by the result of a call; the client calls again with the response.
    NextCall(Option<Value>),
}

/// A client that takes requests.
#[derive(Clone)]
pub(super) enum AskingClient {
    /// Over stdio.
    Peer(Peer<RoleServer>),
    /// Over HTTP, on the stream of the session.
    Session(McpSession),
}

impl Person {
    /// Returns the person at the client of a request, if the client says that it can show forms.
    pub fn of(
        context: &RequestContext<RoleServer>,
        responses: Option<InputResponses>,
    ) -> Option<Self> {
        if let Some(session) = request_context::session(context) {
            return session.can_ask().then(|| Self::Now(AskingClient::Session(session.clone())));
        }
        if !shows_forms(&context.client_capabilities()?) {
            return None;
        }
        Some(if is_modern(context) {
            Self::NextCall(responses.and_then(|mut responses| responses.remove(KEY)))
        } else {
            Self::Now(AskingClient::Peer(context.peer.clone()))
        })
    }
}

/// Returns true if a client shows forms to a person. One of the first revision with elicitation names no kind.
pub(super) fn shows_forms(capabilities: &ClientCapabilities) -> bool {
    let elicitation = capabilities.elicitation.as_ref();
    elicitation.is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none())
}

impl AskingClient {
    /// Asks the person. Returns `None` if the client fails or its person takes too long.
    pub async fn ask(&self, form: ElicitRequestParams) -> Option<ElicitResult> {
        let request = ElicitRequest::new(form).into();
        let peer = match self {
            Self::Peer(peer) => peer,
            Self::Session(session) => {
                return timeout(SHOWN_FOR, session.ask(request)).await.ok()?;
            }
        };
        let options = PeerRequestOptions::with_timeout(SHOWN_FOR);
        let sent = peer.send_request_with_option(request, options).await.ok()?;
        match sent.await_response().await {
            Ok(ClientResult::ElicitResult(result)) => Some(result),
            _ => None,
        }
    }
}

/// Returns the result that makes the client ask and call again.
pub(super) fn input_required(form: ElicitRequestParams) -> InputRequiredResult {
    let request = InputRequest::Elicitation(ElicitRequest::new(form));
    InputRequiredResult::from_input_requests([(KEY.to_owned(), request)].into())
}

/// Returns the form of a question. A person may answer otherwise than by an option.
pub(super) fn form(issue: &Issue, question: &Question, agent: &str) -> ElicitRequestParams {
    let mut message = format!(
        "{agent} asks about issue {} ({}): {}",
        issue.id.short(),
        issue.title,
        question.text
    );
    let mut answer = json!({ "type": "string", "title": "Answer" });
    if let Some(default) = &question.default {
        message += &format!("\n\n({default})");
    }
    let schema = if question.options.is_empty() {
        json!({ "type": "object", "properties": { ANSWER: answer }, "required": [ANSWER] })
    } else {
        answer["title"] = "Another answer".into();
        let option = json!({ "type": "string", "title": "Option", "enum": question.options });
        json!({ "type": "object", "properties": { OPTION: option, ANSWER: answer } })
    };
    let schema: ElicitationSchema =
        serde_json::from_value(schema).expect("the schema of the form is valid");
    ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema: schema }
}

/// Returns the answer of a person who filled the form in.
pub(super) fn answer(result: &ElicitResult, question: &Question) -> Option<QuestionAnswer> {
    let content = result.content.as_ref();
    let content = content.filter(|_| result.action == ElicitationAction::Accept)?;
    let field = |name: &str| content.get(name).and_then(Value::as_str).map(str::trim);
    if let Some(text) = field(ANSWER).and_then(|text| CommentText::try_from(text).ok()) {
        return Some(QuestionAnswer::Text(text));
    }
    let chosen = field(OPTION)?;
    let position = question.options.iter().position(|option| option == chosen)?;
    Some(QuestionAnswer::Option(position + 1))
}
