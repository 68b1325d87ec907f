//! `ait save`: publishes `issues.json`.

use anyhow::{Result, bail};
use serde_json::json;

use super::options::Format;
use super::{CommandContext, ExitStatus};
use ait_tracker::Probe;

/// Ends the help of `ait save`.
pub(super) const HELP: &str = "\
    Every change is in the database (.ait/ beside issues.json) before it is acknowledged. Servers \
    publish it to issues.json within a second. So does a command, unless the file is large: then the next server does, \
    or this command.\n\n\
    Example:\n  \
    ait save && git commit issues.json -m 'Record the state of the queue'";

pub(super) async fn run(format: &Format, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let output = context.output;
    let Some(maintenance) = context.maintenance else {
        bail!(
            "the store is a database, so there is no issues.json to write: `ait export FILE` writes all issues"
        );
    };
    maintenance.publish().await?;
    let store = context.tracker.health(Probe::Known).await.name;
    if format.json {
        output.json(&json!({ "store": store }))?;
    } else {
        output.line(format_args!("{store} is up to date"))?;
    }
    Ok(ExitStatus::Done)
}
