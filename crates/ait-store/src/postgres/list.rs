//! The statements of lists, put together from the fragments below.

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row};

use super::connection::{Param, params};
use super::error::Failure;
use crate::sql;
use crate::sql::condition::{Dialect, Named, Selection, Value, external_names, seams, some_texts};
use crate::sql::rows::counts_of;
use ait_domain::{Condition, MatchCounts, Order, Query, StatusSet};

/// One page of the issues with some statuses and classifications. Each combination with a priority is one range of an
/// index, so only as many rows are read as the page needs.
const PAGE: &str = "SELECT i.id, i.position, i.lease_claim, i.lease_client, t.body FROM ( \
    SELECT o.id FROM unnest($1::smallint[]) AS s(status) {ranges} CROSS JOIN LATERAL (SELECT i.id, i.position, i.priority, i.modified {sorted_by} FROM {s}.issues i {join} \
    WHERE i.status = s.status {condition} ORDER BY {range_order} {order} {limit}) o ORDER BY {outer} OFFSET $2 LIMIT $3) page \
    JOIN {s}.issues i ON i.id = page.id JOIN {s}.issue_texts t ON t.id = i.id {join} ORDER BY {order}";

/// One page of the issues that match, each with the number of all that match. Without a page, one row has the number.
/// At most `{most}` matches are counted: an index has the issues in their usual orders, so the server stops there.
const SEARCH: &str = "WITH matching AS MATERIALIZED (SELECT {columns} {sorted_by} \
    FROM {s}.issues i {joins} WHERE {condition} ORDER BY {inner} LIMIT {most})";
/// Selects the issues that contain the most of some texts. It examines those that an index finds by one of the rare
/// texts, and the newest others. OFFSET makes each of them a look-up: otherwise the server reads all issues.
const BEST: &str = "WITH rare AS MATERIALIZED (SELECT f.id FROM {s}.issue_search f WHERE {rare} LIMIT {most_rare}), \
    newest AS MATERIALIZED (SELECT i.id FROM {s}.issues i {other_joins} WHERE {others} AND i.id NOT IN (SELECT id FROM rare) \
    ORDER BY i.modified DESC, i.position DESC LIMIT {most} - (SELECT count(*) FROM rare)), \
    counted AS MATERIALIZED (SELECT {columns}, {count} AS relevance \
    FROM (SELECT id FROM newest UNION ALL SELECT id FROM rare) c \
    CROSS JOIN LATERAL (SELECT * FROM {s}.issues x WHERE x.id = c.id OFFSET 0) i \
    CROSS JOIN LATERAL (SELECT * FROM {s}.issue_search x WHERE x.id = c.id OFFSET 0) f {joins} WHERE {others}), \
    matching AS MATERIALIZED (SELECT * FROM counted WHERE relevance >= {at_least})";
/// What a page of `matching` shows, and what it is ordered by.
const COLUMNS: &str = "i.id, i.position, i.priority, i.modified, i.lease_claim, i.lease_client";
/// One page of `matching`.
const PAGE_OF_MATCHING: &str = " SELECT o.id, o.position, o.lease_claim, o.lease_client, t.body, c.total, c.examined \
    FROM (SELECT count(*) AS total, {examined} AS examined FROM matching) c LEFT JOIN ( \
    SELECT * FROM matching o ORDER BY {outer} OFFSET {skip} LIMIT {take}) o ON true \
    LEFT JOIN {s}.issue_texts t ON t.id = o.id ORDER BY {outer}";
/// The issues with one of some ids in other trackers. Its index has no issues without such ids.
const NAMED: &str =
    "SELECT f.id, f.external FROM {s}.issue_search f WHERE f.external <> '{}' AND f.external && $1";
/// In how many of the newest issues each of some texts occurs.
const SAMPLE: &str = "SELECT {counts} FROM (SELECT id FROM {s}.issues ORDER BY modified DESC, position DESC LIMIT {most}) i \
    JOIN {s}.issue_search f ON f.id = i.id";

/// How many matches of a search are counted at least.
const MAX_COUNTED: i64 = 500;
/// How many issues are examined for the best ones.
const MAX_EXAMINED: i64 = 200;
/// Of how many matches the titles are compared: the latest ones.
const MAX_RANKED: i64 = 2_000;
/// How many of the examined issues may be those with a rare text.
const MAX_RARE: i64 = MAX_EXAMINED / 2;
/// How many issues show which texts are rare.
const SAMPLED: i64 = 100;
/// A text is rare if it occurs in no more of the sampled issues.
const RARE_IN: i64 = SAMPLED / 20;
/// How many rare texts are looked up.
const LOOKED_UP: usize = 4;

/// Returns the columns of the order of a query, for tables of issues, texts of searches and facts.
fn order(query: &Query, issues: &str, texts: &str, facts: &str) -> String {
    let columns = sql::order::columns(query, |column| match column {
        "title" => format!("{texts}.title"),
        "created" => format!("{facts}.created"),
        "relevance" | "score" => column.to_owned(),
        _ => format!("{issues}.{column}"),
    });
    // Two that were filed in one step have one position.
    let direction = if columns.ends_with("DESC") { "DESC" } else { "ASC" };
    format!("{columns}, {issues}.id {direction}")
}

/// Returns the column of an order that no index has, beside those that every order needs.
fn sorted_by(query: &Query) -> &'static str {
    match query.order {
        // The score is a column by itself.
        Order::Match => ", {score} AS score",
        Order::Title => ", f.title",
        Order::Created => ", h.created",
        Order::Classification => ", i.kind",
        Order::Status => ", i.status",
        Order::Holder => ", i.holder",
        Order::Filed | Order::LatestActivity | Order::Priority | Order::Relevance => "",
    }
}

/// The statuses, the classification, and the range of the page.
struct Limits {
    statuses: Vec<i16>,
    kind: Option<i16>,
    skip: i64,
    take: i64,
}

impl Limits {
    fn of(query: &Query) -> Self {
        let clamp = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        Self {
            statuses: query.statuses.iter().map(|status| status as i16).collect(),
            kind: query.classification.map(|kind| kind as i16),
            skip: clamp(query.skip),
            take: clamp(query.take),
        }
    }
}

/// A query to a connection.
#[derive(Clone, Copy)]
pub(super) struct Listing<'a> {
    pub client: &'a Client,
    pub schema: &'a str,
    pub query: &'a Query,
}

impl Listing<'_> {
    /// Returns one page of a query that filters by status and classification alone.
    pub(super) async fn page(&self) -> Result<Vec<Row>, Failure> {
        let query = self.query;
        let sorted_by = sorted_by(query);
        let join = search_joined(sorted_by) + &texts_joined(sorted_by);
        let by_priority = matches!(query.order, Order::Filed | Order::Priority);
        let ranges =
            if by_priority { "CROSS JOIN generate_series(0, 4) AS p(priority)" } else { "" };
        let limits = Limits::of(query);
        let of_kind = limits.kind.map(|kind| format!("AND i.kind = {kind}")).unwrap_or_default();
        // As an order and a range of one value, the priority leads to its index. If it were equal, the server would
        // read a small table in the order of positions, once for each range.
        let (of_range, range_order) = if by_priority {
            let direction = if query.reversed { "DESC" } else { "ASC" };
            let order = format!("i.priority {direction},");
            ("AND i.priority BETWEEN p.priority AND p.priority", order)
        } else {
            ("", String::new())
        };
        let outer = order(query, "o", "o", "o");
        let statement = PAGE
            .replace("{ranges}", ranges)
            .replace("{condition}", &format!("{of_kind} {of_range}"))
            .replace("{range_order}", &range_order)
            .replace("{sorted_by}", sorted_by)
            .replace("{join}", &join)
            .replace("{limit}", if sorted_by.is_empty() { "LIMIT $4" } else { "" })
            .replace("{outer}", &outer)
            .replace("{order}", &order(query, "i", "f", "h"))
            .replace("{s}", self.schema);
        let needed = limits.skip.saturating_add(limits.take);
        let mut params: Vec<Param<'_>> = vec![
            (&limits.statuses, Type::INT2_ARRAY),
            (&limits.skip, Type::INT8),
            (&limits.take, Type::INT8),
        ];
        if sorted_by.is_empty() {
            params.push((&needed, Type::INT8));
        }
        Ok(self.client.query_typed(&statement, &params).await?)
    }

    /// Counts the issues that match a query in each status, regardless of its statuses, if it asks for that and not for
    /// the best matches alone. Of a search for texts, which have to be read, it counts no more than [`MAX_COUNTED`].
    pub(super) async fn count_matches(&self) -> Result<Option<MatchCounts>, Failure> {
        let query = self.query;
        if !query.counts || query.order == Order::Relevance {
            return Ok(None);
        }
        let all = Query { statuses: StatusSet::EVERYTHING, ..query.clone() };
        let named = self.named(&query.condition).await?;
        let mut selection = Selection::with(Dialect::Postgres, &named, &[]);
        let condition = selection.matches_within(&all, &query.condition);
        let joins = search_joined(&condition) + &texts_joined(&condition);
        let most = if query.condition.texts().is_empty() { i64::MAX } else { MAX_COUNTED };
        let most_read = selection.param(Value::Int(most.saturating_add(1)));
        let statement = format!(
            "SELECT status, count(*) FROM (SELECT i.status FROM {{s}}.issues i {joins} WHERE {condition} \
             LIMIT {most_read}) matching GROUP BY status"
        );
        let statement = statement.replace("{s}", self.schema);
        let rows = self.client.query_typed(&statement, &params(selection.params())).await?;
        let read = |row: &Row| Ok((row.try_get::<_, i16>(0)?.into(), row.try_get(1)?));
        let counts = counts_of(&rows.iter().map(read).collect::<Result<Vec<_>, Failure>>()?);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Ok(Some(MatchCounts { counts, are_exact: counts.total() <= most }))
    }

    /// Returns one page of a query with a condition.
    pub(super) async fn search(&self) -> Result<Found, Failure> {
        let query = self.query;
        if query.order == Order::Relevance {
            return self.best().await;
        }
        let required = query.condition.conjuncts().iter().filter_map(Condition::text);
        let phrases: Vec<&str> = required.filter(|text| !seams(text).is_empty()).collect();
        let named = self.named(&query.condition);
        if phrases.is_empty() {
            // Few texts name an issue, so the statement is sent before it is known.
            let alone = self.matching(&[], &[]);
            let (named, found) = tokio::try_join!(biased; named, alone)?;
            return if named.is_empty() { Ok(found) } else { self.matching(&named, &[]).await };
        }
        let (named, rare) = tokio::try_join!(biased; named, self.rare(&phrases))?;
        self.matching(&named, &rare).await
    }

    /// Returns the issues that the texts of a condition name with ids in other trackers.
    async fn named(&self, condition: &Condition) -> Result<Vec<Named>, Failure> {
        let names: Vec<_> = condition.texts().into_iter().flat_map(external_names).collect();
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let statement = NAMED.replace("{s}", self.schema);
        let rows = self.client.query_typed(&statement, &[(&names, Type::TEXT_ARRAY)]).await?;
        rows.iter()
            .map(|row| Ok(Named { id: row.try_get(0)?, external: row.try_get(1)? }))
            .collect()
    }

    /// Returns one page of a query, if its texts name some issues.
    async fn matching(&self, named: &[Named], rare: &[&str]) -> Result<Found, Failure> {
        let query = self.query;
        let limits = Limits::of(query);
        let mut selection = Selection::with(Dialect::Postgres, named, rare);
        let most = limits.skip.saturating_add(limits.take).max(MAX_COUNTED);
        // The titles of the latest matches are compared.
        let (examined, examined_in) = if query.order == Order::Match {
            let latest = Query { order: Order::LatestActivity, reversed: false, ..query.clone() };
            (most.saturating_add(1).max(MAX_RANKED), latest)
        } else {
            (most.saturating_add(1), query.clone())
        };
        let score = selection.title_score(&query.condition.required_texts());
        let sorted_by = sorted_by(query).replace("{score}", &score);
        let condition = selection.matches_within(query, &query.condition);
        let read = format!("{sorted_by} {condition}");
        let joins = search_joined(&read) + &texts_joined(&read);
        let statement = SEARCH
            .replace("{sorted_by}", &sorted_by)
            .replace("{joins}", &joins)
            .replace("{condition}", &condition)
            .replace("{most}", &selection.param(Value::Int(examined)))
            .replace("{inner}", &order(&examined_in, "i", "f", "h"));
        let rows = self.page_of(statement, "0", selection).await?;
        let total = counted(&rows, 5)?;
        Ok(Found { rows, total: total.min(most), is_exact: total <= most })
    }

    /// Returns one page of a query for the issues in which the most of some texts occur.
    async fn best(&self) -> Result<Found, Failure> {
        let query = self.query;
        let (texts, at_least, others) = some_texts(&query.condition);
        let looked_for: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (named, rare) = tokio::try_join!(
            biased;
            self.named(&query.condition),
            self.rare(&looked_for),
        )?;
        let mut selection = Selection::with(Dialect::Postgres, &named, &[]);
        let others = selection.matches_within(query, &others);
        let rare: Vec<_> = rare.into_iter().map(|text| selection.contains(text)).collect();
        let at_least = i64::try_from(at_least).unwrap_or(i64::MAX);
        let statement = BEST
            .replace("{other_joins}", &(search_joined(&others) + &texts_joined(&others)))
            .replace("{joins}", &texts_joined(&others))
            .replace("{others}", &others)
            .replace(
                "{rare}",
                &if rare.is_empty() { "false".to_owned() } else { rare.join(" OR ") },
            )
            .replace("{count}", &selection.count(texts))
            .replace("{at_least}", &selection.param(Value::Int(at_least)))
            .replace("{most_rare}", &selection.param(Value::Int(MAX_RARE)))
            .replace("{most}", &selection.param(Value::Int(MAX_EXAMINED)));
        let examined = "(SELECT count(*) FROM newest) + (SELECT count(*) FROM rare)";
        let rows = self.page_of(statement, examined, selection).await?;
        Ok(Found { total: counted(&rows, 5)?, is_exact: counted(&rows, 6)? < MAX_EXAMINED, rows })
    }

    /// Returns the rarest of some texts. An index finds the issues with one of them without reading many others.
    async fn rare<'a>(&self, texts: &[&'a str]) -> Result<Vec<&'a str>, Failure> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let mut selection = Selection::with(Dialect::Postgres, &[], &[]);
        let counts =
            texts.iter().map(|text| format!("count(*) FILTER (WHERE {})", selection.occurs(text)));
        let statement = SAMPLE
            .replace("{counts}", &counts.collect::<Vec<_>>().join(", "))
            .replace("{most}", &selection.param(Value::Int(SAMPLED)))
            .replace("{s}", self.schema);
        let row = self.client.query_typed_one(&statement, &params(selection.params())).await?;
        let mut rare = Vec::new();
        for (at, text) in texts.iter().enumerate() {
            let count: i64 = row.try_get(at)?;
            if count <= RARE_IN {
                rare.push((count, *text));
            }
        }
        rare.sort_by_key(|(count, _)| *count);
        Ok(rare.into_iter().map(|(_, text)| text).take(LOOKED_UP).collect())
    }

    /// Returns the page of the issues in `matching`, which a statement has defined.
    async fn page_of(
        &self,
        matching: String,
        examined: &str,
        mut selection: Selection,
    ) -> Result<Vec<Row>, Failure> {
        let query = self.query;
        let limits = Limits::of(query);
        let statement = (matching + PAGE_OF_MATCHING)
            .replace("{columns}", COLUMNS)
            .replace("{examined}", examined)
            .replace("{skip}", &selection.param(Value::Int(limits.skip)))
            .replace("{take}", &selection.param(Value::Int(limits.take)))
            .replace("{outer}", &order(query, "o", "o", "o"))
            .replace("{s}", self.schema);
        Ok(self.client.query_typed(&statement, &params(selection.params())).await?)
    }
}

/// One page of a query with a condition: rows, and whether the numbers in them are those of all matches.
pub(super) struct Found {
    pub rows: Vec<Row>,
    pub total: i64,
    pub is_exact: bool,
}

/// Joins the table `f`, if a condition looks at it.
fn search_joined(condition: &str) -> String {
    let join = "JOIN {s}.issue_search f ON f.id = i.id ";
    if condition.contains("f.") { join.to_owned() } else { String::new() }
}

/// Joins the table `h`, if a condition looks at it.
fn texts_joined(condition: &str) -> String {
    let join = "JOIN {s}.issue_texts h ON h.id = i.id ";
    if condition.contains("h.") { join.to_owned() } else { String::new() }
}

fn counted(rows: &[Row], column: usize) -> Result<i64, Failure> {
    Ok(rows.first().map_or(Ok(0), |row| row.try_get(column))?)
}
