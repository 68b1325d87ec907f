//! The schema: its version, and the migrations that lead to it.

use tokio_postgres::types::Type;

use super::connection::Connections;
use super::error::Failure;
use super::sql::advisory_key;

/// The migrations, oldest first. The version of a schema is how many of them it has had.
const MIGRATIONS: [&str; 1] = [include_str!("migrations/0001.sql")];

/// Makes or migrates a schema, unless it has the newest version. Several processes may do that at the same time.
pub(super) async fn migrate(connections: &Connections, schema: &str) -> Result<(), Failure> {
    let known = i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX);
    let found = version(&*connections.get().await?, schema).await?;
    refuse_newer(found, known, schema)?;
    if found == known {
        return Ok(());
    }
    let session = connections.session(&[]).await?;
    let lock = format!(
        "BEGIN; SET LOCAL lock_timeout = '60s'; \
         SELECT pg_advisory_xact_lock({})",
        advisory_key("migrate", schema)
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
            session.batch_execute(&format!("CREATE SCHEMA {schema}")).await?;
        }
    }
    for migration in &MIGRATIONS[usize::try_from(found).unwrap_or_default()..] {
        session.batch_execute(&migration.replace("{s}", schema)).await?;
    }
    let record = format!(
        "INSERT INTO {schema}.meta (version) VALUES ({known}) \
         ON CONFLICT (only_one) DO UPDATE SET version = excluded.version; COMMIT"
    );
    session.batch_execute(&record).await?;
    session.finish();
    Ok(())
}

/// Returns the version of a schema; 0 if there is none.
async fn version(client: &tokio_postgres::Client, schema: &str) -> Result<i32, Failure> {
    // Unlike to_regclass, this sees what was committed while the transaction waited for its lock.
    const EXISTS: &str = "SELECT EXISTS (SELECT FROM pg_class c \
        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'meta')";
    let exists = client.query_typed_one(EXISTS, &[(&schema, Type::TEXT)]).await?;
    let exists: bool = exists.try_get(0)?;
    if !exists {
        return Ok(0);
    }
    let version =
        client.query_typed_opt(&format!("SELECT version FROM {schema}.meta"), &[]).await?;
    Ok(version.map_or(0, |row| row.get(0)))
}

fn refuse_newer(found: i32, known: i32, schema: &str) -> Result<(), Failure> {
    if found <= known {
        return Ok(());
    }
    Err(Failure::Newer(format!("the schema {schema} (version {found}, this ait knows {known})")))
}
