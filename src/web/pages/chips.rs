//! Chips: the attributes of an issue as links to the list of issues that have the same.

use maud::{Markup, html};
use xxhash_rust::xxh3::xxh3_64;

use super::components::{self, undirected};
use super::icons;
use crate::domain::text::shortened;
use crate::domain::{Label, Parked, Priority, Timestamp};
use crate::read_model::{IssueSummary, ReadView};
use crate::web::query::ListQuery;
use crate::web::strings::attributes as text;

/// How many characters of a reason a chip shows on hover.
const MAX_REASON_CHARS: usize = 200;
/// How many colours labels have in the style sheet.
const TINTS: u64 = 12;
/// How many blockers a chip names on hover.
const MAX_BLOCKERS: usize = 5;

/// What the chips of all issues on a page have in common.
pub(super) struct Chips<'a, 'b> {
    pub view: &'a ReadView<'b>,
    pub now: Timestamp,
    /// The query that the links narrow.
    pub query: ListQuery,
}

impl Chips<'_, '_> {
    /// Renders the chips of an issue: nothing if it has no attributes.
    pub fn of(&self, issue: &IssueSummary) -> Markup {
        let attributes = &issue.attributes;
        let blockers: Vec<_> = self.view.open_blockers(issue).collect();
        let parked = attributes.parked.as_ref().filter(|_| issue.is_open_and_parked_at(self.now));
        html! {
            @if let Some(priority) = attributes.priority { (self.priority(priority)) }
            @for label in &attributes.labels { (self.label(label)) }
            @if let Some(assignee) = &attributes.assignee { (self.assignee(assignee)) }
            @if let Some(parked) = parked { (self.parked(parked)) }
            @if !blockers.is_empty() {
                @let query = ListQuery { is_blocked: true, ..self.query.at_page(0) };
                @let names: Vec<_> = blockers.iter().take(MAX_BLOCKERS).map(|id| id.short()).collect();
                a.chip.blocked href=(path(&query))
                    title=(text::waits_for(&names.join(", "), blockers.len() - names.len()))
                {
                    (icons::other("blocked")) (text::BLOCKED)
                }
            }
        }
    }

    fn priority(&self, priority: Priority) -> Markup {
        let query = ListQuery { priorities: vec![priority], ..self.query.at_page(0) };
        html! {
            a class={ "chip priority-" (priority) } href=(path(&query)) title=(text::priority(priority)) {
                (text::short_priority(priority))
            }
        }
    }

    fn label(&self, label: &Label) -> Markup {
        html! { a class={ "chip label tint-" (tint(label)) } href=(path(&self.query.with_label(label))) { (label) } }
    }

    fn assignee(&self, assignee: &str) -> Markup {
        let query = ListQuery { assignee: Some(assignee.to_owned()), ..self.query.at_page(0) };
        html! { a.chip href=(path(&query)) { (text::FOR) (components::agent(assignee)) } }
    }

    fn parked(&self, parked: &Parked) -> Markup {
        let query = ListQuery { is_parked: true, ..self.query.at_page(0) };
        let reason = undirected(&shortened(&parked.reason, MAX_REASON_CHARS));
        html! {
            a.chip.parked href=(path(&query)) title=(reason) {
                (icons::other("parked"))
                @if parked.question.is_some() { (text::QUESTION) } @else { (text::PARKED) }
            }
        }
    }
}

/// Returns the number of the colour of a label, which is the same everywhere.
fn tint(label: &Label) -> u64 {
    xxh3_64(label.as_str().as_bytes()) % TINTS
}

fn path(query: &ListQuery) -> String {
    format!("/{}", query.query_string())
}
