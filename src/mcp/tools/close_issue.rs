//! `close_issue`: end an issue.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Operation;
use crate::domain::{AgentName, CommentText, IssueRef, Resolution};
use crate::mcp::result::{Failure, Success, confirmation};
use crate::tracker::Tracker;

pub(super) struct CloseIssue;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id or its first 8+ hex digits
    issue_id: IssueRef,
    /// `closed`: done and accepted; `rejected`: not to be done
    resolution: Resolution,
    /// Why; 1-100,000 characters
    comment: CommentText,
    /// Your name
    agent: AgentName,
}

impl Operation for CloseIssue {
    const NAME: &'static str = "close_issue";
    const TITLE: &'static str = "Close issue";
    const DESCRIPTION: &'static str =
        "End an open issue for good. Nothing can change it afterwards.";
    type Arguments = Arguments;

    async fn call(tracker: Tracker, arguments: Arguments) -> Result<Success, Failure> {
        let Arguments { issue_id, resolution, comment, agent } = arguments;
        let issue = tracker.close_issue(issue_id, resolution, comment, agent).await?;
        Ok(confirmation(resolution.as_str(), &issue))
    }
}
