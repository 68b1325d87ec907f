//! `ait next`: claims the next issue for work.

use anyhow::Result;
use clap::Args;

use super::options::{ClaimNextArgs, GivenKind, classification};
use super::ready::why_nothing;
use super::{CommandContext, ExitStatus};
use ait_domain::{AgentName, Classification};
use ait_tracker::{ClaimKind, Tracker};

/// The arguments of `ait next`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "What is assigned to you comes first, then the priority decides (0 is first), then the age.\n\
    Exits with 1 if there is nothing to claim, with --wait after the time or Ctrl-C.\n\n\
    Examples:\n  \
    ait next\n  \
    ait next --wait 10m\n  \
    ait next -c bug --agent bug-fixer --json"
)]
pub struct Arguments {
    /// Only this kind of work
    #[arg(short, long, value_name = "KIND", value_parser = classification(), ignore_case = true)]
    classification: Option<GivenKind>,

    #[command(flatten)]
    pub(super) claim: ClaimNextArgs,
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let kind = arguments.classification.map(|kind| kind.used_by(context.tracker));
    let why = async |tracker: &Tracker, agent: &AgentName| why_none(tracker, kind, agent).await;
    arguments.claim.run(ClaimKind::Work(kind), why, context).await
}

/// Says why an agent can claim nothing for work, and what it holds.
async fn why_none(
    tracker: &Tracker,
    kind: Option<Classification>,
    agent: &AgentName,
) -> Result<String> {
    let nothing = why_nothing(tracker, kind, agent).await?;
    let held = tracker.held_by(agent).await?;
    let held: Vec<_> = held.iter().map(|issue| issue.id.short()).collect();
    Ok(if held.is_empty() {
        nothing
    } else {
        format!("{nothing}\n{agent} holds {}: `ait show ID`", held.join(", "))
    })
}
