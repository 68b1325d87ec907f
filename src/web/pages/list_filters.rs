//! The filters of the list: a form that works without scripts, and the chosen labels and parent as links that drop
//! them.

use maud::{Markup, html};

use super::parts;
use crate::domain::{Classification, Priority};
use crate::read_model::ReadView;
use crate::web::query::ListQuery;
use crate::web::strings::{self, attributes, list as text};

/// How many labels, or assignees, the form offers: those of the most issues.
const MAX_OFFERED: usize = 100;

/// Renders the search and the other filters. It offers only filters that can find something.
pub(super) fn filters(query: &ListQuery, view: &ReadView) -> Markup {
    let has_chosen = query.kind.is_some()
        || query.agent.is_some()
        || query.assignee.is_some()
        || !query.priorities.is_empty()
        || query.is_ready
        || query.is_blocked
        || query.is_parked;
    let hidden = ["status", "label", "parent", "sort", "dir", "fields"];
    html! {
        form #filters.filters method="get" action="/" autocomplete="off" role="search" aria-label=(text::FILTERS) {
            @for (name, value) in query.parameters() {
                @if hidden.contains(&name) { input type="hidden" name=(name) value=(value); }
            }
            label {
                span { (text::SEARCH) }
                input type="search" name="q" value=(query.search) placeholder=(text::SEARCH_HINT)
                    maxlength="1000" autocomplete="off" spellcheck="false";
            }
            details #more-filters.more-filters open[has_chosen] {
                summary { (text::MORE_FILTERS) }
                div {
                    (choice(strings::KIND, "classification", text::ANY_KIND, Classification::ALL.iter().map(|&kind| {
                        (kind.to_string(), strings::classification(kind).to_owned(), query.kind == Some(kind))
                    })))
                    (parts::agent_filter(view, query.agent.as_deref()))
                    (attribute_filters(query, view))
                }
            }
            button type="submit" { (strings::APPLY) }
            @if !query.is_unfiltered() { a.clear href="/" { (strings::CLEAR_FILTERS) } }
        }
        (chosen(query, view))
    }
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
                    option value=(value) selected[is_chosen] { (shown) }
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
    let flags = [
        ("ready", attributes::READY, query.is_ready, counts.has_links() || counts.has_parked()),
        ("blocked", attributes::BLOCKED, query.is_blocked, counts.has_links()),
        ("parked", attributes::PARKED, query.is_parked, counts.has_parked()),
    ];
    let flags = flags.into_iter().filter(|(_, _, is_set, is_useful)| *is_set || *is_useful);
    html! {
        @if counts.has_priorities() || !query.priorities.is_empty() {
            (choice(attributes::PRIORITY, "priority", attributes::ANY_PRIORITY, priorities(query).into_iter()))
        }
        @if !labels.is_empty() {
            (choice(attributes::LABEL, "label", attributes::ANY_LABEL, labels.into_iter()))
        }
        @if !assignees.is_empty() {
            (choice(attributes::ASSIGNEE, "assignee", strings::ANY_AGENT, assignees.into_iter().map(|name| {
                (name.to_owned(), name.to_owned(), chosen == Some(name))
            })))
        }
        @for (name, label, is_set, _) in flags {
            label.check {
                input type="checkbox" name=(name) value="true" checked[is_set];
                span { (label) }
            }
        }
    }
}

/// Returns the options for the priority: each one, and the chosen ones if they are several.
fn priorities(query: &ListQuery) -> Vec<(String, String, bool)> {
    let named = |priorities: &[Priority]| {
        let value: Vec<_> = priorities.iter().map(ToString::to_string).collect();
        let name: Vec<_> = priorities.iter().copied().map(attributes::short_priority).collect();
        (value.join(","), name.join(", "), query.priorities == priorities)
    };
    let each = (0..=u64::from(Priority::MAX)).filter_map(|number| Priority::try_from(number).ok());
    let several = (query.priorities.len() > 1).then(|| named(&query.priorities));
    each.map(|priority| named(&[priority])).chain(several).collect()
}

/// Renders the chosen labels and the chosen parent, each with a link to the list without it.
fn chosen(query: &ListQuery, view: &ReadView) -> Markup {
    let parent = query.parent.as_ref().and_then(|parent| view.position(parent).ok());
    let parent = parent.map(|position| &view.summaries()[position]);
    let drop = |query: ListQuery, name: Markup| {
        html! {
            li { a.chip href={ "/" (query.query_string()) } { (name) span.drop { (text::DROP) } } }
        }
    };
    html! {
        @if parent.is_some() || !query.labels.is_empty() {
            ul #chosen.chosen aria-label=(text::CHOSEN) {
                @if let Some(parent) = parent {
                    (drop(
                        ListQuery { parent: None, ..query.at_page(0) },
                        html! { (text::PARTS_OF) bdi { (super::parts::undirected(&parent.title)) } },
                    ))
                }
                @for label in &query.labels {
                    (drop(query.without_label(label), html! { (label) }))
                }
            }
        }
    }
}
