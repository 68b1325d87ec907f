//! `get_remote`: an issue as the remote tracker that it is tied to has it now.

use std::env;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{CallContext, Tool};
use crate::options::Toolset;
use crate::result::{Failure, Success};
use ait_domain::{Issue, IssueRef};
use ait_sync::{Link, SyncSettings};

pub(super) struct GetRemote;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    issue_id: IssueRef,
}

impl Tool for GetRemote {
    const NAME: &'static str = "get_remote";
    const DESCRIPTION: &'static str = "An issue as the remote tracker has it now: its fields, the comments that are \
        not here yet, and conflicts. Changes nothing.";
    const READ_ONLY: bool = true;
    const OPEN_WORLD: bool = true;
    const TOOLSET: Toolset = Toolset::Sync;
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let issue = context.tracker.get_issue(args.issue_id).await?;
        let mut links = Link::all(&issue);
        let mut syncs = context.options.syncs.iter();
        let tied = syncs.find_map(|sync| Some((sync, links.remove(&sync.name)?)));
        let Some((sync, link)) = tied.filter(|(_, link)| !link.key.is_empty()) else {
            let id = issue.id.short();
            return Err(Failure::invalid(format!("{id} is tied to no issue of a remote tracker")));
        };
        let read = read(&issue, sync, &link, &context).await;
        let report = read.map_err(|why| Failure::unreadable(format!("{}: {why}", sync.name)))?;
        Success::report(report)
    }
}

async fn read(
    issue: &Issue,
    sync: &SyncSettings,
    link: &Link,
    context: &CallContext,
) -> Result<Value, String> {
    let directory = context.options.root.clone().unwrap_or_default();
    let remote = ait_sync::connect(sync, &|name| env::var(name).ok(), &directory)?;
    let there = remote.read(&link.key).await.map_err(|error| error.to_string())?;
    let comments = match there.comments {
        0 => Vec::new(),
        _ => remote.comments(&link.key).await.map_err(|error| error.to_string())?,
    };
    let comments = ait_sync::convert::new_comments(issue, &comments, &sync.name);
    let comments = comments.iter().map(|comment| {
        json!({ "timestamp": comment.timestamp, "agent": comment.agent, "text": comment.text })
    });
    let mut report = json!({
        "sync": sync.name,
        "key": there.key,
        "url": there.url,
        "title": there.title,
        "state": there.state,
        "description": there.description,
        "labels": there.labels,
        "createdAt": there.created_at,
        "modifiedAt": there.updated_at,
        "newComments": comments.collect::<Vec<_>>(),
        "conflicts": link.conflicts.keys().collect::<Vec<_>>(),
    });
    if let Some(author) = there.author {
        report["author"] = author.into();
    }
    if let Some(priority) = there.priority {
        report["priority"] = priority.get().into();
    }
    Ok(report)
}
