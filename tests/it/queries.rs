//! The query language: stores, tools, commands and pages return the same results as a slow, simple evaluator.

mod evaluator;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use agent_issue_tracker::domain::{
    AgentName, Classification, Command, ImportedIssue, Issue, Order, Query, Status, StatusSet,
    Timestamp,
};
use agent_issue_tracker::query_language::{ParsedQuery, SavedQueries};
use agent_issue_tracker::store::Store;
use serde_json::{Value, json};

use self::evaluator::{corpus, expected, millis, queries, says};
use crate::support::commands::{add, number};
use crate::support::disk::{Disk, FaultyDuty};
use crate::support::files::{id as other_id, issue_json, write_issues};
use crate::support::http::Server;
use crate::support::stores::{WholeState, open};
use crate::support::{Client, ait, directory};

fn now() -> Timestamp {
    Timestamp::from(chrono::Utc::now())
}

async fn import(store: &dyn Store, all: &[Value]) {
    let agent = AgentName::try_from("import").unwrap();
    let commands = all.iter().map(|issue| {
        let issue: Issue = serde_json::from_value(issue.clone()).unwrap();
        let issue = ImportedIssue::try_from(issue).unwrap();
        Command::ImportIssue { issue, agent: agent.clone() }
    });
    store.commit(commands.collect(), now()).await.unwrap();
}

fn query(text: &str, now: Timestamp) -> Query {
    let parsed = ParsedQuery::parse(text, &SavedQueries::new(), now);
    let parsed = parsed.unwrap_or_else(|error| panic!("{text}: {error}"));
    let query = parsed.narrow(Query { take: usize::MAX, ..Query::default() });
    // Without an order, the evaluator lists in that of filing.
    if query.order == Order::Match { Query { order: Order::Filed, ..query } } else { query }
}

/// Runs every query against a store.
pub async fn answer_queries(store: Arc<dyn Store>) {
    let now = now();
    let all = corpus(now);
    import(&*store, &all).await;
    let in_memory = store.state().await.unwrap().issues;
    let mut matched = 0;
    let ids =
        |issues: &[Arc<Issue>]| issues.iter().map(|issue| issue.id.to_string()).collect::<Vec<_>>();
    for (text, predicate) in queries(now) {
        let expected = expected(&predicate, &all);
        let listed = store.list(query(&text, now)).await.unwrap();
        assert_eq!(ids(&listed.issues), expected, "{text}");
        assert_eq!((listed.total, listed.is_exact), (expected.len(), true), "{text}");
        matched += usize::from(!expected.is_empty());
        // Matches are counted in all statuses, whatever statuses are asked for.
        let statuses = StatusSet::from_iter([Status::Created, Status::Closed]);
        let counting = Query { counts: true, take: 2, statuses, ..query(&text, now) };
        let counted = store.list(counting.clone()).await.unwrap();
        let in_memory = in_memory.list(&counting);
        assert_eq!((counted.counts, counted.total), (in_memory.counts, in_memory.total), "{text}");
        assert_eq!(ids(&counted.issues), ids(&in_memory.issues), "{text}");
    }
    // Queries without results would prove little.
    assert!(matched > 150, "{matched}");
    for order in ORDERS {
        for (text, reversed) in [("", false), ("", true), ("login", false), ("login", true)] {
            let ordered = Query { order, reversed, ..query(text, now) };
            let found = store.list(ordered.clone()).await.unwrap();
            let in_memory = in_memory.list(&ordered);
            assert!(in_memory.total > 6, "{text}");
            assert_eq!(ids(&found.issues), ids(&in_memory.issues), "{order:?} {reversed} {text}");
        }
    }
    order_and_page(&*store, now).await;
    rank(&*store, now).await;
}

/// Checks that titles come before other texts and whole words before parts, and only then the latest changes.
async fn rank(store: &dyn Store, now: Timestamp) {
    let filed = [
        ("a Zebra crossing", ""),
        ("many zebras", ""),
        ("stripes", "of a zebra"),
        ("the Zebra of the zoo", ""),
    ];
    let commands = filed.into_iter().zip(1..).map(|((title, description), n)| {
        let mut command = add(n, Classification::Bug);
        if let Command::AddIssue { title: own, description: text, .. } = &mut command {
            *own = title.try_into().unwrap();
            *text = description.try_into().unwrap();
        }
        command
    });
    for command in commands {
        store.commit(vec![command], now).await.unwrap();
    }
    for (text, expected) in [("zebra", [4, 1, 2, 3]), ("zebra sort:changed", [4, 3, 2, 1])] {
        let parsed = ParsedQuery::parse(text, &SavedQueries::new(), now).unwrap();
        let found = store.list(parsed.narrow(Query { take: 9, ..Query::default() })).await.unwrap();
        let ids: Vec<_> = found.issues.iter().map(|issue| issue.id).collect();
        assert_eq!(ids, expected.map(number), "{text}");
    }
}

const ORDERS: [Order; 9] = [
    Order::Match,
    Order::Filed,
    Order::LatestActivity,
    Order::Priority,
    Order::Title,
    Order::Created,
    Order::Classification,
    Order::Status,
    Order::Holder,
];

/// Checks sort orders and pages, also for a query where only some words match.
async fn order_and_page(store: &dyn Store, now: Timestamp) {
    for order in ["changed", "filed", "priority", "title"] {
        for direction in ["asc", "desc"] {
            let text = format!("kind:bug login sort:{order}-{direction}");
            let whole = store.list(query(&text, now)).await.unwrap().issues;
            assert!(whole.len() > 6, "{text}");
            let opposite = if direction == "asc" { "desc" } else { "asc" };
            let text_back = format!("kind:bug login sort:{order}-{opposite}");
            let mut back = store.list(query(&text_back, now)).await.unwrap().issues;
            back.reverse();
            assert_eq!(whole, back, "{text}");
            let second = Query { skip: 3, take: 3, ..query(&text, now) };
            assert_eq!(store.list(second).await.unwrap().issues, whole[3..6], "{text}");
        }
    }
    let pasted =
        "thread 'main' panicked at src/login.rs:12:5: session expired after 100% of the timeout";
    let best = store.list(query(pasted, now)).await.unwrap().issues;
    assert!(best.len() > 6, "{}", best.len());
    let relevant = |issue: &Issue| {
        let json = serde_json::to_value(issue).unwrap();
        // These words of the pasted text occur in the corpus.
        ["session", "expired", "100", "timeout", "the"]
            .iter()
            .filter(|word| says(&json, word))
            .count()
    };
    let counts: Vec<_> = best.iter().map(|issue| relevant(issue)).collect();
    assert!(counts.is_sorted_by(|one, next| one >= next), "{counts:?}");
}

#[tokio::test]
async fn json_store_queries_match_the_evaluator() {
    let directory = directory();
    let disk = Disk::new(FaultyDuty::Nothing);
    answer_queries(Arc::new(open(directory.path(), &disk))).await;
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn postgres_queries_match_the_evaluator() {
    let Some(url) = crate::support::postgres::project() else { return };
    answer_queries(Arc::new(crate::support::postgres::open(&url))).await;
}

/// Returns a project that has the corpus in its `issues.json`.
fn project(now: Timestamp) -> (tempfile::TempDir, Vec<Value>) {
    let (directory, all) = (directory(), corpus(now));
    let file = json!({ "issues": all });
    fs::write(directory.path().join("issues.json"), file.to_string()).unwrap();
    (directory, all)
}

#[test]
fn command_tool_and_page_queries_match_the_evaluator() {
    let now = now();
    let (directory, all) = project(now);
    compare_interfaces(directory.path(), &[], &all, now);
}

#[cfg(feature = "postgres")]
#[test]
fn postgres_command_tool_and_page_queries_match() {
    let Some(url) = crate::support::postgres::project() else { return };
    let now = now();
    let (directory, all) = project(now);
    let moved = ["migrate", "--from", "issues.json", "--to", &url];
    assert!(ait(directory.path()).args(moved).status().unwrap().success());
    compare_interfaces(directory.path(), &["--store", &url], &all, now);
}

/// Runs every query through the tool, the page, its JSON and the command. `store` holds the store options.
fn compare_interfaces(directory: &Path, store: &[&str], all: &[Value], now: Timestamp) {
    let server = Server::start_with(directory, 0, store);
    let mut command = ait(directory);
    command.args(store).args(["--toolsets", "planning", "--max-reply-tokens", "1000000"]);
    let mut agent = Client::begin(&mut command);
    let ids = |issues: &Value| -> Vec<String> {
        let issues = issues.as_array().unwrap().iter();
        issues.map(|issue| issue["id"].as_str().unwrap().to_owned()).collect()
    };
    for (text, predicate) in queries(now) {
        let expected = expected(&predicate, all);
        let filed = format!("{text} sort:filed");
        let listed = agent.call("list_issues", json!({ "query": filed, "take": 500 })).ok();
        let listed: Value = serde_json::from_str(&listed).unwrap();
        assert_eq!(ids(&listed["issues"]), expected, "{text}");
        assert_eq!(listed["nothing"].is_string(), expected.is_empty(), "{text}: {listed}");

        let sorted = format!("{text} sort:filed");
        let search: String = form_urlencoded::byte_serialize(sorted.as_bytes()).collect();
        let answered = crate::support::get(server.port, &format!("/api/issues?q={search}"));
        assert_eq!(answered.status, 200, "{text}: {}", answered.body);
        let answered = answered.json();
        assert_eq!(answered["total"], expected.len(), "{text}");
        let shown = &expected[..expected.len().min(50)];
        assert_eq!(ids(&answered["issues"]), shown, "{text}");
        assert_eq!(answered["nothing"].is_string(), expected.is_empty(), "{text}: {answered}");

        let page = crate::support::get(server.port, &format!("/?q={search}"));
        assert_eq!(page.status, 200, "{text}");
        assert_eq!(ids_of_rows(&page.body), shown, "{text}");

        let output = ait(directory)
            .args(store)
            .args(["list", "--json", "--status", "all", "--sort", "filed", "--"])
            .arg(&text)
            .output()
            .unwrap();
        assert!(output.status.success(), "{text}: {output:?}");
        let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(ids(&listed["issues"]), expected, "{text}");
    }
}

/// Returns the ids of the issues in the table of a page.
fn ids_of_rows(page: &str) -> Vec<String> {
    let titles = page.split(r#"<a class="title" href="/issues/"#).skip(1);
    titles.map(|title| title[..36].to_owned()).collect()
}

/// For a query without results, every interface names the term that excludes the last issues, and the nearest issues.
#[test]
fn every_interface_explains_an_empty_result() {
    let now = now();
    let (directory, all) = project(now);
    let text = "kind:bug login label:nowhere";
    let logins =
        all.iter().filter(|issue| issue["classification"] == "bug" && says(issue, "login")).count();
    let reason = format!("`label:nowhere` excludes the last {logins} issues");
    let nearest = all.iter().filter(|issue| says(issue, "login"));
    let nearest = nearest.max_by_key(|issue| millis(&issue["modifiedAt"])).unwrap();
    let short = &nearest["id"].as_str().unwrap()[..8];

    let server = Server::start(directory.path());
    let search: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
    let json = crate::support::get(server.port, &format!("/api/issues?q={search}")).json();
    let page = crate::support::get(server.port, &format!("/?q={search}")).body;
    let page = page.replace("<code>", "`").replace("</code>", "`");
    let output = ait(directory.path()).args(["list", "--status", "all", text]).output().unwrap();
    let mut agent = Client::begin(ait(directory.path()).args(["--toolsets", "planning,bulk"]));
    let listed = agent.call("list_issues", json!({ "query": text })).ok();
    let kept = agent.call("query_issues", json!({ "query": text })).ok();
    for answer in [
        json["nothing"].as_str().unwrap(),
        &page,
        &String::from_utf8_lossy(&output.stderr),
        &listed,
        &kept,
    ] {
        assert!(answer.contains(&reason), "{answer}");
        assert!(answer.contains(short), "{answer}");
    }
}

/// For an invalid query, every interface names the position of the error; the page keeps the search box and its text.
#[test]
fn every_interface_names_the_position_of_an_error() {
    let now = now();
    let (directory, _) = project(now);
    let mistake = "there is no key labl: did you mean label:? To search for the text, put it in quotes (at character 7 of the query)";
    let text = "login labl:ui";
    let server = Server::start(directory.path());
    let json = crate::support::get(server.port, "/api/issues?q=login+labl:ui");
    assert_eq!((json.status, &json.json()["error"]), (400, &json!(mistake)));
    let page = crate::support::get(server.port, "/?q=login+labl:ui");
    assert_eq!(page.status, 400);
    assert!(page.body.contains(mistake), "{}", page.body);
    assert!(page.body.contains(&format!(r#"name="q" value="{text}""#)), "{}", page.body);
    let output = ait(directory.path()).args(["list", text]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains(mistake), "{output:?}");
    let mut agent = Client::begin(ait(directory.path()).args(["--toolsets", "planning,bulk"]));
    for tool in ["list_issues", "query_issues"] {
        let refused = agent.call(tool, json!({ "query": text })).refusal();
        assert!(refused.contains(mistake), "{refused}");
    }
}

/// A pasted error message, with characters that would be query syntax, finds the issue that shares most of its words.
#[test]
fn a_pasted_error_finds_the_issue_about_it() {
    let directory = directory();
    let mut issues: Vec<_> = (0..30)
        .map(|n| {
            issue_json(
                &other_id(n),
                &format!("The reader of the request fails on line {n}"),
                "created",
            )
        })
        .collect();
    issues[7]["description"] = json!(
        "thread 'main' panicked at src/import.rs:12:5: called `Option::unwrap()` on a `None` value"
    );
    write_issues(directory.path(), &issues);
    let pasted = "error[E0308]: (worker 3) failed with status:502 --> src/import.rs:12:5 | thread 'main' panicked at \
        src/import.rs:12:5: called `Option::unwrap()` on a \"None\" value note: run with (RUST_BACKTRACE=1 environment \
        variable to display a [backtrace while {\"kind\":\"bug\"} the request was read from line 40 of \"the";
    assert!(pasted.split_whitespace().count() > 40, "{pasted}");
    let output = ait(directory.path()).args(["list", "--json", pasted]).output().unwrap();
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(listed["issues"][0]["id"], other_id(7), "{output:?}");
}

/// Every example in the documentation parses, and every key has an example.
#[test]
fn documented_queries_are_parsed() {
    let page = include_str!("../../docs/queries.md");
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    let examples = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    let examples: Vec<_> = examples.filter(|example| example.contains(':')).collect();
    assert!(examples.len() > 30, "{examples:?}");
    for example in &examples {
        query(example, now());
    }
    for (key, _) in agent_issue_tracker::query_language::known_keys() {
        assert!(examples.iter().any(|example| example.starts_with(&format!("{key}:"))), "{key}");
    }
}
