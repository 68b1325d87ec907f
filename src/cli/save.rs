//! `ait save`: publishes `issues.json`.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;

use super::options::Format;
use super::{CommandContext, ExitStatus, Output};
use crate::tracker::{Maintenance, Probe};

/// The arguments with which a command starts a background process that publishes its changes.
pub const WHEN_QUIET: [&str; 2] = ["save", "--when-quiet"];

/// How long the log must not change first, and how long this is waited for at least.
const QUIET: Duration = Duration::from_millis(300);
const MIN_PATIENCE: Duration = Duration::from_secs(2);
/// How long quiet is waited for after publishing, as a multiple of the time that it took.
const PATIENCE_FACTOR: u32 = 20;

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
    /// Publish for commands that have ended, when the log does not change for a moment
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
    let Some(maintenance) = context.maintenance else {
        bail!(
            "the store is a database, so there is no issues.json to write: `ait export FILE` writes all issues"
        );
    };
    if arguments.when_quiet {
        save_when_quiet(context, maintenance).await?;
        return Ok(ExitStatus::Done);
    }
    maintenance.publish().await?;
    let store = context.tracker.health(Probe::Known).await.name;
    if arguments.format.json {
        output.json(&Saved { store })?;
    } else {
        output.line(format_args!("{store} is up to date"))?;
    }
    Ok(ExitStatus::Done)
}

/// Publishes until no change is left, unless another process is doing that.
async fn save_when_quiet(context: &CommandContext<'_>, maintenance: &Maintenance) -> Result<()> {
    let mut patience = MIN_PATIENCE;
    // A command that ends meanwhile finds the lock taken and leaves its change to this process, so look again after
    // the lock is released.
    while let Some(lock) = maintenance.lock_as_saver() {
        wait_for_quiet(context, patience).await;
        let begun = Instant::now();
        maintenance.publish().await?;
        patience = MIN_PATIENCE.max(begun.elapsed() * PATIENCE_FACTOR);
        drop(lock);
        if !maintenance.is_behind() {
            break;
        }
    }
    Ok(())
}

/// Waits until the log has not changed for a moment, but not longer than `patience`.
async fn wait_for_quiet(context: &CommandContext<'_>, patience: Duration) {
    let log_bytes = async || context.tracker.health(Probe::Known).await.log_bytes;
    let begun = Instant::now();
    let mut before = log_bytes().await;
    while begun.elapsed() < patience {
        tokio::time::sleep(QUIET).await;
        let now = log_bytes().await;
        if now == before {
            break;
        }
        before = now;
    }
}
