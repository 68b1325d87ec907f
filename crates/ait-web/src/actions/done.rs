//! What a person has just done: the notice on the next page, with a button that undoes it.
//!
//! The address of that page names the events with a seal, so that no link from elsewhere makes a page offer the undo of
//! another change. The seal is good for nothing else: no form has it as its token.

use axum::http::header;
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use form_urlencoded::Serializer;
use maud::{Markup, html};

use super::action::{Action, FILE_PATH, INBOX_PATH, MANY_PATH, UNDO_PATH};
use super::fields::{BACK, CHANGE, TOKEN};
use super::form_token::{FormTokens, Purpose};
use super::inbox::SHOW;
use super::person::{Person, known_name, name_cookie};
use crate::page_data::is_row;
use crate::query::{InvalidParameter, Parameters};
use crate::strings::actions as text;
use ait_domain::{AgentName, IssueId};
use ait_tracker::EventNumbers;

/// What a person has just done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Done {
    action: Action,
    /// How many issues it changed, if it was an action on many.
    count: Option<usize>,
    /// The events that an undo takes back; `None` if there is nothing to undo.
    events: Option<EventNumbers>,
    /// The row of the inbox that was put off, which an undo brings back.
    row: Option<String>,
}

/// Returns what the token of the form for an undo is for, or the seal of an address that may offer it.
pub(super) fn purpose<'a>(events: &'a str, is_seal: bool, person: &'a Person) -> Purpose<'a> {
    let principal = &person.principal;
    let issue = IssueId::NIL;
    Purpose { action: Action::Undo, is_confirmed: is_seal, issue, version: events, principal }
}

impl Done {
    pub fn new(action: Action, count: Option<usize>, events: Option<EventNumbers>) -> Self {
        // An undo erases nothing that was said.
        let events = events.filter(|_| action != Action::Comment);
        Self { action, count, events, row: None }
    }

    /// Returns what was done to a row of the inbox.
    pub fn to_row(action: Action, row: &str) -> Self {
        let row = (action == Action::PutOff && is_row(row)).then(|| row.to_owned());
        Self { row, ..Self::new(action, None, None) }
    }

    /// Returns true if it was this action.
    pub fn is(&self, action: Action) -> bool {
        self.action == action
    }

    /// Parses the parameters of a page; `None` if nothing was done just now.
    pub fn of(
        parameters: &Parameters,
        tokens: &FormTokens,
        person: &Person,
    ) -> Result<Option<Self>, InvalidParameter> {
        let expected = || "done=comment".to_owned();
        let Some(action) = parameters.get("done", expected, Action::from_word)? else {
            return Ok(None);
        };
        let number = |text: &str| text.parse().ok();
        let count = parameters.get("issues", || "a number".to_owned(), number)?;
        let own = |text: &str| Some(text.to_owned());
        if let Some(row) = parameters.get("row", String::new, own)? {
            return Ok(Some(Self::to_row(action, &row)));
        }
        let seal = parameters.get("seal", String::new, own)?.unwrap_or_default();
        let events = parameters.get("undo", || "undo=412".to_owned(), |text| text.parse().ok())?;
        let is_sealed = |events: &EventNumbers| {
            tokens.is_valid(&seal, &purpose(&events.to_string(), true, person))
        };
        Ok(Some(Self::new(action, count, events.filter(is_sealed))))
    }

    /// Leads to a page that says what was done, and lets the browser remember the name of the person.
    pub fn lead_to(
        &self,
        page: &str,
        tokens: &FormTokens,
        person: &Person,
        agent: &AgentName,
    ) -> Response {
        let mut query = Serializer::new(String::new());
        query.append_pair("done", self.action.as_str());
        if let Some(count) = self.count {
            query.append_pair("issues", &count.to_string());
        }
        if let Some(events) = self.events.as_ref().map(EventNumbers::to_string) {
            query.append_pair("undo", &events);
            query.append_pair("seal", &tokens.token(&purpose(&events, true, person)));
        }
        if let Some(row) = &self.row {
            query.append_pair("row", row);
        }
        let separator = if page.contains('?') { '&' } else { '?' };
        let address = format!("{page}{separator}{}", query.finish());
        let cookie = AppendHeaders([(header::SET_COOKIE, name_cookie(agent))]);
        (cookie, Redirect::to(&address)).into_response()
    }

    /// Renders what was done, on a page with this address. The script shows it as a toast, and forgets the draft of the
    /// form that was sent.
    pub fn notice(&self, page: &str, tokens: &FormTokens, person: &Person) -> Markup {
        let text = match self.count {
            Some(count) => text::done_to_many(self.action, count),
            None => text::done(self.action).to_owned(),
        };
        let sent = match (self.action, self.count) {
            (Action::Undo, _) => UNDO_PATH.to_owned(),
            (Action::File, _) => FILE_PATH.to_owned(),
            (_, Some(_)) => MANY_PATH.to_owned(),
            (action, None) => format!("{page}/actions/{}", action.as_str()),
        };
        html! {
            div #done.notice role="status" data-sent=(sent) data-label="The last action" {
                p { (text) }
                @if let Some(events) = self.events.as_ref().map(EventNumbers::to_string) {
                    form.undo method="post" action=(UNDO_PATH) {
                        input type="hidden" name=(TOKEN) value=(tokens.token(&purpose(&events, false, person)));
                        input type="hidden" name=(CHANGE) value=(events);
                        input type="hidden" name=(BACK) value=(page);
                        (known_name(person))
                        button type="submit" { (text::undo(self.action)) }
                    }
                }
                @if let Some(row) = &self.row {
                    form.undo method="post" action=(INBOX_PATH) {
                        input type="hidden" name=(TOKEN) value=(tokens.token(&Purpose::of_project(self.action, &person.principal)));
                        (known_name(person))
                        button type="submit" name=(SHOW) value=(row) { (text::undo(self.action)) }
                    }
                }
            }
        }
    }
}
