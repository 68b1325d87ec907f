//! `ait release`: gives an issue back that one holds.

use anyhow::{Result, bail};
use clap::Args;

use super::options::{AgentArgs, Format, issue_ref, text_or_stdin};
use super::print_issue::print_changed;
use super::{ExitStatus, Output, sanitize};
use crate::domain::{AgentName, ClaimProof, CommentText, IssueRef};
use crate::tracker::Tracker;

/// The comment if the user gives none.
const RELEASED: &str = "Released.";

/// The arguments of `ait release`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "`ait return --force` also returns an issue that another agent holds.\n\n\
    Examples:\n  \
    ait release 3f2a9c1e\n  \
    ait release 3f2a9c1e -m 'the fixture is missing'")]
pub struct Arguments {
    /// The issue: its id, or at least the first 4 hex digits
    #[arg(value_parser = issue_ref)]
    id: IssueRef,

    /// A comment for the next agent; - reads it from stdin
    #[arg(short, long, value_name = "TEXT", default_value = RELEASED, hide_default_value = true)]
    message: String,

    #[command(flatten)]
    acting: AgentArgs,

    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(
    arguments: &Arguments,
    tracker: &Tracker,
    default_agent: Option<&AgentName>,
    output: &mut Output,
) -> Result<ExitStatus> {
    let agent = arguments.acting.agent(default_agent)?;
    let comment = CommentText::try_from(text_or_stdin(&arguments.message, "the message")?)?;
    let issue = tracker.get_issue(arguments.id.clone()).await?;
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
    let proof = ClaimProof { number: Some(issue.claim_number()), is_forced: false };
    let issue = tracker.return_issue(issue.id.into(), comment, agent, proof).await?;
    print_changed(&issue, arguments.format.json, tracker, output).await
}
