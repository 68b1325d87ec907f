//! Finds a queue that git tracks and that is not the store: a sparse checkout leaves it out, or a worktree has a copy
//! of its own.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::report::quoted;
use ait_setup::is_work_tree;
use ait_store::files::fs::directory_of;
use ait_store::sqlite::inspect::paths_of;

/// Returns why a new store must not begin at a path: git has the issues of the team, and they would look as if there
/// were none. Returns `None` if the store exists already, or git tracks no issues.
pub fn hidden_queue(path: &Path, is_named: bool, working_directory: &Path) -> Option<String> {
    let paths = paths_of(path).ok()?;
    if paths.issues.exists() || paths.database().is_file() {
        return None;
    }
    let file = &paths.issues;
    let directory = directory_of(file);
    let name = file.file_name()?.to_str()?;
    let shown = file.display();
    if let Some(why) = left_out(file) {
        return Some(why);
    }
    let has_index = git(directory, &["rev-parse", "--git-path", "index"])
        .is_some_and(|index| directory.join(index).exists());
    let is_committed = || {
        // A bare repository has no index and no working tree.
        let is_inside = git(directory, &["rev-parse", "--is-inside-work-tree"]);
        let listed = git(directory, &["ls-tree", "HEAD", "--", name]);
        is_inside.as_deref() == Some("true") && listed.is_some_and(|listed| !listed.is_empty())
    };
    if !has_index && is_committed() {
        let fix = "nothing is checked out yet: `git checkout`";
        return Some(format!("git tracks {shown}, which is not in the working tree; {fix}"));
    }
    let copy = copy_in_worktree(file, working_directory).filter(|_| !is_named)?;
    if !copy.exists() {
        return left_out(&copy);
    }
    let copy = quoted(&worktree_copy(file, working_directory)?);
    let file = quoted(file);
    Some(format!(
        "this worktree has {copy}, which is not the queue of its repository: that is {file}, which does not exist yet; \
         begin it with `ait --file {file} import {copy}`, or set ISSUES_FILE={copy} to use the copy"
    ))
}

/// Says that git tracks a file which is not in the working tree, and how to get it back.
fn left_out(file: &Path) -> Option<String> {
    let directory = directory_of(file);
    let name = file.file_name()?.to_str()?;
    let listed = git(directory, &["ls-files", "-t", "--", name]).filter(|out| !out.is_empty())?;
    let fix = if listed.starts_with("S ") {
        let path = git(directory, &["ls-files", "--full-name", "--", name])?;
        format!("a sparse checkout leaves it out: `git sparse-checkout add /{path}`")
    } else {
        format!("it was removed: `git checkout -- {}`", quoted(file))
    };
    Some(format!("git tracks {}, which is not in the working tree; {fix}", file.display()))
}

fn copy_in_worktree(store: &Path, working_directory: &Path) -> Option<PathBuf> {
    let root = working_directory.ancestors().find(|root| is_work_tree(root))?;
    Some(root.join(store.file_name()?))
}

/// Returns the queue in the worktree around a directory, if the store is another one.
pub fn worktree_copy(store: &Path, working_directory: &Path) -> Option<PathBuf> {
    let copy = copy_in_worktree(store, working_directory)?;
    let real = |path: &Path| paths_of(path).ok().map(|paths| paths.issues);
    (copy.is_file() && real(&copy) != real(store)).then_some(copy)
}

/// Runs git and returns its output without the last line end; `None` if it fails.
fn git(directory: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = ait_system::git::command(directory);
    let output = command.args(arguments).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    output.status.success().then_some(text)
}
