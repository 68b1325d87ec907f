//! The texts of the pages that show many issues at once, or what happened.

use super::{DAY_MS, HOUR_MS, WEEK_MS, counted, duration};

pub mod board {
    use crate::query::{Place, Rows};

    pub const TITLE: &str = "Board";
    pub const OLD_CLAIM: &str = "old claim";
    pub const WAITING: &str = "Waiting";

    /// The end of the time follows.
    pub fn held(provider: &str) -> String {
        format!("{provider} has reached a limit. Its agents get nothing until ")
    }

    pub fn waiting(span_ms: u64) -> String {
        format!("waiting for {}", super::duration(span_ms))
    }

    pub const ROWS: &str = "Rows of the board";
    pub const NO_ROWS: &str = "without rows";
    pub const GROUPS: &str = "Groups";
    pub const NO_GROUPS: &str = "without groups";

    pub fn rows(rows: Rows) -> &'static str {
        match rows {
            Rows::Status => "by status",
            Rows::Agent => "by agent",
            Rows::Whole => "by whole",
            Rows::Label => "by label",
        }
    }

    /// The heading of the row or group with the others.
    pub fn without(rows: Rows) -> &'static str {
        match rows {
            Rows::Status => "No status",
            Rows::Agent => "No agent",
            Rows::Whole => "Not part of a whole",
            Rows::Label => "No label",
        }
    }

    /// The link to the same issues on the other page.
    pub fn other(place: Place) -> &'static str {
        match place {
            Place::List(_) => "As a board",
            Place::Board(_) => "As a list",
        }
    }

    /// How many claims of a column are old.
    pub fn old_claims(count: usize) -> String {
        format!("{count} old")
    }
}

/// On the wallboard, and for the choice of the appearance.
pub mod wall {
    pub const TITLE: &str = "Wallboard";

    /// Values of the choice, and their names. The empty one follows the system.
    pub const THEMES: [(&str, &str); 3] =
        [("", "as the system"), ("light", "light"), ("dark", "dark")];
    pub const DENSITIES: [(&str, &str); 2] = [("", "comfortable"), ("compact", "compact")];
}

/// On the pages of the agents.
pub mod agents {
    use ait_domain::ActionKind;

    pub const TITLE: &str = "Agents";
    pub const HOLDING: &str = "Holding";
    pub const NOTHING: &str = "nothing";

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
            ActionKind::Checked => "checked",
            ActionKind::Used => "recorded usage",
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
            ActionKind::Checked => "ran the check of",
            ActionKind::Used => "recorded what was used for",
            ActionKind::Edited => "edited",
        }
    }

    pub const COMPLETED: &str = "Completed";
    pub const REVIEWED: &str = "Reviewed";
    /// How many issues reviewers returned that the agent had completed.
    pub const SENT_BACK: &str = "Sent back";
    pub const WORK: &str = "work";
    pub const REVIEW: &str = "review";

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
    pub const EVENT: &str = "Event";
    pub const WHEN: &str = "When";
    /// Values of the query parameter `since`, and their names.
    pub const PERIODS: [(&str, &str); 4] = [
        ("1h", "last hour"),
        ("24h", "last 24 hours"),
        ("7d", "last 7 days"),
        ("30d", "last 30 days"),
    ];
    /// Stands where an event concerns no single issue.
    pub const NO_ISSUE: &str = "the issue file";

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
            "checked" => "ran the check",
            "used" => "recorded usage",
            "kept" => "kept",
            _ => "changed",
        }
    }

    /// The same on the way of an issue, where space is short.
    pub fn step(kind: &str) -> &'static str {
        if kind == "claimed" { "claimed" } else { action(kind) }
    }

    pub fn gap(span_ms: u64) -> String {
        format!("nothing for {}", super::duration(span_ms))
    }
}

/// The texts of the statistics.
pub mod stats {
    use super::{DAY_MS, HOUR_MS, WEEK_MS};
    use crate::format::number;
    use ait_domain::{Classification, Status};
    use ait_tracker::read_model::stats::{Range, Work};

    /// In the header, where space is short.
    pub const TAB: &str = "Stats";
    pub const TITLE: &str = "Statistics";
    pub const TIME_COLUMN: &str = "Time";
    pub const TOTAL_COLUMN: &str = "Total";

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

    pub const BURN_UP: Flow = Flow {
        heading: "Burn-up",
        about: "Parts over time. The upper edge counts all that were filed.",
        description: "Stacked areas of open and ended parts",
    };
    pub const OPEN_PARTS: &str = "Open";

    pub const THROUGHPUT: &str = "Throughput";
    /// The name of what is counted, and its number. The first two are drawn in one row.
    pub type ThroughputRow = (&'static str, fn(&Work) -> u32);
    pub const THROUGHPUT_ROWS: [ThroughputRow; 5] = [
        ("Filed", |work| work.filed),
        ("Closed", |work| work.closed),
        ("Completed", |work| work.completed),
        ("Rejected", |work| work.rejected),
        ("Returned", |work| work.returned),
    ];

    pub const USAGE: &str = "Usage";
    pub const USAGE_ABOUT: &str =
        "What claims used in this period, by their model, their agent and the time.";
    pub const USAGE_COLUMN: &str = "Model, agent or time";
    pub const COST: &str = "Cost";
    pub const SMALL_COST: &str = "Cost in hundredths";
    pub const THOUSANDS: &str = "Thousands of tokens";

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
    pub const IN_STATUS: Times = Times {
        heading: "Time in each status",
        about: "How long the same issues were in each status, all the times together.",
        nothing: "No issue was closed in this period.",
        measure: "time in each status",
    };
    pub const MEDIAN: &str = "Median";
    pub const P90: &str = "90 % within";

    pub const AGES: &str = "Age of open issues";
    pub const AGES_ABOUT: &str = "Open issues by the time since they were filed.";

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

    pub fn waiting(count: u32) -> String {
        format!("{} waiting to be claimed", number(count.into()))
    }

    pub fn filed(count: u32) -> String {
        format!("{} filed in the same period", number(count.into()))
    }

    pub fn issue_count(count: usize) -> String {
        match count {
            1 => "1 issue".to_owned(),
            count => format!("{} issues", number(count as u64)),
        }
    }

    pub fn times_description(measure: &str, values: &str) -> String {
        format!(
            "A line for each kind of issue, from the median to the 90th percentile of the {measure}. {values}."
        )
    }

    /// `bucket_ms` is the time that one bar covers.
    pub fn throughput_about(bucket_ms: u64) -> String {
        let bucket = match bucket_ms {
            HOUR_MS => "an hour".to_owned(),
            DAY_MS => "a day (UTC)".to_owned(),
            WEEK_MS => "a week, from Monday (UTC)".to_owned(),
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
}

/// On the page of the syncs.
pub mod sync {
    pub const TITLE: &str = "Sync";
    pub const LAST_RUN: &str = "Last run ";
    pub const NO_RUN: &str = "No run has ended on this machine yet: `ait sync` runs it.";
    /// The columns of the fields that both sides changed.
    pub const COLUMNS: [&str; 3] = ["Field", "Here", "There"];

    pub fn waiting(count: usize) -> String {
        format!("Sent by the next run: {count}")
    }

    pub fn more_waiting(count: usize) -> String {
        format!("{count} more")
    }

    pub fn more(count: usize) -> String {
        format!("{count} more: `ait triage --kind sync_conflict` lists them")
    }
}

/// On the page of the memory.
pub mod memory {
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
    pub const UNTIL_ENDED: &str = "until the end of";

    pub fn more(count: usize) -> String {
        format!("{count} more match: look for something narrower.")
    }
}

/// The texts of the pages of all projects.
pub mod projects {
    pub const TITLE: &str = "Projects";
    pub const BOARD: &str = "Board of all projects";
}
