//! `ait save`: publishes `issues.json`.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;

use super::options::Format;
use super::{CommandContext, ExitStatus, Output};
use crate::tracker::Probe;

/// The arguments with which a command starts a background process that publishes its changes.
pub const WHEN_QUIET: [&str; 2] = ["save", "--when-quiet"];

/// How long the log must not change first.
const QUIET: Duration = Duration::from_millis(300);

/// The arguments of `ait save`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Every change is in the log (.ait/ beside issues.json) before it is acknowledged. Servers and \
    commands publish it to issues.json within a second. If that takes too long for a command, it starts a \
    background process, which finishes shortly after the command.\n\n\
    Example:\n  \
    ait save && git commit issues.json -m 'Record the state of the queue'"
)]
pub struct Arguments {
    /// Only if the log does not change for a moment; otherwise, the process that changes it publishes
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
) -> Result<ExitStatus> {
    let health = || context.tracker.health(Probe::Known);
    if arguments.when_quiet {
        let before = health().await.log_bytes;
        tokio::time::sleep(QUIET).await;
        if health().await.log_bytes != before {
            return Ok(ExitStatus::Nothing);
        }
    }
    let Some(maintenance) = context.maintenance else {
        bail!(
            "the store is a database, so there is no issues.json to write: `ait export FILE` writes all issues"
        );
    };
    maintenance.publish().await?;
    let store = health().await.name;
    if arguments.format.json {
        output.json(&Saved { store })?;
    } else {
        output.line(format_args!("{store} is up to date"))?;
    }
    Ok(ExitStatus::Done)
}
