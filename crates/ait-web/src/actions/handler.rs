//! One form that was sent: from its headers to the change, or to a page that says why there is none.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};

use super::action::Action;
use super::done::Done;
use super::fields::{self, Fields, FormChange};
use super::form_token::{FormTokens, Purpose};
use super::forms::IssueForms;
use super::many::way_back;
use super::person::{ActingPerson, Person};
use crate::WebState;
use crate::lookup::find;
use crate::markdown::{self, Links};
use crate::pages::error::{ErrorPage, WebError};
use crate::pages::layout::Layout;
use crate::pages::response::respond;
use crate::pages::{components, questions};
use crate::strings::{self, actions as text};
use ait_domain::text::shortened;
use ait_domain::{AgentName, ClaimProof, DomainError, Issue, IssueId, Timestamp};
use ait_http::body::{BODY_TIMEOUT, has_media_type, read_body};
use ait_http::has_own_origin;
use ait_tracker::hints;
use ait_tracker::{StoreError, Tracker};

/// The media type of forms.
const FORM: &str = "application/x-www-form-urlencoded";
/// The header in which browsers say where a request comes from (Fetch Metadata Request Headers).
pub(crate) const SEC_FETCH_SITE: &str = "sec-fetch-site";
/// How many of the changes since the version of a form an error page shows.
const MAX_SHOWN: usize = 10;
/// How many characters of a comment it shows.
const MAX_CHARS: usize = 500;

/// Leads who opens the address of a form to the page of the issue.
pub(super) async fn to_issue(asked: Result<Path<(String, String)>, PathRejection>) -> Response {
    match asked.ok().and_then(|Path((issue, _))| IssueId::parse(&issue)) {
        Some(issue) => Redirect::to(&components::issue_path(issue)).into_response(),
        None => ErrorPage::from(WebError::not_found()).into_response(),
    }
}

/// Takes a form that changes an issue.
pub(super) async fn act(
    State(state): State<WebState>,
    asked: Result<Path<(String, String)>, PathRejection>,
    Received { tokens, person, fields }: Received,
) -> Result<Response, ErrorPage> {
    let Path((asked, action)) = asked?;
    let action = Action::from_word(&action).filter(|action| action.is_on_issue());
    let action = action.ok_or_else(WebError::not_found)?;
    let issue = find(&state, &asked).await?;
    Ok(Submission { state: &state, tokens, action, person, issue, fields }.answer().await)
}

/// Changes an issue as a form says that was about several.
pub(super) async fn change(
    state: &WebState,
    Received { tokens, person, fields }: Received,
    action: Action,
    issue: Arc<Issue>,
) -> Response {
    Submission { state, tokens, action, person, issue, fields }.change(false).await
}

/// A form from a page of this server: who sent it, and its fields. Its token is still to be checked.
pub(super) struct Received {
    pub tokens: Arc<FormTokens>,
    pub person: Person,
    pub fields: Fields,
}

impl FromRequest<WebState> for Received {
    /// The request is no such form, its sender may not change issues, or its body is too large or too slow.
    type Rejection = Response;

    async fn from_request(request: Request, state: &WebState) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let Ok(ActingPerson(person)) = ActingPerson::from_request_parts(&mut parts, &()).await;
        let (tokens, person) = permitted(state, person, &parts.headers)
            .map_err(|error| ErrorPage::from(error).into_response())?;
        let fields = Fields::parse(&read_body(body, BODY_TIMEOUT).await?);
        Ok(Self { tokens, person, fields })
    }
}

impl Received {
    /// Checks the token of a form that is about no issue. Returns who sent it.
    pub fn agent(&self, action: Action) -> Result<AgentName, WebError> {
        let purpose = Purpose::of_project(action, &self.person.principal);
        if !self.tokens.is_valid(self.fields.get(fields::TOKEN), &purpose) {
            return Err(WebError::forbidden(text::NO_LONGER_VALID));
        }
        fields::agent(&self.fields).map_err(WebError::invalid)
    }
}

fn permitted(
    state: &WebState,
    person: Option<Person>,
    headers: &HeaderMap,
) -> Result<(Arc<FormTokens>, Person), WebError> {
    let tokens = state.form_tokens.clone().ok_or_else(WebError::not_found)?;
    let person = person.ok_or_else(|| WebError::forbidden(text::READ_ONLY_TOKEN))?;
    if !is_from_own_page(headers) {
        return Err(WebError::forbidden(
            "This form was not sent from a page of this server. Open the page of the issue, and \
                 use the form there.",
        ));
    }
    if !has_media_type(headers, FORM) {
        return Err(WebError::unsupported(
            "Only forms of the pages are accepted here: open the page of the issue, and use the \
                 form there.",
        ));
    }
    Ok((tokens, person))
}

/// Returns true if a form comes from a page of this server. A browser sends the origin of the page with each form, and
/// pages on other ports of this machine have other origins.
fn is_from_own_page(headers: &HeaderMap) -> bool {
    // Absent without TLS, except on this machine.
    let mut sites = headers.get_all(SEC_FETCH_SITE).iter();
    has_own_origin(headers) && sites.all(|site| site == "same-origin")
}

/// A form that came from a page of this server.
#[derive(Clone)]
struct Submission<'a> {
    state: &'a WebState,
    tokens: Arc<FormTokens>,
    action: Action,
    person: Person,
    issue: Arc<Issue>,
    fields: Fields,
}

impl Submission<'_> {
    async fn answer(self) -> Response {
        let version = self.fields.get(fields::VERSION);
        let is_confirmed = !self.fields.get(fields::CONFIRMED).is_empty();
        let purpose = Purpose {
            action: self.action,
            is_confirmed,
            issue: self.issue.id,
            version,
            principal: &self.person.principal,
        };
        if !self.tokens.is_valid(self.fields.get(fields::TOKEN), &purpose) {
            return self.refuse(StatusCode::FORBIDDEN, text::NO_LONGER_VALID, &html! {});
        }
        self.change(is_confirmed).await
    }

    /// Makes the change if the issue still has the version that the person saw.
    async fn change(self, is_confirmed: bool) -> Response {
        let version = self.fields.get(fields::VERSION);
        if self.issue.version() != version {
            return self.stale(&self.issue);
        }
        let parsed = fields::agent(&self.fields).and_then(|agent| {
            Ok((agent, FormChange::parse(self.action, &self.fields, &self.issue)?))
        });
        let (agent, change) = match parsed {
            Ok(parsed) => parsed,
            Err(problem) => return self.refuse(StatusCode::BAD_REQUEST, &problem, &html! {}),
        };
        let must_confirm = match self.action {
            Action::Return => self.issue.holder().is_some(),
            action => action == Action::Close,
        };
        if must_confirm && !is_confirmed {
            return self.confirm();
        }
        let tracker = &self.state.tracker;
        let id = self.issue.id;
        // The person has confirmed whose claim it is. The comment then names that agent.
        let is_forced = self.issue.holder().is_some();
        let proof = ClaimProof { number: None, is_forced, is_person: true };
        match change.make(tracker, id.into(), version.to_owned(), agent.clone(), proof).await {
            Ok(events) => {
                let back = match self.fields.get(fields::BACK) {
                    "" => components::issue_path(id),
                    _ => way_back(&self.fields),
                };
                let done = Done::new(self.action, None, events);
                done.lead_to(&back, &self.tokens, &self.person, &agent)
            }
            Err(error) => self.failed(error, tracker).await,
        }
    }

    async fn failed(&self, error: StoreError, tracker: &Tracker) -> Response {
        let status = match &error {
            StoreError::Refused(DomainError::VersionChanged { .. }) => {
                return match tracker.get_issue(self.issue.id.into()).await {
                    Ok(issue) => self.stale(&issue),
                    Err(error) => ErrorPage::from(error).into_response(),
                };
            }
            StoreError::Refused(_) => StatusCode::CONFLICT,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        // If the change is saved after all, the version in the form is no longer that of the issue.
        let is_uncertain = matches!(error, StoreError::Uncertain(_));
        let title = if is_uncertain { "Look at the issue first" } else { text::NOT_DONE };
        let problem = hints::for_store(&error, &hints::COMMANDS);
        self.with_form(status, title, &problem, &html! {})
    }

    /// Answers that the issue has changed since, and how.
    fn stale(&self, issue: &Arc<Issue>) -> Response {
        let known = self.fields.get(fields::VERSION).split('.').next().map(str::parse::<usize>);
        let known = known.and_then(Result::ok).unwrap_or_default();
        let newer = issue.history.len().saturating_sub(known);
        let shown = changes(issue, newer, self.state.tracker.now());
        let current = Self { issue: Arc::clone(issue), ..self.clone() };
        current.refuse(
            StatusCode::CONFLICT,
            "The issue has changed since the page was loaded, \
             perhaps because the form was sent twice.",
            &shown,
        )
    }

    /// Answers with the reason why nothing was changed, and with the form as it was filled in.
    fn refuse(&self, status: StatusCode, problem: &str, details: &Markup) -> Response {
        self.with_form(status, text::NOT_DONE, problem, details)
    }

    fn with_form(
        &self,
        status: StatusCode,
        title: &str,
        problem: &str,
        details: &Markup,
    ) -> Response {
        let action = self.action;
        let issue = &self.issue;
        let fields = if issue.version() == self.fields.get(fields::VERSION) {
            self.fields.clone()
        } else {
            self.fields.rebased(action, issue)
        };
        let content = html! {
            section.action-page {
                h1 { (title) }
                p.notice.bad role="alert" dir="auto" translate="yes" { (components::with_code(problem)) }
                (details)
                @if action == Action::Answer {
                    (questions::of_issue(issue, self.state.tracker.now(), None, |text| markdown::render(text, &Links::NONE)))
                }
                p { "Check what you typed, and send it again:" }
                (self.forms().filled(action, issue, &fields))
                p.ways-out { a href=(components::issue_path(issue.id)) { "Back to the issue" } }
            }
        };
        self.page(status, title, &content)
    }

    /// Asks whether a claim is to end, or the issue for good.
    fn confirm(&self) -> Response {
        let title = text::confirm(self.action, &components::undirected(&self.issue.title));
        let now = self.state.tracker.now();
        let consequence = self.issue.holder().map(|holder| {
            let held_for = strings::held_for(now.millis_since(holder.since));
            text::end_claim(&components::undirected(holder.agent), &held_for)
        });
        let content = html! {
            section.action-page {
                h1 dir="auto" translate="yes" { (title) }
                @if let Some(consequence) = consequence { p.notice dir="auto" translate="yes" { (consequence) } }
                @if self.action == Action::Close {
                    p.notice { (text::ENDS_FOR_AGENTS) }
                }
                (self.forms().confirmation(self.action, &self.issue, &self.fields))
            }
        };
        self.page(StatusCode::OK, &title, &content)
    }

    fn forms(&self) -> IssueForms {
        let tokens = Arc::clone(&self.tokens);
        let person = self.person.clone();
        let kinds = Arc::clone(self.state.tracker.classifications());
        IssueForms { tokens, person, done: None, kinds, near: Vec::new() }
    }

    fn page(&self, status: StatusCode, title: &str, content: &Markup) -> Response {
        page(self.state, status, title, content)
    }
}

/// Answers with a page that has forms and does not follow the store.
pub(super) fn page(
    state: &WebState,
    status: StatusCode,
    title: &str,
    content: &Markup,
) -> Response {
    let layout = Layout { title, has_forms: true, ..Layout::default() };
    respond(status, layout.around(&state.project, content))
}

/// Renders the newest entries of the history of an issue, and its status.
fn changes(issue: &Issue, count: usize, now: Timestamp) -> Markup {
    let timeline = issue.timeline();
    let newest = timeline.iter().rev().take(count.min(MAX_SHOWN));
    html! {
        h2 { "What happened since then" }
        @if count == 0 { p { "Someone edited issues.json." } }
        ul.since {
            @for entry in newest {
                li {
                    (components::agent(entry.agent)) ": " bdi { (entry.action.unwrap_or_default()) } " "
                    (components::ago(entry.at, now))
                    @if let Some(comment) = entry.comment {
                        blockquote dir="auto" { (shortened(comment, MAX_CHARS)) }
                    }
                }
            }
        }
        p {
            (strings::STATUS) ": " (components::status(issue.status))
            @if let Some(holder) = issue.holder() {
                " " (strings::issue::HELD_BY) (components::agent(holder.agent))
            }
        }
    }
}
