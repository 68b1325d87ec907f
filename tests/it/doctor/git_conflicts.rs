//! Conflicts that git leaves in a committed `issues.json`: the commands that `ait doctor` prints are run as printed.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{examine_by, git};
use crate::support::files::{issues_in_file, kept};
use crate::support::runs::run;
use crate::support::{BINARY, Client, ait, ait_through, directory};

/// Two clones of a repository whose queues have changed on both sides.
struct Clones {
    directory: tempfile::TempDir,
}

impl Clones {
    /// Makes both clones. Each side comments on the issue that both have, and files one.
    fn new() -> Self {
        let clones = Self { directory: directory() };
        let teammate = clones.teammate();
        fs::create_dir(&teammate).unwrap();
        git(&teammate, &["init", "-q", "-b", "main"]);
        run(&teammate, &["add", "both", "-c", "bug", "-a", "a"]).ok();
        fs::write(teammate.join(".gitignore"), ".ait\n").unwrap();
        commit(&teammate);
        git(clones.directory.path(), &["clone", "-q", "teammate", "own"]);
        for side in ["own", "teammate"] {
            let path = clones.directory.path().join(side);
            let both = issues_in_file(&path)[0]["id"].as_str().unwrap().to_owned();
            run(&path, &["comment", &both, "-m", &format!("comment of {side}"), "-a", "a"]).ok();
            run(&path, &["add", &format!("of {side}"), "-c", "bug", "-a", "a"]).ok();
            commit(&path);
        }
        git(&clones.own(), &["fetch", "-q"]);
        clones
    }

    fn teammate(&self) -> PathBuf {
        self.directory.path().join("teammate")
    }

    fn own(&self) -> PathBuf {
        self.directory.path().join("own")
    }
}

fn commit(directory: &Path) {
    git(directory, &["add", "-A"]);
    git(directory, &["commit", "-qm", "Change the queue"]);
}

/// Runs a git command that must end with a conflict.
#[track_caller]
fn conflict(directory: &Path, command: &str) {
    let script = format!("git -c user.name=t -c user.email=t@t {command} origin/main");
    let output = shell(directory, &script).output().unwrap();
    assert!(!output.status.success());
    assert!(fs::read_to_string(directory.join("issues.json")).unwrap().contains("<<<<<<< "));
}

/// Returns a shell that finds the binary as `ait`, on the file of its directory.
fn shell(directory: &Path, script: &str) -> std::process::Command {
    let mut shell = ait_through("sh", directory);
    let binaries = Path::new(BINARY).parent().unwrap().display();
    shell.env("PATH", format!("{binaries}:{}", std::env::var("PATH").unwrap()));
    shell.env("ISSUES_FILE", directory.join("issues.json")).args(["-ec", script]);
    shell
}

/// Returns the advice of the doctor on an invalid file.
#[track_caller]
fn advice(directory: &Path) -> String {
    let examined = examine_by(
        ait(directory).env("ISSUES_FILE", directory.join("issues.json")).args(["doctor", "--json"]),
    );
    examined.is("valid", "problem").finding("valid")["fix"].as_str().unwrap().to_owned()
}

/// Runs the commands of an advice.
#[track_caller]
fn follow(directory: &Path, advice: &str) {
    let commands: Vec<_> = advice.split('`').skip(1).step_by(2).collect();
    let output = shell(directory, &commands.join("\n")).output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{advice}: {log}");
    assert!(!log.contains("warning"), "{advice}: {log}");
}

#[track_caller]
fn assert_both(directory: &Path) {
    let listed = shell(directory, "ait list --json; git ls-files --unmerged").output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).expect("a list and no conflict");
    for issues in [listed["issues"].as_array().unwrap(), &issues_in_file(directory)] {
        let mut titles: Vec<_> =
            issues.iter().map(|issue| issue["title"].as_str().unwrap()).collect();
        titles.sort_unstable();
        assert_eq!(titles, ["both", "of own", "of teammate"]);
    }
}

#[track_caller]
fn assert_both_comments(directory: &Path) {
    let issues = issues_in_file(directory);
    let both = issues.iter().find(|issue| issue["title"] == "both").unwrap().to_string();
    assert!(both.contains("comment of own") && both.contains("comment of teammate"), "{both}");
    assert_eq!(kept(directory), Vec::<PathBuf>::new());
}

#[test]
fn advice_at_a_merge_conflict_keeps_both_sides() {
    let clones = Clones::new();
    conflict(&clones.own(), "merge");
    follow(&clones.own(), &advice(&clones.own()));
    assert_both(&clones.own());
    assert_both_comments(&clones.own());
    git(&clones.own(), &["commit", "-qm", "Merge"]);
}

#[test]
fn advice_at_a_rebase_conflict_keeps_both_sides() {
    for backend in ["rebase --merge", "rebase --apply"] {
        let clones = Clones::new();
        conflict(&clones.own(), backend);
        follow(&clones.own(), &advice(&clones.own()));
        assert_both(&clones.own());
        assert_both_comments(&clones.own());
        git(&clones.own(), &["-c", "core.editor=true", "rebase", "--continue"]);
        assert_both(&clones.own());
    }
}

#[test]
fn advice_at_a_rebase_conflict_in_a_linked_worktree_keeps_both_sides() {
    let clones = Clones::new();
    let tree = clones.directory.path().join("linked tree");
    git(&clones.own(), &["worktree", "add", "-q", "-b", "linked", tree.to_str().unwrap()]);
    // This worktree has a queue of its own, with a log.
    let both = issues_in_file(&tree)[0]["id"].as_str().unwrap().to_owned();
    let commented = format!("ait comment {both} -m 'comment in the tree' -a a");
    assert!(shell(&tree, &commented).status().unwrap().success());
    commit(&tree);
    git(&tree, &["reset", "-q", "--soft", "HEAD~2"]);
    commit(&tree);
    conflict(&tree, "rebase");
    follow(&tree, &advice(&tree));
    assert_both(&tree);
    assert_both_comments(&tree);
}

#[test]
fn advice_at_a_conflict_without_a_log_keeps_the_issues_of_both_sides() {
    for command in ["merge", "rebase"] {
        let clones = Clones::new();
        conflict(&clones.own(), command);
        fs::remove_dir_all(clones.own().join(".ait")).unwrap();
        follow(&clones.own(), &advice(&clones.own()));
        assert_both(&clones.own());
        assert_both_comments(&clones.own());
    }
}

/// git knows no sides of a file that was added with its conflict marks, but the marks have them.
#[test]
fn advice_for_an_added_conflict_keeps_both_sides() {
    let clones = Clones::new();
    conflict(&clones.own(), "merge");
    commit(&clones.own());
    follow(&clones.own(), &advice(&clones.own()));
    assert_both(&clones.own());
    assert_both_comments(&clones.own());
}

/// Who takes one side without adding it has lost nothing yet.
#[test]
fn a_conflict_is_resolved_after_one_side_was_taken() {
    let clones = Clones::new();
    conflict(&clones.own(), "merge");
    git(&clones.own(), &["checkout", "--ours", "issues.json"]);
    let examined = examine_by(
        ait(&clones.own())
            .env("ISSUES_FILE", clones.own().join("issues.json"))
            .args(["doctor", "--json"]),
    );
    examined.is("git", "problem");
    follow(&clones.own(), "`ait doctor --fix`");
    assert_both(&clones.own());
}

/// Neither side has the file under its name, but the issues are still those of the team.
#[test]
fn a_file_that_both_sides_renamed_keeps_its_issues() {
    let clones = Clones::new();
    for side in [clones.own(), clones.teammate()] {
        let name = side.file_name().unwrap().to_str().unwrap().to_owned();
        git(&side, &["mv", "issues.json", &format!("{name}.json")]);
        git(&side, &["commit", "-qm", "Rename the queue"]);
    }
    git(&clones.own(), &["fetch", "-q"]);
    let script = "! git -c user.name=t -c user.email=t@t merge -q -X find-renames=5% origin/main && ait resolve";
    assert!(shell(&clones.own(), script).output().unwrap().status.success());
    let titles: Vec<_> =
        issues_in_file(&clones.own()).iter().map(|issue| issue["title"].clone()).collect();
    assert!(titles.contains(&json!("both")), "{titles:?}");
}

/// An agent works while a rebase stands at a conflict.
#[test]
fn a_conflict_of_a_rebase_is_resolved_while_an_agent_works() {
    let clones = Clones::new();
    let own = clones.own();
    let mut agent = Client::begin(ait(&own).env("ISSUES_FILE", own.join("issues.json")));
    conflict(&own, "rebase");
    agent.add("during the rebase", "bug");
    let claimed = agent.call("get_next_issue", json!({ "agent": "a" })).issue();
    assert_eq!(claimed["title"], "both");
    let output = shell(&own, "ait resolve --json").output().unwrap();
    let resolved: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(resolved["next"], "git rebase --continue", "{resolved}");
    assert_eq!(resolved["issues"], 3);
    git(&own, &["-c", "core.editor=true", "rebase", "--continue"]);
    let arguments =
        json!({ "issue_id": claimed["id"], "comment": "done", "agent": "a", "claim": 1 });
    agent.call("complete_issue", arguments).ok();
    assert!(agent.close().success());
    let mut titles: Vec<_> =
        issues_in_file(&own).iter().map(|issue| issue["title"].to_string()).collect();
    titles.sort_unstable();
    assert_eq!(titles, ["\"both\"", "\"during the rebase\"", "\"of own\"", "\"of teammate\""]);
    let issues = issues_in_file(&own);
    let both = issues.iter().find(|issue| issue["title"] == "both").unwrap().to_string();
    assert!(both.contains("comment of own") && both.contains("comment of teammate"), "{both}");
    // There is nothing left to resolve.
    assert_eq!(shell(&own, "ait resolve").status().unwrap().code(), Some(1));
}
