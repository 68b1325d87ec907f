//! `post-merge`: notes each merged branch on its issue, once.

use std::collections::HashSet;

use anyhow::Result;

use super::{HookContext, latest_comments};
use ait_domain::{CommentText, Issue, IssueRef};

/// The most branches of one merge that are noted.
const MAX_BRANCHES: usize = 20;
/// The most commits of a merge that are searched for a branch.
const MAX_COMMITS: &str = "--max-count=500";
/// The prefixes of the refs of branches.
const PREFIXES: [&str; 2] = ["refs/heads/", "refs/remotes/"];

/// A branch that was merged.
struct Branch {
    name: String,
    /// Its last commit; `None` if the repository has only its name.
    tip: Option<String>,
}

/// Notes what was merged, and returns true if there was something to note.
pub(super) async fn comment_on_merge(context: &HookContext<'_>) -> Result<bool> {
    let Some(target) = context.git.branch().await? else { return Ok(false) };
    let Some(author) = &context.author else { return Ok(false) };
    // A merge into the branch of an issue only brings that up to date.
    if IssueRef::in_branch(&target).is_some() {
        return Ok(false);
    }
    let is_squash = context.argument(0) == Some("1");
    let mut branches = if is_squash { Vec::new() } else { merged(context).await? };
    branches.extend(named(context));
    let mut seen = HashSet::new();
    let mut has_commented = false;
    for branch in branches.into_iter().take(MAX_BRANCHES) {
        let Some(reference) = IssueRef::in_branch(&branch.name) else { continue };
        let Some(issue) = context.find(reference).await? else { continue };
        if !seen.insert(issue.id) {
            continue;
        }
        let text = if is_squash {
            squash_comment(context, &issue, &branch, &target).await?
        } else {
            merge_comment(context, &issue, &branch, &target).await?
        };
        if let Some(text) = text {
            let comment = CommentText::try_from(text)?;
            context.tracker.comment_issue(issue.id.into(), comment, author.clone()).await?;
            has_commented = true;
        }
    }
    Ok(has_commented)
}

/// The branches that the command names, also those that only another repository has.
fn named(context: &HookContext<'_>) -> Vec<Branch> {
    let mut words = context.action.split_whitespace();
    let is_merge = matches!(words.next(), Some("merge" | "pull"));
    let names = words.filter(|name| is_merge && IssueRef::in_branch(name).is_some());
    names.map(|name| Branch { name: name.to_owned(), tip: None }).collect()
}

/// The branches of this repository that the merge brought.
async fn merged(context: &HookContext<'_>) -> Result<Vec<Branch>> {
    let arguments = ["for-each-ref", "--merged", "HEAD", "--no-merged", "ORIG_HEAD"];
    let arguments = [&arguments[..], &["--format=%(objectname) %(refname)"], &PREFIXES].concat();
    let listed = context.git.try_output(&arguments).await?.unwrap_or_default();
    let branches = listed.lines().filter_map(|line| {
        let (tip, name) = line.split_once(' ')?;
        let name = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix))?;
        IssueRef::in_branch(name)?;
        Some(Branch { name: name.to_owned(), tip: Some(tip.to_owned()) })
    });
    Ok(branches.collect())
}

/// The note on a merged branch; `None` if the issue has it.
async fn merge_comment(
    context: &HookContext<'_>,
    issue: &Issue,
    branch: &Branch,
    target: &str,
) -> Result<Option<String>> {
    let git = &context.git;
    let commit = merge_commit(context, branch).await?;
    let middle = format!(" merged into {target} as ");
    for comment in latest_comments(issue) {
        let noted = comment.text.strip_prefix("Branch ").and_then(|rest| rest.split_once(&middle));
        let Some(noted) = noted.and_then(|(_, commit)| commit.strip_suffix('.')) else { continue };
        if noted.len() < 4 || !noted.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            continue;
        }
        if commit.starts_with(noted) {
            return Ok(None);
        }
        // A merge that is repeated after a reset is not noted again.
        if let Some(tip) = &branch.tip
            && git.try_output(&["merge-base", "--is-ancestor", tip, noted]).await?.is_some()
        {
            return Ok(None);
        }
    }
    let short = git.ask(&["rev-parse", "--short", &commit]).await?;
    Ok(Some(format!("Branch {}{middle}{short}.", branch.name)))
}

/// Returns the first commit of the target that contains a branch. A pull may bring many merges; a merge has the same
/// commit wherever it is pulled.
async fn merge_commit(context: &HookContext<'_>, branch: &Branch) -> Result<String> {
    let git = &context.git;
    let Some(tip) = &branch.tip else { return git.ask(&["rev-parse", "HEAD"]).await };
    let arguments = ["rev-list", "--first-parent", "--reverse", MAX_COMMITS, "ORIG_HEAD..HEAD"];
    let target = git.try_output(&arguments).await?.unwrap_or_default();
    let range = format!("{tip}..HEAD");
    let behind = git.try_output(&["rev-list", "--ancestry-path", &range]).await?;
    let behind = behind.unwrap_or_default();
    let behind: HashSet<&str> = behind.lines().chain([tip.as_str()]).collect();
    match target.lines().find(|commit| behind.contains(commit)) {
        Some(commit) => Ok(commit.to_owned()),
        None => git.ask(&["rev-parse", "HEAD"]).await,
    }
}

/// The note on a branch whose changes are to be committed; `None` if the issue has it.
async fn squash_comment(
    context: &HookContext<'_>,
    issue: &Issue,
    branch: &Branch,
    target: &str,
) -> Result<Option<String>> {
    let short = context.git.ask(&["rev-parse", "--short", "HEAD"]).await?;
    let name = &branch.name;
    let text = format!("Branch {name} squashed into {target} on top of {short}, to be committed.");
    let is_noted = latest_comments(issue).any(|comment| comment.text == text);
    Ok((!is_noted).then_some(text))
}
