//! The texts of the statistics.

use super::super::format::number;
use super::{DAY_MS, HOUR_MS, WEEK_MS};
use crate::domain::{Classification, Status};
use crate::read_model::stats::{Range, Work};

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
    }
}

pub fn classification(classification: Classification) -> &'static str {
    match classification {
        Classification::Bug => "Bug",
        Classification::Improvement => "Improvement",
        Classification::Feature => "Feature",
    }
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
    format!("Each bar is {bucket}. All rows have the same scale; the last bar is still growing.")
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
