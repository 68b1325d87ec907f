//! The query language: the answers of stores, tools, commands and pages agree with those of a slow, obvious evaluator.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use agent_issue_tracker::domain::{AgentName, Command, ImportedIssue, Issue, Query, Timestamp};
use agent_issue_tracker::query_language::{ParsedQuery, SavedQueries};
use agent_issue_tracker::read_model::ReadModel;
use agent_issue_tracker::store::{MemoryStore, Store};
use agent_issue_tracker::tracker::Tracker;
use serde_json::{Value, json};

use crate::support::disk::{Disk, FaultyDuty};
use crate::support::files::{id as other_id, issue_json, write_issues};
use crate::support::http::Server;
use crate::support::stores::open;
use crate::support::{Client, ait, directory};

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
const STATUSES: [&str; 6] =
    ["created", "in_progress", "completed", "in_review", "closed", "rejected"];
const KINDS: [&str; 3] = ["bug", "improvement", "feature"];
const AGENTS: [&str; 4] = ["dev-1", "dev-2", "lead", "Reviewer One"];
const LABELS: [&str; 4] = ["ui", "api", "area/login", "wontfix"];
const WORDS: [&str; 8] =
    ["Login", "session", "expired", "Überlauf", "100%", "a_b", "back\\slash", "timeout"];

fn id(number: usize) -> String {
    format!("{:08x}-7d54-4b0a-9e6f-{number:012x}", number.wrapping_mul(0x9E37_79B1) as u32)
}

/// Issues of all kinds, as JSON, the oldest first. No time is near a limit that a query names.
fn corpus(now: Timestamp) -> Vec<Value> {
    let time = |hours_ago: i64| {
        let at = now.unix_millis() - hours_ago * HOUR_MS - HOUR_MS / 2;
        Timestamp::from_unix_millis(at).to_string()
    };
    (0..180_usize).map(|n| issue(n, &time)).collect()
}

fn issue(n: usize, time: &impl Fn(i64) -> String) -> Value {
    let status = STATUSES[n % 6];
    let filed = 1_000 - 5 * n as i64;
    let (history, comments) = history(n, filed);
    let changed = history.last().unwrap().0;
    let mut issue = json!({
        "id": id(n),
        "title": format!("{} {}", WORDS[n % 8], WORDS[n / 8 % 8]),
        "description": format!("number {n}: {}", WORDS[n / 3 % 8]),
        "classification": KINDS[n / 6 % 3], "createdAt": time(filed), "modifiedAt": time(changed),
        "status": status,
        "history": history.iter().map(|(at, agent, action)| json!({
            "timestamp": time(*at), "agent": agent, "action": action
        })).collect::<Vec<_>>(),
        "comments": comments.iter().map(|(at, agent, text)| json!({
            "timestamp": time(*at), "agent": agent, "text": text
        })).collect::<Vec<_>>(),
    });
    if n.is_multiple_of(3) {
        issue["priority"] = json!(n / 3 % 5);
    }
    let labels = LABELS.iter().enumerate().filter(|(at, _)| n.is_multiple_of(at + 2));
    let mut labels: Vec<_> = labels.map(|(_, label)| *label).collect();
    labels.sort_unstable();
    if !labels.is_empty() {
        issue["labels"] = json!(labels);
    }
    if n % 5 == 1 {
        issue["assignee"] = json!(AGENTS[n % 3]);
    }
    let mut links = Vec::new();
    if n > 20 && n.is_multiple_of(9) {
        links.push(json!({"kind": "parent", "to": id(n % 20)}));
    }
    if n > 30 && n.is_multiple_of(8) {
        links.push(json!({"kind": "blocked_by", "to": id(n - 30)}));
    }
    if !links.is_empty() {
        issue["links"] = json!(links);
    }
    if n.is_multiple_of(13) && !matches!(status, "closed" | "rejected") {
        issue["parked"] = json!({"reason": "later", "since": time(changed), "by": "lead"});
        if n.is_multiple_of(2) {
            // It is over.
            issue["parked"]["until"] = json!(time(0));
        }
    }
    issue
}

type Said = (i64, &'static str, &'static str);

/// What happened to an issue, and what was said: each with how many hours ago, by whom, and what.
fn history(n: usize, filed: i64) -> (Vec<Said>, Vec<Said>) {
    let mut history = vec![(filed, AGENTS[n % 4], "Issue filed")];
    for round in 0..n % 5 {
        let ends = ["Issue returned to created status", "Claim lapsed"];
        history.push((0, AGENTS[(n + round) % 3], "Issue claimed for work"));
        history.push((0, AGENTS[(n + round) % 3], ends[round % 2]));
    }
    let status = STATUSES[n % 6];
    if status == "in_progress" {
        history.push((0, AGENTS[n % 3], "Issue claimed for work"));
    }
    if matches!(status, "completed" | "in_review" | "closed") {
        history.push((0, AGENTS[n % 3], "Issue completed"));
    }
    if status == "in_review" {
        history.push((0, "Reviewer One", "Issue claimed for review"));
    }
    if n.is_multiple_of(7) {
        history.push((0, "lead", "Comment added"));
    }
    if n.is_multiple_of(11) {
        history.push((0, "lead", "Issue changed: labels"));
    }
    (filed - history.len() as i64 + 1..=filed)
        .rev()
        .zip(&mut history)
        .for_each(|(hours_ago, entry)| entry.0 = hours_ago);
    let comments = history.iter().filter(|(.., action)| *action == "Comment added");
    let comments = comments.map(|(at, agent, _)| (*at, *agent, WORDS[n / 7 % 8])).collect();
    (history, comments)
}

type Predicate = Box<dyn Fn(&Value, &[Value]) -> bool>;

fn is_open(issue: &Value) -> bool {
    !matches!(issue["status"].as_str(), Some("closed" | "rejected"))
}

fn linked(issue: &Value, kind: &str) -> Vec<String> {
    let links = issue["links"].as_array().cloned().unwrap_or_default();
    let links = links.iter().filter(|link| link["kind"] == kind);
    links.map(|link| link["to"].as_str().unwrap().to_owned()).collect()
}

fn of_id<'a>(all: &'a [Value], id: &str) -> &'a Value {
    all.iter().find(|issue| issue["id"] == id).unwrap()
}

fn is_blocked(issue: &Value, all: &[Value]) -> bool {
    linked(issue, "blocked_by").iter().any(|id| is_open(of_id(all, id)))
}

fn actions(issue: &Value) -> Vec<(String, String, i64)> {
    let entries = issue["history"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    entries
        .map(|entry| (text(&entry["agent"]), text(&entry["action"]), millis(&entry["timestamp"])))
        .collect()
}

fn millis(time: &Value) -> i64 {
    Timestamp::parse(time.as_str().unwrap()).unwrap().unix_millis()
}

fn holder(issue: &Value) -> Option<String> {
    let is_claimed = matches!(issue["status"].as_str(), Some("in_progress" | "in_review"));
    let claims = actions(issue).into_iter().rev();
    let mut claims = claims.filter(|(_, action, _)| action.starts_with("Issue claimed"));
    claims.next().filter(|_| is_claimed).map(|(agent, ..)| agent)
}

fn claims(issue: &Value) -> usize {
    actions(issue).iter().filter(|(_, action, _)| action.starts_with("Issue claimed")).count()
}

/// Returns after a claim; one that lapsed is none.
fn returns(issue: &Value) -> usize {
    actions(issue).iter().filter(|(_, action, _)| action.starts_with("Issue returned")).count()
}

fn active(issue: &Value) -> i64 {
    let quiet = ["Issue claimed", "Issue returned", "Claim lapsed", "Issue changed"];
    let actions = actions(issue).into_iter();
    let loud =
        actions.filter(|(_, action, _)| !quiet.iter().any(|quiet| action.starts_with(quiet)));
    loud.map(|(.., at)| at).max().unwrap()
}

fn says(issue: &Value, text: &str) -> bool {
    let comments = issue["comments"].as_array().unwrap().iter().map(|comment| &comment["text"]);
    let texts = [&issue["title"], &issue["description"]].into_iter().chain(comments);
    let text = text.to_lowercase();
    let mut texts = texts.map(|text| text.as_str().unwrap().to_lowercase());
    texts.any(|whole| whole.contains(&text)) || issue["id"].as_str().unwrap().starts_with(&text)
}

fn is_parked(issue: &Value) -> bool {
    issue["parked"].is_object() && issue["parked"]["until"].is_null()
}

fn priority(issue: &Value) -> u64 {
    issue["priority"].as_u64().unwrap_or(2)
}

fn has_label(issue: &Value, label: &str) -> bool {
    issue["labels"].as_array().is_some_and(|labels| labels.contains(&json!(label)))
}

type Terms = Vec<(String, Predicate)>;

/// The terms, each with what it means.
fn terms(now: Timestamp) -> Terms {
    let now = now.unix_millis();
    [of_attributes(), of_people_and_links(), of_numbers_and_times(now), of_states_and_words(now)]
        .into_iter()
        .flatten()
        .collect()
}

fn of_attributes() -> Terms {
    let mut terms = Terms::new();
    let mut add = |text: &str, predicate: Predicate| terms.push((text.to_owned(), predicate));
    for status in STATUSES {
        add(&format!("status:{status}"), Box::new(move |issue, _| issue["status"] == status));
    }
    add("status:open", Box::new(|issue, _| is_open(issue)));
    add("is:open", Box::new(|issue, _| is_open(issue)));
    add(
        "status:created,closed",
        Box::new(|issue, _| issue["status"] == "created" || issue["status"] == "closed"),
    );
    for kind in KINDS {
        add(&format!("kind:{kind}"), Box::new(move |issue, _| issue["classification"] == kind));
    }
    for label in LABELS {
        add(&format!("label:{label}"), Box::new(move |issue, _| has_label(issue, label)));
    }
    add("label:none", Box::new(|issue, _| issue["labels"].is_null()));
    add("label:ui,api", Box::new(|issue, _| has_label(issue, "ui") || has_label(issue, "api")));
    add("priority:<=1", Box::new(|issue, _| priority(issue) <= 1));
    add("priority:2", Box::new(|issue, _| priority(issue) == 2));
    add("priority:>p2", Box::new(|issue, _| priority(issue) > 2));
    add("priority:1..3", Box::new(|issue, _| (1..=3).contains(&priority(issue))));
    terms
}

fn of_people_and_links() -> Terms {
    let mut terms = Terms::new();
    let mut add = |text: &str, predicate: Predicate| terms.push((text.to_owned(), predicate));
    for agent in AGENTS {
        let quoted = if agent.contains(' ') { format!("\"{agent}\"") } else { agent.to_owned() };
        let is_holder: Predicate =
            Box::new(move |issue, _| holder(issue).as_deref() == Some(agent));
        add(&format!("holder:{quoted}"), is_holder);
        add(&format!("assignee:{quoted}"), Box::new(move |issue, _| issue["assignee"] == agent));
        add(&format!("filer:{quoted}"), Box::new(move |issue, _| actions(issue)[0].0 == agent));
        add(
            &format!("agent:{quoted}"),
            Box::new(move |issue, _| actions(issue).iter().any(|(name, ..)| name == agent)),
        );
    }
    add("holder:none", Box::new(|issue, _| holder(issue).is_none()));
    add("assignee:none", Box::new(|issue, _| issue["assignee"].is_null()));
    let (parent, short) = (id(9), id(9)[..8].to_owned());
    add(
        &format!("parent:{short}"),
        Box::new(move |issue, _| linked(issue, "parent") == [parent.clone()]),
    );
    add("parent:none", Box::new(|issue, _| linked(issue, "parent").is_empty()));
    let blocker = id(34);
    add(
        &format!("blocked-by:{blocker}"),
        Box::new(move |issue, _| linked(issue, "blocked_by").contains(&blocker)),
    );
    let blocked = id(64);
    add(
        &format!("blocks:{}", &blocked[..8]),
        Box::new(move |issue, all| {
            let own = issue["id"].as_str().unwrap().to_owned();
            linked(of_id(all, &blocked), "blocked_by").contains(&own)
        }),
    );
    let one = id(77);
    for form in
        [format!("id:{}", &one[..8]), format!("#{}", &one[..8]), format!("issue-{}", &one[..8])]
    {
        let one = one.clone();
        add(&form, Box::new(move |issue, _| issue["id"] == one.as_str()));
    }
    terms
}

fn of_numbers_and_times(now: i64) -> Terms {
    let mut terms = Terms::new();
    let mut add = |text: &str, predicate: Predicate| terms.push((text.to_owned(), predicate));
    for (text, range) in [
        ("0", 0..=0),
        (">=2", 2..=usize::MAX),
        (">1", 2..=usize::MAX),
        ("<1", 0..=0),
        ("1..2", 1..=2),
    ] {
        let of_returns = range.clone();
        add(
            &format!("returns:{text}"),
            Box::new(move |issue, _| of_returns.contains(&returns(issue))),
        );
        add(&format!("claims:{text}"), Box::new(move |issue, _| range.contains(&claims(issue))));
    }
    for days in [7, 20] {
        let then = now - days * DAY_MS;
        let at = |key: &'static str| move |issue: &Value| millis(&issue[key]);
        for (key, member) in [("created", "createdAt"), ("changed", "modifiedAt")] {
            let time = at(member);
            add(&format!("{key}:>-{days}d"), Box::new(move |issue, _| time(issue) > then));
            add(&format!("{key}:<{days}d"), Box::new(move |issue, _| time(issue) < then));
        }
        add(&format!("idle:>{days}d"), Box::new(move |issue, _| active(issue) < then));
        add(&format!("idle:<{days}d"), Box::new(move |issue, _| active(issue) > then));
    }
    let day = Timestamp::from_unix_millis(now - 10 * DAY_MS).to_string()[..10].to_owned();
    let begin = Timestamp::parse(&format!("{day}T00:00:00Z")).unwrap().unix_millis();
    let on_day =
        move |issue: &Value| (begin..begin + DAY_MS).contains(&millis(&issue["createdAt"]));
    add(&format!("created:{day}"), Box::new(move |issue, _| on_day(issue)));
    add(
        &format!("created:<={day}"),
        Box::new(move |issue, _| millis(&issue["createdAt"]) < begin + DAY_MS),
    );
    terms
}

fn of_states_and_words(now: i64) -> Terms {
    let mut terms = Terms::new();
    let mut add = |text: &str, predicate: Predicate| terms.push((text.to_owned(), predicate));
    add(
        "is:ready",
        Box::new(|issue, all| {
            let own = issue["id"].as_str().unwrap().to_owned();
            let has_part =
                all.iter().any(|other| is_open(other) && linked(other, "parent").contains(&own));
            issue["status"] == "created"
                && !is_parked(issue)
                && !is_blocked(issue, all)
                && !has_part
        }),
    );
    add("is:blocked", Box::new(|issue, all| is_open(issue) && is_blocked(issue, all)));
    add("is:parked", Box::new(|issue, _| is_open(issue) && is_parked(issue)));
    add(
        "is:claimed",
        Box::new(|issue, _| issue["status"] == "in_progress" || issue["status"] == "in_review"),
    );
    add("is:stale", Box::new(move |issue, _| is_open(issue) && active(issue) < now - 14 * DAY_MS));
    for text in
        ["login", "LOGIN", "Überlauf", "100%", "a_b", "back\\slash", "number 1", "nowhere", "12"]
    {
        let written = if text.contains(' ') { format!("\"{text}\"") } else { text.to_owned() };
        add(&written, Box::new(move |issue, _| says(issue, text)));
    }
    terms
}

/// Each query with what it means: the terms, some of them negated, and pairs and groups of them.
fn queries(now: Timestamp) -> Vec<(String, Predicate)> {
    let mut queries = Vec::new();
    let count = terms(now).len();
    let term = |at: usize| terms(now).remove(at % count);
    for at in 0..count {
        queries.push(term(at));
        let (text, holds) = term(at * 7 + 3);
        let (other, holds_too) = term(at * 5 + 1);
        let (third, holds_third) = term(at * 3 + 2);
        let (query, predicate): (String, Predicate) = match at % 4 {
            0 => (
                format!("{text} -{other}"),
                Box::new(move |issue, all| holds(issue, all) && !holds_too(issue, all)),
            ),
            1 => (
                format!("({text} OR {other}) {third}"),
                Box::new(move |issue, all| {
                    (holds(issue, all) || holds_too(issue, all)) && holds_third(issue, all)
                }),
            ),
            2 => (
                format!("{text} {other} OR -({third})"),
                Box::new(move |issue, all| {
                    holds(issue, all) && holds_too(issue, all) || !holds_third(issue, all)
                }),
            ),
            _ => (
                format!("NOT {text} AND {other}"),
                Box::new(move |issue, all| !holds(issue, all) && holds_too(issue, all)),
            ),
        };
        queries.push((query, predicate));
        let (text, holds) = term(at * 11 + 5);
        queries.push((format!("-{text}"), Box::new(move |issue, all| !holds(issue, all))));
    }
    assert!(queries.len() >= 200, "{}", queries.len());
    queries
}

fn expected(predicate: &Predicate, all: &[Value]) -> Vec<String> {
    let found = all.iter().filter(|issue| predicate(issue, all));
    found.map(|issue| issue["id"].as_str().unwrap().to_owned()).collect()
}

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
    parsed.narrow(Query { take: usize::MAX, ..Query::default() })
}

/// Asks a store each query, and its read model, too.
pub async fn answer_queries(store: Arc<dyn Store>) {
    let now = now();
    let all = corpus(now);
    import(&*store, &all).await;
    let model = ReadModel::new(Tracker::new(Arc::clone(&store)));
    let mut matched = 0;
    for (text, predicate) in queries(now) {
        let expected = expected(&predicate, &all);
        let ids = |issues: &[Arc<Issue>]| {
            issues.iter().map(|issue| issue.id.to_string()).collect::<Vec<_>>()
        };
        let listed = store.list(query(&text, now)).await.unwrap();
        assert_eq!(ids(&listed.issues), expected, "{text}");
        assert_eq!((listed.total, listed.is_exact), (expected.len(), true), "{text}");
        let found = model.list(query(&text, now)).await.unwrap();
        assert_eq!(ids(&found.issues), expected, "{text}");
        matched += usize::from(!expected.is_empty());
    }
    // A table of queries that find nothing would prove little.
    assert!(matched > 150, "{matched}");
    order_and_page(&*store, &model, now).await;
}

/// The orders are those of the store, also over several pages and where only some words fit.
async fn order_and_page(store: &dyn Store, model: &ReadModel, now: Timestamp) {
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
            assert_eq!(store.list(second.clone()).await.unwrap().issues, whole[3..6], "{text}");
            assert_eq!(model.list(second).await.unwrap().issues, whole[3..6], "{text}");
        }
    }
    let pasted =
        "thread 'main' panicked at src/login.rs:12:5: session expired after 100% of the timeout";
    let best = store.list(query(pasted, now)).await.unwrap().issues;
    assert!(best.len() > 6, "{}", best.len());
    let relevant = |issue: &Issue| {
        let json = serde_json::to_value(issue).unwrap();
        // The words of the text that are looked for, and the corpus has.
        ["session", "expired", "100", "timeout", "the"]
            .iter()
            .filter(|word| says(&json, word))
            .count()
    };
    let counts: Vec<_> = best.iter().map(|issue| relevant(issue)).collect();
    assert!(counts.is_sorted_by(|one, next| one >= next), "{counts:?}");
    assert_eq!(model.list(query(pasted, now)).await.unwrap().issues, best);
}

#[tokio::test]
async fn queries_of_a_memory_store_match_the_obvious_evaluator() {
    answer_queries(Arc::new(MemoryStore::default())).await;
}

#[tokio::test]
async fn queries_of_a_json_store_match_the_obvious_evaluator() {
    let directory = directory();
    let disk = Disk::new(directory.path(), FaultyDuty::Nothing);
    answer_queries(Arc::new(open(directory.path(), &disk))).await;
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn postgres_queries_match_the_obvious_evaluator() {
    let Some(url) = crate::support::postgres::project() else { return };
    answer_queries(Arc::new(crate::support::postgres::open(&url))).await;
}

/// A project with the corpus in its `issues.json`.
fn project(now: Timestamp) -> (tempfile::TempDir, Vec<Value>) {
    let (directory, all) = (directory(), corpus(now));
    let file = json!({ "issues": all });
    fs::write(directory.path().join("issues.json"), file.to_string()).unwrap();
    (directory, all)
}

#[test]
fn queries_of_commands_tools_and_pages_match_the_obvious_evaluator() {
    let now = now();
    let (directory, all) = project(now);
    compare_faces(directory.path(), &[], &all, now);
}

#[cfg(feature = "postgres")]
#[test]
fn postgres_queries_of_commands_tools_and_pages_match_the_obvious_evaluator() {
    let Some(url) = crate::support::postgres::project() else { return };
    let now = now();
    let (directory, all) = project(now);
    let moved = ["migrate", "--from", "issues.json", "--to", &url];
    assert!(ait(directory.path()).args(moved).status().unwrap().success());
    compare_faces(directory.path(), &["--store", &url], &all, now);
}

/// Asks the tool, the page, its JSON and the command each query. `store` are the options that name the store.
fn compare_faces(directory: &Path, store: &[&str], all: &[Value], now: Timestamp) {
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
        let listed = agent.call("list_issues", json!({ "query": text, "take": 500 })).ok();
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

/// A search that fits nothing is answered by every face with the term that excludes the last issues, and the nearest ones.
#[test]
fn every_face_says_why_nothing_fits() {
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

/// A mistake is answered by every face with its place, and the page keeps the box and the text.
#[test]
fn every_face_names_the_place_of_a_mistake() {
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

/// An error message as programs write it, with marks that would be syntax, finds the issue with the most of its words.
#[test]
fn pasted_error_finds_the_issue_that_tells_of_it() {
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

/// The examples of the documentation are queries, and it has each key.
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
    for key in agent_issue_tracker::query_language::key_names() {
        assert!(examples.iter().any(|example| example.starts_with(&format!("{key}:"))), "{key}");
    }
}
