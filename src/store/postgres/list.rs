//! The statements of lists, put together from the fragments below.

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};
use uuid::Uuid;

use super::connection::Param;
use super::error::Failure;
use super::rows::storable;
use crate::domain::{AgentName, Changed, Classification, Order, Query};

/// One page of the issues with some statuses and classifications. Each combination with a priority is one range of an
/// index, so only as many rows are read as the page needs.
const PAGE: &str = "SELECT i.id, i.position, i.lease_claim, i.lease_client, t.body, i.waits FROM ( \
    SELECT o.id FROM unnest($1::smallint[]) AS s(status) CROSS JOIN unnest($2::smallint[]) AS k(kind) {ranges} \
    CROSS JOIN LATERAL (SELECT i.id, i.position, i.priority, i.modified {title} FROM {s}.issues i {join} \
    WHERE i.status = s.status AND i.kind = k.kind {condition} ORDER BY {order} {limit}) o \
    ORDER BY {outer} OFFSET $3 LIMIT $4) page \
    JOIN {s}.issues i ON i.id = page.id JOIN {s}.issue_texts t ON t.id = i.id {joined} ORDER BY {order}";

/// One page of the issues that match, each with the number of all that match. Without a page, one row has the number.
const SEARCH: &str = "WITH matching AS MATERIALIZED (SELECT i.id, i.position, i.priority, i.modified, f.title \
    FROM {s}.issues i JOIN {s}.issue_search f ON f.id = i.id JOIN {s}.issue_texts h ON h.id = i.id \
    WHERE i.status = ANY($1) AND i.kind = ANY($2) \
    AND ($5::text IS NULL OR i.holder = $5) AND ($6::text IS NULL OR $6 = ANY(h.agents)) \
    AND ($7::text IS NULL OR i.holder = $7 OR h.filer = $7) \
    AND ($8::bigint IS NULL OR i.modified > $8) AND ($9::uuid[] IS NULL OR i.id = ANY($9)) \
    AND NOT EXISTS (SELECT FROM unnest($10::text[]) AS w(word) WHERE NOT (starts_with(i.id::text, w.word) \
    OR strpos(f.texts, w.word COLLATE \"C\") > 0 OR w.word = ANY(f.external) OR '#' || w.word = ANY(f.external)))) \
    SELECT i.id, i.position, i.lease_claim, i.lease_client, t.body, i.waits, c.total \
    FROM (SELECT count(*) AS total FROM matching) c LEFT JOIN ( \
    SELECT * FROM matching o ORDER BY {outer} OFFSET $3 LIMIT $4) o ON true \
    LEFT JOIN {s}.issues i ON i.id = o.id LEFT JOIN {s}.issue_texts t ON t.id = i.id ORDER BY {outer}";

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
        (Order::Title, true) => "{f}.title DESC, {i}.position DESC, {i}.id DESC",
    }
}

fn order(query: &Query, issues: &str, texts: &str) -> String {
    columns(query).replace("{i}", issues).replace("{f}", texts)
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

/// Returns one page of a query that filters by content or by changes.
pub(super) async fn search(
    client: &Client,
    schema: &str,
    query: &Query,
) -> Result<Vec<Row>, Failure> {
    let statement = SEARCH.replace("{outer}", &order(query, "o", "o")).replace("{s}", schema);
    let (limits, content) = (Limits::of(query), &query.content);
    let name = |agent: &Option<AgentName>| agent.as_ref().map(|agent| storable(agent.as_str()));
    let (holder, agent) = (name(&content.holder), name(&content.agent));
    let holder_or_filer = name(&content.holder_or_filer);
    let (after, ids) = match &query.changed {
        None => (None, None),
        Some(Changed::After(time)) => (Some(time.unix_millis()), None),
        Some(Changed::Issues(ids)) => {
            (None, Some(ids.iter().map(|id| Uuid::from(*id)).collect::<Vec<_>>()))
        }
    };
    let words: Vec<String> = content.texts.iter().map(|text| storable(text)).collect();
    let params: [Param<'_>; 10] = [
        (&limits.statuses, Type::INT2_ARRAY),
        (&limits.kinds, Type::INT2_ARRAY),
        (&limits.skip, Type::INT8),
        (&limits.take, Type::INT8),
        (&holder, Type::TEXT),
        (&agent, Type::TEXT),
        (&holder_or_filer, Type::TEXT),
        (&after, Type::INT8),
        (&ids, Type::UUID_ARRAY),
        (&words, Type::TEXT_ARRAY),
    ];
    Ok(client.query_typed(&statement, &params).await?)
}
