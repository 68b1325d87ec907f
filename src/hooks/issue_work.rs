//! What git knows of the work on an issue: branches that its id names, and commits that name it.

use anyhow::Result;
use serde::Serialize;

use crate::domain::{IssueId, IssueRef};
use crate::git::Git;

/// How many branches and commits are named.
const MAX: usize = 5;
/// The same for git.
const MAX_COUNT: &str = "--max-count=5";
/// How a commit is shown: its short name and its subject.
const FORMAT: &str = "--format=%h %s";

/// What git has of an issue.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct IssueWork {
    /// The branches whose names contain the id, with their commits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub branches: Vec<IssueBranch>,
    /// The newest commits on any branch whose message names the issue.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<String>,
}

/// A branch of an issue.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct IssueBranch {
    pub name: String,
    /// The newest commits that the checked-out branch lacks, each with its subject.
    pub commits: Vec<String>,
}

/// Finds what git has of some issues, in their order.
///
/// # Errors
///
/// There is no repository, or git does not answer in time.
pub async fn issue_work(git: &Git, ids: &[IssueId]) -> Result<Vec<IssueWork>> {
    let refs = ["for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/remotes"];
    let refs = git.ask(&refs).await?;
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let is_of_issue =
            |name: &&str| IssueRef::in_branch(name).is_some_and(|named| named.range().contains(id));
        let mut work = IssueWork::default();
        for name in refs.lines().filter(is_of_issue).take(MAX) {
            let range = format!("HEAD..{name}");
            let commits = git.try_output(&["log", MAX_COUNT, FORMAT, &range, "--"]).await?;
            let commits = lines(commits.as_deref());
            work.branches.push(IssueBranch { name: name.to_owned(), commits });
        }
        // As the hook for commit messages writes it.
        let named = format!("--grep=Issue: {}", id.short());
        let commits = ["log", "--all", "--fixed-strings", MAX_COUNT, FORMAT, &named];
        work.commits = lines(git.try_output(&commits).await?.as_deref());
        found.push(work);
    }
    Ok(found)
}

fn lines(text: Option<&str>) -> Vec<String> {
    text.into_iter().flat_map(str::lines).map(str::to_owned).collect()
}
