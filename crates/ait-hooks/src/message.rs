//! `prepare-commit-msg`: adds the claimed issue of the worktree to the message, as a trailer.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};

use super::HookContext;
use ait_domain::text::shortened;
use ait_domain::{Issue, IssueRef, Query, Status};

/// The trailer.
const KEY: &str = "Issue";
/// The characters of a title that fit into a line of 72, behind the key and the id.
const TITLE_CHARS: usize = 55;

/// Names the issue, unless the message names one or belongs to a merge.
pub(super) async fn name_issue(context: &HookContext<'_>) -> Result<()> {
    let source = context.argument(1);
    let Some(file) = context.arguments.first().map(|file| context.git.directory.join(file)) else {
        return Ok(());
    };
    if matches!(source, Some("merge" | "squash")) {
        return Ok(());
    }
    let unusable = || format!("{} cannot be read or written", file.display());
    let text = fs::read(&file).with_context(unusable)?;
    // git refuses an empty message, and a trailer would make it accept this one.
    if source == Some("message") && text.trim_ascii().is_empty() {
        return Ok(());
    }
    let Some(issue) = claimed(context).await? else { return Ok(()) };
    let trailer = format!("{KEY}: {} {}", id(context, &issue).await?, title(&issue.title));
    add(context, &file, trailer.trim_end()).await?;
    // In an editor, the trailer goes below a line for the subject and a blank one.
    if text.is_empty() || text.starts_with(b"\n") {
        let text = fs::read(&file).with_context(unusable)?;
        let begun = text.trim_ascii_start();
        fs::write(&file, [b"\n\n", begun].concat()).with_context(unusable)?;
    }
    Ok(())
}

/// Adds a trailer. git knows its place, which depends on the comment character and on what it cuts off.
async fn add(context: &HookContext<'_>, file: &Path, trailer: &str) -> Result<()> {
    let file = file.to_string_lossy();
    let arguments =
        ["interpret-trailers", "--in-place", "--no-divider", "--if-exists", "doNothing"];
    let arguments =
        [&arguments[..], &["--if-missing", "add", "--trailer", trailer, &file]].concat();
    context.git.ask(&arguments).await?;
    Ok(())
}

/// The claimed issue of this worktree: the one that its branch names, or else the only one that its agent works on.
async fn claimed(context: &HookContext<'_>) -> Result<Option<Arc<Issue>>> {
    // Without a branch, as in a rebase, the commits may belong to others.
    let Some(branch) = context.git.branch().await? else { return Ok(None) };
    if branch.contains("issue-") {
        let Some(reference) = IssueRef::in_branch(&branch) else { return Ok(None) };
        let issue = context.find(reference).await?;
        return Ok(issue.filter(|issue| issue.status.is_claimed()));
    }
    let Some(worker) = &context.worker else { return Ok(None) };
    let statuses = [Status::InProgress].into_iter().collect();
    let query = Query { statuses, take: usize::MAX, ..Query::default() };
    let mut held = context.tracker.list_issues(query).await?.issues;
    held.retain(|issue| issue.holder().is_some_and(|holder| holder.agent == worker.as_str()));
    let [issue] = &held[..] else { return Ok(None) };
    // An issue with a branch is worked on there.
    let branch = format!("refs/heads/issue-{}", issue.id.short());
    let has_branch = context.git.try_output(&["rev-parse", "--quiet", "--verify", &branch]).await?;
    Ok(has_branch.is_none().then(|| Arc::clone(issue)))
}

/// The short id, or the whole one if that is ambiguous.
async fn id(context: &HookContext<'_>, issue: &Issue) -> Result<String> {
    let short = issue.id.short();
    let is_enough = match short.parse::<IssueRef>() {
        Ok(reference) => context.find(reference).await?.is_some(),
        Err(_) => false,
    };
    Ok(if is_enough { short } else { issue.id.to_string() })
}

/// A title as one short line, without control characters and marks of the direction of text.
fn title(title: &str) -> String {
    let turns = |one: char| matches!(one, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let harmless = |one: char| if one.is_control() { ' ' } else { one };
    let plain: String =
        title.chars().filter(|character| !turns(*character)).map(harmless).collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    shortened(&words.join(" "), TITLE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_in_messages_are_sanitized_to_one_short_line() {
        assert_eq!(title("  a\tb\r\nc\u{1b}[31m\u{202e}d\u{2028}e "), "a b c [31md e");
        assert_eq!(title(&"ß".repeat(60)), format!("{}…", "ß".repeat(55)));
        assert_eq!(title(&"x".repeat(55)), "x".repeat(55));
    }
}
