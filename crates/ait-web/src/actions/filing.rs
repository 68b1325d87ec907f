//! Files an issue: the page with the form, and what it sends.
//!
//! The form has the id that the issue gets, and its token is bound to that id. If it is sent twice, only the first
//! takes effect, as with all other forms.

use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};

use super::action::{Action, FILE_PATH};
use super::done::Done;
use super::fields::{self, Fields};
use super::form_token::{FormTokens, Purpose};
use super::forms;
use super::handler::{Received, page};
use super::person::{ActingPerson, Person, your_name};
use crate::WebState;
use crate::pages::components;
use crate::pages::error::{ErrorPage, WebError};
use crate::strings::actions as text;
use ait_domain::{DomainError, IssueId, Template};
use ait_tracker::hints;
use ait_tracker::{NewIssue, StoreError};

/// Shows an empty form. With templates, it begins with that of the kind that the query names, or of the first kind.
pub(super) async fn show_form(
    State(state): State<WebState>,
    RawQuery(query): RawQuery,
    ActingPerson(person): ActingPerson,
) -> Result<Response, ErrorPage> {
    let tokens = state.form_tokens.as_deref().ok_or_else(WebError::not_found)?;
    let person = person.ok_or_else(|| WebError::forbidden(text::READ_ONLY_TOKEN))?;
    // Nothing can be filed then.
    if let Some(damage) = state.tracker.damage().await {
        return Err(damage.into());
    }
    let known = known(&state).await;
    let templates = state.tracker.templates().await;
    let given = Fields::parse(query.unwrap_or_default().as_bytes());
    let mut kinds = state.tracker.classifications().iter();
    let first = kinds.clone().next();
    let kind = kinds.find(|kind| kind.as_str() == given.get(fields::KIND)).or(first);
    let template = templates.iter().find(|template| Some(template.kind) == kind);
    let fields = template.map_or_else(Fields::default, |template| {
        Fields::default()
            .with(fields::KIND, template.kind.as_str())
            .with(fields::TEXT, &*template.text)
    });
    let form = NewIssueForm { state: &state, tokens, person, fields, known, templates };
    Ok(form.form_page(StatusCode::OK, NewIssue::random_id(), None))
}

/// Takes the form.
pub(super) async fn submit(
    State(state): State<WebState>,
    Received { tokens, person, fields }: Received,
) -> Response {
    let known = known(&state).await;
    let templates = state.tracker.templates().await;
    NewIssueForm { state: &state, tokens: &tokens, person, fields, known, templates }.file().await
}

async fn known(state: &WebState) -> Markup {
    // Without them, fields are only not completed.
    state.read_model.read(forms::known).await.unwrap_or_else(|_| html! {})
}

struct NewIssueForm<'a> {
    state: &'a WebState,
    tokens: &'a FormTokens,
    person: Person,
    fields: Fields,
    /// What completes fields.
    known: Markup,
    /// The templates of the project.
    templates: Vec<Template>,
}

impl NewIssueForm<'_> {
    async fn file(self) -> Response {
        let id = IssueId::parse(self.fields.get(fields::ID));
        let own =
            |id: &IssueId| self.tokens.is_valid(self.fields.get(fields::TOKEN), &self.purpose(*id));
        let Some(id) = id.filter(own) else {
            let problem = text::NO_LONGER_VALID.to_owned();
            return self.form_page(StatusCode::FORBIDDEN, NewIssue::random_id(), Some(problem));
        };
        let parsed = fields::agent(&self.fields).and_then(|agent| {
            Ok((agent, fields::new_issue(id, &self.fields, self.state.tracker.classifications())?))
        });
        let (agent, issue) = match parsed {
            Ok(parsed) => parsed,
            Err(problem) => return self.form_page(StatusCode::BAD_REQUEST, id, Some(problem)),
        };
        let tracker = &self.state.tracker;
        match tracker.add_issues(vec![issue], agent.clone()).await {
            Ok((_, events)) => {
                let events = tracker.change_numbers(&events).await;
                let path = components::issue_path(id);
                Done::new(Action::File, None, events).lead_to(
                    &path,
                    self.tokens,
                    &self.person,
                    &agent,
                )
            }
            Err(StoreError::Refused(DomainError::IdTaken { .. })) => {
                let problem = "This form has filed an issue already. Send it again only if you \
                     want to file another one."
                    .to_owned();
                self.form_page(StatusCode::CONFLICT, NewIssue::random_id(), Some(problem))
            }
            Err(error) => {
                let status = match error {
                    StoreError::Refused(_) => StatusCode::CONFLICT,
                    _ => StatusCode::SERVICE_UNAVAILABLE,
                };
                // With the same id, so that it is safe to send it again.
                self.form_page(status, id, Some(hints::for_store(&error, &hints::COMMANDS)))
            }
        }
    }

    fn purpose(&self, issue: IssueId) -> Purpose<'_> {
        let principal = &self.person.principal;
        Purpose { action: Action::File, is_confirmed: false, issue, version: "", principal }
    }

    /// Answers with the form as it was filled in, for an issue with an id; `problem` is what is wrong with it.
    fn form_page(&self, status: StatusCode, id: IssueId, problem: Option<String>) -> Response {
        let content = html! {
            section.action-page {
                h1 { (text::label(Action::File)) }
                @if let Some(problem) = problem {
                    p.notice.bad role="alert" dir="auto" translate="yes" { (components::with_code(&problem)) }
                }
                (self.templates())
                (self.form(id))
                (self.known)
            }
        };
        page(self.state, status, text::label(Action::File), &content)
    }

    /// Renders links to the forms that begin with a template.
    fn templates(&self) -> Markup {
        let used = self.state.tracker.classifications();
        let kinds = self.templates.iter().map(|template| template.kind);
        let kinds: Vec<_> = kinds.filter(|kind| used.contains(*kind)).collect();
        html! {
            @if !kinds.is_empty() {
                p.ways-out {
                    (text::BEGIN_WITH_TEMPLATE)
                    @for kind in kinds {
                        " " a href=(format!("{FILE_PATH}?{}={kind}", fields::KIND)) { (kind) }
                    }
                }
            }
        }
    }

    fn form(&self, id: IssueId) -> Markup {
        let fields = &self.fields;
        html! {
            form.action #act-file method="post" action=(FILE_PATH) {
                input type="hidden" name=(fields::ID) value=(id);
                input type="hidden" name=(fields::TOKEN) value=(self.tokens.token(&self.purpose(id)));
                (forms::title(fields, true))
                (forms::textarea(text::DESCRIPTION, fields, false))
                div.side-by-side {
                    (forms::kind(self.state.tracker.classifications(), fields))
                    (forms::attributes(fields, false, &your_name(fields, &self.person)))
                }
                button type="submit" { (text::label(Action::File)) }
            }
        }
    }
}
