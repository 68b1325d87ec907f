//! Lists: one page of the issues that match a query.

use std::sync::Arc;

use rusqlite::{Connection, Row, ToSql};

use super::error::Failure;
use super::queue::{COLUMNS, StoredRow};
use super::read::{array, id_value, slots};
use crate::sql;
use crate::sql::condition::{Dialect, Selection, Value, in_statuses, some_texts, trigrams};
use crate::sql::rows::counts_of;
use ait_domain::{Condition, Issue, MatchCounts, Order, Page, Query, StatusSet};

/// How many matches of a search are counted at least.
const MAX_COUNTED: usize = 500;
/// How many issues are examined for the best ones.
const MAX_EXAMINED: usize = 200;
/// Of how many matches the titles are compared: the latest ones, and all that the index finds.
const MAX_RANKED: usize = 2_000;
/// A text that the index finds in more issues is looked for in the order of the list, where it soon is found.
const MAX_INDEXED: i64 = 5_000;
/// A text that the index finds in more issues says little about which ones are the best.
const MAX_RARE: i64 = 1_000;
/// How many rare texts are looked up for the best issues.
const LOOKED_UP: usize = 4;

/// Returns one page of the issues that match a query.
pub(super) fn list(connection: &Connection, query: &Query) -> Result<Page, Failure> {
    if query.order == Order::Relevance {
        return best(connection, query);
    }
    let most = query.skip.saturating_add(query.take);
    let counts = if query.condition.is_empty() {
        let counts = sql::rows::counts(&slots(connection)?, query.classification);
        Some(MatchCounts { counts, are_exact: true })
    } else if query.counts {
        Some(count_matches(connection, query)?)
    } else {
        None
    };
    let (keys, total, is_exact) = match counts {
        Some(MatchCounts { counts, are_exact: true }) => {
            let keys = match (query.condition.is_empty(), query.order) {
                // To look for them again would read all texts.
                _ if counts.in_statuses(query.statuses) == 0 => Vec::new(),
                (true, Order::Filed | Order::LatestActivity | Order::Priority) => {
                    in_order(connection, query, most)?
                }
                _ => matching(connection, query, most)?,
            };
            (keys, counts.in_statuses(query.statuses), true)
        }
        _ => {
            let most = most.max(MAX_COUNTED);
            let keys = matching(connection, query, most.saturating_add(1))?;
            let found = keys.len();
            (keys, found.min(most), found <= most)
        }
    };
    let page = keys.into_iter().skip(query.skip).take(query.take);
    let counts = counts.filter(|_| query.counts);
    Ok(Page { total, is_exact, issues: issues(connection, page)?, counts })
}

/// Counts the issues that match a query in each status, regardless of its statuses. Of a search for texts, which have
/// to be read, it counts no more than [`MAX_COUNTED`].
fn count_matches(connection: &Connection, query: &Query) -> Result<MatchCounts, Failure> {
    let all = Query { statuses: StatusSet::EVERYTHING, ..query.clone() };
    let most = if query.condition.texts().is_empty() { usize::MAX } else { MAX_COUNTED };
    let mut selection = Selection::with(Dialect::Sqlite, &[], &[]);
    let matches = matches(connection, &all, "i.status", &mut selection)?;
    let most_read = selection.number(most.saturating_add(1));
    let statement =
        format!("SELECT status, count(*) FROM ({matches} LIMIT {most_read}) GROUP BY status");
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
    let counts = counts_of(&rows(connection, &statement, &selection, read)?);
    Ok(MatchCounts { counts, are_exact: counts.total() <= most })
}

/// Returns the issues with these keys.
fn issues(
    connection: &Connection,
    keys: impl Iterator<Item = i64>,
) -> Result<Vec<Arc<Issue>>, Failure> {
    let statement =
        format!("SELECT {COLUMNS} FROM issues i JOIN texts t ON t.key = i.key WHERE i.key = ?1");
    let mut statement = connection.prepare_cached(&statement)?;
    let mut found = Vec::new();
    for key in keys {
        let mut rows = statement.query([key])?;
        let missing = || Failure::Damaged("the text of an issue is missing".to_owned());
        let row = rows.next()?.ok_or_else(missing)?;
        found.push(StoredRow::read(row)?.issue);
    }
    Ok(found)
}

/// Returns the columns of the order of a query, for a table of issues.
fn order(query: &Query, table: &str) -> String {
    sql::order::columns(query, |column| match column {
        "title" => "f.title".to_owned(),
        "relevance" | "score" => column.to_owned(),
        _ => format!("{table}{column}"),
    })
}

/// Returns the keys of the first issues with some statuses and a classification, in an order that an index has. Each
/// status, and in the order of filing each priority, is one range of an index, so only as many rows are read as the
/// page needs.
fn in_order(connection: &Connection, query: &Query, most: usize) -> Result<Vec<i64>, Failure> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let kind =
        query.classification.map_or(String::new(), |kind| format!("AND i.kind = {}", kind as i16));
    let order = order(query, "");
    let range = |index: &str, condition: &str| {
        format!(
            "SELECT * FROM (SELECT i.key, i.position, i.priority, i.modified FROM issues i INDEXED BY {index} \
             WHERE {condition} {kind} ORDER BY {order} LIMIT ?1)"
        )
    };
    let has_all = StatusSet::ALL.is_within(query.statuses);
    let of_all = in_statuses(query.statuses).unwrap_or_else(|| "true".to_owned());
    let ranges: Vec<String> = match query.order {
        Order::Filed if has_all => vec![range("issues_filed", &of_all)],
        Order::LatestActivity if has_all => vec![range("issues_recent", &of_all)],
        Order::LatestActivity => {
            let statuses = query.statuses.iter();
            statuses
                .map(|one| range("issues_latest", &format!("i.status = {}", one as i16)))
                .collect()
        }
        Order::Priority => {
            let statuses = query.statuses.iter();
            statuses
                .map(|one| range("issues_order", &format!("i.status = {}", one as i16)))
                .collect()
        }
        _ => {
            let both = query.statuses.iter().flat_map(|one| (0..=4).map(move |at| (one, at)));
            both.map(|(one, priority)| {
                let condition = format!("i.status = {} AND i.priority = {priority}", one as i16);
                range("issues_order", &condition)
            })
            .collect()
        }
    };
    if ranges.is_empty() {
        return Ok(Vec::new());
    }
    let statement =
        format!("SELECT key FROM ({}) ORDER BY {order} LIMIT ?1", ranges.join(" UNION ALL "));
    let mut statement = connection.prepare_cached(&statement)?;
    let found = statement.query_map([most], |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Returns the keys of the first issues that match a query.
fn matching(connection: &Connection, query: &Query, most: usize) -> Result<Vec<i64>, Failure> {
    if query.order == Order::Match {
        return best_titles(connection, query, most);
    }
    let mut selection = Selection::with(Dialect::Sqlite, &[], &[]);
    let matches = matches(connection, query, "i.key", &mut selection)?;
    let most = selection.number(most);
    let statement = format!("{matches} ORDER BY {} LIMIT {most}", order(query, "i."));
    keys(connection, &statement, &selection)
}

/// Returns the keys of the matches whose titles fit best.
fn best_titles(connection: &Connection, query: &Query, most: usize) -> Result<Vec<i64>, Failure> {
    let mut selection = Selection::with(Dialect::Sqlite, &[], &[]);
    let score = selection.title_score(&query.condition.required_texts());
    let columns = format!("i.key, i.modified, i.position, {score} AS score");
    let matches = matches(connection, query, &columns, &mut selection)?;
    let ranked = selection.number(most.max(MAX_RANKED));
    let most = selection.number(most);
    let statement = format!(
        "SELECT key FROM ({matches} ORDER BY i.modified DESC, i.position DESC LIMIT {ranked}) ORDER BY {} LIMIT {most}",
        order(query, "")
    );
    keys(connection, &statement, &selection)
}

/// Returns the statement that selects columns of the issues that match a query, without an order.
///
/// The order in which the tables are read is fixed where texts are examined: either the issues that the index of
/// searches finds, or all in the order of the list, which ends with the page.
fn matches(
    connection: &Connection,
    query: &Query,
    columns: &str,
    selection: &mut Selection,
) -> Result<String, Failure> {
    let condition = selection.matches_within(query, &query.condition);
    let reads_texts =
        condition.contains("f.") || columns.contains("f.") || query.order == Order::Title;
    let mut rarest: Option<(i64, &str)> = None;
    for text in query.condition.required_texts() {
        let found = found_by_index(connection, text, MAX_INDEXED)?;
        let found = found.filter(|found| *found <= rarest.map_or(MAX_INDEXED, |(least, _)| least));
        rarest = found.map(|found| (found, text)).or(rarest);
    }
    let finds_keys =
        query.condition.conjuncts().iter().any(|one| matches!(one, Condition::Tells { .. }));
    let candidates = rarest.and_then(|(_, text)| selection.may_contain(text));
    let texts = "CROSS JOIN search f ON f.key = i.key";
    let tables = match (candidates, reads_texts, query.order) {
        (Some(candidates), ..) => {
            format!("({candidates}) c CROSS JOIN issues i ON i.key = c.key {texts}")
        }
        // The index of statuses would be read whole.
        (None, false, _) if finds_keys => "issues i NOT INDEXED".to_owned(),
        (None, false, _) => "issues i".to_owned(),
        (None, true, Order::Filed) => format!("issues i INDEXED BY issues_filed {texts}"),
        (None, true, Order::LatestActivity | Order::Match) => {
            format!("issues i INDEXED BY issues_recent {texts}")
        }
        (None, true, _) => format!("issues i {texts}"),
    };
    let statement = format!("SELECT {columns} FROM {tables} WHERE {condition}");
    Ok(statement.replace("{s}", "main"))
}

/// Counts the issues in which the index finds a text, up to a number and one more. `None` if it cannot find the text.
fn found_by_index(connection: &Connection, text: &str, most: i64) -> Result<Option<i64>, Failure> {
    const COUNT: &str =
        "SELECT count(*) FROM (SELECT 1 FROM search_index WHERE search_index MATCH ?1 LIMIT ?2)";
    let Some(sequences) = trigrams(text) else { return Ok(None) };
    let mut statement = connection.prepare_cached(COUNT)?;
    Ok(Some(statement.query_row(rusqlite::params![sequences, most + 1], |row| row.get(0))?))
}

/// Returns one page of a query for the issues in which the most of some texts occur.
fn best(connection: &Connection, query: &Query) -> Result<Page, Failure> {
    let all: i64 = connection
        .prepare_cached("SELECT coalesce(sum(issues), 0) FROM counts")?
        .query_row([], |row| row.get(0))?;
    let most = query.skip.saturating_add(query.take).max(MAX_EXAMINED);
    let keys = best_matches(connection, query, most.saturating_add(1))?;
    let is_exact = all <= MAX_EXAMINED as i64 && keys.len() <= most;
    let total = keys.len().min(most);
    let page = keys.into_iter().skip(query.skip).take(query.take);
    Ok(Page { total, is_exact, issues: issues(connection, page)?, counts: None })
}

/// Returns the keys of the issues in which the most of some texts occur. Examines the newest issues, and those that the
/// index finds by a rare text.
fn best_matches(connection: &Connection, query: &Query, most: usize) -> Result<Vec<i64>, Failure> {
    let (texts, at_least, others) = some_texts(&query.condition);
    let mut rare = Vec::new();
    for text in texts {
        let found = found_by_index(connection, text, MAX_RARE)?;
        rare.extend(found.filter(|found| *found <= MAX_RARE).map(|found| (found, text)));
    }
    rare.sort_by_key(|(found, _)| *found);
    let mut selection = Selection::with(Dialect::Sqlite, &[], &[]);
    let others = selection.matches_within(query, &others);
    let join = if others.contains("f.") { "CROSS JOIN search f ON f.key = i.key" } else { "" };
    let newest = selection.number(MAX_EXAMINED);
    let mut candidates = vec![
        format!(
            "SELECT key FROM (SELECT i.key FROM issues i INDEXED BY issues_recent {join} WHERE {others} \
             ORDER BY i.modified DESC, i.position DESC LIMIT {newest})"
        ),
        "SELECT key FROM unindexed".to_owned(),
    ];
    for (_, text) in rare.into_iter().take(LOOKED_UP) {
        let sequences = selection.param(Value::Text(trigrams(text).unwrap_or_default()));
        candidates
            .push(format!("SELECT rowid FROM search_index WHERE search_index MATCH {sequences}"));
    }
    let count = selection.count(texts);
    let at_least = selection.number(at_least);
    let limit = selection.number(most);
    let statement = format!(
        "SELECT i.key, {count} AS relevance FROM ({}) c CROSS JOIN issues i ON i.key = c.key \
         CROSS JOIN search f ON f.key = i.key \
         WHERE {others} AND relevance >= {at_least} ORDER BY {} LIMIT {limit}",
        candidates.join(" UNION "),
        order(query, "i.")
    );
    keys(connection, &statement.replace("{s}", "main"), &selection)
}

/// Returns the keys that a statement finds.
fn keys(
    connection: &Connection,
    statement: &str,
    selection: &Selection,
) -> Result<Vec<i64>, Failure> {
    rows(connection, statement, selection, |row| row.get(0))
}

/// Returns what a statement finds.
fn rows<T>(
    connection: &Connection,
    statement: &str,
    selection: &Selection,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>, Failure> {
    let mut statement = connection.prepare_cached(statement)?;
    let values = selection.params().iter().map(bound);
    let found = statement.query_map(rusqlite::params_from_iter(values), read)?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Returns a value as the parameter of a statement.
fn bound(value: &Value) -> Box<dyn ToSql + '_> {
    match value {
        Value::Int(number) => Box::new(number),
        Value::Text(text) => Box::new(text),
        Value::Id(id) => Box::new(id),
        Value::Ids(ids) => Box::new(array(ids.iter().copied().map(id_value))),
        Value::Texts(texts) => Box::new(array(texts.iter().cloned())),
    }
}
