//! `ait next`: claims the next issue for work.

use anyhow::Result;
use clap::Args;

use super::options::{AgentArgs, Format, TtlArgs, WaitArgs, classification};
use super::print_issue::print_claimed;
use super::ready::why_nothing;
use super::{ExitStatus, Output};
use crate::domain::{AgentName, Classification};
use crate::tracker::{Tracker, Wanted};

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
    classification: Option<Classification>,

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
    let kind = arguments.classification;
    let claimed = arguments.waiting.claim(Wanted::Work(kind), &agent, tracker).await?;
    let nothing = match claimed {
        Some(_) => String::new(),
        None => {
            let nothing = why_nothing(tracker, kind, &agent).await?;
            let held = tracker.held_by(&agent).await?;
            let held: Vec<_> = held.iter().map(|issue| issue.id.short()).collect();
            match held.is_empty() {
                true => nothing,
                false => format!("{nothing}\n{agent} holds {}: `ait show ID`", held.join(", ")),
            }
        }
    };
    print_claimed(claimed, arguments.format.json, tracker, &nothing, output).await
}
