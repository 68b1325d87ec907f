//! `ait release`: gives an issue back that one holds.

use anyhow::{Result, bail};

use super::comment::IssueCommentArgs;
use super::{CommandContext, ExitStatus, sanitize};
use ait_domain::{AgentName, ClaimProof, CommentText, IssueRef};
use ait_tracker::{Changed, Tracker};

/// The comment if the user gives none.
const RELEASED: &str = "Released.";

/// Ends the help of `ait release`.
pub(super) const HELP: &str = "\
    `ait return --force` also returns an issue that another agent holds.\n\n\
    Examples:\n  \
    ait release 3f2a9c1e\n  \
    ait release 3f2a9c1e -m 'the fixture is missing'";

pub(super) async fn run(
    arguments: &IssueCommentArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus> {
    let (ids, comment) = arguments.target()?;
    let comment = CommentText::try_from(comment.unwrap_or_else(|| RELEASED.to_owned()))?;
    let change = |id, agent| release(id, comment.clone(), agent, context.tracker);
    arguments.caller.each(&ids, change, context).await
}

async fn release(
    id: IssueRef,
    comment: CommentText,
    agent: AgentName,
    tracker: &Tracker,
) -> Result<Changed> {
    let issue = tracker.get_issue(id).await?;
    let short = issue.id.short();
    match issue.holder() {
        Some(holder) if holder.agent == agent.as_str() => {}
        Some(holder) => bail!(
            "{short} is held by {}, not by you ({agent}): `ait return {short} --force -m WHY` returns it anyway",
            sanitize::line(holder.agent)
        ),
        None => bail!("{short} is not claimed: it is {}", issue.status),
    }
    // Another agent may have claimed it since.
    let proof = ClaimProof { number: Some(issue.claim_number()), ..ClaimProof::default() };
    Ok(tracker.return_issue(issue.id.into(), comment, agent, proof).await?)
}
