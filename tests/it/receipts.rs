//! Receipts of checks: what an agent needs to hand in and close an issue, and that it cannot write one by hand.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::hooks::{Desk, end};
use crate::support::Client;

/// Passes on a branch whose file says so.
const CHECK: &str = "grep -q good work.txt";

/// A project that requires the check, with a claimed issue.
struct Project {
    desk: Desk,
    id: String,
    path: PathBuf,
}

impl Project {
    /// Begins with committed work on which the check fails.
    fn new() -> Self {
        let desk = Desk::new();
        desk.write("ait.toml", &format!("check = \"{CHECK}\"\nrequire-check = true\n"));
        desk.git(&["add", "ait.toml"]);
        desk.git(&["commit", "-qm", "settings"]);
        let id = desk.add("one");
        let path = desk.opened(&id);
        desk.ait(&["claim", &id, "-a", "dev"]).ok();
        let project = Self { desk, id, path };
        project.commit("bad");
        project
    }

    fn write(&self, text: &str) {
        fs::write(self.path.join("work.txt"), text).unwrap();
    }

    fn commit(&self, text: &str) {
        self.write(text);
        self.desk.git_in(&self.path, &["add", "work.txt"]);
        self.desk.git_in(&self.path, &["commit", "-qm", text]);
    }

    fn check(&self) -> i32 {
        self.desk.ait(&["check", &self.id, "-a", "dev"]).code
    }

    /// Hands the issue in with the tool. Returns why not.
    fn refusal(&self) -> Option<String> {
        let mut client = Client::begin(&mut self.desk.command("ait", &self.desk.project(), &[]));
        let arguments = json!({ "issue_id": self.id, "agent": "dev", "comment": "Check passed" });
        let answer = client.call("complete_issue", arguments);
        answer.is_error.then_some(answer.text)
    }

    #[track_caller]
    fn is_refused(&self, how: &str) {
        let refused = self.refusal().unwrap_or_else(|| panic!("{how}: handed in"));
        assert!(refused.contains("check") && refused.contains("ait check"), "{how}: {refused}");
    }

    /// Returns `issues.json` as it is now.
    fn file(&self) -> Value {
        self.desk.ait(&["save"]).ok();
        serde_json::from_slice(&fs::read(self.desk.project().join("issues.json")).unwrap()).unwrap()
    }

    /// Returns `issues.json` with a receipt for the files of the branch.
    fn forged_file(&self) -> Value {
        let mut file = self.file();
        let tree = self.desk.git_in(&self.path, &["rev-parse", "HEAD^{tree}"]);
        let receipt = json!({ "command": CHECK, "tree": tree.trim_end(), "exit": 0, "ms": 1 });
        let issue = &mut file["issues"][0];
        let modified = issue["modifiedAt"].clone();
        let history = issue["history"].as_array_mut().unwrap();
        history[0]["check"] = receipt.clone();
        history.push(json!({
            "timestamp": modified, "agent": "dev", "action": "Check passed", "check": receipt,
        }));
        file
    }

    fn write_file(&self, file: &Value) {
        let text = serde_json::to_string_pretty(file).unwrap();
        fs::write(self.desk.project().join("issues.json"), text).unwrap();
    }

    fn receipts(&self) -> usize {
        self.file().to_string().matches("\"check\":").count()
    }
}

#[test]
fn an_issue_is_handed_in_and_closed_with_receipts() {
    let project = Project::new();
    let Project { desk, id, .. } = &project;
    project.commit("good");
    let checked = desk.ait(&["check", id, "-a", "dev", "--json"]).ok();
    let checked: Value = serde_json::from_str(&checked).unwrap();
    assert_eq!((&checked["exit"], &checked["command"]), (&0.into(), &CHECK.into()));
    // Another message on the same files is as good.
    desk.git_in(&project.path, &["commit", "-q", "--amend", "-m", "better words"]);
    assert_eq!(project.refusal(), None);
    let shown = desk.ait(&["show", id]).ok();
    assert!(shown.contains(&format!("check: {CHECK} passed in")), "{shown}");
    let mut client =
        Client::begin(&mut desk.command("ait", &desk.project(), &["--replies", "compact"]));
    let review = client.call("get_next_review_item", json!({ "agent": "reviewer" })).issue();
    assert!(review["work"].as_str().unwrap().ends_with(", check passed"), "{review}");
    assert!(desk.ait(&["log", "-k", "checked"]).ok().contains("checked"));

    let close = json!({
        "issue_id": id, "agent": "reviewer", "comment": "merged", "resolution": "closed",
    });
    let refused = client.call("close_issue", close.clone()).refusal();
    assert!(refused.contains(&format!("ait merge {id}")), "{refused}");
    desk.ait(&["merge", id]).ok();
    client.call("close_issue", close).ok();
    let file = project.file();
    let last =
        file["issues"][0]["history"].as_array().unwrap().iter().rfind(|e| !e["check"].is_null());
    assert_eq!(last.unwrap()["check"]["merge"], desk.git(&["rev-parse", "HEAD"]).trim_end());
}

#[test]
fn a_merge_of_earlier_work_closes_nothing_and_a_person_closes_without() {
    let project = Project::new();
    let Project { desk, id, .. } = &project;
    project.commit("good");
    assert_eq!(project.check(), 0);
    assert_eq!(project.refusal(), None);
    desk.ait(&["merge", id]).ok();
    desk.ait(&["return", id, "-a", "reviewer", "-m", "more"]).ok();
    let path = desk.opened(id);
    fs::write(path.join("work.txt"), "good, too").unwrap();
    desk.git_in(&path, &["commit", "-qam", "more"]);
    assert_eq!(project.check(), 0);
    assert_eq!(project.refusal(), None);
    // It was merged by hand, so the check runs on the main branch when the reviewer asks for the merge.
    desk.git(&["merge", "-q", "--no-edit", "--no-ff", &format!("issue-{id}")]);
    let close = ["close", id, "-m", "merged", "-a", "reviewer"];
    assert!(desk.ait(&close).refusal().contains("ait merge"));
    desk.ait(&["merge", id]).ok();
    desk.ait(&close).ok();
    let other = Project::new();
    other.commit("good");
    assert_eq!(other.check(), 0);
    assert_eq!(other.refusal(), None);
    other.desk.ait(&["close", &other.id, "-m", "as a pull request"]).ok();
}

#[test]
fn each_kind_of_work_may_have_its_own_check() {
    let project = Project::new();
    let desk = &project.desk;
    let set =
        |check: &str| desk.write("ait.toml", &format!("check = {check}\nrequire-check = true\n"));
    set(&format!(r#"["exit 3", "bug={CHECK}"]"#));
    project.commit("good");
    assert_eq!(project.check(), 0);
    // The agent chooses no other check for what it holds.
    let refused = desk.ait(&["edit", &project.id, "-c", "feature", "-a", "dev"]).refusal();
    assert!(refused.contains("keeps its kind"), "{refused}");
    desk.ait(&["edit", &project.id, "-c", "refactor", "-a", "dev"]).refusal();
    desk.ait(&["edit", &project.id, "-c", "feature"]).ok();
    desk.ait(&["edit", &project.id, "-c", "refactor", "-a", "dev"]).ok();
    desk.ait(&["edit", &project.id, "-c", "feature", "-a", "dev"]).ok();
    project.is_refused("the receipt of another check");
    assert_eq!(project.check(), 1);
    set(&format!(r#"["bug={CHECK}"]"#));
    let refused = desk.ait(&["check", &project.id, "-a", "dev"]);
    assert!(refused.log.contains("no check is for the kind feature"), "{refused:?}");
    project.is_refused("no check of its kind");
    desk.ait(&["edit", &project.id, "-c", "bug"]).ok();
    desk.ait(&["complete", &project.id, "-m", "done", "-a", "dev"]).ok();
    set(r#"["cargo test", "cargo clippy"]"#);
    assert!(desk.ait(&["list"]).log.contains("second check for the same work"));
}

#[test]
fn a_check_that_fails_is_recorded_with_its_last_lines() {
    let project = Project::new();
    let Project { desk, id, .. } = &project;
    desk.write("ait.toml", "check = \"echo the reason; exit 3\"\nrequire-check = true\n");
    assert_eq!(project.check(), 1);
    let file = project.file();
    let entry = file["issues"][0]["history"].as_array().unwrap().last().unwrap();
    assert_eq!((&entry["action"], &entry["check"]["exit"]), (&"Check failed".into(), &3.into()));
    assert_eq!(entry["check"]["output"], "the reason");
    project.is_refused("a failed check");
    // A claim number is still that of the claim.
    assert_eq!(desk.shown(id)["claim"]["number"], 1);
    desk.ait(&["return", id, "-a", "dev", "--claim", "1", "-m", "cannot"]).ok();
}

#[test]
fn receipts_of_other_files_count_for_nothing() {
    let project = Project::new();
    let Project { desk, path, .. } = &project;
    project.is_refused("no check");
    assert_eq!(project.check(), 1);
    project.is_refused("a failed check");
    // Neither work that is not committed is checked, nor what the index hides.
    project.write("good");
    assert_eq!((project.check(), project.receipts()), (1, 1));
    desk.git_in(path, &["update-index", "--assume-unchanged", "work.txt"]);
    assert_eq!((project.check(), project.receipts()), (1, 1));
    desk.git_in(path, &["update-index", "--no-assume-unchanged", "work.txt"]);
    desk.git_in(path, &["update-index", "--skip-worktree", "work.txt"]);
    assert_eq!((project.check(), project.receipts()), (1, 1));
    desk.git_in(path, &["update-index", "--no-skip-worktree", "work.txt"]);
    desk.git_in(path, &["checkout", "-q", "work.txt"]);
    fs::write(path.join("new.txt"), "").unwrap();
    assert_eq!((project.check(), project.receipts()), (1, 1));
    fs::remove_file(path.join("new.txt")).unwrap();
    // Nor files that change while it runs.
    desk.write("ait.toml", "check = \"echo more >> work.txt\"\nrequire-check = true\n");
    assert_eq!((project.check(), project.receipts()), (1, 1));
    desk.git_in(path, &["checkout", "-q", "work.txt"]);
    desk.write("ait.toml", &format!("check = \"{CHECK}\"\nrequire-check = true\n"));
    // The files changed after the check.
    project.commit("good");
    assert_eq!(project.check(), 0);
    project.commit("bad again");
    project.is_refused("a later commit");
    desk.git_in(path, &["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(project.refusal(), None, "the control: the files are those that were checked");
}

#[test]
fn receipts_of_other_issues_count_for_nothing() {
    let project = Project::new();
    let Project { desk, id, path } = &project;
    project.commit("good");
    let other = desk.add("two");
    let other_path = desk.opened(&other);
    desk.git_in(&other_path, &["reset", "-q", "--hard", &format!("issue-{id}")]);
    desk.ait(&["check", &other, "-a", "dev"]).ok();
    project.is_refused("the same files, checked for another issue");
    // Without its branch there is nothing to check.
    desk.git_in(path, &["branch", "-m", "mine"]);
    let refused = project.refusal().unwrap();
    assert!(refused.contains("no branch"), "{refused}");
    desk.git_in(path, &["branch", "-m", &format!("issue-{id}")]);
    assert_eq!(project.check(), 0);
    assert_eq!(project.refusal(), None);
}

#[test]
fn receipts_in_files_count_for_nothing() {
    let project = Project::new();
    let Project { desk, .. } = &project;
    let forged = project.forged_file();
    project.write_file(&forged);
    project.is_refused("issues.json edited by hand");
    let after = desk.shown(&project.id);
    let last = after["history"].as_array().unwrap().last().unwrap();
    assert_eq!(last["action"], "Check passed", "the control: the edit was taken over");
    assert_eq!(project.receipts(), 0);
    // A backup that is restored.
    let backup = desk.root.join("backup.json");
    desk.ait(&["backup", backup.to_str().unwrap()]).ok();
    let mut saved: Value = serde_json::from_slice(&fs::read(&backup).unwrap()).unwrap();
    saved["issues"] = forged["issues"].clone();
    saved.as_object_mut().unwrap().remove("backup");
    fs::write(&backup, saved.to_string()).unwrap();
    desk.ait(&["restore", "--force", backup.to_str().unwrap()]).ok();
    project.is_refused("a backup");
    // A queue that begins with the file.
    for hidden in [".ait", "issues.json"] {
        let path = desk.project().join(hidden);
        if path.is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }
    project.write_file(&forged);
    project.is_refused("a new queue");
    desk.ait(&["comment", &project.id, "-m", "a change"]).ok();
    assert_eq!(project.receipts(), 0);
    // A real receipt survives an edit of other fields.
    project.commit("good");
    assert_eq!(project.check(), 0);
    let mut edited = project.file();
    edited["issues"][0]["title"] = "another".into();
    project.write_file(&edited);
    assert_eq!(desk.shown(&project.id)["title"], "another");
    assert_eq!(project.refusal(), None);
}

#[test]
fn no_other_way_closes_what_was_not_checked() {
    let project = Project::new();
    let Project { desk, id, .. } = &project;
    // A completion in the file has no facts.
    let mut file = project.file();
    let issue = &mut file["issues"][0];
    let modified = issue["modifiedAt"].clone();
    issue["status"] = "completed".into();
    let entry = json!({ "timestamp": modified, "agent": "dev", "action": "Issue completed" });
    issue["history"].as_array_mut().unwrap().push(entry);
    project.write_file(&file);
    assert_eq!(desk.shown(id)["status"], "completed");
    let close = ["close", id, "-m", "merged", "-a", "reviewer"];
    assert!(desk.ait(&close).refusal().contains("ait merge"));
    // Nor does a change of many issues close it, nor the return of an issue that is taken back.
    let mut lead = Client::begin(&mut desk.command("ait", &desk.project(), &["--toolsets", "all"]));
    let found = lead.call("query_issues", json!({ "query": "status:completed" })).issue();
    let bulk = json!({
        "handle": found["handle"], "items": "all", "agent": "lead", "end": "close", "comment": "c",
        "dry_run": false,
    });
    let report = lead.call("change_issues", bulk).issue();
    assert_eq!((&report["changed"], &report["refused"]), (&json!(0), &json!(1)), "{report}");
    assert_eq!(desk.shown(id)["status"], "completed");
    desk.ait(&["return", id, "-m", "no"]).ok();
    desk.ait(&["undo"]).ok();
    assert_eq!(desk.shown(id)["status"], "completed");
    assert!(desk.ait(&close).refusal().contains("ait merge"));
}

#[test]
fn neither_the_environment_nor_the_branch_chooses_the_check() {
    let project = Project::new();
    let Project { desk, id, path } = &project;
    let environment = [("AIT_CHECK", "true"), ("AIT_REQUIRE_CHECK", "false")];
    let with =
        |arguments: &[&str]| end(desk.command("ait", &desk.project(), arguments).envs(environment));
    assert_eq!(with(&["check", id, "-a", "dev"]).code, 1);
    // Without the name of an agent, the command line takes the caller for a person.
    assert_eq!(with(&["complete", id, "-m", "done"]).code, 1);
    assert_eq!(with(&["complete", id, "-m", "done", "--force"]).code, 1);
    // The settings are those of the main worktree, also in that of the issue.
    fs::write(path.join("ait.toml"), "check = \"true\"\nrequire-check = false\n").unwrap();
    desk.git_in(path, &["commit", "-qam", "an easier check"]);
    assert_eq!(desk.run("ait", path, &["check", id, "-a", "dev"]).code, 1);
    assert_eq!(desk.run("ait", path, &["complete", id, "-a", "dev", "-m", "done"]).code, 1);
    project.is_refused("a check of the branch");
}

#[test]
fn tools_take_no_receipt() {
    let project = Project::new();
    let arguments = ["--toolsets", "all"];
    let mut client =
        Client::begin(&mut project.desk.command("ait", &project.desk.project(), &arguments));
    let receipt = json!({ "command": CHECK, "tree": "0", "exit": 0, "ms": 1 });
    for key in ["check", "facts", "receipt", "work"] {
        let mut complete =
            json!({ "issue_id": project.id, "agent": "ait", "comment": "Check passed" });
        complete[key] = receipt.clone();
        assert!(client.call("complete_issue", complete).is_error, "{key}");
    }
    // A comment with the words of the history is no receipt.
    let said = json!({ "issue_id": project.id, "agent": "ait", "comment": "Check passed" });
    client.call("update_issue", said).ok();
    project.is_refused("a comment");
}

#[test]
fn work_without_changes_needs_no_check() {
    let project = Project::new();
    let Project { desk, .. } = &project;
    let id = desk.add("two");
    desk.ait(&["complete", &id, "-a", "dev", "-m", "No changes: works already"]).ok();
    desk.ait(&["close", &id, "-a", "reviewer", "-m", "yes"]).ok();
    // One that was never handed in is closed with the same words.
    let id = desk.add("three");
    let refused = desk.ait(&["close", &id, "-a", "dev", "-m", "yes"]).refusal();
    assert!(refused.contains("No changes"), "{refused}");
    desk.ait(&["close", &id, "-a", "dev", "-m", "No changes: filed twice"]).ok();
}
