//! Checks that git ignores the machine-local files, such as the log and the worktrees of agents, and that the
//! repository has a commit, and that git merges a tracked `issues.json` by issue.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::runtime::Handle;

use super::report::quoted;
use super::{Check, CheckContext, Conflict, Finding, Repair, Verdict};
use ait_hooks::{ASK_LIMIT, HookState, HookStatus, HooksDir};
use ait_setup::{PROGRAM, WORKTREES, edit::gitignore, merge_driver, project_files};
use ait_store::files::fs::directory_of;
use ait_store::files::paths::{DIRECTORY, StorePaths};
use ait_store::sqlite::inspect::{has_database, paths_of};
use ait_system::git::Git;
use ait_tracker::hints;

pub(super) fn examine(context: &CheckContext) -> Vec<Finding> {
    let mut findings = ignored(context);
    let is_fine = findings.iter().all(|finding| finding.verdict == Verdict::Ok);
    let others =
        || tracked_store(context).or_else(|| lost_hooks(context)).or_else(|| ignored_team(context));
    if is_fine && let Some(finding) = others() {
        return vec![finding];
    }
    if is_fine && ait_setup::lacks_commit(directory_of(&context.path)) {
        let reason =
            "the repository has no commit yet: agents work in git worktrees, which need one";
        let fix = "commit your files: `git add .`, and then `git commit -m 'Begin'`";
        findings = vec![Finding::warning(Check::Git, reason).fix(fix)];
    }
    findings
}

/// Reports roles, prompts and templates of the team that git ignores, so that no commit has them.
fn ignored_team(context: &CheckContext) -> Option<Finding> {
    let directory = directory_of(&context.path);
    let tracked = project_files::tracked(directory);
    let paths: Vec<_> = tracked.iter().map(|name| format!("{DIRECTORY}/{name}")).collect();
    let existing: Vec<_> = paths.into_iter().filter(|path| directory.join(path).exists()).collect();
    if existing.is_empty() {
        return None;
    }
    let ignored = git(directory, &["check-ignore", "--no-index", "--"], &existing)?;
    let lines = gitignore::data_directory("", &tracked).join("`, `");
    let reason = "git ignores roles, prompts or templates that a team commits";
    let fix = format!(
        "`ait init` brings its lines in .gitignore up to date; in lines of your own, put `{lines}` in the place of \
         `/.ait/`"
    );
    (!ignored.is_empty()).then(|| Finding::warning(Check::Git, reason).about(ignored).fix(fix))
}

fn ignored(context: &CheckContext) -> Vec<Finding> {
    let check = Check::Git;
    let Ok(paths) = paths_of(&context.path) else {
        return vec![Finding::skipped(check, "the directory of the store cannot be found")];
    };
    if super::files::repository(directory_of(&paths.issues)).is_none() {
        return vec![Finding::skipped(check, "the store is not in a git repository")];
    }
    let directory = directory_of(&paths.issues);
    let names = names(&paths);
    if names.is_empty() {
        return vec![Finding::ok(check, "there are no machine-local files yet")];
    }
    let Some(ignored) = git(directory, &["check-ignore", "--no-index", "--"], &names) else {
        return vec![Finding::skipped(check, "git cannot be run")];
    };
    let tracked = git(directory, &["ls-files", "--"], &tracked(&paths)).unwrap_or_default();
    if !tracked.is_empty() {
        let name = paths.issues.file_name().unwrap_or_default();
        let own = quoted(&Path::new(DIRECTORY).join(name));
        let finding = Finding::warning(
            check,
            "machine-local files are committed: a checkout would replace them with older ones",
        );
        let fix = format!("`git rm -r --cached {own}`, and ignore them (`ait doctor --fix`)");
        return vec![finding.about(tracked).fix(fix).repaired_by(Repair::Ignore)];
    }
    let open: Vec<_> = names.into_iter().filter(|name| !ignored.contains(name)).collect();
    if open.is_empty() {
        return vec![Finding::ok(check, "git ignores the machine-local files")];
    }
    let mut lines = gitignore::data_directory("", &project_files::tracked(directory));
    if open.iter().any(|name| name == WORKTREES) {
        lines.push(format!("/{WORKTREES}/"));
    }
    let lines = lines.join("' '");
    let fix = format!("`printf '%s\\n' '{lines}' >> .gitignore`, or `ait doctor --fix`");
    let finding = Finding::warning(check, "git does not ignore all machine-local files");
    vec![finding.about(open).fix(fix).repaired_by(Repair::Ignore)]
}

/// Checks that a store which git tracks is merged by issue in this clone. Returns `None` if git does not track it, or
/// all is well.
fn tracked_store(context: &CheckContext) -> Option<Finding> {
    let check = Check::Git;
    let path = paths_of(&context.path).ok()?.issues;
    let directory = directory_of(&path);
    let name = path.file_name()?.to_string_lossy().into_owned();
    if git(directory, &["ls-files", "--"], std::slice::from_ref(&name))?.is_empty() {
        return None;
    }
    if Conflict::find(&path).is_some() {
        return Some(
            Finding::problem(check, format!("{name} has a conflict that git left"))
                .fix(hints::GIT_CONFLICT)
                .repaired_by(Repair::Resolve),
        );
    }
    let attribute = git(directory, &["check-attr", "merge", "--"], std::slice::from_ref(&name))?;
    let has_attribute = attribute.iter().any(|line| line.ends_with(": merge: ait"));
    if has_attribute && let Ok(Some(_)) = merge_driver::registered(directory) {
        return None;
    }
    let reason = format!(
        "git tracks {name}, and this clone does not merge it by issue: a pull may end with a conflict"
    );
    let finding = Finding::warning(check, reason);
    if !has_attribute {
        return Some(finding.fix("`ait init --track` registers the merge driver"));
    }
    let command = merge_driver::registration(&program(context));
    Some(finding.fix(format!("`{command}`")).repaired_by(Repair::RegisterDriver))
}

/// Reports git hooks of ours in whose place another program has put its own.
fn lost_hooks(context: &CheckContext) -> Option<Finding> {
    let git = Git::around(directory_of(&context.path), ASK_LIMIT);
    let directory = Handle::try_current().ok()?.block_on(HooksDir::find(&git)).ok()?;
    let status = ait_hooks::status(&directory, &program(context)).ok()?;
    let is_lost =
        |status: &&HookStatus| matches!(status.state, HookState::Overwritten | HookState::Resynced);
    let lost: Vec<_> = status.hooks.iter().filter(is_lost).collect();
    let first = lost.first()?;
    let by = if first.state == HookState::Resynced { "lefthook" } else { "another program" };
    let reason = format!("{by} has put its own git hooks in the place of those of ait");
    let about = lost.iter().map(|status| status.hook.as_str().to_owned());
    Some(Finding::warning(Check::Git, reason).about(about).fix("`ait hooks install`"))
}

/// Returns the command by which git starts this program.
pub(super) fn program(context: &CheckContext) -> String {
    let program = std::env::current_exe().unwrap_or_else(|_| PROGRAM.into());
    context.project.machine.command(&program)
}

/// Returns the names of the files to ignore, relative to the directory of the store.
fn names(paths: &StorePaths) -> Vec<String> {
    let directory = directory_of(&paths.issues);
    // The directory of the store has its own .gitignore, which covers all of it.
    let database = has_database(paths).then(|| paths.database());
    let name =
        |file: PathBuf| Some(file.strip_prefix(directory).ok()?.to_string_lossy().into_owned());
    let worktrees = directory.join(WORKTREES).is_dir().then(|| WORKTREES.to_owned());
    database.and_then(name).into_iter().chain(worktrees).collect()
}

/// Returns the paths to look for among the tracked files.
fn tracked(paths: &StorePaths) -> Vec<String> {
    let name = paths.issues.file_name().unwrap_or_default().to_string_lossy();
    vec![format!("{DIRECTORY}/{name}")]
}

/// Runs a read-only git command and returns the lines of its output; `None` if git cannot be run.
fn git(directory: &Path, arguments: &[&str], names: &[String]) -> Option<Vec<String>> {
    let mut command = ait_system::git::command(directory);
    command.args(["-c", "core.quotePath=false"]).args(arguments).args(names);
    let output = command.stderr(Stdio::null()).output().ok()?;
    // Exit code 1 means that no path is ignored.
    let text = output.status.code().is_some_and(|code| code <= 1).then_some(output.stdout)?;
    Some(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect())
}
