//! `add_issues`: file several issues at once, with links among themselves.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{CallContext, Tool};
use crate::options::Toolset;
use crate::reply::Reply;
use crate::result::{Failure, Success};
use crate::schema::of_new_values;
use ait_domain::{
    AgentName, Classification, Description, FieldValues, IssueChange, IssueId, IssueRef, Label,
    Title,
};
use ait_tracker::{NewIssue, StoreError};

pub(super) struct AddIssues;

/// How many issues a call may file.
const MAX_ISSUES: usize = 100;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    agent: AgentName,
    issues: Vec<Entry>,
    request_id: Option<String>,
}

#[derive(Clone, Deserialize, JsonSchema)]
struct Entry {
    title: Title,
    description: Description,
    classification: Classification,
    labels: Option<Vec<Label>>,
    /// Id, or #1 for the first of these
    parent: Option<String>,
    /// As parent
    blocked_by: Option<Vec<String>>,
    #[serde(flatten)]
    #[schemars(schema_with = "of_new_values")]
    values: FieldValues,
}

impl Tool for AddIssues {
    const NAME: &'static str = "add_issues";
    const DESCRIPTION: &'static str = "File issues in this order, all or none.";
    const TOOLSET: Toolset = Toolset::Planning;
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        if !(1..=MAX_ISSUES).contains(&args.issues.len()) {
            let count = args.issues.len();
            return Err(Failure::invalid(format!(
                "give 1 to {MAX_ISSUES} issues at once, not {count}; nothing was filed"
            )));
        }
        let issues = |ids: &[IssueId]| {
            let entries = args.issues.iter().cloned().enumerate();
            entries.map(|(at, entry)| entry.issue(at, ids)).collect()
        };
        let count = args.issues.len();
        let (issues, events) = context.file(args.request_id, args.agent, count, issues).await?;
        let near = context.tracker.near_titles(&issues).await;
        Ok(Success { events, near, ..Success::done(Reply::Filed { issues, change: None }) })
    }
}

impl Entry {
    /// Returns the issue at a position of the list.
    fn issue(self, at: usize, ids: &[IssueId]) -> Result<NewIssue, Failure> {
        let reference = |text: String| reference(&text, at, ids);
        let blocked_by = self.blocked_by.unwrap_or_default().into_iter().map(reference);
        let details = IssueChange {
            values: self.values.0,
            labels_add: self.labels.unwrap_or_default(),
            parent: self.parent.map(reference).transpose()?.map(Some),
            blocked_by: Some(blocked_by.collect::<Result<Vec<_>, _>>()?)
                .filter(|ids| !ids.is_empty()),
            ..IssueChange::default()
        };
        let Self { title, description, classification, .. } = self;
        Ok(NewIssue { id: ids[at], title, description, classification, details })
    }
}

/// Parses an id, or `#2` for the second issue of the list, which must come before the one at this position.
fn reference(text: &str, at: usize, ids: &[IssueId]) -> Result<IssueRef, Failure> {
    let number = text.strip_prefix('#').filter(|number| number.len() < IssueRef::MIN_DIGITS);
    let Some(number) = number else {
        return IssueRef::named(text, IssueRef::MIN_DIGITS)
            .map_err(|bad| StoreError::Refused(bad).into());
    };
    let position = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    position.filter(|position| *position < at).map(|position| ids[position].into()).ok_or_else(|| {
        let text = crate::shown(text);
        let entry = at + 1;
        Failure::invalid(format!(
            "{text:?} in entry {entry} must be an id, or # and the number of an earlier entry; nothing was filed"
        ))
    })
}
