//! What a tool answers: one compact text, marked as an error where it is one.

use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;

use crate::domain::Issue;
use crate::json_text;
use crate::tracker::StoreError;

/// Why a call did nothing, or not for certain: a text that names what failed, what was expected and
/// what to call next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Failure(pub String);

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self(error.to_string())
    }
}

/// Turns what a tool gave into the result of its call.
pub(super) fn call_tool_result(tool: &str, outcome: Result<String, Failure>) -> CallToolResult {
    match outcome {
        Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
        Err(Failure(reason)) => {
            let text = format!("{tool} failed: {reason}.");
            CallToolResult::error(vec![ContentBlock::text(text)])
        }
    }
}

/// A value as JSON without indentation.
pub(super) fn json(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(value)
        .map_err(|error| Failure(format!("the answer is not JSON: {error}")))?;
    // Unknown keys of an issue have the white space of their file. They are not parsed again, since
    // not every number that a file may hold can be, and the claim is made already.
    Ok(json_text::without_white_space(&text))
}

/// The short confirmation of a change.
pub(super) fn confirmation(what: &str, issue: &Issue) -> String {
    format!("Issue {} {what}: status {}, {}", issue.id, issue.status, issue.modified_at)
}
