//! The filters of the list: a form that works without scripts, and the chosen ones as links that drop them.

use maud::{Markup, html};

use super::components;
use crate::query::{ListQuery, ListState};
use crate::strings::{self, attributes};
use ait_domain::text::shortened;
use ait_domain::{Classification, Classifications, Label, Priority, Status, ValueField};
use ait_query::{SavedQueries, known_keys};
use ait_tracker::read_model::ReadView;

/// How many labels, or assignees, the form offers: those of the most issues.
const MAX_OFFERED: usize = 100;
/// How many saved queries, labels, and agents the search box offers, and how many characters of each query.
const MAX_TERMS: usize = 20;
const MAX_TERM_CHARS: usize = 80;

/// Renders the search and the other filters. It offers only filters that can find something.
pub(super) fn filters(
    query: &ListQuery,
    view: &ReadView,
    saved: &SavedQueries,
    kinds: &Classifications,
) -> Markup {
    let hidden = ["status", "label", "parent", "sort", "dir", "fields"];
    html! {
        form #filters.filters method="get" action="/" autocomplete="off" role="search" aria-label="Search and filters" {
            @for (name, value) in query.parameters() {
                @if hidden.contains(&name) { input type="hidden" name=(name) value=(value); }
            }
            label {
                span { "Search" }
                input type="search" name="q" value=(query.search) placeholder="words, or terms such as label:ui" list="terms"
                    maxlength="1000" autocomplete="off" spellcheck="false";
            }
            (terms(view, saved, kinds))
            details #more-filters.more-filters {
                summary { "Filters" }
                div {
                    (of_kind(kinds, query.classification))
                    (components::agent_filter(view, query.agent.as_deref()))
                    (attribute_filters(query, view))
                }
            }
            button type="submit" { (strings::APPLY) }
        }
        (chosen(query, view))
    }
}

/// Renders what the search box offers: saved queries, and the terms of the query language. The script completes the
/// last word with them.
fn terms(view: &ReadView, saved: &SavedQueries, kinds: &Classifications) -> Markup {
    let of = |key: &'static str| move |value: &str| format!("{key}:{value}");
    // As a value it means that there is none.
    let is_none = |name: &str| name.eq_ignore_ascii_case("none");
    let labels = view.attribute_counts();
    let labels = labels.labels(MAX_TERMS).into_iter().map(Label::as_str);
    let labels = labels.filter(|label| !is_none(label)).map(of("label"));
    let statuses = Status::OF_WORK.iter().map(|status| of("status")(status.as_str()));
    let kinds = kinds.words().map(of("kind"));
    // A name with spaces would need quotes.
    let agents = view.recent_agents(MAX_TERMS);
    let agents = agents.into_iter().filter(|name| !name.contains([' ', '"', ',']));
    let agents = agents.filter(|name| !is_none(name)).map(of("holder"));
    html! {
        datalist #terms {
            @for (name, query) in saved.iter().take(MAX_TERMS) {
                option value={ "@" (name) } label=(shortened(query, MAX_TERM_CHARS)) {}
            }
            @for term in statuses.chain(kinds).chain(labels).chain(agents) { option value=(term) {} }
            @for (key, expected) in known_keys() { option value={ (key) ":" } label=(expected) {} }
        }
    }
}

/// Renders the choice of a kind of work: those that the project uses, and the chosen one.
pub(super) fn of_kind(used: &Classifications, chosen: Option<Classification>) -> Markup {
    let other = chosen.filter(|kind| !used.contains(*kind));
    let kinds = used.iter().chain(other);
    let options = kinds.map(|kind| (kind.to_string(), kind.to_string(), chosen == Some(kind)));
    choice(strings::KIND, "classification", "any kind", options)
}

/// Renders a choice in the form. An option is its value, its name and whether it is chosen.
pub(super) fn choice(
    label: &str,
    name: &str,
    any: &str,
    options: impl Iterator<Item = (String, String, bool)>,
) -> Markup {
    html! {
        label {
            span { (label) }
            select name=(name) {
                option value="" { (any) }
                @for (value, shown, is_chosen) in options {
                    @let is_given = (value == shown).then_some("no");
                    option value=(value) selected[is_chosen] translate=[is_given] { (shown) }
                }
            }
        }
    }
}

fn attribute_filters(query: &ListQuery, view: &ReadView) -> Markup {
    let counts = view.attribute_counts();
    let labels =
        counts.labels(MAX_OFFERED).into_iter().filter(|label| !query.labels.contains(label));
    let labels: Vec<_> =
        labels.map(|label| (label.to_string(), label.to_string(), false)).collect();
    let chosen = query.assignee.as_deref();
    let mut assignees = counts.assignees(MAX_OFFERED);
    assignees.extend(chosen.filter(|name| !assignees.contains(name)));
    let is_useful = |state: ListState| match state {
        ListState::Ready => view.has_links() || counts.has_parked(),
        ListState::Blocked => view.has_links(),
        ListState::Parked => counts.has_parked(),
        ListState::Overdue => counts.has(ValueField::Due),
    };
    let states = ListState::ALL.iter().map(|state| (*state, query.states.contains(state)));
    let states = states.filter(|(state, is_set)| *is_set || is_useful(*state));
    html! {
        @for field in ValueField::ALL {
            @let value = query.values.get(field).map(String::as_str).unwrap_or_default();
            @match field {
                ValueField::Assignee => {}
                field if !counts.has(*field) && value.is_empty() => {}
                ValueField::Priority => {
                    (choice(attributes::PRIORITY, field.as_str(), attributes::ANY_PRIORITY, priorities(value).into_iter()))
                }
                field => {
                    label {
                        span { (attributes::field(*field)) }
                        input type="text" name=(field.as_str()) value=(value) placeholder=(attributes::example(*field))
                            maxlength="100" spellcheck="false";
                    }
                }
            }
        }
        @if !labels.is_empty() {
            (choice(attributes::LABEL, "label", attributes::ANY_LABEL, labels.into_iter()))
        }
        @if !assignees.is_empty() {
            (choice(attributes::ASSIGNEE, "assignee", strings::ANY_AGENT, assignees.into_iter().map(|name| {
                (name.to_owned(), name.to_owned(), chosen == Some(name))
            })))
        }
        @for (state, is_set) in states {
            label.check {
                input type="checkbox" name=(state.as_str()) value="true" checked[is_set];
                span { (state.as_str()) }
            }
        }
    }
}

/// Returns the options for the priority: each one, and what is chosen if that is something else.
fn priorities(chosen: &str) -> Vec<(String, String, bool)> {
    let mut each: Vec<_> = (0..=Priority::MAX).map(|number| number.to_string()).collect();
    if !chosen.is_empty() && !each.iter().any(|one| one == chosen) {
        each.push(chosen.to_owned());
    }
    let option = |value: String| {
        let name = attributes::filter(ValueField::Priority, &value);
        let is_chosen = value == chosen;
        (value, name, is_chosen)
    };
    each.into_iter().map(option).collect()
}

/// Renders what is chosen besides search and status, each with a link to the list without it.
fn chosen(query: &ListQuery, view: &ReadView) -> Markup {
    let chosen = without_each(query, view);
    html! {
        @if !chosen.is_empty() {
            ul #chosen.chosen aria-label="Chosen filters" {
                @for (name, query) in &chosen {
                    li { a.chip href={ "/" (query.query_string()) } { (name) span.drop { "remove" } } }
                }
                li { a.clear href="/" { (strings::CLEAR_FILTERS) } }
            }
        }
    }
}

/// Returns each chosen filter with the query without it.
fn without_each(query: &ListQuery, view: &ReadView) -> Vec<(Markup, ListQuery)> {
    let base = query.at_page(0);
    let mut chosen = Vec::new();
    let parent = query.parent.as_ref().and_then(|parent| view.position(parent).ok());
    if let Some(position) = parent {
        let title = components::undirected(&view.summaries()[position].title);
        let name = html! { "parts of " bdi { (title) } };
        chosen.push((name, ListQuery { parent: None, ..base.clone() }));
    }
    for label in &query.labels {
        chosen.push((html! { (label) }, query.without_label(label)));
    }
    if let Some(kind) = query.classification {
        let name = html! { (kind) };
        chosen.push((name, ListQuery { classification: None, ..base.clone() }));
    }
    for (field, value) in &query.values {
        let name = html! { (attributes::filter(*field, value)) };
        chosen.push((name, query.with_value(*field, String::new())));
    }
    if let Some(agent) = &query.agent {
        let name = html! { (strings::AGENT) " " (components::agent(agent)) };
        chosen.push((name, ListQuery { agent: None, ..base.clone() }));
    }
    if let Some(assignee) = &query.assignee {
        let name = html! { (attributes::FOR) (components::agent(assignee)) };
        chosen.push((name, ListQuery { assignee: None, ..base }));
    }
    let states = query.states.iter();
    chosen.extend(states.map(|state| (html! { (state.as_str()) }, query.without_state(*state))));
    chosen
}
