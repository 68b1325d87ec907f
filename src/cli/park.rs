//! `ait park` and `ait unpark`: keep an issue from being claimed, for a time or until it is unparked.

use anyhow::Result;
use clap::Args;

use super::link::change_or_say;
use super::options::{CallerArgs, WrongUsage, issue_ref, text_or_stdin, time_arg};
use super::print_issue::print_changed;
use super::{CommandContext, ExitStatus, Output};
use crate::domain::{CommentText, IssueChange, IssueRef};
use crate::time_arg::TimeArg;

/// The arguments of `ait park`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait park 3f2a9c1e -m 'waits for the new designs'\n  \
    ait park 3f2a9c1e -m 'after the release' --until 3d\n  \
    ait park 3f2a9c1e -m 'not before next year' --until 2027-01-01")]
pub struct ParkArguments {
    /// The issue: its id, or at least the first 4 hex digits
    #[arg(value_parser = issue_ref)]
    id: IssueRef,

    /// Why it is not to be claimed; - reads it from stdin
    #[arg(short, long, value_name = "TEXT")]
    message: String,

    /// When the issue can be claimed again: a duration from now, or a date and time
    #[arg(long, value_name = "WHEN", value_parser = time_arg)]
    until: Option<TimeArg>,

    #[command(flatten)]
    caller: CallerArgs,
}

/// The arguments of `ait unpark`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example:\n  \
    ait unpark 3f2a9c1e")]
pub struct UnparkArguments {
    /// The issue: its id, or at least the first 4 hex digits
    #[arg(value_parser = issue_ref)]
    id: IssueRef,

    #[command(flatten)]
    caller: CallerArgs,
}

pub(super) async fn park(
    arguments: &ParkArguments,
    context: &CommandContext<'_>,
    output: &mut Output,
) -> Result<ExitStatus> {
    let tracker = context.tracker;
    let agent = arguments.caller.agent(context)?;
    let now = tracker.now();
    let until = arguments.until.map(|until| until.time_after(now));
    if until.is_some_and(|until| until <= now) {
        return Err(WrongUsage("--until names a time that has passed: name a later one").into());
    }
    let reason = CommentText::try_from(text_or_stdin(&arguments.message, "the reason")?)?;
    let change = IssueChange { parked: Some(Some((reason, until))), ..IssueChange::default() };
    let changed = tracker.change_issue(arguments.id.clone().into(), change, agent).await?;
    print_changed(&changed, arguments.caller.format.json, tracker, output).await
}

pub(super) async fn unpark(
    arguments: &UnparkArguments,
    context: &CommandContext<'_>,
    output: &mut Output,
) -> Result<ExitStatus> {
    let tracker = context.tracker;
    let agent = arguments.caller.agent(context)?;
    let change = IssueChange { parked: Some(None), ..IssueChange::default() };
    let changed = change_or_say(&arguments.id, change, "is not parked", agent, tracker).await?;
    print_changed(&changed, arguments.caller.format.json, tracker, output).await
}
