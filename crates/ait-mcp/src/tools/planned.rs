//! What the tools share that plan changes to files of the project, and make them on request.

use serde::Serialize;
use serde_json::json;

use super::CallContext;
use crate::reply::Reply;
use crate::result::{Failure, Success};
use ait_setup::{FileChange, Project, SetupError};

/// Reports `changes` and whether they are `written`. If not, the report says how to write them.
pub(super) fn report(
    report: impl Serialize,
    tool: &str,
    context: &CallContext,
) -> Result<Success, Failure> {
    let mut report = serde_json::to_value(report).map_err(Failure::not_json)?;
    let is_empty = report["changes"].as_array().is_none_or(Vec::is_empty);
    if !is_empty && report["written"] == false {
        let tool = context.replies.names.full(tool);
        let next = format!("Nothing was written: call {tool} again with apply: true");
        report["next"] = json!([next]);
    }
    Ok(Success::done(Reply::Report(report)))
}

/// Returns the failure of a plan for the setup of the project.
pub(super) fn refused(error: SetupError) -> Failure {
    Failure::invalid(format!("{error} (the flags are those of `ait init`)"))
}

/// Writes the changes of a plan.
pub(super) fn write(changes: &[FileChange], project: &Project) -> Result<(), Failure> {
    let written = ait_setup::apply(changes, &project.root).complete(changes.len());
    written
        .map(drop)
        .map_err(|error| Failure::not_saved(format!("{:#}", anyhow::Error::new(error))))
}
