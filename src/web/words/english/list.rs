//! On the list of issues, in English.

use super::counted;
use crate::web::words::list::List;

pub(super) const LIST: List = List {
    statuses: "Status",
    all: "All",
    open: "Open",
    filters: "Search and filters",
    search: "Search",
    search_hint: "words, or the beginning of an id",
    kind: "Kind",
    any_kind: "any kind",
    agent: "Agent",
    any_agent: "any agent",
    apply: "Apply",
    clear: "Clear all",
    caption: |count, is_exact| {
        let more = if is_exact { "" } else { "more than " };
        format!("{more}{}", counted(count, "issue", "issues"))
    },
    issue: "Issue",
    status: "Status",
    activity: "Last activity",
    created: "Created",
    comments: |count| counted(count, "comment", "comments"),
    held_by: "held by",
    since: |span| format!("for {span}"),
    no_activity: "none",
    paging: "Pages of the list",
    previous: "Previous",
    next: "Next",
    part: |first, last, total, is_exact| {
        let more = if is_exact { "" } else { "more than " };
        format!("{first} to {last} of {more}{total}")
    },
    too_many: |limit| {
        format!("More than {limit} issues fit: add a word or a filter to see the one you look for.")
    },
    empty: "No issues yet",
    empty_before: "Connect a coding agent and ask it to file the first one:",
    connect: "claude mcp add issues -- ait",
    empty_after: "It calls the tool add_issue with a title, a description, a classification (bug, \
                  improvement or feature) and its name. What it files shows up here at once.",
    nothing_fits: "No issue fits",
    nothing_fits_advice: "Every filter and every word has to fit. See all issues:",
};
