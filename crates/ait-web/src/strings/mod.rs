//! The texts that several places show, and those that depend on what they speak of: here what all pages have, below
//! the texts of each page. A text that stands in one place is written there.

mod issues;
mod overviews;

pub use self::issues::{
    actions, attention, changes, claims, graph, issue, list, questions, relations, write_api,
};
pub use self::overviews::{activity, agents, board, memory, projects, stats, sync, wall};
use super::format::{self, DAY_MS, HOUR_MS, WEEK_MS};
use ait_domain::Status;
use ait_system::span::humanize_duration as duration;

/// The language, as a BCP 47 tag.
pub const LANGUAGE: &str = ait_language::ENGLISH;

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

pub fn comments(count: usize) -> String {
    counted(count, "comment", "comments")
}

pub fn more_files(count: usize) -> String {
    format!("{} more.", counted(count, "file", "files"))
}

fn counted(count: usize, singular: &str, plural: &str) -> String {
    format!("{count} {}", if count == 1 { singular } else { plural })
}

pub const ALL_UTC: &str = "All times are UTC.";

/// Around every page.
pub mod layout {
    pub const PAUSE: &str = "Pause";
    pub const EXAMPLE: &str = "This is an example: the team and its issues are made up, and the pages end with the server \
         that shows them.";

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
}

/// The attributes of issues, as chips and in filters.
pub mod attributes {
    use ait_domain::{Estimate, Priority, ValueField};

    pub const PRIORITY: &str = "Priority";
    pub const ANY_PRIORITY: &str = "any priority";
    pub const LABEL: &str = "Label";
    pub const ANY_LABEL: &str = "any label";
    pub const ASSIGNEE: &str = "Assigned to";
    pub const FOR: &str = "for ";
    pub const PARKED: &str = "parked";
    pub const QUESTION: &str = "question";

    /// The name of a field.
    pub fn field(field: ValueField) -> &'static str {
        match field {
            ValueField::Priority => PRIORITY,
            ValueField::Assignee => ASSIGNEE,
            ValueField::Due => "Due",
            ValueField::Estimate => "Estimate",
            ValueField::Touches => "Touches",
            ValueField::Budget => "Budget",
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
            ValueField::Touches | ValueField::Budget => "any",
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

/// On error pages and in JSON errors.
pub mod errors {
    pub const NO_ISSUE: &str = "Issue not found";
    pub const INVALID_QUERY: &str = "Invalid search";
    pub const SUGGESTIONS: &str = "Did you mean";
    pub const ALL_ISSUES: &str = "Show all issues";
    pub const EXAMPLE_FROM_ELSEWHERE: &str =
        "Only a page of this server starts the example. Open the list, and use the link there.";
    pub const SERVER_ENDS: &str = "this server ends";

    pub fn no_example(why: &str) -> String {
        format!(
            "The example cannot be shown: {why}. Run {} in a terminal.",
            super::list::EXAMPLE_COMMAND
        )
    }

    pub fn not_an_id(asked: &str) -> String {
        format!(
            "“{asked}” is not an issue id. Give the id or at least its first 8 hex digits, for example \
             3f2a9c1e."
        )
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
    /// The keys, and what they do.
    pub const KEYS: [(&[&str], &str); 13] = [
        (&["Ctrl K", "⌘ K"], "find issues, pages, agents and saved queries"),
        (&["/"], "search the list"),
        (&["j", "k"], "to the next and the previous issue"),
        (&["Enter"], "open the issue"),
        (&["Space"], "show the issue beside the page"),
        (&["g l"], "to the list"),
        (&["g b"], "to the board"),
        (&["g a"], "to the agents"),
        (&["g v"], "to the activity"),
        (&["g s"], "to the statistics"),
        (&["g t"], "to the inbox"),
        (&["g m"], "to the memory"),
        (&["?"], "show these shortcuts"),
    ];
    /// Those for people who may change issues.
    pub const ACTION_KEYS: [(&[&str], &str); 7] = [
        (&["x"], "select the issue in the list"),
        (&["p"], "set the priority of the selected issues"),
        (&["l"], "set their labels"),
        (&["a"], "assign them"),
        (&["Shift", "click"], "select all issues up to this one"),
        (&["c"], "file an issue"),
        (&["Ctrl Enter", "⌘ Enter"], "send the form"),
    ];

    pub const PALETTE: &str = "Go to";
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
