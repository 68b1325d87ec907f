//! `get_next_issue`: claim the oldest issue that waits for work.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Operation;
use crate::domain::{AgentName, Classification};
use crate::mcp::result::{Failure, Success, claimed};
use crate::tracker::Tracker;

pub(super) struct GetNextIssue;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Your name
    agent: AgentName,
    /// Only this classification
    classification: Option<Classification>,
}

impl Operation for GetNextIssue {
    const NAME: &'static str = "get_next_issue";
    const TITLE: &'static str = "Claim next issue";
    const DESCRIPTION: &'static str = "Claim the oldest `created` issue for yourself (it becomes \
        `in_progress`; nobody else gets it) and answer with all of it. You owe it a complete_issue \
        or return_issue.";
    type Arguments = Arguments;

    async fn call(tracker: Tracker, arguments: Arguments) -> Result<Success, Failure> {
        let Arguments { agent, classification } = arguments;
        match tracker.get_next_issue(classification, agent).await? {
            Some(issue) => claimed(tracker, issue),
            None => Ok(Success::nothing(nothing(classification))),
        }
    }
}

fn nothing(classification: Option<Classification>) -> String {
    match classification {
        Some(kind) => format!("No issue of classification {kind} is waiting to be claimed."),
        None => "No issue is waiting to be claimed.".to_owned(),
    }
}
