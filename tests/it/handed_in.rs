//! What a completion hands in, as `ait` measures it in the branch of the issue, with the real git.

use std::fs;

use serde_json::{Value, json};

use crate::hooks::Desk;
use crate::support::http::Server;
use crate::support::{Client, get};

impl Desk {
    fn client(&self, arguments: &[&str]) -> Client {
        Client::begin(&mut self.command("ait", &self.project(), arguments))
    }

    pub fn shown(&self, id: &str) -> Value {
        serde_json::from_str(&self.ait(&["show", id, "--json"]).ok()).unwrap()
    }

    /// Returns what the last completion handed in.
    fn work(&self, id: &str) -> Value {
        let shown = self.shown(id);
        let history = shown["history"].as_array().unwrap();
        let completed = history.iter().rfind(|entry| entry["action"] == "Issue completed");
        completed.unwrap()["work"].clone()
    }
}

#[test]
fn a_completion_keeps_what_the_branch_has_and_the_reviewer_sees_it() {
    let desk = Desk::new();
    let (id, path) = desk.with_work("one.txt");
    fs::write(path.join("one.txt"), "1\n2\n3\n").unwrap();
    fs::write(path.join("image"), b"\0binary").unwrap();
    desk.git_in(&path, &["add", "."]);
    desk.git_in(&path, &["commit", "-qm", "more"]);
    // Commits of others on the main branch do not count, nor does a merge of them.
    desk.commit(&desk.project(), "other.txt").ok();
    desk.git_in(&path, &["merge", "-q", "--no-edit", "main"]);
    let head = desk.git_in(&path, &["rev-parse", "HEAD"]).trim_end().to_owned();

    let mut client = desk.client(&["--replies", "compact"]);
    client.call("get_next_issue", json!({ "agent": "dev" })).ok();
    let handed_in = json!({ "issue_id": id, "agent": "dev", "comment": "done" });
    client.call("complete_issue", handed_in.clone()).ok();
    let tree = desk.git_in(&path, &["rev-parse", "HEAD^{tree}"]).trim_end().to_owned();
    let expected = json!({
        "commits": 3, "files": 2, "added": 3, "removed": 0, "head": head, "tree": tree,
    });
    assert_eq!(desk.work(&id), expected);
    // A repeat changes nothing, even if the branch has changed.
    desk.commit(&path, "late.txt").ok();
    client.call("complete_issue", handed_in).ok();
    assert_eq!(desk.work(&id), expected);

    let newer = &desk.git_in(&path, &["rev-parse", "HEAD"])[..7];
    let said = format!("3 commits, 2 files, +3 -0, head {}", &head[..7]);
    let shown = desk.ait(&["show", &id]).ok();
    assert!(shown.contains(&format!("handed in: {said}")), "{shown}");
    assert!(shown.contains(&format!("it is at {newer} now")), "{shown}");
    let review = client.call("get_next_review_item", json!({ "agent": "reviewer" })).ok();
    let review: Value = serde_json::from_str(&review).unwrap();
    assert_eq!(review["work"], format!("{said}; the branch is at {newer} now"));

    let server = Server::spawn(desk.command("ait", &desk.project(), &["serve"]), &desk.project());
    let page = get(server.port, &format!("/issues/{id}")).body;
    assert!(page.contains(&said) && page.contains(&format!("it is at {newer} now")), "{page}");
    // Back at the commit that was handed in, there is nothing to say.
    desk.git_in(&path, &["reset", "-q", "--hard", &head]);
    assert!(!get(server.port, &format!("/issues/{id}")).body.contains("has changed since"));
    assert!(!desk.ait(&["show", &id]).ok().contains("Note:"));
    // What was returned is handed in no more.
    client
        .call("return_issue", json!({ "issue_id": id, "agent": "reviewer", "comment": "no" }))
        .ok();
    assert!(!desk.ait(&["show", &id]).ok().contains("handed in:"));
}

#[test]
fn a_branch_without_a_commit_is_refused_without_a_reason() {
    let desk = Desk::new();
    let id = desk.add("one");
    let path = desk.opened(&id);
    let mut client = desk.client(&[]);
    let complete = |comment: &str| json!({ "issue_id": id, "agent": "dev", "comment": comment });
    let refused = client.call("complete_issue", complete("done")).refusal();
    assert!(refused.contains("without a commit") && refused.contains("No changes"), "{refused}");
    assert_eq!(desk.ait(&["complete", &id, "-m", "done"]).code, 1);
    assert_eq!(desk.shown(&id)["status"], "created");
    // Neither work that is not committed counts, nor a fast-forward to commits of others.
    fs::write(path.join("draft"), "draft").unwrap();
    desk.commit(&desk.project(), "other.txt").ok();
    desk.git_in(&path, &["merge", "-q", "--ff-only", "main"]);
    client.call("complete_issue", complete("done")).refusal();
    client.call("complete_issue", complete("no changes: works already")).ok();
    assert_eq!(desk.work(&id)["commits"], 0);
    assert!(desk.ait(&["show", &id]).ok().contains("handed in: no changes"));
}

#[test]
fn commits_that_are_merged_already_count_as_handed_in() {
    let desk = Desk::new();
    let subject = "Merge pull request #12 from team/issue";
    let changes = [&["--ff-only"][..], &["--no-ff", "-m", subject], &["--no-ff", "-m", "Merge"]];
    for (at, how) in changes.into_iter().enumerate() {
        let (id, _) = desk.with_work(&format!("file{at}"));
        let branch = format!("issue-{id}");
        // The main branch goes on before and after the merge, except that it can only be moved forward.
        let commit = || desk.git(&["commit", "-q", "--allow-empty", "-m", "Other (#3)"]);
        if how[0] == "--no-ff" {
            commit();
        }
        desk.git(&[&["merge", "-q"], how, &[&*branch]].concat());
        let merge = desk.git(&["rev-parse", "HEAD"]).trim_end().to_owned();
        commit();
        desk.ait(&["complete", &id, "-m", "done"]).ok();
        let work = desk.work(&id);
        assert_eq!((&work["commits"], &work["files"]), (&1.into(), &1.into()));
        assert_eq!(work["merge"], *merge);
        let number = (at == 1).then_some(12);
        assert_eq!(work["pullRequest"].as_u64(), number);
        let said = format!(", merged as {}{}", &merge[..7], if at == 1 { " (#12)" } else { "" });
        assert!(desk.ait(&["show", &id]).ok().contains(&said), "{said}");
    }
    let (id, _) = desk.with_work("open");
    desk.ait(&["complete", &id, "-m", "done"]).ok();
    assert!(desk.work(&id)["merge"].is_null());
}

#[test]
fn a_queue_without_branches_stays_as_it_was() {
    let desk = Desk::new();
    let id = desk.add("one");
    // It is not known what a branch in the main worktree will be merged into.
    let other = desk.add("two");
    desk.ait(&["complete", &id, "-m", "done"]).ok();
    desk.git(&["checkout", "-qb", &format!("issue-{other}")]);
    desk.ait(&["complete", &other, "-m", "done"]).ok();
    fs::rename(desk.project().join(".git"), desk.root.join("gone")).unwrap();
    let third = desk.add("three");
    desk.ait(&["complete", &third, "-m", "done"]).ok();
    for id in [id, other, third] {
        assert_eq!(desk.work(&id), Value::Null);
        assert!(!desk.ait(&["show", &id]).ok().contains("handed in:"));
    }
}
