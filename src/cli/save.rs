//! `ait save`: bring issues.json up to date.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use super::options::Format;
use super::{Ending, Output};
use crate::tracker::Tracker;

/// The arguments that let a process of its own save what a command has changed.
pub const WHEN_QUIET: [&str; 2] = ["save", "--when-quiet"];

/// How long nothing must have changed.
const QUIET: Duration = Duration::from_millis(300);

/// The arguments of `ait save`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Every change is in the journal beside it at once. Servers write it into issues.json \
    within a moment, and so do the other commands; where that would take long, they leave it to a process \
    that goes on for a moment after they have ended.\n\n\
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
    tracker: &Tracker,
    output: &mut Output,
) -> Result<Ending> {
    let before = tracker.vitals().await;
    if arguments.when_quiet {
        tokio::time::sleep(QUIET).await;
        if tracker.vitals().await.journal_bytes != before.journal_bytes {
            return Ok(Ending::Nothing);
        }
    }
    tracker.save().await?;
    if arguments.format.json {
        output.json(&Saved { store: before.name })?;
    } else {
        output.line(format_args!("{} is up to date", before.name))?;
    }
    Ok(Ending::Done)
}
