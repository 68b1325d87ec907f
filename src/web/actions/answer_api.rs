//! Answering a question from a program, as JSON.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::domain::{AgentName, CommentText, ErrorCode, IssueRef, QuestionAnswer, WithClaim};
use crate::http::body::{BODY_TIMEOUT, has_media_type, read_body};
use crate::http::{BearerToken, Principal, Scope, has_own_origin};
use crate::tracker::{IssueAtVersion, StoreError};
use crate::web::WebState;
use crate::web::api::JSON;
use crate::web::pages::error::{ErrorJson, WebError};
use crate::web::strings::answer_api as text;

/// The body of a request.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Body {
    answer: Answer,
    agent: AgentName,
    /// The version that the caller knows; another one refuses the answer.
    if_version: Option<String>,
}

/// An answer in words, or the number of an option.
#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Option(usize),
    Text(CommentText),
}

/// Answers the open question of an issue, and responds with the issue.
pub(super) async fn answer(
    State(state): State<WebState>,
    asked: Result<Path<String>, PathRejection>,
    request: Request,
) -> Result<Response, ErrorJson> {
    let Path(asked) = asked?;
    let (parts, body) = request.into_parts();
    // What a browser sends by itself, for whichever page, must not be enough.
    let principal = parts.extensions.get::<Principal>();
    let principal = principal.filter(|_| parts.extensions.get::<BearerToken>().is_some());
    match principal.map(Principal::scope) {
        None => return Err(WebError::forbidden(text::NO_TOKEN).into()),
        Some(Scope::ReadOnly) => return Err(WebError::forbidden(text::READ_ONLY_TOKEN).into()),
        Some(Scope::ReadWrite | Scope::Lead) => {}
    }
    if parts.headers.contains_key(header::ORIGIN) && !has_own_origin(&parts.headers) {
        return Err(WebError::forbidden(text::FOREIGN).into());
    }
    if !has_media_type(&parts.headers, JSON) {
        return Err(WebError::unsupported(text::NO_JSON).into());
    }
    let bytes = match read_body(body, BODY_TIMEOUT).await {
        Ok(bytes) => bytes,
        Err(refusal) => return Ok(refusal),
    };
    let invalid = |error: serde_json::Error| {
        let text = text::invalid_body(&error);
        WebError::plain(StatusCode::BAD_REQUEST, ErrorCode::Validation, text)
    };
    let Body { answer, agent, if_version } = serde_json::from_slice(&bytes).map_err(invalid)?;
    let answer = match answer {
        Answer::Option(number) => QuestionAnswer::Option(number),
        Answer::Text(text) => QuestionAnswer::Text(text),
    };
    let issue = IssueRef::named(&asked, IssueRef::MIN_DIGITS)
        .map_err(|error| WebError::of_change(StoreError::Refused(error)))?;
    let known = IssueAtVersion { issue, version: if_version };
    let answered = state.tracker.answer_question(known, answer, agent).await;
    let issue = answered.map_err(WebError::of_change)?.issue;
    let json =
        serde_json::to_vec(&WithClaim::from(&*issue)).expect("an issue can always be serialized");
    let headers = [(header::CONTENT_TYPE, JSON), (header::CACHE_CONTROL, "no-store")];
    Ok((StatusCode::OK, headers, json).into_response())
}
