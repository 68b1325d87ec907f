//! The texts of the pages that show many issues at once, or what happened.

use super::{DAY_MS, HOUR_MS, WEEK_MS, counted, duration};

pub mod board {
    pub const TITLE: &str = "Board";
    pub const EMPTY_COLUMN: &str = "no issues";
    pub const OLD_CLAIM: &str = "old claim";

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
    /// Leads from a lane to the list, which has more than what the lane hides.
    pub const MORE_OF_AGENT: &str = "more in the list";
    /// The lane of the issues that no agent has.
    pub const NO_AGENT: &str = "no agent";
    pub const NO_MATCH: &str = "No issue matches the filters.";

    /// How many claims of a column are old.
    pub fn old_claims(count: usize) -> String {
        format!("{count} old")
    }

    /// The lanes that the page leaves out.
    pub fn more_lanes(count: usize) -> String {
        format!("{count} more agents have issues: see the page of the agents")
    }
}

/// On the wallboard, and for the choice of the appearance.
pub mod wall {
    pub const TITLE: &str = "Wallboard";
    pub const BOARD: &str = "Board";
    pub const AGENTS: &str = "Agents at work";
    pub const NO_AGENTS: &str = "No agent holds an issue.";
    pub const ATTENTION: &str = "Needs attention";
    /// Behind how many things need attention.
    pub const NEED_ATTENTION: &str = "for people";
    pub const CALM: &str = "Nothing needs attention";
    pub const COUNTS: &str = "Issues by status";

    pub const APPEARANCE: &str = "Appearance";
    pub const THEME: &str = "Theme";
    /// Values of the choice, and their names. The empty one follows the system.
    pub const THEMES: [(&str, &str); 3] =
        [("", "as the system"), ("light", "light"), ("dark", "dark")];
    pub const DENSITY: &str = "Rows";
    pub const DENSITIES: [(&str, &str); 2] = [("", "comfortable"), ("compact", "compact")];

    pub fn more(count: usize) -> String {
        format!("and {count} more")
    }
}

/// On the pages of the agents.
pub mod agents {
    use crate::domain::ActionKind;

    pub const TITLE: &str = "Agents";
    pub const HOLDING: &str = "Holding";
    pub const LAST_ACTION: &str = "Last action";
    pub const NOTHING: &str = "nothing";
    /// Before the issue about which an agent has asked people.
    pub const WAITS_FOR_ANSWER: &str = "waits for an answer:";
    pub const EMPTY: &str = "No agent has done anything yet. Connect your coding agents, in a terminal in your project:";

    pub const PAGING: &str = "Pages of agents";

    pub fn caption(count: usize) -> String {
        super::counted(count, "agent", "agents")
    }

    pub fn more(count: usize) -> String {
        format!("and {count} more")
    }

    /// What an agent did to an issue, without the issue.
    pub fn did(deed: ActionKind) -> &'static str {
        match deed {
            ActionKind::Asked => "asked",
            ActionKind::Answered => "answered",
            deed => action(deed),
        }
    }

    /// What an agent did to an issue: goes before the title of the issue.
    pub fn action(deed: ActionKind) -> &'static str {
        match deed {
            ActionKind::Filed => "filed",
            ActionKind::Kept => "kept",
            ActionKind::Claimed => "claimed",
            ActionKind::Completed => "completed",
            ActionKind::ReviewStarted => "claimed for review",
            ActionKind::Returned => "returned",
            ActionKind::Closed => "closed",
            ActionKind::Rejected => "rejected",
            ActionKind::Reopened => "opened again",
            ActionKind::Lapsed => "let the claim lapse",
            ActionKind::Commented => "commented",
            ActionKind::Changed | ActionKind::Other => "changed",
            ActionKind::Asked => "asked a question about",
            ActionKind::Answered => "answered the question about",
            ActionKind::Edited => "edited",
        }
    }

    pub const COMPLETED: &str = "Completed";
    pub const REVIEWED: &str = "Reviewed";
    /// How many issues reviewers returned that the agent had completed.
    pub const SENT_BACK: &str = "Sent back";
    /// The median time from claim to completion.
    pub const CYCLE_TIME: &str = "Cycle time";
    pub const NONE: &str = "none";
    pub const WORK: &str = "work";
    pub const REVIEW: &str = "review";
    pub const ALIVE: &str = "connected";
    pub const GONE: &str = "gone";
    pub const LAST_SEEN: &str = "last seen";
    pub const PERIOD: &str = "Period";
    pub const NOW: &str = "now";
    pub const CLAIMS: &str = "Claims";
    pub const NO_CLAIMS: &str = "No claims in this period.";
    pub const ALL_ISSUES: &str = "All its issues";
    pub const ALL_EVENTS: &str = "All it did";

    /// The name of a value of the query parameter `range`.
    pub fn period(word: &str) -> &'static str {
        match word {
            "7d" => "7 days",
            _ => "24 hours",
        }
    }

    pub fn over_time(word: &str) -> String {
        format!("Last {}", period(word))
    }

    /// What a lane shows.
    pub fn lane(works: usize, reviews: usize) -> String {
        let works = super::counted(works, "claim for work", "claims for work");
        format!("{works}, {}", super::counted(reviews, "for review", "for review"))
    }

    /// What a bar shows on hover.
    pub fn bar(short_id: &str, title: &str, held_for: &str) -> String {
        format!("{short_id} {title}, {held_for}")
    }

    /// How a claim ended.
    pub fn ended(is_held: bool, end: Option<ActionKind>) -> &'static str {
        match end {
            _ if is_held => "still held",
            Some(deed) => did(deed),
            None => "edited",
        }
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
    /// For a store whose log began with issues that have a history.
    pub const EMPTY_LOG: &str = "The log has no changes. Each change from now on appears here; the page of each issue shows what happened before.";
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
            "taken_up" => "took over the claim",
            "lapsed" => "let the claim lapse",
            "returned" => "returned",
            "completed" => "completed",
            "closed" => "closed",
            "rejected" => "rejected",
            "reopened" => "opened again",
            "commented" => "commented",
            "asked" => "asked",
            "answered" => "answered",
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

/// The texts of the statistics.
pub mod stats {
    use super::{DAY_MS, HOUR_MS, WEEK_MS};
    use crate::domain::{Classification, Status};
    use crate::read_model::stats::{Range, Work};
    use crate::web::format::number;

    /// In the header, where space is short.
    pub const TAB: &str = "Stats";
    pub const TITLE: &str = "Statistics";
    pub const RANGES: &str = "Time range";
    pub const EMPTY: &str = "No issues yet";
    pub const EMPTY_TEXT: &str = "Once agents file issues and work on them, this page shows how the queue \
         moves and how long issues take.";
    pub const NONE: &str = "–";
    pub const NUMBERS: &str = "Show the numbers";
    pub const TIME_COLUMN: &str = "Time (UTC)";
    pub const TOTAL_COLUMN: &str = "Total";
    pub const TOO_YOUNG: &str =
        "The first issue is too recent: there is nothing to draw yet. Come back later.";

    pub const OPEN_NOW: &str = "Open now";
    pub const CLOSED: &str = "Closed";
    pub const MEDIAN_LEAD: &str = "Median lead time";
    pub const MEDIAN_HINT: &str = "half of the closed issues took no longer";
    pub const P90_LEAD: &str = "90 % closed within";
    pub const P90_HINT: &str = "of being filed";
    pub const NO_LEAD: &str = "no issue was closed in this period";

    /// The texts of a stacked area chart of issues by status.
    pub struct Flow {
        pub heading: &'static str,
        pub about: &'static str,
        /// Describes the picture to those who cannot see it.
        pub description: &'static str,
    }
    pub const OPEN: Flow = Flow {
        heading: "Open issues",
        about: "Open issues by status. A widening band shows where work piles up.",
        description: "Stacked areas, one for each open status",
    };
    pub const FLOW: Flow = Flow {
        heading: "Cumulative flow",
        about: "Issues by status, with ended issues at the bottom. The upper edge counts all filed issues: \
                the steeper it is, the faster issues arrive.",
        description: "Stacked areas, one for each status",
    };

    pub const THROUGHPUT: &str = "Throughput";
    pub const NO_THROUGHPUT: &str = "No issue was filed or ended in this period.";
    /// The name of a row, and what it counts.
    pub type ThroughputRow = (&'static str, fn(&Work) -> u32);
    pub const THROUGHPUT_ROWS: [ThroughputRow; 5] = [
        ("Filed", |work| work.filed),
        ("Completed", |work| work.completed),
        ("Closed", |work| work.closed),
        ("Rejected", |work| work.rejected),
        ("Returned", |work| work.returned),
    ];

    /// The texts of a chart of durations.
    pub struct Times {
        pub heading: &'static str,
        pub about: &'static str,
        /// Stands in place of the chart if there are no values.
        pub nothing: &'static str,
        /// What the chart measures, within a sentence.
        pub measure: &'static str,
    }
    pub const LEAD: Times = Times {
        heading: "Lead time",
        about: "How long issues that were closed in this period took from filing to closing: the median and \
                the 90th percentile.",
        nothing: "No issue was closed in this period.",
        measure: "lead time",
    };
    pub const CYCLE: Times = Times {
        heading: "Cycle time",
        about: "How long the same issues took from the first claim for work to the last completion.",
        nothing: "No issue that agents claimed and completed was closed in this period.",
        measure: "cycle time",
    };
    pub const MEDIAN: &str = "Median";
    pub const P90: &str = "90 % within";

    pub const AGES: &str = "Age of open issues";
    pub const AGES_ABOUT: &str = "Open issues by the time since they were filed.";
    pub const NO_AGES: &str = "No issue is open.";
    pub const AGE_COLUMN: &str = "Age";

    pub fn range(range: Range) -> &'static str {
        match range {
            Range::Day => "24 hours",
            Range::Week => "7 days",
            Range::Month => "30 days",
            Range::All => "All time",
        }
    }

    pub fn status(status: Status) -> &'static str {
        match status {
            Status::Created => "Created",
            Status::InProgress => "In progress",
            Status::Completed => "Completed",
            Status::InReview => "In review",
            Status::Closed => "Closed",
            Status::Rejected => "Rejected",
            Status::Kept => "Kept",
        }
    }

    pub fn classification(classification: Classification) -> String {
        let word = classification.as_str();
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    }

    pub fn covers(begin: &str) -> String {
        format!("Since {begin}. All times are UTC.")
    }

    pub fn waiting(count: u32) -> String {
        format!("{} waiting to be claimed", number(count.into()))
    }

    pub fn filed(count: u32) -> String {
        format!("{} filed in the same period", number(count.into()))
    }

    pub fn ended_since(begin: &str) -> String {
        format!("Issues that ended before {begin} are left out.")
    }

    pub fn issue_count(count: usize) -> String {
        match count {
            1 => "1 issue".to_owned(),
            count => format!("{} issues", number(count as u64)),
        }
    }

    pub fn flow_description(areas: &str, from: &str, until: &str, counts: &str) -> String {
        format!("{areas}, from {from} to {until}. At the end: {counts}.")
    }

    pub fn throughput_description(sums: &str) -> String {
        format!("Rows of bars over time. Totals: {sums}.")
    }

    pub fn times_description(measure: &str, values: &str) -> String {
        format!(
            "A line for each kind of issue, from the median to the 90th percentile of the {measure}. {values}."
        )
    }

    pub fn ages_description(sums: &str) -> String {
        format!("Bars, one for each age, divided by status. Open issues: {sums}.")
    }

    /// `bucket_ms` is the time that one bar covers.
    pub fn throughput_about(bucket_ms: u64) -> String {
        let bucket = match bucket_ms {
            HOUR_MS => "an hour".to_owned(),
            DAY_MS => "a day".to_owned(),
            WEEK_MS => "a week, from Monday".to_owned(),
            ms => format!("{} weeks", number(ms / WEEK_MS)),
        };
        format!(
            "Each bar is {bucket}. All rows have the same scale; the last bar is still growing."
        )
    }

    /// A range of ages: `1 – 4 h`.
    pub fn age_bucket(from_ms: u64, under_ms: Option<u64>) -> String {
        let Some(under_ms) = under_ms else { return format!("over {} days", from_ms / DAY_MS) };
        let (unit_ms, unit) = if under_ms > DAY_MS { (DAY_MS, "days") } else { (HOUR_MS, "h") };
        match (from_ms / unit_ms, under_ms / unit_ms) {
            (0, under) => format!("under {under} {unit}"),
            (from, under) => format!("{from} – {under} {unit}"),
        }
    }

    /// A name and its value.
    pub fn pair(name: &str, value: &str) -> String {
        format!("{name}: {value}")
    }

    pub fn from_to(from: &str, to: &str) -> String {
        format!("{from} – {to}")
    }
}

/// On the page of the memory.
pub mod memory {
    use crate::domain::Classification;

    pub const TITLE: &str = "Memory";
    pub const SEARCH: &str = "Search the memory";
    pub const HINT: &str = "words, file:src/main.rs, by:dev-1";
    pub const ALSO_PAST: &str = "Show replaced and ended ones, too";
    pub const FIND: &str = "Find";
    pub const EMPTY: &str =
        "Nothing is kept yet. Agents keep what they learn with the tool remember, and people with:";
    pub const NOTHING: &str = "Nothing matches. This command keeps something:";
    pub const COMMAND: &str = "ait remember 'amounts are Decimal, because of the audit' --kind decision --about src/money.py";
    pub const CLOSED: &str = "What closed issues tell";
    pub const REPLACED_BY: &str = "replaced by";
    pub const UNTIL: &str = "until";

    pub fn kind(kind: Classification) -> &'static str {
        match kind {
            Classification::Decision => "Decisions",
            Classification::Trap => "Traps",
            Classification::Progress => "Progress",
            _ => "Facts",
        }
    }

    pub fn more(count: usize) -> String {
        format!("{count} more match: look for something narrower.")
    }
}

/// On the page of what is wrong in the queue.
pub mod triage {
    use crate::read_model::FindingKind;

    pub const TITLE: &str = "Triage";
    pub const EMPTY: &str =
        "Nothing is wrong in the queue. This command looks for the same in a terminal:";
    pub const COMMAND: &str = "ait triage";
    pub const SHOW_ALL: &str = "Show all kinds";
    pub const NEXT: &str = "Next: ";

    pub fn kind(kind: FindingKind) -> &'static str {
        match kind {
            FindingKind::Stale => "Stale",
            FindingKind::OldClaim => "Old claims",
            FindingKind::ReturnedOften => "Returned often",
            FindingKind::WaitsLongForReview => "Wait long for a review",
            FindingKind::PlaceholderTitle => "Titles that say nothing",
            FindingKind::Duplicate => "Duplicates",
            FindingKind::ThinDescription => "Thin descriptions",
            FindingKind::Orphan => "Links to nothing",
            FindingKind::ParentState => "Parents that do not fit their parts",
            FindingKind::BlockedByRejected => "Blocked by what was rejected",
            FindingKind::SelfReviewed => "Reviewed by their authors",
            FindingKind::NeverReviewed => "Never reviewed",
            FindingKind::Overloaded => "Agents that hold many issues",
            FindingKind::FilingFasterThanClosing => "More is filed than ends",
        }
    }

    pub fn more(count: usize) -> String {
        format!("{count} more: `ait triage -n {count}` lists them")
    }

    pub fn more_of_kind(count: usize) -> String {
        format!("{count} more")
    }
}

/// The texts of the page of all projects.
pub mod projects {
    pub const TITLE: &str = "Projects";
    pub const PROJECT: &str = "Project";
    pub const WAITING: &str = "Waiting";
    pub const IN_PROGRESS: &str = "In progress";
    pub const REVIEW: &str = "For review";
    pub const ENDED: &str = "Ended";
    pub const QUESTIONS: &str = "Questions";
    pub const FINDINGS: &str = "Findings";
    pub const THIS: &str = "this server";
    pub const GUARDED: &str = "needs a token: open its page to see more";
    pub const SILENT: &str = "does not answer";
    pub const ABOUT: &str =
        "Your projects that are served on this machine. Each has its own address.";
    pub const ALL_PROJECTS: &str = "All projects";
}
