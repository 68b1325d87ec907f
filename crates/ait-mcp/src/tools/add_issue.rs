//! `add_issue`: file a new issue.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{CallContext, Tool};
use crate::result::{Failure, Success, confirmation};
use crate::schema::of_planned_values;
use ait_domain::{
    AgentName, Classification, Description, FieldValues, IssueChange, IssueId, Title,
};
use ait_tracker::{Changed, NewIssue};

pub(super) struct AddIssue;

#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    /// One line, up to 500 characters
    title: Title,
    /// What, where, how to tell it is done
    description: Description,
    classification: Classification,
    /// Your name
    agent: AgentName,
    /// Repeats file nothing
    #[schemars(extend("toolset" = "planning"))]
    request_id: Option<String>,
    #[serde(flatten)]
    #[schemars(schema_with = "of_planned_values")]
    values: FieldValues,
}

impl Tool for AddIssue {
    const NAME: &'static str = "add_issue";
    const DESCRIPTION: &'static str = "File or report an issue, bug, task, ticket or todo.";
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let Args { title, description, classification, agent, request_id, values } = args;
        let details = IssueChange { values: values.0, ..IssueChange::default() };
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
