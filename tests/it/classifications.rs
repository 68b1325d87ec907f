//! The kinds of work that a project uses.

use std::fs;
use std::sync::Arc;

use agent_issue_tracker::domain::{
    AgentName, Classification, Classifications, Description, Query, Status, Title,
};
use agent_issue_tracker::store::{SqliteStore, Store};
use agent_issue_tracker::tracker::{ClaimKind, NewIssue, Tracker};
use serde_json::{Value, json};

use crate::support::http::Server;
use crate::support::postgres::{open, project};
use crate::support::runs::run;
use crate::support::{Client, ait, directory, get};

const CHORE_FIRST: &str = r#"classifications = ["chore", "bug", "docs"]"#;

/// Files and claims an issue of each kind there is, and counts them.
async fn file_each_kind(store: Arc<dyn Store>) {
    let all: Classifications = Classification::of_work().collect();
    let tracker = Tracker::new(store).with_classifications(all.clone());
    let agent = AgentName::try_from("a").unwrap();
    for kind in all.iter().chain(all.iter()) {
        let title = Title::try_from(kind.as_str()).unwrap();
        let new = NewIssue::new(title, Description::try_from("").unwrap(), kind);
        tracker.add_issue(new, agent.clone()).await.unwrap();
    }
    for kind in all.iter() {
        let work = ClaimKind::Work(Some(kind));
        let claimed = tracker.claim_next(work, agent.clone()).await.unwrap().unwrap();
        assert_eq!(
            (claimed.issue.classification, claimed.issue.title.as_str()),
            (kind, kind.as_str())
        );
        let query = Query { classification: Some(kind), take: 9, counts: true, ..Query::default() };
        let page = tracker.list_issues(query).await.unwrap();
        assert_eq!((page.total, page.issues.len()), (2, 2), "{kind}");
        let counts = page.counts.unwrap().counts;
        let [waiting, held] =
            [Status::Created, Status::InProgress].map(|one| counts.in_status(one));
        assert_eq!((waiting, held), (1, 1), "{kind}");
    }
    let counts = tracker.counts().await.unwrap();
    assert_eq!((counts.total(), counts.in_status(Status::InProgress)), (30, 15));
}

#[tokio::test]
async fn sqlite_counts_and_claims_every_kind() {
    let directory = directory();
    file_each_kind(Arc::new(SqliteStore::new(directory.path().join("issues.json")))).await;
}

#[tokio::test]
async fn postgres_counts_and_claims_every_kind() {
    let Some(project) = project() else { return };
    file_each_kind(Arc::new(open(&project))).await;
}

#[test]
fn commands_take_the_kinds_of_the_project() {
    let directory = directory();
    let path = directory.path();
    fs::write(path.join("ait.toml"), CHORE_FIRST).unwrap();
    let kind_of = |id: &str| {
        let shown: Value = serde_json::from_str(&run(path, &["show", id, "--json"]).ok()).unwrap();
        shown["classification"].clone()
    };
    let add = |words: &[&str]| {
        let words = [&["add", "title", "-a", "a", "--json"], words].concat();
        let added: Value = serde_json::from_str(&run(path, &words).ok()).unwrap();
        added["id"].as_str().unwrap().to_owned()
    };
    // The first kind is the usual one; a word for none of them stands for that, too.
    let [usual, docs, story] = [&[][..], &["-c", "docs"], &["-c", "spike"]].map(add);
    assert_eq!([&usual, &docs, &story].map(|id| kind_of(id)), ["chore", "docs", "chore"]);
    let refused = run(path, &["add", "title", "-c", "security", "-a", "a"]).refusal();
    assert!(refused.contains("must be one of chore, bug, docs, not security"), "{refused}");
    assert!(run(path, &["edit", &docs, "-c", "spike", "-a", "a"]).code == 0);
    let refused = run(path, &["edit", &usual, "-c", "security", "-a", "a"]).refusal();
    assert!(refused.contains("chore, bug, docs"), "{refused}");
    let claimed = {
        run(path, &["edit", &docs, "-c", "docs", "-a", "a"]).ok();
        run(path, &["next", "-c", "docs", "-a", "dev-1"]).ok()
    };
    assert!(claimed.contains(&docs[..8]), "{claimed}");
    let found = run(path, &["list", "kind:docs", "--json"]).ok();
    assert!(found.contains(&docs) && !found.contains(&usual), "{found}");

    // A file of another program, and of issues with kinds that the project does not use.
    let csv = "title,type\nFrom elsewhere,Docs\nA wish,Story\n";
    fs::write(path.join("theirs.csv"), csv).unwrap();
    run(path, &["import", "theirs.csv"]).ok();
    let found: Value = serde_json::from_str(&run(path, &["list", "--json"]).ok()).unwrap();
    let of = |title: &str| {
        let issues = found["issues"].as_array().unwrap();
        issues.iter().find(|issue| issue["title"] == title).unwrap()["classification"].clone()
    };
    assert_eq!([of("From elsewhere"), of("A wish")], ["docs", "chore"]);

    // Without the setting, what is stored keeps its kind, and new issues have the usual ones.
    fs::remove_file(path.join("ait.toml")).unwrap();
    assert_eq!(kind_of(&docs), "docs");
    assert_eq!(kind_of(&add(&["-c", "chore"])), "improvement");
    fs::write(path.join("ait.toml"), r#"classifications = ["bug", "wish"]"#).unwrap();
    let refused = run(path, &["list"]);
    assert!(refused.code == 2 && refused.log.contains("wish"), "{}", refused.log);
}

#[test]
fn tools_and_pages_offer_the_kinds_of_the_project() {
    let directory = directory();
    let path = directory.path();
    fs::write(path.join("ait.toml"), CHORE_FIRST).unwrap();
    let mut client = Client::begin(ait(path).args(["--toolsets", "all"]));
    let tools = client.request("tools/list", json!({}));
    for tool in tools["tools"].as_array().unwrap() {
        let properties = &tool["inputSchema"]["properties"];
        let given = &properties["classification"]["enum"];
        let expected = match tool["name"].as_str().unwrap() {
            "get_next_issue" | "list_issues" => json!(["chore", "bug", "docs", "any"]),
            _ => json!(["chore", "bug", "docs"]),
        };
        assert!(given.is_null() || *given == expected, "{tool}");
    }
    let issue = |kind: &str| json!({ "title": kind, "description": "", "classification": kind, "agent": "a" });
    client.call("add_issue", issue("docs")).ok();
    client.call("add_issue", issue("chore")).ok();
    let refused = client.call("add_issue", issue("feature")).refusal();
    assert!(refused.contains("chore") && refused.contains("docs"), "{refused}");
    let claimed = client.call("get_next_issue", json!({ "agent": "a", "classification": "chore" }));
    let claimed: Value = serde_json::from_str(&claimed.ok()).unwrap();
    assert_eq!(claimed["title"], "chore");
    let queue = client.request("resources/read", json!({ "uri": "tracker://queue" }));
    let queue = queue["contents"][0]["text"].as_str().unwrap();
    let queue: Value = serde_json::from_str(queue).unwrap();
    let order: Vec<&str> =
        queue["waiting"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        (order, &queue["waiting"]["docs"]["count"]),
        (vec!["chore", "bug", "docs"], &json!(1))
    );

    let server = Server::start(path);
    let page = get(server.port, "/").body;
    for offered in ["chore", "docs"] {
        assert!(page.contains(&format!("<option value=\"{offered}\"")), "{offered}");
    }
    assert!(!page.contains("<option value=\"feature\""));
    let stats = get(server.port, "/api/stats").json();
    assert!(stats["lead"].get("chore").is_none() && stats["lead"].get("bug").is_some(), "{stats}");
    let found = get(server.port, "/api/issues?classification=docs").json();
    assert_eq!(found["total"], 1);
    assert!(client.close().success());
}
