//! The arguments of the tools with which an agent lets go of an issue.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::{AgentName, CommentText, IssueRef};

/// What `return_issue` and `complete_issue` take.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Handover {
    /// Id or its first 8+ hex digits
    pub issue_id: IssueRef,
    /// What the next one needs to know; 1-100,000 characters
    pub comment: CommentText,
    /// Your name
    pub agent: AgentName,
}
