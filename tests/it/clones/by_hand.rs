//! Two clones of a repository that `ait init --track` has set up, and layouts in which the tracked queue is elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::in_git::{git, try_git};
use crate::support::files::issues_in_file;
use crate::support::runs::{Run, run};
use crate::support::{BINARY, Client, directory};

/// Two clones with an issue that both have.
struct Clones {
    directory: tempfile::TempDir,
}

impl Clones {
    /// Makes the clones. The first one is set up, and the second one registers the merge driver as the doctor says.
    fn new() -> Self {
        let clones = Self { directory: directory() };
        let first = clones.path("first");
        fs::create_dir(&first).unwrap();
        git(&first, &["init", "-q", "-b", "main"]);
        run(&first, &["init", "--track", "--yes", "--client", "cursor"]).ok();
        run(&first, &["add", "both", "-a", "a"]).ok();
        clones.commit("first");
        git(clones.directory.path(), &["clone", "-q", "first", "second"]);
        clones.use_driver("first");
        clones
    }

    fn path(&self, clone: &str) -> PathBuf {
        self.directory.path().join(clone)
    }

    /// Lets git find the binary of the test.
    fn use_driver(&self, clone: &str) {
        let driver = format!("{BINARY} merge-driver %O %A %B");
        git(&self.path(clone), &["config", "merge.ait.driver", &driver]);
    }

    fn ait(&self, clone: &str, arguments: &[&str]) -> Run {
        run(&self.path(clone), arguments)
    }

    fn commit(&self, clone: &str) {
        self.ait(clone, &["save"]).ok();
        git(&self.path(clone), &["add", "-A"]);
        git(&self.path(clone), &["commit", "-qm", "Change the queue"]);
    }

    fn pull(&self, clone: &str, from: &str) {
        let from = self.path(from);
        git(&self.path(clone), &["pull", "-q", "--no-rebase", from.to_str().unwrap(), "main"]);
    }

    fn id(&self) -> String {
        issues_in_file(&self.path("first"))[0]["id"].as_str().unwrap().to_owned()
    }

    fn titles(&self, clone: &str) -> Vec<String> {
        let issues = issues_in_file(&self.path(clone));
        issues.iter().map(|issue| issue["title"].as_str().unwrap().to_owned()).collect()
    }
}

fn shown(clone: &Path, id: &str) -> Value {
    serde_json::from_str(&run(clone, &["show", id, "--json"]).ok()).unwrap()
}

#[test]
fn two_clones_that_file_issues_meet_without_a_conflict() {
    let clones = Clones::new();
    clones.use_driver("second");
    for (clone, title) in [("first", "of the first"), ("second", "of the second")] {
        clones.ait(clone, &["add", title, "-a", "a"]).ok();
        clones.commit(clone);
    }
    clones.pull("second", "first");
    clones.pull("first", "second");
    // Issues are in the order of filing in both.
    let all = ["both", "of the first", "of the second"];
    assert_eq!(
        (clones.titles("first"), clones.titles("second")),
        (all.map(Into::into).into(), all.map(Into::into).into())
    );
    let listed = clones.ait("first", &["list", "--json"]).ok();
    assert_eq!(listed.matches("\"title\"").count(), 3, "{listed}");
    assert!(git(&clones.path("second"), &["status", "--short"]).is_empty());
}

#[test]
fn an_issue_that_both_clones_claim_has_the_earlier_claim() {
    let clones = Clones::new();
    clones.use_driver("second");
    let id = clones.id();
    clones.ait("first", &["claim", &id, "--agent", "ann"]).ok();
    clones.commit("first");
    // A server with a lease holds the other claim.
    let mut server = Client::start(&clones.path("second"));
    let claimed = server.call("get_next_issue", json!({ "agent": "bob" })).issue();
    assert_eq!(claimed["id"], id.as_str());
    clones.commit("second");
    clones.pull("second", "first");
    let arguments = json!({ "issue_id": id, "comment": "done", "agent": "bob" });
    let refused = server.call("complete_issue", arguments.clone()).refusal();
    assert!(
        refused.contains("ann claimed it before you") && refused.contains("another clone"),
        "{refused}"
    );
    let mut numbered = arguments;
    numbered["claim"] = json!(1);
    let refused = server.call("return_issue", numbered).refusal();
    assert!(refused.contains("ann claimed it before you"), "{refused}");
    let mine = server.call("get_next_issue", json!({ "agent": "bob", "mine": true })).ok();
    assert!(mine.contains("hold no issue") && mine.contains("ann claimed it before you"), "{mine}");
    let nothing = server.call("get_next_issue", json!({ "agent": "bob" })).ok();
    assert!(nothing.contains("ann claimed it before you"), "{nothing}");
    server.add("another", "bug");
    let next = server.call("get_next_issue", json!({ "agent": "bob" })).issue();
    assert_eq!(next["title"], "another");
    assert!(next["lost_claims"][0].as_str().unwrap().contains(&id), "{next}");
    let other = server.call("get_next_issue", json!({ "agent": "cyd" })).ok();
    assert!(!other.contains("before you"), "{other}");
    // The end of bob's server does not end the claim of ann.
    assert!(server.close().success());
    let issue = shown(&clones.path("second"), &id);
    assert_eq!(
        (&issue["status"], &issue["claim"]["agent"]),
        (&json!("in_progress"), &json!("ann"))
    );
    let actions = issue["history"].to_string();
    assert!(
        actions.contains("Too late, after a change in another clone: Issue claimed for work"),
        "{actions}"
    );
    clones.pull("first", "second");
    let done =
        clones.ait("first", &["complete", &id, "-m", "done", "--agent", "ann", "--claim", "1"]);
    done.ok();
    let examined = clones.ait("first", &["doctor", "--json"]).ok();
    let examined: Value = serde_json::from_str(&examined).unwrap();
    let histories = examined["findings"].as_array().unwrap().iter();
    let histories: Vec<_> = histories.filter(|finding| finding["check"] == "histories").collect();
    assert_eq!(histories[0]["verdict"], "ok", "{histories:?}");
}

#[test]
fn a_field_that_both_clones_change_keeps_both_values() {
    let clones = Clones::new();
    clones.use_driver("second");
    let id = clones.id();
    for clone in ["first", "second"] {
        clones
            .ait(clone, &["edit", &id, "--title", &format!("title of the {clone}"), "-a", "a"])
            .ok();
        clones.commit(clone);
    }
    clones.pull("second", "first");
    clones.pull("first", "second");
    for clone in ["first", "second"] {
        let issue = shown(&clones.path(clone), &id);
        assert_eq!(issue["title"], "title of the second");
        let comment = issue["comments"][0]["text"].as_str().unwrap();
        assert!(comment.contains("title: title of the first"), "{comment}");
    }
}

#[test]
fn a_clone_without_the_driver_is_named_and_repaired() {
    let clones = Clones::new();
    let second = clones.path("second");
    let git_of = |arguments: &[&str]| {
        let report: Value = serde_json::from_str(&run(&second, arguments).out).unwrap();
        report["findings"]
            .as_array()
            .unwrap()
            .iter()
            .find(|finding| finding["check"] == "git")
            .cloned()
            .unwrap()
    };
    let finding = git_of(&["doctor", "--json"]);
    assert_eq!(finding["verdict"], "warning", "{finding}");
    assert!(finding["fix"].as_str().unwrap().contains("git config merge.ait.driver"), "{finding}");
    assert_eq!(git_of(&["doctor", "--fix", "--json"])["verdict"], "ok");
    let driver = git(&second, &["config", "merge.ait.driver"]);
    assert!(driver.trim_end().ends_with("merge-driver %O %A %B"), "{driver}");
    // `ait init` again goes on to track the queue, also without the option.
    run(&clones.path("first"), &["init", "--yes", "--client", "cursor"]).ok();
    assert!(
        !fs::read_to_string(clones.path("first").join(".gitignore"))
            .unwrap()
            .contains("/issues.json")
    );
    run(&clones.path("first"), &["init", "--remove", "--yes"]).ok();
    assert!(!clones.path("first").join(".gitattributes").exists());
    assert!(!try_git(&clones.path("first"), &["config", "merge.ait.driver"]).status.success());
}

#[test]
fn an_invalid_side_leaves_a_conflict_with_both() {
    let clones = Clones::new();
    clones.use_driver("second");
    clones.ait("first", &["add", "one", "-a", "a"]).ok();
    clones.commit("first");
    let file = clones.path("second").join("issues.json");
    fs::write(
        &file,
        fs::read_to_string(&file).unwrap().replace("\"title\": \"both\"", "\"title\": both"),
    )
    .unwrap();
    git(&clones.path("second"), &["commit", "-qam", "Break it"]);
    let from = clones.path("first");
    let pulled =
        try_git(&clones.path("second"), &["pull", "--no-rebase", from.to_str().unwrap(), "main"]);
    assert!(!pulled.status.success());
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"title\": both") && text.contains("\"one\""), "{text}");
    let unmerged = git(&clones.path("second"), &["ls-files", "--unmerged"]);
    assert!(!unmerged.is_empty());
    let refused = clones.ait("second", &["resolve"]).refusal();
    assert!(refused.contains("our side: line"), "{refused}");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

/// A queue that git tracks and that is not in the working tree.
#[test]
fn no_queue_begins_where_git_tracks_one() {
    let clones = Clones::new();
    let first = clones.path("first");
    fs::create_dir(first.join("code")).unwrap();
    fs::write(first.join("code/a"), "a").unwrap();
    clones.commit("first");
    let root = clones.directory.path();
    git(root, &["clone", "-q", "--no-checkout", "first", "sparse"]);
    let sparse = clones.path("sparse");
    let assert_refused = |clone: &Path, reason: &str| {
        for command in [&["list"][..], &["add", "new", "-a", "a"]] {
            let refused = run(clone, command).refusal();
            assert!(refused.contains(reason), "{refused}");
        }
        let examined = run(clone, &["doctor"]);
        assert!(examined.code == 1 && examined.out.contains(reason), "{}", examined.out);
        assert!(run(clone, &["status"]).out.contains(reason));
        assert!(!clone.join("issues.json").exists() && !clone.join(".ait").exists());
    };
    assert_refused(&sparse, "`git checkout`");
    git(&sparse, &["sparse-checkout", "set", "--no-cone", "/code/"]);
    git(&sparse, &["checkout", "-q"]);
    assert_refused(&sparse, "`git sparse-checkout add /issues.json`");
    git(&sparse, &["sparse-checkout", "add", "/issues.json"]);
    assert!(run(&sparse, &["list"]).ok().contains("both"));
    // A worktree of a bare repository.
    git(root, &["clone", "-q", "--bare", "first", "bare.git"]);
    let tree = clones.path("tree");
    git(&clones.path("bare.git"), &["worktree", "add", "-q", tree.to_str().unwrap(), "main"]);
    git(&tree, &["sparse-checkout", "set", "--no-cone", "/code/"]);
    for command in [&["list"][..], &["add", "new", "-a", "a"]] {
        let refused = run(&tree, command).refusal();
        assert!(refused.contains("`git sparse-checkout add /issues.json`"), "{refused}");
    }
    git(&tree, &["sparse-checkout", "disable"]);
    let refused = run(&tree, &["list"]).refusal();
    assert!(refused.contains("which is not the queue of its repository"), "{refused}");
    let import = refused.split('`').nth(1).unwrap().to_owned();
    let import: Vec<_> = import.split(' ').skip(1).collect();
    run(&tree, &import).ok();
    assert!(run(&tree, &["list"]).ok().contains("both"));
    let status = run(&tree, &["status"]).ok();
    assert!(status.contains("not used") && status.contains("tree/issues.json"), "{status}");
}
