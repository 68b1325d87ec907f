//! An issue of a remote as an issue of the queue, by the conversion that imports use. So both have the same id.

use std::collections::HashSet;
use std::sync::Arc;

use ait_domain::text::shortened;
use ait_domain::{AgentName, Classifications, Comment, CommentText, Issue, Timestamp};
use ait_interchange::{Content, FileFormat, ReadOptions, words};
use serde_json::json;

use crate::link::{remote_id, set_remote_id};
use crate::marker;
use crate::remote::{RemoteComment, RemoteIssue, State};

/// An issue of a remote, as it would be here.
#[derive(Clone, Debug)]
pub struct Converted {
    pub issue: Issue,
    pub state: State,
}

/// Converts an issue of a remote.
///
/// # Errors
///
/// Why it cannot be an issue here.
pub fn converted(
    remote: &RemoteIssue,
    classifications: &Arc<Classifications>,
    now: Timestamp,
) -> Result<Converted, String> {
    let is_number = remote.key.bytes().all(|byte| byte.is_ascii_digit());
    let status = match remote.state {
        State::Open | State::Active => "created",
        State::Resolved => "completed",
        State::Closed => "closed",
        State::Rejected => "rejected",
    };
    let mut values = json!({
        "url": remote.url,
        "title": remote.title,
        "description": remote.description,
        "status": status,
        "labels": remote.labels,
        "createdAt": remote.created_at,
        "modifiedAt": remote.updated_at,
    });
    values[if is_number { "number" } else { "key" }] = match remote.key.parse::<u64>() {
        Ok(number) => number.into(),
        Err(_) => remote.key.clone().into(),
    };
    if let Some(priority) = remote.priority {
        values["priority"] = priority.get().into();
    }
    let is_known = |kind: &&String| words::classification_of(kind, classifications).is_ok();
    if let Some(kind) = remote.kind.as_ref().filter(is_known) {
        values["type"] = kind.clone().into();
    }
    if let Some(author) = &remote.author {
        values["author"] = author.clone().into();
    }
    let classifications = Arc::clone(classifications);
    let options = ReadOptions { classifications, ..ReadOptions::at(now) };
    let json = json!([values]).to_string().into_bytes();
    let mut read = ait_interchange::read(json, FileFormat::Json, &options)
        .map_err(|error| error.to_string())?;
    match read.pop().map(|entry| entry.content) {
        Some(Content::Issue(draft)) => {
            let issue = Issue::clone(draft.issue.issue());
            Ok(Converted { issue, state: remote.state })
        }
        Some(Content::Refused { reason, .. } | Content::Skipped { reason, .. }) => Err(reason),
        None => Err("it is empty".to_owned()),
    }
}

/// Returns the comments of an issue of a remote that are new here, as they would be here.
pub fn new_comments(ours: &Issue, theirs: &[RemoteComment], sync: &str) -> Vec<Comment> {
    let known: HashSet<String> =
        ours.comments.iter().filter_map(|comment| remote_id(comment, sync)).collect();
    let is_here = |new: &Comment| {
        let is_same =
            |comment: &Comment| comment.timestamp == new.timestamp && comment.text == new.text;
        ours.comments.iter().any(is_same)
    };
    let new = theirs.iter().filter(|comment| {
        !known.contains(&comment.id)
            && marker::mark_of(&comment.text).is_none()
            && !comment.text.trim().is_empty()
    });
    let new = new.map(|comment| self::comment(comment, sync));
    new.filter(|comment| !is_here(comment)).collect()
}

/// Converts a comment of a remote. What is too long is cut.
fn comment(remote: &RemoteComment, sync: &str) -> Comment {
    let author = AgentName::try_from(shortened(&remote.author, AgentName::MAX_CHARS).as_str());
    let author = author.map_or_else(|_| sync.to_owned(), AgentName::into_string);
    let text = remote.text.replace("\r\n", "\n");
    let text = marker::shortened_lines(text.trim(), CommentText::MAX_CHARS);
    let mut comment = Comment::new(remote.created_at, author, text);
    set_remote_id(&mut comment, sync, &remote.id);
    comment
}
