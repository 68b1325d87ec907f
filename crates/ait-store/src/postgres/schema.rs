//! The schema: its version, and the migrations that lead to it.

use std::time::Duration;

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::connection::{Connections, Param};
use super::error::Failure;
use super::rows::FactColumns;
use super::sql::{Statements, advisory_key, quoted};
use crate::sql::rows::{IssueRow, SEPARATOR, SearchRow};
use ait_domain::Issue;

/// The migrations, oldest first. The version of a schema is how many of them it has had.
const MIGRATIONS: [&str; 12] = [
    include_str!("migrations/0001.sql"),
    include_str!("migrations/0002.sql"),
    include_str!("migrations/0003.sql"),
    include_str!("migrations/0004.sql"),
    include_str!("migrations/0005.sql"),
    include_str!("migrations/0006.sql"),
    include_str!("migrations/0007.sql"),
    include_str!("migrations/0008.sql"),
    include_str!("migrations/0009.sql"),
    include_str!("migrations/0010.sql"),
    include_str!("migrations/0011.sql"),
    include_str!("migrations/0012.sql"),
];

/// How long it may take to look which version a schema has.
const LOOK_WITHIN: Duration = Duration::from_secs(30);

/// Returns the names of the indexes that every project has.
pub(super) fn indexes() -> Vec<&'static str> {
    let created = |line: &'static str| {
        let rest = line.strip_prefix("CREATE ")?;
        rest.strip_prefix("UNIQUE ").unwrap_or(rest).strip_prefix("INDEX ")?.split(' ').next()
    };
    MIGRATIONS.iter().flat_map(|text| text.lines()).filter_map(created).collect()
}

/// Makes or migrates a schema, unless it has the newest version. Several processes may do that at the same time.
pub(super) async fn migrate(connections: &Connections, schema: &str) -> Result<(), Failure> {
    let known = i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX);
    let looking = async { version(&*connections.get().await?, schema).await };
    let found = connections.within(LOOK_WITHIN, looking).await?;
    refuse_newer(found, known, schema)?;
    if found == known {
        return Ok(());
    }
    let session = connections.session(&[]).await?;
    // One lock for all schemas of the database, because they share its extensions.
    let lock = format!(
        "BEGIN; SET LOCAL lock_timeout = '60s'; \
         SELECT pg_advisory_xact_lock({})",
        advisory_key("migrate", "")
    );
    session.batch_execute(&lock).await?;
    // Another process may have done it meanwhile.
    let found = version(&session, schema).await?;
    refuse_newer(found, known, schema)?;
    if found == 0 {
        let exists: bool = session
            .query_typed_one(
                "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)",
                &[(&schema, Type::TEXT)],
            )
            .await?
            .get(0);
        if !exists {
            session.batch_execute(&format!("CREATE SCHEMA {}", quoted(schema))).await?;
        }
    }
    for migration in &MIGRATIONS[usize::try_from(found).unwrap_or_default()..] {
        session.batch_execute(&migration.replace("{s}", &quoted(schema))).await?;
    }
    if found < 7 {
        fill_facts(&session, schema).await?;
    }
    if found < 9 {
        let authors = |issue: &Issue| IssueRow::of(issue).authors;
        fill_names(&session, schema, "issues", "authors", authors).await?;
        let read = format!("SELECT DISTINCT source FROM {}.links WHERE kind = 0", quoted(schema));
        let rows = session.query_typed(&read, &[]).await?;
        let parts: Vec<Uuid> = rows.iter().map(|row| row.get(0)).collect();
        let none: Vec<Uuid> = Vec::new();
        let params: [Param<'_>; 2] = [(&parts, Type::UUID_ARRAY), (&none, Type::UUID_ARRAY)];
        session.query_typed(&Statements::new(schema).set_waiting, &params).await?;
    }
    if found < 11 {
        let external = |issue: &Issue| SearchRow::of(issue).external;
        fill_names(&session, schema, "issue_search", "external", external).await?;
    }
    let record = format!(
        "INSERT INTO {}.meta (version) VALUES ({known}) \
         ON CONFLICT (only_one) DO UPDATE SET version = excluded.version; COMMIT",
        quoted(schema)
    );
    session.batch_execute(&record).await?;
    session.finish();
    Ok(())
}

/// Fills the columns that the versions 2 and 7 added, where no migration could.
async fn fill_facts(client: &tokio_postgres::Client, schema: &str) -> Result<(), Failure> {
    const UNFILLED: &str =
        "SELECT id, body FROM {s}.issue_texts WHERE created IS NULL ORDER BY id LIMIT 1000";
    const FILL: &str = "WITH active AS (UPDATE {s}.issues i SET active = n.active \
        FROM unnest($1::uuid[], $2::bigint[]) AS n(id, active) WHERE i.id = n.id) \
        UPDATE {s}.issue_texts t SET created = n.created, returns = n.returns, claims = n.claims, \
        labels = string_to_array(n.labels, E'\\x01') \
        FROM unnest($1::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[]) \
        AS n(id, created, returns, claims, labels) WHERE t.id = n.id";
    const DEMAND: &str = "ALTER TABLE {s}.issue_texts ALTER created SET NOT NULL, \
        ALTER returns SET NOT NULL, ALTER claims SET NOT NULL, ALTER labels SET NOT NULL; \
        ALTER TABLE {s}.issues ALTER active SET NOT NULL";
    loop {
        let rows = client.query_typed(&UNFILLED.replace("{s}", &quoted(schema)), &[]).await?;
        if rows.is_empty() {
            break;
        }
        let mut ids = Vec::new();
        let mut active = Vec::new();
        let mut facts = FactColumns::default();
        for row in &rows {
            let (id, issue) = read_issue(row)?;
            ids.push(id);
            active.push(issue.active_at().unix_millis());
            facts.push(&IssueRow::of(&issue));
        }
        let params: [Param<'_>; 2] = [(&ids, Type::UUID_ARRAY), (&active, Type::INT8_ARRAY)];
        let params: Vec<_> = params.into_iter().chain(facts.params()).collect();
        client.query_typed(&FILL.replace("{s}", &quoted(schema)), &params).await?;
    }
    Ok(client.batch_execute(&DEMAND.replace("{s}", &quoted(schema))).await?)
}

/// Fills a column whose meaning a version changed.
async fn fill_names(
    client: &tokio_postgres::Client,
    schema: &str,
    table: &str,
    column: &str,
    names: impl Fn(&Issue) -> Vec<String>,
) -> Result<(), Failure> {
    const READ: &str = "SELECT id, body FROM {s}.issue_texts WHERE id > $1 ORDER BY id LIMIT 1000";
    let fill = format!(
        "UPDATE {}.{table} i SET {column} = string_to_array(n.names, E'\\x01') \
         FROM unnest($1::uuid[], $2::text[]) AS n(id, names) WHERE i.id = n.id",
        quoted(schema)
    );
    let mut last = Uuid::nil();
    loop {
        let read = READ.replace("{s}", &quoted(schema));
        let rows = client.query_typed(&read, &[(&last, Type::UUID)]).await?;
        let mut ids = Vec::new();
        let mut found = Vec::new();
        for row in &rows {
            let (id, issue) = read_issue(row)?;
            ids.push(id);
            found.push(names(&issue).join(SEPARATOR));
        }
        let Some(id) = ids.last() else { return Ok(()) };
        last = *id;
        let params: [Param<'_>; 2] = [(&ids, Type::UUID_ARRAY), (&found, Type::TEXT_ARRAY)];
        client.query_typed(&fill, &params).await?;
    }
}

/// Reads an issue from its id and its text.
fn read_issue(row: &Row) -> Result<(Uuid, Issue), Failure> {
    let id: Uuid = row.try_get(0)?;
    let body: &str = row.try_get(1)?;
    let issue = serde_json::from_str(body).map_err(|error| {
        Failure::Other(format!("the text of the issue {id} cannot be read: {error}"))
    })?;
    Ok((id, issue))
}

/// Returns the version of a schema; 0 if there is none. Refuses one whose queue was moved to another store.
async fn version(client: &tokio_postgres::Client, schema: &str) -> Result<i32, Failure> {
    // Unlike to_regclass, this sees what was committed while the transaction waited for its lock.
    const EXISTS: &str = "SELECT EXISTS (SELECT FROM pg_class c \
        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'meta')";
    let exists = client.query_typed_one(EXISTS, &[(&schema, Type::TEXT)]).await?;
    let exists: bool = exists.try_get(0)?;
    if !exists {
        return Ok(0);
    }
    let meta = format!("{}.meta", quoted(schema));
    // The first versions have no such column.
    let read = format!("SELECT version, to_jsonb(m) ->> 'moved_to' FROM {meta} m");
    let Some(row) = client.query_typed_opt(&read, &[]).await? else { return Ok(0) };
    if let Some(to) = row.try_get::<_, Option<&str>>(1)? {
        return Err(Failure::Other(format!(
            "the queue of the schema {schema} was moved to {to}: use that one; to use this schema \
             again, run UPDATE {meta} SET moved_to = NULL"
        )));
    }
    Ok(row.try_get(0)?)
}

fn refuse_newer(found: i32, known: i32, schema: &str) -> Result<(), Failure> {
    if found <= known {
        return Ok(());
    }
    Err(Failure::Newer(format!("the schema {schema} (version {found}, this ait knows {known})")))
}
