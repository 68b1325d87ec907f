//! `ait claim`: claims one issue for work.

use anyhow::Result;
use clap::Args;

use super::options::{CallerArgs, TtlArgs, issue_ref};
use super::print_issue::print_claimed;
use super::{CommandContext, ExitStatus};
use ait_domain::{IssueRef, Touches};

/// The arguments of `ait claim`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Refuses an issue that an agent holds or that waits for another issue.\n\n\
    Examples:\n  \
    ait claim 3f2a9c1e\n  \
    ait claim 3f2a9c1e --agent dev-1 --json")]
pub struct Arguments {
    /// The issue: its id, or at least the first 4 hex digits
    #[arg(value_parser = issue_ref)]
    id: IssueRef,

    /// The files that you will change, such as src/store, docs/*.md
    #[arg(long, value_name = "PATHS")]
    touches: Option<Touches>,

    #[command(flatten)]
    ttl: TtlArgs,

    #[command(flatten)]
    caller: CallerArgs,
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let CommandContext { tracker, output, .. } = *context;
    let agent = arguments.caller.agent(context)?;
    let tracker = &arguments.ttl.tracker(tracker);
    if let Some(touches) = arguments.touches.clone() {
        tracker.note_touches(arguments.id.clone(), touches, agent.clone()).await?;
    }
    let claimed = tracker.claim_issue(arguments.id.clone(), agent).await?;
    print_claimed(Some(claimed), arguments.caller.format.json, tracker, "", output).await
}
