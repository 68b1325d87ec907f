//! Every text that the pages show, in English, by page.
//!
//! Constants are fixed texts; functions fill in numbers and names. Pages and charts contain no texts of their
//! own, so another language needs another version of this file and nothing else.

pub mod actions;
pub mod agents;
pub mod answer_api;
pub mod attention;
pub mod dialogs;
pub mod projects;
pub mod stats;
pub mod triage;
pub mod wall;

use super::format::{self, DAY_MS, HOUR_MS, WEEK_MS};
use crate::domain::{Classification, Status};
use crate::span::humanize_duration as duration;

/// The language, as a BCP 47 tag.
pub const LANGUAGE: &str = "en";

pub const ISSUE: &str = "Issue";
pub const ISSUES: &str = "Issues";
pub const STATUS: &str = "Status";
pub const KIND: &str = "Kind";
pub const AGENT: &str = "Agent";
pub const ALL: &str = "All";

pub const ANY_AGENT: &str = "any agent";
pub const APPLY: &str = "Apply";
pub const CLEAR_FILTERS: &str = "Clear filters";

pub fn status(status: Status) -> &'static str {
    match status {
        Status::Created => "created",
        Status::InProgress => "in progress",
        Status::Completed => "completed",
        Status::InReview => "in review",
        Status::Closed => "closed",
        Status::Rejected => "rejected",
    }
}

pub fn classification(classification: Classification) -> &'static str {
    match classification {
        Classification::Bug => "bug",
        Classification::Improvement => "improvement",
        Classification::Feature => "feature",
    }
}

pub fn ago(span_ms: u64) -> String {
    format!("{} ago", duration(span_ms))
}

/// How long an agent has held an issue.
pub fn held_for(span_ms: u64) -> String {
    format!("for {}", duration(span_ms))
}

pub fn returned(count: usize) -> String {
    match count {
        1 => "returned once".to_owned(),
        _ => format!("returned {count} times"),
    }
}

fn counted(count: usize, singular: &str, plural: &str) -> String {
    format!("{count} {}", if count == 1 { singular } else { plural })
}

/// Around every page.
pub mod layout {
    pub const SKIP: &str = "Skip to content";
    pub const PAGES: &str = "Pages";
    pub const READ_ONLY: &str =
        "These pages are read-only. Agents change issues through MCP, people on the command line.";
    pub const AS_JSON: &str = "View as JSON";
    pub const AS_CSV: &str = "Download as CSV";
    pub const CONNECTING: &str = "connecting";
    pub const CONNECTED: &str = "live";
    /// `{time}` is when the page was last known to be up to date.
    pub const DISCONNECTED: &str = "stale since {time}, ages as of then: reconnecting";
    pub const STALE: &str = "stale since {time}, ages as of then: reloading";
    pub const PAUSED: &str = "paused, ages as of {time}";
    pub const FAILING: &str = "waiting for the store";
    pub const PAUSE: &str = "Pause";
    pub const RESUME: &str = "Resume";
    /// Shows the changes that came while the page was paused.
    pub const STEP: &str = "{count} new";
    pub const CHANGED: &str = "The page has been updated.";

    /// The title in the browser's tab: what needs attention, and how many issues are open.
    pub fn tab(attention: usize, open: Option<usize>, title: &str, project: &str) -> String {
        let attention = if attention > 0 { format!("{attention}! ") } else { String::new() };
        match open {
            Some(open) => format!("{attention}({open}) {title} · {project}"),
            None => format!("{attention}{title} · {project}"),
        }
    }

    /// What to do on a page with forms without the script: a reload would take away what was typed.
    pub const RELOAD: &str = "reload the page to see changes";

    /// How the page updates itself without the script.
    pub fn reloads(seconds: u32) -> String {
        format!("reloads every {seconds} s")
    }
}

pub mod list {
    pub const OPEN: &str = "Open";
    pub const FILTERS: &str = "Search and filters";
    pub const MORE_FILTERS: &str = "Filters";
    pub const SAVED: &str = "Saved queries";
    pub const SEARCH: &str = "Search";
    pub const SEARCH_HINT: &str = "words, or the start of an id";
    pub const ANY_KIND: &str = "any kind";
    pub const LAST_ACTIVITY: &str = "Last activity";
    pub const CREATED: &str = "Created";
    pub const HELD_BY: &str = "held by";
    pub const NO_ACTIVITY: &str = "none";
    pub const CHOSEN: &str = "Chosen filters";
    pub const PARTS_OF: &str = "parts of ";
    pub const DROP: &str = "remove";
    pub const PAGING: &str = "Pages of the list";
    pub const PREVIOUS: &str = "Previous";
    pub const NEXT: &str = "Next";
    pub const EMPTY: &str = "No issues yet";
    pub const FILE_FIRST: &str = "File the first issue, in a terminal in your project:";
    pub const FILE_COMMAND: &str = "ait add 'TITLE'";
    pub const CONNECT: &str =
        "Or connect your coding agents, so that they file issues and work on them:";
    pub const CONNECT_COMMAND: &str = "ait init";
    pub const APPEARS: &str = "New issues appear here at once.";
    pub const NO_MATCH: &str = "No matching issues";
    pub const NO_MATCH_ADVICE: &str = "An issue must match every word and every filter.";
    pub const NEAREST: &str = "The issues with the most of the words:";

    /// `total` is a lower bound unless `is_exact`.
    pub fn caption(total: usize, is_exact: bool) -> String {
        let issues = super::counted(total, "issue", "issues");
        if is_exact { issues } else { format!("more than {issues}") }
    }

    pub fn comments(count: usize) -> String {
        super::counted(count, "comment", "comments")
    }

    /// Which rows of the list the page shows. `total` is a lower bound unless `is_exact`.
    pub fn range(first: usize, last: usize, total: usize, is_exact: bool) -> String {
        format!("{first} to {last} of {}{total}", if is_exact { "" } else { "more than " })
    }

    pub fn too_many(limit: usize) -> String {
        format!("More than {limit} issues match. Add a word or a filter to narrow the list.")
    }
}

/// The attributes of issues, as chips and in filters.
pub mod attributes {
    use crate::domain::Priority;

    pub const PRIORITY: &str = "Priority";
    pub const ANY_PRIORITY: &str = "any priority";
    pub const LABEL: &str = "Label";
    pub const LABELS: &str = "Labels";
    pub const ANY_LABEL: &str = "any label";
    pub const ASSIGNEE: &str = "Assigned to";
    pub const FOR: &str = "for ";
    pub const READY: &str = "ready";
    pub const BLOCKED: &str = "blocked";
    pub const PARKED: &str = "parked";
    pub const QUESTION: &str = "question";

    /// Which texts are labels.
    pub fn label_form(max_chars: usize) -> String {
        format!("1 … {max_chars} characters of a-z, 0-9 and :._/-")
    }

    pub fn priority(priority: Priority) -> String {
        format!("priority {priority}")
    }

    pub fn short_priority(priority: Priority) -> String {
        format!("P{priority}")
    }

    /// `blockers` are ids; there are `more` of them.
    pub fn waits_for(blockers: &str, more: usize) -> String {
        match more {
            0 => format!("waits for {blockers}"),
            more => format!("waits for {blockers} and {more} more"),
        }
    }
}

/// The drawing of what blocks what.
pub mod graph {
    pub const HEADING: &str = "What blocks what";
    pub const DRAWING: &str = "Drawing of what blocks what";
    pub const AS_TEXT: &str = "Show as text";
    pub const BLOCKS: &str = "blocks";

    pub fn description(count: usize) -> String {
        format!(
            "{count} issues. Arrows lead from each blocker to what it blocks, from left to right. The list below says \
             the same."
        )
    }

    /// What a box stands for. Begins with the text in the box.
    pub fn name(short_id: &str, title: &str, status: &str) -> String {
        format!("{short_id} {title} ({status})")
    }

    pub fn hidden(count: usize, is_exact: bool) -> String {
        let issues = super::counted(count, "further issue", "further issues");
        let verb = if count == 1 { "is" } else { "are" };
        format!("{}{issues} {verb} not drawn.", if is_exact { "" } else { "At least " })
    }
}

/// What a change did to an issue.
pub mod changes {
    pub const TITLE: &str = "Title";
    pub const DESCRIPTION: &str = "Description";
    pub const REMOVED: &str = "none";
}

/// The issues that an issue is linked with.
pub mod relations {
    use crate::domain::LinkKind;
    use crate::read_model::Relation;

    pub const LINKS: &str = "Links";
    pub const UNKNOWN: &str = "not in this store";

    pub fn heading(relation: Relation) -> &'static str {
        match relation {
            Relation::Parent => "Part of",
            Relation::Parts => "Parts",
            Relation::BlockedBy => "Blocked by",
            Relation::Blocks => "Blocks",
            Relation::Related => "Related",
            Relation::DuplicateOf => "Duplicate of",
            Relation::Duplicates => "Duplicates",
        }
    }

    /// What an issue is to the one that its link leads to.
    pub fn kind(kind: LinkKind) -> &'static str {
        match kind {
            LinkKind::Parent => "part of",
            LinkKind::BlockedBy => "blocked by",
            LinkKind::Related => "related to",
            LinkKind::DuplicateOf => "duplicate of",
        }
    }

    pub fn done(ended: usize, total: usize) -> String {
        format!("{ended} of {total} done")
    }

    pub fn more(count: usize) -> String {
        format!("and {count} more")
    }
}

pub mod claims {
    pub fn client_gone(lapses_in_ms: Option<u64>) -> String {
        match lapses_in_ms {
            Some(ms) => format!("agent gone, claim lapses in {}", super::duration(ms)),
            None => "agent gone".to_owned(),
        }
    }
}

pub mod questions {
    pub const HEADING: &str = "Questions to people";
    pub const QUESTION: &str = "Question to people";
    pub const ASKED_BY: &str = "asked by ";
    pub const ANSWER_WITH: &str = "answer in a terminal: ";

    pub fn command(short_id: &str) -> String {
        format!("ait answer {short_id} 'TEXT'")
    }

    pub fn more(count: usize) -> String {
        format!("{count} more: `ait questions` lists them all")
    }
}

pub mod board {
    pub const TITLE: &str = "Board";
    pub const EMPTY_COLUMN: &str = "no issues";
    pub const STALE_CLAIM: &str = "stale claim";

    pub fn waiting(span_ms: u64) -> String {
        format!("waiting for {}", super::duration(span_ms))
    }

    pub fn more(count: usize) -> String {
        format!("{count} more")
    }

    pub const FILTERS: &str = "Filters";
    pub const COLUMNS: &str = "Columns of the board";
    pub const BY_AGENT: &str = "Lanes by agent";
    pub const BY_STATUS: &str = "Columns only";
    /// The lane of the issues that no agent has.
    pub const NO_AGENT: &str = "no agent";
    pub const NO_MATCH: &str = "No issue matches the filters.";

    /// How many claims of a column are old.
    pub fn stale(count: usize) -> String {
        format!("{count} stale")
    }

    /// The lanes that the page leaves out.
    pub fn more_lanes(count: usize) -> String {
        format!("{count} more agents have issues: choose one in the filters")
    }
}

pub mod activity {
    pub const TITLE: &str = "Activity";
    pub const FILTERS: &str = "Filters";
    pub const EVENT: &str = "Event";
    pub const ANY_EVENT: &str = "any event";
    pub const ISSUE_HINT: &str = "id, or its first 8 digits";
    pub const WHEN: &str = "When";
    pub const ANY_TIME: &str = "any time";
    /// Values of the query parameter `since`, and their names.
    pub const PERIODS: [(&str, &str); 4] = [
        ("1h", "last hour"),
        ("24h", "last 24 hours"),
        ("7d", "last 7 days"),
        ("30d", "last 30 days"),
    ];
    /// Stands where an event concerns no single issue.
    pub const NO_ISSUE: &str = "the issue file";
    pub const PAGING: &str = "Pages of events";
    pub const NEWEST: &str = "Newest";
    pub const NEWER: &str = "Newer";
    pub const OLDER: &str = "Older";
    pub const EMPTY: &str = "Nothing has happened yet. Each change from now on appears here.";
    pub const NO_MATCH: &str = "No event matches the filters.";
    pub const SHOW_ALL: &str = "Show all events";
    pub const SUBSCRIBE: &str = "Subscribe to the feed";

    /// The title of the feed.
    pub fn feed(project: &str) -> String {
        format!("{TITLE} · {project}")
    }

    pub fn caption(count: usize) -> String {
        super::counted(count, "event", "events")
    }

    /// What an agent did in an event of this kind.
    pub fn action(kind: &str) -> &'static str {
        match kind {
            "filed" => "filed",
            "imported" => "imported",
            "edited" => "edited",
            "removed" => "removed",
            "unknown_keys_edited" => "edited other keys",
            "claimed" => "claimed for work",
            "review_started" => "claimed for review",
            "lapsed" => "lost the claim",
            "returned" => "returned",
            "completed" => "completed",
            "closed" => "closed",
            "rejected" => "rejected",
            "commented" => "commented on",
            _ => "changed",
        }
    }

    /// The title of an event in the feed.
    pub fn sentence(agent: &str, action: &str, title: &str) -> String {
        format!("{agent} {action}: {title}")
    }

    pub fn gap(span_ms: u64) -> String {
        format!("nothing for {}", super::duration(span_ms))
    }

    pub fn search_cut(count: usize) -> String {
        format!("Searched {count} events for this page. Older events may match, too.")
    }

    pub fn no_longer_kept(number: u64) -> String {
        format!("Events before number {number} are no longer kept.")
    }
}

pub mod issue {
    use crate::domain::{Status, Timestamp};

    pub const BREADCRUMB: &str = "Breadcrumb";
    pub const HELD_BY: &str = "held by ";
    pub const COPY: &str = "Copy";
    pub const COPY_ID: &str = "Copy id";
    pub const COPIED: &str = "Id copied.";
    pub const COPIED_OTHER: &str = "Copied.";
    pub const COPY_BRANCH: &str = "Copy branch";
    pub const COPY_COMMAND: &str = "Copy ait show";
    pub const COPY_MARKDOWN: &str = "Copy Markdown";
    pub const MENTIONED: &str = "Mentioned in";
    pub const SEARCH_MENTIONS: &str = "Search for texts that name this issue";
    pub const DESCRIPTION: &str = "Description";
    pub const NO_DESCRIPTION: &str = "No description.";
    pub const TIMELINE: &str = "Timeline";
    pub const EMPTY_TIMELINE: &str = "Nothing has happened yet.";
    pub const DID_RETURN: &str = "returned it to the queue";
    pub const DID_COMMENT: &str = "commented";
    pub const DID_CHANGE: &str = "changed";
    pub const DID_ASK: &str = "asked a question";
    pub const DID_ANSWER: &str = "answered the question";
    pub const SHOW_FULL: &str = "Show all texts in full";
    pub const SHOW_LESS: &str = "Show less";
    pub const DETAILS: &str = "Details";
    pub const HOLDER: &str = "Held by";
    pub const NOBODY: &str = "nobody";
    pub const PARKED: &str = "Parked";
    pub const FILED: &str = "Filed";
    pub const BY: &str = "by ";
    pub const CHANGED: &str = "Last change";
    pub const RETURNS: &str = "Returned";
    pub const COMMENTS: &str = "Comments";
    pub const NEIGHBOURS: &str = "Adjacent issues";
    pub const PREVIOUS: &str = "Previous issue";
    pub const NEXT: &str = "Next issue";

    /// The branch that git hooks and agents expect.
    pub fn branch(short_id: &str) -> String {
        format!("issue-{short_id}")
    }

    pub fn command(short_id: &str) -> String {
        format!("ait show {short_id}")
    }

    /// The title of the page.
    pub fn page_title(short_id: &str, title: &str) -> String {
        format!("{title} · {short_id}")
    }

    /// What an agent did that left the issue in this status.
    pub fn action(status: Status) -> &'static str {
        match status {
            Status::Created => "filed it",
            Status::InProgress => "claimed it for work",
            Status::Completed => "completed it",
            Status::InReview => "claimed it for review",
            Status::Closed => "closed it",
            Status::Rejected => "rejected it",
        }
    }

    /// How long after the entry before something happened.
    pub fn later(span_ms: u64) -> String {
        format!("{} later", super::duration(span_ms))
    }

    /// How long an issue had been held when its claim ended.
    pub fn held(span_ms: u64) -> String {
        format!("held for {}", super::duration(span_ms))
    }

    pub fn hidden_entries(count: usize) -> String {
        let verb = if count == 1 { "is" } else { "are" };
        format!("{} {verb} hidden.", super::counted(count, "entry", "entries"))
    }

    pub fn show_all(count: usize) -> String {
        format!("Show all {count} entries")
    }

    pub fn cut(shown: usize, length: usize) -> String {
        format!("Showing the first {shown} of {length} characters.")
    }

    /// A point in time, to the minute.
    pub fn exact(time: Timestamp) -> String {
        super::format::exact_time(time)
    }

    /// What a link to an issue in a text shows on hover.
    pub fn mention(title: &str, status: &str) -> String {
        format!("{title} ({status})")
    }

    pub fn until(time: Timestamp) -> String {
        format!("until {}", exact(time))
    }

    pub fn times(count: usize) -> String {
        match count {
            0 => "never".to_owned(),
            count => super::counted(count, "time", "times"),
        }
    }

    pub fn unknown_keys(count: usize) -> String {
        super::counted(count, "unknown key", "unknown keys")
    }
}

/// Around the Markdown of agents.
pub mod markdown {
    pub const TOO_LONG: &str = "Shown as plain text because it is long.";
    pub const TOO_COMPLEX: &str = "Shown as plain text because its markup is too complex.";
    pub const DONE: &str = "done";
    pub const TO_DO: &str = "to do";
    pub const TABLE: &str = "Table";
    pub const COPY: &str = "Copy";
    pub const COPY_CODE: &str = "Copy the code";
    pub const COPIED: &str = "Code copied.";

    pub fn lines(count: usize) -> String {
        format!("{count} lines")
    }
}

/// On error pages and in JSON errors.
pub mod errors {
    pub const NO_PAGE: &str = "Page not found";
    pub const NO_PAGE_TEXT: &str = "There is no page at this address.";
    pub const NO_ISSUE: &str = "Issue not found";
    pub const NO_AGENT: &str = "Agent not found";
    pub const SEVERAL_ISSUES: &str = "Several issues match";
    pub const INVALID_QUERY: &str = "Invalid search";
    pub const INVALID_PARAMETER: &str = "Invalid query parameter";
    pub const UNREADABLE: &str = "Cannot read the issues";
    pub const UNREADABLE_ADVICE: &str = "This page reloads as soon as the problem is solved.";
    pub const SUGGESTIONS: &str = "Did you mean";
    pub const CANDIDATES: &str = "Matching issues";
    pub const ALL_ISSUES: &str = "Show all issues";
    pub const TRY_AGAIN: &str = "Try again";

    pub fn unknown_issue(asked: &str) -> String {
        format!("No issue has an id that starts with “{asked}”.")
    }

    pub fn unknown_agent(asked: &str) -> String {
        format!("No agent called “{asked}” has done anything.")
    }

    pub fn not_an_id(asked: &str) -> String {
        format!(
            "“{asked}” is not an issue id. Give the id or at least its first 8 hex digits, for example \
             3f2a9c1e."
        )
    }

    pub fn ambiguous(asked: &str, count: usize) -> String {
        format!("The ids of {count} issues start with “{asked}”. Give more digits or pick one.")
    }

    /// `expected` is empty if the page takes no parameters.
    pub fn invalid_parameter(name: &str, given: &str, expected: &str) -> String {
        match expected {
            "" => format!("“{name}={given}” is not valid: this page takes no parameters."),
            _ => format!("“{name}={given}” is not valid; expected: {expected}."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DAY_MS, HOUR_MS, stats};

    #[test]
    fn an_age_bucket_uses_one_unit() {
        for (from_ms, under_ms, expected) in [
            (0, Some(HOUR_MS), "under 1 h"),
            (4 * HOUR_MS, Some(DAY_MS), "4 – 24 h"),
            (DAY_MS, Some(3 * DAY_MS), "1 – 3 days"),
            (30 * DAY_MS, None, "over 30 days"),
        ] {
            assert_eq!(stats::age_bucket(from_ms, under_ms), expected);
        }
    }
}
