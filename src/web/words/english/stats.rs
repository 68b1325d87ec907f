//! The page of the statistics in English.

use chrono::{DateTime, Utc};

use crate::domain::{Classification, Status, Timestamp};
use crate::overview::stats::Range;
use crate::web::chart::Unit;
use crate::web::words::stats::{Ages, Flow, Headlines, Stats, Throughput, Times, TimesColumns};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;
const WEEK_MS: u64 = 7 * DAY_MS;

pub(super) const STATS: Stats = Stats {
    title: "Statistics",
    ranges: "Time range",
    range,
    covers: |begin| format!("Since {begin}. All times are UTC."),
    empty: [
        "No issues yet",
        "Once agents file and work on issues, this page shows how the queue moves and how long an issue takes.",
    ],
    status,
    kind,
    number,
    span,
    time: |time| DateTime::<Utc>::from(time).format("%-d %b %Y, %H:%M").to_string(),
    tick,
    pair: |name, value| format!("{name}: {value}"),
    list: |parts| parts.join(", "),
    from_to: |from, to| format!("{from} – {to}"),
    none: "–",
    numbers: "Show the numbers",
    time_column: "Time (UTC)",
    total_column: "Total",
    headlines: HEADLINES,
    open: OPEN,
    flow: FLOW,
    ended_since: |begin| format!("Those that ended before {begin} are left out."),
    young: "The first issue has only just been filed: there is nothing to draw yet. Come back in a while.",
    throughput: THROUGHPUT,
    lead: LEAD,
    cycle: CYCLE,
    times: TimesColumns {
        kind: "Kind",
        issues: "Issues",
        median: "Median",
        p90: "90 % within",
        count: |count| match count {
            1 => "1 issue".to_owned(),
            count => format!("{} issues", number(count as u64)),
        },
    },
    ages: AGES,
};

const HEADLINES: Headlines = Headlines {
    open: "Open now",
    waiting: |waiting| match waiting {
        1 => "1 waits to be claimed".to_owned(),
        waiting => format!("{} wait to be claimed", number(waiting.into())),
    },
    closed: "Closed",
    filed: |filed| format!("{filed} filed in the same time"),
    median: "Median lead time",
    median_hint: "half of the closed issues took no longer",
    p90: "90 % closed within",
    p90_hint: "of being filed",
    no_lead: "nothing was closed in this time",
};

const OPEN: Flow = Flow {
    heading: "Open issues",
    about: "How many issues were open, by status. A band that widens is work that piles up there.",
    description: |from, until, counts| {
        format!(
            "Stacked areas, one for each open status, from {from} to {until}. At the end: {counts}."
        )
    },
};

const FLOW: Flow = Flow {
    heading: "From filing to the end",
    about: "The same with the issues that have ended below, as a cumulative flow: the upper edge is all that was filed, the steeper the faster.",
    description: |from, until, counts| {
        format!("Stacked areas, one for each status, from {from} to {until}. At the end: {counts}.")
    },
};

const THROUGHPUT: Throughput = Throughput {
    heading: "What was done",
    about: |bucket_ms| {
        format!(
            "Each bar is {}. All rows have the same scale; the last bar is still growing.",
            one(bucket_ms)
        )
    },
    nothing: "Nothing was filed or finished in this time.",
    lanes: [
        ("Filed", |work| work.filed),
        ("Completed", |work| work.completed),
        ("Closed", |work| work.closed),
        ("Rejected", |work| work.rejected),
        ("Returned", |work| work.returned),
    ],
    description: |sums| format!("Rows of bars over time. In all: {sums}."),
};

const LEAD: Times = Times {
    heading: "From filing to closing",
    about: "The lead time of issues that were closed in this time: the median, and what nine of ten stayed within.",
    nothing: "No issue was closed in this time.",
    description: |values| {
        format!(
            "A line for each kind of work, from the median to the 90th percentile of the lead time. {values}."
        )
    },
};

const CYCLE: Times = Times {
    heading: "From claim to completion",
    about: "The cycle time of the same issues: from the first claim for work to the last completion.",
    nothing: "No issue that was claimed and completed was closed in this time.",
    description: |values| {
        format!(
            "A line for each kind of work, from the median to the 90th percentile of the cycle time. {values}."
        )
    },
};

const AGES: Ages = Ages {
    heading: "How long open issues have waited",
    about: "The issues that are open now, by the time since they were filed.",
    nothing: "No issue is open.",
    column: "Age",
    band,
    description: |sums| format!("Bars, one for each age, divided by status. Open issues: {sums}."),
};

fn range(range: Range) -> &'static str {
    match range {
        Range::Day => "24 hours",
        Range::Week => "7 days",
        Range::Month => "30 days",
        Range::All => "All time",
    }
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Created => "Created",
        Status::InProgress => "In progress",
        Status::Completed => "Completed",
        Status::InReview => "In review",
        Status::Closed => "Closed",
        Status::Rejected => "Rejected",
    }
}

fn kind(kind: Option<Classification>) -> &'static str {
    match kind {
        None => "All",
        Some(Classification::Bug) => "Bug",
        Some(Classification::Improvement) => "Improvement",
        Some(Classification::Feature) => "Feature",
    }
}

/// Digits in groups of three.
fn number(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

/// The two largest units: `3 h 12 min`.
fn span(span_ms: u64) -> String {
    let units = [(DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "min"), (1_000, "s")];
    let place =
        units.iter().position(|(unit_ms, _)| span_ms >= *unit_ms).unwrap_or(units.len() - 1);
    let (unit_ms, unit) = units[place];
    let (whole, rest_ms) = (span_ms / unit_ms, span_ms % unit_ms);
    // Beside a hundred days, hours are noise, and so are seconds beside ten minutes.
    let most = if unit_ms == MINUTE_MS { 10 } else { 100 };
    match units.get(place + 1).map(|&(unit_ms, unit)| (rest_ms / unit_ms, unit)) {
        Some((rest, smaller)) if rest > 0 && whole < most => {
            format!("{whole} {unit} {rest} {smaller}")
        }
        _ => format!("{} {unit}", number(whole)),
    }
}

/// A band of ages: `1 – 4 h`.
fn band(from_ms: u64, under_ms: Option<u64>) -> String {
    let Some(under_ms) = under_ms else { return format!("over {} days", from_ms / DAY_MS) };
    let (unit_ms, unit) = if under_ms > DAY_MS { (DAY_MS, "days") } else { (HOUR_MS, "h") };
    match (from_ms / unit_ms, under_ms / unit_ms) {
        (0, under) => format!("under {under} {unit}"),
        (from, under) => format!("{from} – {under} {unit}"),
    }
}

/// The length of a bar.
fn one(bucket_ms: u64) -> String {
    match bucket_ms {
        HOUR_MS => "an hour".to_owned(),
        DAY_MS => "a day".to_owned(),
        WEEK_MS => "a week, from Monday".to_owned(),
        ms => format!("{} weeks", number(ms / WEEK_MS)),
    }
}

fn tick(time: Timestamp, unit: Unit) -> String {
    let form = match unit {
        Unit::Minute => "%H:%M",
        Unit::Day => "%-d %b",
        Unit::Month => "%b %Y",
        Unit::Year => "%Y",
    };
    DateTime::<Utc>::from(time).format(form).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_of_ages_has_one_unit() {
        for (from_ms, under_ms, expected) in [
            (0, Some(HOUR_MS), "under 1 h"),
            (4 * HOUR_MS, Some(DAY_MS), "4 – 24 h"),
            (DAY_MS, Some(3 * DAY_MS), "1 – 3 days"),
            (30 * DAY_MS, None, "over 30 days"),
        ] {
            assert_eq!(band(from_ms, under_ms), expected);
        }
    }

    #[test]
    fn numbers_and_spans_are_short() {
        for (given, expected) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")]
        {
            assert_eq!(number(given), expected);
        }
        for (span_ms, expected) in [
            (0, "0 s"),
            (999, "0 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (61_000, "1 min 1 s"),
            (661_000, "11 min"),
            (11_520_000, "3 h 12 min"),
            (DAY_MS, "1 d"),
            (DAY_MS + 2 * HOUR_MS, "1 d 2 h"),
            (1_234 * DAY_MS + HOUR_MS, "1,234 d"),
        ] {
            assert_eq!(span(span_ms), expected);
        }
    }
}
