//! `add_issue`: file a new issue.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Operation;
use crate::domain::{AgentName, Classification, Description, Title};
use crate::mcp::result::{Failure, Success, confirmation};
use crate::tracker::Tracker;

pub(super) struct AddIssue;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// One line, 1-500 characters
    title: Title,
    /// What is wrong or wanted, where, and how to tell that it is done; up to 100,000 characters
    description: Description,
    /// Kind of work
    classification: Classification,
    /// Your name
    agent: AgentName,
}

impl Operation for AddIssue {
    const NAME: &'static str = "add_issue";
    const TITLE: &'static str = "Add issue";
    const DESCRIPTION: &'static str =
        "File a new issue at the end of the queue. Answers with its id.";
    type Arguments = Arguments;

    async fn call(tracker: Tracker, arguments: Arguments) -> Result<Success, Failure> {
        let Arguments { title, description, classification, agent } = arguments;
        let issue = tracker.add_issue(title, description, classification, agent).await?;
        Ok(confirmation("filed", &issue))
    }
}
