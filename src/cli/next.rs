//! `ait next`: claim the oldest created issue for work.

use anyhow::Result;
use clap::Args;

use super::claim::answer;
use super::options::{Acting, Format, classification};
use super::{Ending, Output};
use crate::domain::{AgentName, Classification};
use crate::tracker::Tracker;

/// The arguments of `ait next`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Ends with 1 when there is nothing to claim.\n\n\
    Examples:\n  \
    ait next\n  \
    ait next -c bug --agent bug-fixer --json")]
pub struct Arguments {
    /// Only this kind of work
    #[arg(short, long, value_name = "KIND", value_parser = classification())]
    classification: Option<Classification>,

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
    let agent = arguments.acting.agent(usual)?;
    let claimed = tracker.get_next_issue(arguments.classification, agent).await?;
    let nothing = match arguments.classification {
        Some(kind) => format!("nothing to claim: no {kind} waits for work"),
        None => "nothing to claim: no issue waits for work".to_owned(),
    };
    answer(claimed, arguments.format.json, tracker.now(), &nothing, output)
}
