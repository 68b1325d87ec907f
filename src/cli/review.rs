//! `ait review`: claim the oldest completed issue for review.

use anyhow::Result;
use clap::Args;

use super::claim::answer;
use super::options::{Acting, Format};
use super::{Ending, Output};
use crate::domain::AgentName;
use crate::tracker::Tracker;

/// The arguments of `ait review`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Ends with 1 when there is nothing to review.\n\n\
    Examples:\n  \
    ait review\n  \
    ait review --agent code-reviewer --json")]
pub struct Arguments {
    #[command(flatten)]
    acting: Acting,

    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(
    arguments: &Arguments,
    tracker: &Tracker,
    usual: Option<&AgentName>,
    output: &mut Output,
) -> Result<Ending> {
    let claimed = tracker.get_next_review_item(arguments.acting.agent(usual)?).await?;
    let nothing = "nothing to review: no issue is completed";
    answer(claimed, arguments.format.json, tracker.now(), nothing, output)
}
