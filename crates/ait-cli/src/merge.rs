//! `ait merge`: merges the branch of an issue, if it passes the check of the project.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use clap::Args;
use serde::Serialize;

use super::check::no_check;
use super::options::{Format, issue_ref};
use super::signals::{FOREVER, Live};
use super::{CommandContext, ExitStatus, Output, own_name, sanitize};
use ait_domain::{ErrorCode, Issue, IssueGraph, IssueId, IssueRef, LinkKind, Receipt};
use ait_tracker::Tracker;
use ait_worktrees::{FoundBranch, NotMerged, PendingMerge, Repository, named, run_check};

/// The arguments of `ait merge`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Merges the branch issue-3f2a9c1e into the branch of the main worktree, with a merge commit. If\n\
        ait.toml has a check, runs it on the merged files first, and keeps nothing if it fails. After\n\
        the merge, removes the worktree and the branch. Does not change the issue, and does not push.\n\n\
        Exits with 1 if the branch is not merged; the main branch is as before then.\n\n\
        Examples:\n  \
        ait merge 3f2a9c1e\n  \
        ait merge 3f2a9c1e && ait close 3f2a9c1e -m 'reviewed and merged'"
)]
pub struct Arguments {
    /// The issue: its id, or at least the first 4 hex digits
    #[arg(value_parser = issue_ref)]
    id: IssueRef,

    #[command(flatten)]
    format: Format,
}

/// The outcome, as a script reads it.
#[derive(Serialize, Default)]
struct Report {
    merged: bool,
    /// The merge commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<ErrorCode>,
    /// The files because of which it is not merged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    /// The last lines of the check that failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    output: String,
    /// What git refused to remove.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kept: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let output = context.output;
    let is_json = arguments.format.json;
    match merge(arguments, context).await {
        Ok(report) if is_json => output.json(&report)?,
        Ok(report) => print(&report, output)?,
        Err(error) => {
            let refusal = error.downcast::<NotMerged>()?;
            if !is_json {
                return Err(refusal.into());
            }
            let NotMerged { reason, code, files, output: last_lines } = refusal;
            output.json(&Report {
                error: Some(reason),
                code: Some(code),
                files,
                output: last_lines,
                ..Report::default()
            })?;
            return Ok(ExitStatus::Incomplete);
        }
    }
    Ok(ExitStatus::Done)
}

async fn merge(arguments: &Arguments, context: &CommandContext<'_>) -> Result<Report> {
    let issue = context.tracker.get_issue(arguments.id.clone()).await?;
    let id = issue.id.short();
    // The merge may remove the working directory.
    let directory = env::current_dir()?;
    let repository = Repository::around(&directory).await?;
    let files = context.maintenance.map(|maintenance| maintenance.files()).unwrap_or_default();
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    let commit = match repository.find_branch(&id, &files).await? {
        FoundBranch::Ready(merge) => {
            let check = context.tracker.claim_settings().checks.of(issue.classification);
            let (commit, receipt) = merge_checked(&merge, check, &repository.root).await?;
            if let Some(receipt) = receipt
                && repository.tree_of(&commit).await? == receipt.tree
            {
                record(&issue, receipt, &commit, context).await?;
            }
            commit
        }
        FoundBranch::Merged(commit) => {
            check_merged(&issue, &commit, &repository, context).await?;
            commit
        }
        FoundBranch::Missing => return without_branch(issue.id, context.tracker).await,
    };
    let kept = repository.clean_up(&id).await?;
    let short = &commit[..commit.len().min(10)];
    let mut next = format!(
        "Close the issue: close_issue with the commit {short} in the comment, or `ait close {id} -m 'merged as \
         {short}'`."
    );
    if !directory.exists() {
        next += &format!(" Your working directory is removed: `cd {}`.", repository.root.display());
    }
    Ok(Report { merged: true, commit: Some(commit), kept, next: Some(next), ..Report::default() })
}

/// Records that the check passed on a merge, where that is required.
async fn record(
    issue: &Issue,
    receipt: Receipt,
    commit: &str,
    context: &CommandContext<'_>,
) -> Result<()> {
    let CommandContext { tracker, default_agent, .. } = *context;
    if !tracker.claim_settings().requires_check || issue.status.has_ended() {
        return Ok(());
    }
    let receipt = Receipt { merge: Some(commit.to_owned()), ..receipt };
    tracker.record_check(issue.id.into(), receipt, own_name(default_agent)?).await?;
    Ok(())
}

/// Runs the check on the main branch for a branch that was merged otherwise, where that is required.
async fn check_merged(
    issue: &Issue,
    commit: &str,
    repository: &Repository,
    context: &CommandContext<'_>,
) -> Result<()> {
    let settings = context.tracker.claim_settings();
    let check = settings.checks.of(issue.classification);
    if !settings.requires_check || check.is_some_and(|check| issue.is_merge_checked(check)) {
        return Ok(());
    }
    let refused = |reason: String| NotMerged::new(ErrorCode::Conflict, reason);
    let Some(check) = check else { return Err(refused(no_check(issue)).into()) };
    let tree = repository.committed_tree(&repository.root).await;
    let tree = tree.map_err(|error| refused(format!("the merge cannot be checked: {error}")))?;
    let checked = run_check(check, &repository.root).await?;
    let receipt = checked.receipt(check, &tree);
    if receipt.has_passed() {
        return record(issue, receipt, commit, context).await;
    }
    let refusal =
        refused(format!("the check `{check}` fails on {} after the merge", repository.base));
    Err(NotMerged { output: checked.last_lines, ..refusal }.into())
}

/// Merges a branch if the check passes on the merge, and returns the merge commit and the receipt of the check.
async fn merge_checked(
    merge: &PendingMerge<'_>,
    check: Option<&str>,
    root: &Path,
) -> Result<(String, Option<Receipt>)> {
    let Some(check) = check else { return Ok((merge.commit().await?, None)) };
    // From here on, Ctrl-C undoes the merge.
    let mut live = Live::begin()?;
    let tree = merge.try_out().await?;
    let checked = live.until_end(FOREVER, run_check(check, root)).await;
    merge.undo(&tree).await?;
    let undone = "the merge is undone";
    let checked = match checked {
        Some(checked) => checked
            .map_err(|error| anyhow!("the check `{check}` cannot be run ({error}); {undone}"))?,
        None => {
            let reason = format!("interrupted during the check; {undone}");
            return Err(NotMerged::new(ErrorCode::Cancelled, reason).into());
        }
    };
    if checked.status.success() {
        let receipt = checked.receipt(check, &tree);
        return Ok((merge.commit().await?, Some(receipt)));
    }
    let status = checked.status;
    let reason = format!(
        "the check `{check}` fails on the merge ({status}); {undone}: return the issue with what fails"
    );
    let refusal = NotMerged::new(ErrorCode::Conflict, reason);
    Err(NotMerged { output: checked.last_lines, ..refusal }.into())
}

/// Reports on an issue without a branch, such as a whole whose parts are merged.
async fn without_branch(id: IssueId, tracker: &Tracker) -> Result<Report> {
    let issues = tracker.issues_around([id]).await?;
    let short = id.short();
    let parts = issues.linked_from(LinkKind::Parent, id).into_iter();
    let parts: Vec<_> = parts.filter_map(|part| issues.get(part)).collect();
    let reason = |text: String| NotMerged::new(ErrorCode::NotFound, text).into();
    if parts.is_empty() {
        return Err(reason(format!(
            "there is no branch issue-{short}: `ait worktree {short}` makes it; return the issue if it is handed in"
        )));
    }
    let open: Vec<_> = parts.iter().filter(|part| !part.status.has_ended()).collect();
    if !open.is_empty() {
        let open = named(open.iter().map(|part| part.id.short()));
        return Err(reason(format!("{short} has no branch of its own, and open parts: {open}")));
    }
    let next = format!(
        "{short} has no branch of its own, and its parts have ended. Close it: close_issue, or `ait close {short} -m \
         TEXT`."
    );
    Ok(Report { next: Some(next), ..Report::default() })
}

fn print(report: &Report, output: &Output) -> Result<()> {
    if let Some(commit) = &report.commit {
        output.line(format_args!("merged: {commit}"))?;
    }
    for kept in &report.kept {
        output.line(format_args!("Note: {}", sanitize::line(kept)))?;
    }
    report.next.iter().try_for_each(|next| output.line(sanitize::line(next)))
}
