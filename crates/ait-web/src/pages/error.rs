//! Errors, as a page and as JSON.

use axum::Json;
use axum::extract::Request;
use axum::extract::rejection::PathRejection;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde_json::{Value, json};

use super::components::{self, undirected};
use super::layout::Layout;
use super::respond;
use crate::events::StoreProbe;
use crate::project::Project;
use crate::query::InvalidParameter;
use crate::strings::{actions, errors as strings};
use ait_domain::text::shortened;
use ait_domain::{ErrorCode, ErrorDetails};
use ait_query::QueryError;
use ait_tracker::StoreError;
use ait_tracker::hints;
use ait_tracker::read_model::FoundIssue;

/// The version on pages of an unreadable store. No store has it, so these pages reload when the store is back.
const UNREADABLE_VERSION: &str = "-";
/// How many characters of the request an error repeats.
const MAX_REPEATED_CHARS: usize = 60;

/// Why a request failed, and which issues may have been meant.
#[derive(Clone, Debug)]
pub(crate) struct WebError {
    status: StatusCode,
    code: ErrorCode,
    title: &'static str,
    text: String,
    /// The heading above the links.
    offer: &'static str,
    links: Vec<FoundIssue>,
}

/// An error that is answered with a page.
#[derive(Clone)]
pub(crate) struct ErrorPage(WebError);

/// An error that is answered with JSON.
pub(crate) struct ErrorJson(WebError);

impl WebError {
    /// Returns the error for a path without a page.
    pub fn not_found() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            ErrorCode::NotFound,
            "Page not found",
            "There is no page at this address.".to_owned(),
        )
    }

    /// Returns the error for an id that no issue has.
    pub fn unknown_issue(asked: &str, suggestions: Vec<FoundIssue>) -> Self {
        let text = format!("No issue has an id that starts with “{}”.", repeatable(asked));
        Self::new(StatusCode::NOT_FOUND, ErrorCode::NotFound, strings::NO_ISSUE, text)
            .with_links(strings::SUGGESTIONS, suggestions)
    }

    /// Returns the error for a name that no agent has.
    pub fn unknown_agent(asked: &str) -> Self {
        let text = format!("No agent called “{}” has done anything.", repeatable(asked));
        Self::new(StatusCode::NOT_FOUND, ErrorCode::NotFound, "Agent not found", text)
    }

    /// Returns the error for a text that cannot be an id.
    pub fn not_an_id(asked: &str, suggestions: Vec<FoundIssue>) -> Self {
        let text = strings::not_an_id(&repeatable(asked));
        Self::new(StatusCode::NOT_FOUND, ErrorCode::Validation, strings::NO_ISSUE, text)
            .with_links(strings::SUGGESTIONS, suggestions)
    }

    /// Returns the error for the start of several ids.
    pub fn ambiguous(asked: &str, count: usize, candidates: Vec<FoundIssue>) -> Self {
        let text = format!(
            "The ids of {count} issues start with “{}”. Give more digits or pick one.",
            repeatable(asked)
        );
        Self::new(StatusCode::NOT_FOUND, ErrorCode::Ambiguous, "Several issues match", text)
            .with_links("Matching issues", candidates)
    }

    /// Returns the error for a change that the sender of a request may not make.
    pub fn forbidden(text: &str) -> Self {
        Self::plain(StatusCode::FORBIDDEN, ErrorCode::ReadOnly, text.to_owned())
    }

    /// Returns the error for a body with a mistake.
    pub fn invalid(text: String) -> Self {
        Self::plain(StatusCode::BAD_REQUEST, ErrorCode::Validation, text)
    }

    /// Returns the error for a body of another kind than expected.
    pub fn unsupported(text: &str) -> Self {
        Self::plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, ErrorCode::Validation, text.to_owned())
    }

    /// Returns the error for a change that failed.
    pub fn of_change(error: StoreError) -> Self {
        let refusal = match error {
            StoreError::Refused(refusal) => refusal,
            error => return error.into(),
        };
        let code = refusal.code();
        let status = match code {
            ErrorCode::Validation => StatusCode::BAD_REQUEST,
            ErrorCode::NotFound | ErrorCode::Ambiguous => StatusCode::NOT_FOUND,
            _ => StatusCode::CONFLICT,
        };
        Self::plain(status, code, hints::for_refusal(&refusal, &hints::COMMANDS))
    }

    /// Returns an error about a change.
    pub fn plain(status: StatusCode, code: ErrorCode, text: String) -> Self {
        Self::new(status, code, actions::NOT_DONE, text)
    }

    fn new(status: StatusCode, code: ErrorCode, title: &'static str, text: String) -> Self {
        Self { status, code, title, text, offer: "", links: Vec::new() }
    }

    fn with_links(self, offer: &'static str, links: Vec<FoundIssue>) -> Self {
        Self { offer, links, ..self }
    }
}

impl From<InvalidParameter> for WebError {
    fn from(invalid: InvalidParameter) -> Self {
        let name = repeatable(&invalid.name);
        let given = repeatable(&invalid.given);
        let text = strings::invalid_parameter(&name, &given, &invalid.expected);
        let code = ErrorCode::Validation;
        Self::new(StatusCode::BAD_REQUEST, code, "Invalid query parameter", text)
    }
}

impl From<QueryError> for WebError {
    fn from(error: QueryError) -> Self {
        let code = ErrorCode::Validation;
        Self::new(StatusCode::BAD_REQUEST, code, strings::INVALID_QUERY, error.to_string())
    }
}

impl From<StoreError> for WebError {
    fn from(error: StoreError) -> Self {
        let text = hints::for_store(&error, &hints::COMMANDS);
        Self::new(StatusCode::SERVICE_UNAVAILABLE, error.code(), "Cannot read the issues", text)
    }
}

impl From<PathRejection> for WebError {
    fn from(_: PathRejection) -> Self {
        Self::not_found()
    }
}

impl<E: Into<WebError>> From<E> for ErrorPage {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl<E: Into<WebError>> From<E> for ErrorJson {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for ErrorPage {
    fn into_response(self) -> Response {
        // The middleware renders it, which knows the project.
        let mut response = self.0.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl ErrorPage {
    /// Renders the page.
    pub fn render(&self, project: &Project, probe: &StoreProbe) -> Response {
        let Self(error) = self;
        // The error of a store that cannot be read says what is wrong with it.
        let is_of_store = error.status.is_server_error();
        let layout = Layout {
            title: error.title,
            version: is_of_store.then_some(UNREADABLE_VERSION),
            trouble: probe.trouble.as_deref().filter(|_| !is_of_store),
            attention: usize::from(probe.damage.is_some()),
            is_damaged: probe.damage.is_some(),
            ..Layout::default()
        };
        respond(error.status, layout.around(project, &content(error)))
    }
}

impl IntoResponse for ErrorJson {
    fn into_response(self) -> Response {
        let Self(error) = self;
        (error.status, [(header::CACHE_CONTROL, "no-store")], Json(json(&error))).into_response()
    }
}

/// Returns a part of a request in a form that is safe within a sentence.
fn repeatable(asked: &str) -> String {
    let printable = |character: char| if character.is_control() { '\u{fffd}' } else { character };
    let asked: String = undirected(asked).chars().map(printable).collect();
    shortened(&asked, MAX_REPEATED_CHARS)
}

fn content(error: &WebError) -> Markup {
    html! {
        section.error {
            p.error-code aria-hidden="true" { (error.status.as_u16()) }
            h1 { (error.title) }
            p.error-text dir="auto" translate="yes" { (components::with_code(&error.text)) }
            @if error.status.is_server_error() {
                p { "This page reloads as soon as the problem is solved." }
            }
            @if !error.links.is_empty() {
                h2 { (error.offer) }
                ul.offered {
                    @for link in &error.links {
                        li {
                            a href=(components::issue_path(link.id)) {
                                code { (link.id.short()) } " "
                                bdi { (components::title(&link.title)) }
                            }
                            " " (components::status(link.status))
                        }
                    }
                }
            }
            p.ways-out {
                @if error.status.is_server_error() {
                    // An empty address is that of this page.
                    a href="" { "Try again" }
                } @else {
                    a href="/?status=all" { (strings::ALL_ISSUES) }
                }
            }
        }
    }
}

fn json(error: &WebError) -> Value {
    let nearest = error.links.iter().map(|link| json!({ "id": link.id, "title": link.title }));
    let mut json = json!({ "error": error.text, "nearest": nearest.collect::<Vec<_>>() });
    let details = json!(ErrorDetails::new(error.code, None));
    if let (Value::Object(json), Value::Object(details)) = (&mut json, details) {
        json.extend(details);
    }
    json
}

/// Answers requests to unknown paths.
pub(crate) async fn not_found(request: Request) -> Response {
    let path = request.uri().path();
    if let Some(page) = without_trailing_slash(path) {
        return Redirect::permanent(page).into_response();
    }
    if is_of_api(&request) {
        return ErrorJson(WebError::not_found()).into_response();
    }
    ErrorPage(WebError::not_found()).into_response()
}

/// Returns true if a request gets its error as JSON.
pub(crate) fn is_of_api(request: &Request) -> bool {
    let path = request.uri().path();
    path == "/api" || path.starts_with("/api/")
}

/// Returns the path of a page without the slash at its end. Agents get no redirect, and paths that a browser could take
/// for the address of another server have none.
fn without_trailing_slash(path: &str) -> Option<&str> {
    let page = path.strip_suffix('/').filter(|page| page.len() > 1)?;
    let is_safe = |character: char| character.is_ascii_alphanumeric() || "/-_.".contains(character);
    let is_page = !page.contains("//") && page != "/mcp" && !page.starts_with("/mcp/");
    (is_page && page.chars().all(is_safe)).then_some(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ait_domain::{IssueId, Status};

    #[test]
    fn error_pages_sanitize_and_shorten_the_request() {
        let asked = format!("\u{202e}<b>\n{}", "x".repeat(1_000));
        let html = content(&WebError::not_an_id(&asked, Vec::new())).into_string();
        assert!(html.contains("“&lt;b&gt;\u{fffd}xxx"), "{html}");
        assert!(!html.contains('\u{202e}') && html.len() < 500, "{html}");
    }

    #[test]
    fn redirects_stay_on_this_server() {
        for (path, expected) in [
            ("/board/", Some("/board")),
            ("/issues/3f2a9c1e/", Some("/issues/3f2a9c1e")),
            ("/board", None),
            ("/mcp/", None),
            ("/mcp/x/", None),
            ("/", None),
            ("//", None),
            ("//evil.example/", None),
            ("/\\evil.example/", None),
            ("/%5cevil.example/", None),
        ] {
            assert_eq!(without_trailing_slash(path), expected, "{path}");
        }
    }

    #[test]
    fn ambiguous_id_errors_link_the_candidates() {
        let id = IssueId::parse("3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73").unwrap();
        let links = vec![FoundIssue { id, title: "a & b".into(), status: Status::InReview }];
        let error = WebError::ambiguous("3f2a9c1e", 7, links);
        let html = content(&error).into_string();
        let link = format!(
            "<a href=\"/issues/{id}\"><code>3f2a9c1e</code> <bdi>a &amp; b</bdi></a> <span class=\"badge status-in_review\">"
        );
        assert!(html.contains(&link) && html.contains("of 7 issues"), "{html}");
        let expected = json!({
            "error": "The ids of 7 issues start with “3f2a9c1e”. Give more digits or pick one.",
            "code": "AMBIGUOUS",
            "recoverable": true,
            "nearest": [{ "id": id, "title": "a & b" }],
        });
        assert_eq!(json(&error), expected);
    }
}
