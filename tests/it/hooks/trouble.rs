//! The hooks never block git.

use std::fs;
use std::time::{Duration, Instant};

use super::Desk;
use crate::support::files::names;
use crate::support::http::lock_turn;

#[test]
fn hooks_do_not_create_a_store() {
    let desk = Desk::with_hooks();
    let worktree = desk.worktree("3f2a9c1e");
    let run = desk.commit(&worktree, "a");
    assert_eq!((run.code, run.log.as_str()), (0, ""));
    assert_eq!(desk.message(&worktree), "a");
    desk.git(&["merge", "-q", "--no-ff", "--no-edit", "issue-3f2a9c1e"]);
    assert_eq!(names(&desk.project()), [".git", ".gitignore", "a"]);
    assert_eq!(names(&worktree), [".git", ".gitignore", "a"]);
}

#[test]
fn git_continues_when_ait_is_missing_or_fails() {
    let desk = Desk::with_hooks();
    let (_, worktree) = desk.claimed("T");
    fs::remove_file(desk.root.join("bin/ait")).unwrap();
    let run = desk.commit(&worktree, "a");
    assert_eq!((run.code, run.log.as_str()), (0, ""));
    // A program that fails or cannot be started does not stop git.
    for script in ["#!/bin/sh\nexit 3\n", "#!/no/such/interpreter\n"] {
        desk.write_hook(&desk.root.join("bin/ait"), script);
        let name = script.len().to_string();
        desk.commit(&worktree, &name).ok();
        assert_eq!(desk.message(&worktree), name);
    }
}

#[test]
fn unreadable_store_or_settings_print_one_line_on_stderr() {
    let desk = Desk::with_hooks();
    let (id, worktree) = desk.claimed("T");
    desk.ait(&["save"]).ok();
    desk.write("ait.toml", "prot = 1\n");
    let run = desk.commit(&worktree, "a");
    assert_eq!((run.code, run.log.lines().count()), (0, 1), "{}", run.log);
    assert!(run.log.contains("the commit names no issue: ") && run.log.contains("prot"));
    fs::remove_file(desk.project().join("ait.toml")).unwrap();
    desk.write("issues.json", "{\n  \"issues\": [\n<<<<<<<\n");
    fs::rename(desk.project().join(".ait"), desk.project().join("away")).unwrap();
    let run = desk.commit(&worktree, "b");
    assert_eq!((run.code, run.log.lines().count()), (0, 1), "{}", run.log);
    assert!(run.log.contains("issues.json") && run.log.contains("line 3"), "{}", run.log);
    assert_eq!(desk.message(&worktree), "b");
    let branch = format!("issue-{id}");
    let run = desk.run("git", &desk.project(), &["merge", "-q", "--no-edit", &branch]);
    assert_eq!(run.code, 0, "{}", run.log);
    assert!(run.log.contains("the merge is not noted: "), "{}", run.log);
    let text = fs::read_to_string(desk.project().join("issues.json")).unwrap();
    assert!(text.ends_with("<<<<<<<\n"));
}

#[test]
fn invalid_file_beside_a_log_prints_one_line_on_stderr() {
    let desk = Desk::with_hooks();
    let (id, worktree) = desk.claimed("T");
    desk.ait(&["save"]).ok();
    let text = "{\n  \"issues\": [\n<<<<<<<\n";
    desk.write("issues.json", text);
    let run = desk.commit(&worktree, "a");
    assert_eq!((run.code, run.log.lines().count()), (0, 1), "{}", run.log);
    assert!(run.log.contains("issues.json") && run.log.contains("line 3"), "{}", run.log);
    assert_eq!(desk.message(&worktree), format!("a\n\nIssue: {id} T"));
    let branch = format!("issue-{id}");
    let run = desk.run("git", &desk.project(), &["merge", "-q", "--no-edit", &branch]);
    assert_eq!(run.code, 0, "{}", run.log);
    assert_eq!(desk.comments(&id).len(), 1, "{}", run.log);
    assert_eq!(fs::read_to_string(desk.project().join("issues.json")).unwrap(), text);
}

#[test]
fn a_held_lock_delays_git_only_briefly() {
    let desk = Desk::with_hooks();
    let (id, worktree) = desk.claimed("T");
    let lock = lock_turn(&desk.project());
    desk.commit(&worktree, "a").ok();
    assert_eq!(desk.message(&worktree), format!("a\n\nIssue: {id} T"));
    let begun = Instant::now();
    let branch = format!("issue-{id}");
    let run = desk.run("git", &desk.project(), &["merge", "-q", "--no-edit", &branch]);
    // The limit is two seconds; a busy machine takes longer.
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!(run.code, 0, "{}", run.log);
    assert!(run.log.contains("the merge is not noted: "), "{}", run.log);
    lock.unlock().unwrap();
    assert!(desk.comments(&id).is_empty());
}

#[test]
fn a_pipe_as_settings_file_does_not_block_git() {
    let desk = Desk::with_hooks();
    let (_, worktree) = desk.claimed("T");
    desk.run("mkfifo", &desk.project(), &["ait.toml"]).ok();
    let begun = Instant::now();
    let run = desk.commit(&worktree, "a");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!((run.code, run.log.lines().count()), (0, 1), "{}", run.log);
    assert!(run.log.contains("ait.toml cannot be read (it is not a regular file)"), "{}", run.log);
    assert_eq!(desk.message(&worktree), "a");
}
