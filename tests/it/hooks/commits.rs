//! The trailer in commit messages.

use std::fs;

use super::{Desk, end};

#[test]
fn commit_messages_name_the_claimed_issue_once() {
    let desk = Desk::with_hooks();
    let (id, worktree) = desk.claimed("Login \u{202e}fails\u{1b}[31m = x: y");
    let trailer = format!("Issue: {id} Login fails [31m = x: y");
    desk.commit(&worktree, "a").ok();
    assert_eq!(desk.message(&worktree), format!("a\n\n{trailer}"));
    desk.git_in(&worktree, &["commit", "-q", "--amend", "--no-edit"]);
    assert_eq!(desk.message(&worktree), format!("a\n\n{trailer}"));
    fs::write(desk.root.join("m"), "From a file\n\nBody\n---\nmore\n\nSigned-off-by: t\n").unwrap();
    desk.git_in(&worktree, &["commit", "-q", "--allow-empty", "-F", "../m"]);
    let expected = format!("From a file\n\nBody\n---\nmore\n\nSigned-off-by: t\n{trailer}");
    assert_eq!(desk.message(&worktree), expected);
    let other = "b\n\nIssue: of another tracker";
    desk.git_in(&worktree, &["commit", "-q", "--allow-empty", "-m", other]);
    assert_eq!(desk.message(&worktree), other);
    // git still refuses an empty message.
    let empty = desk.run("git", &worktree, &["commit", "--allow-empty", "-m", ""]);
    assert_eq!(empty.code, 1, "{}", empty.out);
    desk.git_in(&worktree, &["commit", "-q", "--allow-empty", "--allow-empty-message", "-m", ""]);
    assert_eq!(desk.message(&worktree), "");
}

#[test]
fn editor_template_leaves_room_above_the_trailer() {
    let desk = Desk::with_hooks();
    let (id, worktree) = desk.claimed("T");
    let edited = |arguments: &[&str], script: &str| {
        let mut command = desk.command("git", &worktree, &[&["commit", "-q"], arguments].concat());
        end(command.env("GIT_EDITOR", format!("sh -c '{script}' sh"))).ok();
        desk.message(&worktree)
    };
    fs::write(worktree.join("a"), "a").unwrap();
    desk.git_in(&worktree, &["add", "a"]);
    let typed = "sed -i \"1s/^/Subject/\" \"$1\"";
    assert_eq!(edited(&["-v"], typed), format!("Subject\n\nIssue: {id} T"));
    desk.git_in(&worktree, &["config", "core.commentChar", ";"]);
    let message = edited(&["--allow-empty", "-v"], typed);
    assert_eq!(message, format!("Subject\n\nIssue: {id} T"));
    fs::write(desk.root.join("template"), "Template\n\nWhat for?\n").unwrap();
    let message = edited(&["--allow-empty", "-t", "../template"], "sed -i \"s/for/else/\" \"$1\"");
    assert!(message.starts_with("Template\n\nWhat else?\n\nIssue: "), "{message}");
    let message = edited(&["--allow-empty", "-c", "HEAD~1"], "true");
    assert_eq!(message, format!("Subject\n\nIssue: {id} T"));
}

#[test]
fn merges_and_unclaimed_issues_get_no_trailer() {
    let desk = Desk::with_hooks();
    let id = desk.add("T");
    let worktree = desk.worktree(&id);
    desk.commit(&worktree, "a").ok();
    assert_eq!(desk.message(&worktree), "a");
    desk.ait(&["next", "-a", "dev"]).ok();
    desk.ait(&["complete", &id, "-m", "done", "-a", "dev"]).ok();
    desk.commit(&worktree, "b").ok();
    assert_eq!(desk.message(&worktree), "b");
    desk.ait(&["review", "-a", "reviewer"]).ok();
    desk.commit(&worktree, "c").ok();
    assert_eq!(desk.message(&worktree), format!("c\n\nIssue: {id} T"));
    // Merges, squashes, rebased commits and branches without an issue get no trailer.
    desk.commit(&desk.project(), "d").ok();
    desk.git_in(&worktree, &["merge", "-q", "--no-edit", "main"]);
    assert!(!desk.message(&worktree).contains("Issue:"), "{}", desk.message(&worktree));
    desk.git_in(&worktree, &["checkout", "-q", "--detach"]);
    desk.commit(&worktree, "e").ok();
    assert_eq!(desk.message(&worktree), "e");
    for branch in ["issue-00000000", "x-issue-", "fix"] {
        desk.git_in(&worktree, &["checkout", "-q", "-b", branch]);
        desk.commit(&worktree, branch).ok();
        assert_eq!(desk.message(&worktree), branch);
    }
}

#[test]
fn agent_variable_selects_its_only_claimed_issue() {
    let desk = Desk::with_hooks();
    let commit = |agent: Option<&str>| {
        let arguments = ["commit", "-q", "--allow-empty", "-m", "m"];
        let mut command = desk.command("git", &desk.project(), &arguments);
        if let Some(agent) = agent {
            command.env("AIT_AGENT", agent);
        }
        end(&mut command).ok();
        desk.message(&desk.project())
    };
    let id = desk.add("T");
    desk.ait(&["next", "-a", "dev"]).ok();
    assert_eq!(commit(Some("dev")), format!("m\n\nIssue: {id} T"));
    assert_eq!(commit(Some("other")), "m");
    assert_eq!(commit(None), "m");
    // A setting of the project applies to all its worktrees, so it selects no issue.
    desk.write("ait.toml", "agent = \"dev\"\n");
    assert_eq!(commit(None), "m");
    // An issue with its own branch is worked on in that branch.
    desk.git(&["branch", &format!("issue-{id}")]);
    assert_eq!(commit(Some("dev")), "m");
    desk.git(&["branch", "-d", &format!("issue-{id}")]);
    desk.add("U");
    desk.ait(&["next", "-a", "dev"]).ok();
    assert_eq!(commit(Some("dev")), "m");
}

#[test]
fn existing_hook_runs_first_and_its_failure_stops_the_commit() {
    let desk = Desk::new();
    let hook = desk.hooks().join("prepare-commit-msg");
    let script = "#!/bin/sh\nprintf '%s|' \"$@\" > told\ncat >> told\necho 'Seen: yes' >> \"$1\"\n\
                  [ ! -e fail ] || exit 7\n";
    desk.write_hook(&hook, script);
    desk.ait(&["hooks", "install"]).ok();
    let (id, worktree) = desk.claimed("T");
    desk.commit(&worktree, "a").ok();
    let told = fs::read_to_string(worktree.join("told")).unwrap();
    assert!(told.ends_with("COMMIT_EDITMSG|message|"), "{told}");
    assert_eq!(desk.message(&worktree), format!("a\nSeen: yes\n\nIssue: {id} T"));
    fs::write(worktree.join("fail"), "").unwrap();
    assert_ne!(desk.commit(&worktree, "b").code, 0);
    assert!(desk.message(&worktree).starts_with("a\n"));
    // The previous hook gets stdin and all arguments.
    let script = format!("printf in | \"{}\" 'a b' \"\" \"c'd\"", hook.display());
    let run = desk.run("sh", &worktree, &["-c", &script]);
    assert_eq!(run.code, 7, "{}", run.log);
    assert_eq!(fs::read_to_string(worktree.join("told")).unwrap(), "a b||c'd|in");
    // git skips a hook that is not executable, and so does ait.
    fs::set_permissions(
        desk.hooks().join("prepare-commit-msg.before-ait-hooks"),
        std::os::unix::fs::PermissionsExt::from_mode(0o644),
    )
    .unwrap();
    desk.commit(&worktree, "c").ok();
}
