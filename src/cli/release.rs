//! `ait release`: gives an issue back that one holds.

use anyhow::{Result, bail};
use clap::Args;

use super::options::{CallerArgs, issue_ref, text_or_stdin};
use super::print_issue::print_changed;
use super::{CommandContext, ExitStatus, Output, sanitize};
use crate::domain::{ClaimProof, CommentText, IssueRef};

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
    caller: CallerArgs,
}

pub(super) async fn run(
    arguments: &Arguments,
    context: &CommandContext<'_>,
    output: &mut Output,
) -> Result<ExitStatus> {
    let tracker = context.tracker;
    let agent = arguments.caller.agent(context)?;
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
    let proof = ClaimProof { number: Some(issue.claim_number()), ..ClaimProof::default() };
    let changed = tracker.return_issue(issue.id.into(), comment, agent, proof).await?;
    print_changed(&changed, arguments.caller.format.json, tracker, output).await
}
