//! Chips: the attributes of an issue as links to the list of issues that have the same.

use maud::{Markup, html};
use xxhash_rust::xxh3::xxh3_64;

use super::components::{self, undirected};
use super::icons;
use crate::markdown::one_line;
use crate::query::{ListQuery, ListState, Place, Rows};
use crate::strings::{attributes as text, relations};
use ait_domain::{
    Due, Estimate, FieldValue, IssueId, Label, Parked, Priority, Timestamp, ValueField,
};
use ait_tracker::read_model::{IssueSummary, Progress, ReadView};

/// How many characters of a reason a chip shows on hover.
const MAX_REASON_CHARS: usize = 200;
/// How many colours labels have in the style sheet: hues, each pale and deep.
const HUES: u64 = 12;
const SHADES: u64 = 2;
/// How many blockers a chip names on hover.
const MAX_BLOCKERS: usize = 5;

/// What the chips of all issues on a page have in common.
pub(super) struct Chips<'a, 'b> {
    pub view: &'a ReadView<'b>,
    pub now: Timestamp,
    /// Where the links lead.
    pub place: Place,
    /// The query that the links narrow.
    pub query: ListQuery,
}

impl Chips<'_, '_> {
    /// Renders the chips of an issue: nothing if it has no attributes.
    pub fn of(&self, issue: &IssueSummary) -> Markup {
        self.in_row(issue, None)
    }

    /// Renders the chips of an issue without what its row says by its name.
    pub fn in_row(&self, issue: &IssueSummary, by: Option<Rows>) -> Markup {
        let attributes = &issue.attributes;
        let blockers: Vec<_> = self.view.open_blockers(issue).collect();
        let parked = attributes.parked.as_ref().filter(|_| issue.is_open_and_parked_at(self.now));
        let is_said =
            |field: &ValueField| by == Some(Rows::Agent) && *field == ValueField::Assignee;
        let values = ValueField::ALL.iter().filter(|field| !is_said(field));
        let mut values = values.map(|field| self.value(*field, issue));
        let labels = attributes.labels.iter().skip(usize::from(by == Some(Rows::Label)));
        html! {
            // The priority comes first.
            @if let Some(value) = values.next() { (value) }
            @if let Some(progress) = self.view.progress(issue.id) {
                (self.parts(issue.id, progress))
            }
            @for label in labels { (self.label(label)) }
            @for value in values { (value) }
            @if let Some(parked) = parked { (self.parked(parked)) }
            @if !blockers.is_empty() {
                @let query = self.query.with_state(ListState::Blocked);
                @let names: Vec<_> = blockers.iter().take(MAX_BLOCKERS).map(|id| id.short()).collect();
                a.chip.blocked href=(self.place.address(&query))
                    title=(text::waits_for(&names.join(", "), blockers.len() - names.len()))
                {
                    (icons::other("blocked")) "blocked"
                }
            }
        }
    }

    fn value(&self, field: ValueField, issue: &IssueSummary) -> Markup {
        match FieldValue::of(field, &issue.attributes) {
            FieldValue::Priority(priority) => {
                html! { @if let Some(one) = priority { (self.priority(one)) } }
            }
            FieldValue::Assignee(name) => {
                html! { @if let Some(one) = name { (self.assignee(one.as_str())) } }
            }
            FieldValue::Due(due) => {
                html! { @if let Some(one) = due { (self.due(one, issue.status.is_open())) } }
            }
            FieldValue::Estimate(own) => estimate(own, self.view.progress(issue.id)),
            FieldValue::Touches(_) | FieldValue::Budget(_) => html! {},
        }
    }

    fn priority(&self, priority: Priority) -> Markup {
        let query = self.query.with_value(ValueField::Priority, priority.to_string());
        html! {
            a class={ "chip priority-" (priority) } href=(self.place.address(&query)) title=(format!("priority {priority}")) {
                (text::short_priority(priority))
            }
        }
    }

    fn due(&self, due: Due, is_open: bool) -> Markup {
        let is_past = is_open && due.is_past_at(self.now);
        html! {
            span.chip.overdue[is_past] { (text::due(&due.to_string(), is_past)) }
        }
    }

    fn parts(&self, whole: IssueId, progress: Progress) -> Markup {
        let query = ListQuery { parent: Some(whole.into()), ..self.query.at_page(0) };
        let Progress { ended, total, .. } = progress;
        let meaning = relations::ended(ended, total);
        html! {
            a.chip.parts href=(self.place.address(&query)) title=(meaning) {
                span aria-hidden="true" { (icons::other("parts")) " " (ended) "/" (total) } span.unseen { (meaning) }
            }
        }
    }

    fn label(&self, label: &Label) -> Markup {
        html! { a class={ "chip label " (tint(label.as_str())) } href=(self.place.address(&self.query.with_label(label))) translate="no" { (label) } }
    }

    fn assignee(&self, assignee: &str) -> Markup {
        let query = ListQuery { assignee: Some(assignee.to_owned()), ..self.query.at_page(0) };
        html! { a.chip href=(self.place.address(&query)) { (text::FOR) (components::agent(assignee)) } }
    }

    fn parked(&self, parked: &Parked) -> Markup {
        let query = self.query.with_state(ListState::Parked);
        let reason = undirected(&one_line(&parked.reason, MAX_REASON_CHARS));
        html! {
            a.chip.parked href=(self.place.address(&query)) title=(reason) {
                (icons::other("parked"))
                @if parked.question.is_some() { (text::QUESTION) } @else { (text::PARKED) }
            }
        }
    }
}

/// Renders an estimate, and the sum of those of the parts.
fn estimate(own: Option<Estimate>, progress: Option<Progress>) -> Markup {
    let parts = progress.map(|progress| progress.estimate).filter(|sum| *sum > Estimate::default());
    html! {
        @if own.is_some() || parts.is_some() { span.chip { (text::estimate(own, parts)) } }
    }
}

/// Returns the classes for the colour of a label or of a project, which is the same everywhere.
pub(super) fn tint(name: &str) -> String {
    let tint = xxh3_64(name.as_bytes()) % (HUES * SHADES);
    format!("tint-{}{}", tint % HUES, if tint < HUES { "" } else { " deep" })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn labels_have_many_colours() {
        let tints: BTreeSet<_> = (0..400).map(|number| tint(&format!("label-{number}"))).collect();
        assert_eq!(tints.len() as u64, HUES * SHADES, "{tints:?}");
    }
}
