//! The statements of lists, put together from the fragments below.

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use super::condition::Selection;
use super::connection::Param;
use super::error::Failure;
use crate::domain::{Classification, Order, Query};

/// One page of the issues with some statuses and classifications. Each combination with a priority is one range of an
/// index, so only as many rows are read as the page needs.
const PAGE: &str = "SELECT i.id, i.position, i.lease_claim, i.lease_client, t.body, i.waits FROM ( \
    SELECT o.id FROM unnest($1::smallint[]) AS s(status) CROSS JOIN unnest($2::smallint[]) AS k(kind) {ranges} \
    CROSS JOIN LATERAL (SELECT i.id, i.position, i.priority, i.modified {title} FROM {s}.issues i {join} \
    WHERE i.status = s.status AND i.kind = k.kind {condition} ORDER BY {order} {limit}) o \
    ORDER BY {outer} OFFSET $3 LIMIT $4) page \
    JOIN {s}.issues i ON i.id = page.id JOIN {s}.issue_texts t ON t.id = i.id {joined} ORDER BY {order}";

/// One page of the issues that match, each with the number of all that match. Without a page, one row has the number. At
/// most `{most}` matches are counted.
const SEARCH: &str = "WITH matching AS MATERIALIZED (SELECT i.id, i.position, i.priority, i.modified, f.title, \
    {relevance} AS relevance FROM {s}.issues i JOIN {s}.issue_search f ON f.id = i.id \
    JOIN {s}.issue_texts h ON h.id = i.id WHERE i.status = ANY({statuses}) AND i.kind = ANY({kinds}) AND {condition} \
    ORDER BY {inner} LIMIT {most}) \
    SELECT i.id, i.position, i.lease_claim, i.lease_client, t.body, i.waits, c.total \
    FROM (SELECT count(*) AS total FROM matching) c LEFT JOIN ( \
    SELECT * FROM matching o ORDER BY {outer} OFFSET {skip} LIMIT {take}) o ON true \
    LEFT JOIN {s}.issues i ON i.id = o.id LEFT JOIN {s}.issue_texts t ON t.id = i.id ORDER BY {outer}";
/// How many matches of a search for texts are counted at least.
const MAX_COUNTED: i64 = 500;

/// Returns the columns of an order. Equal texts of two states give equal orders.
fn columns(query: &Query) -> &'static str {
    match (query.order, query.reversed) {
        (Order::Filed, false) => "{i}.position, {i}.id",
        (Order::Filed, true) => "{i}.position DESC, {i}.id DESC",
        (Order::LatestActivity, false) => "{i}.modified DESC, {i}.position DESC, {i}.id DESC",
        (Order::LatestActivity, true) => "{i}.modified, {i}.position, {i}.id",
        (Order::Priority, false) => "{i}.priority, {i}.position, {i}.id",
        (Order::Priority, true) => "{i}.priority DESC, {i}.position DESC, {i}.id DESC",
        (Order::Title, false) => "{f}.title, {i}.position, {i}.id",
        (Order::Relevance, false) => "{r} DESC, {i}.modified DESC, {i}.position DESC, {i}.id DESC",
        (Order::Relevance, true) => "{r}, {i}.modified, {i}.position, {i}.id",
        (Order::Title, true) => "{f}.title DESC, {i}.position DESC, {i}.id DESC",
    }
}

fn order(query: &Query, issues: &str, texts: &str) -> String {
    columns(query).replace("{i}", issues).replace("{f}", texts).replace("{r}", "relevance")
}

/// The statuses, the classifications, and the range of the page.
struct Limits {
    statuses: Vec<i16>,
    kinds: Vec<i16>,
    skip: i64,
    take: i64,
}

impl Limits {
    fn of(query: &Query) -> Self {
        let kinds = match &query.classification {
            Some(kind) => std::slice::from_ref(kind),
            None => Classification::ALL,
        };
        let clamp = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        Self {
            statuses: query.statuses.iter().map(|status| status as i16).collect(),
            kinds: kinds.iter().map(|kind| *kind as i16).collect(),
            skip: clamp(query.skip),
            take: clamp(query.take),
        }
    }
}

/// Returns one page of a query that filters by status and classification alone.
pub(super) async fn page(
    client: &Client,
    schema: &str,
    query: &Query,
) -> Result<Vec<Row>, Failure> {
    let by_title = query.order == Order::Title;
    let by_priority = matches!(query.order, Order::Filed | Order::Priority);
    let ranges = if by_priority { "CROSS JOIN generate_series(0, 4) AS p(priority)" } else { "" };
    let condition = if by_priority { "AND i.priority = p.priority" } else { "" };
    let search = "JOIN {s}.issue_search f ON f.id = i.id";
    let outer = order(query, "o", "o");
    let statement = PAGE
        .replace("{ranges}", ranges)
        .replace("{condition}", condition)
        .replace("{title}", if by_title { ", f.title" } else { "" })
        .replace("{join}", if by_title { search } else { "" })
        .replace("{joined}", if by_title { search } else { "" })
        .replace("{limit}", if by_title { "" } else { "LIMIT $5" })
        .replace("{outer}", &outer)
        .replace("{order}", &order(query, "i", "f"))
        .replace("{s}", schema);
    let limits = Limits::of(query);
    let needed = limits.skip.saturating_add(limits.take);
    let mut params: Vec<Param<'_>> = vec![
        (&limits.statuses, Type::INT2_ARRAY),
        (&limits.kinds, Type::INT2_ARRAY),
        (&limits.skip, Type::INT8),
        (&limits.take, Type::INT8),
    ];
    if !by_title {
        params.push((&needed, Type::INT8));
    }
    Ok(client.query_typed(&statement, &params).await?)
}

/// Returns one page of a query with a condition, and the number of matches that are counted at most.
pub(super) async fn search(
    client: &Client,
    schema: &str,
    query: &Query,
) -> Result<(Vec<Row>, i64), Failure> {
    let (limits, mut selection) = (Limits::of(query), Selection::default());
    let most = match query.condition.texts().is_empty() {
        true => i64::MAX,
        false => limits.skip.saturating_add(limits.take).max(MAX_COUNTED),
    };
    let statement = SEARCH
        .replace("{relevance}", &selection.relevance(&query.condition))
        .replace("{condition}", &selection.matches(&query.condition))
        .replace("{statuses}", &selection.param(limits.statuses, Type::INT2_ARRAY))
        .replace("{kinds}", &selection.param(limits.kinds, Type::INT2_ARRAY))
        .replace("{most}", &selection.param(most.saturating_add(1), Type::INT8))
        .replace("{skip}", &selection.param(limits.skip, Type::INT8))
        .replace("{take}", &selection.param(limits.take, Type::INT8))
        .replace("{inner}", &order(query, "i", "f"))
        .replace("{outer}", &order(query, "o", "o"))
        .replace("{s}", schema);
    Ok((client.query_typed(&statement, &selection.params()).await?, most))
}
