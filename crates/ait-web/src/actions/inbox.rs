//! Puts rows of the inbox off, and brings them back.

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};

use super::action::{Action, INBOX_PATH as PATH};
use super::done::Done;
use super::fields::TOKEN;
use super::form_token::Purpose;
use super::handler::Received;
use super::many::ManyForms;
use super::person::known_name;
use crate::WebState;
use crate::format::DAY_MS;
use crate::page_data::{self, PageData};
use crate::pages::error::{ErrorPage, WebError};
use ait_domain::Timestamp;

/// The fields with the name of a row: to put it off until its issue changes, or for a day, and to bring it back.
pub(crate) const DONE: &str = "done";
pub(crate) const SNOOZE: &str = "snooze";
pub(crate) const SHOW: &str = "show";

/// Renders what was done, and the form that the buttons of the rows send.
pub(crate) fn form(forms: &ManyForms, id: &str) -> Markup {
    html! {
        (forms.notice(PATH))
        form id=(id) method="post" action=(PATH) {
            input type="hidden" name=(TOKEN) value=(forms.tokens.token(&Purpose::of_project(Action::PutOff, &forms.person.principal)));
            (known_name(&forms.person))
        }
    }
}

/// Takes the form.
pub(super) async fn act(
    State(state): State<WebState>,
    received: Received,
) -> Result<Response, ErrorPage> {
    let agent = received.agent(Action::PutOff)?;
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
    Ok(Done::new(action, None, None).lead_to(PATH, &tokens, &person, &agent))
}
