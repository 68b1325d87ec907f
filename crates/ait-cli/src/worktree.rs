//! `ait worktree`: makes the worktree and branch of an issue, or continues them.

use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;

use super::issue_view::words;
use super::options::{Format, issue_ref};
use super::{CommandContext, ExitStatus, sanitize};
use ait_domain::IssueRef;
use ait_worktrees::{IssueWorktree, Repository, named};

/// The arguments of `ait worktree`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "The worktree is .worktrees/3f2a9c1e in the main worktree, and its branch issue-3f2a9c1e. The branch\n\
        begins at that of the main worktree. The first line of the output is the path alone. Claims\n\
        nothing.\n\n\
        Examples:\n  \
        ait worktree 3f2a9c1e\n  \
        cd \"$(ait worktree 3f2a9c1e | head -n 1)\""
)]
pub struct Arguments {
    /// The issue: its id, or at least the first 4 hex digits
    #[arg(value_parser = issue_ref)]
    id: IssueRef,

    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let CommandContext { tracker, output, .. } = *context;
    let issue = tracker.get_issue(arguments.id.clone()).await?;
    let id = issue.id.short();
    if issue.status.has_ended() {
        bail!("{id} is {}, and nothing opens it again: work on another issue", words(issue.status));
    }
    let repository = Repository::around(Path::new(".")).await?;
    let worktree = repository.open(&id).await?;
    let next = sanitize::line(&next(&worktree, &repository.base, &id));
    let IssueWorktree { path, branch, is_new, commits, behind, uncommitted } = &worktree;
    if arguments.format.json {
        output.json(&json!({
            "path": path.display().to_string(),
            "branch": branch,
            "base": repository.base,
            "created": is_new,
            "commits": commits,
            "behind": behind,
            "uncommitted": uncommitted.len(),
            "next": next,
        }))?;
    } else {
        output.line(path.display())?;
        output.line(next)?;
    }
    Ok(ExitStatus::Done)
}

/// Says what the worktree has, and what to do there.
fn next(worktree: &IssueWorktree, base: &str, id: &str) -> String {
    let IssueWorktree { path, branch, is_new, commits, behind, uncommitted } = worktree;
    let path = path.to_string_lossy();
    let path = shell_words::quote(&path);
    let mut text = match (is_new, commits) {
        (true, _) => format!("{branch} is new and begins at {base}."),
        (false, 1) => format!("{branch} continues with 1 commit that {base} lacks."),
        (false, _) => format!("{branch} continues with {commits} commits that {base} lacks."),
    };
    if *behind > 0 {
        text += &format!(" {base} has {behind} that it lacks: `git -C {path} merge {base}`.");
    }
    if !uncommitted.is_empty() {
        text += &format!(" Uncommitted work: {}.", named(uncommitted.iter()));
    }
    text + &format!(
        " Work and commit there, then hand in: complete_issue, or `ait complete {id} -m TEXT`."
    )
}
