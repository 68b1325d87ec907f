//! Orders as SQL.

use ait_domain::{Order, Query};

/// Returns the columns of the order of a query, each with its direction. `name` writes a column of an issue as the
/// statement knows it.
pub(crate) fn columns(query: &Query, name: impl Fn(&str) -> String) -> String {
    let first = match query.order {
        Order::Filed | Order::LatestActivity => None,
        Order::Priority => Some(("priority", true)),
        Order::Title => Some(("title", true)),
        Order::Created => Some(("created", false)),
        Order::Classification => Some(("kind", true)),
        Order::Status => Some(("status", true)),
        Order::Holder => Some(("holder", true)),
        Order::Relevance => Some(("relevance", false)),
        Order::Match => Some(("score", false)),
    };
    let ties = match query.order {
        Order::Filed | Order::Priority | Order::Title => &[("position", true)][..],
        _ => &[("modified", false), ("position", false)][..],
    };
    let written = first.iter().chain(ties).map(|(column, ascends)| {
        let direction = if *ascends != query.reversed { "ASC" } else { "DESC" };
        let nulls = if *column == "holder" { " NULLS LAST" } else { "" };
        format!("{} {direction}{nulls}", name(column))
    });
    written.collect::<Vec<_>>().join(", ")
}
