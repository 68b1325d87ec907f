//! Installation and removal of git hooks.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::{Desk, end, tree};
use crate::support::directory;

#[test]
fn install_keeps_existing_hooks_and_remove_restores_them() {
    let desk = Desk::new();
    desk.write_hook(&desk.hooks().join("prepare-commit-msg"), "#!/bin/sh\nexit 0 # \u{fc}\n");
    fs::write(desk.project().join(".git/tool"), b"\x7fELF\xff").unwrap();
    symlink("../tool", desk.hooks().join("post-merge")).unwrap();
    let before = tree(&desk.hooks());
    assert_eq!(desk.states(), (vec!["other".to_owned(), "other".to_owned()], 1));
    desk.ait(&["hooks", "install", "--dry-run"]).ok();
    assert_eq!(tree(&desk.hooks()), before);
    desk.ait(&["hooks", "install"]).ok();
    assert_eq!(desk.states(), (vec!["installed".to_owned(), "installed".to_owned()], 0));
    let installed = tree(&desk.hooks());
    assert_eq!(installed["post-merge.before-ait-hooks"], before["post-merge"]);
    assert_eq!(installed["prepare-commit-msg.before-ait-hooks"], before["prepare-commit-msg"]);
    assert!(desk.ait(&["hooks", "install"]).ok().contains("nothing to do"));
    desk.ait(&["hooks", "remove", "--dry-run"]).ok();
    assert_eq!(tree(&desk.hooks()), installed);
    assert!(desk.ait(&["hooks", "remove"]).ok().contains("removed: 2 hooks"));
    assert_eq!(tree(&desk.hooks()), before);
    assert!(desk.ait(&["hooks", "remove"]).ok().contains("nothing to do"));
}

/// Some programs have one script for all hooks, which looks at its name.
#[test]
fn hooks_that_read_their_own_name_keep_it() {
    let desk = Desk::new();
    let by_name = "#!/bin/sh\nbasename \"$0\" >>told\n";
    desk.write_hook(&desk.hooks().join("prepare-commit-msg"), by_name);
    // This one needs the file beside it.
    let beside = "#!/bin/sh\n. \"$(dirname \"$0\")/lib\"\n";
    desk.write_hook(&desk.hooks().join("post-merge"), beside);
    let before = tree(&desk.hooks());
    desk.ait(&["hooks", "install"]).ok();
    let kept = |name: &str| fs::read_to_string(desk.hooks().join(name)).unwrap();
    assert_eq!(kept("before-ait/prepare-commit-msg"), by_name);
    assert_eq!(kept("post-merge.before-ait-hooks"), beside);
    assert_eq!(desk.states(), (vec!["installed".to_owned(), "installed".to_owned()], 0));
    desk.commit(&desk.project(), "a").ok();
    let told = fs::read_to_string(desk.project().join("told")).unwrap();
    assert_eq!(told, "prepare-commit-msg\n");
    desk.ait(&["hooks", "remove"]).ok();
    assert_eq!(tree(&desk.hooks()), before);
}

#[test]
fn worktrees_share_hooks_and_remove_deletes_an_empty_directory() {
    let desk = Desk::new();
    fs::remove_dir_all(desk.hooks()).unwrap();
    let worktree = desk.worktree("3f2a9c1e");
    desk.run("ait", &worktree, &["hooks", "install"]).ok();
    assert_eq!(tree(&desk.hooks()).len(), 2);
    assert_eq!(desk.states().1, 0);
    fs::create_dir(desk.project().join("deep")).unwrap();
    desk.run("ait", &desk.project().join("deep"), &["hooks", "remove"]).ok();
    assert!(!desk.hooks().exists());
    // A bare repository has hooks too.
    desk.git(&["clone", "-q", "--bare", ".", "../bare.git"]);
    let bare = desk.root.join("bare.git");
    let before = tree(&bare.join("hooks"));
    desk.run("ait", &bare, &["hooks", "install"]).ok();
    assert!(bare.join("hooks/post-merge").exists());
    desk.run("ait", &bare, &["hooks", "remove"]).ok();
    assert_eq!(tree(&bare.join("hooks")), before);
}

#[test]
fn install_follows_a_local_hooks_path_and_refuses_a_shared_one() {
    let desk = Desk::new();
    desk.git(&["config", "core.hooksPath", "tools/hooks"]);
    fs::create_dir_all(desk.project().join("deep")).unwrap();
    let deep = desk.project().join("deep");
    let message = desk.run("ait", &deep, &["hooks", "install"]).ok();
    assert!(message.contains("belongs to the worktree"), "{message}");
    let hooks_path = desk.project().join("tools/hooks");
    assert_eq!(tree(&hooks_path).len(), 2);
    let status = desk.ait(&["hooks", "status"]).ok();
    assert!(status.contains("core.hooksPath in ") && status.contains("config"), "{status}");
    desk.ait(&["hooks", "remove"]).ok();
    assert!(!hooks_path.exists());
    // husky overwrites the scripts in its directory.
    desk.git(&["config", "core.hooksPath", ".husky/_"]);
    let message = desk.ait(&["hooks", "install"]).refusal();
    assert!(message.contains(".husky/prepare-commit-msg"), "{message}");
    assert!(message.contains("ait hooks run prepare-commit-msg \"$@\""), "{message}");
    let status = desk.ait(&["hooks", "status"]);
    assert!(status.out.contains("ait may not do that") && status.code == 1, "{}", status.out);
    let line = message.split('`').nth(1).unwrap();
    fs::create_dir_all(desk.project().join(".husky")).unwrap();
    for hook in ["post-merge", "prepare-commit-msg"] {
        let file = desk.project().join(".husky").join(hook);
        fs::write(file, line.replace("prepare-commit-msg", hook)).unwrap();
    }
    let status = desk.ait(&["hooks", "status"]).ok();
    assert!(!status.contains("Note:") && status.matches("installed").count() == 2, "{status}");
    // A global hooks path applies to all repositories.
    desk.git(&["config", "--unset", "core.hooksPath"]);
    let all = desk.root.join("home/hooks");
    fs::create_dir(&all).unwrap();
    desk.git(&["config", "--global", "core.hooksPath", "~/hooks"]);
    let message = desk.ait(&["hooks", "install"]).refusal();
    assert!(
        message.contains("all your repositories") && message.contains(".gitconfig"),
        "{message}"
    );
    assert!(tree(&all).is_empty());
    assert!(desk.ait(&["hooks", "status"]).out.contains("Note: the hooks of all"));
    // The error names a command that solves the problem.
    let own = "git config --local core.hooksPath \
               \"$(git rev-parse --path-format=absolute --git-common-dir)/hooks\"";
    assert!(message.contains(own), "{message}");
    desk.run("sh", &desk.project(), &["-c", own]).ok();
    desk.ait(&["hooks", "install"]).ok();
    assert!(tree(&all).is_empty() && desk.hooks().join("post-merge").exists());
}

#[test]
fn hooks_commands_fail_without_a_repository_or_git() {
    let (desk, no_repository) = (Desk::new(), directory());
    for action in ["install", "remove", "status"] {
        let message = desk.run("ait", no_repository.path(), &["hooks", action]).refusal();
        assert!(
            message.contains("git init") && message.contains("not a git repository"),
            "{message}"
        );
    }
    let mut command = desk.command("ait", &desk.project(), &["hooks", "install"]);
    let message = end(command.env("PATH", desk.root.join("bin"))).refusal();
    assert!(message.contains("git cannot be started") && message.contains("PATH"), "{message}");
    let named = desk.ait(&["--file", "x.json", "hooks", "install"]);
    assert!(named.code == 2 && named.log.contains("ISSUES_FILE"), "{}", named.log);
    fs::create_dir(desk.hooks().join("post-merge")).unwrap();
    let before = tree(&desk.hooks());
    let message = desk.ait(&["hooks", "install"]).refusal();
    assert!(message.contains("post-merge is no file") && message.contains("nothing was written"));
    assert_eq!(tree(&desk.hooks()), before);
}

#[test]
fn outdated_hooks_are_renewed_and_edited_ones_kept() {
    let desk = Desk::with_hooks();
    let hook = desk.hooks().join("post-merge");
    let installed = fs::read_to_string(&hook).unwrap();
    let state = || desk.states().0.remove(1);
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!((state().as_str(), desk.states().1), ("outdated", 1));
    desk.ait(&["hooks", "install"]).ok();
    for other in ["ait=/elsewhere/ait", "ait='/else where/ait'"] {
        fs::write(&hook, installed.replace("ait=ait", other)).unwrap();
        assert_eq!(state(), "outdated", "{other}");
        desk.ait(&["hooks", "install"]).ok();
        assert_eq!(
            (state().as_str(), fs::read_to_string(&hook).unwrap()),
            ("installed", installed.clone())
        );
    }
    fs::write(&hook, format!("{installed}echo mine\n")).unwrap();
    assert_eq!(state(), "edited");
    for action in ["install", "remove"] {
        let run = desk.ait(&["hooks", action]);
        assert_eq!(run.code, 1, "{}", run.out);
        assert!(run.out.contains("--force"), "{}", run.out);
        assert!(fs::read_to_string(&hook).unwrap().ends_with("mine\n"));
        desk.ait(&["hooks", "install"]);
    }
    desk.ait(&["hooks", "install", "--force"]).ok();
    assert_eq!(desk.states().1, 0);
}

#[test]
fn a_hook_that_overwrote_ours_is_never_lost() {
    let desk = Desk::new();
    let hook = desk.hooks().join("post-merge");
    desk.write_hook(&hook, "#!/bin/sh\n: first\n");
    desk.ait(&["hooks", "install"]).ok();
    desk.write_hook(&hook, "#!/bin/sh\n: second\n");
    assert_eq!(desk.states().0[1], "overwritten");
    let before = tree(&desk.hooks());
    let message = desk.ait(&["hooks", "install"]).refusal();
    assert!(
        message.contains("in the place of ours") && message.contains("before-ait-hooks"),
        "{message}"
    );
    assert_eq!(tree(&desk.hooks()), before);
    let removed = desk.ait(&["hooks", "remove"]);
    assert!(removed.code == 1 && removed.out.contains("so does"), "{}", removed.out);
    let left = tree(&desk.hooks());
    assert_eq!(left["post-merge"], before["post-merge"]);
    assert_eq!(left["post-merge.before-ait-hooks"], before["post-merge.before-ait-hooks"]);
    // The error names this way out.
    fs::remove_file(desk.hooks().join("post-merge.before-ait-hooks")).unwrap();
    desk.ait(&["hooks", "install"]).ok();
    desk.ait(&["hooks", "remove"]).ok();
    assert!(fs::read_to_string(&hook).unwrap().contains("second"));
}

#[test]
fn init_remove_mentions_the_hooks_and_the_commit() {
    let desk = Desk::with_hooks();
    desk.ait(&["init", "--yes", "--client", "codex"]).ok();
    let message = desk.ait(&["init", "--yes", "--remove"]).ok();
    assert!(message.contains("Commit the removal of the files that git tracks"), "{message}");
    assert!(
        message.ends_with("The git hooks stay; to remove them, too: ait hooks remove\n"),
        "{message}"
    );
    desk.ait(&["hooks", "remove"]).ok();
    assert!(desk.ait(&["init", "--remove"]).ok().ends_with("nothing to do\n"));
}

/// lefthook puts its hooks in the place of ours whenever its configuration changes, and never calls what it replaced.
#[test]
fn install_mends_what_lefthook_replaced() {
    let desk = Desk::new();
    let hook = desk.hooks().join("prepare-commit-msg");
    let of_lefthook = "#!/bin/sh\ncall_lefthook run \"prepare-commit-msg\" \"$@\"\n";
    desk.write_hook(&hook, of_lefthook);
    let message = desk.ait(&["hooks", "install"]).ok();
    assert!(message.contains("add to lefthook.yml: prepare-commit-msg: { jobs:"), "{message}");
    fs::rename(&hook, desk.hooks().join("prepare-commit-msg.old")).unwrap();
    desk.write_hook(&hook, of_lefthook);
    assert_eq!(desk.states().0[0], "resynced");
    desk.run("ait", &desk.project(), &["add", "Login fails", "-a", "a"]).ok();
    let examined = desk.ait(&["doctor"]).out;
    assert!(
        examined.contains("lefthook has put its own git hooks in the place of those of ait"),
        "{examined}"
    );
    desk.ait(&["hooks", "install"]).ok();
    assert_eq!(desk.states(), (vec!["installed".to_owned(), "installed".to_owned()], 0));
    let installed = tree(&desk.hooks());
    assert!(!installed.contains_key("prepare-commit-msg.old"));
    assert!(installed.contains_key("prepare-commit-msg.before-ait-hooks"));
    desk.ait(&["hooks", "remove"]).ok();
    assert_eq!(fs::read_to_string(&hook).unwrap(), of_lefthook);
}

/// pre-commit calls the hook that it keeps as legacy, also after it is installed again.
#[test]
fn install_goes_beside_the_hook_of_pre_commit() {
    let desk = Desk::new();
    let hook = desk.hooks().join("prepare-commit-msg");
    let of_pre_commit = "#!/bin/sh\n# File generated by pre-commit: https://pre-commit.com\n";
    desk.write_hook(&hook, of_pre_commit);
    let before = tree(&desk.hooks());
    desk.ait(&["hooks", "install"]).ok();
    assert_eq!(desk.states(), (vec!["installed".to_owned(), "installed".to_owned()], 0));
    let installed = tree(&desk.hooks());
    assert_eq!(installed["prepare-commit-msg"], before["prepare-commit-msg"]);
    assert!(installed.contains_key("prepare-commit-msg.legacy"));
    desk.ait(&["hooks", "remove"]).ok();
    assert_eq!(tree(&desk.hooks()), before);
}
