//! `add_issue`: file a new issue.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{CallContext, Tool};
use crate::domain::{AgentName, Classification, Description, IssueChange, Priority, Title};
use crate::mcp::result::{Failure, Success, confirmation};
use crate::tracker::NewIssue;

pub(super) struct AddIssue;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// One line, up to 500 characters
    title: Title,
    /// What, where, and how to tell that it is done
    description: Description,
    classification: Classification,
    /// Your name
    agent: AgentName,
    /// 0 (first) to 4; default 2
    priority: Option<Priority>,
}

impl Tool for AddIssue {
    const NAME: &'static str = "add_issue";
    const DESCRIPTION: &'static str = "File an issue, ticket or todo. Answers with its id.";
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let Args { title, description, classification, agent, priority } = args;
        let details = IssueChange { priority: priority.map(Some), ..IssueChange::default() };
        let issue = NewIssue { details, ..NewIssue::new(title, description, classification) };
        let changed = context.tracker.add_issue(issue, agent).await?;
        Ok(confirmation("filed", changed))
    }
}
