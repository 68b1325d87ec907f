//! How fast the store in PostgreSQL is, next to plain SQL. Too slow for every run: `--ignored --nocapture`, with the
//! release profile for numbers that count.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_issue_tracker::domain::{AgentName, Command, Order, Query, Status, StatusSet};
use agent_issue_tracker::store::{Part, PostgresStore, Store};
use tokio_postgres::NoTls;

use crate::support::commands::{agent, at};
use crate::support::postgres::{Server, open};
use crate::support::stores::apply;

const CONNECTIONS: usize = 32;
const CLAIMS: usize = 6400;

fn schema(url: &str) -> &str {
    url.split_once("schema=").unwrap().1
}

/// Fills a project with issues, of which 90 % have ended, as an import would have made them.
async fn fill(server: &Server, url: &str, count: u64, open_of_ten: u64) {
    open(url).migrate().await.unwrap();
    let fill = "
        CREATE TEMP TABLE new AS SELECT gen_random_uuid() AS id, n AS position, CASE WHEN n % 10 < {open} THEN 0 ELSE 4 END AS status
            FROM generate_series(1, {count}) AS n;
        INSERT INTO {s}.issues (id, position, status, kind, priority, modified, parked, question, authors)
            SELECT id, position << 20, status, position % 3, 2, 1770000000000 + position, false, false, '{a}' FROM new;
        INSERT INTO {s}.issue_texts SELECT id, format('{\"id\":\"%s\",\"title\":\"Issue %s\",\"description\":\"%s\",\"classification\":\"%s\",\"createdAt\":\"2026-01-31T09:30:00.000Z\",\"modifiedAt\":\"%s\",\"status\":\"%s\",\"history\":[{\"timestamp\":\"2026-01-31T09:30:00.000Z\",\"agent\":\"a\",\"action\":\"Issue filed\"}],\"comments\":[]}',
            id, position, repeat('what is wrong here ', 10), (ARRAY['bug', 'improvement', 'feature'])[position % 3 + 1],
            to_char(to_timestamp(1770000000 + position / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'),
            CASE status WHEN 0 THEN 'created' ELSE 'closed' END), '{a}', 'a' FROM new;
        INSERT INTO {s}.issue_search SELECT id, 'issue ' || position, 'issue ' || position, '{}' FROM new;
        INSERT INTO {s}.events (seq, number, nonce, body, totals) SELECT {count}, 1, 1, '', array_agg(
            (SELECT count(*) FROM new WHERE status * 3 + position % 3 = slot)::integer ORDER BY slot) FROM generate_series(0, 17) AS slot;
        SELECT setval('{s}.event_seq', {count} + 1);
        DROP TABLE new;
        VACUUM ANALYZE {s}.issues; VACUUM ANALYZE {s}.issue_texts; VACUUM ANALYZE {s}.issue_search";
    let client = server.connect().await;
    for statement in fill.split(";\n") {
        for statement in statement.split("; VACUUM") {
            let statement = statement.trim().replace("{s}", schema(url));
            let statement = statement
                .replace("{count}", &count.to_string())
                .replace("{open}", &open_of_ten.to_string());
            let is_vacuum = statement.starts_with("ANALYZE");
            let statement = if is_vacuum { format!("VACUUM {statement}") } else { statement };
            client.batch_execute(&statement).await.unwrap();
        }
    }
}

fn claim_as(agent: &AgentName) -> Command {
    let terms = Default::default();
    Command::GetNextIssue { issue: None, classification: None, agent: agent.clone(), terms }
}

/// Claims per second with all tasks at once.
async fn claims_per_second(stores: &[Arc<PostgresStore>]) -> f64 {
    let begun = Instant::now();
    let tasks: Vec<_> = (0..CONNECTIONS)
        .map(|task| {
            let store = Arc::clone(&stores[task % stores.len()]);
            let agent = AgentName::try_from(format!("agent {task}")).unwrap();
            tokio::spawn(async move {
                for _ in 0..CLAIMS / CONNECTIONS {
                    assert!(apply(&*store, claim_as(&agent), at(1)).await.unwrap().is_some());
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    CLAIMS as f64 / begun.elapsed().as_secs_f64()
}

/// The same in plain SQL: one statement for each claim, prepared, on a connection for each task.
async fn plain_claims_per_second(server: &Server) -> f64 {
    let client = server.connect().await;
    let table = "DROP TABLE IF EXISTS plain; CREATE TABLE plain (id uuid PRIMARY KEY, position bigint, status smallint, \
        holder text, body text); CREATE INDEX plain_ready ON plain (position) WHERE status = 0; \
        INSERT INTO plain SELECT gen_random_uuid(), n, 0, NULL, repeat('what is wrong here ', 20) FROM generate_series(1, 7000) n";
    client.batch_execute(table).await.unwrap();
    client.batch_execute("VACUUM ANALYZE plain").await.unwrap();
    let claim = "WITH next AS MATERIALIZED (SELECT id FROM plain WHERE status = 0 ORDER BY position LIMIT 1 \
                 FOR UPDATE SKIP LOCKED) UPDATE plain p SET status = 1, holder = $1 FROM next WHERE p.id = next.id RETURNING p.body";
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        let client = server.connect().await;
        let statement = client.prepare(claim).await.unwrap();
        clients.push((client, statement));
    }
    let begun = Instant::now();
    let tasks: Vec<_> = clients
        .into_iter()
        .map(|(client, statement)| {
            tokio::spawn(async move {
                for _ in 0..CLAIMS / CONNECTIONS {
                    let claimed = client.query(&statement, &[&"agent"]).await.unwrap();
                    assert_eq!(claimed.len(), 1);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    CLAIMS as f64 / begun.elapsed().as_secs_f64()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures"]
async fn claims_are_as_fast_as_plain_sql() {
    let Some(server) = Server::start(&[]) else { return };
    for _ in 0..2 {
        let plain = plain_claims_per_second(&server).await;
        let url = server.project();
        fill(&server, &url, 7000, 10).await;
        let one = claims_per_second(&[Arc::new(open(&url))]).await;
        let url = server.project();
        fill(&server, &url, 7000, 10).await;
        let stores: Vec<_> = (0..CONNECTIONS).map(|_| Arc::new(open(&url))).collect();
        for store in &stores {
            store.counts().await.unwrap();
        }
        let many = claims_per_second(&stores).await;
        eprintln!(
            "claims per second: plain SQL {plain:.0}, one process {one:.0}, {CONNECTIONS} processes {many:.0}"
        );
    }
    let (client, connection) = tokio_postgres::connect(&server.url("ait"), NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute("SELECT 1").await.unwrap();
}

/// The median time of an operation.
async fn median<F: Future<Output = ()>>(mut operation: impl FnMut(usize) -> F) -> Duration {
    let mut times = Vec::new();
    for nth in 0..60 {
        let begun = Instant::now();
        operation(nth).await;
        times.push(begun.elapsed());
    }
    times.sort();
    times[times.len() / 2]
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures"]
async fn operations_take_the_same_time_in_large_projects() {
    let Some(server) = Server::start(&["max_wal_size=4GB"]) else { return };
    let largest = std::env::var("AIT_TEST_ISSUES").ok().and_then(|count| count.parse().ok());
    for count in [1000, largest.unwrap_or(1_000_000)] {
        let url = server.project();
        let begun = Instant::now();
        fill(&server, &url, count, 1).await;
        eprintln!("{count} issues, filled in {:?}", begun.elapsed());
        let store = open(&url);
        let twenty = || Query { take: 20, ..Query::default() };
        let first = store.list(twenty()).await.unwrap().issues;
        let store = &store;
        let open_ones = || Query { statuses: StatusSet::open(), ..twenty() };
        let latest = || Query { order: Order::LatestActivity, ..twenty() };
        let created =
            || Query { statuses: Some(Status::Created).into(), order: Order::Priority, ..twenty() };
        let list = |query: Query| async move { drop(store.list(query).await.unwrap()) };
        eprintln!("  list {:?}", median(|_| list(twenty())).await);
        eprintln!("  list open {:?}", median(|_| list(open_ones())).await);
        eprintln!("  list latest {:?}", median(|_| list(latest())).await);
        eprintln!("  list by priority {:?}", median(|_| list(created())).await);
        eprintln!(
            "  counts {:?}",
            median(|_| async { assert!(store.counts().await.unwrap().total() > 0) }).await
        );
        let id = |nth: usize| first[nth % first.len()].id;
        eprintln!(
            "  get {:?}",
            median(|nth| {
                let id = id(nth);
                async move { drop(store.get(id.into()).await.unwrap()) }
            })
            .await
        );
        let part = |part: Part| async move { drop(store.part(part).await.unwrap()) };
        eprintln!("  around {:?}", median(|nth| part(Part::Around(vec![id(nth)]))).await);
        eprintln!("  claimable {:?}", median(|_| part(Part::Claimable(vec![agent()]))).await);
        eprintln!(
            "  claim {:?}",
            median(|_| async {
                assert!(apply(store, claim_as(&agent()), at(1)).await.unwrap().is_some());
            })
            .await
        );
        eprintln!("  held {:?}", median(|_| part(Part::HeldBy(agent()))).await);
        eprintln!(
            "  events {:?}",
            median(|_| async { drop(store.events(1, 10).await.unwrap()) }).await
        );
        let begun = Instant::now();
        let whole = open(&url).state().await.unwrap().issues.len();
        eprintln!("  snapshot of {whole} {:?}", begun.elapsed());
    }
}
