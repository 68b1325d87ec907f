//! `ait review`: claims the oldest completed issue for review.

use anyhow::Result;
use clap::Args;

use super::options::{AgentArgs, Format};
use super::print_issue::print_claimed;
use super::{ExitStatus, NO_ISSUES, Output, is_empty};
use crate::domain::AgentName;
use crate::tracker::Tracker;

/// The arguments of `ait review`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Exits with 1 if there is nothing to review.\n\n\
    Examples:\n  \
    ait review\n  \
    ait review --agent code-reviewer --json")]
pub struct Arguments {
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
    let claimed = tracker.get_next_review_item(agent.clone()).await?;
    let nothing = match (&claimed, tracker.held_back_reviews(&agent).await?) {
        (None, 0) if is_empty(tracker).await? => NO_ISSUES.to_owned(),
        (None, count @ 1..) => format!(
            "nothing to review for {agent}: {count} completed, but parked, or filed or completed by {agent}"
        ),
        _ => "nothing to review: no issue is completed".to_owned(),
    };
    print_claimed(claimed, arguments.format.json, tracker, &nothing, output).await
}
