//! The form of the rows that need a person: puts rows of the inbox off, brings them back, and answers questions.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};

use super::action::{Action, INBOX_PATH as PATH};
use super::done::Done;
use super::fields::{BACK, OPTION, TOKEN, VERSION, hash_of};
use super::form_token::{FormTokens, Purpose};
use super::handler::{self, Received};
use super::person::{Person, known_name};
use crate::WebState;
use crate::format::DAY_MS;
use crate::lookup::find;
use crate::page_data::{self, PageData};
use crate::pages::error::{ErrorPage, WebError};
use ait_domain::{IssueId, Question, Timestamp};

/// The fields with the name of a row: to put it off until its issue changes, or for a day, and to bring it back.
pub(crate) const DONE: &str = "done";
pub(crate) const SNOOZE: &str = "snooze";
pub(crate) const SHOW: &str = "show";
/// The field with what a person answers, as [`option`] has it.
pub(crate) const ANSWER: &str = "answer";
/// The id of the form.
pub(crate) const FORM: &str = "inbox";

/// Returns what the button of an option sends: the issue, the question and the number of the option, from 1.
pub(crate) fn option(issue: IssueId, asked: &Question, number: usize) -> String {
    format!("{issue}:{}:{number}", question(asked))
}

/// Returns what a question is recognised by, so that no answer goes to another one.
fn question(asked: &Question) -> String {
    hash_of(&format!("{}\n{}", asked.text, asked.options.join("\n")))
}

/// Renders the form that the buttons of the rows send, on a page with this address.
pub(crate) fn form(tokens: &FormTokens, person: &Person, page: &str) -> Markup {
    html! {
        form #(FORM) method="post" action=(PATH) {
            input type="hidden" name=(TOKEN) value=(tokens.token(&Purpose::of_project(Action::PutOff, &person.principal)));
            input type="hidden" name=(BACK) value=(page);
            // Enter in the field for the name would press the first button, which may answer a question.
            @if person.name.is_empty() { button disabled hidden {} }
            (known_name(person))
        }
    }
}

/// Takes the form.
pub(super) async fn act(
    State(state): State<WebState>,
    received: Received,
) -> Result<Response, ErrorPage> {
    let agent = received.agent(Action::PutOff)?;
    if !received.fields.get(ANSWER).is_empty() {
        return answer(&state, received).await;
    }
    let Received { tokens, person, fields } = received;
    let given = [DONE, SNOOZE, SHOW].map(|name| (name, fields.get(name)));
    let (name, row) = given
        .into_iter()
        .find(|(_, row)| page_data::is_row(row))
        .ok_or_else(|| WebError::invalid("There is no such row in the inbox.".to_owned()))?;
    let kept = state.read_model.read(PageData::of).await?;
    let now = state.tracker.now();
    let tomorrow = now.unix_millis().saturating_add(DAY_MS.cast_signed());
    let tomorrow = Timestamp::from_unix_millis(tomorrow);
    let (action, change) = match name {
        SHOW => (Action::BringBack, PageData::bringing_back(row)),
        name => (Action::PutOff, kept.putting_off(row, now, (name == SNOOZE).then_some(tomorrow))),
    };
    let tracker = &state.tracker;
    tracker.patch_key(page_data::KEY, change, agent.clone()).await.map_err(WebError::of_change)?;
    Ok(Done::to_row(action, row).lead_to(PATH, &tokens, &person, &agent))
}

/// Answers a question with one of its options.
async fn answer(state: &WebState, received: Received) -> Result<Response, ErrorPage> {
    let Received { tokens, person, fields } = received;
    let mut given = fields.get(ANSWER).splitn(3, ':').map(str::to_owned);
    let mut next = || given.next().unwrap_or_default();
    let issue = find(state, &next()).await?;
    let is_asked = issue.open_question().map(question).unwrap_or_default() == next();
    // The version says that the issue has changed if another question is open by now, or none.
    let version = if is_asked { issue.version() } else { String::new() };
    let option = next();
    let fields = fields.with(VERSION, version).with(OPTION, option);
    Ok(handler::change(state, Received { tokens, person, fields }, Action::Answer, issue).await)
}
