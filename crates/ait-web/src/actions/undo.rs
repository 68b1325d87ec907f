//! The undo of what a person has just done.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};

use super::action::Action;
use super::done::{self, Done};
use super::fields::{self, Fields};
use super::form_token::FormTokens;
use super::handler::{Received, page};
use super::many;
use super::person::Person;
use crate::WebState;
use crate::pages::components;
use crate::pages::error::ErrorPage;
use crate::strings::actions as text;
use ait_domain::undo::LeftReason;
use ait_domain::{AgentName, ClaimProof};
use ait_tracker::hints;
use ait_tracker::{EventNumbers, StoreError, UndoError, UndoOutcome, UndoSelection, UndoneIssue};

/// Takes the form that undoes an action.
pub(super) async fn act(
    State(state): State<WebState>,
    Received { tokens, person, fields }: Received,
) -> Result<Response, ErrorPage> {
    let back = many::way_back(&fields);
    let refuse = |status, problem: &str| {
        let details = html! { p.notice.bad role="alert" dir="auto" translate="yes" { (components::with_code(problem)) } };
        answer(&state, status, &details, &back)
    };
    let (agent, events) = match parse(&tokens, &person, &fields) {
        Ok(parsed) => parsed,
        Err((status, problem)) => return Ok(refuse(status, &problem)),
    };
    // As with the forms of an issue, whose holder the person sees.
    let proof = ClaimProof { number: None, is_forced: true, is_person: true };
    let selection = UndoSelection::Numbers(events);
    Ok(match state.tracker.undo(&selection, &agent, proof, false).await {
        Ok(outcome) if outcome.issues.iter().all(is_undone) => {
            let done = Done::new(Action::Undo, None, outcome.events);
            done.lead_to(&back, &tokens, &person, &agent)
        }
        Ok(outcome) => answer(&state, StatusCode::CONFLICT, &stays(&outcome), &back),
        Err(UndoError::Store(error @ StoreError::Refused(_))) => {
            refuse(StatusCode::CONFLICT, &hints::for_store(&error, &hints::COMMANDS))
        }
        Err(UndoError::Store(error)) => {
            refuse(StatusCode::SERVICE_UNAVAILABLE, &hints::for_store(&error, &hints::COMMANDS))
        }
        Err(error) => refuse(StatusCode::CONFLICT, &error.to_string()),
    })
}

fn parse(
    tokens: &FormTokens,
    person: &Person,
    fields: &Fields,
) -> Result<(AgentName, EventNumbers), (StatusCode, String)> {
    let given = fields.get(fields::CHANGE);
    if !tokens.is_valid(fields.get(fields::TOKEN), &done::purpose(given, false, person)) {
        return Err((StatusCode::FORBIDDEN, text::NO_LONGER_VALID_UNDO.to_owned()));
    }
    let invalid = |problem| (StatusCode::BAD_REQUEST, problem);
    Ok((fields::agent(fields).map_err(invalid)?, given.parse().map_err(invalid)?))
}

/// Returns true if nothing of an issue stays but what was said.
fn is_undone(issue: &UndoneIssue) -> bool {
    let is_left = issue.left.iter().any(|(_, reason)| *reason != LeftReason::Said);
    !is_left && issue.refused.is_none() && !issue.undone.is_empty()
}

/// Renders what stays, and why.
fn stays(outcome: &UndoOutcome) -> Markup {
    let undone = outcome.issues.iter().filter(|issue| !issue.undone.is_empty()).count();
    html! {
        @if undone > 0 { p.notice { (text::undone(undone)) } }
        p { "What stays, and why:" }
        ul.since {
            @for issue in outcome.issues.iter().filter(|issue| !is_undone(issue)) {
                li {
                    a href=(components::issue_path(issue.id)) dir="auto" {
                        (components::title(issue.title.as_deref().unwrap_or("gone")))
                    }
                    @for reason in hints::for_undone(issue, &hints::COMMANDS) {
                        " · " bdi { (components::with_code(&reason)) }
                    }
                }
            }
        }
    }
}

fn answer(state: &WebState, status: StatusCode, details: &Markup, back: &str) -> Response {
    let content = html! {
        section.action-page {
            h1 { (text::NOT_UNDONE) }
            (details)
            p.ways-out { a href=(back) { "Back" } }
        }
    };
    page(state, status, text::NOT_UNDONE, &content)
}
