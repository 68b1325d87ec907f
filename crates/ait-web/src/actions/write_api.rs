//! Changes by programs, as JSON over `/api`: filing, commenting, editing, answering and closing.
//!
//! `ait-web/openapi.json` describes the bodies and the answers.

use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest, Path, Request, State};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use crate::WebState;
use crate::api::JSON;
use crate::pages::error::{ErrorJson, WebError};
use crate::strings::write_api as text;
use ait_domain::{
    AgentName, Budget, ClaimProof, Classification, CommentText, Description, Due, Estimate,
    FieldValue, Issue, IssueChange, IssueId, IssueRef, Label, Priority, QuestionAnswer, Resolution,
    Title, Touches, WithClaim,
};
use ait_http::body::{BODY_TIMEOUT, has_media_type, read_body};
use ait_http::{BearerToken, Principal, Scope, has_own_origin};
use ait_query::nearest;
use ait_tracker::{Changed, IssueAtVersion, NewIssue, StoreError};

/// A change that a program with a token asks for.
pub(super) struct Write<T> {
    /// Whether its token may end the claims of others.
    is_lead: bool,
    body: T,
}

impl<S: Sync, T: DeserializeOwned> FromRequest<S> for Write<T> {
    type Rejection = Response;

    async fn from_request(request: Request, _: &S) -> Result<Self, Response> {
        let (parts, body) = request.into_parts();
        let refusal = |error| ErrorJson::from(error).into_response();
        let is_lead = check(&parts).map_err(refusal)? == Scope::Lead;
        let bytes = read_body(body, BODY_TIMEOUT).await?;
        Ok(Self { is_lead, body: parse(&bytes).map_err(refusal)? })
    }
}

/// Returns what the token of a request permits, if it may change issues.
fn check(request: &Parts) -> Result<Scope, WebError> {
    // What a browser sends by itself, for whichever page, must not be enough.
    let principal = request.extensions.get::<Principal>();
    let principal = principal.filter(|_| request.extensions.get::<BearerToken>().is_some());
    let Some(scope) = principal.map(Principal::scope) else {
        return Err(WebError::forbidden(
            "a change needs `Authorization: Bearer TOKEN` with a read-write token: start the server with \
             --token-file, and send one of its tokens",
        ));
    };
    if scope == Scope::ReadOnly {
        return Err(WebError::forbidden(
            "this token is read-only: ask the operator of the server for one that may write",
        ));
    }
    if request.headers.contains_key(header::ORIGIN) && !has_own_origin(&request.headers) {
        return Err(WebError::forbidden(
            "pages of other origins may not change issues: send the request from a program",
        ));
    }
    if !has_media_type(&request.headers, JSON) {
        return Err(WebError::unsupported(
            "the body must be JSON: send Content-Type: application/json",
        ));
    }
    Ok(scope)
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, WebError> {
    // A list would pass for an object without the names of its members.
    if bytes.trim_ascii_start().first().is_some_and(|first| *first != b'{') {
        return Err(WebError::invalid("the body must be a JSON object".to_owned()));
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let invalid = |path: &str, error: &serde_json::Error| {
        let error = error.to_string();
        let mut quoted = error.split('`').skip(1).step_by(2);
        let given = quoted.next().filter(|_| error.starts_with("unknown "));
        let text = text::invalid_body(path, &error, given.and_then(|given| nearest(given, quoted)));
        WebError::invalid(text)
    };
    let parsed = serde_path_to_error::deserialize(&mut json);
    let parsed = parsed.map_err(|error| invalid(&error.path().to_string(), error.inner()))?;
    json.end().map_err(|error| invalid(".", &error))?;
    Ok(parsed)
}

/// Deserializes a value that `null` removes.
fn removable<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// The issue that a path names.
type Asked = Result<Path<String>, PathRejection>;

fn named(asked: Asked) -> Result<IssueRef, WebError> {
    let Path(asked) = asked?;
    let issue = IssueRef::named(&asked, IssueRef::MIN_DIGITS);
    issue.map_err(|error| WebError::of_change(StoreError::Refused(error)))
}

/// Answers with the issue after a change. The `ETag` is its version.
fn changed(changed: Result<Changed, StoreError>) -> Result<Response, ErrorJson> {
    let issue = changed.map_err(WebError::of_change)?.issue;
    Ok(respond(&issue, &WithClaim::from(&*issue)))
}

fn respond(issue: &Issue, answer: &impl Serialize) -> Response {
    let json = serde_json::to_vec(answer);
    let json = json.expect("an issue can always be serialized");
    let headers = [
        (header::CONTENT_TYPE, JSON.to_owned()),
        (header::CACHE_CONTROL, "no-store".to_owned()),
        (header::ETAG, format!("\"{}\"", issue.version())),
    ];
    (headers, json).into_response()
}

/// Returns the fields of a body that have one value or none. They stand in it by hand, because serde names an unknown
/// member, and the place of an error, only in a struct of its own.
macro_rules! values {
    ($body:ident) => {
        [
            $body.priority.map(FieldValue::Priority),
            $body.assignee.map(FieldValue::Assignee),
            $body.due.map(FieldValue::Due),
            $body.estimate.map(FieldValue::Estimate),
            $body.touches.map(FieldValue::Touches),
            $body.budget.map(FieldValue::Budget),
        ]
        .into_iter()
        .flatten()
        .collect()
    };
}

/// An issue to file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct FileBody {
    agent: AgentName,
    title: Title,
    description: Description,
    classification: Classification,
    #[serde(default)]
    labels: Vec<Label>,
    parent: Option<IssueRef>,
    blocked_by: Option<Vec<IssueRef>>,
    /// Repeats of it file nothing.
    request_id: Option<String>,
    #[serde(default, deserialize_with = "removable")]
    priority: Option<Option<Priority>>,
    #[serde(default, deserialize_with = "removable")]
    assignee: Option<Option<AgentName>>,
    #[serde(default, deserialize_with = "removable")]
    due: Option<Option<Due>>,
    #[serde(default, deserialize_with = "removable")]
    estimate: Option<Option<Estimate>>,
    #[serde(default, deserialize_with = "removable")]
    touches: Option<Option<Touches>>,
    #[serde(default, deserialize_with = "removable")]
    budget: Option<Option<Budget>>,
}

/// A new issue.
#[derive(Serialize)]
struct Filed<'a> {
    #[serde(flatten)]
    issue: WithClaim<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    near: Vec<Near<'a>>,
}

/// An open issue with nearly the title of a new one.
#[derive(Serialize)]
struct Near<'a> {
    id: IssueId,
    title: &'a str,
}

/// Files an issue.
pub(super) async fn file(
    State(state): State<WebState>,
    Write { body, .. }: Write<FileBody>,
) -> Result<Response, ErrorJson> {
    let FileBody { agent, title, description, classification, request_id, .. } = body;
    let details = IssueChange {
        values: values!(body),
        labels_add: body.labels,
        parent: body.parent.map(Some),
        blocked_by: body.blocked_by,
        ..IssueChange::default()
    };
    let issue = NewIssue { details, ..NewIssue::new(title, description, classification) };
    let issues = |ids: &[IssueId]| {
        Ok::<_, StoreError>(ids.iter().map(|id| NewIssue { id: *id, ..issue.clone() }).collect())
    };
    let filed = state.tracker.file(request_id.as_deref(), agent, 1, issues).await;
    let (issues, _) = filed.map_err(WebError::of_change)?;
    let near = state.tracker.near_titles(&issues).await;
    let near = near.iter().map(|issue| Near { id: issue.id, title: &issue.title }).collect();
    let issue = &issues[0];
    let location = [(header::LOCATION, format!("/api/issues/{}", issue.id))];
    let answer = respond(issue, &Filed { issue: WithClaim::from(&**issue), near });
    Ok((StatusCode::CREATED, location, answer).into_response())
}

/// A change of texts, attributes and links. What is absent stays.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct EditBody {
    agent: AgentName,
    title: Option<Title>,
    description: Option<Description>,
    classification: Option<Classification>,
    #[serde(default)]
    labels_add: Vec<Label>,
    #[serde(default)]
    labels_remove: Vec<Label>,
    #[serde(default, deserialize_with = "removable")]
    parent: Option<Option<IssueRef>>,
    blocked_by: Option<Vec<IssueRef>>,
    comment: Option<CommentText>,
    /// The version that the caller knows; another one refuses the change.
    if_version: Option<String>,
    #[serde(default, deserialize_with = "removable")]
    priority: Option<Option<Priority>>,
    #[serde(default, deserialize_with = "removable")]
    assignee: Option<Option<AgentName>>,
    #[serde(default, deserialize_with = "removable")]
    due: Option<Option<Due>>,
    #[serde(default, deserialize_with = "removable")]
    estimate: Option<Option<Estimate>>,
    #[serde(default, deserialize_with = "removable")]
    touches: Option<Option<Touches>>,
    #[serde(default, deserialize_with = "removable")]
    budget: Option<Option<Budget>>,
}

/// Changes an issue.
pub(super) async fn edit(
    State(state): State<WebState>,
    asked: Asked,
    Write { body, .. }: Write<EditBody>,
) -> Result<Response, ErrorJson> {
    let known = IssueAtVersion { issue: named(asked)?, version: body.if_version };
    let change = IssueChange {
        title: body.title,
        description: body.description,
        classification: body.classification,
        values: values!(body),
        labels_add: body.labels_add,
        labels_remove: body.labels_remove,
        parent: body.parent,
        blocked_by: body.blocked_by,
        comment: body.comment,
        ..IssueChange::default()
    };
    changed(state.tracker.change_issue(known, change, body.agent).await)
}

/// A comment.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CommentBody {
    agent: AgentName,
    text: CommentText,
}

/// Adds a comment.
pub(super) async fn comment(
    State(state): State<WebState>,
    asked: Asked,
    Write { body, .. }: Write<CommentBody>,
) -> Result<Response, ErrorJson> {
    changed(state.tracker.comment_issue(named(asked)?, body.text, body.agent).await)
}

/// An answer to the open question.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct AnswerBody {
    agent: AgentName,
    answer: Answer,
    /// The version that the caller knows; another one refuses the answer.
    if_version: Option<String>,
}

/// An answer in words, or the number of an option.
#[derive(Deserialize)]
#[serde(untagged, expecting = "an answer is a text that is not blank, or the number of an option")]
enum Answer {
    Option(usize),
    Text(CommentText),
}

/// Answers the open question of an issue.
pub(super) async fn answer(
    State(state): State<WebState>,
    asked: Asked,
    Write { body, .. }: Write<AnswerBody>,
) -> Result<Response, ErrorJson> {
    let answer = match body.answer {
        Answer::Option(number) => QuestionAnswer::Option(number),
        Answer::Text(text) => QuestionAnswer::Text(text),
    };
    let known = IssueAtVersion { issue: named(asked)?, version: body.if_version };
    changed(state.tracker.answer_question(known, answer, body.agent).await)
}

/// How an issue ends.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CloseBody {
    agent: AgentName,
    resolution: Resolution,
    comment: CommentText,
    /// The number of the claim that the caller has.
    claim: Option<usize>,
    /// The version that the caller knows; another one refuses the end.
    if_version: Option<String>,
}

/// Closes or rejects an issue.
pub(super) async fn close(
    State(state): State<WebState>,
    asked: Asked,
    Write { body, is_lead }: Write<CloseBody>,
) -> Result<Response, ErrorJson> {
    let CloseBody { agent, resolution, comment, claim, if_version } = body;
    let known = IssueAtVersion { issue: named(asked)?, version: if_version };
    let proof = ClaimProof { number: claim, is_forced: is_lead, is_person: false };
    changed(state.tracker.close_issue(known, resolution, comment, agent, proof).await)
}
