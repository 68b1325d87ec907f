//! `ait review`: claims the next completed issue for review.

use anyhow::Result;

use super::options::ClaimNextArgs;
use super::ready::obstacles;
use super::{CommandContext, ExitStatus, is_empty, no_issues};
use ait_domain::{AgentName, Status};
use ait_tracker::{ClaimKind, Tracker};

/// Ends the help of `ait review`.
pub(super) const HELP: &str = "\
    Exits with 1 if there is nothing to review, with --wait after the time or Ctrl-C.\n\n\
    Examples:\n  \
    ait review\n  \
    ait review --wait 10m\n  \
    ait review --agent code-reviewer --json";

pub(super) async fn run(
    arguments: &ClaimNextArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus> {
    arguments.run(ClaimKind::Review, why_no_review, context).await
}

/// Says why an agent can claim nothing for review.
pub(super) async fn why_no_review(tracker: &Tracker, agent: &AgentName) -> Result<String> {
    let claim_obstacles = tracker.claim_obstacles(ClaimKind::Review, agent).await?;
    Ok(match claim_obstacles.count {
        0 if is_empty(tracker).await? => no_issues().to_owned(),
        0 => "nothing to review: no issue is completed".to_owned(),
        count => format!(
            "nothing to review for {agent}: {count} completed, but none is for {agent}:{}\nname another reviewer, as in \
             `ait review --agent NAME`, or unpark one with `ait unpark ID`",
            obstacles(&claim_obstacles, Status::Completed)
        ),
    })
}
