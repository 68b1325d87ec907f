//! Comments on issues whose branches are merged.

use std::path::Path;

use super::{Desk, end};

/// Creates a branch with one commit for a claimed issue. Returns the id and the branch.
fn branch(desk: &Desk, name: &str) -> (String, String) {
    let (id, worktree) = desk.claimed(name);
    desk.commit(&worktree, name).ok();
    let branch = format!("issue-{id}");
    (id, branch)
}

fn head(desk: &Desk, directory: &Path) -> String {
    desk.git_in(directory, &["rev-parse", "--short", "HEAD"]).trim().to_owned()
}

fn project_head(desk: &Desk) -> String {
    head(desk, &desk.project())
}

#[test]
fn every_kind_of_merge_is_noted_once() {
    let desk = Desk::with_hooks();
    let (first, its_branch) = branch(&desk, "fast-forward");
    let arguments = ["merge", "-q", "--ff-only", &its_branch];
    let mut merge = desk.command("git", &desk.project(), &arguments);
    end(merge.env("AIT_AGENT", "reviewer")).ok();
    let note = format!("Branch {its_branch} merged into main as {}.", project_head(&desk));
    assert_eq!(desk.comments(&first).concat(), note);
    let shown = desk.ait(&["show", &first]).ok();
    assert!(
        shown.contains("Comment added by reviewer") && shown.contains("held by dev"),
        "{shown}"
    );
    desk.git(&["reset", "-q", "--hard", "HEAD~1"]);
    desk.git(&["merge", "-q", "--ff-only", &its_branch]);
    assert_eq!(desk.comments(&first).concat(), note);

    let (second, its_branch) = branch(&desk, "merged");
    desk.git(&["merge", "-q", "--no-ff", "--no-edit", &its_branch]);
    let note = format!("Branch {its_branch} merged into main as {}.", project_head(&desk));
    assert_eq!(desk.comments(&second), [note]);
    assert_eq!(desk.comments(&first).len(), 1);
    desk.git(&["merge", "-q", "--no-ff", "--no-edit", &its_branch]);
    assert_eq!(desk.comments(&second).len(), 1);

    let (third, its_branch) = branch(&desk, "squashed");
    let note = format!(
        "Branch {its_branch} squashed into main on top of {}, to be committed.",
        project_head(&desk)
    );
    for _ in 0..2 {
        desk.git(&["merge", "-q", "--squash", &its_branch]);
        assert_eq!(desk.comments(&third).concat(), note);
        desk.git(&["reset", "-q", "--hard"]);
    }
}

#[test]
fn octopus_merge_is_noted_on_each_issue() {
    let desk = Desk::with_hooks();
    let ((one, its_branch), (two, other_branch)) = (branch(&desk, "one"), branch(&desk, "two"));
    desk.commit(&desk.project(), "own").ok();
    desk.git(&["merge", "-q", "--no-edit", &its_branch, &other_branch]);
    for (id, branch) in [(&one, &its_branch), (&two, &other_branch)] {
        let note = format!("Branch {branch} merged into main as {}.", project_head(&desk));
        assert_eq!(desk.comments(id), [note]);
    }
    desk.git(&["merge", "-q", "--no-edit", &its_branch, &other_branch]);
    assert_eq!((desk.comments(&one).len(), desk.comments(&two).len()), (1, 1));
}

#[test]
fn pull_notes_each_branch_with_its_merge_commit() {
    let desk = Desk::new();
    let clone = desk.root.join("clone");
    desk.git(&["clone", "-q", ".", clone.to_str().unwrap()]);
    let ((one, its_branch), (two, other_branch)) = (branch(&desk, "one"), branch(&desk, "two"));
    desk.git(&["merge", "-q", "--no-ff", "--no-edit", &its_branch]);
    let first = project_head(&desk);
    desk.git(&["merge", "-q", "--no-ff", "--no-edit", &other_branch]);
    let second = project_head(&desk);
    desk.commit(&desk.project(), "later").ok();
    // The clone uses the store of the project; only the clone has hooks.
    desk.run("ait", &clone, &["hooks", "install"]).ok();
    let store = desk.project().join("issues.json");
    for _ in 0..2 {
        let mut pull = desk.command("git", &clone, &["pull", "-q", "--ff-only"]);
        end(pull.env("ISSUES_FILE", &store)).ok();
        assert_eq!(
            desk.comments(&one),
            [format!("Branch origin/{its_branch} merged into main as {first}.")]
        );
        let note = format!("Branch origin/{other_branch} merged into main as {second}.");
        assert_eq!(desk.comments(&two), [note]);
        desk.git_in(&clone, &["reset", "-q", "--hard", "HEAD~3"]);
    }
}

/// The local repository knows only the name of the branch.
#[test]
fn a_branch_pulled_by_name_is_noted() {
    let desk = Desk::with_hooks();
    let (id, its_branch) = branch(&desk, "one");
    let remote = desk.root.join("remote");
    desk.git(&["clone", "-q", ".", remote.to_str().unwrap()]);
    let worktree = desk.root.join(format!("project-{id}"));
    desk.git(&["worktree", "remove", worktree.to_str().unwrap()]);
    desk.git(&["branch", "-qD", &its_branch]);
    desk.git_in(&remote, &["branch", "-q", &its_branch, &format!("origin/{its_branch}")]);
    desk.git(&["pull", "-q", remote.to_str().unwrap(), &its_branch]);
    let note = format!("Branch {its_branch} merged into main as {}.", project_head(&desk));
    assert_eq!(desk.comments(&id), [note]);
}

#[test]
fn a_merge_into_the_branch_of_an_issue_is_not_noted() {
    let desk = Desk::with_hooks();
    let ((one, its_branch), (two, _)) = (branch(&desk, "one"), branch(&desk, "two"));
    desk.git(&["merge", "-q", "--no-edit", &its_branch]);
    assert_eq!(desk.comments(&one).len(), 1);
    let worktree = desk.root.join(format!("project-{two}"));
    desk.git_in(&worktree, &["merge", "-q", "--no-edit", "main"]);
    assert_eq!((desk.comments(&one).len(), desk.comments(&two).len()), (1, 0));
    // A merge into a detached HEAD is not noted either.
    desk.git(&["checkout", "-q", "--detach", "HEAD~1"]);
    desk.git(&["merge", "-q", "--no-edit", &format!("issue-{two}")]);
    assert!(desk.comments(&two).is_empty());
}

#[test]
fn closed_issue_gets_the_merge_note_and_stays_closed() {
    let desk = Desk::with_hooks();
    let (id, its_branch) = branch(&desk, "one");
    desk.ait(&["close", &id, "-m", "merging it", "-a", "a"]).ok();
    desk.git(&["merge", "-q", "--no-edit", &its_branch]);
    let note = format!("Branch {its_branch} merged into main as {}.", project_head(&desk));
    assert_eq!(desk.comments(&id), ["merging it".to_owned(), note]);
    let shown = desk.ait(&["show", &id, "--json"]).ok();
    assert!(shown.contains("\"status\":\"closed\""), "{shown}");
    let examined = desk.ait(&["doctor"]).out;
    assert!(examined.contains("each status follows from its history"), "{examined}");
}
