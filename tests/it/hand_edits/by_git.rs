//! The real git on a committed `issues.json`, while a server runs.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::files::{issues_in_file, kept, wait_for_file};
use crate::support::{Client, ait_through, directory, get};

/// A repository with a committed queue, and an agent that works on it.
struct Repository {
    _directory: tempfile::TempDir,
    root: PathBuf,
    agent: Client,
}

impl Repository {
    /// Commits three issues, the first of which is claimed.
    fn new() -> (Self, [String; 3]) {
        let directory = directory();
        let root = directory.path().to_owned();
        let mut agent = Client::start(&root);
        let ids = ["one", "two", "three"].map(|title| agent.add(title, "bug"));
        agent.call("get_next_issue", json!({ "agent": "a" })).issue();
        let mut repository = Self { _directory: directory, root, agent };
        repository.wait_until_saved("in_progress", 1);
        repository.git(&["init", "-q", "-b", "main"]);
        repository.git(&["add", "-A"]);
        repository.git(&["commit", "-qm", "start"]);
        (repository, ids)
    }

    #[track_caller]
    fn git(&self, arguments: &[&str]) -> String {
        let (succeeded, text) = self.try_git(arguments);
        assert!(succeeded, "git {arguments:?}: {text}");
        text
    }

    fn try_git(&self, arguments: &[&str]) -> (bool, String) {
        let mut command = ait_through("git", &self.root);
        command.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]);
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        let output = command.args(arguments).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).unwrap())
    }

    /// Waits until the file has this many issues in a status.
    fn wait_until_saved(&mut self, status: &str, count: usize) {
        wait_for_file(&self.root, |issues| {
            issues.iter().filter(|issue| issue["status"] == status).count() == count
        });
    }

    fn statuses(&mut self) -> Vec<(String, String)> {
        let text = self.agent.call("list_issues", json!({})).ok();
        let listed: Value = serde_json::from_str(&text).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let issues = listed["issues"].as_array().unwrap().iter();
        let mut issues: Vec<_> =
            issues.map(|issue| (text(&issue["title"]), text(&issue["status"]))).collect();
        issues.sort();
        issues
    }

    fn kept(&self) -> usize {
        kept(&self.root).len()
    }
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(title, status)| ((*title).to_owned(), (*status).to_owned())).collect()
}

#[test]
fn git_stash_undoes_no_changes_and_can_be_popped() {
    let (mut repository, [one, two, _]) = Repository::new();
    repository
        .agent
        .call("complete_issue", json!({ "issue_id": one, "agent": "a", "comment": "c" }))
        .ok();
    let claimed = repository.agent.call("get_next_issue", json!({ "agent": "b" })).issue();
    assert_eq!(claimed["id"], two.as_str());
    repository.wait_until_saved("completed", 1);
    let now = pairs(&[("one", "completed"), ("three", "created"), ("two", "in_progress")]);
    repository.git(&["stash"]);
    assert_eq!(issues_in_file(&repository.root)[0]["status"], "in_progress");
    assert_eq!(repository.statuses(), now);
    repository.git(&["stash", "pop"]);
    assert_eq!(repository.statuses(), now);
    assert_eq!(repository.kept(), 0);
    // A change after the stash publishes all issues again, so no pop is needed.
    repository.git(&["stash"]);
    let claimed = repository.agent.call("get_next_issue", json!({ "agent": "c" })).issue();
    assert_eq!(claimed["title"], "three");
    repository.wait_until_saved("in_progress", 2);
    let now = pairs(&[("one", "completed"), ("three", "in_progress"), ("two", "in_progress")]);
    assert_eq!(repository.statuses(), now);
    assert_eq!(repository.kept(), 0);
    assert!(repository.agent.close().success());
}

#[test]
fn git_switch_adds_issues_and_removes_none() {
    let (mut repository, _) = Repository::new();
    repository.git(&["switch", "-qc", "other"]);
    repository.agent.add("of the branch", "feature");
    wait_for_file(&repository.root, |issues| issues.len() == 4);
    repository.git(&["commit", "-qam", "branch"]);
    repository.git(&["switch", "-q", "main"]);
    assert_eq!(issues_in_file(&repository.root).len(), 3);
    // After the next change, the file has the issues of both branches.
    repository.agent.add("of main", "feature");
    let all = wait_for_file(&repository.root, |issues| issues.len() == 5);
    let titles: Vec<_> = all.iter().map(|issue| issue["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["one", "two", "three", "of the branch", "of main"]);
    assert!(repository.agent.close().success());
}

#[test]
fn git_merge_conflict_is_left_untouched_and_loses_nothing() {
    let (mut repository, _) = Repository::new();
    repository.git(&["switch", "-qc", "theirs"]);
    let file = repository.root.join("issues.json");
    let mut document: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let mut issue = document["issues"][2].clone();
    issue["id"] = json!("77777777-0000-4000-8000-000000000000");
    issue["title"] = json!("of theirs");
    document["issues"].as_array_mut().unwrap().push(issue);
    fs::write(&file, serde_json::to_string_pretty(&document).unwrap() + "\n").unwrap();
    repository.git(&["commit", "-qam", "theirs"]);
    repository.git(&["switch", "-q", "main"]);
    repository.agent.add("of ours", "bug");
    wait_for_file(&repository.root, |issues| {
        issues.iter().any(|issue| issue["title"] == "of ours")
    });
    repository.git(&["commit", "-qam", "ours"]);
    let (succeeded, text) = repository.try_git(&["merge", "theirs"]);
    assert!(!succeeded && text.contains("CONFLICT"), "{text}");
    let marked = fs::read_to_string(&file).unwrap();
    let claimed = repository.agent.call("get_next_issue", json!({ "agent": "b" })).issue();
    assert_eq!(claimed["title"], "two");
    let health = get(repository.agent.port(), "/health").body;
    assert!(health.contains("issues.json") && health.contains("git merge"), "{health}");
    assert_eq!(fs::read_to_string(&file).unwrap(), marked, "the conflicting file was overwritten");
    repository.git(&["checkout", "-q", "--theirs", "issues.json"]);
    repository.git(&["commit", "-qam", "merged"]);
    let claimed = repository.agent.call("get_next_issue", json!({ "agent": "b" })).issue();
    assert_eq!(claimed["title"], "three");
    let all = wait_for_file(&repository.root, |issues| {
        issues.iter().any(|issue| issue["title"] == "of ours")
    });
    assert!(all.iter().any(|issue| issue["title"] == "of theirs"));
    assert!(repository.agent.close().success());
}
