//! Every text that the pages show, in English: here what all pages have, below the texts of each page.
//!
//! Constants are fixed texts; functions fill in numbers and names. Pages and charts contain no texts of their
//! own, so another language needs another version of these three files and nothing else.

mod issues;
mod overviews;

pub use self::issues::{
    actions, attention, changes, claims, graph, issue, list, questions, relations, write_api,
};
pub use self::overviews::{activity, agents, board, memory, projects, stats, triage, wall};
use super::format::{self, DAY_MS, HOUR_MS, WEEK_MS};
use crate::domain::Status;
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
        Status::Kept => "kept",
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
    /// The page follows the store, which has a problem. The page says which.
    pub const TROUBLED: &str = "connected: see the problem";
    /// `{time}` is when the page was last known to be up to date.
    pub const DISCONNECTED: &str = "stale since {time}, ages as of then: reconnecting";
    pub const STALE: &str = "stale since {time}, ages as of then: reloading";
    pub const PAUSED: &str = "paused, ages as of {time}";
    pub const FAILING: &str = "waiting for the store";
    pub const PAUSE: &str = "Pause";
    pub const RESUME: &str = "Resume";
    /// Shows the changes that came while the page was paused.
    pub const STEP: &str = "{count} changes";
    pub const STEP_ONE: &str = "1 change";
    pub const CHANGED: &str = "The page has been updated.";

    /// The title in the browser's tab: what needs attention, and how many issues are open.
    pub fn tab(attention: usize, open: Option<usize>, title: &str, project: &str) -> String {
        let attention = if attention > 0 { format!("{attention}! ") } else { String::new() };
        match open {
            Some(open) => format!("{attention}({open}) {title} · {project}"),
            None => format!("{attention}{title} · {project}"),
        }
    }

    /// The title in the tab of an issue. A narrow tab shows the beginning alone, which tells the issue.
    pub fn tab_of_issue(attention: usize, title: &str, project: &str) -> String {
        let attention = if attention > 0 { format!(" · {attention}!") } else { String::new() };
        format!("{title} · {project}{attention}")
    }

    /// The title of a page of a damaged store.
    pub fn damaged(title: &str) -> String {
        format!("Damaged: {title}")
    }

    /// What to do on a page with forms without the script: a reload would take away what was typed.
    pub const RELOAD: &str = "reload the page to see changes";

    /// How the page updates itself without the script.
    pub fn reloads(seconds: u32) -> String {
        format!("reloads every {seconds} s")
    }
}

/// The attributes of issues, as chips and in filters.
pub mod attributes {
    use crate::domain::{Estimate, Priority, ValueField};

    pub const PRIORITY: &str = "Priority";
    pub const ANY_PRIORITY: &str = "any priority";
    pub const LABEL: &str = "Label";
    pub const LABELS: &str = "Labels";
    pub const ANY_LABEL: &str = "any label";
    pub const ASSIGNEE: &str = "Assigned to";
    pub const FOR: &str = "for ";
    pub const BLOCKED: &str = "blocked";
    pub const PARKED: &str = "parked";
    pub const QUESTION: &str = "question";

    /// The name of a field.
    pub fn field(field: ValueField) -> &'static str {
        match field {
            ValueField::Priority => PRIORITY,
            ValueField::Assignee => ASSIGNEE,
            ValueField::Due => "Due",
            ValueField::Estimate => "Estimate",
        }
    }

    /// A filter by a field, such as `estimate >=3`.
    pub fn filter(field: ValueField, value: &str) -> String {
        let priority = |word: &str| word.parse().map(short_priority);
        let priorities: Result<Vec<_>, _> = value.split(',').map(priority).collect();
        match (field, priorities) {
            (ValueField::Priority, Ok(names)) => names.join(", "),
            _ => format!("{field} {value}"),
        }
    }

    /// What can be typed to filter by a field.
    pub fn example(field: ValueField) -> &'static str {
        match field {
            ValueField::Priority => "<=1",
            ValueField::Assignee => "dev-1",
            ValueField::Due => "<3d",
            ValueField::Estimate => ">=3",
        }
    }

    /// `date` is a day or a time.
    pub fn due(date: &str, is_past: bool) -> String {
        if is_past { format!("overdue since {date}") } else { format!("due {date}") }
    }

    /// `parts` is the sum of its parts.
    pub fn estimate(own: Option<Estimate>, parts: Option<Estimate>) -> String {
        match (own, parts) {
            (Some(own), Some(parts)) => format!("estimate {own}, its parts {parts}"),
            (None, Some(parts)) => format!("estimate of its parts {parts}"),
            (own, None) => {
                format!("estimate {}", own.map(|own| own.to_string()).unwrap_or_default())
            }
        }
    }

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

/// In the dialogs of the keyboard: the palette, and the list of shortcuts.
pub mod dialogs {
    pub const SHORTCUTS: &str = "Keyboard shortcuts";
    pub const SINGLE_KEYS: &str = "Use shortcuts of a single key";
    pub const CLOSE: &str = "Close";
    /// The keys, and what they do.
    pub const KEYS: [(&[&str], &str); 12] = [
        (&["Ctrl K", "⌘ K"], "find issues, pages, agents and saved queries"),
        (&["/"], "search the list"),
        (&["j", "k"], "to the next and the previous issue"),
        (&["Enter"], "open the issue"),
        (&["g l"], "to the list"),
        (&["g b"], "to the board"),
        (&["g a"], "to the agents"),
        (&["g v"], "to the activity"),
        (&["g s"], "to the statistics"),
        (&["g t"], "to the triage"),
        (&["g m"], "to the memory"),
        (&["?"], "show these shortcuts"),
    ];

    pub const PALETTE: &str = "Go to";
    pub const HINT: &str = "Words, an id, an agent or a page";
    pub const FOUND: &str = "Found";
    pub const PAGE: &str = "page";
    pub const AGENT: &str = "agent";
    pub const SAVED: &str = "saved query";
    pub const SEARCH: &str = "search for";
    /// Read out when the palette has found something.
    pub const COUNT: &str = "{count} found";
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
