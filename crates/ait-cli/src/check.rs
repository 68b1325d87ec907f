//! `ait check`: runs the check of the project on the branch of an issue, and records how it ended.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use clap::Args;

use super::issue_view::words;
use super::options::{CallerArgs, issue_ref};
use super::signals::{FOREVER, Live};
use super::{CommandContext, ExitStatus, sanitize};
use ait_domain::facts::short_hash;
use ait_domain::{Issue, IssueRef};
use ait_system::span::humanize_duration;
use ait_worktrees::{Repository, run_check};

/// The arguments of `ait check`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Runs the check of ait.toml in the worktree of the issue, and records the command, its exit\n\
        code and the files that it ran on. All work there must be committed. With require-check, an\n\
        issue is handed in only with such a receipt for the files that are handed in.\n\n\
        Exits with 1 if the check fails.\n\n\
        Example:\n  \
        ait check 3f2a9c1e && ait complete 3f2a9c1e -m 'fixed'"
)]
pub struct Arguments {
    /// The issue: its id, or at least the first 4 hex digits
    #[arg(value_parser = issue_ref)]
    id: IssueRef,

    #[command(flatten)]
    caller: CallerArgs,
}

/// Says that work of a kind has no check.
pub(super) fn no_check(issue: &Issue) -> String {
    let kind = issue.classification;
    format!(
        "no check is for the kind {kind}: add one to ait.toml, such as `check = \"cargo test\"`"
    )
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let CommandContext { tracker, output, .. } = *context;
    let issue = tracker.get_issue(arguments.id.clone()).await?;
    let id = issue.id.short();
    if issue.status.has_ended() {
        bail!("{id} is {}: there is nothing to hand in", words(issue.status));
    }
    let Some(check) = tracker.claim_settings().checks.of(issue.classification) else {
        bail!(no_check(&issue));
    };
    let agent = arguments.caller.agent(context)?;
    let repository = Repository::around(Path::new(".")).await?;
    let Some(worktree) = repository.worktree_of(&id).await? else {
        bail!("issue-{id} is checked out nowhere: `ait worktree {id}` does that");
    };
    let tree = repository.committed_tree(&worktree).await?;
    let mut live = Live::begin()?;
    let checked = live.until_end(FOREVER, run_check(check, &worktree)).await;
    let Some(checked) = checked else { bail!("interrupted: nothing is recorded") };
    let checked = checked.map_err(|error| anyhow!("`{check}` cannot be run ({error})"))?;
    if repository.committed_tree(&worktree).await? != tree {
        bail!("{} was changed during the check: run it again", worktree.display());
    }
    let receipt = checked.receipt(check, &tree);
    tracker.record_check(issue.id.into(), receipt.clone(), agent).await?;
    if arguments.caller.format.json {
        output.json(&receipt)?;
    } else {
        let ended = if receipt.has_passed() { "passed" } else { "failed" };
        let time = humanize_duration(receipt.ms);
        let check = sanitize::line(check);
        let tree = short_hash(&tree);
        output.line(format_args!("{id}: {check} {ended} in {time} on tree {tree}"))?;
    }
    Ok(ExitStatus::done_if(receipt.has_passed()))
}
