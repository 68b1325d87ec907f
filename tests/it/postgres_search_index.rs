//! The index with which searches in PostgreSQL find texts. Its extension is one for all projects of a database.

use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;

use agent_issue_tracker::domain::Classification;
use agent_issue_tracker::store::Store;
use serde_json::Value;
use tokio_postgres::{Client, NoTls};

use crate::support::commands::{add, at, claim};
use crate::support::postgres::{Server, open, shared};
use crate::support::runs::run;
use crate::support::stores::apply;
use crate::support::{directory, skip};

/// A database of its own on the shared server.
struct Database {
    server: Arc<Server>,
    name: String,
    /// A connection of the superuser.
    admin: Client,
}

impl Database {
    /// Creates a database without pg_trgm, or returns `None` if the server cannot be used.
    async fn new() -> Option<Self> {
        let server = shared()?;
        let name = format!("d_{}", uuid::Uuid::new_v4().simple());
        let everywhere = server.connect().await;
        let available =
            "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_trgm')";
        if !everywhere.query_one(available, &[]).await.unwrap().get::<_, bool>(0) {
            skip("the server has no pg_trgm");
            return None;
        }
        everywhere.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
        let url = format!("{}{name}", server.url("ait").trim_end_matches("postgres"));
        let (admin, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        Some(Self { server, name, admin })
    }

    async fn run(&self, statements: &str) {
        self.admin.batch_execute(statements).await.unwrap();
    }

    /// Creates a role that may create schemas and trusted extensions. Its `search_path` begins with the schema of its
    /// own name.
    async fn role(&self) -> String {
        let role = format!("r_{}", uuid::Uuid::new_v4().simple());
        let name = &self.name;
        self.run(&format!("CREATE ROLE {role} LOGIN; GRANT CREATE ON DATABASE {name} TO {role}"))
            .await;
        role
    }

    fn url(&self, role: &str, schema: &str) -> String {
        let server = self.server.url(role);
        format!("{}{}?schema={schema}", server.trim_end_matches("postgres"), self.name)
    }

    /// Makes the project of a role, in the schema of its name.
    async fn migrate(&self, role: &str) {
        open(&self.url(role, role)).make_schema().await.unwrap();
    }

    /// Returns the schema of the extension.
    async fn place(&self) -> String {
        let place =
            "SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'pg_trgm'";
        self.admin.query_one(place, &[]).await.unwrap().get(0)
    }

    /// Returns true if a search of the project reads its index.
    async fn searches_index(&self, schema: &str) -> bool {
        let search =
            format!("EXPLAIN SELECT FROM {schema}.issue_search WHERE texts LIKE '%needle%'");
        self.run("SET enable_seqscan = off").await;
        let plan = self.admin.query(&search, &[]).await.unwrap();
        plan.iter().any(|row| row.get::<_, &str>(0).contains("issue_search_texts"))
    }

    /// Returns the statements that the doctor says to run for the project of a role, with its reason.
    fn advice(&self, role: &str) -> Option<(String, String)> {
        let directory = directory();
        let report = run(directory.path(), &["--store", &self.url(role, role), "doctor", "--json"]);
        let report: Value = serde_json::from_str(&report.out).unwrap();
        let findings = report["findings"].as_array().unwrap();
        let fix = |finding: &Value| finding["fix"].as_str().unwrap_or_default().to_owned();
        let found = findings.iter().find(|finding| fix(finding).contains("pg_trgm"))?;
        assert_eq!((&found["check"], &found["verdict"]), (&"database".into(), &"warning".into()));
        let fix = fix(found);
        let statements = fix.split('`').nth(1).unwrap().to_owned();
        Some((found.to_string(), statements))
    }

    /// Checks that the doctor gives a reason, and that its statements are enough.
    #[track_caller]
    fn assert_advice(&self, role: &str, reason: &str) -> String {
        let (finding, statements) = self.advice(role).expect("a finding");
        assert!(finding.contains(reason), "{finding}");
        statements
    }

    async fn drop(self) {
        // Its connection keeps the database in use until it ends.
        let everywhere = self.server.connect().await;
        everywhere
            .batch_execute(&format!("DROP DATABASE {} WITH (FORCE)", self.name))
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn postgres_projects_of_one_database_share_no_search_index() {
    let Some(database) = Database::new().await else { return };
    let (one, other) = (database.role().await, database.role().await);
    for role in [&one, &other] {
        database.migrate(role).await;
        assert!(database.searches_index(role).await, "{role}");
        assert_eq!(database.advice(role), None);
    }
    database.run(&format!("DROP SCHEMA {one} CASCADE")).await;
    assert!(database.searches_index(&other).await);
    assert_eq!(database.advice(&other), None);
    database.drop().await;
}

#[tokio::test]
async fn postgres_extension_is_used_where_an_administrator_put_it() {
    let Some(database) = Database::new().await else { return };
    let role = database.role().await;
    database.run("CREATE SCHEMA \"Of all\"; GRANT USAGE ON SCHEMA \"Of all\" TO PUBLIC").await;
    database.run("CREATE EXTENSION pg_trgm SCHEMA \"Of all\"").await;
    database.migrate(&role).await;
    assert!(database.searches_index(&role).await);
    assert_eq!(database.place().await, "\"Of all\"");
    // The role may have lost the index, or the server an extension that was there.
    database
        .run("DROP EXTENSION pg_trgm CASCADE; CREATE EXTENSION pg_trgm SCHEMA \"Of all\"")
        .await;
    database.run(&database.assert_advice(&role, "searches read all texts")).await;
    assert!(database.searches_index(&role).await);
    assert_eq!(database.advice(&role), None);
    database.drop().await;
}

#[tokio::test]
async fn postgres_projects_get_a_search_index_without_a_public_schema() {
    let Some(database) = Database::new().await else { return };
    database.run("REVOKE ALL ON SCHEMA public FROM PUBLIC").await;
    let (one, other) = (database.role().await, database.role().await);
    database.migrate(&one).await;
    database.run("DROP SCHEMA public CASCADE").await;
    database.migrate(&other).await;
    for role in [&one, &other] {
        assert!(database.searches_index(role).await, "{role}");
        assert_eq!(database.advice(role), None);
    }
    database.drop().await;
}

/// Searches need no index, so a role that cannot have one works, and learns what is missing.
#[tokio::test]
async fn postgres_doctor_says_how_to_make_the_search_index() {
    let Some(database) = Database::new().await else { return };
    let (one, other) = (database.role().await, database.role().await);
    let schema = format!("REVOKE CREATE ON DATABASE {} FROM {one}", database.name);
    database.run(&format!("CREATE SCHEMA {one} AUTHORIZATION {one}; {schema}")).await;
    database.migrate(&one).await;
    database.run(&database.assert_advice(&one, "searches read all texts")).await;
    assert!(database.searches_index(&one).await);
    assert_eq!(database.advice(&one), None);

    // The extension is in a schema that the other role may not use.
    database.run(&format!("ALTER EXTENSION pg_trgm SET SCHEMA {one}")).await;
    database.migrate(&other).await;
    assert!(!database.searches_index(&other).await);
    database.run(&database.assert_advice(&other, "searches read all texts")).await;
    assert_eq!(database.place().await, "public");

    let invalid = format!("'{other}.issue_search_texts'::regclass");
    database
        .run(&format!("UPDATE pg_index SET indisvalid = false WHERE indexrelid = {invalid}"))
        .await;
    database.run(&database.assert_advice(&other, "not valid")).await;
    for role in [&one, &other] {
        assert!(database.searches_index(role).await, "{role}");
        assert_eq!(database.advice(role), None);
    }
    database.drop().await;
}

#[tokio::test]
async fn postgres_doctor_says_how_to_move_the_extension_out_of_a_project() {
    let Some(database) = Database::new().await else { return };
    let (one, other) = (database.role().await, database.role().await);
    database.migrate(&one).await;
    database.run(&format!("ALTER EXTENSION pg_trgm SET SCHEMA {one}")).await;
    database.run(&format!("GRANT USAGE ON SCHEMA {one} TO {other}")).await;
    database.migrate(&other).await;
    assert_eq!(database.place().await, one);
    for role in [&one, &other] {
        assert!(database.searches_index(role).await, "{role}");
    }
    let statements = database.assert_advice(&other, "in the schema of a project");
    assert_eq!(database.assert_advice(&one, "in the schema of a project"), statements);
    database.run(&statements).await;
    assert_eq!(database.place().await, "public");
    assert_eq!(database.advice(&one), None);
    database.run(&format!("DROP SCHEMA {one} CASCADE")).await;
    assert!(database.searches_index(&other).await);
    database.drop().await;
}

/// The commands are those of docs/postgres.md.
#[tokio::test]
async fn a_dump_of_a_postgres_project_can_be_restored() {
    let (Some(from), Some(to)) = (Database::new().await, Database::new().await) else { return };
    let role = from.role().await;
    let store = open(&from.url(&role, &role));
    for n in 0..3 {
        apply(&store, add(n, Classification::Bug), at(0)).await.unwrap();
    }
    assert!(store.close().await);
    let mut dump = from.server.program("pg_dump", &role);
    dump.arg(format!("--schema={role}")).args(["--extension=pg_trgm", "--no-comments"]);
    let dump = dump.arg(&from.name).output().unwrap();
    assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
    to.run(&format!("GRANT CREATE ON DATABASE {} TO {role}", to.name)).await;
    let mut restore = to.server.program("psql", &role);
    restore.args(["-X", "-q", "-v", "ON_ERROR_STOP=1"]).arg(&to.name);
    let piped = restore.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut restore = piped.spawn().unwrap();
    restore.stdin.take().unwrap().write_all(&dump.stdout).unwrap();
    let restored = restore.wait_with_output().unwrap();
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));

    let restored = open(&to.url(&role, &role));
    assert_eq!(restored.counts().await.unwrap().total(), 3);
    apply(&restored, add(3, Classification::Bug), at(1)).await.unwrap();
    assert!(apply(&restored, claim(None), at(2)).await.unwrap().is_some());
    assert_eq!(restored.events(0, 10).await.unwrap().newest.number, 5);
    drop((store, restored));
    assert!(to.searches_index(&role).await);
    assert_eq!(to.advice(&role), None);
    from.drop().await;
    to.drop().await;
}
