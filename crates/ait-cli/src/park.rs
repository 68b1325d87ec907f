//! `ait park` and `ait unpark`: keep an issue from being claimed, for a time or until it is unparked.

use anyhow::Result;
use clap::Args;

use super::comment::IssueCommentArgs;
use super::link::change_or_say;
use super::options::{CallerArgs, WrongUsage, issue_ref, time_arg};
use super::output::local;
use super::{CommandContext, ExitStatus};
use ait_domain::{CommentText, IssueChange, IssueRef};
use ait_query::time_arg::TimeArg;

/// The arguments of `ait park`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait park 3f2a9c1e -m 'waits for the new designs'\n  \
    ait park 3f2a9c1e -m 'after the release' --until 3d\n  \
    ait park 3f2a9c1e -m 'not before next year' --until 2027-01-01")]
pub struct ParkArguments {
    #[command(flatten)]
    target: IssueCommentArgs,

    /// When the issue can be claimed again: a duration from now, or a date and time
    #[arg(long, value_name = "WHEN", value_parser = time_arg)]
    until: Option<TimeArg>,
}

/// The arguments of `ait unpark`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Example:\n  \
    ait unpark 3f2a9c1e")]
pub struct UnparkArguments {
    /// The issues: their ids, or at least the first 4 hex digits of each
    #[arg(value_name = "ID", required = true, value_parser = issue_ref)]
    ids: Vec<IssueRef>,

    #[command(flatten)]
    caller: CallerArgs,
}

pub(super) async fn park(
    arguments: &ParkArguments,
    context: &CommandContext<'_>,
) -> Result<ExitStatus> {
    let tracker = context.tracker;
    let now = tracker.now();
    let until = arguments.until.map(|until| until.time_after(now));
    if until.is_some_and(|until| until <= now) {
        return Err(WrongUsage("--until names a time that has passed: name a later one").into());
    }
    let (ids, reason) = arguments.target.target()?;
    let reason = match (reason, until) {
        (Some(reason), _) => reason,
        // The time says enough.
        (None, Some(until)) => format!("Parked until {}.", local(until, "%Y-%m-%d %H:%M")),
        (None, None) => {
            let missing =
                "the reason is missing: say why, with -m 'TEXT', or until when, with --until TIME";
            return Err(WrongUsage(missing).into());
        }
    };
    let reason = CommentText::try_from(reason)?;
    let parked = Some(Some((reason, until)));
    let change = IssueChange { parked, ..IssueChange::default() };
    let change = async |id: IssueRef, agent| {
        Ok(tracker.change_issue(id.into(), change.clone(), agent).await?)
    };
    arguments.target.caller.each(&ids, change, context).await
}

pub(super) async fn unpark(
    arguments: &UnparkArguments,
    context: &CommandContext<'_>,
) -> Result<ExitStatus> {
    let unparked = IssueChange { parked: Some(None), ..IssueChange::default() };
    let change = async |id: IssueRef, agent| {
        change_or_say(&id, unparked.clone(), "is not parked", agent, context.tracker).await
    };
    arguments.caller.each(&arguments.ids, change, context).await
}
