//! `add_issue`: file a new issue.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{CallContext, Tool};
use crate::domain::{
    AgentName, Classification, Description, FieldValue, IssueChange, IssueId, Priority, Title,
};
use crate::mcp::result::{Failure, Success, confirmation};
use crate::tracker::{Changed, NewIssue};

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
    /// Repeats file nothing
    #[schemars(extend("toolset" = "planning"))]
    request_id: Option<String>,
}

impl Tool for AddIssue {
    const NAME: &'static str = "add_issue";
    const DESCRIPTION: &'static str = "File or report an issue, bug, task, ticket or todo.";
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let Args { title, description, classification, agent, priority, request_id } = args;
        let details = IssueChange::from(FieldValue::Priority(priority));
        let issue = NewIssue { details, ..NewIssue::new(title, description, classification) };
        let issues = |ids: &[IssueId]| {
            Ok(ids.iter().map(|id| NewIssue { id: *id, ..issue.clone() }).collect())
        };
        let (mut issues, events) = context.file(request_id, agent, 1, issues).await?;
        let near = context.tracker.near_titles(&issues).await;
        let issue = issues.remove(0);
        Ok(Success { near, ..confirmation("filed", Changed { issue, events }) })
    }
}
