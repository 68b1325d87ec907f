//! `ait save`: bring issues.json up to date.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use super::options::Format;
use super::{CommandContext, Ending, Output};
use crate::tracker::Probe;

/// The arguments that let a process of its own save what a command has changed.
pub const WHEN_QUIET: [&str; 2] = ["save", "--when-quiet"];

/// How long nothing must have changed.
const QUIET: Duration = Duration::from_millis(300);

/// The arguments of `ait save`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Every change is in the log (.ait/ beside issues.json) before it is answered. Servers write it \
    into issues.json within a second, and so do the other commands; where that would take long, they leave it \
    to a process that goes on for a moment after they have ended.\n\n\
    Example:\n  \
    ait save && git commit issues.json -m 'Record the state of the queue'"
)]
pub struct Arguments {
    /// Only if nothing changes for a moment: whoever changes something sees to it itself
    #[arg(long, hide = true)]
    when_quiet: bool,

    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct Saved {
    store: String,
}

pub(super) async fn run(
    arguments: &Arguments,
    context: &CommandContext<'_>,
    output: &mut Output,
) -> Result<Ending> {
    let health = || context.tracker.health(Probe::Known);
    if arguments.when_quiet {
        let before = health().await.journal_bytes;
        tokio::time::sleep(QUIET).await;
        if health().await.journal_bytes != before {
            return Ok(Ending::Nothing);
        }
    }
    context.maintenance.publish().await?;
    let store = health().await.name;
    if arguments.format.json {
        output.json(&Saved { store })?;
    } else {
        output.line(format_args!("{store} is up to date"))?;
    }
    Ok(Ending::Done)
}
