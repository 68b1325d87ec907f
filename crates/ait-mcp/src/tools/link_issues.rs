//! `link_issues`: link an issue to others, or remove links.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{CallContext, Tool};
use crate::options::Toolset;
use crate::result::{Failure, Success, confirmation};
use ait_domain::{AgentName, IssueChange, IssueRef, LinkKind};

pub(super) struct LinkIssues;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    issue_id: IssueRef,
    kind: LinkKind,
    to: Vec<IssueRef>,
    agent: AgentName,
    remove: Option<bool>,
}

impl Tool for LinkIssues {
    const NAME: &'static str = "link_issues";
    const DESCRIPTION: &'static str =
        "Link an issue to others: it is blocked_by them, or they are its parent.";
    const TOOLSET: Toolset = Toolset::Planning;
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let links = args.to.into_iter().map(|to| (args.kind, to)).collect();
        let (change, what) = match args.remove {
            Some(true) => {
                (IssueChange { links_remove: links, ..IssueChange::default() }, "unlinked")
            }
            _ => (IssueChange { links_add: links, ..IssueChange::default() }, "linked"),
        };
        let changed =
            context.tracker.change_issue(args.issue_id.into(), change, args.agent).await?;
        Ok(confirmation(what, changed))
    }
}
