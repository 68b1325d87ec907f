//! `prepare-commit-msg`: the claimed issue of the worktree becomes a trailer of the message.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::{Call, CallError, issue_in};
use crate::domain::text::shortened;
use crate::domain::{DomainError, Issue, IssueRef, Query, Status};
use crate::tracker::StoreError;

/// The trailer.
const KEY: &str = "Issue";
/// How much of a title there is room for on a line of 72 characters, behind the trailer and the id.
const TITLE_CHARS: usize = 55;

/// Names the issue in the message, unless the message names one already or is none of its author's.
pub(super) async fn name_issue(call: &Call<'_>) -> Result<(), CallError> {
    let source = call.argument(1);
    let Some(file) = call.arguments.first().map(|file| call.git.directory().join(file)) else {
        return Ok(());
    };
    if matches!(source, Some("merge" | "squash")) {
        return Ok(());
    }
    let unusable = |cause| CallError::Message { path: file.clone(), cause };
    let text = fs::read(&file).map_err(unusable)?;
    // A message that is empty by intent, and that git refuses, stays so.
    if source == Some("message") && text.trim_ascii().is_empty() {
        return Ok(());
    }
    let Some(issue) = claimed(call).await? else { return Ok(()) };
    let trailer = format!("{KEY}: {} {}", id(call, &issue).await?, title(&issue.title));
    add(call, &file, trailer.trim_end()).await?;
    // An empty message in an editor: room for a subject, and for the line between it and the trailer.
    if text.is_empty() || text.starts_with(b"\n") {
        let text = fs::read(&file).map_err(unusable)?;
        let begun = text.trim_ascii_start();
        fs::write(&file, [b"\n\n", begun].concat()).map_err(unusable)?;
    }
    Ok(())
}

/// Adds a trailer where git has them: before the comments and what is cut off, of whatever form.
async fn add(call: &Call<'_>, file: &Path, trailer: &str) -> Result<(), CallError> {
    let file = file.to_string_lossy();
    let arguments =
        ["interpret-trailers", "--in-place", "--no-divider", "--if-exists", "doNothing"];
    let arguments =
        [&arguments[..], &["--if-missing", "add", "--trailer", trailer, &file]].concat();
    call.git.ask(&arguments).await?;
    Ok(())
}

/// The claimed issue of this worktree: the one that its branch names, or else the only one that its worker
/// works on.
async fn claimed(call: &Call<'_>) -> Result<Option<Arc<Issue>>, CallError> {
    // In the midst of a rebase, say, commits are those of others.
    let Some(branch) = call.git.branch().await? else { return Ok(None) };
    if branch.contains("issue-") {
        let Some(reference) = issue_in(&branch) else { return Ok(None) };
        let issue = found(call, reference).await?;
        return Ok(issue.filter(|issue| issue.status.is_claimed()));
    }
    let Some(worker) = &call.worker else { return Ok(None) };
    let statuses = [Status::InProgress].into_iter().collect();
    let query = Query { statuses, take: usize::MAX, ..Query::default() };
    let mut held = call.tracker.list_issues(query).await?.issues;
    held.retain(|issue| issue.holder().is_some_and(|holder| holder.agent == worker.as_str()));
    let [issue] = &held[..] else { return Ok(None) };
    // One that has a branch is worked on there.
    let branch = format!("refs/heads/issue-{}", issue.id.short());
    let has_branch = call.git.ask_whether(&["rev-parse", "--quiet", "--verify", &branch]).await?;
    Ok(has_branch.is_none().then(|| Arc::clone(issue)))
}

/// The issue that somebody names, if there is exactly one.
pub(super) async fn found(
    call: &Call<'_>,
    reference: IssueRef,
) -> Result<Option<Arc<Issue>>, CallError> {
    match call.tracker.get_issue(reference).await {
        Ok(issue) => Ok(Some(issue)),
        Err(StoreError::Refused(
            DomainError::UnknownIssue { .. } | DomainError::AmbiguousReference { .. },
        )) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The id in the form in which people write it, where that is not ambiguous.
async fn id(call: &Call<'_>, issue: &Issue) -> Result<String, CallError> {
    let short = issue.id.short();
    let is_enough = match short.parse::<IssueRef>() {
        Ok(reference) => found(call, reference).await?.is_some(),
        Err(_) => false,
    };
    Ok(if is_enough { short } else { issue.id.to_string() })
}

/// A title as it can stand in a message: one line, nothing that a terminal obeys or that turns round the
/// direction of reading, and not too long.
fn title(title: &str) -> String {
    let turns = |one: char| matches!(one, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let harmless = |one: char| if one.is_control() { ' ' } else { one };
    let plain: String = title.chars().filter(|it| !turns(*it)).map(harmless).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    shortened(&words.join(" "), TITLE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_one_harmless_line_of_a_message() {
        assert_eq!(title("  a\tb\r\nc\u{1b}[31m\u{202e}d\u{2028}e "), "a b c [31md e");
        assert_eq!(title(&"ß".repeat(60)), format!("{}…", "ß".repeat(55)));
        assert_eq!(title(&"x".repeat(55)), "x".repeat(55));
    }
}
