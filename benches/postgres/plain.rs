//! Plain SQL with prepared statements, over one connection per client or in separate processes.

use std::time::Instant;

use futures::future::try_join;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Statement};
use uuid::Uuid;

use crate::CLIENTS;
use crate::server::Server;

/// Returns the claims per second in plain SQL.
pub async fn claims_per_second(server: &Server, claims: usize) -> f64 {
    let table = format!(
        "DROP TABLE IF EXISTS plain; CREATE TABLE plain (id uuid PRIMARY KEY, position bigint, status smallint, \
         holder text, body text); CREATE INDEX plain_ready ON plain (position) WHERE status = 0; \
         INSERT INTO plain SELECT gen_random_uuid(), n, 0, NULL, repeat('what is wrong here ', 20) \
         FROM generate_series(1, {claims} + 100) n"
    );
    let claim = "WITH next AS MATERIALIZED (SELECT id FROM plain WHERE status = 0 ORDER BY position LIMIT 1 \
        FOR UPDATE SKIP LOCKED) UPDATE plain p SET status = 1, holder = $1 FROM next WHERE p.id = next.id RETURNING p.body";
    per_second(server, &table, "plain", claim, &[&"agent"], claims).await
}

/// Returns the claims per second in plain SQL that writes the same rows as `ait`: an event, the issue and its text, in
/// one statement and without rules.
pub async fn whole_claims_per_second(server: &Server, claims: usize) -> f64 {
    let claim = "WITH next AS MATERIALIZED (SELECT id FROM whole WHERE status = 0 ORDER BY position LIMIT 1 \
        FOR UPDATE SKIP LOCKED), taken AS (UPDATE whole w SET status = 1, holder = $1 FROM next WHERE w.id = next.id), \
        event AS (INSERT INTO whole_events (issue, body) SELECT id, repeat('what happened ', 10) FROM next) \
        UPDATE whole_texts t SET body = 'taken ' || t.body FROM next WHERE t.id = next.id RETURNING t.body";
    per_second(server, &whole_tables(claims), "whole", claim, &[&"agent"], claims).await
}

fn whole_tables(claims: usize) -> String {
    format!(
        "DROP TABLE IF EXISTS whole, whole_texts, whole_events; CREATE TABLE whole (id uuid PRIMARY KEY, position bigint, \
         status smallint, holder text); CREATE INDEX whole_ready ON whole (position) WHERE status = 0; \
         CREATE INDEX whole_order ON whole (status, position); CREATE INDEX whole_held ON whole (holder) \
         WHERE holder IS NOT NULL; CREATE TABLE whole_texts (id uuid PRIMARY KEY, body text) WITH (fillfactor = 75); \
         CREATE TABLE whole_events (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, issue uuid, body text); \
         INSERT INTO whole SELECT gen_random_uuid(), n, 0, NULL FROM generate_series(1, {claims} + 100) n; \
         INSERT INTO whole_texts SELECT id, repeat('what is wrong here ', 30) FROM whole"
    )
}

/// Creates the tables for [`Steps`] and returns the URL of their database.
pub async fn make(server: &Server, claims: usize) -> String {
    let client = server.connect().await;
    client.batch_execute(&whole_tables(claims)).await.expect("new tables");
    client.batch_execute("VACUUM ANALYZE whole").await.expect("a table");
    server.url("ait")
}

/// Claims in two steps with as many round trips as `ait` needs: one locks and reads, and after a decision in the client
/// the other writes the same rows.
pub struct Steps {
    client: Client,
    take: Statement,
    write: Statement,
}

impl Steps {
    /// Connects to the database of the tables.
    pub async fn new(url: &str) -> Self {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("a server");
        tokio::spawn(connection);
        let take = "SELECT w.id, t.body FROM (SELECT id FROM whole WHERE status = 0 ORDER BY position LIMIT 1 \
            FOR UPDATE SKIP LOCKED) w JOIN whole_texts t ON t.id = w.id";
        let write = "WITH taken AS (UPDATE whole SET status = 1, holder = 'agent' WHERE id = $1), \
            event AS (INSERT INTO whole_events (issue, body) VALUES ($1, repeat('what happened ', 10))) \
            UPDATE whole_texts SET body = $2 WHERE id = $1";
        let take = client.prepare(take).await.expect("a valid statement");
        let write = client.prepare(write).await.expect("a valid statement");
        Self { client, take, write }
    }

    /// Claims the next issue.
    pub async fn claim(&self) {
        let begin = self.client.batch_execute("BEGIN");
        let (_, row) =
            try_join(begin, self.client.query_one(&self.take, &[])).await.expect("an issue");
        let (id, body): (Uuid, String) = (row.get(0), row.get(1));
        let body = format!("taken {body}");
        let params: [&(dyn ToSql + Sync); 2] = [&id, &body];
        let write = self.client.execute(&self.write, &params);
        try_join(write, self.client.batch_execute("COMMIT")).await.expect("a change");
    }
}

/// Returns the commits per second of one new row each.
pub async fn commits_per_second(server: &Server, commits: usize) -> f64 {
    let table = "DROP TABLE IF EXISTS one; CREATE TABLE one (id uuid PRIMARY KEY, body text)";
    let add = "INSERT INTO one VALUES (gen_random_uuid(), $1)";
    per_second(server, table, "one", add, &[&"what is wrong here"], commits).await
}

async fn per_second(
    server: &Server,
    table: &str,
    name: &str,
    statement: &'static str,
    params: &'static [&'static (dyn ToSql + Sync)],
    count: usize,
) -> f64 {
    let client = server.connect().await;
    client.batch_execute(table).await.expect("a new table");
    client.batch_execute(&format!("VACUUM ANALYZE {name}")).await.expect("a table");
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let client = server.connect().await;
        let statement = client.prepare(statement).await.expect("a valid statement");
        clients.push((client, statement));
    }
    let begun = Instant::now();
    let tasks: Vec<_> = clients
        .into_iter()
        .map(|(client, statement)| {
            tokio::spawn(async move {
                for _ in 0..count / CLIENTS {
                    client.query(&statement, params).await.expect("a change");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a task that ends");
    }
    count as f64 / begun.elapsed().as_secs_f64()
}
