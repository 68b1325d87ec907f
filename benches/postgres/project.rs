//! Projects with many issues, as after an import.

use agent_issue_tracker::domain::{AgentName, Command, Timestamp};
use agent_issue_tracker::store::{PostgresStore, Store};

use crate::server::{Server, open};

const STATEMENTS: &[&str] = &[
    "CREATE TEMP TABLE new AS SELECT gen_random_uuid() AS id, n AS position, \
     CASE WHEN n % 10 < {open} THEN 0 ELSE 4 END AS status FROM generate_series(1, {count}) AS n",
    "INSERT INTO {s}.issues (id, position, status, kind, priority, modified, parked, question, authors, active) \
     SELECT id, position << 20, status, position % 3, 2, 1770000000000 + position, false, false, '{a}', 1770000000000 FROM new",
    "INSERT INTO {s}.issue_texts SELECT id, json_build_object('id', id, 'title', 'Issue ' || position, \
     'description', repeat('what is wrong here ', 10), \
     'classification', (ARRAY['bug', 'improvement', 'feature'])[position % 3 + 1], \
     'createdAt', '2026-01-31T09:30:00.000Z', 'modifiedAt', \
     to_char(to_timestamp(1770000000 + position / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), \
     'status', CASE status WHEN 0 THEN 'created' ELSE 'closed' END, 'history', json_build_array(json_build_object( \
     'timestamp', '2026-01-31T09:30:00.000Z', 'agent', 'a', 'action', 'Issue filed')), \
     'comments', '[]'::json)::text, '{a}', 'a', 1770000000000, 0, 0, '{}' FROM new",
    "INSERT INTO {s}.issue_search SELECT id, 'issue ' || position, 'issue ' || position, '{}' FROM new",
    "INSERT INTO {s}.events (seq, number, nonce, body, totals) SELECT {count}, 1, 1, '', array_agg((SELECT count(*) \
     FROM new WHERE status * 3 + position % 3 = slot)::integer ORDER BY slot) FROM generate_series(0, 17) AS slot",
    "SELECT setval('{s}.event_seq', {count} + 1)",
    "DROP TABLE new",
    "VACUUM ANALYZE {s}.issues",
    "VACUUM ANALYZE {s}.issue_texts",
    "VACUUM ANALYZE {s}.issue_search",
];

/// Creates a project with `count` issues, of which `open_of_ten` in ten are open. Returns its URL.
pub async fn make(server: &Server, count: usize, open_of_ten: usize) -> String {
    let url = server.project();
    open(&url).make_schema().await.expect("a server that can be changed");
    let client = server.connect().await;
    for statement in STATEMENTS {
        let statement = statement.replace("{s}", schema(&url));
        let statement = statement.replace("{count}", &count.to_string());
        let statement = statement.replace("{open}", &open_of_ten.to_string());
        client.batch_execute(&statement).await.expect("a statement that works");
    }
    url
}

/// Returns the schema of a project.
pub fn schema(url: &str) -> &str {
    url.split_once("schema=").expect("the URL of a project").1
}

/// Claims the next issue.
pub async fn claim(store: &PostgresStore, agent: &AgentName) {
    let (agent, terms) = (agent.clone(), Default::default());
    let command = Command::GetNextIssue { issue: None, classification: None, agent, terms };
    let claimed = store.commit(vec![command], now()).await.expect("a server that can be changed");
    assert!(claimed.outcomes[0].is_some(), "there are issues to claim");
}

/// Returns the current time.
pub fn now() -> Timestamp {
    Timestamp::from(chrono::Utc::now())
}
