//! `ait worktree` and `ait merge` in temporary repositories, with the real git.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;

use crate::hooks::{Desk, end};
use crate::support::files::names;
use crate::support::runs::Run;
use crate::support::until;

impl Desk {
    /// Makes or continues the worktree of an issue. Returns its path.
    #[track_caller]
    pub fn opened(&self, id: &str) -> PathBuf {
        let out = self.ait(&["worktree", id]).ok();
        PathBuf::from(out.lines().next().unwrap())
    }

    /// Makes an issue with a worktree and a commit of a file in it.
    pub fn with_work(&self, file: &str) -> (String, PathBuf) {
        let id = self.add(file);
        let path = self.opened(&id);
        self.commit(&path, file).ok();
        (id, path)
    }

    fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"]).trim_end().to_owned()
    }

    fn branches(&self) -> Vec<String> {
        let listed = self.git(&["branch", "--format=%(refname:short)"]);
        listed.lines().map(str::to_owned).collect()
    }

    fn has(&self, file: &str) -> bool {
        self.project().join(file).exists()
    }

    /// Merges with a check.
    fn merge_with(&self, check: &str, id: &str) -> Run {
        end(self.command("ait", &self.project(), &["merge", id]).env("AIT_CHECK", check))
    }

    /// Commits `issues.json`, which the tracker then changes.
    fn track_store(&self) {
        self.add("tracked");
        self.write(".gitignore", "/.ait/\n");
        self.ait(&["save"]).ok();
        self.git(&["add", ".gitignore", "issues.json"]);
        self.git(&["commit", "-qm", "track"]);
    }
}

fn json(run: Run, code: i32) -> Value {
    assert_eq!(run.code, code, "{}{}", run.out, run.log);
    serde_json::from_str(&run.out).unwrap()
}

#[test]
fn a_worktree_is_made_and_continued() {
    let desk = Desk::new();
    let id = desk.add("one");
    let made = json(desk.ait(&["worktree", &id, "--json"]), 0);
    let path = desk.project().join(".worktrees").join(&id);
    assert_eq!(made["path"], path.to_str().unwrap());
    assert_eq!((&made["branch"], &made["base"]), (&format!("issue-{id}").into(), &"main".into()));
    let counts =
        |made: &Value| ["commits", "behind", "uncommitted"].map(|key| made[key].as_u64().unwrap());
    assert_eq!((&made["created"], counts(&made)), (&true.into(), [0, 0, 0]));
    assert!(made["next"].as_str().unwrap().contains("complete_issue"), "{made}");
    // No status shows the worktree, although the project does not ignore it.
    assert_eq!(desk.git(&["status", "--porcelain"]), "");

    desk.commit(&path, "work").ok();
    desk.commit(&desk.project(), "other").ok();
    fs::write(path.join("draft"), "").unwrap();
    let run = desk.ait(&["worktree", &id[..4]]).ok();
    let mut lines = run.lines();
    assert_eq!(lines.next(), path.to_str());
    let next = lines.next().unwrap();
    let merge = format!("`git -C {} merge main`", path.display());
    for part in ["1 commit that main lacks", "main has 1 that it lacks", &merge, "work: draft."] {
        assert!(next.contains(part), "{part}: {next}");
    }
    // A worktree that was removed, even without git, is made again with the work on its branch.
    fs::remove_dir_all(&path).unwrap();
    let again = json(desk.ait(&["worktree", &id, "--json"]), 0);
    assert_eq!((&again["created"], counts(&again)), (&false.into(), [1, 1, 0]));
    assert!(path.join("work").exists());
}

#[test]
fn agents_make_the_first_worktrees_at_the_same_time() {
    for _ in 0..4 {
        let desk = Desk::new();
        let ids = ["one", "two", "three", "four"].map(|title| desk.add(title));
        let begin = |id: &String| {
            let mut command = desk.command("ait", &desk.project(), &["worktree", id]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        for process in ids.each_ref().map(begin) {
            let output = process.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

#[test]
fn inside_a_worktree_the_same_store_and_repository_are_used() {
    let desk = Desk::new();
    let (one, two) = (desk.add("one"), desk.add("two"));
    let path = desk.opened(&one);
    assert!(desk.run("ait", &path, &["list"]).ok().contains("two"));
    let other = desk.run("ait", &path, &["worktree", &two]).ok();
    let expected = desk.project().join(".worktrees").join(&two);
    assert_eq!(other.lines().next(), expected.to_str());
    assert_eq!(names(&path), [".git", ".gitignore"]);
    // A hook of git in another repository does not lead ait there.
    let mut called = desk.command("ait", &path, &["worktree", &one]);
    called.env("GIT_DIR", desk.root.join("nowhere")).env("GIT_INDEX_FILE", "nowhere");
    assert_eq!(end(&mut called).ok().lines().next(), path.to_str());
}

/// A worktree elsewhere, such as `../project-3f2a9c1e`, is continued where it is.
#[test]
fn a_branch_that_is_checked_out_elsewhere_is_continued_there() {
    let desk = Desk::new();
    let (id, path) = desk.claimed("one");
    assert_eq!(desk.opened(&id), path);
    assert!(!desk.has(".worktrees"));
}

#[test]
fn what_is_in_the_place_of_a_worktree_is_kept() {
    let desk = Desk::new();
    let (one, two) = (desk.add("one"), desk.add("two"));
    let path = desk.opened(&one);
    desk.git_in(&path, &["checkout", "-qb", &format!("issue-{two}")]);
    desk.git(&["branch", "-qD", &format!("issue-{one}")]);
    fs::write(path.join("draft"), "").unwrap();
    let refused = desk.ait(&["worktree", &one]).refusal();
    assert!(refused.contains(&format!("issue-{two}")) && refused.contains("draft"), "{refused}");
    // Without uncommitted work, the branch of the issue is checked out there.
    fs::remove_file(path.join("draft")).unwrap();
    assert_eq!(desk.opened(&one), path);
    let branch = desk.git_in(&path, &["branch", "--show-current"]);
    assert_eq!(branch.trim_end(), format!("issue-{one}"));
    desk.git_in(&path, &["checkout", "-q", "--detach"]);
    let refused = desk.ait(&["worktree", &one]).refusal();
    assert!(refused.contains("on no branch"), "{refused}");

    let foreign = desk.project().join(".worktrees").join(&two);
    fs::create_dir(&foreign).unwrap();
    let refused = desk.ait(&["worktree", &two]).refusal();
    assert!(refused.contains("move it away"), "{refused}");
    fs::remove_dir_all(desk.project().join(".worktrees")).unwrap();
    symlink(desk.root.join("home"), desk.project().join(".worktrees")).unwrap();
    let refused = desk.ait(&["worktree", &two]).refusal();
    assert!(refused.contains("symbolic link"), "{refused}");
    assert_eq!(names(&desk.root.join("home")), [".gitconfig"]);
}

#[test]
fn without_a_branch_to_begin_at_the_error_says_what_to_do() {
    let desk = Desk::new();
    let id = desk.add("one");
    for command in ["worktree", "merge"] {
        let refused = |part: &str| {
            let refused = desk.ait(&[command, &id]).refusal();
            assert!(refused.contains(part), "{part}: {refused}");
        };
        desk.git(&["checkout", "-q", "--detach"]);
        refused("is on no branch: check one out");
        desk.git(&["checkout", "-q", "-b", &format!("issue-{id}"), "main"]);
        refused("the branch of an issue");
        desk.git(&["checkout", "-q", "--orphan", "empty"]);
        refused("empty has no commit yet");
        desk.git(&["checkout", "-q", "main"]);
        desk.git(&["branch", "-qD", &format!("issue-{id}")]);
        let outside = desk.root.join("home");
        let store = desk.project().join("issues.json");
        let arguments = ["--file", store.to_str().unwrap(), command, &id];
        let refused = desk.run("ait", &outside, &arguments).refusal();
        assert!(
            refused.contains("no repository here") && refused.contains("git init"),
            "{refused}"
        );
        let bare = desk.root.join("bare");
        desk.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
        let refused = desk.run("ait", &bare, &arguments).refusal();
        assert!(refused.contains("bare repository"), "{refused}");
        fs::remove_dir_all(bare).unwrap();
    }
    desk.ait(&["close", &id, "-m", "done", "-a", "a"]).ok();
    assert!(desk.ait(&["worktree", &id]).refusal().contains("is closed"));
    assert!(desk.ait(&["worktree", "00000000"]).refusal().contains("00000000"));
    assert_eq!(desk.branches(), ["main"]);
}

#[test]
fn a_merge_cleans_up_and_can_be_repeated() {
    let desk = Desk::with_hooks();
    let (id, path) = desk.with_work("one");
    desk.commit(&desk.project(), "other").ok();
    desk.write("untracked", "");
    // The check sees the merged files; the main branch has no commit yet.
    let check = "test -f one && test -f other && git log --oneline | wc -l > count; echo checked";
    let mut merge = desk.command("ait", &path, &["merge", &id, "--json"]);
    let run = end(merge.env("AIT_CHECK", check));
    assert!(run.log.contains("checked"), "{}", run.log);
    let merged = json(run, 0);
    let head = desk.head();
    assert_eq!((&merged["merged"], &merged["commit"]), (&true.into(), &head.as_str().into()));
    let next = merged["next"].as_str().unwrap();
    let cd = format!("`cd {}`", desk.project().display());
    assert!(
        next.contains("close_issue") && next.contains(&head[..10]) && next.contains(&cd),
        "{next}"
    );
    assert_eq!(fs::read_to_string(desk.project().join("count")).unwrap().trim(), "2");
    assert_eq!(desk.git(&["rev-list", "--count", "HEAD"]).trim(), "4");
    assert_eq!(
        desk.git(&["log", "-1", "--format=%s"]).trim(),
        format!("Merge branch 'issue-{id}'")
    );
    assert!(!path.exists() && desk.has("one") && desk.has("untracked"));
    assert_eq!(desk.branches(), ["main"]);
    // The hook of the tracker notes the merge that is kept, and only that.
    let note = format!("Branch issue-{id} merged into main as {}.", &head[..7]);
    assert_eq!(desk.comments(&id), [note]);
    let shown = desk.ait(&["show", &id, "--json"]).ok();
    assert!(shown.contains("\"status\":\"created\""), "{shown}");
    let again = json(desk.ait(&["merge", &id, "--json"]), 0);
    assert_eq!((&again["merged"], &again["commit"]), (&true.into(), &head.into()));
}

/// A merge that was interrupted before it cleaned up, or that a person made.
#[test]
fn a_merged_branch_is_cleaned_up() {
    let desk = Desk::new();
    let (id, path) = desk.with_work("one");
    desk.git(&["merge", "-q", "--no-ff", "--no-edit", &format!("issue-{id}")]);
    let out = desk.ait(&["merge", &id]).ok();
    assert!(out.contains(&format!("merged: {}", desk.head())), "{out}");
    assert!(!path.exists());
    assert_eq!(desk.branches(), ["main"]);
}

#[test]
fn what_git_does_not_remove_is_named() {
    let desk = Desk::new();
    let (id, path) = desk.with_work("one");
    desk.git(&["worktree", "lock", path.to_str().unwrap()]);
    let merged = json(desk.ait(&["merge", &id, "--json"]), 0);
    let kept = merged["kept"].to_string();
    assert!(kept.contains(&format!("issue-{id} are kept")) && kept.contains("lock"), "{kept}");
    assert!(path.exists() && desk.has("one"));
}

#[test]
fn a_branch_without_finished_work_is_not_merged() {
    let desk = Desk::new();
    let id = desk.add("one");
    let refused = |files: &str, part: &str| {
        let head = desk.head();
        let refused = json(desk.ait(&["merge", &id, "--json"]), 1);
        assert!(refused["error"].as_str().unwrap().contains(part), "{part}: {refused}");
        let found = refused["files"].as_array().cloned().unwrap_or_default();
        let found: Vec<_> = found.iter().map(|file| file.as_str().unwrap()).collect();
        assert_eq!((found.join(" "), &refused["merged"]), (files.to_owned(), &false.into()));
        assert_eq!(desk.head(), head);
        let said = desk.ait(&["merge", &id]).refusal();
        assert!(said.contains(part), "{said}");
    };
    refused("", "there is no branch");
    let path = desk.opened(&id);
    refused("", "no commits that main lacks");
    desk.commit(&path, "work").ok();
    fs::write(path.join("draft"), "").unwrap();
    fs::write(path.join("work"), "more").unwrap();
    refused("work draft", "uncommitted work in work, draft");
    fs::remove_file(path.join("draft")).unwrap();
    desk.git_in(&path, &["checkout", "-q", "."]);
    desk.git_in(&path, &["checkout", "-q", "--detach"]);
    refused("", "is not on issue-");
    desk.git_in(&path, &["checkout", "-q", &format!("issue-{id}")]);
    // The main worktree has to be clean.
    desk.write(".gitignore", "issues.json*\n.issues.json*\n#\n");
    refused(".gitignore", "uncommitted changes in .gitignore");
    desk.git(&["checkout", "-q", "."]);
    desk.git(&["checkout", "-q", "-b", "other"]);
    desk.commit(&desk.project(), "theirs").ok();
    desk.git(&["checkout", "-q", "main"]);
    desk.git(&["merge", "-q", "--no-ff", "--no-commit", "other"]);
    refused("", "a merge is in progress");
    assert!(desk.has("theirs"));
    desk.git(&["merge", "--abort"]);
    // git does not commit without an author.
    fs::write(desk.root.join("home/.gitconfig"), "[user]\nuseConfigOnly = true\n").unwrap();
    refused("", "user.email");
}

#[test]
fn a_conflict_is_undone_and_names_its_files() {
    let desk = Desk::new();
    let (id, path) = desk.with_work("same");
    fs::write(desk.project().join("same"), "other").unwrap();
    desk.git(&["add", "same"]);
    desk.git(&["commit", "-qm", "same"]);
    let head = desk.head();
    for check in ["", "touch checked"] {
        let run = desk.merge_with(check, &id);
        assert!(run.log.contains("conflicts with main in same; the merge is undone"), "{run:?}");
        assert_eq!((run.code, desk.head()), (1, head.clone()));
        assert_eq!(desk.git(&["status", "--porcelain"]), "");
    }
    assert!(path.exists() && !desk.has("checked"));
}

/// The tracker changes a tracked `issues.json` while the check runs.
#[test]
fn a_failed_check_leaves_everything_as_it_was() {
    let desk = Desk::with_hooks();
    let (id, path) = desk.with_work("one");
    desk.track_store();
    desk.ait(&["comment", &id, "-m", "before", "-a", "a"]).ok();
    let (head, commits) = (desk.head(), desk.git(&["rev-list", "--all", "--count"]));
    let check =
        format!("ait comment {id} -m during -a a; ait save; seq 5000; echo it fails; exit 3");
    let mut merge = desk.command("ait", &desk.project(), &["merge", &id, "--json"]);
    let run = end(merge.env("AIT_CHECK", check));
    assert!(run.log.contains("it fails") && run.log.contains("\n1\n2\n"));
    let failed = json(run, 1);
    let error = failed["error"].as_str().unwrap();
    assert!(error.contains("exit status: 3") && error.contains("the merge is undone"), "{error}");
    let output = failed["output"].as_str().unwrap();
    assert!(output.ends_with("\n5000\nit fails") && output.len() < 5_000, "{}", output.len());
    assert_eq!((desk.head(), desk.git(&["rev-list", "--all", "--count"])), (head, commits));
    assert_eq!(desk.git(&["status", "--porcelain"]), " M issues.json\n");
    assert!(path.exists() && !desk.has("one"));
    assert_eq!(desk.comments(&id), ["before", "during"]);
    let stored = fs::read_to_string(desk.project().join("issues.json")).unwrap();
    assert!(stored.contains("during"), "{stored}");
    // The changed issues.json does not stand in the way of a merge that passes.
    assert_eq!(desk.merge_with("test -f one", &id).code, 0);
    assert_eq!(desk.git(&["status", "--porcelain"]), " M issues.json\n");
}

#[test]
fn a_branch_with_files_of_the_tracker_is_not_merged() {
    let desk = Desk::new();
    desk.track_store();
    let (id, path) = desk.with_work("one");
    desk.commit(&path, "issues.json").ok();
    let refused = json(desk.ait(&["merge", &id, "--json"]), 1);
    assert_eq!(refused["files"], serde_json::json!(["issues.json"]));
    let error = refused["error"].as_str().unwrap();
    let fork = error.split("`git checkout ").nth(1).unwrap().split(' ').next().unwrap();
    desk.git_in(&path, &["checkout", "-q", fork, "--", "issues.json"]);
    desk.git_in(&path, &["commit", "-qm", "back"]);
    desk.ait(&["merge", &id]).ok();
}

#[test]
fn two_merges_at_once_are_refused() {
    let desk = Desk::new();
    let ((one, _), (two, path)) = (desk.with_work("one"), desk.with_work("two"));
    let (begun, goes_on) = (desk.root.join("begun"), desk.root.join("goes-on"));
    let check = format!(
        "touch {}; for i in $(seq 600); do test -f {} && exit 0; sleep 0.1; done; exit 1",
        begun.display(),
        goes_on.display()
    );
    let mut first = desk.command("ait", &desk.project(), &["merge", &one]);
    let mut first = first.env("AIT_CHECK", check).stdout(Stdio::null()).spawn().unwrap();
    until("the check runs", || begun.exists());
    let refused = json(desk.run("ait", &path, &["merge", &two, "--json"]), 1);
    assert_eq!(refused["code"], "BUSY");
    fs::write(&goes_on, "").unwrap();
    assert!(first.wait().unwrap().success());
    desk.ait(&["merge", &two]).ok();
    assert!(desk.has("one") && desk.has("two"));
}

/// After SIGINT or SIGTERM the merge is undone at once; after SIGKILL, by the next merge.
#[test]
fn a_merge_that_is_ended_during_its_check_is_undone() {
    let desk = Desk::new();
    let (id, _) = desk.with_work("one");
    let (head, begun) = (desk.head(), desk.root.join("begun"));
    for signal in ["INT", "TERM", "KILL"] {
        let check = format!("echo $$ > {0}.part; mv {0}.part {0}; exec sleep 600", begun.display());
        let mut merge = desk.command("ait", &desk.project(), &["merge", &id]);
        let mut merge = merge.env("AIT_CHECK", check).stdout(Stdio::null()).spawn().unwrap();
        until("the check runs", || begun.exists());
        assert!(desk.has("one"));
        let kill = |signal: &str, id: &str| desk.run("kill", &desk.root, &["-s", signal, id]);
        kill(signal, &merge.id().to_string()).ok();
        assert!(!merge.wait().unwrap().success());
        let check = fs::read_to_string(&begun).unwrap();
        fs::remove_file(&begun).unwrap();
        if signal == "KILL" {
            kill("KILL", check.trim()).ok();
            assert!(desk.has("one"));
        } else {
            let stat = PathBuf::from(format!("/proc/{}/stat", check.trim()));
            let is_gone = || fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
            until("the check is gone", is_gone);
            assert!(!desk.has("one"));
            assert_eq!(desk.git(&["status", "--porcelain"]), "");
        }
        assert_eq!(desk.head(), head);
    }
    let failed = desk.merge_with("exit 1", &id);
    assert!(failed.log.contains("was killed is undone") && failed.code == 1, "{failed:?}");
    assert_eq!((desk.git(&["status", "--porcelain"]), desk.head()), (String::new(), head));
    assert!(!desk.has("one"));
    desk.ait(&["merge", &id]).ok();
    assert!(desk.has("one"));
}

/// A check that changes files of the branch, such as a formatter, leaves a merge that git cannot undo.
#[test]
fn a_merge_that_cannot_be_undone_is_reported() {
    let desk = Desk::new();
    let (id, _) = desk.with_work("one");
    let head = desk.head();
    let run = desk.merge_with("echo x >> one; exit 1", &id);
    assert!(run.log.contains("git cannot undo the merge") && run.log.contains("one"), "{run:?}");
    assert_eq!((run.code, desk.head()), (1, head.clone()));
    desk.git(&["restore", "one"]);
    desk.git(&["merge", "--abort"]);
    let run = desk.merge_with("echo x > new; git add new", &id);
    assert!(run.log.contains("was changed during the check"), "{run:?}");
    assert_eq!((desk.head(), desk.has("new")), (head, true));
}

#[test]
fn a_whole_without_a_branch_is_closed_when_its_parts_have_ended() {
    let desk = Desk::new();
    let (whole, part) = (desk.add("whole"), desk.add("part"));
    desk.ait(&["edit", &part, "--parent", &whole, "-a", "a"]).ok();
    let refused = desk.ait(&["merge", &whole]).refusal();
    assert!(refused.contains(&format!("open parts: {part}")), "{refused}");
    desk.ait(&["close", &part, "-m", "merged", "-a", "a"]).ok();
    let report = json(desk.ait(&["merge", &whole, "--json"]), 0);
    assert_eq!(report["merged"], false);
    assert!(report["next"].as_str().unwrap().contains("Close it"), "{report}");
}
