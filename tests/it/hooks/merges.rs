//! Notes on merges.

use std::path::Path;

use super::{Desk, end};

/// A branch of a claimed issue with one commit.
fn branch(desk: &Desk, name: &str) -> (String, String) {
    let (id, worktree) = desk.claimed(name);
    desk.commit(&worktree, name).ok();
    let branch = format!("issue-{id}");
    (id, branch)
}

fn head(desk: &Desk, directory: &Path) -> String {
    desk.git_in(directory, &["rev-parse", "--short", "HEAD"]).trim().to_owned()
}

fn here(desk: &Desk) -> String {
    head(desk, &desk.project())
}

#[test]
fn every_kind_of_merge_is_noted_once() {
    let desk = Desk::with_hooks();
    let (first, its) = branch(&desk, "fast-forward");
    let arguments = ["merge", "-q", "--ff-only", &its];
    let mut merge = desk.command("git", &desk.project(), &arguments);
    end(merge.env("AIT_AGENT", "reviewer")).ok();
    let note = format!("Branch {its} merged into main as {}.", here(&desk));
    assert_eq!(desk.comments(&first).concat(), note);
    let shown = desk.ait(&["show", &first]).ok();
    assert!(
        shown.contains("Comment added by reviewer") && shown.contains("held by dev"),
        "{shown}"
    );
    desk.git(&["reset", "-q", "--hard", "HEAD~1"]);
    desk.git(&["merge", "-q", "--ff-only", &its]);
    assert_eq!(desk.comments(&first).concat(), note);

    let (second, its) = branch(&desk, "merged");
    desk.git(&["merge", "-q", "--no-ff", "--no-edit", &its]);
    let note = format!("Branch {its} merged into main as {}.", here(&desk));
    assert_eq!(desk.comments(&second), [note]);
    assert_eq!(desk.comments(&first).len(), 1);
    desk.git(&["merge", "-q", "--no-ff", "--no-edit", &its]);
    assert_eq!(desk.comments(&second).len(), 1);

    let (third, its) = branch(&desk, "squashed");
    let note =
        format!("Branch {its} squashed into main on top of {}, to be committed.", here(&desk));
    for _ in 0..2 {
        desk.git(&["merge", "-q", "--squash", &its]);
        assert_eq!(desk.comments(&third).concat(), note);
        desk.git(&["reset", "-q", "--hard"]);
    }
}

#[test]
fn octopus_merge_is_noted_on_each_issue() {
    let desk = Desk::with_hooks();
    let ((one, its), (two, others)) = (branch(&desk, "one"), branch(&desk, "two"));
    desk.commit(&desk.project(), "own").ok();
    desk.git(&["merge", "-q", "--no-edit", &its, &others]);
    for (id, branch) in [(&one, &its), (&two, &others)] {
        let note = format!("Branch {branch} merged into main as {}.", here(&desk));
        assert_eq!(desk.comments(id), [note]);
    }
    desk.git(&["merge", "-q", "--no-edit", &its, &others]);
    assert_eq!((desk.comments(&one).len(), desk.comments(&two).len()), (1, 1));
}

#[test]
fn pull_notes_each_branch_with_its_merge_commit() {
    let desk = Desk::new();
    let clone = desk.root.join("clone");
    desk.git(&["clone", "-q", ".", clone.to_str().unwrap()]);
    let ((one, its), (two, others)) = (branch(&desk, "one"), branch(&desk, "two"));
    desk.git(&["merge", "-q", "--no-ff", "--no-edit", &its]);
    let first = here(&desk);
    desk.git(&["merge", "-q", "--no-ff", "--no-edit", &others]);
    let second = here(&desk);
    desk.commit(&desk.project(), "later").ok();
    // The store of the clone is that of the project, with hooks in the clone alone.
    desk.run("ait", &clone, &["hooks", "install"]).ok();
    let store = desk.project().join("issues.json");
    for _ in 0..2 {
        let mut pull = desk.command("git", &clone, &["pull", "-q", "--ff-only"]);
        end(pull.env("ISSUES_FILE", &store)).ok();
        assert_eq!(
            desk.comments(&one),
            [format!("Branch origin/{its} merged into main as {first}.")]
        );
        let note = format!("Branch origin/{others} merged into main as {second}.");
        assert_eq!(desk.comments(&two), [note]);
        desk.git_in(&clone, &["reset", "-q", "--hard", "HEAD~3"]);
    }
}

/// One of which only the name is known here.
#[test]
fn a_branch_that_is_pulled_by_its_name_is_noted() {
    let desk = Desk::with_hooks();
    let (id, its) = branch(&desk, "one");
    let far = desk.root.join("far");
    desk.git(&["clone", "-q", ".", far.to_str().unwrap()]);
    let worktree = desk.root.join(format!("project-{id}"));
    desk.git(&["worktree", "remove", worktree.to_str().unwrap()]);
    desk.git(&["branch", "-qD", &its]);
    desk.git_in(&far, &["branch", "-q", &its, &format!("origin/{its}")]);
    desk.git(&["pull", "-q", far.to_str().unwrap(), &its]);
    let note = format!("Branch {its} merged into main as {}.", here(&desk));
    assert_eq!(desk.comments(&id), [note]);
}

#[test]
fn a_merge_into_the_branch_of_an_issue_is_not_noted() {
    let desk = Desk::with_hooks();
    let ((one, its), (two, _)) = (branch(&desk, "one"), branch(&desk, "two"));
    desk.git(&["merge", "-q", "--no-edit", &its]);
    assert_eq!(desk.comments(&one).len(), 1);
    let worktree = desk.root.join(format!("project-{two}"));
    desk.git_in(&worktree, &["merge", "-q", "--no-edit", "main"]);
    assert_eq!((desk.comments(&one).len(), desk.comments(&two).len()), (1, 0));
    // Nor a look at it without a branch.
    desk.git(&["checkout", "-q", "--detach", "HEAD~1"]);
    desk.git(&["merge", "-q", "--no-edit", &format!("issue-{two}")]);
    assert!(desk.comments(&two).is_empty());
}

#[test]
fn closed_issue_gets_the_merge_note_and_stays_closed() {
    let desk = Desk::with_hooks();
    let (id, its) = branch(&desk, "one");
    desk.ait(&["close", &id, "-m", "merging it", "-a", "a"]).ok();
    desk.git(&["merge", "-q", "--no-edit", &its]);
    let note = format!("Branch {its} merged into main as {}.", here(&desk));
    assert_eq!(desk.comments(&id), ["merging it".to_owned(), note]);
    let shown = desk.ait(&["show", &id, "--json"]).ok();
    assert!(shown.contains("\"status\":\"closed\""), "{shown}");
    let examined = desk.ait(&["doctor"]).out;
    assert!(examined.contains("each status follows from its history"), "{examined}");
}
