//! `ait park` and `ait unpark`: keep an issue from being claimed, for a time or until it is unparked.

use anyhow::Result;
use clap::Args;

use super::comment::{IssueCommentArgs, check};
use super::link::change_or_say;
use super::options::{CallerArgs, WrongUsage, issue_ref, time_arg};
use super::output::local;
use super::print_issue::print_changed;
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
    let CommandContext { tracker, output, .. } = *context;
    let target = &arguments.target;
    let agent = target.caller.agent(context)?;
    let now = tracker.now();
    let until = arguments.until.map(|until| until.time_after(now));
    if until.is_some_and(|until| until <= now) {
        return Err(WrongUsage("--until names a time that has passed: name a later one").into());
    }
    let (ids, reason) = target.target()?;
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
    check(&ids, context).await?;
    for id in ids {
        let parked = Some(Some((reason.clone(), until)));
        let change = IssueChange { parked, ..IssueChange::default() };
        let changed = tracker.change_issue(id.into(), change, agent.clone()).await?;
        print_changed(&changed, target.caller.format.json, tracker, output).await?;
    }
    Ok(ExitStatus::Done)
}

pub(super) async fn unpark(
    arguments: &UnparkArguments,
    context: &CommandContext<'_>,
) -> Result<ExitStatus> {
    let CommandContext { tracker, output, .. } = *context;
    let agent = arguments.caller.agent(context)?;
    check(&arguments.ids, context).await?;
    for id in &arguments.ids {
        let change = IssueChange { parked: Some(None), ..IssueChange::default() };
        let changed = change_or_say(id, change, "is not parked", agent.clone(), tracker).await?;
        print_changed(&changed, arguments.caller.format.json, tracker, output).await?;
    }
    Ok(ExitStatus::Done)
}
