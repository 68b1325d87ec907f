//! Open issues with nearly the title of a new one.

use std::sync::Arc;

use agent_issue_tracker::domain::{
    AgentName, ClaimProof, Classification, CommentText, Description, Issue, Resolution, Title,
};
use agent_issue_tracker::store::{SqliteStore, Store};
use agent_issue_tracker::tracker::{IssueAtVersion, NewIssue, Tracker};
use serde_json::json;

use crate::support::postgres::{open, project};
use crate::support::{Client, ait, directory, id_in};

/// An agent that files an issue learns of at most two open ones with nearly its title, wherever the words stand.
async fn name_near_titles(store: Arc<dyn Store>) {
    let tracker = Tracker::new(store);
    let agent = || AgentName::try_from("a").unwrap();
    let file = async |title: &str| {
        let title = Title::try_from(title).unwrap();
        let nothing = Description::try_from("").unwrap();
        let new = NewIssue::new(title, nothing, Classification::Bug);
        tracker.add_issue(new, agent()).await.unwrap().issue
    };
    let near = async |filed: &[Arc<Issue>]| {
        let near = tracker.near_titles(filed).await;
        let mut titles: Vec<_> = near.iter().map(|issue| issue.title.to_string()).collect();
        titles.sort();
        titles
    };
    let first = file("Login fails on Safari").await;
    assert_eq!(near(&[first]).await, [""; 0]);
    for n in 0..30 {
        file(&format!("Translate page {n} of the manual")).await;
        file(&format!("Safari: the login of user {n} is slow, or the list")).await;
    }
    let second = file("Safari: login failed").await;
    assert_eq!(near(std::slice::from_ref(&second)).await, ["Login fails on Safari"]);
    let third = file("login fails in Safari").await;
    let both = ["Login fails on Safari", "Safari: login failed"];
    assert_eq!(near(std::slice::from_ref(&third)).await, both);
    // Issues that were filed together, and those that have ended, are not named.
    assert_eq!(near(&[Arc::clone(&second), Arc::clone(&third)]).await, ["Login fails on Safari"]);
    let ended = (second.id.into(), CommentText::try_from("done").unwrap());
    let proof = ClaimProof { is_person: true, ..ClaimProof::default() };
    let target = IssueAtVersion { issue: ended.0, version: None };
    tracker.close_issue(target, Resolution::Rejected, ended.1, agent(), proof).await.unwrap();
    assert_eq!(near(&[third]).await, ["Login fails on Safari"]);
    assert_eq!(near(&[file("Rename the button").await]).await, [""; 0]);
}

#[tokio::test]
async fn near_titles_are_found_in_sqlite() {
    let directory = directory();
    let file = directory.path().join("issues.json");
    name_near_titles(Arc::new(SqliteStore::new(file))).await;
}

#[tokio::test]
async fn near_titles_are_found_in_postgres() {
    let Some(url) = project() else { return };
    name_near_titles(Arc::new(open(&url))).await;
}

/// The answer names open issues with nearly the title of a new one, so that the agent can link instead.
#[test]
fn answers_name_issues_with_near_titles() {
    let directory = directory();
    let mut client = Client::begin(ait(directory.path()).args(["--toolsets", "planning"]));
    let issue = |title: &str| json!({ "title": title, "description": "", "classification": "bug", "agent": "a" });
    let mut file = |title: &str| client.call("add_issue", issue(title)).ok();
    let first = file("Login fails on Safari");
    assert!(!first.contains("near"), "{first}");
    let second = file("Safari: login failed");
    let id = &id_in(&first)[..8];
    assert!(second.ends_with(&format!("; near: {id} Login fails on Safari")), "{second}");
    let other = file("Rename the button");
    assert!(!other.contains("near"), "{other}");
    let entry = |title: &str| json!({ "title": title, "description": "", "classification": "bug" });
    let both = json!({ "agent": "a", "issues": [entry("Sort the list"), entry("Rename buttons")] });
    let filed = client.call("add_issues", both).ok();
    assert!(filed.contains(" Rename the button") && !filed.contains("Sort the list"), "{filed}");
}
