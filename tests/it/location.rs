//! Which file is the store, in every kind of repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use agent_issue_tracker::config::{Arguments, Config};
use clap::Parser;

use crate::support::files::stored_issues;
use crate::support::{Client, ait, directory};

/// Returns the store that is found from a directory, and the reason.
fn found_from(directory: &Path) -> (PathBuf, String) {
    let config = Config::new(&Arguments::parse_from(["ait"]), |_| None, directory).unwrap();
    (config.location.path, config.location.reason)
}

fn make(root: &Path, directories: &[&str], files: &[(&str, &str)]) {
    for directory in directories {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    for (file, text) in files {
        fs::write(root.join(file), text).unwrap();
    }
}

/// Returns a temporary directory with its canonical path, so that paths can be compared.
fn root() -> (tempfile::TempDir, PathBuf) {
    let directory = directory();
    let path = directory.path().canonicalize().unwrap();
    (directory, path)
}

#[test]
fn outside_a_repository_the_store_is_in_the_working_directory() {
    let (_directory, root) = root();
    // An empty `.git`, as sandboxes make it, is no repository.
    make(&root, &["a/b", "a/.git"], &[("a/issues.json", "{}")]);
    assert_eq!(found_from(&root.join("a/b")).0, root.join("a/b/issues.json"));
}

#[test]
fn repository_uses_the_nearest_store_or_one_at_its_root() {
    let (_directory, root) = root();
    let head = ("repo/.git/HEAD", "ref: refs/heads/main\n");
    make(&root, &["repo/.git", "repo/a/b/c"], &[("issues.json", "{}"), head]);
    let deep = root.join("repo/a/b/c");
    let (path, reason) = found_from(&deep);
    assert_eq!((path, reason.as_str()), (root.join("repo/issues.json"), "the repository's root"));
    fs::write(root.join("repo/a/issues.json"), "{}").unwrap();
    let (path, reason) = found_from(&deep);
    assert_eq!(path, root.join("repo/a/issues.json"));
    assert!(reason.contains("nearest"), "{reason}");
    assert_eq!(found_from(&root.join("repo")).0, root.join("repo/issues.json"));
}

#[test]
fn linked_worktree_uses_the_store_of_the_main_worktree() {
    let (_directory, root) = root();
    make(
        &root,
        &["repo/.git/worktrees/feature", "feature/src"],
        &[("repo/.git/worktrees/feature/commondir", "../..\n"), ("feature/issues.json", "{}")],
    );
    let git = format!("gitdir: {}\n", root.join("repo/.git/worktrees/feature").display());
    fs::write(root.join("feature/.git"), git).unwrap();
    for from in ["feature", "feature/src"] {
        let (path, reason) = found_from(&root.join(from));
        assert_eq!(path, root.join("repo/issues.json"), "{from}");
        assert!(reason.contains("linked worktree"), "{reason}");
    }
}

#[test]
fn worktrees_of_a_bare_repository_share_one_store() {
    let (_directory, root) = root();
    make(
        &root,
        &["repo.git/worktrees/a", "repo.git/worktrees/b", "repo.git/objects", "a", "b"],
        &[
            ("repo.git/HEAD", "ref: refs/heads/main"),
            ("repo.git/config", "[core]\n\tbare = true\n"),
            ("repo.git/worktrees/a/commondir", "../.."),
            ("repo.git/worktrees/b/commondir", "../.."),
            ("a/.git", "gitdir: ../repo.git/worktrees/a"),
            ("b/.git", "gitdir: ../repo.git/worktrees/b"),
        ],
    );
    for worktree in ["a", "b"] {
        assert_eq!(found_from(&root.join(worktree)).0, root.join("repo.git/issues.json"));
    }
    assert_eq!(found_from(&root.join("repo.git/worktrees")).0, root.join("repo.git/issues.json"));
    // A common layout: a hidden bare repository, and a `.git` file that points to it.
    fs::rename(root.join("repo.git"), root.join(".bare")).unwrap();
    fs::write(root.join(".git"), "gitdir: ./.bare").unwrap();
    fs::write(root.join("a/.git"), "gitdir: ../.bare/worktrees/a").unwrap();
    for from in ["a", ""] {
        assert_eq!(found_from(&root.join(from)).0, root.join("issues.json"), "{from:?}");
    }
}

#[test]
fn submodule_has_its_own_store() {
    let (_directory, root) = root();
    make(
        &root,
        &["repo/.git/modules/sub", "repo/sub/src"],
        &[("repo/sub/.git", "gitdir: ../.git/modules/sub\n"), ("repo/issues.json", "{}")],
    );
    assert_eq!(found_from(&root.join("repo/sub/src")).0, root.join("repo/sub/issues.json"));
}

#[test]
fn worktree_of_a_submodule_uses_the_store_of_the_submodule() {
    let (_directory, root) = root();
    make(
        &root,
        &["repo/.git/modules/sub/worktrees/w", "repo/sub", "w"],
        &[
            ("repo/sub/.git", "gitdir: ../.git/modules/sub\n"),
            (
                "repo/.git/modules/sub/config",
                "[core]\n\tbare = false\n\tworktree = ../../../sub\n[x]\n",
            ),
            ("repo/.git/modules/sub/worktrees/w/commondir", "../.."),
            ("w/.git", "gitdir: ../repo/.git/modules/sub/worktrees/w"),
        ],
    );
    assert_eq!(found_from(&root.join("w")).0, root.join("repo/sub/issues.json"));
}

#[test]
fn unknown_main_worktree_suggests_setting_issues_file() {
    let (_directory, root) = root();
    make(
        &root,
        &["elsewhere/git/worktrees/w", "w", "lost"],
        &[
            ("elsewhere/git/config", "[core]\n\tbare = false\n"),
            ("elsewhere/git/worktrees/w/commondir", "../.."),
            ("w/.git", "gitdir: ../elsewhere/git/worktrees/w"),
            ("lost/.git", "gitdir: ../moved/.git/worktrees/lost"),
        ],
    );
    for (from, store) in [("w", "elsewhere/git/issues.json"), ("lost", "lost/issues.json")] {
        let (path, reason) = found_from(&root.join(from));
        assert_eq!(path, root.join(store));
        assert!(reason.contains("set ISSUES_FILE"), "{reason}");
    }
}

#[test]
fn agents_in_real_worktrees_and_subfolders_share_one_queue() {
    let (_directory, root) = root();
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@localhost"]).args(arguments);
        let done = command.current_dir(&root).output();
        done.is_ok_and(|output| output.status.success())
    };
    if !git(&["init", "-q", "repo"]) {
        crate::support::skip("no git here");
        return;
    }
    assert!(git(&["-C", "repo", "commit", "-q", "--allow-empty", "-m", "start"]));
    assert!(git(&["-C", "repo", "worktree", "add", "-q", "../3f2a9c1e", "-b", "issue-3f2a9c1e"]));
    fs::create_dir_all(root.join("repo/src/deep")).unwrap();
    for folder in ["repo", "repo/src/deep", "3f2a9c1e"] {
        let mut client = Client::spawn(&mut ait(&root.join(folder)));
        client.initialize();
        client.add(folder, "bug");
        assert!(client.close().success());
    }
    assert_eq!(stored_issues(&root.join("repo")).len(), 3);
}
