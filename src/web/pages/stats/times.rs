//! How long something took, for each kind of work.

use maud::{Markup, html};

use super::nothing;
use crate::domain::Classification;
use crate::overview::stats::{Spread, Spreads};
use crate::web::chart::{self, Caption, Dot, Row, Scale};
use crate::web::words::stats as words;

/// The section of one thing that takes time.
pub(super) fn section(
    id: &str,
    spreads: &Spreads,
    texts: &words::Times,
    words: &words::Stats,
) -> Markup {
    let rows = rows(spreads, words);
    let longest = rows.iter().filter_map(|(_, spread)| spread.p90_ms).max();
    let chart = match longest {
        None => nothing(texts.nothing),
        Some(longest_ms) => html! {
            figure { (picture(id, &rows, longest_ms, texts, words)) }
            (table(id, &rows, texts, words))
        },
    };
    super::section(id, texts.heading, texts.about, &chart)
}

fn rows(spreads: &Spreads, words: &words::Stats) -> Vec<(&'static str, Spread)> {
    let all = ((words.kind)(None), spreads.all);
    let kinds = Classification::ALL.iter();
    let kinds = kinds.map(|&kind| ((words.kind)(Some(kind)), spreads.of_kind(kind)));
    [all].into_iter().chain(kinds).collect()
}

fn picture(
    id: &str,
    rows: &[(&str, Spread)],
    longest_ms: u64,
    texts: &words::Times,
    words: &words::Stats,
) -> Markup {
    let columns = &words.times;
    let hint = |name: &str, ms: u64| (words.pair)(name, &(words.span)(ms));
    let values = |spread: &Spread| {
        let ms = [spread.median_ms?, spread.p90_ms?];
        Some([(ms[0], hint(columns.median, ms[0])), (ms[1], hint(columns.p90, ms[1]))])
    };
    let dots: Vec<_> = rows
        .iter()
        .map(|(name, spread)| {
            let points = values(spread);
            let spans =
                points.as_ref().map(|points| points.each_ref().map(|(ms, _)| (words.span)(*ms)));
            Dot {
                name,
                note: (columns.count)(spread.count),
                points,
                values: spans.map_or(words.none.to_owned(), |[median, p90]| {
                    if median == p90 { median } else { (words.from_to)(&median, &p90) }
                }),
            }
        })
        .collect();
    let said: Vec<_> = rows
        .iter()
        .filter_map(|(name, spread)| {
            let values = values(spread)?.map(|(_, hint)| hint);
            Some((words.pair)(name, &(words.list)(&values)))
        })
        .collect();
    let description = (texts.description)(&(words.list)(&said));
    let caption = Caption { id, title: texts.heading, description: &description };
    html! {
        (chart::point_legend(columns.median, columns.p90))
        (chart::dots(caption, &dots, Scale::of_spans(longest_ms, 5), words.span))
    }
}

fn table(id: &str, rows: &[(&str, Spread)], texts: &words::Times, words: &words::Stats) -> Markup {
    let columns = &words.times;
    let span = |ms: Option<u64>| ms.map_or(words.none.to_owned(), words.span);
    let row = |(name, spread): &(&str, Spread)| {
        let count = (words.number)(spread.count as u64);
        ((*name).to_owned(), vec![count, span(spread.median_ms), span(spread.p90_ms)])
    };
    let rows: Vec<Row> = rows.iter().map(row).collect();
    let head = [columns.kind, columns.issues, columns.median, columns.p90];
    chart::table(id, words.numbers, texts.heading, &head, &rows)
}
