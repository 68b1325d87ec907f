//! The filters of the list and of the board: a form that works without scripts, and the chosen ones as links that drop
//! them.

use maud::{Markup, html};

use super::components::{self, undirected};
use super::icons;
use crate::actions::many::ManyForms;
use crate::actions::views;
use crate::page_data::PageData;
use crate::query::{ListQuery, ListState, Place, Rows};
use crate::strings::{self, attributes, board as text};
use ait_domain::text::shortened;
use ait_domain::{Classification, Classifications, Label, Priority, Status, StatusSet, ValueField};
use ait_query::{SavedQueries, known_keys};
use ait_tracker::read_model::ReadView;

/// How many labels, or assignees, the form offers: those of the most issues.
const MAX_OFFERED: usize = 100;
/// How many saved queries the page offers, and how many characters of each it shows on hover.
const MAX_SAVED: usize = 30;
const MAX_SAVED_CHARS: usize = 300;
/// How many saved queries, labels, and agents the search box offers, and how many characters of each query.
const MAX_TERMS: usize = 20;
const MAX_TERM_CHARS: usize = 80;

/// The filters of a page.
pub(super) struct Filters<'a, 'b> {
    pub place: Place,
    pub query: &'a ListQuery,
    pub view: &'a ReadView<'b>,
    pub saved: &'a SavedQueries,
    /// The kinds of work that the project uses.
    pub kinds: &'a Classifications,
    /// The forms of a person who may change issues.
    pub forms: Option<&'a ManyForms>,
    /// Whether the search is without mistakes.
    pub is_valid: bool,
}

impl Filters<'_, '_> {
    /// Returns the address of the page with another query.
    fn address(&self, query: &ListQuery) -> String {
        self.place.address(query)
    }

    /// Renders the links to the saved queries of the settings and to the views that people saved, and the form for
    /// another.
    pub fn saved(&self) -> Markup {
        let of_settings = self.saved.iter().take(MAX_SAVED).map(|(name, query)| {
            let link = ListQuery { search: format!("@{name}"), ..ListQuery::default() };
            let is_current = link.search == self.query.search;
            (format!("@{name}"), self.address(&link), shortened(query, MAX_SAVED_CHARS), is_current)
        });
        let shown = self.place.query_string(&self.query.at_page(0));
        let views = PageData::of(self.view).views;
        let of_page = views.iter().map(|(name, saved)| {
            let (place, query) = self.place.with_view(saved);
            let about = shortened(saved, MAX_SAVED_CHARS);
            (undirected(name), place.address(&query), about, *saved == shown)
        });
        let all: Vec<_> = of_settings.chain(of_page).collect();
        let current = views.iter().find(|(_, saved)| **saved == shown);
        let current = current.map(|(name, _)| name.as_str());
        html! {
            @if !all.is_empty() {
                nav #saved.saved aria-label="Saved queries" {
                    ul {
                        @for (name, address, about, is_current) in all {
                            li {
                                a href=(address) title=(about) aria-current=[is_current.then_some("true")] { (name) }
                            }
                        }
                    }
                }
            }
            @let is_view = self.place.rows().is_some() || !self.query.is_unfiltered();
            @if let Some(forms) = self.forms.filter(|_| is_view && self.is_valid) {
                (views::form(forms, &self.address(&self.query.at_page(0)), current))
            }
        }
    }

    /// Renders the search and the other filters. It offers only filters that can find something.
    pub fn form(&self) -> Markup {
        let Self { place, query, view, saved, kinds, .. } = *self;
        let hidden = ["status", "label", "parent", "sort", "dir", "fields"];
        html! {
            form #filters.filters method="get" action=(place.path()) autocomplete="off" role="search"
                aria-label="Search and filters"
            {
                @for (name, value) in query.parameters() {
                    @if hidden.contains(&name) { input type="hidden" name=(name) value=(value); }
                }
                label {
                    span { "Search" }
                    input type="search" name="q" value=(query.search) placeholder="Search, such as label:ui" list="terms"
                        maxlength="1000" autocomplete="off" spellcheck="false";
                }
                (terms(view, saved, kinds))
                @if let Place::Board(rows) = place {
                    (choice(text::ROWS, "rows", text::NO_ROWS, of_rows(&Rows::ALL[1..], rows)))
                }
                details #more-filters.more-filters {
                    summary { "Filters" }
                    div {
                        (of_kind(kinds, query.classification))
                        (components::agent_filter(view, query.agent.as_deref()))
                        (attribute_filters(query, view))
                        @if let Place::List(groups) = place {
                            (choice(text::GROUPS, "rows", text::NO_GROUPS, of_rows(Rows::ALL, groups)))
                        }
                    }
                }
                button type="submit" { (strings::APPLY) }
                (other_places(place, query))
            }
            (self.chosen())
        }
    }

    /// Renders what is chosen besides the search, each with a link to the page without it.
    fn chosen(&self) -> Markup {
        let mut chosen = without_each(self.query, self.view);
        // The list shows them by itself.
        let statuses = self.query.statuses.filter(|all| *all != StatusSet::ALL);
        if let Some(statuses) = statuses.filter(|_| self.place.is_board()) {
            let names = html! {
                @if statuses == StatusSet::open() {
                    (strings::list::OPEN)
                } @else {
                    @for status in statuses.iter() { span { (strings::status(status)) } " " }
                }
            };
            chosen.insert(0, (names, ListQuery { statuses: None, page: 0, ..self.query.clone() }));
        }
        html! {
            @if !chosen.is_empty() {
                ul #chosen.chosen aria-label="Chosen filters" {
                    @for (name, query) in &chosen {
                        li { a.chip href=(self.address(query)) { (name) span.drop { "remove" } } }
                    }
                    li { a.clear href=(self.address(&ListQuery::default())) { (strings::CLEAR_FILTERS) } }
                }
            }
        }
    }
}

/// Renders the links to other pages with the same issues.
pub(super) fn other_places(place: Place, query: &ListQuery) -> Markup {
    html! {
        a.other-place href=(place.other().address(&query.at_page(0))) title=(text::other(place)) {
            (icons::other(if place.is_board() { "lines" } else { "columns" })) span { (text::other(place)) }
        }
        @if place.is_board() { a.other-place href="/wall" { (strings::wall::TITLE) } }
    }
}

/// Returns the options for rows or groups.
fn of_rows(
    all: &'static [Rows],
    chosen: Option<Rows>,
) -> impl Iterator<Item = (String, String, bool)> {
    all.iter().map(move |one| (one.to_string(), text::rows(*one).to_owned(), chosen == Some(*one)))
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
fn of_kind(used: &Classifications, chosen: Option<Classification>) -> Markup {
    let other = chosen.filter(|kind| !used.contains(*kind));
    let kinds = used.iter().chain(other);
    let options = kinds.map(|kind| (kind.to_string(), kind.to_string(), chosen == Some(kind)));
    choice(strings::KIND, "classification", "any kind", options)
}

/// Renders a choice in the form. An option is its value, its name and whether it is chosen.
fn choice(
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

/// Returns each chosen filter with the query without it.
fn without_each(query: &ListQuery, view: &ReadView) -> Vec<(Markup, ListQuery)> {
    let base = query.at_page(0);
    let mut chosen = Vec::new();
    let parent = query.parent.as_ref().and_then(|parent| view.position(parent).ok());
    if let Some(position) = parent {
        let title = components::title(&view.summaries()[position].title);
        let name = html! { "parts of " bdi { (title) } };
        chosen.push((name, ListQuery { parent: None, ..base.clone() }));
    }
    for label in &query.labels {
        chosen.push((html! { (label) }, query.without_label(label)));
    }
    if let Some(kind) = query.classification {
        let name = html! { span translate="no" { (kind) } };
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
