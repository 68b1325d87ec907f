//! Lead times and cycle times, for each kind of issue, and the time in each status.

use indexmap::IndexMap;
use maud::{Markup, html};

use super::{duration, nothing};
use crate::chart::{self, Caption, Dot, Row};
use crate::format;
use crate::strings::{self, stats as text};
use ait_domain::Status;
use ait_tracker::read_model::stats::{Percentiles, Spreads};

/// Renders the section of a measure for each kind of issue.
pub(super) fn by_kind(id: &str, spreads: &Spreads, texts: &text::Times) -> Markup {
    let kinds = spreads.kinds().map(|(kind, spread)| (text::classification(kind), spread));
    let all = (strings::ALL.to_owned(), spreads.all);
    let rows: Vec<_> = [all].into_iter().chain(kinds).collect();
    section(id, strings::KIND, &rows, texts)
}

/// Renders the section of the time in each status.
pub(super) fn by_status(spreads: &IndexMap<Status, Percentiles>) -> Markup {
    let rows: Vec<_> = spreads
        .iter()
        .map(|(status, spread)| (text::status(*status).to_owned(), *spread))
        .collect();
    section("in-status", strings::STATUS, &rows, &text::IN_STATUS)
}

/// Renders the section of one measure, with a row for each value of `column`.
fn section(id: &str, column: &str, rows: &[(String, Percentiles)], texts: &text::Times) -> Markup {
    let longest = rows.iter().filter_map(|(_, spread)| spread.p90_ms).max();
    let chart = match longest {
        None => nothing(texts.nothing),
        Some(longest_ms) => html! {
            figure {
                (chart::point_legend(text::MEDIAN, text::P90))
                (picture(id, rows, longest_ms, texts))
            }
            (table(id, column, rows, texts))
        },
    };
    super::section(id, texts.heading, texts.about, &chart)
}

fn picture(
    id: &str,
    rows: &[(String, Percentiles)],
    longest_ms: u64,
    texts: &text::Times,
) -> Markup {
    let points = |spread: &Percentiles| {
        let [median, p90] = [spread.median_ms?, spread.p90_ms?];
        let hint = |name: &str, ms: u64| text::pair(name, &format::precise_duration(ms));
        Some([(median, hint(text::MEDIAN, median)), (p90, hint(text::P90, p90))])
    };
    let dots: Vec<_> = rows
        .iter()
        .map(|(name, spread)| {
            let [median, p90] = [spread.median_ms, spread.p90_ms].map(duration);
            Dot {
                name,
                note: text::issue_count(spread.count),
                points: points(spread),
                values: if median == p90 { median } else { format!("{median} – {p90}") },
            }
        })
        .collect();
    let described = rows.iter().filter_map(|(name, spread)| {
        let hints = points(spread)?.map(|(_, hint)| hint);
        Some(text::pair(name, &hints.join(", ")))
    });
    let described: Vec<_> = described.collect();
    let description = text::times_description(texts.measure, &described.join(", "));
    let caption = Caption { id, title: texts.heading, description: &description };
    chart::dots(caption, &dots, longest_ms)
}

fn table(id: &str, column: &str, rows: &[(String, Percentiles)], texts: &text::Times) -> Markup {
    let row = |(name, spread): &(String, Percentiles)| {
        let count = format::number(spread.count as u64);
        (html! { (name) }, vec![count, duration(spread.median_ms), duration(spread.p90_ms)])
    };
    let rows: Vec<Row> = rows.iter().map(row).collect();
    let head = [column, strings::ISSUES, text::MEDIAN, text::P90];
    chart::table(id, texts.heading, &head, &rows)
}
