//! The query of the board: which issues it shows.

use maud::{Markup, html};

use super::super::{components, list_filters};
use crate::query::{InvalidParameter, ListQuery, Parameters, joined};
use crate::strings::{self, attributes, board as text};
use ait_domain::{Classification, Classifications, Label, Priority, StatusSet, ValueField};
use ait_tracker::read_model::{IssueSummary, ReadView};

/// How many labels the form offers: those of the most issues.
const MAX_LABELS: usize = 100;

/// What the rows of the board can be.
const ROWS: &str = "agent";

/// A query for the board.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::pages) struct BoardQuery {
    /// An agent that acted on the issues, or that they are assigned to.
    pub agent: Option<String>,
    classification: Option<Classification>,
    label: Option<Label>,
    priority: Option<Priority>,
    /// Whether each agent has a row.
    pub has_rows: bool,
}

impl BoardQuery {
    /// Parses the query string.
    pub fn parse(query: Option<&str>) -> Result<Self, InvalidParameter> {
        let parameters = Parameters::of_page(query);
        let kinds = || joined(Classification::words_of_work());
        let priorities = || format!("0 … {}", Priority::MAX);
        let labels = || format!("1 … {} characters of a-z, 0-9 and :._/-", Label::MAX_CHARS);
        Ok(Self {
            agent: parameters.get("agent", String::new, |text| Some(text.to_owned()))?,
            classification: parameters.get(
                "classification",
                kinds,
                Classification::work_from_word,
            )?,
            label: parameters.get("label", labels, |text| text.parse().ok())?,
            priority: parameters.get("priority", priorities, |text| text.parse().ok())?,
            has_rows: parameters
                .get("rows", || ROWS.to_owned(), |text| (text == ROWS).then_some(true))?
                .is_some(),
        })
    }

    /// Returns the query of the list for the same issues in some statuses.
    pub fn list(&self, statuses: StatusSet) -> ListQuery {
        ListQuery {
            agent: self.agent.clone(),
            classification: self.classification,
            labels: self.label.iter().cloned().collect(),
            ..ListQuery::default()
        }
        .with_value(
            ValueField::Priority,
            self.priority.map(|one| one.to_string()).unwrap_or_default(),
        )
        .in_statuses(statuses)
    }

    /// Returns true if the query matches all issues.
    pub fn is_unfiltered(&self) -> bool {
        *self == Self { has_rows: self.has_rows, ..Self::default() }
    }

    /// Returns the address of the same board with or without rows.
    fn with_other_rows(&self) -> String {
        let query = self.list(StatusSet::ALL).query_string();
        match (self.has_rows, query.is_empty()) {
            (true, _) => format!("/board{query}"),
            (false, true) => format!("/board?rows={ROWS}"),
            (false, false) => format!("/board{query}&rows={ROWS}"),
        }
    }

    /// Returns true if the board shows an issue.
    pub fn shows(&self, issue: &IssueSummary, view: &ReadView) -> bool {
        let attributes = &issue.attributes;
        let involves = |agent: &String| {
            attributes.assignee.as_deref() == Some(agent)
                || view.names().find(agent).is_some_and(|name| issue.was_touched_by(name))
        };
        self.classification.is_none_or(|kind| kind == issue.classification)
            && self.priority.is_none_or(|priority| priority == attributes.effective_priority())
            && self.label.as_ref().is_none_or(|label| attributes.labels.contains(label))
            && self.agent.as_ref().is_none_or(involves)
    }

    /// Renders the filters.
    pub fn controls(&self, view: &ReadView, kinds: &Classifications) -> Markup {
        html! {
            div.board-bar {
                details #board-filters open[!self.is_unfiltered()] {
                    summary { (text::FILTERS) }
                    (self.form(view, kinds))
                }
                p { a href=(self.with_other_rows()) { (text::rows(self.has_rows)) } }
                p { a href="/wall" { (strings::wall::TITLE) } }
            }
        }
    }

    fn form(&self, view: &ReadView, kinds: &Classifications) -> Markup {
        let mut labels = view.attribute_counts().labels(MAX_LABELS);
        labels.extend(self.label.as_ref().filter(|label| !labels.contains(label)));
        let numbers =
            (0..=u64::from(Priority::MAX)).filter_map(|number| Priority::try_from(number).ok());
        html! {
            form #filters.filters method="get" action="/board" autocomplete="off" role="search"
                aria-label=(text::FILTERS)
            {
                (components::agent_filter(view, self.agent.as_deref()))
                (list_filters::of_kind(kinds, self.classification))
                @if view.attribute_counts().has(ValueField::Priority) || self.priority.is_some() {
                    (list_filters::choice(attributes::PRIORITY, "priority", attributes::ANY_PRIORITY,
                        numbers.map(|priority| {
                            (priority.to_string(), attributes::short_priority(priority), self.priority == Some(priority))
                        })))
                }
                @if !labels.is_empty() {
                    (list_filters::choice(attributes::LABEL, "label", attributes::ANY_LABEL,
                        labels.into_iter().map(|label| {
                            (label.to_string(), label.to_string(), self.label.as_ref() == Some(label))
                        })))
                }
                @if self.has_rows { input type="hidden" name="rows" value=(ROWS); }
                button type="submit" { (strings::APPLY) }
                @if !self.is_unfiltered() { a.clear href="/board" { (strings::CLEAR_FILTERS) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_behind_the_board_has_the_same_issues() {
        for (query, expected) in
            [("", ""), ("agent=ann", "?agent=ann"), ("agent=a%22b", "?agent=a%22b")]
        {
            let board = BoardQuery::parse(Some(query)).unwrap();
            assert_eq!(board.list(StatusSet::ALL).query_string(), expected);
        }
    }

    #[test]
    fn the_link_to_rows_keeps_the_filters() {
        for (query, expected) in [
            ("", "/board?rows=agent"),
            ("agent=ann", "/board?agent=ann&rows=agent"),
            ("rows=agent", "/board"),
            ("rows=agent&agent=ann", "/board?agent=ann"),
        ] {
            let board = BoardQuery::parse(Some(query)).unwrap();
            assert_eq!(board.with_other_rows(), expected);
            assert_eq!(board.is_unfiltered(), !query.contains("ann"));
        }
    }

    #[test]
    fn values_of_other_forms_are_refused() {
        for (query, parameter) in
            [("priority=5", "priority"), ("label=UI", "label"), ("rows=label", "rows")]
        {
            assert_eq!(BoardQuery::parse(Some(query)).unwrap_err().name, parameter, "{query}");
        }
    }
}
