//! `ait review`: claims the oldest completed issue for review.

use anyhow::Result;
use clap::Args;

use super::options::{AgentArgs, Format, TtlArgs, WaitArgs};
use super::print_issue::print_claimed;
use super::ready::obstacles;
use super::{ExitStatus, NO_ISSUES, Output, is_empty};
use crate::domain::{AgentName, Status};
use crate::tracker::{Tracker, Wanted};

/// The arguments of `ait review`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Exits with 1 if there is nothing to review, with --wait after the time or Ctrl-C.\n\n\
    Examples:\n  \
    ait review\n  \
    ait review --wait 10m\n  \
    ait review --agent code-reviewer --json"
)]
pub struct Arguments {
    #[command(flatten)]
    waiting: WaitArgs,

    #[command(flatten)]
    ttl: TtlArgs,

    #[command(flatten)]
    acting: AgentArgs,

    #[command(flatten)]
    format: Format,
}

impl Arguments {
    /// Returns true if the command may wait (`--wait`).
    pub(super) fn waits(&self) -> bool {
        self.waiting.is_given()
    }
}

pub(super) async fn run(
    arguments: &Arguments,
    tracker: &Tracker,
    default_agent: Option<&AgentName>,
    output: &mut Output,
) -> Result<ExitStatus> {
    let agent = arguments.acting.agent(default_agent)?;
    let tracker = &arguments.ttl.tracker(tracker);
    let claimed = arguments.waiting.claim(Wanted::Review, &agent, tracker).await?;
    let nothing = match claimed {
        Some(_) => String::new(),
        None => why_no_review(tracker, &agent).await?,
    };
    print_claimed(claimed, arguments.format.json, tracker, &nothing, output).await
}

/// Says why an agent can claim nothing for review.
pub(super) async fn why_no_review(tracker: &Tracker, agent: &AgentName) -> Result<String> {
    let held_back = tracker.held_back(Wanted::Review, agent).await?;
    Ok(match held_back.count {
        0 if is_empty(tracker).await? => NO_ISSUES.to_owned(),
        0 => "nothing to review: no issue is completed".to_owned(),
        count => format!(
            "nothing to review for {agent}: {count} completed, but none is for {agent}:{}\nname another reviewer, as in \
             `ait review --agent NAME`, or unpark one with `ait unpark ID`",
            obstacles(&held_back, Status::Completed)
        ),
    })
}
