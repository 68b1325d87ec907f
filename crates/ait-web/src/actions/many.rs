//! One action on many issues: the boxes and the bar of the list, and the page that asks for what an action needs.
//!
//! Each issue is sent with the version that the person saw. An issue that has another one by now is refused, so that a
//! form that is sent twice takes effect once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{Redirect, Response};
use maud::{Markup, html};

use super::action::{Action, INBOX_PATH, MANY_PATH};
use super::done::Done;
use super::fields::{self, Fields};
use super::form_token::{FormTokens, Purpose};
use super::forms::{attributes_of_many, reason};
use super::handler::{Received, page};
use super::person::{Person, known_name, your_name};
use crate::WebState;
use crate::pages::components::{self, issue_path, undirected};
use crate::pages::error::{ErrorPage, WebError};
use crate::query::Place;
use crate::strings::{self, actions as text};
use ait_domain::{AgentName, ClaimProof, Issue, IssueId};
use ait_tracker::hints;
use ait_tracker::{BulkChange, BulkOutcome, MAX_BULK, StoreError};

/// The id of the form in the bar, which has the boxes of the rows.
const BAR: &str = "act-many";

/// Leads who opens the address of a form to the list.
pub(super) async fn to_list() -> Redirect {
    Redirect::to("/")
}

/// Returns the address of the page from which a form came: that of an issue, the inbox, the board, or the list.
pub(super) fn way_back(fields: &Fields) -> String {
    let given = fields.get(fields::BACK);
    if let Some(issue) = given.strip_prefix("/issues/").and_then(IssueId::parse) {
        return issue_path(issue);
    }
    if given == INBOX_PATH {
        return INBOX_PATH.to_owned();
    }
    let (place, query) = Place::of_address(given);
    place.address(&query)
}

/// Renders the forms of the list or of the board for a person.
pub(crate) struct ManyForms {
    pub tokens: Arc<FormTokens>,
    pub person: Person,
    /// What the person has just done.
    pub done: Option<Done>,
}

impl ManyForms {
    /// Renders what the person has just done, on a list with this address.
    pub fn notice(&self, list: &str) -> Markup {
        html! { @if let Some(done) = &self.done { (done.notice(list, &self.tokens, &self.person)) } }
    }

    /// Returns what the box of an issue sends.
    pub fn selected(issue: &Issue) -> String {
        format!("{}:{}", issue.id, issue.version())
    }

    /// Renders the box that selects an issue.
    pub fn box_of(selected: &str, title: &str) -> Markup {
        select(selected, &format!("Select {title}"), None)
    }

    /// Renders the box that selects all issues of a page.
    pub fn box_of_all(selected: &[String]) -> Markup {
        select(&selected.join(" "), "Select all on this page", Some("pick-all"))
    }

    /// Renders the bar with the actions. The style sheet shows it when a box is checked.
    pub fn bar(&self, list: &str) -> Markup {
        html! {
            form #(BAR).action.many method="post" action=(MANY_PATH) aria-label="Change the selected issues" {
                input type="hidden" name=(fields::TOKEN) value=(self.tokens.token(&of_bar(&self.person)));
                input type="hidden" name=(fields::BACK) value=(list);
                p.many-count {
                    b #picked data-one="1 selected" data-many="{count} selected"
                        data-no-drop="A card cannot be dropped there: agents hand in and review issues." { "The selected issues" }
                    " " button #unpick type="button" hidden { "Clear" }
                }
                div.many-fields {
                    details #fold-many {
                        summary { "Properties" }
                        div.many-fields { (attributes_of_many(&Fields::default())) }
                    }
                    (known_name(&self.person))
                }
                p.many-buttons {
                    @for action in Action::OF_MANY {
                        button type="submit" name=(fields::ACTION) value=(action) { (text::button(action)) } " "
                    }
                }
            }
        }
    }
}

fn select(value: &str, label: &str, id: Option<&str>) -> Markup {
    html! {
        input.pick id=[id] type="checkbox" name=(fields::ISSUE) value=(value) form=(BAR) aria-label=(label)
            autocomplete="off";
    }
}

/// Returns what the token of the bar is for.
fn of_bar(person: &Person) -> Purpose<'_> {
    let issue = IssueId::NIL;
    let principal = &person.principal;
    Purpose { action: Action::Attributes, is_confirmed: false, issue, version: "", principal }
}

/// Takes a form that changes many issues.
pub(super) async fn act(
    State(state): State<WebState>,
    Received { tokens, person, fields }: Received,
) -> Result<Response, ErrorPage> {
    let action = Action::from_word(fields.get(fields::ACTION));
    let action = action.filter(|action| Action::OF_MANY.contains(action));
    let action = action.ok_or_else(WebError::not_found)?;
    let words: BTreeSet<_> =
        fields.all(fields::ISSUE).flat_map(|value| value.split(' ')).map(str::to_owned).collect();
    let version = |word: &String| {
        let (id, version) = word.split_once(':')?;
        Some((IssueId::parse(id)?, version.to_owned()))
    };
    let versions: BTreeMap<_, _> = words.iter().filter_map(version).collect();
    let chosen = Vec::from_iter(words).join(" ");
    let submission = Submission { state: &state, tokens, action, person, fields, versions, chosen };
    submission.answer().await
}

/// A form for many issues that came from a page of this server.
struct Submission<'a> {
    state: &'a WebState,
    tokens: Arc<FormTokens>,
    action: Action,
    person: Person,
    fields: Fields,
    /// The chosen issues with the versions that the person saw.
    versions: BTreeMap<IssueId, String>,
    /// The same as text.
    chosen: String,
}

impl Submission<'_> {
    async fn answer(self) -> Result<Response, ErrorPage> {
        let is_confirmed = !self.fields.get(fields::CONFIRMED).is_empty();
        let purpose = if is_confirmed { self.of_page() } else { of_bar(&self.person) };
        if self.versions.is_empty() || self.versions.len() > MAX_BULK {
            let problem = format!("Select 1 to {MAX_BULK} issues in the list, and try again.");
            return Ok(self.page(StatusCode::BAD_REQUEST, text::NOT_DONE, &problem_of(&problem)));
        }
        if !self.tokens.is_valid(self.fields.get(fields::TOKEN), &purpose) {
            return self.ask(StatusCode::FORBIDDEN, Some(text::NO_LONGER_VALID)).await;
        }
        let is_complete =
            matches!(self.action, Action::Attributes | Action::Claim | Action::Unpark);
        if !is_complete && !is_confirmed {
            return self.ask(StatusCode::OK, None).await;
        }
        let parsed = fields::agent(&self.fields)
            .and_then(|agent| Ok((agent, fields::change_of_many(self.action, &self.fields)?)));
        match parsed {
            Ok((agent, change)) => self.change(agent, change).await,
            Err(problem) => self.ask(StatusCode::BAD_REQUEST, Some(&problem)).await,
        }
    }

    async fn change(self, agent: AgentName, change: BulkChange) -> Result<Response, ErrorPage> {
        let bulk = BulkChange { versions: self.versions.clone(), ..change };
        let ids: Vec<_> = self.versions.keys().copied().collect();
        // The page before has said whose claims end.
        let proof = ClaimProof { number: None, is_forced: true, is_person: true };
        match self.state.tracker.change_many(&ids, &bulk, &agent, proof, false).await {
            Ok(outcome) if outcome.refused.is_empty() && !outcome.changed.is_empty() => {
                let back = way_back(&self.fields);
                Ok(self.done(&outcome).lead_to(&back, &self.tokens, &self.person, &agent))
            }
            Ok(outcome) => self.partly(agent, &outcome).await,
            Err(error) => {
                let status = match error {
                    StoreError::Refused(_) => StatusCode::CONFLICT,
                    _ => StatusCode::SERVICE_UNAVAILABLE,
                };
                self.ask(status, Some(&hints::for_store(&error, &hints::COMMANDS))).await
            }
        }
    }

    fn done(&self, outcome: &BulkOutcome) -> Done {
        Done::new(self.action, Some(outcome.changed.len()), outcome.events.clone())
    }

    /// Answers which issues stay as they are, and why.
    async fn partly(&self, agent: AgentName, outcome: &BulkOutcome) -> Result<Response, ErrorPage> {
        let refused = outcome.refused.iter().map(|(id, _)| *id);
        let issues = self.state.tracker.issues_around(refused).await?;
        let title = text::partly_done(outcome.changed.len(), outcome.refused.len());
        let person = Person { name: agent.to_string(), ..self.person.clone() };
        let content = html! {
            @if !outcome.changed.is_empty() {
                (self.done(outcome).notice(&way_back(&self.fields), &self.tokens, &person))
            }
            @if !outcome.unchanged.is_empty() {
                p.notice { "Already as wanted: " (text::issues(outcome.unchanged.len())) "." }
            }
            @if !outcome.refused.is_empty() {
                p { "What stays as it was, and why:" }
                ul.since {
                    @for (id, error) in &outcome.refused {
                        @let issue = issues.get(*id);
                        li {
                            a href=(issue_path(*id)) dir="auto" {
                                @match issue { Some(issue) => { (components::title(&issue.title)) } None => { (id.short()) } }
                            }
                            ": " bdi { (components::with_code(&hints::for_refusal(error, &hints::COMMANDS))) }
                        }
                    }
                }
            }
        };
        let is_nothing = outcome.changed.is_empty();
        let status = if is_nothing { StatusCode::CONFLICT } else { StatusCode::OK };
        Ok(self.page(status, &title, &content))
    }

    /// Asks for what the action needs, and shows which issues it is about and whose claims end; `problem` is what is
    /// wrong with the form that came.
    async fn ask(&self, status: StatusCode, problem: Option<&str>) -> Result<Response, ErrorPage> {
        let action = self.action;
        let found = self.state.tracker.issues_around(self.versions.keys().copied()).await?;
        let now = self.state.tracker.now();
        let ends_claims = matches!(action, Action::Return | Action::Close);
        let content = html! {
            @if let Some(problem) = problem { (problem_of(problem)) }
            ul.since {
                @for issue in self.versions.keys().filter_map(|id| found.get(*id)) {
                    li {
                        a href=(issue_path(issue.id)) dir="auto" { (components::title(&issue.title)) } " "
                        (components::status(issue.status))
                        @if let Some(holder) = issue.holder().filter(|_| ends_claims) {
                            @let held_for = strings::held_for(now.millis_since(holder.since));
                            p.quiet dir="auto" translate="yes" { (text::end_claim(&undirected(holder.agent), &held_for)) }
                        }
                    }
                }
            }
            @if action == Action::Close { p.notice { (text::ENDS_FOR_AGENTS) } }
            form.action #{ "act-many-" (action.as_str()) } method="post" action=(MANY_PATH) {
                input type="hidden" name=(fields::TOKEN) value=(self.tokens.token(&self.of_page()));
                input type="hidden" name=(fields::CONFIRMED) value="true";
                input type="hidden" name=(fields::ACTION) value=(action);
                input type="hidden" name=(fields::ISSUE) value=(self.chosen);
                input type="hidden" name=(fields::BACK) value=(way_back(&self.fields));
                @if action == Action::Attributes { (attributes_of_many(&self.fields)) } @else { (reason(action, &self.fields)) }
                (your_name(&self.fields, &self.person))
                button type="submit" { (text::label(action)) }
            }
        };
        Ok(self.page(status, &text::ask(action, self.versions.len()), &content))
    }

    /// Returns what the token of the page that asks is for: these versions of these issues alone.
    fn of_page(&self) -> Purpose<'_> {
        Purpose {
            action: self.action,
            is_confirmed: true,
            issue: IssueId::NIL,
            version: &self.chosen,
            principal: &self.person.principal,
        }
    }

    fn page(&self, status: StatusCode, title: &str, content: &Markup) -> Response {
        let content = html! {
            section.action-page {
                h1 { (title) }
                (content)
                p.ways-out { a href=(way_back(&self.fields)) { "Back to the list" } }
            }
        };
        page(self.state, status, title, &content)
    }
}

fn problem_of(problem: &str) -> Markup {
    html! { p.notice.bad role="alert" dir="auto" translate="yes" { (components::with_code(problem)) } }
}
