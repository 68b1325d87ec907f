//! The texts of the page of the statistics.

use crate::domain::{Classification, Status, Timestamp};
use crate::overview::stats::{Range, Work};
use crate::web::chart::Unit;

/// The texts of the page of the statistics.
#[derive(Clone, Copy, Debug)]
pub struct Stats {
    /// What the page is called.
    pub title: &'static str,
    /// What the choice of a range is called.
    pub ranges: &'static str,
    /// A range as a choice.
    pub range: fn(Range) -> &'static str,
    /// Since when the page tells, given as [`Self::time`] writes it.
    pub covers: fn(&str) -> String,
    /// What is told of a store without issues: a heading and a sentence.
    pub empty: [&'static str; 2],
    /// A status.
    pub status: fn(Status) -> &'static str,
    /// A kind of work; all kinds for `None`.
    pub kind: fn(Option<Classification>) -> &'static str,
    /// A number.
    pub number: fn(u64) -> String,
    /// A span of time in milliseconds.
    pub span: fn(u64) -> String,
    /// A time to the minute.
    pub time: fn(Timestamp) -> String,
    /// A time as an axis shows it.
    pub tick: fn(Timestamp, Unit) -> String,
    /// What a value is, and the value.
    pub pair: fn(&str, &str) -> String,
    /// Parts that follow one another.
    pub list: fn(&[String]) -> String,
    /// A span between two values.
    pub from_to: fn(&str, &str) -> String,
    /// Where there is no value.
    pub none: &'static str,
    /// What unfolds the numbers of a chart.
    pub numbers: &'static str,
    /// The heading of a column of times.
    pub time_column: &'static str,
    /// The heading of a column of sums.
    pub total_column: &'static str,
    /// The numbers on top.
    pub headlines: Headlines,
    /// How many issues were in each status that they can still leave.
    pub open: Flow,
    /// How many issues were in each status.
    pub flow: Flow,
    /// That ended issues count from a time on only.
    pub ended_since: fn(&str) -> String,
    /// In place of a picture of the time, when there is too little to show.
    pub young: &'static str,
    /// What was done.
    pub throughput: Throughput,
    /// From filing to closing.
    pub lead: Times,
    /// From claim to completion.
    pub cycle: Times,
    /// What the two have in common.
    pub times: TimesColumns,
    /// How old open issues are.
    pub ages: Ages,
}

/// The numbers on top: what each is, and what is to be known about it.
#[derive(Clone, Copy, Debug)]
pub struct Headlines {
    /// Open issues now.
    pub open: &'static str,
    /// How many of them nobody has claimed.
    pub waiting: fn(u32) -> String,
    /// Issues that were closed.
    pub closed: &'static str,
    /// How many were filed in the same time.
    pub filed: fn(&str) -> String,
    /// The median of the lead time.
    pub median: &'static str,
    /// What the median is.
    pub median_hint: &'static str,
    /// The 90th percentile of the lead time.
    pub p90: &'static str,
    /// What that is.
    pub p90_hint: &'static str,
    /// In place of both hints, when no issue was closed.
    pub no_lead: &'static str,
}

/// The texts of how many issues were in some statuses as time went on.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// The heading.
    pub heading: &'static str,
    /// What the chart shows.
    pub about: &'static str,
    /// What the picture shows, from, until and with the counts at the end.
    pub description: fn(&str, &str, &str) -> String,
}

/// What is counted: what it is called, and where the number is.
pub type Lane = (&'static str, fn(&Work) -> u32);

/// The texts of what was done.
#[derive(Clone, Copy, Debug)]
pub struct Throughput {
    /// The heading.
    pub heading: &'static str,
    /// What the chart shows; the length of a bar in milliseconds.
    pub about: fn(u64) -> String,
    /// In place of the chart, when nothing was done.
    pub nothing: &'static str,
    /// What each lane counts, and the number.
    pub lanes: [Lane; 5],
    /// What the picture shows, with the sums.
    pub description: fn(&str) -> String,
}

/// The texts of how long something took.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The heading.
    pub heading: &'static str,
    /// What the chart shows.
    pub about: &'static str,
    /// In place of the chart, when nothing ended.
    pub nothing: &'static str,
    /// What the picture shows, with the values.
    pub description: fn(&str) -> String,
}

/// The names of the columns of how long something took.
#[derive(Clone, Copy, Debug)]
pub struct TimesColumns {
    /// The kind of work.
    pub kind: &'static str,
    /// How many issues.
    pub issues: &'static str,
    /// The median.
    pub median: &'static str,
    /// The 90th percentile.
    pub p90: &'static str,
    /// A number of issues.
    pub count: fn(usize) -> String,
}

/// The texts of the age of the queue.
#[derive(Clone, Copy, Debug)]
pub struct Ages {
    /// The heading.
    pub heading: &'static str,
    /// What the chart shows.
    pub about: &'static str,
    /// In place of the chart, when nothing is open.
    pub nothing: &'static str,
    /// The heading of the column of ages.
    pub column: &'static str,
    /// A band: from, and below, a number of milliseconds.
    pub band: fn(u64, Option<u64>) -> String,
    /// What the picture shows, with the sums.
    pub description: fn(&str) -> String,
}
