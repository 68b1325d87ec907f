//! Claims of issues that touch the files of other work: agents get others first, or are warned.

use std::fs;
use std::sync::Arc;

use agent_issue_tracker::domain::{
    AgentName, ClaimSettings, Classification, FieldValue, IssueChange, OverlapPolicy,
};
use agent_issue_tracker::store::{SqliteStore, Store};
use agent_issue_tracker::tracker::{ClaimKind, NewIssue, Tracker};
use serde_json::{Value, json};

use crate::hooks::Desk;
use crate::support::postgres::{open, project};
use crate::support::{Client, directory};

fn name(name: &str) -> AgentName {
    AgentName::try_from(name).unwrap()
}

fn tracker(store: &Arc<dyn Store>, overlap: OverlapPolicy) -> Tracker {
    let settings = ClaimSettings { overlap, ..ClaimSettings::default() };
    Tracker::new(Arc::clone(store)).with_claim_settings(settings)
}

/// Files an issue with some attributes.
async fn file(tracker: &Tracker, title: &str, values: &[FieldValue]) {
    let kind = Classification::Bug;
    let details = IssueChange { values: values.to_vec(), ..IssueChange::default() };
    let issue = NewIssue::new(title.try_into().unwrap(), "d".try_into().unwrap(), kind);
    tracker.add_issue(NewIssue { details, ..issue }, name("lead")).await.unwrap();
}

/// Claims the next issue. Returns its title, and where others are at work.
async fn next(tracker: &Tracker, agent: &str) -> (String, Vec<String>) {
    let claimed = tracker.claim_next(ClaimKind::Work(None), name(agent)).await.unwrap();
    let Some(claimed) = claimed else { return (String::new(), Vec::new()) };
    let overlaps = tracker.overlaps(&claimed.issue).await.unwrap();
    let overlaps = overlaps.iter().map(|line| line.rsplit_once(' ').unwrap().0.to_owned());
    (claimed.issue.title.clone(), overlaps.collect())
}

async fn exercise(store: Arc<dyn Store>) {
    let touches = |paths: &str| FieldValue::Touches(Some(paths.parse().unwrap()));
    let priority = |number: &str| FieldValue::Priority(Some(number.parse().unwrap()));
    let assignee = |agent: &str| FieldValue::Assignee(Some(name(agent)));
    let avoiding = tracker(&store, OverlapPolicy::Avoid);
    for (title, values) in [
        ("first", &[touches("src/store")][..]),
        ("same", &[touches("docs, src/store/*.rs")]),
        ("assigned", &[touches("src"), assignee("c")]),
        ("apart", &[touches("web")]),
        ("untold", &[]),
        ("later", &[touches("tests"), priority("3")]),
    ] {
        file(&avoiding, title, values).await;
    }
    let none = Vec::<String>::new();
    let at = |path: &str, agent: &str| vec![format!("{path}: {agent} is at work there on")];
    assert_eq!(next(&avoiding, "a").await, ("first".to_owned(), none.clone()));
    assert_eq!(next(&avoiding, "b").await, ("apart".to_owned(), none.clone()));
    // What is assigned to the agent comes first all the same, and so does the higher priority.
    assert_eq!(next(&avoiding, "c").await, ("assigned".to_owned(), at("src", "a")));
    assert_eq!(next(&avoiding, "d").await, ("untold".to_owned(), none.clone()));
    let both = [at("src/store/*.rs", "a"), at("src/store/*.rs", "c")].concat();
    assert_eq!(next(&avoiding, "e").await, ("same".to_owned(), both));
    assert_eq!(next(&avoiding, "f").await, ("later".to_owned(), none.clone()));
    assert_eq!(next(&avoiding, "g").await, (String::new(), none.clone()));

    // The controls: without the setting, the order is that of the queue.
    for (policy, expected) in
        [(OverlapPolicy::Warn, at("src/store", "a")), (OverlapPolicy::Off, Vec::new())]
    {
        let tracker = tracker(&store, policy);
        file(&tracker, "like the first", &[touches("src/store")]).await;
        file(&tracker, "other", &[touches("other")]).await;
        let (title, overlaps) = next(&tracker, "g").await;
        assert_eq!((&*title, overlaps.first()), ("like the first", expected.first()));
        next(&tracker, "g").await;
    }
}

#[tokio::test]
async fn sqlite_agents_get_issues_whose_files_meet_no_other_work() {
    let directory = directory();
    exercise(Arc::new(SqliteStore::new(directory.path().join("issues.json")))).await;
}

#[tokio::test]
async fn postgres_agents_get_issues_whose_files_meet_no_other_work() {
    let Some(url) = project() else { return };
    exercise(Arc::new(open(&url))).await;
}

/// Agents of one process that claim at the same time see the claims of each other.
#[tokio::test(flavor = "multi_thread")]
async fn agents_that_claim_together_get_issues_apart() {
    let directory = directory();
    let store: Arc<dyn Store> = Arc::new(SqliteStore::new(directory.path().join("issues.json")));
    let tracker = tracker(&store, OverlapPolicy::Avoid);
    for number in 0..16 {
        let path = format!("src/{}", number / 2);
        let touches = FieldValue::Touches(Some(path.parse().unwrap()));
        file(&tracker, &path, &[touches]).await;
    }
    let agents = (0..8).map(|number| {
        let tracker = tracker.clone();
        tokio::spawn(async move { next(&tracker, &format!("dev-{number}")).await })
    });
    let claimed = futures::future::join_all(agents).await;
    let mut titles: Vec<_> = claimed.into_iter().map(|claim| claim.unwrap().0).collect();
    titles.sort_unstable();
    assert_eq!(titles, (0..8).map(|number| format!("src/{number}")).collect::<Vec<_>>());
}

/// Files that a branch changes count, those of its commits and those in its worktree.
#[test]
fn what_branches_have_changed_counts_as_work() {
    let desk = Desk::new();
    desk.write("ait.toml", "overlap = \"avoid\"\n");
    let (id, path) = desk.claimed("untold");
    desk.commit(&path, "committed.rs").ok();
    fs::create_dir(path.join("new")).unwrap();
    fs::write(path.join("new/file.rs"), "").unwrap();
    fs::write(path.join(".gitignore"), "changed").unwrap();
    for (title, touches) in
        [("a", "new"), ("b", "*committed.rs"), ("c", ".gitignore"), ("d", "elsewhere/**")]
    {
        desk.ait(&["add", title, "-c", "bug", "--touches", touches]).ok();
    }
    let next = || {
        let claimed: Value =
            serde_json::from_str(&desk.ait(&["next", "--agent", "dev-2", "--json"]).ok()).unwrap();
        claimed["title"].as_str().unwrap().to_owned()
    };
    assert_eq!(next(), "d");
    assert_eq!(next(), "a");
    let out = desk.ait(&["next", "--agent", "dev-3"]).ok();
    assert!(out.contains(&format!("*committed.rs: dev is at work there on {id}")), "{out}");

    // Agents say what they will change once they have looked at an issue.
    let other = desk.add("e");
    let arguments = ["--toolsets", "planning"];
    let mut client = Client::begin(&mut desk.command("ait", &desk.project(), &arguments));
    let mut says = |touches: &str| {
        let arguments = json!({ "agent": "dev-4", "issue_id": other, "touches": touches });
        client.call("update_issue", arguments).ok()
    };
    let line = format!("new/file.rs: dev is at work there on {id}");
    assert!(says("new/file.rs").contains(&format!("changed ({line}; ")));
    assert!(!says("old/file.rs").contains("at work"));
    says("new/file.rs");
    let claimed: Value =
        client.call("get_next_issue", json!({ "agent": "dev-4", "issue_id": other })).issue();
    assert_eq!(claimed["touches"], "new/file.rs");
    assert!(claimed["overlaps"].as_array().unwrap().contains(&json!(line)), "{claimed}");
}
