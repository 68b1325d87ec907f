//! Orders as SQL.

use crate::domain::{Order, Query};

/// Returns the columns of the order of a query, each with its direction. `name` writes a column of an issue as the
/// statement knows it.
pub(in crate::store) fn columns(query: &Query, name: impl Fn(&str) -> String) -> String {
    let latest = [("modified", false), ("position", false)];
    let (first, others): (&[(&str, bool)], &[(&str, bool)]) = match query.order {
        Order::Filed => (&[("position", true)], &[]),
        Order::LatestActivity => (&[], &latest),
        Order::Priority => (&[("priority", true), ("position", true)], &[]),
        Order::Title => (&[("title", true), ("position", true)], &[]),
        Order::Created => (&[("created", false)], &latest),
        Order::Classification => (&[("kind", true)], &latest),
        Order::Status => (&[("status", true)], &latest),
        Order::Holder => (&[("holder", true)], &latest),
        Order::Relevance => (&[("relevance", false)], &latest),
    };
    let written = first.iter().chain(others).map(|(column, ascends)| {
        let direction = if *ascends != query.reversed { "ASC" } else { "DESC" };
        let nulls = if *column == "holder" { " NULLS LAST" } else { "" };
        format!("{} {direction}{nulls}", name(column))
    });
    written.collect::<Vec<_>>().join(", ")
}
