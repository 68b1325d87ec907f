//! What a tool answers: one compact text, marked as an error where it is one.

use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;

use super::delivery::Claim;
use crate::domain::Issue;
use crate::json_text;
use crate::metrics::Outcome;
use crate::tracker::{StoreError, Tracker};

/// Why a call did nothing, or not for certain: a text that names what failed, what was expected and
/// what to call next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Failure {
    pub reason: String,
    pub outcome: Outcome,
}

impl Failure {
    /// The caller has to ask for something else.
    pub fn refused(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), outcome: Outcome::Refused }
    }

    /// The caller withdrew it.
    pub fn cancelled(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), outcome: Outcome::Cancelled }
    }

    /// Something broke in the tracker.
    pub fn panicked(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), outcome: Outcome::Panicked }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let is_refusal = matches!(error, StoreError::Refused(_));
        let outcome = if is_refusal { Outcome::Refused } else { Outcome::Failed };
        Self { reason: error.to_string(), outcome }
    }
}

/// What a call did: the text that tells it.
pub(super) struct Success {
    pub text: String,
    pub outcome: Outcome,
    /// The claim that the text tells of.
    pub claim: Option<Claim>,
}

impl Success {
    /// It did what it was asked.
    pub fn done(text: String) -> Self {
        Self { text, outcome: Outcome::Ok, claim: None }
    }

    /// It found nothing to claim.
    pub fn nothing(text: String) -> Self {
        Self { text, outcome: Outcome::Empty, claim: None }
    }
}

/// How a call ended, for the meters.
pub(super) fn outcome_of(result: &Result<Success, Failure>) -> Outcome {
    match result {
        Ok(success) => success.outcome,
        Err(failure) => failure.outcome,
    }
}

/// Turns what a tool gave into the result of its call.
pub(super) fn call_tool_result(tool: &str, outcome: Result<Success, Failure>) -> CallToolResult {
    match outcome {
        Ok(Success { text, .. }) => CallToolResult::success(vec![ContentBlock::text(text)]),
        Err(Failure { reason, .. }) => {
            let text = format!("{tool} failed: {reason}.");
            CallToolResult::error(vec![ContentBlock::text(text)])
        }
    }
}

/// A value as JSON without indentation.
pub(super) fn json(value: &impl Serialize) -> Result<Success, Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure {
        reason: format!("the answer is not JSON: {error}"),
        outcome: Outcome::Failed,
    })?;
    // Unknown keys of an issue have the white space of their file. They are not parsed again, since
    // not every number that a file may hold can be, and the claim is made already.
    Ok(Success::done(json_text::without_white_space(&text)))
}

/// A whole issue that the caller has claimed.
pub(super) fn claimed(tracker: Tracker, issue: Arc<Issue>) -> Result<Success, Failure> {
    let claim = Some(Claim::new(tracker, Arc::clone(&issue)));
    Ok(Success { claim, ..json(&*issue)? })
}

/// The short confirmation of a change.
pub(super) fn confirmation(what: &str, issue: &Issue) -> Success {
    let Issue { id, status, modified_at, .. } = issue;
    Success::done(format!("Issue {id} {what}: status {status}, {modified_at}"))
}
