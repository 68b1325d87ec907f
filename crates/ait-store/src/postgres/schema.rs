//! The schema: its version, and how it is made.

use std::cmp::Ordering;
use std::time::Duration;

use tokio_postgres::types::Type;

use super::connection::Connections;
use super::error::Failure;
use super::sql::{advisory_key, quoted};

/// What makes a schema of this version.
const SCHEMA: &str = include_str!("schema.sql");
/// The version of the schema.
const VERSION: i32 = 12;

/// How long it may take to look which version a schema has.
const LOOK_WITHIN: Duration = Duration::from_secs(30);

/// Returns the names of the indexes that every project has.
pub(super) fn indexes() -> Vec<&'static str> {
    let created = |line: &'static str| {
        let rest = line.strip_prefix("CREATE ")?;
        rest.strip_prefix("UNIQUE ").unwrap_or(rest).strip_prefix("INDEX ")?.split(' ').next()
    };
    SCHEMA.lines().filter_map(created).collect()
}

/// Makes a schema, unless it is there. Several processes may do that at the same time.
pub(super) async fn make(connections: &Connections, schema: &str) -> Result<(), Failure> {
    let looking = async { is_made(&*connections.get().await?, schema).await };
    if connections.within(LOOK_WITHIN, looking).await? {
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
    if is_made(&session, schema).await? {
        session.batch_execute("ROLLBACK").await?;
        session.finish();
        return Ok(());
    }
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
    session.batch_execute(&SCHEMA.replace("{s}", &quoted(schema))).await?;
    let record =
        format!("INSERT INTO {}.meta (version) VALUES ({VERSION}); COMMIT", quoted(schema));
    session.batch_execute(&record).await?;
    session.finish();
    Ok(())
}

/// Returns true if there is a schema of this version. Refuses one of another version, and one whose queue was moved to
/// another store.
async fn is_made(client: &tokio_postgres::Client, schema: &str) -> Result<bool, Failure> {
    // Unlike to_regclass, this sees what was committed while the transaction waited for its lock.
    const EXISTS: &str = "SELECT EXISTS (SELECT FROM pg_class c \
        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'meta')";
    let exists = client.query_typed_one(EXISTS, &[(&schema, Type::TEXT)]).await?;
    let exists: bool = exists.try_get(0)?;
    if !exists {
        return Ok(false);
    }
    let meta = format!("{}.meta", quoted(schema));
    // An earlier version has no such column.
    let read = format!("SELECT version, to_jsonb(m) ->> 'moved_to' FROM {meta} m");
    let Some(row) = client.query_typed_opt(&read, &[]).await? else { return Ok(false) };
    if let Some(to) = row.try_get::<_, Option<&str>>(1)? {
        return Err(Failure::Other(format!(
            "the queue of the schema {schema} was moved to {to}: use that one; to use this schema \
             again, run UPDATE {meta} SET moved_to = NULL"
        )));
    }
    let found: i32 = row.try_get(0)?;
    match found.cmp(&VERSION) {
        Ordering::Less => Err(Failure::Earlier(format!("the schema {schema}"))),
        Ordering::Equal => Ok(true),
        Ordering::Greater => Err(Failure::Newer(format!(
            "the schema {schema} (version {found}, this ait knows {VERSION})"
        ))),
    }
}
