//! `update_issue`: change texts, attributes and links of an issue.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{CallContext, Tool};
use crate::options::Toolset;
use crate::result::{Failure, Success, confirmation};
use ait_domain::{
    AgentName, Classification, CommentText, Description, FieldValues, IssueChange, IssueRef, Label,
    Title, ValueField,
};
use ait_tracker::{IssueAtVersion, StoreError, read_after_change};

pub(super) struct UpdateIssue;

/// The word that removes a value.
const NONE: &str = "none";

#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    issue_id: IssueRef,
    agent: AgentName,
    title: Option<Title>,
    description: Option<Description>,
    classification: Option<Classification>,
    labels_add: Option<Vec<Label>>,
    labels_remove: Option<Vec<Label>>,
    /// Or none
    parent: Option<String>,
    /// All its blockers
    blocked_by: Option<Vec<IssueRef>>,
    comment: Option<CommentText>,
    /// Refused if changed since
    if_version: Option<String>,
    #[serde(flatten)]
    values: FieldValues,
}

impl Tool for UpdateIssue {
    const NAME: &'static str = "update_issue";
    const DESCRIPTION: &'static str = "Change an issue or comment on it.";
    const TOOLSET: Toolset = Toolset::Planning;
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let says_touches = args.values.0.iter().any(|value| value.field() == ValueField::Touches);
        let change = IssueChange {
            title: args.title,
            description: args.description,
            classification: args.classification,
            values: args.values.0,
            labels_add: args.labels_add.unwrap_or_default(),
            labels_remove: args.labels_remove.unwrap_or_default(),
            parent: removable(args.parent, |id| id.parse())?,
            blocked_by: args.blocked_by,
            comment: args.comment,
            ..IssueChange::default()
        };
        let known = IssueAtVersion { issue: args.issue_id, version: args.if_version };
        let changed = context.tracker.change_issue(known, change, args.agent).await?;
        let mut what = "changed".to_owned();
        if says_touches {
            let overlaps = read_after_change(context.tracker.overlaps(&changed.issue)).await;
            if let Some(lines) = overlaps.filter(|lines| !lines.is_empty()) {
                what += &format!(" ({})", lines.join("; "));
            }
        }
        Ok(confirmation(what, changed))
    }
}

/// Parses a value that `none` removes.
pub(super) fn removable<T>(
    given: Option<String>,
    parse: impl FnOnce(String) -> Result<T, ait_domain::DomainError>,
) -> Result<Option<Option<T>>, StoreError> {
    match given {
        None => Ok(None),
        Some(word) if word == NONE => Ok(Some(None)),
        Some(text) => Ok(Some(Some(parse(text)?))),
    }
}
